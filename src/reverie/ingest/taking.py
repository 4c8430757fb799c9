"""The next files of an ingestion, taken in: small ones together, all others one by one,
two lanes side by side.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from reverie import blobs, db
from reverie.ingest import (
    gathering,
    ingest_file,
    ingestions,
    listing,
    requesters,
    retrying,
    small_files,
)
from reverie.ingest import (
    scan as scanning,
)

log = logging.getLogger(__name__)

_AT_ONCE = 2
_PARKED = (
    f"tried {ingestions.TRIES} times, and each time Reverie was ended while it was read"
)

Files = Sequence[ingestions.IngestionFile]


class _Stopped(Exception):
    """Somebody has stopped the ingestion."""


async def take(
    context: ingest_file.Context, ingestion: ingestions.Ingestion, files: Files
) -> bool:
    """Take in some files; False when the ingestion was stopped."""
    has_died = any(file.tries for file in files)
    waiting = iter(_lots(ingestion, files, has_died=has_died))
    # One by one where the process has died, so that only the file that killed it is
    # parked.
    at_once = 1 if has_died else _AT_ONCE
    done = await asyncio.gather(
        *(_in_turn(context, ingestion, waiting) for _ in range(at_once))
    )
    return all(done)


def _lots(
    ingestion: ingestions.Ingestion, files: Files, *, has_died: bool
) -> list[Files]:
    """The files in lots that are taken in together. What is asked for in a special way
    is a lot of its own.
    """
    request = ingestion.request
    is_special = bool(request.get("again") or request.get("password"))
    if is_special or has_died:
        return [[file] for file in files]
    small = [file for file in files if _is_small(file)]
    lots: list[Files] = [
        small[start : start + small_files.TOGETHER]
        for start in range(0, len(small), small_files.TOGETHER)
    ]
    return lots + [[file] for file in files if not _is_small(file)]


def _is_small(file: ingestions.IngestionFile) -> bool:
    return "blob" not in file.location and file.size <= small_files.LARGEST


async def _in_turn(
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    waiting: Iterator[Files],
) -> bool:
    """One lot after another of those that wait; False when the ingestion was stopped."""
    try:
        for lot in waiting:
            left = lot
            if len(lot) > 1:
                left = await _together(context, ingestion, lot)
            for file in left:
                await _alone(context, ingestion, file)
    except _Stopped:
        return False
    return True


async def as_asker(
    context: ingest_file.Context, ingestion: ingestions.Ingestion
) -> ingest_file.Context | None:
    """The context of whoever asked, with what they may do at this moment. None, and it
    is ended with the reason, when their token is valid no longer.
    """
    async with context.database.transaction(context.caller) as tx:
        asker = await requesters.standing(tx, context.caller, ingestion.asker)
    if asker is None:
        await retrying.failed(context, ingestion.id, requesters.GONE)
        return None
    return replace(context, caller=asker)


async def _still_as_asker(
    context: ingest_file.Context, ingestion: ingestions.Ingestion
) -> ingest_file.Context:
    asking = await as_asker(context, ingestion)
    if asking is None:
        raise _Stopped
    return asking


async def _together(
    context: ingest_file.Context, ingestion: ingestions.Ingestion, lot: Files
) -> Files:
    """A lot of small files; returns those that are to be taken in one by one."""
    await _begun(context, ingestion, lot)

    async def ending(
        tx: db.Transaction, ended: Sequence[tuple[int, gathering.Outcome]]
    ) -> None:
        outcomes = [(lot[number], outcome) for number, outcome in ended]
        await _conclude(tx, context, ingestion, outcomes)

    async def ingest() -> list[int]:
        asking = await _still_as_asker(context, ingestion)
        files = [_scanned(asking, file) for file in lot]
        return await small_files.take(asking, files, ending)

    try:
        left = await retrying.patiently(context, ingestion.id, ingest)
    except _Stopped:
        raise
    # One by one it is found out which of them it is.
    except Exception:
        log.exception("%s files could not be taken in together", len(lot))
        return lot
    return [lot[number] for number in left]


async def _begun(
    context: ingest_file.Context, ingestion: ingestions.Ingestion, files: Files
) -> int:
    """Take some files up; returns which try this is. Raises _Stopped."""
    numbers = [file.number for file in files]

    async def begin() -> int:
        async with context.database.transaction(context.caller) as tx:
            return await ingestions.begin(tx, context.caller, ingestion.id, numbers)

    tries = await retrying.patiently(context, ingestion.id, begin)
    if not tries:
        raise _Stopped
    return tries


async def _alone(
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    file: ingestions.IngestionFile,
) -> None:
    """One file. At which the process has died some times, without getting any further,
    is parked.
    """
    if await _begun(context, ingestion, [file]) > ingestions.TRIES:
        parked = ingestions.Conclusion(file.number, "parked", _PARKED)
        await _concluded(context, ingestion, parked)
        return

    async def ingest() -> None:
        asking = await _still_as_asker(context, ingestion)
        scanned = _scanned(asking, file)
        await ingest_file.take(asking, scanned, _options(asking, ingestion, file))

    try:
        await retrying.patiently(context, ingestion.id, ingest)
    except _Stopped:
        raise
    # One file, whatever is wrong with it or with us, never stops the rest.
    except Exception as broken:
        log.exception("%s could not be taken in", file.relative)
        reason = retrying.own_fault(broken)
        failed = ingestions.Conclusion(file.number, "failed", reason)
        await _concluded(context, ingestion, failed)


async def _concluded(
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    conclusion: ingestions.Conclusion,
) -> None:
    async def conclude() -> None:
        async with context.database.transaction(context.caller) as tx:
            await ingestions.conclude(tx, context.caller, ingestion.id, [conclusion])

    await retrying.patiently(context, ingestion.id, conclude)


def _options(
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    file: ingestions.IngestionFile,
) -> ingest_file.Options:
    caller = context.caller

    async def on_progress(tx: ingest_file.Transaction, units: int, total: int) -> None:
        if not await ingestions.note_progress(
            tx, caller, ingestion.id, file.number, units=units, total=total
        ):
            raise _Stopped

    async def ending(tx: ingest_file.Transaction, outcome: ingest_file.Outcome) -> None:
        await _conclude(tx, context, ingestion, [(file, outcome)])

    password = str(ingestion.request.get("password", ""))
    return ingest_file.Options(
        password=password,
        again=bool(ingestion.request.get("again")),
        on_progress=on_progress,
        ending=ending,
    )


async def _conclude(
    tx: db.Transaction,
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    outcomes: Sequence[tuple[ingestions.IngestionFile, gathering.Outcome]],
) -> None:
    """Note what became of some files, and list the files that lay inside them."""
    inside = [
        listing.inspected(found) for _, outcome in outcomes for found in outcome.inside
    ]
    if inside:
        await ingestions.add(tx, context.caller, ingestion.id, inside)
    conclusions = [_conclusion(file.number, outcome) for file, outcome in outcomes]
    await ingestions.conclude(tx, context.caller, ingestion.id, conclusions)


def _conclusion(number: int, outcome: gathering.Outcome) -> ingestions.Conclusion:
    result = outcome.result
    return ingestions.Conclusion(
        number,
        result.status,
        result.reason,
        digest=outcome.digest or None,
        passages=outcome.passages,
        counts=listing.counts(result),
    )


def _scanned(
    context: ingest_file.Context, file: ingestions.IngestionFile
) -> scanning.ScannedFile:
    """The file as the scan found it."""
    location = file.location
    relative = PurePosixPath(file.relative)
    state = None
    # A file that could not be inspected, or was listed by an older version, has no time.
    if "mtime" in location and file.digest:
        state = scanning.FileState(file.size, location["mtime"], file.digest)
    if "blob" not in location:
        return scanning.ScannedFile(
            scanning.restored(location["file"]),
            file.path,
            relative,
            vault=location["vault"],
            state=state,
        )
    blob = str(location["blob"])
    return scanning.ScannedFile(
        blobs.path_of(context.blobs, context.caller.user_id, blob),
        file.path,
        relative,
        blob=blob,
        custom=location.get("custom", {}),
        inside=bool(location.get("inside")),
        state=state,
    )
