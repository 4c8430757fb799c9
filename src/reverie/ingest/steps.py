"""The idempotent steps of an ingestion: scan, take, finish.

Each may be repeated at any point, and goes on where it was.
"""

import logging
from uuid import UUID

from reverie import errors
from reverie.ingest import (
    ingest_file,
    ingestions,
    listing,
    retrying,
    taking,
    units_read,
)

log = logging.getLogger(__name__)

TOGETHER = 400
"""So many files are one step: what is finished in it is not done again."""
_OPEN = ("waiting", "running")


async def scan(context: ingest_file.Context, ingestion_id: UUID) -> int:
    """List the files with their hashes; those that have not changed are done at once.
    Returns how many are left.
    """

    async def list_files() -> int:
        async with context.database.transaction(context.caller) as tx:
            ingestion = await ingestions.get(tx, context.caller, ingestion_id)
        if ingestion.state != "running":
            return 0
        asking = await taking.as_asker(context, ingestion)
        if asking is None:
            return 0
        try:
            await listing.list_files(asking, ingestion)
        except (errors.Unavailable, errors.DiskFull):
            raise
        except errors.ReverieError as refused:
            await retrying.failed(context, ingestion_id, refused.message)
        # else the workflow would end without a word, and the ingestion never
        except Exception as broken:
            log.exception("an ingestion could not be begun")
            await retrying.failed(context, ingestion_id, retrying.own_fault(broken))
        async with context.database.transaction(context.caller) as tx:
            await ingestions.scanned(tx, context.caller, ingestion_id)
            tallies = await ingestions.tallies(tx, context.caller, ingestion_id)
        return sum(tally.files for tally in tallies if tally.state in _OPEN)

    return await retrying.patiently(context, ingestion_id, list_files)


async def take(context: ingest_file.Context, ingestion_id: UUID) -> int:
    """Take in the next files; returns how many there were, 0 at the end."""

    async def take_next() -> int:
        async with context.database.transaction(context.caller) as tx:
            ingestion = await ingestions.get(tx, context.caller, ingestion_id)
            if ingestion.state != "running":
                return 0
            files = await ingestions.to_do(
                tx, context.caller, ingestion_id, most=TOGETHER
            )
        is_done = await taking.take(context, ingestion, files)
        return len(files) if is_done else 0

    return await retrying.patiently(context, ingestion_id, take_next)


async def finish(context: ingest_file.Context, ingestion_id: UUID) -> None:
    """Everything has been looked at; if not, it was stopped and begun again meanwhile,
    by another workflow.
    """

    async def end() -> None:
        async with context.database.transaction(context.caller) as tx:
            ingestion = await ingestions.get(tx, context.caller, ingestion_id)
            if not ingestion.scanned_at or await ingestions.to_do(
                tx, context.caller, ingestion_id, most=1
            ):
                return
            await ingestions.end(tx, context.caller, ingestion_id, "done")
            await units_read.sweep(tx, context.caller)

    await retrying.patiently(context, ingestion_id, end)
