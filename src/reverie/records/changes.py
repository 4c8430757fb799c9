"""The change log (change data capture): a row for each change, in its transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from reverie import db
from reverie.access import callers

Action = Literal["create", "update", "delete", "restore"]
CHANNEL = "reverie_change"


@dataclass(frozen=True, slots=True)
class Change:
    """One row. (xid, seq) is the order in which followers read."""

    user_id: UUID
    seq: int
    xid: int
    domain: str
    record_id: UUID
    action: Action
    columns: list[str]
    source: str
    caller: str
    summary: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Since:
    """What changed after a moment: the last state of each record counts."""

    created: list[Change]
    updated: list[Change]
    deleted: list[Change]
    response_timestamp: datetime


# A transaction that began before an answer may commit after it, and `since` must not
# miss it. So each writer leaves the second it began in a lock that everybody may see,
# before it takes the time; the stamp is the oldest of those.
_APPEND = """
WITH began AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(7463, floor(extract(epoch FROM now()))::int)
), logged AS (
    INSERT INTO change (user_id, domain, record_id, action, columns, source, caller, summary, at)
    SELECT %(user)s, %(domain)s, record_id, %(action)s, %(columns)s, %(source)s, %(caller)s, summary,
        clock_timestamp()
    FROM began, unnest(%(records)s::uuid[], %(summaries)s::text[]) AS new (record_id, summary) RETURNING seq
)
SELECT max(seq), pg_notify('reverie_change', %(user)s::text) FROM logged
"""
_AFTER = """
SELECT user_id, seq, xid, domain, record_id, action, columns, source, caller, summary, at FROM change
WHERE user_id = %(user)s AND (xid, seq) > (%(xid)s, %(seq)s)
  AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
ORDER BY xid, seq LIMIT %(limit)s
"""
_BY_NUMBER = """
SELECT user_id, seq, xid, domain, record_id, action, columns, source, caller, summary, at FROM change
WHERE user_id = %s AND seq = ANY(%s) ORDER BY xid, seq
"""
_HEAD = """
SELECT xid, seq FROM change WHERE user_id = %s AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
ORDER BY xid DESC, seq DESC LIMIT 1
"""
_ADOPT = """
UPDATE change SET xid = 0 WHERE user_id = %(user)s AND EXISTS (
    SELECT FROM change WHERE user_id = %(user)s AND xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
)
"""
_BEHIND = """
SELECT count(*) FROM change WHERE user_id = %s AND (xid, seq) > (%s, %s)
"""
_STAMP = """
SELECT least(statement_timestamp(), to_timestamp(min(objid::bigint))) FROM pg_locks
WHERE locktype = 'advisory' AND classid = 7463 AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_SINCE = """
SELECT DISTINCT ON (record_id) user_id, seq, xid, domain, record_id,
    CASE WHEN action <> 'delete' AND bool_or(action = 'create') OVER (PARTITION BY record_id)
         THEN 'create' ELSE action END AS action,
    columns, source, caller, summary, at
FROM change
WHERE user_id = %(user)s AND at >= %(since)s AND (%(domain)s::text IS NULL OR domain = %(domain)s)
ORDER BY record_id, seq DESC
"""
_RECENT = """
SELECT user_id, seq, xid, domain, record_id, action, columns, source, caller, summary, at FROM change
WHERE user_id = %s ORDER BY seq DESC LIMIT %s
"""


async def append(
    tx: db.Transaction,
    caller: callers.Caller,
    *,
    domain: str,
    records: Mapping[UUID, str],
    action: Action,
    columns: Sequence[str],
    source: str,
) -> int:
    """Log the same kind of change of some records, each with its summary, and return
    the last number; followers are woken at commit.
    """
    parameters: dict[str, object] = {
        "user": caller.user_id,
        "domain": domain,
        "records": list(records),
        "action": action,
        "columns": list(columns),
        "source": source,
        "caller": caller.label,
        "summaries": [summary[:500] for summary in records.values()],
    }
    return int(await tx.value(_APPEND, parameters))


async def after(
    tx: db.Transaction, caller: db.HasUser, *, xid: int, seq: int, limit: int
) -> list[Change]:
    """The next changes behind a cursor. None is ever skipped: rows of open transactions
    hold back later ones.
    """
    return await tx.all(
        Change, _AFTER, {"user": caller.user_id, "xid": xid, "seq": seq, "limit": limit}
    )


async def by_number(
    tx: db.Transaction, caller: db.HasUser, seqs: Sequence[int]
) -> list[Change]:
    """Some changes by number."""
    return await tx.all(Change, _BY_NUMBER, (caller.user_id, list(seqs)))


async def head(tx: db.Transaction, caller: db.HasUser) -> tuple[int, int]:
    """The cursor behind which nothing is left."""
    rows = await tx.rows(_HEAD, (caller.user_id,))
    return (rows[0]["xid"], rows[0]["seq"]) if rows else (0, 0)


async def behind(tx: db.Transaction, caller: db.HasUser, *, xid: int, seq: int) -> int:
    """How many changes lie behind a cursor."""
    return int(await tx.value(_BEHIND, (caller.user_id, xid, seq)))


async def adopt(tx: db.Transaction, caller: db.HasUser) -> int:
    """Take in a log that was dumped from another server, whose transaction numbers mean
    nothing here.

    Returns how many rows. They come first, in their own order.
    """
    return await tx.run(_ADOPT, {"user": caller.user_id})


async def since(
    tx: db.Transaction,
    caller: callers.Caller,
    *,
    moment: datetime,
    domain: str | None = None,
) -> Since:
    """What changed at or after a moment. Asking again with `response_timestamp` misses
    nothing (it may repeat).
    """
    stamp: datetime = await tx.value(_STAMP)
    rows = await tx.all(
        Change, _SINCE, {"user": caller.user_id, "since": moment, "domain": domain}
    )
    rows.sort(key=lambda change: change.seq)
    return Since(
        created=[row for row in rows if row.action == "create"],
        updated=[row for row in rows if row.action in ("update", "restore")],
        deleted=[row for row in rows if row.action == "delete"],
        response_timestamp=stamp,
    )


async def recent(
    tx: db.Transaction, caller: callers.Caller, *, limit: int
) -> list[Change]:
    """The newest changes first."""
    return await tx.all(Change, _RECENT, (caller.user_id, limit))
