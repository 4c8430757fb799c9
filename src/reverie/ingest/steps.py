"""The steps of an ingestion: scan, take, finish. Each may be repeated at any point, and
goes on where it was.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeVar
from uuid import UUID

from reverie import blobs, errors
from reverie.ingest import (
    detect,
    ingest_file,
    ingestions,
    ledger,
    report,
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
_LISTED = 500
_AT_ONCE = 2
_OURS = "Reverie keeps it there itself"
_LONGEST_PAUSE_S = 30.0


class _Stopped(Exception):
    """Somebody has stopped the ingestion."""


async def scan(desk: ingest_file.Context, ingestion_id: UUID) -> int:
    """List the files with their hashes; those that have not changed are done at once.
    Returns how many are left.
    """

    async def listed() -> int:
        async with desk.database.transaction(desk.caller) as tx:
            asked = await ingestions.get(tx, desk.caller, ingestion_id)
        if asked.state != "running":
            return 0
        try:
            await _list(desk, asked)
        except (errors.Unavailable, errors.DiskFull):
            raise
        except errors.ReverieError as refused:
            await _failed(desk, ingestion_id, refused.message)
        # else the workflow would end without a word, and the ingestion never
        except Exception as broken:
            log.exception("an ingestion could not be begun")
            await _failed(desk, ingestion_id, _ours(broken))
        async with desk.database.transaction(desk.caller) as tx:
            await ingestions.scanned(tx, desk.caller, ingestion_id)
            tallies = await ingestions.tallies(tx, desk.caller, ingestion_id)
        return sum(one.files for one in tallies if one.state in ("waiting", "running"))

    return await patiently(desk, ingestion_id, listed)


async def take(desk: ingest_file.Context, ingestion_id: UUID) -> int:
    """Take in the next files; returns how many there were, 0 at the end."""

    async def some() -> int:
        async with desk.database.transaction(desk.caller) as tx:
            asked = await ingestions.get(tx, desk.caller, ingestion_id)
            if asked.state != "running":
                return 0
            files = await ingestions.to_do(tx, desk.caller, ingestion_id, most=TOGETHER)
        waiting = iter(files)
        # One by one where the process has died, so that only the file that killed it is
        # parked.
        at_once = 1 if any(file.tries for file in files) else _AT_ONCE
        done = await asyncio.gather(
            *(_several(desk, asked, waiting) for _ in range(at_once))
        )
        return len(files) if all(done) else 0

    return await patiently(desk, ingestion_id, some)


async def _several(
    desk: ingest_file.Context,
    asked: ingestions.Ingestion,
    waiting: Iterator[ingestions.IngestionFile],
) -> bool:
    """One file after another of those that wait; False when the ingestion was stopped."""
    try:
        for file in waiting:
            await _one(desk, asked, file)
    except _Stopped:
        return False
    return True


async def finish(desk: ingest_file.Context, ingestion_id: UUID) -> None:
    """Everything has been looked at; if not, it was stopped and begun again meanwhile,
    by another workflow.
    """

    async def ended() -> None:
        async with desk.database.transaction(desk.caller) as tx:
            asked = await ingestions.get(tx, desk.caller, ingestion_id)
            if not asked.scanned_at or await ingestions.to_do(
                tx, desk.caller, ingestion_id, most=1
            ):
                return
            await ingestions.end(tx, desk.caller, ingestion_id, "done")
            await units_read.sweep(tx, desk.caller)

    await patiently(desk, ingestion_id, ended)


async def patiently(
    desk: ingest_file.Context, ingestion_id: UUID, work: Callable[[], Awaitable[T]]
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
                await _say(desk, ingestion_id, "")
            return done
        except (errors.Unavailable, errors.DiskFull) as away:
            log.warning("an ingestion waits: %s", away.message)
            await _say(desk, ingestion_id, f"waits: {away.message}")
            waited = True
        await asyncio.sleep(pause)
        pause = min(_LONGEST_PAUSE_S, pause * 2)


async def _say(desk: ingest_file.Context, ingestion_id: UUID, reason: str) -> None:
    try:
        async with desk.database.transaction(desk.caller) as tx:
            await ingestions.said(tx, desk.caller, ingestion_id, reason)
    except (errors.Unavailable, errors.DiskFull):
        log.debug("and cannot be told so")


def _ours(broken: Exception) -> str:
    return f"an error of Reverie's own ({type(broken).__name__}): please report it"


async def _failed(desk: ingest_file.Context, ingestion_id: UUID, reason: str) -> None:
    async with desk.database.transaction(desk.caller) as tx:
        await ingestions.end(tx, desk.caller, ingestion_id, "failed", reason)


async def _list(desk: ingest_file.Context, asked: ingestions.Ingestion) -> None:
    request = asked.request
    if asked.kind == "paths":
        found = await asyncio.to_thread(
            lambda: list(scanning.find([Path(one) for one in request["paths"]]))
        )
        own = desk.blobs.resolve()
        found = [
            one if not one.file.is_relative_to(own) else replace(one, problem=_OURS)
            for one in found
        ]
        if request.get("watch"):
            await watch.in_step(desk, request["paths"], found)
        for start in range(0, len(found), _LISTED):
            await _add(desk, asked, found[start : start + _LISTED])
    elif asked.kind == "upload":
        await _add(
            desk,
            asked,
            [_uploaded(desk, request["blob"], request["name"], request["path"])],
        )
    else:
        page = await urls.fetched(desk.blobs, desk.caller.user_id, request["url"])
        await _add(desk, asked, [page])


def _uploaded(
    desk: ingest_file.Context, blob: str, name: str, path: str
) -> scanning.ScannedFile:
    kept = blobs.path_of(desk.blobs, desk.caller.user_id, blob)
    return scanning.ScannedFile(kept, path, PurePosixPath(name), blob=blob)


async def _add(
    desk: ingest_file.Context,
    asked: ingestions.Ingestion,
    found: Sequence[scanning.ScannedFile],
) -> None:
    """List files; what is known of the same bytes is told at once."""
    looked = await asyncio.to_thread(lambda: [_looked(one) for one in found])
    again = bool(asked.request.get("again") or asked.request.get("password"))
    async with desk.database.transaction(desk.caller) as tx:
        known = await ledger.all_known(tx, desk.caller, [one.path for one in found])
        new: list[ingestions.NewFile] = []
        for one in looked:
            before = known.get(one.path)
            told = report.FileReport(one.relative)
            if (
                one.state == "waiting"
                and before
                and one.digest
                and ledger.recall(before, one.digest, told, again=again)
            ):
                one = _new(one, told)
            new.append(one)
        await ingestions.add(tx, desk.caller, asked.id, new)


def _looked(found: scanning.ScannedFile) -> ingestions.NewFile:
    """A file as it is found: refused for what it is, or waiting with its digest."""
    location: dict[str, object] = {"file": str(found.file), "vault": found.vault}
    if found.blob:
        location = {
            "blob": found.blob,
            "custom": dict(found.custom),
            "inside": found.inside,
        }
    plain = ingestions.NewFile(
        found.path, str(found.relative), location, digest=found.blob or None
    )
    if found.problem:
        return _refused(plain, found.problem)
    try:
        size = found.file.stat().st_size
        if size > ingest_file.LARGEST:
            return plain  # taking it says so
        with found.file.open("rb") as opened:
            head = opened.read(detect.HEAD)
        refused = ingest_file.refusal(head, found)
        if refused:
            return _refused(plain, refused)
        digest = found.blob or blobs.digest_of(found.file)
    except OSError:
        return plain
    return ingestions.NewFile(found.path, str(found.relative), location, size, digest)


def _refused(new: ingestions.NewFile, reason: str) -> ingestions.NewFile:
    told = saving.reason_of(reason)
    return ingestions.NewFile(
        new.path, new.relative, new.location, new.size, new.digest, "skipped", told
    )


def _new(new: ingestions.NewFile, told: report.FileReport) -> ingestions.NewFile:
    return ingestions.NewFile(
        new.path,
        new.relative,
        new.location,
        new.size,
        new.digest,
        told.status,
        told.reason,
        counts(told),
    )


def counts(told: report.FileReport) -> dict[str, object]:
    """What the report of a file counts, as it is kept."""
    return {
        "imported": told.imported,
        "updated": told.updated,
        "unchanged": told.unchanged,
        "skipped": told.skipped[:100],
    }


async def _one(
    desk: ingest_file.Context,
    asked: ingestions.Ingestion,
    file: ingestions.IngestionFile,
) -> None:
    """One file. At which the process has died some times, without getting any further,
    is parked.
    """

    async def began() -> bool:
        async with desk.database.transaction(desk.caller) as tx:
            tries = await ingestions.begin(tx, desk.caller, asked.id, file.number)
            if not tries:
                raise _Stopped
            if tries > ingestions.TRIES:
                reason = f"tried {ingestions.TRIES} times, and each time Reverie was ended while it was read"
                await ingestions.conclude(
                    tx,
                    desk.caller,
                    asked.id,
                    file.number,
                    state="parked",
                    reason=reason,
                )
        return tries <= ingestions.TRIES

    if not await patiently(desk, asked.id, began):
        return

    async def taken() -> None:
        await ingest_file.take(desk, _found(desk, file), _wishes(desk, asked, file))

    try:
        await patiently(desk, asked.id, taken)
    except _Stopped:
        raise
    except (
        Exception
    ) as broken:  # one file, whatever is wrong with it or with us, never stops the rest
        log.exception("%s could not be taken in", file.relative)
        async with desk.database.transaction(desk.caller) as tx:
            await ingestions.conclude(
                tx,
                desk.caller,
                asked.id,
                file.number,
                state="failed",
                reason=_ours(broken),
            )


def _wishes(
    desk: ingest_file.Context,
    asked: ingestions.Ingestion,
    file: ingestions.IngestionFile,
) -> ingest_file.Options:
    caller = desk.caller

    async def far(tx: ingest_file.Transaction, units: int, total: int) -> None:
        if not await ingestions.far(
            tx, caller, asked.id, file.number, units=units, total=total
        ):
            raise _Stopped

    async def ending(tx: ingest_file.Transaction, taken: ingest_file.Outcome) -> None:
        told = taken.result
        await ingestions.add(
            tx, caller, asked.id, [_looked(one) for one in taken.inside]
        )
        await ingestions.conclude(
            tx,
            caller,
            asked.id,
            file.number,
            state=told.status,
            reason=told.reason,
            digest=taken.digest or None,
            passages=taken.passages,
            counts=counts(told),
        )

    password = str(asked.request.get("password", ""))
    return ingest_file.Options(
        password=password,
        again=bool(asked.request.get("again")),
        far=far,
        ending=ending,
    )


def _found(
    desk: ingest_file.Context, file: ingestions.IngestionFile
) -> scanning.ScannedFile:
    location, relative = file.location, PurePosixPath(file.relative)
    if "blob" not in location:
        return scanning.ScannedFile(
            Path(location["file"]), file.path, relative, vault=location["vault"]
        )
    blob = str(location["blob"])
    kept = blobs.path_of(desk.blobs, desk.caller.user_id, blob)
    custom, inside = location.get("custom", {}), bool(location.get("inside"))
    return scanning.ScannedFile(
        kept, file.path, relative, blob=blob, custom=custom, inside=inside
    )
