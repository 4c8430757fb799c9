"""The graph of vectors gives way to a backlog and is built at once after it, whoever
was killed on the way; what is searched meanwhile is found.
"""

import asyncio
import threading
from collections.abc import Sequence

import psycopg
import pytest

from reverie import db, embedded
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import progress, vector_graph, worker
from reverie.records import base, notes
from reverie.search import query, search
from tests.pipeline import topics
from tests.pipeline.conftest import caught_up, vectors
from tests.pipeline.test_worker import until

_INDEX = """
SELECT indisvalid, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indexrelid = to_regclass('embedding_384')
"""


@pytest.fixture
def owner_url(cluster: embedded.EmbeddedServer, fresh: str) -> str:
    return cluster.place.url(embedded.OWNER_ROLE, database=fresh)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a backlog here."""
    monkeypatch.setattr(vector_graph, "BACKLOG", 20)
    monkeypatch.setattr(vector_graph, "_REST", 2)
    monkeypatch.setattr(vector_graph, "_LOOK_S", 0.02)


async def many(
    database: db.Database, caller: callers.Caller, some: Sequence[int]
) -> None:
    for topic in some:
        async with database.transaction(caller) as tx:
            await base.create(tx, caller, notes.NOTES, {"content": f"zettel{topic}"})


def graph(owner_url: str) -> tuple[bool, str] | None:
    """Whether the graph is whole, and its definition."""
    with psycopg.connect(owner_url) as connection:
        return connection.execute(_INDEX).fetchone()


async def finds(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    some: Sequence[int],
) -> None:
    for topic in some:
        results = await search.search(
            database, caller, embeddings, query.Query(text=f"frage{topic}")
        )
        assert [hit.title for hit in results.hits[:1]] == [f"zettel{topic}"]


async def test_a_backlog_goes_without_the_graph_and_gets_it_afterwards(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    model: topics.Model,
    owner_url: str,
) -> None:
    before = graph(owner_url)
    assert before
    embeddings = embedding.Embeddings(model.settings_with())
    await many(database, other, range(3))
    await many(database, owner, range(60))
    goes_on = threading.Event()
    well = model.answer

    def answer(texts: list[str]) -> tuple[int, bytes]:
        if len(model.texts) > 20 and any("zettel" in text for text in texts):
            goes_on.wait(30)
        return well(texts)

    model.answer = answer
    following = worker.Worker(database, embeddings, owner_url=owner_url)
    async with following.running():
        await until(lambda: asyncio.sleep(0, graph(owner_url) is None), "no graph")
        there, lacking = await vectors(database, owner)
        assert there > 0
        assert lacking > 2
        goes_on.set()
        await caught_up(database, owner, other)
        await finds(database, owner, embeddings, range(0, 60, 9))

        async def whole() -> bool:
            return graph(owner_url) == before

        await until(whole, "the graph")
        assert not following.graphs.pending
    await finds(database, owner, embeddings, range(60))
    await finds(database, other, embeddings, range(3))
    embeddings.close()


async def test_a_command_ends_with_the_graph(
    database: db.Database,
    owner: callers.Caller,
    model: topics.Model,
    owner_url: str,
) -> None:
    before = graph(owner_url)
    embeddings = embedding.Embeddings(model.settings_with())
    await many(database, owner, range(30))
    with psycopg.connect(owner_url, autocommit=True) as chief:
        chief.execute("DROP INDEX embedding_384")  # as by a process that was killed
    async for state in progress.follow(
        database, embeddings, owner, owner_url=owner_url
    ):
        assert not state.trouble
    assert await vectors(database, owner) == (30, 0)
    assert graph(owner_url) == before
    embeddings.close()


async def test_half_a_graph_of_a_killed_process_is_built_again(
    database: db.Database,
    owner: callers.Caller,
    model: topics.Model,
    owner_url: str,
) -> None:
    before = graph(owner_url)
    embeddings = embedding.Embeddings(model.settings_with())
    await many(database, owner, range(10))
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    with psycopg.connect(owner_url, autocommit=True) as chief:
        chief.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'embedding_384'::regclass"
        )
    await finds(database, owner, embeddings, range(10))
    await vector_graph.Graphs(database, owner_url).look()
    assert graph(owner_url) == before
    await finds(database, owner, embeddings, range(10))
    embeddings.close()


async def test_many_vectors_keep_their_graph(
    database: db.Database,
    owner: callers.Caller,
    model: topics.Model,
    owner_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Comparing them one by one would take too long; so would building it anew for a
    small part more.
    """
    embeddings = embedding.Embeddings(model.settings_with())
    await many(database, owner, range(60))
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
        model.left = 0
        await many(database, owner, range(60, 85))

        async def wait() -> bool:
            async with database.transaction(owner) as tx:
                waiting = await tx.value("SELECT count(*) FROM unembedded")
            return waiting == 25

        await until(wait, "a backlog")
        graphs = vector_graph.Graphs(database, owner_url)
        await graphs.look()
        assert graph(owner_url)
        monkeypatch.setattr(vector_graph, "_MOST", 50)
        await many(database, owner, range(85, 130))
        await graphs.look()
        assert graph(owner_url)
    # Without its owner nobody touches it.
    assert not vector_graph.Graphs(database, "").pending
    embeddings.close()
