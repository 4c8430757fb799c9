"""The worker: runs every slot, the consumers of the change log, at their own pace."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from reverie import db, errors
from reverie.access import users
from reverie.graph import links, nodes
from reverie.llm import chat, embedding
from reverie.pipeline import (
    dead_letters,
    embed,
    embed_queue,
    index,
    model_extraction,
    models,
    rule_extraction,
    slots,
    vector_graph,
)
from reverie.pipeline import heat as heat_slot
from reverie.records import changes, heat, versions

log = logging.getLogger(__name__)

SLOTS = (
    embed.EMBEDDING,
    index.INDEX,
    heat_slot.HEAT,
    rule_extraction.RULE_EXTRACTION,
    model_extraction.MODEL_EXTRACTION,
)
COOLING_S = 6 * 3600
_POLL_S = 1.0
_LONGEST_PAUSE_S = 30.0
# So long one user's queue is worked off before it is the next one's turn.
_TURN_S = 2.0

_Pace = Literal["done", "more", "ill"]


class Worker:
    """All slots of one process. Of several processes, one at a time runs a given slot;
    the others stand by. What updates replaced is dropped after `history_days`, or by
    another process (0). Without an `owner_url` the graphs of vectors stay as they are.
    """

    def __init__(
        self,
        database: db.Database,
        embeddings: embedding.Embeddings,
        models: chat.Models | None = None,
        *,
        history_days: int = 0,
        owner_url: str = "",
        followers: Sequence[slots.Slot] = SLOTS,
    ) -> None:
        self._database = database
        self._embeddings = embeddings
        self._models = models
        self._history = timedelta(days=history_days)
        self._followers = [slot for slot in followers if not _waits_for(slot, models)]
        self._wake = {slot.name: asyncio.Event() for slot in self._followers}
        self._cooled = 0.0
        self._reached: dict[tuple[str, UUID], bytes | None] = {}
        self._well: set[tuple[str, UUID]] = set()
        self.graphs = vector_graph.Graphs(database, owner_url)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Work in the background for as long as the block lasts."""
        await self._begin()
        tasks = [
            asyncio.create_task(self._follow(slot), name=f"slot {slot.name}")
            for slot in self._followers
        ]
        tasks.append(asyncio.create_task(self._listen(), name="listen"))
        tasks.append(asyncio.create_task(self.graphs.tend(), name="graphs of vectors"))
        try:
            yield
        finally:
            await _end(tasks)

    async def _begin(self) -> None:
        """A new process may have mended what was broken: try every letter now. A
        restored dump is put in order.

        And it may have been told of another model: from now on, that is the chosen one.
        """
        for user in await users.all_users(self._database):
            reference = users.Reference(user.user_id)
            async with self._database.transaction(reference) as tx:
                await dead_letters.retry_now(tx, reference)
                if self._embeddings.model:
                    await models.choose(tx, reference, self._embeddings.model)
                if await changes.adopt(tx, reference):
                    await slots.rewind(tx, reference)

    async def _complete(self, slot: slots.Slot, work: slots.Work) -> bool:
        """What waits in the slot's own queue and, once a process, what no change tells
        of, giving way to new changes after each bit; says whether there is more.
        """
        place = (slot.name, work.user.user_id)
        over = time.monotonic() + _TURN_S
        while True:
            busy = slot.queue is not None and await slot.queue(work)
            after = self._reached.get(place, b"")
            if slot.idle is not None and after is not None:
                self._reached[place] = await slot.idle(work, after)
            elif not busy:
                return False
            if time.monotonic() > over or self._wake[slot.name].is_set():
                return True

    async def _listen(self) -> None:
        while True:
            try:
                async for _ in self._database.listen("reverie_change"):
                    for event in self._wake.values():
                        event.set()
            except errors.ReverieError as away:
                log.warning("listening: %s", away.message)
            await asyncio.sleep(_POLL_S)

    async def _follow(self, slot: slots.Slot) -> None:
        while True:
            try:
                async with self._database.alone(f"slot:{slot.name}") as mine:
                    if mine:
                        await self._lead(slot)
            except errors.ReverieError as away:
                log.warning("slot %s: %s", slot.name, away.message)
            except Exception:  # a slot that ends is noticed by nobody
                log.exception("slot %s stumbled", slot.name)
            await asyncio.sleep(_POLL_S)

    async def _lead(self, slot: slots.Slot) -> None:
        """Follow the log for everybody until something as large as the database fails."""
        pause = _POLL_S
        self._well = {place for place in self._well if place[0] != slot.name}
        while True:
            event = self._wake[slot.name]
            event.clear()
            if slot.name == heat_slot.HEAT.name:
                await self._cool()
            paces = {
                await self._catch_up(slot, users.Reference(user.user_id))
                for user in await users.all_users(self._database)
            }
            pause = min(_LONGEST_PAUSE_S, pause * 2) if "ill" in paces else _POLL_S
            if "more" in paces:
                continue
            if "ill" in paces:
                await asyncio.sleep(pause)
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S):
                        await event.wait()

    async def _cool(self) -> None:
        if time.monotonic() - self._cooled < COOLING_S and self._cooled:
            return
        for user in await users.all_users(self._database):
            reference = users.Reference(user.user_id)
            async with self._database.transaction(reference) as tx:
                await heat.recompute(tx)
            async with self._database.transaction(reference) as tx:
                await links.cool(tx, reference)
                await nodes.cool(tx, reference)
            if self._history:
                async with self._database.transaction(reference) as tx:
                    await versions.prune(tx, reference, self._history)
        self._cooled = time.monotonic()

    async def _catch_up(self, slot: slots.Slot, user: users.Reference) -> _Pace:
        """Follow all that is new for one user, then the letters that are due, then a
        turn of the rest.
        """
        work = slots.Work(self._database, self._embeddings, user, self._models)
        place = (slot.name, user.user_id)
        try:
            while await _step(slot, work):
                pass
            await _retry(slot, work)
            more = await self._complete(slot, work)
        except errors.Unavailable as ill:
            if isinstance(ill, errors.DatabaseUnavailable):
                raise
            self._well.discard(place)
            async with self._database.transaction(user) as tx:
                await slots.trouble(tx, user, slot.name, ill.message)
            return "ill"
        if place not in self._well:
            async with self._database.transaction(user) as tx:
                await slots.well(tx, user, slot.name)
            self._well.add(place)
        return "more" if more else "done"


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks until they are gone: asyncio.wait_for of Python 3.11, used below us,
    can swallow a cancellation.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=1)


async def _step(slot: slots.Slot, work: slots.Work) -> bool:
    """One batch; says whether there may be more."""
    async with work.database.transaction(work.user) as tx:
        at = await slots.cursor(tx, work.user, slot.name)
        batch = await changes.after(
            tx, work.user, xid=at.xid, seq=at.seq, limit=slots.BATCH
        )
    if not batch:
        return False
    good = await _attempt(slot, slot.before, work, batch)
    well = slot.queue is None
    async with work.database.transaction(work.user) as tx:
        if await slots.move(tx, work.user, slot.name, batch[-1], start=at, well=well):
            await _finish(tx, slot, work, good)
    return True


async def _finish(
    tx: db.Transaction,
    slot: slots.Slot,
    work: slots.Work,
    batch: Sequence[changes.Change],
) -> None:
    """Run `within` on a batch; if it fails, on each change alone, and put aside those
    that fail.
    """
    if slot.within is None or not batch:
        return
    try:
        async with tx.savepoint():
            await slot.within(tx, work.user, batch)
    except errors.Unavailable:
        raise
    except Exception as failure:  # noqa: BLE001 - a slot may fail in any way; the change is put aside with the reason
        if len(batch) == 1:
            await _put_aside(tx, slot, work, batch[0], failure)
            return
        for change in batch:
            await _finish(tx, slot, work, [change])


async def _attempt(
    slot: slots.Slot,
    step: slots.Step | None,
    work: slots.Work,
    batch: Sequence[changes.Change],
) -> Sequence[changes.Change]:
    """Run `before` or `again` on a batch; if it fails, on each change alone, so that
    one bad record holds up no other.
    """
    if step is None:
        return batch
    try:
        await step(work, batch)
    except errors.Unavailable:
        raise
    except Exception as failure:  # noqa: BLE001 - a slot may fail in any way; the change is put aside with the reason
        if len(batch) == 1:
            log.warning("slot %s put a change aside: %r", slot.name, failure)
            async with work.database.transaction(work.user) as tx:
                await _put_aside(tx, slot, work, batch[0], failure)
            return []
        followed: list[changes.Change] = []
        for change in batch:
            followed += await _attempt(slot, step, work, [change])
        return followed
    return batch


async def _put_aside(
    tx: db.Transaction,
    slot: slots.Slot,
    work: slots.Work,
    change: changes.Change,
    failure: Exception,
) -> None:
    reason = f"{type(failure).__name__}: {failure}"
    await dead_letters.put(tx, work.user, slot.name, change, reason)


async def _retry(slot: slots.Slot, work: slots.Work) -> None:
    """Try the dead letters that are due; a change that is no more is followed by
    nothing.
    """
    async with work.database.transaction(work.user) as tx:
        letters = await dead_letters.due(tx, work.user, slot.name, limit=slots.BATCH)
        rows = await changes.by_number(
            tx, work.user, [letter.seq for letter in letters]
        )
    by_seq = {change.seq: change for change in rows}
    for letter in letters:
        batch = [by_seq[letter.seq]] if letter.seq in by_seq else []
        step = slot.again or slot.before
        if batch and not await _attempt(slot, step, work, batch):
            continue
        async with work.database.transaction(work.user) as tx:
            if await dead_letters.remove(tx, work.user, slot.name, letter):
                await _finish(tx, slot, work, batch)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one slot stands for one user."""

    slot: str
    behind: int
    trouble: str | None
    letters: list[dead_letters.DeadLetter]
    waits_for: str


async def standings(
    tx: db.Transaction, user: db.HasUser, models: chat.Models | None = None
) -> list[Standing]:
    """How all slots stand for a user, for `doctor` and progress; without a model, one
    waits for it.
    """
    everything: list[Standing] = []
    for slot in SLOTS:
        at = await slots.cursor(tx, user, slot.name)
        behind = await changes.behind(tx, user, xid=at.xid, seq=at.seq)
        if slot.queue is not None:
            behind += await embed_queue.changes_waiting(
                tx, user, xid=at.xid, seq=at.seq
            )
        letters = await dead_letters.of_slot(tx, user, slot.name)
        everything.append(
            Standing(slot.name, behind, at.trouble, letters, _waits_for(slot, models))
        )
    return everything


def _waits_for(slot: slots.Slot, models: chat.Models | None) -> str:
    return (
        "a language model"
        if slot.asks and not (models and models.is_configured)
        else ""
    )
