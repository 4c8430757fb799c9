"""Retrieval: every retriever is asked at once, each in a snapshot of its own.

One that cannot run is left out and named.
"""

import asyncio
from collections.abc import Mapping, Sequence
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


async def gather(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    *,
    depth: int,
    phrases: Sequence[str] = (),
    floor: float = embedding.FLOOR,
) -> Gathered:
    """Ask every retriever. What is below the floor means nothing, and gibberish means
    nothing (docs/decisions/0007).
    """
    if query.words_only:
        return await _words_only(database, caller, query, depth, phrases)
    statuses = {"lexical": "ok", "semantic": "ok", "heat": "ok"}
    by_words = asyncio.create_task(_by_words(database, caller, query, depth, phrases))
    by_graph = asyncio.create_task(_by_graph(database, caller, query))
    model_query: query_model.ModelQuery | None = None
    similar: Hits = []
    try:
        model_query = await query_model.embed(database, caller, embeddings, query.text)
        nearest = await _by_meaning(database, caller, query, model_query, depth)
        similar = [hit for hit in nearest if hit.score >= floor]
    except errors.EmbedderUnavailable as failure:
        statuses["semantic"] = f"left out: {failure.message}"
    except BaseException:
        by_words.cancel()
        by_graph.cancel()
        raise
    matches, phrased = await by_words
    linked = await by_graph
    graph_ran = linked.status == "ok"
    statuses["graph"] = "ok" if graph_ran else f"left out: {linked.status}"
    only_similar = similar and not matches.hits and not phrased
    if only_similar and not await _makes_sense(embeddings, query.text):
        similar = []
        statuses["semantic"] = _GIBBERISH
    return Gathered(matches, phrased, similar, linked, model_query, statuses)


async def _words_only(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    depth: int,
    phrases: Sequence[str],
) -> Gathered:
    """What words find, with no model asked and no graph."""
    matches, phrased = await _by_words(database, caller, query, depth, phrases)
    statuses = {"lexical": "ok", "semantic": WORDS_ONLY, "heat": "ok"}
    statuses["graph"] = WORDS_ONLY
    return Gathered(matches, phrased, [], graph.GraphMatches(), None, statuses)


async def _makes_sense(embeddings: embedding.Embeddings, text: str) -> bool:
    """Whether meaning may answer alone: a number that nothing holds means nothing."""
    has_letters = any(character.isalpha() for character in text)
    return has_letters and await embeddings.makes_sense(text)


async def _by_words(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    depth: int,
    phrases: Sequence[str],
) -> tuple[lexical.LexicalMatches, Hits]:
    async with database.snapshot(caller) as tx:
        matches = await lexical.retrieve(tx, caller, query, depth=depth)
        if not phrases:
            return matches, []
        phrased = await lexical.retrieve_phrases(
            tx, caller, query, phrases, depth=depth
        )
        return matches, phrased


async def _by_graph(
    database: db.Database, caller: callers.Caller, query: queries.Query
) -> graph.GraphMatches:
    async with database.snapshot(caller) as tx:
        return await graph.retrieve(tx, caller, query)


async def _by_meaning(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    model_query: query_model.ModelQuery,
    depth: int,
) -> Hits:
    settings = vector.hnsw_settings(model_query.own)
    async with database.snapshot(caller, settings=settings) as tx:
        return await vector.retrieve(tx, caller, query, model_query, depth=depth)
