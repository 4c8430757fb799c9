"""The ledger of imports: which file held what the last time, and which record came from
where, so that an import is idempotent.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.ingest import report

READERS = "2"
"""The version of all readers together: with a new one, files that could not be read are
looked at again.
"""

_FILE = "SELECT digest, items, state, reason, readers FROM imported_file WHERE user_id = %s AND path = %s"
_FILES = "SELECT path, digest, items, state, reason, readers FROM imported_file WHERE user_id = %s AND path = ANY(%s)"
_KEEP_FILES = """
INSERT INTO imported_file (user_id, path, digest, modified, items, state, reason, readers, domains)
SELECT %(user)s, path, digest, modified, items, state, reason, readers, domains
FROM jsonb_to_recordset(%(files)s) AS new (path text, digest text, modified timestamptz, items int, state text,
    reason text, readers text, domains text[])
ON CONFLICT (user_id, path) DO UPDATE SET digest = excluded.digest, modified = excluded.modified,
    items = excluded.items, state = excluded.state, reason = excluded.reason, readers = excluded.readers,
    domains = excluded.domains
"""
_UNDER = "SELECT path, digest FROM imported_file WHERE user_id = %s AND starts_with(path, %s) ORDER BY path"
_MOVE_FILE = """
UPDATE imported_file SET path = %(new)s WHERE user_id = %(user)s AND path = %(old)s
    AND NOT EXISTS (SELECT FROM imported_file AS there WHERE there.user_id = %(user)s AND there.path = %(new)s)
"""
_MOVE = """
UPDATE imported SET path = %(new)s WHERE user_id = %(user)s AND path = %(old)s
    AND NOT EXISTS (SELECT FROM imported AS there WHERE there.user_id = %(user)s AND there.path = %(new)s)
"""
_VERSION = "UPDATE imported SET version = %s WHERE user_id = %s AND path = %s AND record_id = %s"
_RECORDS_OF = (
    "SELECT domain, record_id, version FROM imported WHERE user_id = %s AND path = %s"
)
_FORGET_FILE = "DELETE FROM imported_file WHERE user_id = %s AND path = %s"
_FORGET = "DELETE FROM imported WHERE user_id = %s AND path = %s"
# The records that came from this file, and from no other.
_ONLY_HERE = """
SELECT domain, record_id, version FROM imported AS mine WHERE user_id = %(user)s AND path = %(path)s AND NOT EXISTS (
    SELECT FROM imported AS other
    WHERE other.user_id = mine.user_id AND other.record_id = mine.record_id AND other.path <> mine.path
)
"""
# The rows of this very file first, then those of whichever other file told of the thing
# last. The version is the newest that any file gave: what another file changed was not
# changed here.
_MENTIONS = """
SELECT path, key, digest, domain, record_id, modified, content, (
    SELECT max(version) FROM imported AS any_file
    WHERE any_file.user_id = imported.user_id AND any_file.record_id = imported.record_id
) AS version FROM imported
WHERE user_id = %(user)s AND {which}
ORDER BY path = %(path)s DESC, modified DESC LIMIT 100
"""
_OWN = db.compose(_MENTIONS, which=db.text("key = ANY(%(keys)s) AND path = %(path)s"))
_ANY = db.compose(_MENTIONS, which=db.text("key = ANY(%(keys)s)"))
_OF_RECORD = db.compose(_MENTIONS, which=db.text("record_id = %(record)s"))
_IMPORTED_KEYS = (
    "SELECT DISTINCT key FROM imported WHERE user_id = %s AND key = ANY(%s)"
)
_IMPORTED_FILES = (
    "SELECT path FROM imported WHERE user_id = %s AND path = ANY(%s) AND key = %s"
)
_KEEP = """
INSERT INTO imported (user_id, path, key, digest, domain, record_id, version, modified, content, original)
SELECT %(user)s, path, key, digest, domain, record_id, version, modified, content, original
FROM unnest(%(paths)s::text[], %(keys)s::text[], %(digests)s::bytea[], %(domains)s::text[], %(records)s::uuid[],
    %(versions)s::timestamptz[], %(times)s::timestamptz[], %(contents)s::bytea[], %(originals)s::text[])
    AS new (path, key, digest, domain, record_id, version, modified, content, original)
ON CONFLICT (user_id, path, key) DO UPDATE SET digest = excluded.digest, domain = excluded.domain,
    record_id = excluded.record_id, version = excluded.version, modified = excluded.modified,
    content = excluded.content, original = excluded.original
"""
_ORIGINAL = "SELECT original FROM imported WHERE user_id = %s AND record_id = %s ORDER BY modified DESC LIMIT 1"
WHOLE_FILE = "file"
"""The key of a thing that has none but the path of its file."""
_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('import:' || %s::text, 0))"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What became of a file the last time, when its bytes had this digest."""

    digest: str
    items: int
    state: str
    reason: str
    readers: str


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What became of a file, and of which kinds its records are. Not `final`: somebody
    who may do more gets more out of the same bytes.
    """

    path: str
    digest: str
    modified: datetime
    items: int
    state: str
    reason: str
    domains: Collection[str] = ()
    final: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """A thing that some file told of before: what it said (`digest`), what of it makes it
    this thing (`content`, see identity; None before that was kept), and the record with
    its version then.
    """

    path: str
    key: str
    digest: bytes
    domain: str
    record_id: UUID
    version: datetime
    modified: datetime
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class LedgerNote:
    """What is to be noted of a thing, with the address of the bytes it came from."""

    seen: Seen
    original: str


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """A record that came from a file, as it was when the file was read."""

    domain: str
    record_id: UUID
    version: datetime


def recall(
    entry: LedgerEntry, digest: str, result: report.FileReport, *, again: bool = False
) -> bool:
    """Whether what became of these bytes the last time still holds; then it is told in
    the report of a file.
    """
    if entry.digest != digest:
        return False
    if entry.state == "imported":
        result.unchanged = entry.items
        return True
    if again or entry.readers != READERS:
        return False
    result.status = "skipped" if entry.state == "skipped" else "failed"
    result.reason = entry.reason
    return True


async def turn(tx: db.Transaction, caller: callers.Caller) -> None:
    """Wait until nobody else saves for this user: two imports of one thing would make
    it twice.
    """
    await tx.run(_TURN, (caller.user_id,))


async def entry(
    tx: db.Transaction, caller: callers.Caller, path: str
) -> LedgerEntry | None:
    """What became of a file the last time."""
    return await tx.one(LedgerEntry, _FILE, (caller.user_id, path))


async def entries(
    tx: db.Transaction, caller: callers.Caller, paths: list[str]
) -> dict[str, LedgerEntry]:
    """The same for many files, by path."""
    rows = await tx.rows(_FILES, (caller.user_id, paths))
    return {row.pop("path"): LedgerEntry(**row) for row in rows}


async def keep_files(
    tx: db.Transaction, caller: callers.Caller, files: Sequence[FileEntry]
) -> None:
    """Note what became of some files, each once."""
    rows = [
        {
            "path": file.path,
            "digest": file.digest,
            "modified": file.modified.isoformat(),
            "items": file.items,
            "state": file.state,
            "reason": file.reason,
            "readers": READERS if file.final else "",
            "domains": list(file.domains),
        }
        for file in files
    ]
    await tx.run(_KEEP_FILES, {"user": caller.user_id, "files": db.json(rows)})


async def mentions(
    tx: db.Transaction, caller: callers.Caller, path: str, keys: Sequence[str]
) -> list[Seen]:
    """What was said under some keys before: in this file, then in others, the last one
    first.
    """
    names = {"user": caller.user_id, "keys": list(keys), "path": path}
    return await tx.all(Seen, _ANY, names)


async def own_mentions(
    tx: db.Transaction, caller: callers.Caller, path: str, key: str
) -> list[Seen]:
    """What this file said before under a key that is its own."""
    names = {"user": caller.user_id, "keys": [key], "path": path}
    return await tx.all(Seen, _OWN, names)


async def last_mention(
    tx: db.Transaction, caller: callers.Caller, record_id: UUID
) -> Seen | None:
    """Which file told of a record last."""
    names = {"user": caller.user_id, "record": record_id, "path": ""}
    return await tx.one(Seen, _OF_RECORD, names)


async def imported_keys(
    tx: db.Transaction, caller: callers.Caller, keys: Sequence[str]
) -> set[str]:
    """Those of some keys that a thing was imported under before, from any file."""
    rows = await tx.rows(_IMPORTED_KEYS, (caller.user_id, list(keys)))
    return {row["key"] for row in rows}


async def imported_files(
    tx: db.Transaction, caller: callers.Caller, paths: Sequence[str]
) -> set[str]:
    """Those of some files that became a record as a whole, without a key of its own."""
    values = (caller.user_id, list(paths), WHOLE_FILE)
    return {row["path"] for row in await tx.rows(_IMPORTED_FILES, values)}


async def keep(
    tx: db.Transaction, caller: callers.Caller, entries: Sequence[LedgerNote]
) -> None:
    """Note which records some things in files became, each under a key of its own."""
    seen = [entry.seen for entry in entries]
    values = {
        "user": caller.user_id,
        "paths": [each.path for each in seen],
        "keys": [each.key for each in seen],
        "digests": [each.digest for each in seen],
        "domains": [each.domain for each in seen],
        "records": [each.record_id for each in seen],
        "versions": [each.version for each in seen],
        "times": [each.modified for each in seen],
        "contents": [each.content for each in seen],
        "originals": [entry.original for entry in entries],
    }
    await tx.run(_KEEP, values)


async def original(tx: db.Transaction, caller: callers.Caller, record_id: UUID) -> str:
    """The address (SHA-256, hex) of the file that a record was imported from. Raises
    NotFound.
    """
    address = await tx.value(_ORIGINAL, (caller.user_id, record_id))
    if address is None:
        raise errors.NotFound(
            "This record has no original.", hint="It was not imported from a file."
        )
    return str(address)


async def under(
    tx: db.Transaction, caller: callers.Caller, folder: str
) -> dict[str, str]:
    """The files known below a folder: path and digest."""
    return {
        row["path"]: row["digest"]
        for row in await tx.rows(_UNDER, (caller.user_id, folder.rstrip("/") + "/"))
    }


async def moved(tx: db.Transaction, caller: callers.Caller, old: str, new: str) -> None:
    """A file lies elsewhere now; what came from it is known by the new place."""
    for statement in (_MOVE, _MOVE_FILE):
        await tx.run(statement, {"user": caller.user_id, "old": old, "new": new})


async def records_of(
    tx: db.Transaction, caller: callers.Caller, path: str
) -> list[ImportedRecord]:
    """The records that came from a file."""
    return await tx.all(ImportedRecord, _RECORDS_OF, (caller.user_id, path))


async def version(
    tx: db.Transaction, caller: callers.Caller, path: str, record_id: UUID, at: datetime
) -> None:
    """A record was changed on behalf of its file, and not by its owner."""
    await tx.run(_VERSION, (at, caller.user_id, path, record_id))


async def gone(
    tx: db.Transaction, caller: callers.Caller, path: str
) -> list[ImportedRecord]:
    """A file is no more: forget it, and return the records that came from it alone."""
    alone = await tx.all(
        ImportedRecord, _ONLY_HERE, {"user": caller.user_id, "path": path}
    )
    for statement in (_FORGET_FILE, _FORGET):
        await tx.run(statement, (caller.user_id, path))
    return alone
