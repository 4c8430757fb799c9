"""The files of an ingestion, listed with their hashes; those that have not changed are
settled at once.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from reverie import blobs, errors
from reverie.ingest import (
    homes,
    ingest_file,
    ingestions,
    inspection,
    ledger,
    report,
    saving,
    urls,
    watch,
)
from reverie.ingest import (
    scan as scanning,
)

_LISTED = 500  # files a transaction
_SKIPPED_KEPT = 100
_OURS = "Reverie keeps it there itself"


Files = Sequence[scanning.ScannedFile]


async def list_files(
    context: ingest_file.Context, ingestion: ingestions.Ingestion
) -> None:
    """List what was asked for. Raises what reading the paths or the address raises."""
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
    files: Files,
) -> None:
    """List files; those whose bytes the ledger knows are settled at once."""
    listed = await asyncio.to_thread(_inspected, files)
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


def _inspected(files: Files) -> list[ingestions.NewFile]:
    refusal = homes.refusals()
    return [inspected(file, refusal) for file in files]


def inspected(
    file: scanning.ScannedFile, refusal: Callable[[Path], str] = homes.refusal
) -> ingestions.NewFile:
    """A file as it is found: refused for what it is, or waiting with its digest."""
    with contextlib.suppress(errors.Unreadable):  # ingesting it says so
        file = inspection.inspect(file, refusal)
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
