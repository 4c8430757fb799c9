"""Near vectors through their graph: nearly all of the nearest, of one's own texts only,
whoever else keeps how many.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
import psycopg
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from reverie import config, db, embedded
from reverie.access import callers, tokens, users
from reverie.llm import embedding
from reverie.records import base, notes
from reverie.search import candidates, query_model, search, vector
from reverie.search import query as queries
from tests.search.given import CALIBRATION, MODEL

MANY, FEW, DIMENSIONS = 6_000, 60, 384
NEAREST, QUESTIONS = 10, 40

Vectors = NDArray[np.float32]

# So many passages are made by SQL in seconds: what is asked about is the signal, not
# how they came to be there.
_FILL = """
WITH made AS (
    INSERT INTO passage (user_id, record_id, ordinal, place, text, hash, length, terms)
    SELECT %(user)s, %(record)s, n, '{}', 'text ' || n, sha256(n::text::bytea), 20, ''
    FROM generate_series(2, %(most)s) AS n
    RETURNING ordinal, hash
), every AS (
    SELECT ordinal, hash FROM made UNION ALL SELECT ordinal, hash FROM passage WHERE record_id = %(record)s
)
INSERT INTO embedding (user_id, model, hash, vector, dimensions)
SELECT %(user)s, %(model)s, hash, vector::halfvec, %(dimensions)s
FROM every JOIN unnest(%(vectors)s::text[]) WITH ORDINALITY AS given (vector, n) ON n = ordinal
"""
_MODEL = (
    "INSERT INTO model (user_id, name, dimensions, vectors) VALUES (%s, %s, %s, %s)"
)


class Asked(embedding.Embeddings):
    """An embedder at the process's edge that knows the vector of each question:
    `question 7` is row 7.
    """

    def __init__(self, questions: Vectors) -> None:
        super().__init__(config.Embedding(provider="none"))
        self.models = (MODEL,)
        self._questions = questions

    def shipped(self, model: str) -> embedding.Calibration:
        return CALIBRATION

    async def query(
        self,
        text: str,
        model: str | None = None,
        *,
        measured: embedding.Calibration | None = None,
        origin: embedding.Origin | None = None,
    ) -> embedding.QueryVector:
        return embedding.QueryVector(
            MODEL, self._questions[int(text.split()[1])].tolist(), CALIBRATION
        )


@dataclass(frozen=True)
class Person:
    """Somebody with as many vectors as rows; the passage of row i has the
    ordinal i + 1.
    """

    caller: callers.Caller
    vectors: Vectors


@dataclass(frozen=True)
class Crowd:
    """Two people on one database, and the questions that both ask."""

    database: db.Database
    many: Person
    few: Person
    questions: Vectors
    embeddings: Asked

    async def nearest(
        self, person: Person, number: int, query: queries.Query
    ) -> list[candidates.PassageHit]:
        """The signal's answer to a question."""
        asked = await query_model.embed(
            self.database, person.caller, self.embeddings, f"question {number}"
        )
        async with self.database.snapshot(
            person.caller, settings=vector.hnsw_settings(asked.own)
        ) as tx:
            return await vector.retrieve(tx, person.caller, query, asked)

    async def recall(self, person: Person, query: queries.Query | None = None) -> float:
        """The share of the exact ten nearest that is among the ten found, over all
        questions.
        """
        share: list[float] = []
        for number, question in enumerate(self.questions):
            exact = (
                np.argsort(-(person.vectors @ question), kind="stable")[:NEAREST] + 1
            )
            found = await self.nearest(
                person, number, query or queries.Query(text=f"question {number}")
            )
            share.append(
                len({one.ordinal for one in found[:NEAREST]} & set(exact.tolist()))
                / NEAREST
            )
        return float(np.mean(share))


def drawn(random: np.random.Generator, topics: Vectors, count: int) -> Vectors:
    """Unit vectors about some topics, as texts are, in the precision that is kept."""
    vectors = (
        topics[random.integers(0, len(topics), count)]
        + 0.7 * random.standard_normal((count, DIMENSIONS)) / 20
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16).astype(np.float32)


async def filled(database: db.Database, name: str, vectors: Vectors) -> Person:
    """One person with one long record whose passages have these vectors."""
    user = await users.create(database, name=name)
    caller = await tokens.caller(
        database, await tokens.mint(database, user.user_id, name=name)
    )
    async with database.transaction(caller) as tx:
        text = "text one that is as long as twenty words are so that its length takes nothing from what it means here"
        made = await base.create(
            tx, caller, notes.NOTES, {"title": name, "content": text}
        )
        parameters = {
            "user": caller.user_id,
            "record": made.id,
            "most": len(vectors),
            "model": MODEL,
            "dimensions": DIMENSIONS,
            "vectors": [
                "[" + ",".join(f"{value:.6g}" for value in row) + "]"
                for row in vectors.tolist()
            ],
        }
        await tx.run(_FILL, parameters)
        await tx.run(_MODEL, (caller.user_id, MODEL, DIMENSIONS, len(vectors)))
    return Person(caller, vectors)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def crowd(
    cluster: embedded.EmbeddedServer, template: str
) -> AsyncIterator[Crowd]:
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(
            db.compose("CREATE DATABASE {name} TEMPLATE {of}", name="near", of=template)
        )
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database="near"))
    await pool.open()
    random = np.random.default_rng(11)
    topics = (
        random.standard_normal((120, DIMENSIONS)).astype(np.float32) / DIMENSIONS**0.5
    )
    many = await filled(pool, "many", drawn(random, topics, MANY))
    few = await filled(pool, "few", drawn(random, topics, FEW))
    with psycopg.connect(
        cluster.place.url(embedded.OWNER_ROLE, database="near"), autocommit=True
    ) as connection:
        connection.execute("ANALYZE embedding")
    questions = drawn(random, topics, QUESTIONS)
    embeddings = Asked(questions)
    yield Crowd(pool, many, few, questions, embeddings)
    embeddings.close()
    await pool.close()
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute("DROP DATABASE near WITH (FORCE)")


async def test_many_vectors_are_found_through_their_graph(crowd: Crowd) -> None:
    assert await crowd.recall(crowd.many) >= 0.95


async def test_few_vectors_are_all_found_however_many_others_there_are(
    crowd: Crowd,
) -> None:
    assert await crowd.recall(crowd.few) == 1.0


async def test_the_graph_is_asked_for_many_and_not_for_few(crowd: Crowd) -> None:
    """By PostgreSQL's own count of how often the index was read in this transaction."""

    async def scans(person: Person) -> int:
        asked = await query_model.embed(
            crowd.database, person.caller, crowd.embeddings, "question 0"
        )
        async with crowd.database.snapshot(
            person.caller, settings=vector.hnsw_settings(asked.own)
        ) as tx:
            before = await tx.value(
                "SELECT pg_stat_get_xact_numscans('embedding_384'::regclass)"
            )
            await vector.retrieve(
                tx, person.caller, queries.Query(text="question 0"), asked
            )
            return int(
                await tx.value(
                    "SELECT pg_stat_get_xact_numscans('embedding_384'::regclass)"
                )
            ) - int(before)

    assert await scans(crowd.many) == 1
    assert await scans(crowd.few) == 0


async def test_no_text_of_anothers_is_near(crowd: Crowd) -> None:
    for person in (crowd.many, crowd.few):
        async with crowd.database.transaction(person.caller) as tx:
            mine = {row["id"] for row in await tx.rows("SELECT id FROM passage")}
        assert len(mine) == len(person.vectors)
        for number in range(QUESTIONS):
            found = await crowd.nearest(person, number, queries.Query(text="x"))
            assert len(found) == min(100, len(person.vectors))
            assert {one.passage_id for one in found} <= mine


async def test_scores_are_the_cosines_best_first(crowd: Crowd) -> None:
    for person in (crowd.many, crowd.few):
        found = await crowd.nearest(person, 3, queries.Query(text="x"))
        exact = [
            float(person.vectors[one.ordinal - 1] @ crowd.questions[3]) for one in found
        ]
        assert [one.score for one in found] == pytest.approx(exact, abs=2e-3)
        assert [one.score for one in found] == sorted(
            (one.score for one in found), reverse=True
        )


async def test_a_scope_of_few_among_many_is_compared_one_by_one(crowd: Crowd) -> None:
    """A second record of 50 texts: none of its nearest may be missed because the graph
    leads elsewhere.
    """
    random = np.random.default_rng(12)
    caller = crowd.many.caller
    vectors = drawn(
        random,
        random.standard_normal((5, DIMENSIONS)).astype(np.float32) / DIMENSIONS**0.5,
        50,
    )
    async with crowd.database.transaction(caller) as tx:
        values = {
            "title": "scoped",
            "content": "text one of the scoped " * 4,
            "tags": ["scoped"],
        }
        made = await base.create(tx, caller, notes.NOTES, values)
        rows = [
            "[" + ",".join(f"{value:.6g}" for value in row) + "]"
            for row in vectors.tolist()
        ]
        await tx.run(
            "INSERT INTO passage (user_id, record_id, ordinal, place, text, hash, length, terms)"
            " SELECT %s, %s, n, '{}', 'scoped ' || n, sha256(('scoped' || n)::bytea), 20, ''"
            " FROM generate_series(2, 50) AS n",
            (caller.user_id, made.id),
        )
        await tx.run(
            "INSERT INTO embedding (user_id, model, hash, vector, dimensions)"
            " SELECT user_id, %s, hash, (%s::text[])[ordinal]::halfvec, %s FROM passage WHERE record_id = %s",
            (MODEL, rows, DIMENSIONS, made.id),
        )
    scoped = Person(caller, vectors)
    query = queries.Query(text="x", tag="scoped")
    assert await crowd.recall(scoped, query) == pytest.approx(1.0, abs=0.01)
    found = await crowd.nearest(scoped, 0, query)
    assert {one.record_id for one in found} == {made.id}
    assert len(found) == 50
    answer = await search.search(
        crowd.database,
        caller,
        crowd.embeddings,
        queries.Query(text="question 0", tag="scoped", limit=50),
    )
    assert {hit.record_id for hit in answer.hits} <= {made.id}


async def test_what_others_vectors_crowd_out_is_found_all_the_same(
    crowd: Crowd,
) -> None:
    """Another model's vectors lie nearest, so that the graph's first answer holds
    nothing else: it is asked to go on.
    """
    random = np.random.default_rng(13)
    caller, question = crowd.many.caller, crowd.questions[0]
    near = question + 0.001 * random.standard_normal((600, DIMENSIONS))
    rows = [
        "[" + ",".join(f"{value:.6g}" for value in row) + "]" for row in near.tolist()
    ]
    before = await crowd.nearest(crowd.many, 0, queries.Query(text="x"))
    async with crowd.database.transaction(caller) as tx:
        await tx.run(
            "INSERT INTO embedding (user_id, model, hash, vector, dimensions)"
            " SELECT %s, 'other/1', sha256(n::text::bytea), one::halfvec, %s"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS given (one, n)",
            (caller.user_id, DIMENSIONS, rows),
        )
    found = await crowd.nearest(crowd.many, 0, queries.Query(text="x"))
    assert len(found) == len(before)
    common = {one.passage_id for one in found} & {one.passage_id for one in before}
    assert len(common) >= 0.9 * len(before)
