"""Asking every signal at once, each in a snapshot of its own; one that cannot run is left out and named."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from reverie import db, errors, llm
from reverie.access import callers
from reverie.search import meaning, signals
from reverie.search import query as queries


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the signals found, the query's vector if there is one, and what became of each signal."""

    words: signals.Words
    near: list[signals.Found]
    vector: llm.QueryVector | None
    told: Mapping[str, str]

    @property
    def found(self) -> list[signals.Found]:
        """Every passage that a signal found."""
        return [*self.words.found, *self.near]


async def gather(
    database: db.Database, caller: callers.Caller, embeddings: llm.Embeddings, query: queries.Query, *, depth: int
) -> Gathered:
    """Ask for words and for meaning. What is below the model's floor means nothing, and gibberish means nothing."""
    told = {"lexical": "ok", "semantic": "ok", "graph": "not there yet", "heat": "ok"}
    words = asyncio.create_task(_by_words(database, caller, query, depth))
    vector: llm.QueryVector | None = None
    near: list[signals.Found] = []
    try:
        asked = await meaning.ask(database, caller, embeddings, query.text)
        vector, near = asked.vector, await _by_meaning(database, caller, query, asked, depth)
    except errors.EmbedderUnavailable as away:
        told["semantic"] = f"left out: {away.message}"
    except BaseException:
        words.cancel()
        raise
    found = await words
    if near and not found.found and not await embeddings.makes_sense(query.text):
        near, told["semantic"] = [], "left out: none of these words is known in any language"
    return Gathered(found, near, vector, told)


async def _by_words(database: db.Database, caller: callers.Caller, query: queries.Query, depth: int) -> signals.Words:
    async with database.snapshot(caller) as tx:
        return await signals.lexical(tx, caller, query, depth=depth)


async def _by_meaning(
    database: db.Database, caller: callers.Caller, query: queries.Query, asked: meaning.Asked, depth: int
) -> list[signals.Found]:
    async with database.snapshot(caller, settings=signals.GRAPH_SETTINGS) as tx:
        found = await signals.semantic(tx, caller, query, asked, depth=depth)
    return [one for one in found if one.score >= llm.FLOOR]
