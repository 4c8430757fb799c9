"""RecordVersion history of records: what each update replaced, as reverse deltas by change.

An update keeps the old values of the columns that it changed, beside its row in the
change log. From a record as it is, these lead back to what it was after any change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.records import changes

_KEEP = """
INSERT INTO record_version (user_id, seq, record_id, replaced)
VALUES (%(user)s, %(seq)s, %(record)s, %(replaced)s::jsonb)
"""
# An update of before there were versions, or one that was pruned: nothing leads back
# over it.
_BROKEN_AT = """
SELECT coalesce(max(seq), 0) FROM change
WHERE user_id = %(user)s AND record_id = %(record)s AND action = 'update' AND NOT EXISTS (
    SELECT FROM record_version AS kept WHERE kept.user_id = change.user_id AND kept.seq = change.seq
)
"""
_PAGE = """
SELECT change.seq AS version, action, at, caller, source, columns, summary, change.seq >= %(broken_at)s AS kept,
    coalesce(replaced, '{}') AS replaced
FROM change LEFT JOIN record_version AS old ON old.user_id = change.user_id AND old.seq = change.seq
WHERE change.user_id = %(user)s AND change.record_id = %(record)s
ORDER BY change.seq DESC LIMIT %(limit)s OFFSET %(offset)s
"""
_COUNT = (
    "SELECT count(*) FROM change WHERE user_id = %(user)s AND record_id = %(record)s"
)
_IS_KEPT = """
SELECT seq >= %(broken_at)s FROM change
WHERE user_id = %(user)s AND record_id = %(record)s AND seq = %(version)s
"""
# Of each column the value that the first update after this version replaced.
_OLD_VALUES = """
SELECT DISTINCT ON (name) name, value FROM record_version, jsonb_each(replaced) AS old (name, value)
WHERE user_id = %(user)s AND record_id = %(record)s AND seq > %(version)s ORDER BY name, seq
"""
# The log is in the order of time, but for moments.
_PRUNE = """
DELETE FROM record_version WHERE user_id = %(user)s AND seq <= (
    SELECT seq FROM change WHERE user_id = %(user)s AND at < now() - %(age)s ORDER BY at DESC LIMIT 1
)
"""


@dataclass(frozen=True, slots=True)
class RecordVersion:
    """A record as it was after a change: who made it, when, and which `columns` it
    changed, with the values that it `replaced`. What is not `kept` cannot be restored.
    """

    version: int
    action: changes.Action
    at: datetime
    caller: str
    source: str
    columns: Sequence[str]
    summary: str
    kept: bool
    replaced: Mapping[str, Any]


async def keep(
    tx: db.Transaction,
    caller: callers.Caller,
    *,
    record_id: UUID,
    seq: int,
    replaced: str,
) -> None:
    """Keep what an update replaced: JSON of column -> old value."""
    parameters: dict[str, object] = {
        "user": caller.user_id,
        "seq": seq,
        "record": record_id,
        "replaced": replaced,
    }
    await tx.run(_KEEP, parameters)


async def page(
    tx: db.Transaction,
    caller: callers.Caller,
    record_id: UUID,
    *,
    limit: int,
    offset: int,
) -> tuple[list[RecordVersion], int]:
    """The versions of a record, newest first, and how many there are in all."""
    names = {"user": caller.user_id, "record": record_id}
    broken_at = await tx.value(_BROKEN_AT, names)
    shown = {**names, "broken_at": broken_at, "limit": limit, "offset": offset}
    versions = await tx.all(RecordVersion, _PAGE, shown)
    return versions, int(await tx.value(_COUNT, names))


async def old_values(
    tx: db.Transaction, caller: callers.Caller, record_id: UUID, version: int
) -> dict[str, Any] | None:
    """Column -> value, where a version differs from the record as it is; None when
    there is no such version, or it is no longer kept.
    """
    names = {"user": caller.user_id, "record": record_id, "version": version}
    broken_at = await tx.value(_BROKEN_AT, names)
    if not await tx.value(_IS_KEPT, {**names, "broken_at": broken_at}):
        return None
    rows = await tx.rows(_OLD_VALUES, names)
    return {row["name"]: row["value"] for row in rows}


async def prune(tx: db.Transaction, caller: db.HasUser, age: timedelta) -> int:
    """Drop what was replaced longer ago than that; says how many rows."""
    return await tx.run(_PRUNE, {"user": caller.user_id, "age": age})
