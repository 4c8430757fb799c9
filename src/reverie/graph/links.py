"""The links of the graph with the times they hold for and the records that say so: this module alone writes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from reverie import db, errors
from reverie.graph import relations

LinkType = Literal["manual", "extracted", "inferred", "structural"]
By = Literal["user", "model", "system"]


@dataclass(frozen=True, slots=True)
class Link:
    """An edge. It holds from `valid_from` (None: since always) until `valid_to` (None: still)."""

    id: UUID
    from_id: UUID
    to_id: UUID
    relation: str
    link_type: LinkType
    confidence: float
    created_by: By
    properties: dict[str, Any]
    valid_from: datetime | None
    valid_to: datetime | None
    heat: float
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Fact:
    """What somebody says about two nodes. `at` is when it was said: of an exclusive relation it holds from then on,
    unless `valid_from` tells better.
    """

    from_id: UUID
    to_id: UUID
    relation: str
    link_type: LinkType = "extracted"
    confidence: float = 0.8
    by: By = "system"
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A record that says so, and in which of its passages."""

    record_id: UUID
    ordinal: int | None = None


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
INSERT INTO link (user_id, from_id, to_id, relation, link_type, confidence, created_by, properties, valid_from, valid_to)
VALUES (%(user)s, %(from)s, %(to)s, %(relation)s, %(type)s, %(confidence)s, %(by)s, %(properties)s, %(valid_from)s,
    %(valid_to)s)
RETURNING {COLUMNS}
"""
_WIDEN = f"""
UPDATE link SET confidence = greatest(confidence, %(confidence)s), properties = properties || %(properties)s,
    valid_from = %(valid_from)s, valid_to = %(valid_to)s, updated_at = now(), deleted_at = NULL,
    link_type = CASE WHEN %(type)s = 'manual' THEN 'manual' ELSE link_type END,
    created_by = CASE WHEN %(type)s = 'manual' THEN %(by)s ELSE created_by END
WHERE user_id = %(user)s AND id = %(id)s RETURNING {COLUMNS}
"""
_END = "UPDATE link SET valid_to = %s, updated_at = now() WHERE user_id = %s AND id = %s"
_MENTION = """
WITH made AS (
    INSERT INTO link (user_id, from_id, to_id, relation, link_type, confidence, created_by, properties)
    SELECT %(user)s, %(from)s, new.id, %(relation)s, %(type)s, new.confidence, %(by)s, new.properties
    FROM unnest(%(ids)s::uuid[], %(confidences)s::real[], %(properties)s::jsonb[]) AS new (id, confidence, properties)
    ON CONFLICT (user_id, from_id, to_id, relation, valid_from) WHERE hidden_by IS NULL
        DO UPDATE SET confidence = excluded.confidence, properties = excluded.properties
    RETURNING id, to_id
)
INSERT INTO evidence (user_id, link_id, record_id, by, ordinal)
SELECT %(user)s, made.id, %(record)s, %(by)s, new.ordinal
FROM made JOIN unnest(%(ids)s::uuid[], %(ordinals)s::int[]) AS new (id, ordinal) ON new.id = made.to_id
ON CONFLICT (user_id, link_id, record_id, by) DO UPDATE SET ordinal = excluded.ordinal
RETURNING link_id
"""
_EVIDENCE = """
INSERT INTO evidence (user_id, link_id, record_id, by, ordinal) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (user_id, link_id, record_id, by) DO UPDATE SET ordinal = coalesce(excluded.ordinal, evidence.ordinal)
"""
_WITHDRAW = """
WITH gone AS (
    DELETE FROM evidence WHERE user_id = %(user)s AND record_id = %(record)s AND NOT (link_id = ANY(%(kept)s))
        AND (%(by)s::text IS NULL OR by = %(by)s)
    RETURNING link_id
)
SELECT link_id FROM gone
"""
# A fact that has ended stays as history; what is open and that nobody says any longer goes.
_UNSAID = """
DELETE FROM link WHERE user_id = %(user)s AND id = ANY(%(ids)s) AND link_type <> 'manual' AND deleted_at IS NULL
    AND (valid_to IS NULL OR %(record_gone)s)
    AND NOT EXISTS (SELECT FROM evidence WHERE evidence.user_id = link.user_id AND evidence.link_id = link.id)
RETURNING from_id, to_id
"""
_ENDS = "SELECT from_id, to_id FROM link WHERE user_id = %s AND id = ANY(%s)"
_DELETE = f"""
UPDATE link SET deleted_at = now(), updated_at = now() WHERE user_id = %s AND id = %s AND {LIVE} RETURNING from_id, to_id
"""
_PROOF = """
SELECT DISTINCT ON (record_id) record_id, ordinal FROM evidence WHERE user_id = %s AND link_id = %s
ORDER BY record_id, ordinal NULLS LAST
"""
_MOVE = """
UPDATE link SET from_id = CASE WHEN from_id = %(loser)s THEN %(winner)s ELSE from_id END,
    to_id = CASE WHEN to_id = %(loser)s THEN %(winner)s ELSE to_id END
WHERE user_id = %(user)s AND id = %(id)s
"""
_OF = (
    f"SELECT {COLUMNS}, link.deleted_at FROM link WHERE user_id = %(user)s AND hidden_by IS NULL"
    " AND (from_id = %(node)s OR to_id = %(node)s) ORDER BY id FOR UPDATE"
)
_HIDE = "UPDATE link SET hidden_by = %s WHERE user_id = %s AND id = %s"
_SHARE = """
INSERT INTO evidence (user_id, link_id, record_id, by, ordinal, at)
SELECT user_id, %(to)s, record_id, by, ordinal, at FROM evidence WHERE user_id = %(user)s AND link_id = %(from)s
ON CONFLICT DO NOTHING RETURNING record_id
"""
_UNSHARE = "DELETE FROM evidence WHERE user_id = %s AND link_id = %s AND record_id = ANY(%s)"
_PUT = "UPDATE link SET from_id = %s, to_id = %s, hidden_by = NULL WHERE user_id = %s AND id = %s"
# Two records opened within a minute warm the link between them, up to 1; it cools by half in a week.
_WARM = f"""
UPDATE link SET warmed_at = now(), updated_at = updated_at,
    heat = least(1, 0.2 + heat * exp(-ln(2) / 168 * coalesce(extract(epoch FROM now() - warmed_at) / 3600, 0)))
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
        raise errors.NotFound("There is no such link.", hint="It may have been deleted.")
    return found


async def proof(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> list[Evidence]:
    """The records that say so."""
    return await tx.all(Evidence, _PROOF, (user.user_id, link_id))


async def relate(tx: db.Transaction, user: db.HasUser, fact: Fact, said_in: Evidence | None = None) -> Link | None:
    """Keep a fact. None if it was deleted by hand, and it is not said by hand now.

    Said again it is the same link, at most with more evidence and wider in time. Of an exclusive relation, a fact about
    another end closes the one that held until then, or is itself closed by one that is known to be newer. The caller
    has checked relation and ends (`relations.checked`).
    """
    exclusive = relations.exclusive(fact.relation)
    if exclusive and fact.valid_from is None:
        fact = replace(fact, valid_from=fact.at or datetime.now(UTC))
    parameters = {"user": user.user_id, "from": fact.from_id, "to": fact.to_id, "relation": fact.relation}
    rivals = await tx.rows(_RIVALS, parameters | {"exclusive": exclusive})
    same = [row for row in rivals if row["to_id"] == fact.to_id]
    gone = [row for row in same if row["gone"]]
    if gone and fact.link_type != "manual" and len(gone) == len(same):
        return None
    others = [_link(row) for row in rivals if row["to_id"] != fact.to_id and not row["gone"]]
    begin, end = fact.valid_from, fact.valid_to
    kept = next((_link(row) for row in same if _meets(_link(row), begin, end)), None)
    if kept is not None:
        link = await _widened(tx, user, kept, fact, others)
    else:
        if begin is not None:
            end = await _closed(tx, user, others, begin, end)
        values = parameters | _told(fact) | {"valid_from": begin, "valid_to": end}
        link = await tx.one(Link, _INSERT, values)
    if link is not None and said_in is not None:
        await tx.run(_EVIDENCE, (user.user_id, link.id, said_in.record_id, fact.by, said_in.ordinal))
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
    """Links without a time from a record's node to many others, each (node, confidence, properties, ordinal)."""
    if not ends:
        return []
    values = {
        "user": user.user_id,
        "from": source_id,
        "record": record_id,
        "relation": relation,
        "type": link_type,
        "by": by,
        "ids": [one[0] for one in ends],
        "confidences": [one[1] for one in ends],
        "properties": [db.json(dict(one[2])) for one in ends],
        "ordinals": [one[3] for one in ends],
    }
    return [row["link_id"] for row in await tx.rows(_MENTION, values)]


async def withdraw(
    tx: db.Transaction, user: db.HasUser, record_id: UUID, *, by: By | None = None, kept: Iterable[UUID] = ()
) -> list[UUID]:
    """A record, as somebody (None: anybody) reads it, says no more than `kept`: what nobody else says goes.

    With nothing kept for anybody the record itself is gone, and what it alone said goes with its history. Returns the
    nodes that have lost a link.
    """
    values = {"user": user.user_id, "record": record_id, "by": by, "kept": list(kept)}
    ids = [row["link_id"] for row in await tx.rows(_WITHDRAW, values)]
    if not ids:
        return []
    rows = await tx.rows(_UNSAID, {"user": user.user_id, "ids": ids, "record_gone": by is None})
    return list(dict.fromkeys(end for row in rows for end in (row["from_id"], row["to_id"])))


async def ends(tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID]) -> list[UUID]:
    """The nodes of some links."""
    rows = await tx.rows(_ENDS, (user.user_id, list(ids)))
    return list(dict.fromkeys(end for row in rows for end in (row["from_id"], row["to_id"])))


async def delete(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> list[UUID]:
    """Delete by hand: it stays deleted, whatever is read again. Returns its ends. Raises NotFound."""
    rows = await tx.rows(_DELETE, (user.user_id, link_id))
    if not rows:
        raise errors.NotFound("There is no such link.", hint="It may have been deleted.")
    return [rows[0]["from_id"], rows[0]["to_id"]]


async def end(tx: db.Transaction, user: db.HasUser, link_id: UUID, at: datetime) -> None:
    """A fact holds no longer."""
    await tx.run(_END, (at, user.user_id, link_id))


async def moved(
    tx: db.Transaction, user: db.HasUser, *, loser: UUID, winner: UUID, merge: UUID
) -> list[dict[str, Any]]:
    """Move every link of one node to another; returns what was done, for `put_back`.

    A link that the other has already, and one between the two, is hidden; its evidence counts for the other's.
    """
    theirs = {_shape(row, {}): row["id"] for row in await _of(tx, user, winner)}
    done: list[dict[str, Any]] = []
    for row in await _of(tx, user, loser):
        was = {"link": str(row["id"]), "from": str(row["from_id"]), "to": str(row["to_id"])}
        shape = _shape(row, {loser: winner})
        double = theirs.get(shape)
        if {row["from_id"], row["to_id"]} == {loser, winner} or shape[0] == shape[1]:
            await tx.run(_HIDE, (merge, user.user_id, row["id"]))
            done.append(was | {"hidden": True})
        elif double is not None:
            shared = await tx.rows(_SHARE, {"user": user.user_id, "from": row["id"], "to": double})
            await tx.run(_HIDE, (merge, user.user_id, row["id"]))
            given = [str(one["record_id"]) for one in shared]
            done.append(was | {"hidden": True, "shared": {"link": str(double), "records": given}})
        else:
            await tx.run(_MOVE, {"user": user.user_id, "id": row["id"], "loser": loser, "winner": winner})
            theirs[shape] = row["id"]
            done.append(was)
    return done


async def put_back(tx: db.Transaction, user: db.HasUser, done: Sequence[Mapping[str, Any]]) -> list[UUID]:
    """Undo `moved`; returns the nodes whose links changed."""
    touched: list[UUID] = []
    for one in reversed(done):
        if shared := one.get("shared"):
            await tx.run(_UNSHARE, (user.user_id, UUID(shared["link"]), [UUID(r) for r in shared["records"]]))
        await tx.run(_PUT, (UUID(one["from"]), UUID(one["to"]), user.user_id, UUID(one["link"])))
        touched += [UUID(one["from"]), UUID(one["to"])]
    return list(dict.fromkeys(touched))


async def warm(tx: db.Transaction, user: db.HasUser, first: UUID, second: UUID) -> int:
    """Two records were opened within a minute: the links between their nodes warm. Returns how many."""
    parameters = {"user": user.user_id, "first": first, "second": second}
    return len(await tx.rows(_WARM, parameters))


async def cool(tx: db.Transaction, user: db.HasUser) -> None:
    """Let links cool down to now."""
    await tx.run(_COOL, (user.user_id,))


async def _of(tx: db.Transaction, user: db.HasUser, node_id: UUID) -> list[dict[str, Any]]:
    return await tx.rows(_OF, {"user": user.user_id, "node": node_id})


def _shape(row: Mapping[str, Any], renamed: Mapping[UUID, UUID]) -> tuple[UUID, UUID, str, datetime | None]:
    first, second = row["from_id"], row["to_id"]
    return renamed.get(first, first), renamed.get(second, second), row["relation"], row["valid_from"]


def _link(row: Mapping[str, Any]) -> Link:
    return Link(**{name: value for name, value in row.items() if name not in ("gone", "deleted_at")})


def _told(fact: Fact) -> dict[str, Any]:
    return {
        "type": fact.link_type,
        "confidence": fact.confidence,
        "by": fact.by,
        "properties": db.json(dict(fact.properties)),
    }


def _meets(link: Link, begin: datetime | None, end: datetime | None) -> bool:
    """Whether a fact is about a time that a link holds for, or is next to."""
    if begin is not None and link.valid_to is not None and begin >= link.valid_to:
        return False
    return not (end is not None and link.valid_from is not None and end < link.valid_from)


async def _widened(tx: db.Transaction, user: db.HasUser, kept: Link, fact: Fact, others: Sequence[Link]) -> Link | None:
    """The same link, begun earlier if the fact says so and nothing else held then; ended if the fact says so."""
    begin, until = kept.valid_from, kept.valid_to
    if fact.valid_from is not None:
        begin = fact.valid_from if begin is None else min(begin, fact.valid_from)
        ended = [one.valid_to for one in others if one.valid_to and kept.valid_from and one.valid_to <= kept.valid_from]
        begin = max([begin, *ended])
    if fact.valid_to is not None:
        until = fact.valid_to if until is None else max(until, fact.valid_to)
    values = {"user": user.user_id, "id": kept.id, "valid_from": begin, "valid_to": until}
    return await tx.one(Link, _WIDEN, values | _told(fact))


async def _closed(
    tx: db.Transaction, user: db.HasUser, others: Sequence[Link], begin: datetime, end: datetime | None
) -> datetime | None:
    """Make room for a fact among those that exclude it: older ones end where it begins, and it ends where newer begin.

    Those that begin at the same moment are said at once, and stay beside it.
    """
    for one in others:
        if one.valid_from is not None and one.valid_from > begin:
            end = one.valid_from if end is None else min(end, one.valid_from)
        elif one.valid_from != begin and (one.valid_to is None or one.valid_to > begin):
            if one.valid_to is not None:
                end = one.valid_to if end is None else min(end, one.valid_to)
            await tx.run(_END, (begin, user.user_id, one.id))
    return end
