"""Progress of the worker until everything is derived: for commands that end."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import embed, embed_queue, index, models, vector_store, worker

_EVERY_S = 0.2
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How many different texts there are, how many have a vector, what is wrong, if
    anything, and how long the rest takes, once that is known.
    """

    texts: int
    vectors: int
    trouble: str
    seconds_left: int | None = None


async def follow(
    database: db.Database,
    embeddings: embedding.Embeddings,
    caller: callers.Caller,
    *,
    owner_url: str = "",
) -> AsyncGenerator[Progress, None]:
    """Run the worker until its slots have caught up for a caller. It gives up on a slot
    that stays in trouble.

    Without an embedding model, by configuration, there are no vectors to wait for.
    """
    waited = 0.0
    following = worker.Worker(database, embeddings, owner_url=owner_url)
    async with following.running():
        while True:
            began = time.monotonic()
            async with database.transaction(caller) as tx:
                standings = await _followed(tx, embeddings, caller)
                coverage = vector_store.Coverage(0, 0)
                left = None
                if embeddings.model:
                    coverage = await vector_store.coverage(tx, caller, embeddings.model)
                    left = await seconds_left(tx, caller, embeddings.model)
                upgrading = await index.outdated(tx, caller)
            trouble = _trouble(standings)
            looked = time.monotonic() - began
            yield Progress(coverage.texts, coverage.vectors, trouble, left)
            behind = (
                upgrading
                or following.graphs.pending
                or any(
                    standing.behind and not standing.trouble for standing in standings
                )
            )
            waited = waited + _EVERY_S if trouble else 0.0
            if not behind and (not trouble or waited > _PATIENCE_S):
                return
            # Counting a million takes a while.
            await asyncio.sleep(max(_EVERY_S, 5 * looked))


async def seconds_left(tx: db.Transaction, user: db.HasUser, model: str) -> int | None:
    """How long until every text that waits has its vector, at the pace of the last
    minutes of work; None when none waits, or nothing is known yet.
    """
    letters = await embed_queue.letters(tx, user)
    if not letters:
        return None
    return await models.seconds_for(tx, user, model, letters)


def _trouble(standings: Sequence[worker.Standing]) -> str:
    """What is wrong with the first slot that has any."""
    for standing in standings:
        if standing.trouble:
            return standing.trouble
    return ""


async def _followed(
    tx: db.Transaction, embeddings: embedding.Embeddings, caller: callers.Caller
) -> list[worker.Standing]:
    """How the slots stand that can work at all: without a model, some wait for it."""
    standings = [
        standing
        for standing in await worker.standings(tx, caller)
        if not standing.waits_for
    ]
    if embeddings.model:
        return standings
    return [standing for standing in standings if standing.slot != embed.EMBEDDING.name]
