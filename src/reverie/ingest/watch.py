"""Keeping a folder in step: what moves keeps its record, what is removed is deleted
softly, what changes comes in.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import watchfiles

from reverie import blobs, db, errors
from reverie.access import callers
from reverie.ingest import ingest_file, ledger, scan
from reverie.records import base, catalogue

_QUIET_MS = 1000


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
    yield
    async for _ in watchfiles.awatch(
        *folders, debounce=10 * _QUIET_MS, step=_QUIET_MS, stop_event=stop
    ):
        yield


async def in_step(
    desk: ingest_file.Context, folders: Sequence[str], found: Sequence[scan.ScannedFile]
) -> None:
    """Follow moves and removals since the last time.

    A folder that is empty or away now, as when its disk is, takes nothing with it.
    """
    there = {one.path for one in found}
    for folder in folders:
        if not any(path.startswith(folder.rstrip("/") + "/") for path in there):
            continue
        async with desk.database.transaction(desk.caller) as tx:
            known = await ledger.under(tx, desk.caller, folder)
        gone = {
            path: digest
            for path, digest in known.items()
            if not scan.outer(path, there)
        }
        if gone:
            new = [one for one in found if one.path not in known and not one.problem]
            await _follow(desk, gone, await asyncio.to_thread(_digests, new))


def _digests(found: Sequence[scan.ScannedFile]) -> dict[str, list[scan.ScannedFile]]:
    """Files by their hash."""
    by_digest: dict[str, list[scan.ScannedFile]] = {}
    for one in found:
        try:
            by_digest.setdefault(blobs.digest_of(one.file), []).append(one)
        except OSError:
            continue
    return by_digest


async def _follow(
    desk: ingest_file.Context,
    gone: dict[str, str],
    new: dict[str, list[scan.ScannedFile]],
) -> None:
    """What lay inside a file goes where that goes, in the same transaction."""
    inside: dict[str, list[str]] = {}
    for path in sorted(gone):
        inside.setdefault(scan.outer(path, gone), []).append(path)
    for outer, paths in inside.items():
        places = new.get(gone[outer])
        moved = places.pop() if places else None
        async with desk.database.transaction(desk.caller) as tx:
            await ledger.turn(tx, desk.caller)
            for path in paths:
                if moved is None:
                    await _remove(tx, desk.caller, path)
                elif path == outer:
                    await _move(tx, desk.caller, path, moved)
                else:
                    await ledger.moved(
                        tx, desk.caller, path, moved.path + path.removeprefix(outer)
                    )


async def _move(
    tx: db.Transaction, caller: callers.Caller, old: str, new: scan.ScannedFile
) -> None:
    """The record stays, and says where its file lies now."""
    for made in await ledger.made(tx, caller, old):
        domain = catalogue.domain(made.domain)
        record = await base.get(tx, caller, domain, made.record_id, deleted=True)
        if record.deleted_at is not None:
            continue
        values: dict[str, object] = {
            "custom": {**record.custom, "imported_from": str(new.relative)}
        }
        if made.domain == "file":
            values |= {"path": new.path, "name": new.relative.name}
        changed = await base.update(tx, caller, domain, made.record_id, values)
        if record.updated_at == made.version:
            await ledger.version(tx, caller, old, made.record_id, changed.updated_at)
    await ledger.moved(tx, caller, old, new.path)


async def _remove(tx: db.Transaction, caller: callers.Caller, path: str) -> None:
    """What came from this file alone is deleted, unless it was changed here since."""
    for made in await ledger.gone(tx, caller, path):
        domain = catalogue.domain(made.domain)
        record = await base.get(tx, caller, domain, made.record_id, deleted=True)
        if record.deleted_at is None and record.updated_at == made.version:
            await base.delete(tx, caller, domain, made.record_id)
