"""Retries of the work of an ingestion while the database or the disk is away, and its end
when there is no going on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from reverie import errors
from reverie.ingest import ingest_file, ingestions

log = logging.getLogger(__name__)

T = TypeVar("T")

_LONGEST_PAUSE_S = 30.0


async def patiently(
    context: ingest_file.Context, ingestion_id: UUID, work: Callable[[], Awaitable[T]]
) -> T:
    """Wait for the database or the disk as long as it takes, and say so: nothing is
    given up for a while of trouble.
    """
    pause = 0.5
    waited = False
    while True:
        try:
            done = await work()
            if waited:
                await _say(context, ingestion_id, "")
            return done
        except (errors.Unavailable, errors.DiskFull) as away:
            log.warning("an ingestion waits: %s", away.message)
            await _say(context, ingestion_id, f"waits: {away.message}")
            waited = True
        await asyncio.sleep(pause)
        pause = min(_LONGEST_PAUSE_S, pause * 2)


async def _say(context: ingest_file.Context, ingestion_id: UUID, reason: str) -> None:
    try:
        async with context.database.transaction(context.caller) as tx:
            await ingestions.note_wait(tx, context.caller, ingestion_id, reason)
    except (errors.Unavailable, errors.DiskFull):
        log.debug("and cannot be told so")


def own_fault(broken: Exception) -> str:
    """The reason of a failure that no file is to blame for."""
    return f"an error of Reverie's own ({type(broken).__name__}): please report it"


async def failed(context: ingest_file.Context, ingestion_id: UUID, reason: str) -> None:
    """End it with a reason."""
    async with context.database.transaction(context.caller) as tx:
        await ingestions.end(tx, context.caller, ingestion_id, "failed", reason)
