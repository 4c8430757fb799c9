"""Ingestion of many small files at once: read by one child, prepared together, saved in
one transaction, their originals kept and synced side by side.

Whatever does not go smoothly here is left to `ingest_file`, one by one: so a file costs
nobody but itself.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime

from reverie import blobs, db, errors
from reverie.ingest import (
    detect,
    gathering,
    ingest_file,
    inspection,
    ledger,
    prepare,
    report,
    saving,
    scan,
)
from reverie.ingest.documents import kinds
from reverie.ingest.sandbox import pool, wire

LARGEST = 64 * 1024
"""Bytes: what is larger is read by a child of its own."""
TOGETHER = 100
"""Files a transaction; so many notes take half a second."""
# An archive may hold anything, and so may an old office file.
_CONTAINERS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")

Ending = Callable[
    [db.Transaction, Sequence[tuple[int, gathering.Outcome]]], Awaitable[None]
]
"""Called in the last transaction with the numbers of files and what became of each."""


@dataclass(slots=True)
class _Opened:
    """A small file whose bytes are in memory; `number` is its place among those asked
    for, and `known` says whether the ledger has it.
    """

    number: int
    file: scan.ScannedFile
    data: bytes
    modified: datetime
    outcome: gathering.Outcome
    known: bool = False


async def take(
    context: ingest_file.Context, files: Sequence[scan.ScannedFile], ending: Ending
) -> list[int]:
    """Ingest files of safe formats; returns the numbers of those that are to be
    ingested one by one instead. Raises Unavailable, DiskFull: then nothing was done.
    """
    opened = await asyncio.to_thread(_all_opened, files)
    if not opened:
        return list(range(len(files)))
    settled, unread = await _recalled(context, opened)
    await _keep_originals(context, unread)
    gathered = await _read(context, unread)
    await _save(context, gathered, settled, ending)
    done = {each.number for each in settled} | {each.number for each, _ in gathered}
    return [number for number in range(len(files)) if number not in done]


def _all_opened(files: Sequence[scan.ScannedFile]) -> list[_Opened]:
    """Those of the files that are small, safe to be read together, and here."""
    opened: list[_Opened] = []
    for number, file in enumerate(files):
        # The reason is said by `ingest_file`.
        with contextlib.suppress(errors.Unreadable, OSError):
            inspected = inspection.inspect(file)
            if inspected.problem or inspected.state is None:
                continue
            with file.file.open("rb") as source:
                data = source.read(LARGEST + 1)
            if _is_safe(data, file):
                outcome = gathering.Outcome(report.FileReport(str(file.relative)))
                outcome.digest = blobs.digest(data)
                modified = file.modified or inspected.state.modified
                opened.append(_Opened(number, inspected, data, modified, outcome))
    return opened


def _is_safe(data: bytes, file: scan.ScannedFile) -> bool:
    """Whether a file is one of text with a reader of its own: no document, picture or
    archive.
    """
    if len(data) > LARGEST or data.startswith(_CONTAINERS):
        return False
    kind = detect.look(data[: detect.HEAD], file.relative)
    return not isinstance(kind, str | kinds.DocumentFormat)


async def _recalled(
    context: ingest_file.Context, opened: Sequence[_Opened]
) -> tuple[list[_Opened], list[_Opened]]:
    """Those of whose bytes the ledger knows what became, and the others."""
    paths = [each.file.path for each in opened]
    async with context.database.transaction(context.caller) as tx:
        entries = await ledger.entries(tx, context.caller, paths)
    settled: list[_Opened] = []
    unread: list[_Opened] = []
    for each in opened:
        entry = entries.get(each.file.path)
        each.known = entry is not None
        outcome = each.outcome
        if entry and ledger.recall(entry, outcome.digest, outcome.result):
            settled.append(each)
        else:
            unread.append(each)
    return settled, unread


async def _keep_originals(
    context: ingest_file.Context, opened: Sequence[_Opened]
) -> None:
    contents = [each.data for each in opened]
    user = context.caller.user_id
    await asyncio.to_thread(blobs.put_all, context.blobs, user, contents)


_Gathered = tuple[_Opened, gathering.Gathering]


async def _read(
    context: ingest_file.Context, opened: Sequence[_Opened]
) -> list[_Gathered]:
    """What came of those files that one child could read to their end."""
    if not opened:
        return []
    gathered = [(each, _gathering(context, each)) for each in opened]
    jobs = [_job(each) for each in opened]
    broken: set[int] = set()
    async with aclosing(context.worker_pool.read_all(jobs)) as messages:
        async for number, message in messages:
            if isinstance(message, wire.Broken) and message.cause != "file":
                broken.add(number)
            else:
                await gathered[number][1].add(message)
    return [
        (each, so_far)
        for number, (each, so_far) in enumerate(gathered)
        if (so_far.ended or so_far.problem) and number not in broken
    ]


def _gathering(context: ingest_file.Context, each: _Opened) -> gathering.Gathering:
    outcome = each.outcome
    job = saving.SaveJob(each.file, each.modified, outcome.digest, outcome.result)
    return gathering.Gathering(context.blobs, context.caller, each.file, job)


def _job(each: _Opened) -> pool.ReadJob:
    return pool.ReadJob(
        source=each.data,
        relative=each.file.relative,
        path=each.file.file,
        vault=each.file.vault,
        mtime=each.modified,
    )


async def _save(
    context: ingest_file.Context,
    gathered: Sequence[_Gathered],
    settled: Sequence[_Opened],
    ending: Ending,
) -> None:
    found = [
        prepare.Found(each.file, item, each.known)
        for each, so_far in gathered
        for item in so_far.items
    ]
    jobs = [so_far.job for _, so_far in gathered for _ in so_far.items]
    prepared = await prepare.prepared_items(context.database, context.caller, found)
    items = list(zip(jobs, prepared, strict=True))
    async with context.database.transaction(context.caller) as tx:
        await saving.save(tx, context.caller, items)
        entries = [
            ingest_file.concluded(so_far, each.outcome) for each, so_far in gathered
        ]
        await ledger.keep_files(tx, context.caller, entries)
        ended = [*settled, *(each for each, _ in gathered)]
        await ending(tx, [(each.number, each.outcome) for each in ended])
