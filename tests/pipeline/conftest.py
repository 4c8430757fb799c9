"""A worker with an embedding server of its own, and a way to wait until it has caught
up.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import pytest
import pytest_asyncio

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import worker
from tests.pipeline import embedder, topics


@pytest.fixture
def server() -> Iterator[embedder.Server]:
    with embedder.serving() as one:
        yield one


@pytest.fixture
def model() -> Iterator[topics.Model]:
    """A model of a server that knows how near texts of one topic are."""
    known = topics.Model("given", dimensions=384, shift=0)
    known.open()
    yield known
    known.close()


@pytest_asyncio.fixture
async def embeddings(server: embedder.Server) -> AsyncIterator[embedding.Embeddings]:
    one = embedding.Embeddings(server.settings)
    yield one
    one.close()


async def standing(
    database: db.Database, caller: db.HasUser, slot: str
) -> worker.Standing:
    """How one slot stands."""
    async with database.transaction(caller) as tx:
        return next(
            one for one in await worker.standings(tx, caller) if one.slot == slot
        )


async def caught_up(
    database: db.Database,
    *everybody: callers.Caller,
    slots: tuple[str, ...] = ("embedding", "heat"),
) -> None:
    """Wait until the slots have followed everything and have no letters left."""
    deadline = asyncio.get_running_loop().time() + 45
    while True:
        found = [
            await standing(database, one, name) for one in everybody for name in slots
        ]
        if all(not (one.behind or one.letters or one.trouble) for one in found):
            return
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"not caught up: {found}")
        await asyncio.sleep(0.02)


async def accesses(database: db.Database, caller: callers.Caller) -> dict[UUID, float]:
    """How often each record counts as opened."""
    async with database.transaction(caller) as tx:
        return {
            row["record_id"]: row["accesses"]
            for row in await tx.rows("SELECT record_id, accesses FROM heat")
        }


async def vectors(database: db.Database, caller: callers.Caller) -> tuple[int, int]:
    """How many vectors there are, and how many passages lack theirs."""
    async with database.transaction(caller) as tx:
        there = await tx.value("SELECT count(*) FROM embedding")
        lacking = await tx.value(
            "SELECT count(*) FROM passage WHERE hash IS NOT NULL"
            " AND NOT EXISTS (SELECT FROM embedding WHERE embedding.hash = passage.hash)"
        )
    return int(there), int(lacking)
