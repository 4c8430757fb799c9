"""A file has a user's vectors, once they are many: meaning is found in it as in the
table, with what came and went since, and never in that of somebody else.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
import pytest_asyncio

from reverie import db
from reverie.access import callers, users
from reverie.llm import embedding
from reverie.pipeline import rebuild, slots, vector_files, worker
from reverie.records import base, notes
from reverie.search import query, search, weights
from reverie.search import vector_files as files
from tests.pipeline import topics
from tests.pipeline.conftest import caught_up

_DROP = "DELETE FROM embedding"
_FILE = "SELECT id FROM vector_file"
_FRESH = "SELECT count(*) FROM fresh_vector"


@pytest.fixture
def model() -> Iterator[topics.Model]:
    one = topics.Model("given", dimensions=384, shift=0)
    one.open()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is many here."""
    monkeypatch.setattr(weights, "EXACT_VECTORS", 20)
    monkeypatch.setattr(vector_files, "_LEAST_FRESH", 4)


@dataclass(frozen=True)
class Life:
    """Two users, their vectors, and where their files lie."""

    database: db.Database
    owner: callers.Caller
    other: callers.Caller
    embeddings: embedding.Embeddings
    cache: Path

    async def note(self, topic: int, caller: callers.Caller | None = None) -> UUID:
        caller = caller or self.owner
        async with self.database.transaction(caller) as tx:
            values = {"content": f"zettel{topic}"}
            return (await base.create(tx, caller, notes.NOTES, values)).id

    async def work(self) -> None:
        following = worker.Worker(self.database, self.embeddings)
        async with following.running():
            await caught_up(self.database, self.owner, self.other)

    async def renew(self, caller: callers.Caller | None = None) -> bool:
        user = users.Reference((caller or self.owner).user_id)
        return await vector_files.renew(
            slots.Work(self.database, self.embeddings, user)
        )

    async def found(
        self, topic: int, caller: callers.Caller | None = None, tag: str | None = None
    ) -> list[str]:
        results = await search.search(
            self.database,
            caller or self.owner,
            self.embeddings,
            query.Query(text=f"frage{topic}", tag=tag),
        )
        return [hit.title for hit in results.hits[:1]]

    async def file(self) -> UUID | None:
        async with self.database.transaction(self.owner) as tx:
            return await tx.value(_FILE)

    async def fresh(self) -> int:
        async with self.database.transaction(self.owner) as tx:
            return int(await tx.value(_FRESH))

    async def lose_the_table(self) -> None:
        """What is found from now on, the file tells."""
        async with self.database.transaction(self.owner) as tx:
            await tx.run(_DROP)


@pytest_asyncio.fixture
async def life(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    model: topics.Model,
    tmp_path: Path,
) -> AsyncIterator[Life]:
    embeddings = embedding.Embeddings(model.settings_with(), cache=tmp_path)
    yield Life(database, owner, other, embeddings, tmp_path)
    embeddings.close()


async def many(life: Life) -> None:
    """Enough for a file, which the worker makes, or else the next call of it."""
    for topic in range(30):
        await life.note(topic)
    await life.work()
    await life.renew()


async def test_meaning_is_found_in_the_file(life: Life) -> None:
    await many(life)
    assert await life.file()
    assert await life.fresh() == 0
    before = [await life.found(topic) for topic in range(30)]
    assert before == [[f"zettel{topic}"] for topic in range(30)]
    await life.lose_the_table()
    assert [await life.found(topic) for topic in range(30)] == before


async def test_what_came_since_is_found_beside_the_file_and_then_in_it(
    life: Life,
) -> None:
    await many(life)
    first = await life.file()
    for topic in range(30, 33):
        await life.note(topic)
    await life.work()
    assert not await life.renew()
    assert await life.fresh() == 3
    assert await life.found(31) == ["zettel31"]
    assert await life.found(3) == ["zettel3"]
    for topic in range(33, 36):
        await life.note(topic)
    await life.work()
    await life.renew()
    assert await life.file() != first
    assert await life.fresh() == 0
    assert len(list((life.cache / "vectors" / str(life.owner.user_id)).iterdir())) == 1
    await life.lose_the_table()
    assert await life.found(34) == ["zettel34"]


async def test_what_was_deleted_is_not_found_and_leaves_the_file(life: Life) -> None:
    await many(life)
    gone = [await life.note(topic) for topic in range(40, 46)]
    await life.work()
    await life.renew()
    first = await life.file()
    for record in gone:
        async with life.database.transaction(life.owner) as tx:
            await base.delete(tx, life.owner, notes.NOTES, record)
    assert await life.found(42) != ["zettel42"]
    await life.work()
    await life.renew()
    assert await life.file() != first
    kept = files.mapped(life.cache, life.owner.user_id, await life.file())
    assert kept is not None
    assert len(kept.hashes) == 30


async def test_nobody_finds_in_the_file_of_another(life: Life) -> None:
    await many(life)
    await life.note(50, life.other)
    await life.work()
    assert not await life.renew(life.other)
    assert await life.found(7, life.other) != ["zettel7"]
    assert files.mapped(life.cache, life.other.user_id, await life.file()) is None
    async with life.database.transaction(life.other) as tx:
        assert await tx.value(_FILE) is None
        assert await tx.value(_FRESH) == 1


async def test_a_filter_is_answered_by_the_table(life: Life) -> None:
    await many(life)
    async with life.database.transaction(life.owner) as tx:
        values = {"content": "zettel60", "tags": ["red"]}
        await base.create(tx, life.owner, notes.NOTES, values)
    await life.work()
    assert await life.found(60, tag="red") == ["zettel60"]
    assert await life.found(3, tag="red") == []


async def test_a_file_that_is_lost_is_missed_by_nobody_and_made_again(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    await many(life)
    first = await life.file()
    shutil.rmtree(life.cache / "vectors")
    monkeypatch.setattr(files, "_mapped", {})  # as in another process
    assert await life.found(5) == ["zettel5"]
    assert await life.renew()
    assert await life.file() != first


async def test_vectors_that_are_forgotten_are_in_no_file(
    life: Life, model: topics.Model
) -> None:
    await many(life)
    await rebuild.rebuild(
        life.database, life.owner, vectors=True, progress=lambda _: None
    )
    assert await life.file() is None
    model.shift = 5
    await life.work()
    assert await life.found(5) == ["zettel5"]


def test_a_file_finds_the_nearest(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    around = random.standard_normal((50, 384)).astype(np.float32)
    chosen = random.integers(0, 50, 20_000)
    vectors = around[chosen] + random.standard_normal((20_000, 384)).astype(np.float32)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
        np.float32
    )
    hashes = b"".join(number.to_bytes(32, "big") for number in range(20_000))
    place = files.place_of(tmp_path, UUID(int=1), UUID(int=2))
    place.mkdir(parents=True)
    files.add(place, hashes[: 32 * 5_000], vectors[:5_000])
    files.add(place, hashes[32 * 5_000 :], vectors[5_000:])
    files.finish(place, 384)
    made = files.mapped(tmp_path, UUID(int=1), UUID(int=2))
    assert made is not None
    share: list[float] = []
    for question in vectors[:40]:
        found, products = made.nearest(question, 50)
        rows = [int.from_bytes(found[i : i + 32], "big") for i in range(0, 1600, 32)]
        exact = np.argsort(-(vectors @ question))[:50]
        share.append(len(set(rows) & set(exact.tolist())) / 50)
        assert products == pytest.approx((vectors[rows] @ question).tolist(), abs=1e-3)
    assert np.mean(share) > 0.95
