"""Ingestion killed by SIGKILL at its steps and inside them: all that was asked for
comes in, and comes in once.
"""

import asyncio
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from reverie import blobs, db, embedded
from reverie.ingest import ingest_file, ingestions, steps
from tests.durability import ingesting, lives
from tests.ingest.test_durable import until

SOME, ALL, PARTS = 8, 108, 6
NAMED = [
    "after acknowledging folder",
    "after commit of update ingestion #1",
    "before record ingest.scan #1",
    "after page 3 #1",
    "before record ingest.take #1",
    "before commit of update ingestion_file #9",
    "after insert into imported #2",
    "after half #1",
    "before outcome #1",
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(
    cluster: embedded.EmbeddedServer,
    template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[lives.Scene]:
    async with lives.scene(cluster, template, tmp_path_factory.mktemp("scene")) as one:
        yield one


@dataclass(frozen=True)
class Undisturbed:
    """What an ingestion that nobody kills passes, and leaves behind."""

    points: list[str]
    content: dict[str, Any]
    files: dict[str, tuple[str, str, int, int]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def undisturbed(scene: lives.Scene) -> Undisturbed:
    async with scene.life() as one:
        assert scene.ingester.do(one.job(scene.corpus)) == 0
        async with one.working(scene.reading):
            await one.quiet()
        await lives.settled(one)
        return Undisturbed(
            json.loads(one.passed.read_text()),
            await lives.content(one),
            await lives.files_of(one),
        )


def kind(point: str) -> str:
    return re.sub(r" #\d+$", "", point)


def chosen(points: Sequence[str], count: int) -> list[str]:
    """The named ones, one of every kind by a seed, then any."""
    dice = random.Random(lives.SEED)
    kinds: dict[str, list[str]] = defaultdict(list)
    for point in points:
        kinds[kind(point)].append(point)
    first = [dice.choice(kinds[one]) for one in sorted(kinds)]
    dice.shuffle(first)
    rest = [point for point in points if point not in first]
    dice.shuffle(rest)
    return list(dict.fromkeys([*NAMED, *first, *rest]))[:count]


def acknowledged(job: dict[str, Any]) -> list[str]:
    acks = Path(job["acks"])
    return acks.read_text().split() if acks.exists() else []


async def killed(scene: lives.Scene, point: str, expected: Undisturbed) -> bool:
    """Kill an ingestion at a point and let another process go on. Says whether the
    point was reached at all.
    """
    async with scene.life() as one:
        job = one.job(scene.corpus, point)
        if scene.ingester.do(job) == 0:
            return False
        acked = acknowledged(job)
        assert len(acked) <= len(await one.rows("SELECT kind FROM ingestion")), point
        report = blobs.digest_of(scene.corpus / "report.pdf")
        pages = await one.rows(
            "SELECT number FROM unit WHERE digest = %s AND number > 0", report
        )
        noted = await one.rows(
            "SELECT path FROM imported_file WHERE path LIKE '%%report.pdf'"
        )
        scene.reading.given.clear()
        if "folder" not in acked:
            await ingesting.ask(
                one.database,
                one.caller,
                "paths",
                ingesting.folder_request(str(scene.corpus)),
            )
        if "upload" not in acked:
            request = ingesting.upload_request(one.blobs, one.caller)
            await ingesting.ask(one.database, one.caller, "upload", request)
        async with one.working(scene.reading):
            await one.quiet()
        await lives.settled(one)
        assert await lives.content(one) == expected.content, point
        assert await lives.files_of(one) == expected.files, point
        left = [] if noted else list(range(len(pages) + 1, lives.PAGES + 1))
        assert scene.reading.given["report.pdf"] == left, (
            f"{point}: pages read twice, or not at all"
        )
        return True


async def all_killed(
    scene: lives.Scene, points: Sequence[str], expected: Undisturbed
) -> int:
    """Kill at each of some points; says at how many."""
    reached = 0
    wrong: dict[str, str] = {}
    for point in points:
        try:
            reached += await killed(scene, point, expected)
        except (AssertionError, TimeoutError) as failure:
            wrong[point] = str(failure)
    assert not wrong
    return reached


async def test_an_ingestion_is_killed_at_some_points(
    scene: lives.Scene, undisturbed: Undisturbed
) -> None:
    states = Counter(state for state, *_ in undisturbed.files.values())
    assert states == {"imported": 10, "failed": 1}, undisturbed.files
    assert len(undisturbed.content["records"]) == 12
    assert len(undisturbed.points) > 500
    assert set(NAMED) <= set(undisturbed.points)
    # A few points are passed now and then only: two ingestions run side by side.
    assert (
        await all_killed(scene, chosen(undisturbed.points, SOME), undisturbed)
        >= SOME - 2
    )


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
async def test_an_ingestion_is_killed_at_every_kind_of_point(
    scene: lives.Scene, undisturbed: Undisturbed, part: int
) -> None:
    points = chosen(undisturbed.points, ALL)
    assert {kind(one) for one in points} == {kind(one) for one in undisturbed.points}
    mine = points[part::PARTS]
    reached = await all_killed(scene, mine, undisturbed)
    sys.stdout.write(
        f"killed at {reached} of {len(mine)} points, of {len(undisturbed.points)} that there are\n"
    )
    assert reached >= len(mine) - 2


async def died_at_a_page(
    scene: lives.Scene, one: lives.Life, folder: Path
) -> dict[str, Any] | None:
    """The document after a life that ended at its third page; None when the life went
    on to its end.
    """
    if scene.ingester.do(one.job(folder, "before page 3 #1")) == 0:
        return None
    return (
        await one.rows(
            "SELECT units, tries FROM ingestion_file WHERE relative = 'report.pdf'"
        )
    )[0]


@pytest.fixture
def poison(scene: lives.Scene, tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "report.pdf").write_bytes((scene.corpus / "report.pdf").read_bytes())
    return folder


async def test_a_page_at_which_the_process_dies_is_counted(
    scene: lives.Scene, poison: Path
) -> None:
    """The pages before it are a step forward once, and not in each life."""
    async with scene.life() as one:
        assert await died_at_a_page(scene, one, poison) == {"units": 2, "tries": 0}
        assert await died_at_a_page(scene, one, poison) == {"units": 2, "tries": 1}


@pytest.mark.soak
async def test_a_document_at_whose_page_the_process_dies_is_parked(
    scene: lives.Scene, poison: Path
) -> None:
    async with scene.life() as one:
        for _ in range(ingestions.TRIES + 1):
            assert await died_at_a_page(scene, one, poison)
        assert await died_at_a_page(scene, one, poison) is None
        [parked] = await one.rows(
            "SELECT state, units, total FROM ingestion_file WHERE relative = 'report.pdf'"
        )
        assert parked == {"state": "parked", "units": 2, "total": lives.PAGES}


async def test_a_request_that_cannot_be_looked_at_fails_and_says_so(
    scene: lives.Scene,
) -> None:
    async with scene.life() as one, one.working(scene.reading):
        await ingesting.ask(
            one.database, one.caller, "paths", {"paths": ["/" + "x" * 5000]}
        )
        await one.quiet(within_s=10)
        [failed] = await one.rows("SELECT state, reason FROM ingestion")
        assert failed["state"] == "failed"
        assert failed["reason"]


@pytest.mark.parametrize("table", ["workflow_status", "operation_outputs"])
async def test_a_workflow_that_breaks_off_is_begun_again(
    scene: lives.Scene, table: str
) -> None:
    """The process lives, and so nobody takes over from it: it has to notice by itself."""

    def rename(old: str, new: str) -> None:
        with psycopg.connect(one.owner_url) as connection:
            connection.execute(
                db.compose("ALTER TABLE dbos.{old} RENAME TO {new}", old=old, new=new)
            )

    async def running() -> bool:
        return bool(await one.rows("SELECT id FROM ingestion WHERE state = 'running'"))

    async with scene.life() as one, one.working(scene.reading):
        await asyncio.to_thread(rename, table, "away")
        await ingesting.ask(
            one.database,
            one.caller,
            "paths",
            {"paths": [str(scene.corpus / "note1.md")]},
        )
        await until(running)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(rename, "away", table)
        await one.quiet()
        assert await one.rows("SELECT count(*) FROM note") == [{"count": 1}]


async def test_what_was_begun_again_is_not_ended_by_the_workflow_before(
    scene: lives.Scene,
) -> None:
    """Stopped, and asked for again before the workflow of the first time has noticed:
    its last step finds work left.
    """
    async with scene.life() as one:
        desk = ingest_file.Context(one.database, one.caller, one.blobs, scene.reading)
        asked = await ingesting.ask(
            one.database, one.caller, "paths", {"paths": [str(scene.corpus)]}
        )
        async with one.database.transaction(one.caller) as tx:
            await ingestions.take_next(tx, one.caller, "ingest:somebody")
        await steps.finish(desk, asked)
        assert not await ingesting.over(one.database, one.caller)
        await steps.scan(desk, asked)
        await steps.finish(desk, asked)
        assert not await ingesting.over(one.database, one.caller)
        while await steps.take(desk, asked):
            pass
        await steps.finish(desk, asked)
        assert await ingesting.over(one.database, one.caller)
