"""Models side by side: a change of model is not seen in what is found, only in how."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from reverie import config, db
from reverie.access import callers, users
from reverie.llm import embedding
from reverie.pipeline import (
    checkup,
    embed,
    models,
    rebuild,
    slots,
    vector_store,
    worker,
)
from reverie.records import base, notes
from reverie.search import query, search
from tests.llm import model_server
from tests.pipeline import topics
from tests.pipeline.conftest import caught_up

NOTES = 30
# In one statement, so that both are of one moment.
_COUNTS = """
SELECT coalesce(held.model, model.name) AS name, coalesce(held.n, 0) AS n, coalesce(held.lengths, 0) AS lengths,
    coalesce(model.vectors, 0) AS told
FROM (
    SELECT model, count(*) AS n, count(DISTINCT vector_dims(vector)) AS lengths FROM embedding GROUP BY model
) AS held FULL JOIN model ON model.name = held.model
"""


@pytest.fixture
def old() -> Iterator[topics.Model]:
    yield from running(topics.Model("old", dimensions=384, shift=0))


@pytest.fixture(params=[384, 1024])
def new(request: pytest.FixtureRequest) -> Iterator[topics.Model]:
    yield from running(topics.Model("new", dimensions=request.param, shift=5))


def running(model: topics.Model) -> Iterator[topics.Model]:
    model.open()
    yield model
    model.close()


@asynccontextmanager
async def opened(settings: config.Embedding) -> AsyncIterator[embedding.Embeddings]:
    embeddings = embedding.Embeddings(settings)
    yield embeddings
    embeddings.close()


@asynccontextmanager
async def working(
    database: db.Database, settings: config.Embedding
) -> AsyncIterator[embedding.Embeddings]:
    """A worker of a process with these settings."""
    async with (
        opened(settings) as embeddings,
        worker.Worker(database, embeddings).running(),
    ):
        yield embeddings


async def keep(database: db.Database, caller: callers.Caller, topic: int) -> UUID:
    async with database.transaction(caller) as tx:
        return (
            await base.create(tx, caller, notes.NOTES, {"content": f"zettel{topic}"})
        ).id


async def filled(
    database: db.Database, caller: callers.Caller, settings: config.Embedding
) -> dict[int, UUID]:
    """Notes on many topics, with all their vectors."""
    made = {topic: await keep(database, caller, topic) for topic in range(NOTES)}
    async with working(database, settings) as embeddings:
        await until(lambda: holds(database, caller, {embeddings.model: NOTES}))
        await caught_up(database, caller)
    return made


async def counts(database: db.Database, caller: callers.Caller) -> dict[str, int]:
    """How many vectors each model has, which is what the table of models says; all of a
    model are of one length.
    """
    async with database.transaction(caller) as tx:
        rows = await tx.rows(_COUNTS)
    assert all(row["lengths"] <= 1 and row["n"] == row["told"] for row in rows), rows
    return {row["name"]: row["n"] for row in rows if row["n"]}


async def holds(
    database: db.Database, caller: callers.Caller, wanted: dict[str, int]
) -> bool:
    return await counts(database, caller) == wanted


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.02)


async def finds(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    made: dict[int, UUID],
    *,
    by: topics.Model,
) -> None:
    """Every topic is found by meaning alone, the right one first, and the question went
    to one model.
    """
    for topic, record in made.items():
        by.texts.clear()
        results = await search.search(
            database, caller, embeddings, query.Query(text=f"frage{topic}")
        )
        assert results.signals["semantic"] == "ok"
        assert results.hits[0].record_id == record
        assert set(results.hits[0].fused.evidence) == {"semantic"}
        assert by.texts == [f"frage{topic}"]


async def report(
    database: db.Database, caller: callers.Caller, embeddings: embedding.Embeddings
) -> dict[str, str]:
    found = await checkup.examine(database, embeddings, caller)
    return {one.about: one.state for one in found if one.level == "degraded"}


async def test_a_change_of_model(
    database: db.Database, owner: callers.Caller, old: topics.Model, new: topics.Model
) -> None:
    made = await filled(database, owner, old.settings)
    async with opened(old.settings) as embeddings:
        await finds(database, owner, embeddings, made, by=old)
    new.left = 8
    async with working(database, new.settings_with(old.settings)) as embeddings:
        await until(
            lambda: holds(database, owner, {"old@openai": NOTES, "new@openai": 8})
        )
        # The old model answers, and none of its vectors meets one of the new model.
        new.texts.clear()
        await finds(database, owner, embeddings, made, by=old)
        assert new.texts == []
        told = await report(database, owner, embeddings)
        assert (
            told["vectors"]
            == f"8 of {NOTES} texts can be found by meaning by the new model new@openai, all by their words"
        )
        assert told["previous model"] == (
            f"the previous model old@openai has {NOTES} vectors, used until the new one covers more"
        )
        # What is written meanwhile gets a vector of each, once there is room.
        new.left = 10**9
        made[NOTES] = await keep(database, owner, NOTES)
        await until(lambda: holds(database, owner, {"new@openai": NOTES + 1}))
        old.texts.clear()
        await finds(database, owner, embeddings, made, by=new)
        assert old.texts == []
        assert "previous model" not in await report(database, owner, embeddings)


async def test_what_is_written_during_a_change_is_found_by_meaning(
    database: db.Database, owner: callers.Caller, old: topics.Model, new: topics.Model
) -> None:
    made = await filled(database, owner, old.settings)
    new.left = 8
    async with working(database, new.settings_with(old.settings)) as embeddings:
        await until(
            lambda: holds(database, owner, {"old@openai": NOTES, "new@openai": 8})
        )
    # The next process makes the vectors of what is new first, and the rest after it.
    made[NOTES] = await keep(database, owner, NOTES)
    new.left = 1
    async with working(database, new.settings_with(old.settings)) as embeddings:
        await until(
            lambda: holds(database, owner, {"old@openai": NOTES + 1, "new@openai": 9})
        )
        await finds(database, owner, embeddings, made, by=old)
        # With the old server gone as well, the new model answers with what it has, and
        # words with the rest.
        old.close()
        results = await search.search(
            database, owner, embeddings, query.Query(text=f"frage{NOTES}")
        )
        assert results.signals["semantic"] == "ok"
        assert [hit.record_id for hit in results.hits[:1]] == [made[NOTES]]
        new.close()
        results = await search.search(
            database, owner, embeddings, query.Query(text="zettel3")
        )
        assert results.signals["semantic"].startswith(
            "left out: The embedding server does not answer"
        )
        assert [hit.record_id for hit in results.hits] == [made[3]]


async def test_an_old_model_that_nobody_can_ask(
    database: db.Database, owner: callers.Caller, old: topics.Model, new: topics.Model
) -> None:
    await filled(database, owner, old.settings)
    new.left = 8
    async with working(database, new.settings_with()) as embeddings:
        await until(
            lambda: holds(database, owner, {"old@openai": NOTES, "new@openai": 8})
        )
        told = await report(database, owner, embeddings)
        assert (
            told["previous model"]
            == f"the previous model old@openai has {NOTES} vectors, which nobody can ask"
        )
        results = await search.search(
            database, owner, embeddings, query.Query(text="frage1")
        )
        assert results.signals["semantic"] == "ok"


async def test_old_vectors_are_kept_if_wanted_and_a_way_back_makes_nothing_twice(
    database: db.Database, owner: callers.Caller, old: topics.Model, new: topics.Model
) -> None:
    made = await filled(database, owner, old.settings)
    both = {"old@openai": NOTES, "new@openai": NOTES}
    async with working(
        database, new.settings_with(old.settings, keep_previous=True)
    ) as embeddings:
        await until(lambda: holds(database, owner, both))
        await finds(database, owner, embeddings, made, by=new)
    old.texts.clear()
    async with working(database, old.settings_with(keep_previous=True)) as embeddings:
        await finds(database, owner, embeddings, made, by=old)
        await asyncio.sleep(0.2)
        assert await counts(database, owner) == both
    assert not any("zettel" in text for text in old.texts)
    async with working(database, old.settings_with()):
        await until(lambda: holds(database, owner, {"old@openai": NOTES}))


async def test_a_process_with_older_settings_undoes_nothing(
    database: db.Database, owner: callers.Caller, old: topics.Model, new: topics.Model
) -> None:
    await filled(database, owner, old.settings)
    async with working(database, new.settings_with(old.settings, keep_previous=True)):
        await until(
            lambda: holds(database, owner, {"old@openai": NOTES, "new@openai": NOTES})
        )
        async with opened(old.settings) as embeddings:
            work = slots.Work(database, embeddings, users.Reference(owner.user_id))
            reached: bytes | None = b""
            while reached is not None:
                reached = await embed.backfill(work, reached)
        assert await counts(database, owner) == {
            "old@openai": NOTES,
            "new@openai": NOTES,
        }


async def test_a_model_that_refuses_everything_replaces_nothing(
    database: db.Database, owner: callers.Caller, old: topics.Model, new: topics.Model
) -> None:
    made = await filled(database, owner, old.settings)
    new.answer = lambda _: (400, b"{}")
    async with opened(new.settings_with(old.settings)) as embeddings:
        async with database.transaction(owner) as tx:
            await models.choose(tx, owner, embeddings.model)
        work = slots.Work(database, embeddings, users.Reference(owner.user_id))
        reached: bytes | None = b""
        while reached is not None:
            reached = await embed.backfill(work, reached)
        assert await counts(database, owner) == {"old@openai": NOTES}
        await finds(database, owner, embeddings, made, by=old)


async def test_many_vectors_are_dropped_bit_by_bit(
    database: db.Database,
    owner: callers.Caller,
    old: topics.Model,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vector_store, "_BIT", 7)
    await filled(database, owner, old.settings)
    new = topics.Model("new", dimensions=384, shift=5)
    new.open()
    async with opened(new.settings_with(old.settings)) as embeddings:
        async with database.transaction(owner) as tx:
            await models.choose(tx, owner, embeddings.model)
        work = slots.Work(database, embeddings, users.Reference(owner.user_id))
        reached: bytes | None = b""
        seen: list[int] = []
        while reached is not None:
            reached = await embed.backfill(work, reached)
            seen.append((await counts(database, owner)).get("old@openai", 0))
    new.close()
    assert list(dict.fromkeys(seen)) == [30, 23, 16, 9, 2, 0]
    async with database.transaction(owner) as tx:
        assert [one.name for one in await models.of_user(tx, owner)] == ["new@openai"]


async def test_the_counts_follow_every_write(
    database: db.Database, owner: callers.Caller, old: topics.Model
) -> None:
    made = await filled(database, owner, old.settings)
    async with working(database, old.settings):
        async with database.transaction(owner) as tx:
            await base.delete(tx, owner, notes.NOTES, made[0])
            await base.update(
                tx,
                owner,
                notes.NOTES,
                made[1],
                {"content": "zettel77 and\n\n" + "more " * 400},
            )
        await caught_up(database, owner)
        assert sum((await counts(database, owner)).values()) > NOTES
        await rebuild.rebuild(database, owner, progress=lambda _: None)
        await caught_up(database, owner)
        assert sum((await counts(database, owner)).values()) > NOTES


async def test_a_model_is_measured_once_and_for_everybody(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    old: topics.Model,
) -> None:
    async def measured(caller: callers.Caller) -> list[tuple[object, ...]]:
        async with database.transaction(caller) as tx:
            rows = await tx.rows(
                "SELECT name, dimensions, floor, scale, measured_at FROM model"
            )
        return [tuple(row.values()) for row in rows]

    async def both() -> bool:
        return all(
            rows and rows[0][4]
            for rows in (await measured(owner), await measured(other))
        )

    async with working(database, old.settings) as embeddings:
        told = await report(database, owner, embeddings)
        await until(both)
        assert "similarities" not in await report(database, owner, embeddings)
    assert told.get("similarities", "") in (
        "",
        "old@openai has not been measured yet: a rough floor is used",
    )
    first, calls = await measured(owner), old.calls
    assert first[0][:2] == ("old@openai", 384)
    assert first[0][2] == pytest.approx(0, abs=0.02)  # type: ignore[comparison-overlap]
    assert first[0][3] == pytest.approx(0.395, abs=0.02)  # type: ignore[comparison-overlap]
    async with working(database, old.settings):
        await caught_up(database, owner, other)
        await asyncio.sleep(0.2)
    assert old.calls == calls
    assert await measured(owner) == first


async def test_from_the_built_in_model_to_another(
    database: db.Database, owner: callers.Caller, new: topics.Model
) -> None:
    async with database.transaction(owner) as tx:
        made = (
            await base.create(
                tx, owner, notes.NOTES, {"content": "Das Auto steht in der Garage."}
            )
        ).id
    async with working(database, config.Embedding()) as embeddings:
        await until(lambda: holds(database, owner, {embeddings.model: 1}))
    new.close()
    async with working(database, new.settings_with()) as embeddings:
        # The built-in model can be asked without being named.
        results = await search.search(
            database, owner, embeddings, query.Query(text="where is my car")
        )
        assert [hit.record_id for hit in results.hits] == [made]
        new.open()
        await until(lambda: holds(database, owner, {"new@openai": 1}))


async def test_the_doctor_looks_at_the_reranker(
    database: db.Database, owner: callers.Caller
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return 200, {
            "results": [
                {"index": i, "relevance_score": 0.5}
                for i, _ in enumerate(body["documents"])
            ]
        }

    with model_server.serving(answer) as server:
        settings = config.RerankerModel(
            provider="openai", base_url=server.url, model="judge"
        )
        embeddings = embedding.Embeddings(config.Embedding(provider="none"), settings)
        found = {
            one.about: one for one in await checkup.examine(database, embeddings, owner)
        }
        assert (found["reranker"].level, found["reranker"].state) == (
            "ok",
            "sorts the best 20 passages again",
        )
    found = {
        one.about: one for one in await checkup.examine(database, embeddings, owner)
    }
    assert found["reranker"].level == "wrong"
    assert "The reranking server does not answer" in found["reranker"].state
    none = embedding.Embeddings(config.Embedding(provider="none"))
    assert "reranker" not in {
        one.about for one in await checkup.examine(database, none, owner)
    }
    embeddings.close()
    none.close()


async def test_the_built_in_model_has_no_need_of_measuring(
    database: db.Database, owner: callers.Caller
) -> None:
    async with working(database, config.Embedding()) as embeddings:
        made = await keep(database, owner, 1)
        await until(lambda: holds(database, owner, {embeddings.model: 1}))
        assert "similarities" not in await report(database, owner, embeddings)
        async with database.transaction(owner) as tx:
            assert await tx.value("SELECT floor FROM model") is None
        results = await search.search(
            database, owner, embeddings, query.Query(text="zettel1")
        )
        assert [hit.record_id for hit in results.hits] == [made]
