"""Import: from files to records, once each, with a report; a bad file or item never stops the rest."""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

from reverie import blobs, db, errors
from reverie.access import callers
from reverie.ingest import detect, drafts, report
from reverie.records import base, catalogue

SOURCE = "import"
LARGEST = 2 * 1024**3
_BATCH = 50

_FILE = "SELECT digest, items FROM imported_file WHERE user_id = %s AND path = %s"
_KEEP_FILE = """
INSERT INTO imported_file (user_id, path, digest, modified, items) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (user_id, path) DO UPDATE
    SET digest = excluded.digest, modified = excluded.modified, items = excluded.items
"""
# The row of this very file first, then whichever other file told of the same thing last. The version is the newest that
# any file gave: what another file changed was not changed here.
_SEEN = """
SELECT path, key, digest, domain, record_id, modified, (
    SELECT max(version) FROM imported AS any_file
    WHERE any_file.user_id = imported.user_id AND any_file.record_id = imported.record_id
) AS version FROM imported
WHERE user_id = %(user)s AND key = %(key)s AND (path = %(path)s OR %(shared)s)
ORDER BY path = %(path)s DESC, modified DESC LIMIT 1
"""
_KEEP = """
INSERT INTO imported (user_id, path, key, digest, domain, record_id, version, modified, original)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (user_id, path, key) DO UPDATE SET digest = excluded.digest, domain = excluded.domain,
    record_id = excluded.record_id, version = excluded.version, modified = excluded.modified,
    original = excluded.original
"""
_ORIGINAL = "SELECT original FROM imported WHERE user_id = %s AND record_id = %s ORDER BY modified DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Found:
    """One file to import. `path` is its identity in the ledger, `relative` its name in the report."""

    file: Path
    path: str
    relative: PurePosixPath
    vault: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Seen:
    path: str
    key: str
    digest: bytes
    domain: str
    record_id: UUID
    version: datetime
    modified: datetime


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as its reader left it: the items before the first broken place, and what broke."""

    items: list[drafts.Draft | drafts.Skip]
    problem: str


@dataclass(slots=True)
class _Job:
    """One file on its way in."""

    found: Found
    source: drafts.Source
    original: str
    ids: dict[str, UUID]
    result: report.File


def find(paths: Iterable[Path], *, name: str = "") -> Iterator[Found]:
    """Every file under some paths, in order. With a `name`, files are known by it and their place under the path.

    Raises NotFound for a path that is not there.
    """
    for given in paths:
        root = given.expanduser().absolute()
        if not root.exists():
            raise errors.NotFound(f"There is nothing at {given}.", hint="Give files or folders that exist.")
        files = [root] if root.is_file() else sorted(_walk(root))
        top = root.parent if root.is_file() else root
        vaults = _vaults(top)
        for file in files:
            relative = PurePosixPath(file.relative_to(top).as_posix())
            path = f"{name}:{relative}" if name else str(file)
            vault = any(folder in vaults for folder in file.parents)
            yield Found(file, _text(path), PurePosixPath(_text(str(relative))), vault, _problem(file))


def _walk(root: Path) -> Iterator[Path]:
    """Every file, and each folder that is not entered: one that is a link, one that cannot be read."""
    closed: list[Path] = []
    for folder, folders, names in os.walk(root, onerror=lambda refused: closed.append(Path(str(refused.filename)))):
        for name in [*names, *(one for one in folders if (Path(folder) / one).is_symlink())]:
            yield Path(folder) / name
    yield from closed


def _problem(file: Path) -> str:
    """Why something is not even opened: reading a pipe would wait for ever."""
    if file.is_symlink():
        return "a symbolic link is not followed"
    if file.is_dir():
        return "a folder that cannot be read"
    return "" if file.is_file() else "not a file but a pipe, a socket or a device"


def _vaults(top: Path) -> set[Path]:
    """The Obsidian vaults at, above or below a folder."""
    above = {folder for folder in (top, *top.parents) if (folder / ".obsidian").is_dir()}
    return above | {Path(folder) for folder, names, _ in os.walk(top) if ".obsidian" in names}


def _text(path: str) -> str:
    """A path as text that the database can keep, whatever bytes the file system allows."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


async def run(
    database: db.Database,
    caller: callers.Caller,
    *,
    blob_root: Path,
    files: Sequence[Found],
    progress: Callable[[int, report.File], None],
) -> report.Report:
    """Import files and tell `progress` after each (how many are done, what became of it)."""
    whole = report.Report()
    for number, found in enumerate(files, start=1):
        result = report.File(str(found.relative))
        whole.files.append(result)
        try:
            await _one(database, caller, blob_root, found, result)
        except (errors.Unavailable, errors.DiskFull):
            raise
        except errors.ReverieError as failure:
            result.status, result.reason = "failed", failure.message
        progress(number, result)
    return whole


async def _one(
    database: db.Database, caller: callers.Caller, blob_root: Path, found: Found, result: report.File
) -> None:
    if found.problem:
        result.status, result.reason = "skipped", found.problem
        return
    try:
        data, modified = await asyncio.to_thread(_bytes, found.file)
    except OSError as refused:
        raise errors.Unreadable(f"cannot be read: {refused.strerror}") from None
    reader = detect.reader_for(data[: detect.HEAD], found.relative)
    if isinstance(reader, str):
        result.status, result.reason = "skipped", reason_of(reader)
        return
    address = blobs.digest(data)
    async with database.transaction(caller) as tx:
        known = await tx.rows(_FILE, (caller.user_id, found.path))
    if known and known[0]["digest"] == address:
        result.unchanged = known[0]["items"]
        return
    source = drafts.Source(found.file, found.relative, data, found.vault, modified)
    read = await asyncio.to_thread(_read, reader, source)
    if read.items and any(isinstance(item, drafts.Draft) for item in read.items):
        await asyncio.to_thread(blobs.put, blob_root, caller.user_id, data)
    job = _Job(found, source, address, {}, result)
    for start in range(0, max(1, len(read.items)), _BATCH):
        async with database.transaction(caller) as tx:
            for item in read.items[start : start + _BATCH]:
                await _item(tx, caller, job, item)
            if start + _BATCH >= len(read.items):
                _conclude(result, read)
                items = result.imported + result.updated + result.unchanged
                if items and result.status != "failed":  # what holds nothing is looked at again, and told again
                    await tx.run(_KEEP_FILE, (caller.user_id, found.path, address, modified, items))


def _bytes(file: Path) -> tuple[bytes, datetime]:
    status = file.stat()
    if status.st_size > LARGEST:
        raise errors.Unreadable("the file is larger than 2 GB: split it")
    return file.read_bytes(), datetime.fromtimestamp(status.st_mtime, UTC)


def _read(reader: drafts.Reader, source: drafts.Source) -> _Read:
    items: list[drafts.Draft | drafts.Skip] = []
    try:
        for item in reader(source):
            items.append(item)  # noqa: PERF402 - what came before the broken place is kept
    except errors.Unreadable as broken:
        return _Read(items, broken.message)
    return _Read(items, "")


def _conclude(result: report.File, read: _Read) -> None:
    if read.problem:
        result.status, result.reason = "failed", read.problem
    elif result.imported or result.updated:
        result.status = "imported"
    elif not result.unchanged:
        result.status = "skipped"
        result.reason = result.skipped[0]["reason"] if len(result.skipped) == 1 else "no records in it"
        if len(result.skipped) == 1:
            result.skipped.clear()


def reason_of(text: str) -> str:
    """A reason as the report shows it."""
    return text.strip().rstrip(".")


async def _item(tx: db.Transaction, caller: callers.Caller, job: _Job, item: drafts.Draft | drafts.Skip) -> None:
    """One item, in a savepoint of its own."""
    if isinstance(item, drafts.Skip):
        job.result.skipped.append({"item": item.key, "reason": reason_of(item.reason)})
        return
    try:
        async with tx.savepoint():
            await _draft(tx, caller, job, item)
    except (errors.Invalid, errors.Conflict, errors.NotFound) as refused:
        job.result.skipped.append({"item": item.key or item.domain, "reason": reason_of(refused.message)})


async def _draft(tx: db.Transaction, caller: callers.Caller, job: _Job, draft: drafts.Draft) -> None:
    domain = catalogue.domain(draft.domain)
    key = draft.key or "file"
    digest = _digest(draft)
    names = {"user": caller.user_id, "key": key, "path": job.found.path, "shared": bool(draft.key)}
    seen = await tx.one(_Seen, _SEEN, names)
    fields = dict(draft.fields)
    fields["custom"] = {**_custom(draft), "imported_from": str(job.found.relative)}
    for name, ref in draft.refs.items():
        fields[name] = job.ids.get(ref)
    if seen is not None and (seen.domain, domain.name) == ("note", "diary"):
        domain, fields = catalogue.domain("note"), _as_note(fields, job)
    if seen is None or seen.domain != domain.name:
        record = await _create(tx, caller, job, domain, fields)
        job.result.imported += 1
        version = record.updated_at
    else:
        record, version = await _again(tx, caller, job, domain, fields, seen, same=seen.digest == digest)
    job.ids[draft.key] = record.id
    modified = max(job.source.mtime, seen.modified) if seen and seen.path != job.found.path else job.source.mtime
    told = (digest, _domain_name(record), record.id, version, modified, job.original)
    await tx.run(_KEEP, (caller.user_id, job.found.path, key, *told))


async def _create(
    tx: db.Transaction, caller: callers.Caller, job: _Job, domain: base.Domain[Any], fields: dict[str, Any]
) -> base.Record:
    """A new record. A second diary entry for one day is kept as a note: nothing is lost."""
    try:
        return await base.create(tx, caller, domain, fields, source=SOURCE)
    except errors.Conflict:
        if domain.name != "diary":
            raise
        note = _as_note(fields, job)
        job.result.skipped.append({"item": str(fields["date"]), "reason": "this day has an entry: kept as a note"})
        return await base.create(tx, caller, catalogue.domain("note"), note, source=SOURCE)


def _as_note(entry: dict[str, Any], job: _Job) -> dict[str, Any]:
    return {
        "title": f"{entry['date']} ({job.found.relative.stem})",
        "content": entry["content"],
        "tags": ["diary"],
        "custom": entry["custom"],
    }


async def _again(
    tx: db.Transaction,
    caller: callers.Caller,
    job: _Job,
    domain: base.Domain[Any],
    fields: dict[str, Any],
    seen: _Seen,
    *,
    same: bool,
) -> tuple[base.Record, datetime]:
    """A thing that was imported before: unchanged, newer in the file, or changed on both sides (both are kept).

    With the version that came from a file, so that what was changed here stays known as changed here.
    """
    record = await base.get(tx, caller, domain, seen.record_id, deleted=True)
    older = seen.path != job.found.path and job.source.mtime < seen.modified
    if same or older or record.deleted_at is not None:
        job.result.unchanged += 1
        if not same:
            reason = "you deleted it" if record.deleted_at is not None else f"{seen.path} has a newer version"
            job.result.skipped.append({"item": seen.key, "reason": reason})
        return record, seen.version
    if record.updated_at != seen.version:
        job.result.imported += 1
        job.result.skipped.append({"item": seen.key, "reason": "changed here and in the file: both are kept"})
        record = await _create(tx, caller, job, domain, fields)
    else:
        job.result.updated += 1
        record = await base.update(tx, caller, domain, seen.record_id, fields)
    return record, record.updated_at


async def original(tx: db.Transaction, caller: callers.Caller, record_id: UUID) -> str:
    """The address (SHA-256, hex) of the file that a record was imported from. Raises NotFound."""
    found = await tx.value(_ORIGINAL, (caller.user_id, record_id))
    if found is None:
        raise errors.NotFound("This record has no original.", hint="It was not imported from a file.")
    return str(found)


def _custom(draft: drafts.Draft) -> dict[str, Any]:
    custom = draft.fields.get("custom")
    return dict(custom) if isinstance(custom, dict) else {}


def _domain_name(record: base.Record) -> str:
    return next(one.name for one in catalogue.DOMAINS.values() if isinstance(record, one.record))


def _digest(draft: drafts.Draft) -> bytes:
    """What the file says of an item, so that a second look sees whether it says something else."""
    content = [draft.domain, drafts.jsonable(draft.fields), drafts.jsonable(draft.refs)]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).digest()
