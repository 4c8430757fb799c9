"""The links of the graph with the times they hold for and the records that say so: this
module alone writes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from reverie import db, errors
from reverie.graph import evidence, facts, relations, versions

LinkType = facts.LinkType
By = facts.By
Link = facts.Link
Fact = facts.Fact
Evidence = facts.Evidence

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


async def get(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> Link:
    """One link. Raises NotFound."""
    found = await tx.one(Link, _GET, (user.user_id, link_id))
    if found is None:
        raise errors.NotFound(
            "There is no such link.", hint="It may have been deleted."
        )
    return found


async def proof(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> list[Evidence]:
    """The records that say so."""
    return [
        Evidence(record, ordinal)
        for record, ordinal in await evidence.proof(tx, user, link_id)
    ]


async def relate(
    tx: db.Transaction, user: db.HasUser, fact: Fact, said_in: Evidence | None = None
) -> Link | None:
    """Keep a fact. None if it was deleted by hand, and it is not said by hand now.
    Raises Invalid.

    Said again it is the same link, at most with more evidence and wider in time. Of an
    exclusive relation, a fact about another end closes the one that held until then, or
    is itself closed by one that is known to be newer. The caller has checked relation
    and ends (`relations.checked`), and counts the links of both ends again.
    """
    await versions.bump(tx, user)
    exclusive = relations.exclusive(fact.relation)
    fact = _sound(fact, exclusive=exclusive)
    parameters = {
        "user": user.user_id,
        "from": fact.from_id,
        "to": fact.to_id,
        "relation": fact.relation,
    }
    rivals = await tx.rows(_RIVALS, parameters | {"exclusive": exclusive})
    same = [row for row in rivals if row["to_id"] == fact.to_id]
    others = [row for row in rivals if row["to_id"] != fact.to_id and not row["gone"]]
    begin, end = fact.valid_from, fact.valid_to
    kept = facts.about(same, begin, end, exclusive=exclusive)
    by_hand = fact.link_type == "manual"
    if (
        not by_hand
        and same
        and (all(row["gone"] for row in same) or (kept and kept["gone"]))
    ):
        return None
    if exclusive and (kept is None or kept["gone"]) and begin is not None:
        later = await _following(tx, user, others, begin) + [
            row for row in same if _follows(row, begin)
        ]
        following = min(
            later,
            key=lambda row: (row["valid_from"], row["to_id"] != fact.to_id),
            default=None,
        )
        if (
            following
            and following["to_id"] == fact.to_id
            and end is None
            and kept is None
        ):
            kept = following
        elif following:
            end = min(end or following["valid_from"], following["valid_from"])
    if kept is not None:
        begin, end = facts.widened(kept, begin, end, exclusive=exclusive)
    told = {
        "valid_from": begin,
        "valid_to": end,
        "told_end": fact.valid_to is not None and end == fact.valid_to,
    }
    if kept is not None:
        link = await tx.one(
            Link, _WIDEN, {"user": user.user_id, "id": kept["id"]} | told | _told(fact)
        )
    else:
        link = await tx.one(Link, _INSERT, parameters | _told(fact) | told)
    if link is not None and said_in is not None:
        ends_ = [(link.id, said_in.ordinal)]
        await evidence.say(
            tx,
            user,
            said_in.record_id,
            ends_,
            by=fact.by,
            at=fact.valid_from or fact.at,
        )
    return link


async def mention(
    tx: db.Transaction,
    user: db.HasUser,
    source_id: UUID,
    record_id: UUID,
    ends: Sequence[tuple[UUID, float, Mapping[str, Any], int | None]],
    *,
    relation: str = "mentions",
    link_type: LinkType = "structural",
    by: By = "system",
) -> list[UUID]:
    """Links without a time from a record's node to many others, each (node, confidence,
    properties, ordinal).
    """
    if not ends:
        return []
    values = {
        "user": user.user_id,
        "from": source_id,
        "relation": relation,
        "type": link_type,
        "by": by,
        "ids": [one[0] for one in ends],
        "confidences": [_sure(one[1]) for one in ends],
        "properties": [db.json(dict(one[2])) for one in ends],
    }
    ordinals = {one[0]: one[3] for one in ends}
    rows = await tx.rows(_MENTION, values)
    said = [(row["id"], ordinals[row["to_id"]]) for row in rows]
    await evidence.say(tx, user, record_id, said, by=by)
    return [link_id for link_id, _ in said]


async def withdraw(
    tx: db.Transaction,
    user: db.HasUser,
    record_id: UUID,
    *,
    by: By | None = None,
    kept: Iterable[UUID] = (),
) -> list[UUID]:
    """A record, as somebody (None: anybody) reads it, says no more than `kept`: what
    nobody else says goes.

    With nothing kept for anybody the record itself is gone, and what it alone said goes
    with its history. Returns the nodes that have lost a link.
    """
    ids = await evidence.withdraw(tx, user, record_id, by=by, kept=kept)
    if not ids:
        return []
    values = {
        "user": user.user_id,
        "ids": ids,
        "record": record_id,
        "record_gone": by is None,
    }
    rows = await tx.rows(_UNSAID, values)
    await _reopen(tx, user, rows)
    return list(
        dict.fromkeys(end for row in rows for end in (row["from_id"], row["to_id"]))
    )


async def ends(tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID]) -> list[UUID]:
    """The nodes of some links."""
    rows = await tx.rows(_ENDS, (user.user_id, list(ids)))
    return list(
        dict.fromkeys(end for row in rows for end in (row["from_id"], row["to_id"]))
    )


async def delete(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> list[UUID]:
    """Delete by hand: it stays deleted, whatever is read again. Returns its ends.
    Raises NotFound.
    """
    await versions.bump(tx, user)
    rows = await tx.rows(_DELETE, (user.user_id, link_id))
    if not rows:
        raise errors.NotFound(
            "There is no such link.", hint="It may have been deleted."
        )
    await _reopen(tx, user, rows)
    return [rows[0]["from_id"], rows[0]["to_id"]]


async def bury(tx: db.Transaction, user: db.HasUser, node_id: UUID) -> list[UUID]:
    """The links of a node that is deleted by hand go with it; returns the nodes that
    have lost a link.
    """
    rows = await tx.rows(_BURY, {"user": user.user_id, "node": node_id})
    return list(
        dict.fromkeys(end for row in rows for end in (row["from_id"], row["to_id"]))
    )


async def end(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, at: datetime
) -> None:
    """A fact holds no longer. Raises NotFound, Invalid."""
    await versions.bump(tx, user)
    link = await get(tx, user, link_id)
    if link.valid_from is not None and at < link.valid_from:
        raise errors.Invalid("A fact cannot end before it begins.")
    await tx.run(_END, (at, True, user.user_id, link_id))


async def moved(
    tx: db.Transaction, user: db.HasUser, *, loser: UUID, winner: UUID, merge: UUID
) -> list[dict[str, Any]]:
    """Move every link of one node to another; returns what was done, for `put_back`.

    Of two that are the same then, one is hidden, and its evidence counts for the other:
    the one stays that was not deleted by hand, or that was made by hand, or the
    winner's. A link between the two nodes is hidden.
    """
    theirs = {_shape(row, {}): row for row in await _of(tx, user, winner)}
    done: list[dict[str, Any]] = []
    for row in await _of(tx, user, loser):
        shape = _shape(row, {loser: winner})
        if shape[0] == shape[1]:
            done.append(await _hidden(tx, user, row, merge, None))
            continue
        double = theirs.get(shape)
        if double is not None and _weight(row) <= _weight(double):
            done.append(await _hidden(tx, user, row, merge, double))
            continue
        if double is not None:
            done.append(await _hidden(tx, user, double, merge, row))
        await tx.run(
            _MOVE,
            {"user": user.user_id, "id": row["id"], "here": loser, "there": winner},
        )
        moved_ends = [end for end in ("from", "to") if row[f"{end}_id"] == loser]
        done.append({"link": str(row["id"]), "moved": moved_ends})
    return done


async def put_back(
    tx: db.Transaction,
    user: db.HasUser,
    done: Sequence[Mapping[str, Any]],
    *,
    loser: UUID,
) -> list[UUID]:
    """Undo `moved`; returns the nodes whose links changed."""
    ids = [UUID(one["link"]) for one in done]
    touched = await ends(tx, user, ids)
    for one, link_id in zip(reversed(done), reversed(ids), strict=True):
        if shared := one.get("shared"):
            await evidence.unshare(tx, user, UUID(shared["link"]), shared["said"])
        if one.get("hidden"):
            await tx.run(_SHOW, (user.user_id, link_id))
        else:
            turned = {
                "from": "from" in one["moved"],
                "to": "to" in one["moved"],
                "node": loser,
            }
            await tx.run(_TURN_BACK, {"user": user.user_id, "id": link_id} | turned)
    await tx.run(_BURY_DEAD, {"user": user.user_id, "ids": ids})
    return list(dict.fromkeys([*touched, *await ends(tx, user, ids)]))


async def _hidden(
    tx: db.Transaction,
    user: db.HasUser,
    row: Mapping[str, Any],
    merge: UUID,
    double: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Hide a link as the double of another, or of none."""
    done: dict[str, Any] = {"link": str(row["id"]), "hidden": True}
    if double is not None:
        said = await evidence.share(tx, user, row["id"], to=double["id"])
        done["shared"] = {"link": str(double["id"]), "said": said}
    await tx.run(_HIDE, (merge, double and double["id"], user.user_id, row["id"]))
    return done


def _weight(row: Mapping[str, Any]) -> tuple[bool, bool]:
    """Which of two doubles stays."""
    return row["deleted_at"] is None, row["link_type"] == "manual"


async def warm(tx: db.Transaction, user: db.HasUser, first: UUID, second: UUID) -> int:
    """Two records were opened within a minute: the links between their nodes warm.
    Returns how many.
    """
    await versions.hold(tx, user)
    parameters = {"user": user.user_id, "first": first, "second": second}
    return len(await tx.rows(_WARM, parameters))


async def cool(tx: db.Transaction, user: db.HasUser) -> None:
    """Let links cool down to now."""
    await versions.hold(tx, user)
    await tx.run(_COOL, (user.user_id,))


async def _of(
    tx: db.Transaction, user: db.HasUser, node_id: UUID
) -> list[dict[str, Any]]:
    return await tx.rows(_OF, {"user": user.user_id, "node": node_id})


def _shape(
    row: Mapping[str, Any], renamed: Mapping[UUID, UUID]
) -> tuple[UUID, UUID, str, datetime | None]:
    first, second = row["from_id"], row["to_id"]
    return (
        renamed.get(first, first),
        renamed.get(second, second),
        row["relation"],
        row["valid_from"],
    )


def _told(fact: Fact) -> dict[str, Any]:
    return {
        "type": fact.link_type,
        "confidence": _sure(fact.confidence),
        "by": fact.by,
        "properties": db.json(dict(fact.properties)),
    }


def _sure(confidence: float) -> float:
    return min(1.0, max(0.0, confidence))


def _sound(fact: Fact, *, exclusive: bool) -> Fact:
    """The fact, with the moment from which it holds. Raises Invalid."""
    if exclusive and fact.valid_from is None:
        fact = replace(fact, valid_from=fact.at or datetime.now(UTC))
    if fact.from_id == fact.to_id:
        raise errors.Invalid("A node cannot have a link to itself.")
    if fact.valid_from and fact.valid_to and fact.valid_to < fact.valid_from:
        raise errors.Invalid("A fact cannot end before it begins.")
    return fact


def _follows(row: Mapping[str, Any], begin: datetime) -> bool:
    return (
        not row["gone"] and row["valid_from"] is not None and row["valid_from"] > begin
    )


async def _following(
    tx: db.Transaction,
    user: db.HasUser,
    others: Sequence[dict[str, Any]],
    begin: datetime,
) -> list[dict[str, Any]]:
    """Make room for a fact among those that exclude it: those that hold end where it
    begins. Returns those that follow.

    One that was said again later goes on from there. Those that begin at the same
    moment are said at once, and stay beside it.
    """
    following = [row for row in others if _follows(row, begin)]
    for row in others:
        if row["valid_from"] == begin or not facts.holds(row, begin):
            continue
        if again := await evidence.after(tx, user, row["id"], begin):
            rest = await tx.rows(_REST, (again, user.user_id, row["id"]))
            await evidence.hand_on(tx, user, row["id"], again, to=rest[0]["id"])
            following += rest
        await tx.run(_END, (begin, False, user.user_id, row["id"]))
    return following


async def _reopen(
    tx: db.Transaction, user: db.HasUser, rows: Sequence[Mapping[str, Any]]
) -> None:
    """What some facts that are gone had closed holds on."""
    told = [
        row
        for row in rows
        if row["held"] and row["valid_from"] and relations.exclusive(row["relation"])
    ]
    for row in sorted(told, key=lambda row: row["valid_from"]):
        values = {
            "user": user.user_id,
            "from": row["from_id"],
            "relation": row["relation"],
        }
        await tx.run(
            _REOPEN, values | {"begin": row["valid_from"], "until": row["valid_to"]}
        )
