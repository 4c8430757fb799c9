"""Searching while the owner's records change: a thousand updates a minute, with the
worker running beside.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from reverie.pipeline import worker
from reverie.records import base, catalogue
from speed import corpus, home, measure

A_MINUTE = 1_000
SECONDS = 60.0
_LONGEST_S = 900.0


class Editor:
    """Changes one passage of random records, at an even pace, and puts back what it
    changed.
    """

    def __init__(self, life: home.Home, *, seed: int = 17) -> None:
        self._life = life
        self._random = np.random.default_rng(seed)
        self.changed: dict[int, int] = {}
        self.done = 0
        self.late_s = 0.0

    async def run(self) -> None:
        """Until cancelled."""
        began = time.perf_counter()
        while True:
            due = began + self.done * 60 / A_MINUTE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            number = int(self._random.integers(self._life.owner.plan.records))
            self.changed[number] = self.changed.get(number, 0) + 1
            await self._write(number, self.changed[number])
            self.done += 1
            self.late_s = max(
                0.0, time.perf_counter() - (began + self.done * 60 / A_MINUTE)
            )

    async def restore(self) -> None:
        """The first edition of everything, so that the home can be measured again."""
        for number in self.changed:
            await self._write(number, 0)

    async def _write(self, number: int, edition: int) -> None:
        owner = self._life.owner
        record = owner.plan.record(number, edition=edition)
        async with self._life.life.database.transaction(owner.caller) as tx:
            await base.update(
                tx,
                owner.caller,
                catalogue.domain(record.kind),
                record.id,
                record.values(),
            )


@asynccontextmanager
async def _running(life: home.Home, editor: Editor) -> AsyncGenerator[None]:
    """The editor and the product's worker, for as long as the block lasts; what the
    editor met is raised.
    """
    async with worker.Worker(life.life.database, life.given).running():
        task = asyncio.create_task(editor.run(), name="updates")
        try:
            yield
        finally:
            task.cancel()
            met = (await asyncio.gather(task, return_exceptions=True))[0]
            if isinstance(met, Exception):
                raise met


async def measured(
    life: home.Home, questions: Sequence[corpus.Question]
) -> dict[str, Any]:
    """The same questions in quiet and while records change, and the tables before and
    after.
    """
    asks = {"search": measure.product(life)["search"]}
    quiet = (await measure.timed(asks, questions))["search"]
    before = home.sizes(life.life)
    editor, busy, began = Editor(life), list[float](), time.perf_counter()
    try:
        async with _running(life, editor):
            while (
                time.perf_counter() - began < SECONDS or not busy
            ) and time.perf_counter() - began < _LONGEST_S:
                busy += (await measure.timed(asks, questions, warm=False))["search"]
            took = time.perf_counter() - began
        done, late = editor.done, editor.late_s
        behind = await home.caught_up(
            life.life, life.given, life.owner.caller, "after the updates"
        )
        after = home.sizes(life.life)
    finally:
        home.tell(f"putting back {len(editor.changed):,} records")
        await editor.restore()
        await home.caught_up(life.life, life.given, life.owner.caller, "put back")
    return {
        "quiet_ms": measure.percentiles(quiet),
        "busy_ms": measure.percentiles(busy),
        "updates": done,
        "updates_a_minute": round(done / took * 60),
        "updates_late_s": round(late, 1),
        "worker_behind_s": round(behind, 1),
        "tables": _compared(before["tables"], after["tables"]),
    }


def _compared(
    before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    old = {one["name"]: one for one in before}
    return [
        {
            "name": one["name"],
            "mb_before": round(old[one["name"]]["bytes"] / 2**20, 1)
            if one["name"] in old
            else 0,
            "mb_after": round(one["bytes"] / 2**20, 1),
            "live": one["live"],
            "dead_before": old[one["name"]]["dead"] if one["name"] in old else 0,
            "dead_after": one["dead"],
            "vacuumed": one["vacuumed"]
            - (old[one["name"]]["vacuumed"] if one["name"] in old else 0),
        }
        for one in after
    ]
