"""The idempotent steps of an ingestion: scan, take, finish.

Each may be repeated at any point, and goes on where it was.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeVar
from uuid import UUID

from reverie import blobs, errors
from reverie.ingest import (
    ingest_file,
    ingestions,
    inspection,
    ledger,
    report,
    requesters,
    saving,
    units_read,
    urls,
    watch,
)
from reverie.ingest import (
    scan as scanning,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

TOGETHER = 20
"""So many files are one step: what is finished in it is not done again."""
_LISTED = 500  # files a transaction
_SKIPPED_KEPT = 100
_AT_ONCE = 2
_OPEN = ("waiting", "running")
_PARKED = (
    f"tried {ingestions.TRIES} times, and each time Reverie was ended while it was read"
)
_OURS = "Reverie keeps it there itself"
_LONGEST_PAUSE_S = 30.0


class _Stopped(Exception):
    """Somebody has stopped the ingestion."""


async def scan(context: ingest_file.Context, ingestion_id: UUID) -> int:
    """List the files with their hashes; those that have not changed are done at once.
    Returns how many are left.
    """

    async def list_files() -> int:
        async with context.database.transaction(context.caller) as tx:
            ingestion = await ingestions.get(tx, context.caller, ingestion_id)
        if ingestion.state != "running":
            return 0
        asking = await _as_asker(context, ingestion)
        if asking is None:
            return 0
        try:
            await _list(asking, ingestion)
        except (errors.Unavailable, errors.DiskFull):
            raise
        except errors.ReverieError as refused:
            await _failed(context, ingestion_id, refused.message)
        # else the workflow would end without a word, and the ingestion never
        except Exception as broken:
            log.exception("an ingestion could not be begun")
            await _failed(context, ingestion_id, _ours(broken))
        async with context.database.transaction(context.caller) as tx:
            await ingestions.scanned(tx, context.caller, ingestion_id)
            tallies = await ingestions.tallies(tx, context.caller, ingestion_id)
        return sum(tally.files for tally in tallies if tally.state in _OPEN)

    return await patiently(context, ingestion_id, list_files)


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
        waiting = iter(files)
        # One by one where the process has died, so that only the file that killed it is
        # parked.
        at_once = 1 if any(file.tries for file in files) else _AT_ONCE
        done = await asyncio.gather(
            *(_ingest_in_turn(context, ingestion, waiting) for _ in range(at_once))
        )
        return len(files) if all(done) else 0

    return await patiently(context, ingestion_id, take_next)


async def _as_asker(
    context: ingest_file.Context, ingestion: ingestions.Ingestion
) -> ingest_file.Context | None:
    """The context of whoever asked, with what they may do at this moment. None, and it
    is ended with the reason, when their token is valid no longer.
    """
    async with context.database.transaction(context.caller) as tx:
        asker = await requesters.standing(tx, context.caller, ingestion.asker)
    if asker is None:
        await _failed(context, ingestion.id, requesters.GONE)
        return None
    return replace(context, caller=asker)


async def _ingest_in_turn(
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    waiting: Iterator[ingestions.IngestionFile],
) -> bool:
    """One file after another of those that wait; False when the ingestion was stopped."""
    try:
        for file in waiting:
            await _ingest_one(context, ingestion, file)
    except _Stopped:
        return False
    return True


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

    await patiently(context, ingestion_id, end)


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


def _ours(broken: Exception) -> str:
    return f"an error of Reverie's own ({type(broken).__name__}): please report it"


async def _failed(
    context: ingest_file.Context, ingestion_id: UUID, reason: str
) -> None:
    async with context.database.transaction(context.caller) as tx:
        await ingestions.end(tx, context.caller, ingestion_id, "failed", reason)


async def _list(context: ingest_file.Context, ingestion: ingestions.Ingestion) -> None:
    request = ingestion.request
    if ingestion.kind == "paths":
        files = await asyncio.to_thread(_under, context, request["paths"])
        if request.get("watch"):
            await watch.in_step(context, request["paths"], files)
    elif ingestion.kind == "upload":
        files = [_uploaded(context, request["blob"], request["name"], request["path"])]
    else:
        user_id = context.caller.user_id
        files = [await urls.fetched(context.blobs, user_id, request["url"])]
    for start in range(0, len(files), _LISTED):
        await _add(context, ingestion, files[start : start + _LISTED])


def _under(
    context: ingest_file.Context, paths: Sequence[str]
) -> list[scanning.ScannedFile]:
    """The files under some paths; our own store of originals is not taken in."""
    own = context.blobs.resolve()
    return [
        replace(file, problem=_OURS) if file.file.is_relative_to(own) else file
        for file in scanning.find(map(scanning.restored, paths))
    ]


def _uploaded(
    context: ingest_file.Context, blob: str, name: str, path: str
) -> scanning.ScannedFile:
    kept = blobs.path_of(context.blobs, context.caller.user_id, blob)
    return scanning.ScannedFile(kept, path, PurePosixPath(name), blob=blob)


async def _add(
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    files: Sequence[scanning.ScannedFile],
) -> None:
    """List files; those whose bytes the ledger knows are settled at once."""
    listed = await asyncio.to_thread(lambda: [*map(_inspected, files)])
    again = bool(ingestion.request.get("again") or ingestion.request.get("password"))
    async with context.database.transaction(context.caller) as tx:
        entries = await ledger.entries(
            tx, context.caller, [file.path for file in files]
        )
        settled: list[tuple[str, Path]] = []
        for at, new in enumerate(listed):
            entry = entries.get(new.path)
            if new.state != "waiting" or not entry or not new.digest:
                continue
            result = report.FileReport(new.relative)
            if ledger.recall(entry, new.digest, result, again=again):
                listed[at] = _settled(new, result)
                if not files[at].blob:
                    settled.append((new.digest, files[at].file))
        await ingestions.add(tx, context.caller, ingestion.id, listed)
    await asyncio.to_thread(_repair, context, settled)


def _repair(
    context: ingest_file.Context, originals: Sequence[tuple[str, Path]]
) -> None:
    """Keep again what is damaged among the originals of files that come once more."""
    user = context.caller.user_id
    for address, file in originals:
        with contextlib.suppress(errors.Unreadable):  # it is gone again
            blobs.repair(context.blobs, user, address, file)


def _inspected(file: scanning.ScannedFile) -> ingestions.NewFile:
    """A file as it is found: refused for what it is, or waiting with its digest."""
    with contextlib.suppress(errors.Unreadable):  # ingesting it says so
        file = inspection.inspect(file)
    new = ingestions.NewFile(
        file.path, str(file.relative), file.location(), digest=file.blob or None
    )
    if file.problem:
        reason = saving.reason_of(file.problem)
        return replace(new, state="skipped", reason=reason)
    if file.state is None:
        return new
    return replace(new, size=file.state.size, digest=file.state.digest)


def _settled(new: ingestions.NewFile, result: report.FileReport) -> ingestions.NewFile:
    """A file of whose bytes the ledger knows what became."""
    return replace(
        new, state=result.status, reason=result.reason, counts=counts(result)
    )


def counts(result: report.FileReport) -> dict[str, object]:
    """What the report of a file counts, as it is kept."""
    return {
        "imported": result.imported,
        "updated": result.updated,
        "unchanged": result.unchanged,
        "skipped": result.skipped[:_SKIPPED_KEPT],
        "remarks": result.remarks[:_SKIPPED_KEPT],
    }


async def _ingest_one(
    context: ingest_file.Context,
    ingestion: ingestions.Ingestion,
    file: ingestions.IngestionFile,
) -> None:
    """One file. At which the process has died some times, without getting any further,
    is parked.
    """

    async def begin() -> bool:
        async with context.database.transaction(context.caller) as tx:
            tries = await ingestions.begin(
                tx, context.caller, ingestion.id, file.number
            )
            if not tries:
                raise _Stopped
            if tries > ingestions.TRIES:
                await ingestions.conclude(
                    tx,
                    context.caller,
                    ingestion.id,
                    file.number,
                    state="parked",
                    reason=_PARKED,
                )
        return tries <= ingestions.TRIES

    if not await patiently(context, ingestion.id, begin):
        return

    async def ingest() -> None:
        asking = await _as_asker(context, ingestion)
        if asking is None:
            raise _Stopped
        await ingest_file.take(
            asking, _scanned(asking, file), _options(asking, ingestion, file)
        )

    try:
        await patiently(context, ingestion.id, ingest)
    except _Stopped:
        raise
    # One file, whatever is wrong with it or with us, never stops the rest.
    except Exception as broken:
        log.exception("%s could not be taken in", file.relative)
        async with context.database.transaction(context.caller) as tx:
            await ingestions.conclude(
                tx,
                context.caller,
                ingestion.id,
                file.number,
                state="failed",
                reason=_ours(broken),
            )


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
        result = outcome.result
        await ingestions.add(
            tx, caller, ingestion.id, [*map(_inspected, outcome.inside)]
        )
        await ingestions.conclude(
            tx,
            caller,
            ingestion.id,
            file.number,
            state=result.status,
            reason=result.reason,
            digest=outcome.digest or None,
            passages=outcome.passages,
            counts=counts(result),
        )

    password = str(ingestion.request.get("password", ""))
    return ingest_file.Options(
        password=password,
        again=bool(ingestion.request.get("again")),
        on_progress=on_progress,
        ending=ending,
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
