"""Two that ingest the same files at once: nothing is there twice, torn or stuck."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import pytest
import pytest_asyncio

from reverie import embedded, errors
from reverie.ingest import ingest_file, scan
from reverie.ingest.documents import units
from reverie.ingest.sandbox import pool, wire
from tests.durability import ingesting, lives
from tests.ingest.test_durable import until


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(
    cluster: embedded.EmbeddedServer,
    template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[lives.Scene]:
    async with lives.scene(cluster, template, tmp_path_factory.mktemp("scene")) as one:
        yield one


class Paused(pool.WorkerPool):
    """A worker pool in which everything rests after the third page, until told."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def read(self, job: pool.ReadJob) -> AsyncGenerator[wire.Message, None]:
        async for message in super().read(job):
            if (
                isinstance(message, units.Unit)
                and message.number == lives.PAGES // 2 + 1
            ):
                self.reached.set()
                await self.go_on.wait()
            yield message


async def test_a_document_that_two_read_at_once_is_whole(scene: lives.Scene) -> None:
    """One is done, and takes away what was read, while the other is half-way."""
    async with scene.life() as one, Paused() as paused:
        desk = ingest_file.Context(one.database, one.caller, one.blobs, paused)
        [found] = scan.find([scene.corpus / "report.pdf"])
        slow = asyncio.create_task(ingest_file.take(desk, found))
        await paused.reached.wait()
        await ingest_file.take(
            ingest_file.Context(one.database, one.caller, one.blobs, scene.reading),
            found,
        )
        before = await lives.content(one)
        paused.go_on.set()
        with contextlib.suppress(errors.Unavailable):  # then it is tried again
            await slow
        await ingest_file.take(desk, found)
        assert await lives.content(one) == before
        assert len(before["passages"]) == lives.PAGES
        assert await one.rows("SELECT number FROM unit") == []


async def test_two_processes_at_once_and_one_dies(scene: lives.Scene) -> None:
    """Both are asked for the same files, in two ways; then one is killed, and the other
    has it all.
    """
    async with scene.life() as one:
        async with one.working(scene.reading):
            await ingesting.ask(
                one.database, one.caller, "paths", {"paths": [str(scene.corpus)]}
            )
            await one.quiet()
        expected = await lives.content(one)
    for point, code in ((None, 0), ("after page 5 #1", -9)):
        async with scene.life() as one:
            job = one.job(scene.corpus, point)
            other = asyncio.create_task(asyncio.to_thread(scene.ingester.do, job))
            await until(lambda: _asked(one))
            async with one.working(scene.reading):
                each = [str(file) for file in sorted(scene.corpus.iterdir())]
                await ingesting.ask(one.database, one.caller, "paths", {"paths": each})
                await ingesting.ask(
                    one.database, one.caller, "paths", {"paths": [str(scene.corpus)]}
                )
                assert await other in (code, 0)
                await one.quiet()
            await lives.settled(one, pages=point is not None)
            there = await lives.content(one)
            for name in ("passages", "files", "keys"):
                mine = [
                    row for row in there[name] if not row["path"].startswith("upload/")
                ]
                assert mine == expected[name], (point, name)
            assert {row["action"] for row in there["log"]} == {"create"}, point


async def _asked(one: lives.Life) -> bool:
    return bool(await one.rows("SELECT id FROM ingestion WHERE state = 'running'"))
