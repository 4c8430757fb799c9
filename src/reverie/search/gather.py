"""Retrieval: every retriever is asked; one that cannot run is left out and named.

Words and names are looked up in one snapshot while the question is embedded, and
meaning in another, in which the search goes on.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import zip_longest

from reverie import db, errors
from reverie.access import callers
from reverie.llm import embedding
from reverie.search import candidates, graph, lexical, query_model, vector, weights
from reverie.search import query as queries

Hits = Sequence[candidates.PassageHit]

WORDS_ONLY = "left out: words only"
"""What is said of meaning and the graph where words alone were asked for."""
_GIBBERISH = "left out: none of these words is known in any language"


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the retrievers found, the query as a vector if there is a model, and what
    became of each signal.

    `phrased` are the passages that hold a phrase in quotes word by word, `similar`
    those that are near in meaning, `typed` those of the kinds that answer a question of
    this type.
    """

    matches: lexical.LexicalMatches
    phrased: Hits
    similar: Hits
    linked: graph.GraphMatches
    model_query: query_model.ModelQuery | None
    statuses: Mapping[str, str]
    typed: Hits = ()

    @property
    def hits(self) -> list[candidates.PassageHit]:
        """Every passage that a retriever found, the best of each in turn.

        Records that nothing but the graph knows of come soon after the first: their
        neighbourhoods want room, too.
        """
        in_turn = zip_longest(self.phrased, self.typed, self.matches.hits, self.similar)
        by_passage = {
            hit.passage_id: hit for hits in in_turn for hit in hits if hit is not None
        }
        hits = list(by_passage.values())
        records = {hit.record_id for hit in hits}
        by_graph = [hit for hit in self.linked.hits if hit.record_id not in records]
        first = weights.BEFORE_GRAPH
        return [
            *hits[:first],
            *by_graph[: weights.GRAPH_CANDIDATES],
            *hits[first:],
        ]


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is found beside meaning: by words, by phrases and in the graph."""

    matches: lexical.LexicalMatches
    phrased: Hits
    linked: graph.GraphMatches


@dataclass(frozen=True, slots=True)
class Asked:
    """A question on its way: its vector if a model gave one, what became of meaning
    (`semantic`), and what is looked up beside; nothing is where words alone are asked for.
    """

    query: queries.Query
    depth: int
    phrases: Sequence[str]
    model_query: query_model.ModelQuery | None
    semantic: str
    beside: asyncio.Task[_Beside] | None

    @property
    def settings(self) -> dict[str, str]:
        """What the snapshot should have in which the question is answered."""
        if self.model_query is None:
            return {}
        return vector.hnsw_settings(self.model_query.own)


@asynccontextmanager
async def asked(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    *,
    depth: int,
    phrases: Sequence[str] = (),
) -> AsyncGenerator[Asked]:
    """Ask a question: embed it, and look up its words and names meanwhile.

    No connection is held while a model answers, and a second one is only wanted by who
    has had the first: so those who wait for one never wait for each other.
    """
    if query.words_only:
        yield Asked(query, depth, phrases, None, WORDS_ONLY, None)
        return
    models: asyncio.Future[db.Rows] = asyncio.get_running_loop().create_future()
    beside = asyncio.create_task(
        _beside(database, caller, query, depth, phrases, models)
    )
    try:
        await asyncio.wait({models, beside}, return_when=asyncio.FIRST_COMPLETED)
        # Where the first look fails, there are no models.
        rows = models.result() if models.done() else await _failed(beside)
        model_query, status = None, "ok"
        try:
            model_query = await query_model.embedded(
                caller, embeddings, query.text, rows
            )
        except errors.EmbedderUnavailable as failure:
            status = f"left out: {failure.message}"
        yield Asked(query, depth, phrases, model_query, status, beside)
    finally:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)


async def retrieve(
    tx: db.Transaction,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    asked: Asked,
    *,
    floor: float = embedding.FLOOR,
) -> Gathered:
    """What every retriever found. What is below the floor means nothing, and gibberish
    means nothing (docs/decisions/0007).
    """
    query = asked.query
    if asked.beside is None:
        return await _words_only(tx, caller, asked)
    similar: Hits = []
    if asked.model_query is not None:
        nearest = await vector.retrieve(
            tx, caller, query, asked.model_query, depth=asked.depth
        )
        similar = [hit for hit in nearest if hit.score >= floor]
    found = await asked.beside
    graph_ran = found.linked.status == "ok"
    statuses = {"lexical": "ok", "semantic": asked.semantic, "heat": "ok"}
    statuses["graph"] = "ok" if graph_ran else f"left out: {found.linked.status}"
    only_similar = similar and not found.matches.hits and not found.phrased
    if only_similar and not await _makes_sense(embeddings, query.text):
        similar = []
        statuses["semantic"] = _GIBBERISH
    return Gathered(
        found.matches,
        found.phrased,
        similar,
        found.linked,
        asked.model_query,
        statuses,
    )


async def gather(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    *,
    depth: int,
    floor: float = embedding.FLOOR,
) -> Gathered:
    """The same for whoever goes on in another snapshot."""
    async with (
        asked(database, caller, embeddings, query, depth=depth) as question,
        database.snapshot(caller, settings=question.settings) as tx,
    ):
        return await retrieve(tx, caller, embeddings, question, floor=floor)


async def _words_only(
    tx: db.Transaction, caller: callers.Caller, asked: Asked
) -> Gathered:
    """What words find, with no model asked and no graph."""
    matches = await lexical.retrieve(tx, caller, asked.query, depth=asked.depth)
    phrased = await _by_phrases(tx, caller, asked.query, asked.depth, asked.phrases)
    statuses = {"lexical": "ok", "semantic": WORDS_ONLY, "heat": "ok"}
    statuses["graph"] = WORDS_ONLY
    return Gathered(matches, phrased, [], graph.GraphMatches(), None, statuses)


async def _makes_sense(embeddings: embedding.Embeddings, text: str) -> bool:
    """Whether meaning may answer alone: a number that nothing holds means nothing."""
    has_letters = any(character.isalpha() for character in text)
    return has_letters and await embeddings.makes_sense(text)


async def _failed(beside: asyncio.Task[_Beside]) -> db.Rows:
    """Raise what a look-up failed with before it had read the models."""
    await beside
    return []


async def _beside(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    depth: int,
    phrases: Sequence[str],
    models: asyncio.Future[db.Rows],
) -> _Beside:
    """What words, phrases and names find; the rows of the models are told as soon as
    they are read, with the lists of the words.
    """
    async with database.snapshot(caller) as tx:
        rows, *lists = await tx.together(
            query_model.statement(caller), *lexical.statements(caller, query)
        )
        models.set_result(rows)
        matches = await lexical.retrieve(tx, caller, query, depth=depth, found=lists)
        phrased = await _by_phrases(tx, caller, query, depth, phrases)
        linked = await graph.retrieve(tx, caller, query)
        return _Beside(matches, phrased, linked)


async def _by_phrases(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    depth: int,
    phrases: Sequence[str],
) -> Hits:
    if not phrases:
        return []
    return await lexical.retrieve_phrases(tx, caller, query, phrases, depth=depth)
