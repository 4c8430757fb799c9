"""Watching a folder (inotify): what moves keeps its record, what is removed is deleted
softly, what changes comes in.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import watchfiles

from reverie import blobs, db, errors
from reverie.access import callers
from reverie.ingest import ingest_file, ledger, scan
from reverie.records import base, catalogue

_QUIET_MS = 1000
# Without a change the watcher comes back so often, the first time to say that it
# watches; set by hand.
_LOOK_MS = 500


async def changes(
    folders: Sequence[Path], *, stop: asyncio.Event
) -> AsyncGenerator[None]:
    """Once at the beginning, and then whenever something under the folders has changed
    and a second was quiet.
    """
    for folder in folders:
        if not folder.is_dir():
            raise errors.NotFound(
                f"There is no folder {folder}.", hint="Give folders that exist."
            )
    # What changes during the first import is noticed too: the watching begins before it.
    first = True
    async for changed in watchfiles.awatch(
        *folders,
        debounce=10 * _QUIET_MS,
        step=_QUIET_MS,
        stop_event=stop,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
    ):
        if first or changed:
            yield
        first = False


async def in_step(
    context: ingest_file.Context,
    folders: Sequence[str],
    files: Sequence[scan.ScannedFile],
) -> None:
    """Follow moves and removals since the last time; `files` are those that are there.

    A folder that is empty or away now, as when its disk is, takes nothing with it.
    """
    paths = {file.path for file in files}
    for folder in map(_identity, folders):
        prefix = folder.rstrip("/") + "/"
        if not any(path.startswith(prefix) for path in paths):
            continue
        async with context.database.transaction(context.caller) as tx:
            entries = await ledger.under(tx, context.caller, folder)
        gone = {
            path: digest
            for path, digest in entries.items()
            if not scan.outer(path, paths)
        }
        if gone:
            new = [
                file for file in files if file.path not in entries and not file.problem
            ]
            await _follow(context, gone, await asyncio.to_thread(_by_digest, new))


def _identity(folder: str) -> str:
    """A folder that was asked for, as the ledger names what is in it."""
    return scan.identity(str(scan.restored(folder)))


def _by_digest(files: Sequence[scan.ScannedFile]) -> dict[str, list[scan.ScannedFile]]:
    """Files by the SHA-256 of their bytes; those that cannot be read are left out."""
    by_digest: dict[str, list[scan.ScannedFile]] = {}
    for file in files:
        with contextlib.suppress(OSError):
            by_digest.setdefault(blobs.digest_of(file.file), []).append(file)
    return by_digest


async def _follow(
    context: ingest_file.Context,
    gone: Mapping[str, str],
    new: Mapping[str, list[scan.ScannedFile]],
) -> None:
    """What lay inside a file goes where that goes, in the same transaction."""
    inside: dict[str, list[str]] = {}
    for path in sorted(gone):
        inside.setdefault(scan.outer(path, gone), []).append(path)
    for outer, paths in inside.items():
        same_bytes = new.get(gone[outer])
        moved = same_bytes.pop() if same_bytes else None
        async with context.database.transaction(context.caller) as tx:
            await ledger.turn(tx, context.caller)
            for path in paths:
                if moved is None:
                    await _remove(tx, context.caller, path)
                elif path == outer:
                    await _move(tx, context.caller, path, moved)
                else:
                    inner = moved.path + path.removeprefix(outer)
                    await ledger.moved(tx, context.caller, path, inner)


async def _move(
    tx: db.Transaction, caller: callers.Caller, old: str, new: scan.ScannedFile
) -> None:
    """The record stays, and says where its file lies now."""
    for imported in await ledger.records_of(tx, caller, old):
        domain = catalogue.domain(imported.domain)
        record = await base.get(tx, caller, domain, imported.record_id, deleted=True)
        if record.deleted_at is not None or not caller.may(domain.plural, "write"):
            continue
        values: dict[str, object] = {
            "custom": {**record.custom, "imported_from": str(new.relative)}
        }
        if imported.domain == "file":
            values |= {"path": new.path, "name": new.relative.name}
        changed = await base.update(tx, caller, domain, imported.record_id, values)
        if record.updated_at == imported.version:
            await ledger.version(
                tx, caller, old, imported.record_id, changed.updated_at
            )
    await ledger.moved(tx, caller, old, new.path)


async def _remove(tx: db.Transaction, caller: callers.Caller, path: str) -> None:
    """What came from this file alone is deleted, unless it was changed here since.

    All of it stays where the caller may not write some of it.
    """
    records = await ledger.records_of(tx, caller, path)
    domains = [catalogue.domain(imported.domain) for imported in records]
    if not all(caller.may(domain.plural, "write") for domain in domains):
        return
    for imported in await ledger.gone(tx, caller, path):
        domain = catalogue.domain(imported.domain)
        record = await base.get(tx, caller, domain, imported.record_id, deleted=True)
        if record.deleted_at is None and record.updated_at == imported.version:
            await base.delete(tx, caller, domain, imported.record_id)
