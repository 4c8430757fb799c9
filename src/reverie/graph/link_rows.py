"""Rows of links: this module alone writes them, one statement is one function."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.graph import facts

Link = facts.Link

COLUMNS = (
    "link.id, link.from_id, link.to_id, link.relation, link.link_type, link.confidence, link.created_by,"
    " link.properties, link.valid_from, link.valid_to, link.heat, link.created_at, link.updated_at"
)
LIVE = "link.deleted_at IS NULL AND link.hidden_by IS NULL"
_GET = f"SELECT {COLUMNS} FROM link WHERE user_id = %s AND id = %s AND {LIVE}"
_RIVALS = f"""
SELECT {COLUMNS}, link.deleted_at IS NOT NULL AS gone FROM link
WHERE user_id = %(user)s AND from_id = %(from)s AND relation = %(relation)s AND hidden_by IS NULL
    AND (%(exclusive)s OR to_id = %(to)s)
ORDER BY valid_from NULLS FIRST, id FOR UPDATE
"""
_INSERT = f"""
INSERT INTO link (user_id, from_id, to_id, relation, link_type, confidence, created_by, properties, valid_from,
    valid_to, told_end)
VALUES (%(user)s, %(from)s, %(to)s, %(relation)s, %(type)s, %(confidence)s, %(by)s, %(properties)s, %(valid_from)s,
    %(valid_to)s, %(told_end)s)
RETURNING {COLUMNS}
"""
_WIDEN = f"""
UPDATE link SET confidence = greatest(confidence, %(confidence)s), properties = properties || %(properties)s,
    valid_from = %(valid_from)s, valid_to = %(valid_to)s, told_end = told_end OR %(told_end)s, updated_at = now(),
    deleted_at = NULL,
    link_type = CASE WHEN %(type)s = 'manual' THEN 'manual' ELSE link_type END,
    created_by = CASE WHEN %(type)s = 'manual' THEN %(by)s ELSE created_by END
WHERE user_id = %(user)s AND id = %(id)s RETURNING {COLUMNS}
"""
_REST = f"""
INSERT INTO link (user_id, from_id, to_id, relation, link_type, confidence, created_by, properties, valid_from,
    valid_to, told_end)
SELECT user_id, from_id, to_id, relation, link_type, confidence, created_by, properties, %s, valid_to, told_end
FROM link WHERE user_id = %s AND id = %s RETURNING {COLUMNS}, false AS gone
"""
_END = "UPDATE link SET valid_to = %s, told_end = %s, updated_at = now() WHERE user_id = %s AND id = %s"
# What somebody made by hand, no reader changes; what several readers say, they say
# together.
_MENTION = """
INSERT INTO link (user_id, from_id, to_id, relation, link_type, confidence, created_by, properties)
SELECT %(user)s, %(from)s, new.id, %(relation)s, %(type)s, new.confidence, %(by)s, new.properties
FROM unnest(%(ids)s::uuid[], %(confidences)s::real[], %(properties)s::jsonb[]) AS new (id, confidence, properties)
ON CONFLICT (user_id, from_id, to_id, relation, valid_from) WHERE hidden_by IS NULL DO UPDATE SET
    confidence = CASE WHEN link.link_type = 'manual' THEN link.confidence
        WHEN EXISTS (SELECT FROM evidence WHERE evidence.user_id = link.user_id AND evidence.link_id = link.id
            AND evidence.by <> excluded.created_by) THEN greatest(link.confidence, excluded.confidence)
        ELSE excluded.confidence END,
    properties = CASE WHEN link.link_type = 'manual' THEN link.properties
        WHEN EXISTS (SELECT FROM evidence WHERE evidence.user_id = link.user_id AND evidence.link_id = link.id
            AND evidence.by <> excluded.created_by) THEN link.properties || excluded.properties
        ELSE excluded.properties END
RETURNING id, to_id
"""
# A fact that has ended stays as history; what is open and that nobody says any longer
# goes. Of a record that is gone, even what was deleted by hand goes: nothing is left
# that could say it again.
_UNSAID = """
DELETE FROM link WHERE user_id = %(user)s AND id = ANY(%(ids)s) AND link_type <> 'manual'
    AND (deleted_at IS NULL OR (%(record_gone)s AND EXISTS (
        SELECT FROM node WHERE node.user_id = link.user_id AND node.id = link.from_id
            AND node.record_id = %(record)s
    )))
    AND (valid_to IS NULL OR valid_to > now() OR %(record_gone)s)
    AND NOT EXISTS (SELECT FROM evidence WHERE evidence.user_id = link.user_id AND evidence.link_id = link.id)
RETURNING from_id, to_id, relation, valid_from, valid_to, deleted_at IS NULL AND hidden_by IS NULL AS held
"""
# What a fact had closed is open again, or closed by what came next, unless another had
# closed it as well.
_REOPEN = """
UPDATE link SET valid_to = %(until)s, updated_at = now()
WHERE user_id = %(user)s AND from_id = %(from)s AND relation = %(relation)s AND valid_to = %(begin)s AND NOT told_end
    AND hidden_by IS NULL AND NOT EXISTS (
        SELECT FROM link AS other WHERE other.user_id = link.user_id AND other.from_id = link.from_id
            AND other.relation = link.relation AND other.valid_from = %(begin)s AND other.to_id <> link.to_id
            AND other.deleted_at IS NULL AND other.hidden_by IS NULL
    )
"""
_ENDS = "SELECT from_id, to_id FROM link WHERE user_id = %s AND id = ANY(%s)"
_DELETE = f"""
UPDATE link SET deleted_at = now(), updated_at = now() WHERE user_id = %s AND id = %s AND {LIVE}
RETURNING from_id, to_id, relation, valid_from, valid_to, true AS held
"""
_BURY = f"""
UPDATE link SET deleted_at = now(), updated_at = now()
WHERE user_id = %(user)s AND {LIVE} AND (from_id = %(node)s OR to_id = %(node)s) RETURNING from_id, to_id
"""
_BURY_DEAD = f"""
UPDATE link SET deleted_at = now(), updated_at = now() WHERE user_id = %(user)s AND {LIVE} AND id = ANY(%(ids)s)
    AND EXISTS (SELECT FROM node WHERE node.user_id = link.user_id AND node.id IN (link.from_id, link.to_id)
        AND node.deleted_at IS NOT NULL)
"""
_MOVE = """
UPDATE link SET from_id = CASE WHEN from_id = %(here)s THEN %(there)s ELSE from_id END,
    to_id = CASE WHEN to_id = %(here)s THEN %(there)s ELSE to_id END
WHERE user_id = %(user)s AND id = %(id)s
"""
_OF = (
    f"SELECT {COLUMNS}, link.deleted_at FROM link WHERE user_id = %(user)s AND hidden_by IS NULL"
    " AND (from_id = %(node)s OR to_id = %(node)s) ORDER BY id FOR UPDATE"
)
_HIDE = "UPDATE link SET hidden_by = %s, double_of = %s WHERE user_id = %s AND id = %s"
_SHOW = (
    "UPDATE link SET hidden_by = NULL, double_of = NULL WHERE user_id = %s AND id = %s"
)
_TURN_BACK = """
UPDATE link SET from_id = CASE WHEN %(from)s THEN %(node)s ELSE from_id END,
    to_id = CASE WHEN %(to)s THEN %(node)s ELSE to_id END
WHERE user_id = %(user)s AND id = %(id)s
"""
# Two records opened within a minute warm the link between them, up to 1; it cools by
# half in a week.
_WARM = f"""
UPDATE link SET warmed_at = now(), heat = least(1, 0.2
    + link.heat * exp(-ln(2) / 168 * coalesce(extract(epoch FROM now() - link.warmed_at) / 3600, 0)))
FROM node AS a, node AS b
WHERE link.user_id = %(user)s AND {LIVE}
    AND a.user_id = link.user_id AND b.user_id = link.user_id AND a.record_id = %(first)s AND b.record_id = %(second)s
    AND ((link.from_id = a.id AND link.to_id = b.id) OR (link.from_id = b.id AND link.to_id = a.id))
RETURNING link.id
"""
_COOL = """
UPDATE link SET heat = heat * exp(-ln(2) / 168 * extract(epoch FROM now() - warmed_at) / 3600), warmed_at = now()
WHERE user_id = %s AND heat > 0.001
"""


async def get(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> Link | None:
    """One link that is live, or None."""
    return await tx.one(Link, _GET, (user.user_id, link_id))


async def rivals(
    tx: db.Transaction, user: db.HasUser, fact: facts.Fact, *, exclusive: bool
) -> list[dict[str, Any]]:
    """The links of the same ends and relation, the earliest first, locked.

    Of an exclusive relation also those that lead to other nodes. Each is a row with the
    columns of a link and `gone`: whether it was deleted by hand.
    """
    return await tx.rows(_RIVALS, _ends_of(user, fact) | {"exclusive": exclusive})


async def insert(
    tx: db.Transaction,
    user: db.HasUser,
    fact: facts.Fact,
    interval: facts.Interval,
    *,
    told_end: bool,
) -> Link | None:
    """A new link for a fact, with the interval (valid time) that it holds for.

    `told_end`: the end was told, and does not come of a fact that replaced this one.
    """
    values = _ends_of(user, fact) | _stated_columns(fact, interval, told_end)
    return await tx.one(Link, _INSERT, values)


async def widen(
    tx: db.Transaction,
    user: db.HasUser,
    link_id: UUID,
    fact: facts.Fact,
    interval: facts.Interval,
    *,
    told_end: bool,
) -> Link | None:
    """A link that is said again: surer, with more properties, and with this interval."""
    values = {"user": user.user_id, "id": link_id}
    return await tx.one(
        Link, _WIDEN, values | _stated_columns(fact, interval, told_end)
    )


async def continued(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, begin: datetime
) -> dict[str, Any]:
    """A copy of a link that holds from `begin` on, as `rivals` has its rows."""
    rows = await tx.rows(_REST, (begin, user.user_id, link_id))
    return rows[0]


async def close(
    tx: db.Transaction,
    user: db.HasUser,
    link_id: UUID,
    end: datetime,
    *,
    told_end: bool,
) -> None:
    """A link holds until `end`; `told_end`: somebody says so of this link itself."""
    await tx.run(_END, (end, told_end, user.user_id, link_id))


async def mention(
    tx: db.Transaction,
    user: db.HasUser,
    source_id: UUID,
    mentions: Sequence[tuple[UUID, float, Mapping[str, Any], int | None]],
    *,
    relation: str,
    link_type: facts.LinkType,
    by: facts.By,
) -> list[tuple[UUID, UUID]]:
    """Links without a time to many nodes, each (node, confidence, properties, ordinal).

    Returns (link, node) of each.
    """
    values = {
        "user": user.user_id,
        "from": source_id,
        "relation": relation,
        "type": link_type,
        "by": by,
        "ids": [node_id for node_id, _, _, _ in mentions],
        "confidences": [_clamped(confidence) for _, confidence, _, _ in mentions],
        "properties": [db.json(dict(properties)) for _, _, properties, _ in mentions],
    }
    rows = await tx.rows(_MENTION, values)
    return [(row["id"], row["to_id"]) for row in rows]


async def drop_unsaid(
    tx: db.Transaction,
    user: db.HasUser,
    ids: Sequence[UUID],
    *,
    record_id: UUID,
    record_gone: bool,
) -> list[dict[str, Any]]:
    """Take away those of some links that no record says; returns what they were."""
    values = {
        "user": user.user_id,
        "ids": ids,
        "record": record_id,
        "record_gone": record_gone,
    }
    return await tx.rows(_UNSAID, values)


async def reopen(tx: db.Transaction, user: db.HasUser, row: Mapping[str, Any]) -> None:
    """What a link had closed holds until that link's own end, now that it is gone."""
    values = {
        "user": user.user_id,
        "from": row["from_id"],
        "relation": row["relation"],
        "begin": row["valid_from"],
        "until": row["valid_to"],
    }
    await tx.run(_REOPEN, values)


async def ends(tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID]) -> list[UUID]:
    """The nodes of some links, each once."""
    return end_ids(await tx.rows(_ENDS, (user.user_id, list(ids))))


async def delete(
    tx: db.Transaction, user: db.HasUser, link_id: UUID
) -> list[dict[str, Any]]:
    """Mark a link as deleted by hand; returns what it was, or nothing."""
    return await tx.rows(_DELETE, (user.user_id, link_id))


async def mark_deleted_of_node(
    tx: db.Transaction, user: db.HasUser, node_id: UUID
) -> list[dict[str, Any]]:
    """Mark the links of a node as deleted; returns their ends."""
    return await tx.rows(_BURY, {"user": user.user_id, "node": node_id})


async def mark_deleted_with_ends(
    tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID]
) -> None:
    """Mark those of some links as deleted that have a deleted node at an end."""
    await tx.run(_BURY_DEAD, {"user": user.user_id, "ids": ids})


async def of_node(
    tx: db.Transaction, user: db.HasUser, node_id: UUID
) -> list[dict[str, Any]]:
    """The links of a node that no merge hides, the deleted ones too, locked."""
    return await tx.rows(_OF, {"user": user.user_id, "node": node_id})


async def move(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, *, loser: UUID, winner: UUID
) -> None:
    """Each end of a link that is `loser` becomes `winner`."""
    values = {"user": user.user_id, "id": link_id, "here": loser, "there": winner}
    await tx.run(_MOVE, values)


async def move_back(
    tx: db.Transaction,
    user: db.HasUser,
    link_id: UUID,
    ends: Sequence[str],
    *,
    loser: UUID,
) -> None:
    """The ends of a link that are named ("from", "to") are `loser` again."""
    values = {"from": "from" in ends, "to": "to" in ends, "node": loser}
    await tx.run(_TURN_BACK, {"user": user.user_id, "id": link_id} | values)


async def hide(
    tx: db.Transaction,
    user: db.HasUser,
    link_id: UUID,
    *,
    merge: UUID,
    duplicate_of: UUID | None,
) -> None:
    """A merge hides a link, as the duplicate of another or of none."""
    await tx.run(_HIDE, (merge, duplicate_of, user.user_id, link_id))


async def show(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> None:
    """A link that a merge had hidden is there again."""
    await tx.run(_SHOW, (user.user_id, link_id))


async def warm(tx: db.Transaction, user: db.HasUser, first: UUID, second: UUID) -> int:
    """Warm the links between the nodes of two records; returns how many."""
    values = {"user": user.user_id, "first": first, "second": second}
    return len(await tx.rows(_WARM, values))


async def cool(tx: db.Transaction, user: db.HasUser) -> None:
    """Let links cool down to now."""
    await tx.run(_COOL, (user.user_id,))


def end_ids(rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
    """The nodes at the ends of some rows, each once, in their order."""
    both = (end for row in rows for end in (row["from_id"], row["to_id"]))
    return list(dict.fromkeys(both))


def _ends_of(user: db.HasUser, fact: facts.Fact) -> dict[str, Any]:
    return {
        "user": user.user_id,
        "from": fact.from_id,
        "to": fact.to_id,
        "relation": fact.relation,
    }


def _stated_columns(
    fact: facts.Fact, interval: facts.Interval, told_end: bool
) -> dict[str, Any]:
    return {
        "valid_from": interval.begin,
        "valid_to": interval.end,
        "told_end": told_end,
        "type": fact.link_type,
        "confidence": _clamped(fact.confidence),
        "by": fact.by,
        "properties": db.json(dict(fact.properties)),
    }


def _clamped(confidence: float) -> float:
    return min(1.0, max(0.0, confidence))
