"""Ingestions and their files: what was asked for, how far it is, and what became of
each file.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, cast
from uuid import UUID, uuid4

from reverie import db, errors
from reverie.access import callers
from reverie.ingest import requesters

Kind = Literal["paths", "upload", "url"]
State = Literal["waiting", "running", "stopped", "done", "failed"]
FileState = Literal[
    "waiting", "running", "imported", "unchanged", "skipped", "failed", "parked"
]

TRIES = 3
"""A file at which the process died so often is parked."""
_KEPT = 100

# Of the same request of the same caller at the same time there is one.
_ASK = """
INSERT INTO ingestion (user_id, id, kind, request, print, state, asker)
VALUES (%(user)s, %(id)s, %(kind)s, %(request)s, %(print)s, 'waiting', %(asker)s)
ON CONFLICT (user_id, print) WHERE state IN ('waiting', 'running', 'stopped') DO NOTHING
"""
_OPEN = "SELECT id FROM ingestion WHERE user_id = %s AND print = %s AND state IN ('waiting', 'running', 'stopped')"
_COLUMNS = """
SELECT id, kind, request, state, reason, worker, created_at, started_at, scanned_at, finished_at, asker FROM ingestion
"""
_GET = _COLUMNS + "WHERE user_id = %s AND id = %s"
_LATEST = _COLUMNS + "WHERE user_id = %s ORDER BY created_at DESC, id LIMIT %s"
_UNFINISHED = (
    _COLUMNS
    + "WHERE user_id = %s AND state IN ('waiting', 'running') ORDER BY created_at, id"
)
_NOTIFY = "SELECT pg_notify('reverie_ingestion', '')"
# The next one that nobody works on.
_NEXT = """
UPDATE ingestion SET state = 'running', worker = %(worker)s, started_at = coalesce(started_at, clock_timestamp())
WHERE user_id = %(user)s AND id = (
    SELECT id FROM ingestion WHERE user_id = %(user)s AND state = 'waiting' ORDER BY created_at LIMIT 1
    FOR UPDATE SKIP LOCKED
) RETURNING id
"""
_CLAIM = """
UPDATE ingestion SET worker = %(worker)s WHERE user_id = %(user)s AND id = %(id)s AND state = 'running'
"""
_AGAIN = """
UPDATE ingestion SET state = 'waiting', worker = '' WHERE user_id = %s AND id = %s AND state = 'stopped'
"""
_SCANNED = "UPDATE ingestion SET scanned_at = coalesce(scanned_at, clock_timestamp()) WHERE user_id = %s AND id = %s"
_NOTE_WAIT = (
    "UPDATE ingestion SET reason = %s WHERE user_id = %s AND id = %s AND reason <> %s"
)
_END = """
UPDATE ingestion SET state = %(state)s, reason = %(reason)s, request = request - 'password',
    finished_at = CASE WHEN %(state)s IN ('done', 'failed') THEN clock_timestamp() END
WHERE user_id = %(user)s AND id = %(id)s AND state = ANY(%(open)s)
"""
_PRUNE = """
DELETE FROM ingestion WHERE user_id = %(user)s AND state IN ('done', 'failed') AND id NOT IN (
    SELECT id FROM ingestion WHERE user_id = %(user)s ORDER BY created_at DESC LIMIT %(kept)s
)
"""
_ADD = """
INSERT INTO ingestion_file
    (user_id, ingestion_id, number, path, relative, location, size, digest, state, reason, counts)
SELECT %(user)s, %(id)s, %(start)s + ordinality, path, relative, location, size, digest, state, reason, counts
FROM ROWS FROM (jsonb_to_recordset(%(files)s) AS (path text, relative text, location jsonb, size bigint, digest text,
    state text, reason text, counts jsonb)) WITH ORDINALITY
    AS new (path, relative, location, size, digest, state, reason, counts, ordinality)
ON CONFLICT (user_id, ingestion_id, path) DO NOTHING
"""
_NEXT_NUMBER = "SELECT coalesce(max(number), 0) FROM ingestion_file WHERE user_id = %s AND ingestion_id = %s"
_FILE_COLUMNS = """
SELECT number, path, relative, location, size, digest, state, reason, units, total, passages, counts, tries
FROM ingestion_file
"""
_TO_DO = (
    _FILE_COLUMNS
    + """
WHERE user_id = %s AND ingestion_id = %s AND state IN ('waiting', 'running') ORDER BY number LIMIT %s
"""
)
_FILES = (
    _FILE_COLUMNS
    + """
WHERE user_id = %(user)s AND ingestion_id = %(id)s AND number > %(after)s
    AND (%(states)s::text[] IS NULL OR state = ANY(%(states)s))
ORDER BY number LIMIT %(limit)s
"""
)
_BEGIN = """
UPDATE ingestion_file SET state = 'running', tries = tries + 1, updated_at = clock_timestamp()
WHERE user_id = %s AND ingestion_id = %s AND number = ANY(%s) AND EXISTS (
    SELECT FROM ingestion WHERE ingestion.user_id = ingestion_file.user_id
        AND ingestion.id = ingestion_file.ingestion_id AND ingestion.state = 'running'
) RETURNING tries
"""
_LET_GO = """
UPDATE ingestion_file SET tries = greatest(tries - 1, 0) FROM ingestion
WHERE ingestion.user_id = %(user)s AND ingestion.worker = %(worker)s AND ingestion.state = 'running'
    AND ingestion_file.user_id = ingestion.user_id AND ingestion_file.ingestion_id = ingestion.id
    AND ingestion_file.state = 'running'
"""
_NOTE_PROGRESS = """
UPDATE ingestion_file SET units = %(units)s, total = %(total)s, tries = 0, updated_at = clock_timestamp()
WHERE user_id = %(user)s AND ingestion_id = %(id)s AND number = %(number)s AND EXISTS (
    SELECT FROM ingestion WHERE ingestion.user_id = %(user)s AND ingestion.id = %(id)s AND ingestion.state = 'running'
)
"""
_CONCLUDE = """
UPDATE ingestion_file SET state = new.state, reason = new.reason, counts = new.counts, digest = new.digest,
    passages = new.passages, updated_at = clock_timestamp()
FROM jsonb_to_recordset(%(files)s) AS new (number int, state text, reason text, counts jsonb, digest text, passages int)
WHERE user_id = %(user)s AND ingestion_id = %(id)s AND ingestion_file.number = new.number
"""
_STATES = """
SELECT state, count(*) AS files, coalesce(sum(units), 0)::bigint AS units, coalesce(sum(total), 0)::bigint AS total,
    coalesce(sum(passages), 0)::bigint AS passages, coalesce(sum(size), 0)::bigint AS bytes
FROM ingestion_file WHERE user_id = %s AND ingestion_id = %s GROUP BY state
"""

_RECORDS = """
SELECT coalesce(sum((counts->>'imported')::int), 0)::int AS imported,
    coalesce(sum((counts->>'updated')::int), 0)::int AS updated,
    coalesce(sum((counts->>'unchanged')::int), 0)::int AS unchanged
FROM ingestion_file WHERE user_id = %s AND ingestion_id = %s
"""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """One request. `reason` says why it failed, or what it waits for while it runs;
    `asker` is who asked (`requesters`).
    """

    id: UUID
    kind: Kind
    request: dict[str, Any]
    state: State
    reason: str
    worker: str
    created_at: datetime
    started_at: datetime | None
    scanned_at: datetime | None
    finished_at: datetime | None
    asker: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class IngestionFile:
    """One file of an ingestion. `location` is {"file": path, …} or {"blob": digest, …};
    its "mtime" is there when the file was inspected (`scan.ScannedFile.location`).
    """

    number: int
    path: str
    relative: str
    location: dict[str, Any]
    size: int
    digest: str | None
    state: FileState
    reason: str
    units: int
    total: int
    passages: int
    counts: dict[str, Any]
    tries: int


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file as the scan found it."""

    path: str
    relative: str
    location: Mapping[str, object]
    size: int = 0
    digest: str | None = None
    state: FileState = "waiting"
    reason: str = ""
    counts: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What became of the file of that number."""

    number: int
    state: FileState
    reason: str = ""
    digest: str | None = None
    passages: int = 0
    counts: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """All files of one state together; `bytes` are those of the files."""

    state: FileState
    files: int
    units: int
    total: int
    passages: int
    bytes: int


async def ask(
    tx: db.Transaction,
    caller: callers.Caller,
    kind: Kind,
    request: Mapping[str, object],
) -> UUID:
    """Ask for something to be taken in; the same request of the same caller, while it
    is open, has the same id.

    A `password` in it is forgotten when it has ended.
    """
    public = {name: value for name, value in request.items() if name != "password"}
    asker = requesters.as_json(caller)
    canonical = json.dumps([kind, public, asker], sort_keys=True, ensure_ascii=False)
    stamp = hashlib.sha256(canonical.encode()).hexdigest()
    await tx.run(_PRUNE, {"user": caller.user_id, "kept": _KEPT})
    await tx.run(_NOTIFY)
    while True:
        new = uuid4()
        values = {
            "user": caller.user_id,
            "id": new,
            "kind": kind,
            "request": db.json(request),
            "print": stamp,
            "asker": db.json(asker),
        }
        if await tx.run(_ASK, values):
            return new
        same = cast("UUID | None", await tx.value(_OPEN, (caller.user_id, stamp)))
        if same is not None:  # else it ended in this moment
            await tx.run(_AGAIN, (caller.user_id, same))
            return same


async def get(tx: db.Transaction, caller: db.HasUser, ingestion_id: UUID) -> Ingestion:
    """One ingestion. Raises NotFound."""
    ingestion = await tx.one(Ingestion, _GET, (caller.user_id, ingestion_id))
    if ingestion is None:
        raise errors.NotFound(
            "There is no such ingestion.", hint="The last hundred are kept."
        )
    return ingestion


async def latest(
    tx: db.Transaction, caller: db.HasUser, *, limit: int = 20
) -> list[Ingestion]:
    """The last ingestions, the newest first."""
    return await tx.all(Ingestion, _LATEST, (caller.user_id, limit))


async def unfinished(tx: db.Transaction, caller: db.HasUser) -> list[Ingestion]:
    """Those that wait or run, the oldest first."""
    return await tx.all(Ingestion, _UNFINISHED, (caller.user_id,))


async def take_next(tx: db.Transaction, caller: db.HasUser, worker: str) -> UUID | None:
    """The oldest one that waits is this process's from now on; None when none waits."""
    return cast(
        "UUID | None", await tx.value(_NEXT, {"user": caller.user_id, "worker": worker})
    )


async def claim(
    tx: db.Transaction, caller: db.HasUser, ingestion_id: UUID, worker: str
) -> bool:
    """This process works on it from now on; False when nothing is to be done."""
    return bool(
        await tx.run(
            _CLAIM, {"user": caller.user_id, "id": ingestion_id, "worker": worker}
        )
    )


async def scanned(tx: db.Transaction, caller: db.HasUser, ingestion_id: UUID) -> None:
    """All files are listed."""
    await tx.run(_SCANNED, (caller.user_id, ingestion_id))


async def note_wait(
    tx: db.Transaction, caller: db.HasUser, ingestion_id: UUID, reason: str
) -> None:
    """What it waits for just now, or "" when it goes on."""
    await tx.run(_NOTE_WAIT, (reason, caller.user_id, ingestion_id, reason))


async def end(
    tx: db.Transaction,
    caller: db.HasUser,
    ingestion_id: UUID,
    state: State,
    reason: str = "",
) -> None:
    """It is done, has failed, or was stopped. What was stopped is not done, whoever
    finds nothing left to do in it.
    """
    still = ["running"] if state == "done" else ["waiting", "running", "stopped"]
    values = {
        "user": caller.user_id,
        "id": ingestion_id,
        "state": state,
        "reason": reason,
        "open": still,
    }
    await tx.run(_END, values)


async def add(
    tx: db.Transaction,
    caller: callers.Caller,
    ingestion_id: UUID,
    files: Sequence[NewFile],
) -> None:
    """List some files; one that is listed already stays as it is."""
    start = await tx.value(_NEXT_NUMBER, (caller.user_id, ingestion_id))
    rows = [
        {
            "path": file.path,
            "relative": file.relative,
            "location": file.location,
            "size": file.size,
            "digest": file.digest,
            "state": file.state,
            "reason": file.reason,
            "counts": file.counts or {},
        }
        for file in files
    ]
    values = {
        "user": caller.user_id,
        "id": ingestion_id,
        "start": start,
        "files": db.json(rows),
    }
    await tx.run(_ADD, values)


async def to_do(
    tx: db.Transaction, caller: db.HasUser, ingestion_id: UUID, *, most: int
) -> list[IngestionFile]:
    """The next files that wait, and those at which the process ended."""
    return await tx.all(IngestionFile, _TO_DO, (caller.user_id, ingestion_id, most))


async def files(
    tx: db.Transaction,
    caller: db.HasUser,
    ingestion_id: UUID,
    *,
    states: Sequence[FileState] | None = None,
    after: int = 0,
    limit: int = 1000,
) -> list[IngestionFile]:
    """Files in their order, of some states or of all."""
    values = {
        "user": caller.user_id,
        "id": ingestion_id,
        "states": None if states is None else list(states),
        "after": after,
        "limit": limit,
    }
    return await tx.all(IngestionFile, _FILES, values)


async def begin(
    tx: db.Transaction,
    caller: db.HasUser,
    ingestion_id: UUID,
    numbers: Sequence[int],
) -> int:
    """Some files are taken up; returns the most tries that any of them has had with
    this one, 0 when the ingestion has been stopped.
    """
    values = (caller.user_id, ingestion_id, list(numbers))
    return max((row["tries"] for row in await tx.rows(_BEGIN, values)), default=0)


async def let_go(tx: db.Transaction, caller: db.HasUser, worker: str) -> None:
    """A process ends: that it was at some files counts for nothing."""
    await tx.run(_LET_GO, {"user": caller.user_id, "worker": worker})


async def note_progress(
    tx: db.Transaction,
    caller: db.HasUser,
    ingestion_id: UUID,
    number: int,
    *,
    units: int,
    total: int,
) -> bool:
    """So many units of a file are read, of so many (0: nobody knows). False when the
    ingestion has been stopped.
    """
    values = {
        "user": caller.user_id,
        "id": ingestion_id,
        "number": number,
        "units": units,
        "total": total,
    }
    return bool(await tx.run(_NOTE_PROGRESS, values))


async def conclude(
    tx: db.Transaction,
    caller: db.HasUser,
    ingestion_id: UUID,
    files: Sequence[Conclusion],
) -> None:
    """What became of some files."""
    rows = [{**asdict(file), "counts": dict(file.counts or {})} for file in files]
    values = {"user": caller.user_id, "id": ingestion_id, "files": db.json(rows)}
    await tx.run(_CONCLUDE, values)


async def tallies(
    tx: db.Transaction, caller: db.HasUser, ingestion_id: UUID
) -> list[Tally]:
    """How many files are in which state."""
    return await tx.all(Tally, _STATES, (caller.user_id, ingestion_id))


async def records(
    tx: db.Transaction, caller: db.HasUser, ingestion_id: UUID
) -> dict[str, int]:
    """How many records were imported, updated, and left as they were."""
    return dict((await tx.rows(_RECORDS, (caller.user_id, ingestion_id)))[0])
