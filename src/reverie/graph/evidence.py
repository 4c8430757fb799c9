"""Evidence (provenance) of links: the records that say so; written here alone."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db

_SAY = """
INSERT INTO evidence (user_id, link_id, record_id, by, ordinal, at, properties)
SELECT %(user)s, new.link_id, %(record)s, %(by)s, new.ordinal, coalesce(%(at)s::timestamptz, now()), new.properties
FROM unnest(%(links)s::uuid[], %(ordinals)s::int[], %(properties)s::jsonb[]) AS new (link_id, ordinal, properties)
ON CONFLICT (user_id, link_id, record_id, by) DO UPDATE SET ordinal = excluded.ordinal,
    at = coalesce(%(at)s, evidence.at), properties = excluded.properties
"""
# What a merge hides as a double is said as long as the double is: its evidence stays,
# so that undoing finds it.
_WITHDRAW = """
WITH RECURSIVE kept (id) AS (
    SELECT unnest(%(kept)s::uuid[])
    UNION SELECT link.id FROM kept JOIN link ON link.user_id = %(user)s AND link.double_of = kept.id
)
DELETE FROM evidence WHERE user_id = %(user)s AND record_id = %(record)s
    AND (%(by)s::text IS NULL OR by = %(by)s)
    AND NOT EXISTS (SELECT FROM kept WHERE kept.id = evidence.link_id)
    AND (%(by)s IS NULL OR NOT EXISTS (
        SELECT FROM link WHERE link.user_id = %(user)s AND link.id = evidence.link_id AND link.hidden_by IS NOT NULL
            AND link.double_of IS NULL
    ))
RETURNING link_id
"""
_PROOF = """
SELECT DISTINCT ON (record_id) record_id, ordinal FROM evidence WHERE user_id = %s AND link_id = %s
ORDER BY record_id, ordinal NULLS LAST
"""
_AFTER = "SELECT min(at) FROM evidence WHERE user_id = %s AND link_id = %s AND at > %s"
_HAND_ON = (
    "UPDATE evidence SET link_id = %s WHERE user_id = %s AND link_id = %s AND at >= %s"
)
_SHARE = """
INSERT INTO evidence (user_id, link_id, record_id, by, ordinal, at, properties)
SELECT user_id, %(to)s, record_id, by, ordinal, at, properties FROM evidence
WHERE user_id = %(user)s AND link_id = %(from)s
ON CONFLICT DO NOTHING RETURNING record_id, by
"""
_UNSHARE = """
DELETE FROM evidence USING unnest(%s::uuid[], %s::text[]) AS shared (record_id, by)
WHERE evidence.user_id = %s AND evidence.link_id = %s AND evidence.record_id = shared.record_id
    AND evidence.by = shared.by
"""


async def add(
    tx: db.Transaction,
    user: db.HasUser,
    record_id: UUID,
    ends: Sequence[tuple[UUID, int | None, Mapping[str, Any]]],
    *,
    by: str,
    at: datetime | None = None,
) -> None:
    """A record says some links, each (link, ordinal of the passage, what it tells of the
    link); `at` is the moment that it says them of.
    """
    values = {"user": user.user_id, "record": record_id, "by": by, "at": at}
    await tx.run(
        _SAY,
        values
        | {
            "links": [link_id for link_id, _, _ in ends],
            "ordinals": [ordinal for _, ordinal, _ in ends],
            "properties": [db.json(dict(properties)) for _, _, properties in ends],
        },
    )


async def withdraw(
    tx: db.Transaction,
    user: db.HasUser,
    record_id: UUID,
    *,
    by: str | None,
    kept: Iterable[UUID],
) -> list[UUID]:
    """A record, as somebody (None: anybody) reads it, says no more than `kept`; returns
    the links that it said.
    """
    values = {"user": user.user_id, "record": record_id, "by": by, "kept": list(kept)}
    return list(
        dict.fromkeys(row["link_id"] for row in await tx.rows(_WITHDRAW, values))
    )


async def of_link(
    tx: db.Transaction, user: db.HasUser, link_id: UUID
) -> list[tuple[UUID, int | None]]:
    """The records that say a link, each with a passage."""
    return [
        (row["record_id"], row["ordinal"])
        for row in await tx.rows(_PROOF, (user.user_id, link_id))
    ]


async def first_after(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, moment: datetime
) -> datetime | None:
    """When a link was first said again after a moment."""
    return await tx.value(_AFTER, (user.user_id, link_id, moment))


async def transfer(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, moment: datetime, *, to: UUID
) -> None:
    """What was said of a link from a moment on is said of another."""
    await tx.run(_HAND_ON, (to, user.user_id, link_id, moment))


async def share(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, *, to: UUID
) -> list[Mapping[str, Any]]:
    """What says one link says another, too; returns what that had not, for `unshare`."""
    rows = await tx.rows(_SHARE, {"user": user.user_id, "from": link_id, "to": to})
    return [{"record": str(row["record_id"]), "by": row["by"]} for row in rows]


async def unshare(
    tx: db.Transaction,
    user: db.HasUser,
    link_id: UUID,
    shared: Sequence[Mapping[str, Any]],
) -> None:
    """Undo `share`."""
    records = [UUID(entry["record"]) for entry in shared]
    readers = [entry["by"] for entry in shared]
    await tx.run(_UNSHARE, (records, readers, user.user_id, link_id))
