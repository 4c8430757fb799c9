"""Asking every signal at once, each in a snapshot of its own; one that cannot run is
left out and named.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from reverie import db, errors
from reverie.access import callers
from reverie.llm import embedding
from reverie.search import graph, lexical, query_model
from reverie.search import query as queries

# So many records are candidates for nothing but their links, after so many passages of
# the others.
BY_GRAPH, FIRST = 8, 10


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the signals found, the query as a vector if there is a model, and what
    became of each signal.

    `phrased` are the passages that hold a phrase in quotes word by word.
    """

    words: lexical.Words
    phrased: list[lexical.PassageHit]
    near: list[lexical.PassageHit]
    related: graph.Related
    asked: query_model.ModelQuery | None
    told: Mapping[str, str]

    @property
    def found(self) -> list[lexical.PassageHit]:
        """Every passage that a signal found, the best of each in turn.

        Records that nothing but the graph knows of come soon after the first: their
        neighbourhoods want room, too.
        """
        each = zip_longest(self.phrased, self.words.found, self.near)
        found = list(
            {
                one.passage_id: one for some in each for one in some if one is not None
            }.values()
        )
        known = {one.record_id for one in found}
        linked = [one for one in self.related.found if one.record_id not in known][
            :BY_GRAPH
        ]
        return [*found[:FIRST], *linked, *found[FIRST:]]


async def gather(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    *,
    depth: int,
    phrases: Sequence[str] = (),
) -> Gathered:
    """Ask for words and for meaning. What is below the model's floor means nothing, and
    gibberish means nothing.
    """
    told = {"lexical": "ok", "semantic": "ok", "heat": "ok"}
    words = asyncio.create_task(_by_words(database, caller, query, depth, phrases))
    graph = asyncio.create_task(_by_graph(database, caller, query))
    asked: query_model.ModelQuery | None = None
    near: list[lexical.PassageHit] = []
    try:
        asked = await query_model.ask(database, caller, embeddings, query.text)
        near = await _by_meaning(database, caller, query, asked, depth)
    except errors.EmbedderUnavailable as away:
        told["semantic"] = f"left out: {away.message}"
    except BaseException:
        words.cancel()
        graph.cancel()
        raise
    found, phrased = await words
    linked = await graph
    told["graph"] = linked.told if linked.told == "ok" else f"left out: {linked.told}"
    if (
        near
        and not found.found
        and not phrased
        and not await embeddings.makes_sense(query.text)
    ):
        near, told["semantic"] = (
            [],
            "left out: none of these words is known in any language",
        )
    return Gathered(found, phrased, near, linked, asked, told)


async def _by_words(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    depth: int,
    phrases: Sequence[str],
) -> tuple[lexical.Words, list[lexical.PassageHit]]:
    async with database.snapshot(caller) as tx:
        found = await lexical.lexical(tx, caller, query, depth=depth)
        return found, await lexical.phrased(
            tx, caller, query, phrases, depth=depth
        ) if phrases else []


async def _by_graph(
    database: db.Database, caller: callers.Caller, query: queries.Query
) -> graph.Related:
    async with database.snapshot(caller) as tx:
        return await graph.ask(tx, caller, query)


async def _by_meaning(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    asked: query_model.ModelQuery,
    depth: int,
) -> list[lexical.PassageHit]:
    async with database.snapshot(
        caller, settings=lexical.graph_settings(asked.own)
    ) as tx:
        found = await lexical.semantic(tx, caller, query, asked, depth=depth)
    return [one for one in found if one.score >= embedding.FLOOR]
