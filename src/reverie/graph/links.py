"""Links of the graph with their valid time: facts kept, replaced, withdrawn, deleted.

Not bitemporal in full: `valid_from` to `valid_to` is when a fact holds, and "as of" a
day asks for that. `at` of its evidence is the moment that a record says it of. What was
believed at an earlier time (transaction time) is not kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from reverie import db, errors
from reverie.graph import evidence, facts, link_rows, relations, versions

LinkType = facts.LinkType
By = facts.By
Link = facts.Link
Fact = facts.Fact
Evidence = facts.Evidence

COLUMNS, LIVE = link_rows.COLUMNS, link_rows.LIVE
ends = link_rows.ends


async def get(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> Link:
    """One link. Raises NotFound."""
    link = await link_rows.get(tx, user, link_id)
    if link is None:
        raise _missing()
    return link


def _missing() -> errors.NotFound:
    return errors.NotFound("There is no such link.", hint="It may have been deleted.")


async def evidence_of(
    tx: db.Transaction, user: db.HasUser, link_id: UUID
) -> list[Evidence]:
    """The records that say so."""
    return [
        Evidence(record, ordinal)
        for record, ordinal in await evidence.of_link(tx, user, link_id)
    ]


async def relate(
    tx: db.Transaction, user: db.HasUser, fact: Fact, proof: Evidence | None = None
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
    told = fact.valid_from
    fact = _sound(fact, exclusive=exclusive)
    rivals = await link_rows.rivals(tx, user, fact, exclusive=exclusive)
    same = [row for row in rivals if row["to_id"] == fact.to_id]
    undated = exclusive and fact.undated and told is None
    if undated and not await _contradicted(tx, user, fact, rivals, proof):
        # Nothing else is known, so that the day of the recording ends nothing.
        same = [_undated(row, fact) for row in same]
        fact = replace(fact, valid_from=None)
    interval = facts.Interval(fact.valid_from, fact.valid_to)
    kept = facts.about(same, interval, exclusive=exclusive)
    if fact.link_type != "manual" and _deleted_by_hand(same, kept):
        return None
    if exclusive and (kept is None or kept["gone"]):
        kept, interval = await _make_room(tx, user, fact, kept, rivals)
    link = await _written(tx, user, fact, kept, interval, exclusive=exclusive)
    if link is not None and proof is not None:
        await _say(tx, user, link.id, fact, proof)
    return link


async def _contradicted(
    tx: db.Transaction,
    user: db.HasUser,
    fact: Fact,
    rivals: Sequence[Mapping[str, Any]],
    proof: Evidence | None,
) -> bool:
    """Whether another record says, or a hand said, what excludes a fact."""
    for row in rivals:
        if row["to_id"] == fact.to_id or row["gone"]:
            continue
        said_in = {record for record, _ in await evidence.of_link(tx, user, row["id"])}
        if proof is None or said_in != {proof.record_id}:
            return True
    return False


def _undated(row: dict[str, Any], fact: Fact) -> dict[str, Any]:
    """A link without the beginning that was the day of its recording."""
    if fact.valid_from is None or row["valid_from"] != fact.valid_from:
        return row
    return {**row, "valid_from": None}


def _deleted_by_hand(
    same: Sequence[Mapping[str, Any]], kept: Mapping[str, Any] | None
) -> bool:
    """Whether somebody has deleted this fact: at the time it is about, or always."""
    if not same:
        return False
    return all(row["gone"] for row in same) or (kept is not None and kept["gone"])


async def _make_room(
    tx: db.Transaction,
    user: db.HasUser,
    fact: Fact,
    kept: dict[str, Any] | None,
    rivals: Sequence[dict[str, Any]],
) -> tuple[dict[str, Any] | None, facts.Interval]:
    """The link to write to and the interval of a fact that begins where nothing of the
    same ends holds; what excludes it is closed.
    """
    begin, end = fact.valid_from, fact.valid_to
    if begin is None:
        return kept, facts.Interval(begin, end)
    same = [row for row in rivals if row["to_id"] == fact.to_id]
    others = [row for row in rivals if row["to_id"] != fact.to_id and not row["gone"]]
    later = await _replaced(tx, user, others, begin)
    later += [row for row in same if facts.follows(row, begin)]
    # Of two that begin at once, the one that says the same.
    successor = min(
        later,
        key=lambda row: (row["valid_from"], row["to_id"] != fact.to_id),
        default=None,
    )
    if successor is None:
        return kept, facts.Interval(begin, end)
    if successor["to_id"] == fact.to_id and end is None and kept is None:
        # Nothing stands between: the later link of the same fact begins earlier.
        return successor, facts.Interval(begin, end)
    # A fact holds at most until the next one begins, whichever of the two was recorded
    # first. No page tells where this rule comes from.
    until = successor["valid_from"]
    return kept, facts.Interval(begin, min(end or until, until))


async def _replaced(
    tx: db.Transaction,
    user: db.HasUser,
    others: Sequence[dict[str, Any]],
    begin: datetime,
) -> list[dict[str, Any]]:
    """Close what excludes a fact and holds when it begins. Returns what begins later."""
    later = [row for row in others if facts.follows(row, begin)]
    for row in others:
        # Those that begin at the same moment are said at once, and stay beside it.
        if row["valid_from"] == begin or not facts.holds(row, begin):
            continue
        # One that was recorded again after `begin` goes on from there.
        if again := await evidence.first_after(tx, user, row["id"], begin):
            rest = await link_rows.continued(tx, user, row["id"], again)
            await evidence.transfer(tx, user, row["id"], again, to=rest["id"])
            later.append(rest)
        await link_rows.close(tx, user, row["id"], begin, told_end=False)
    return later


async def _written(
    tx: db.Transaction,
    user: db.HasUser,
    fact: Fact,
    kept: Mapping[str, Any] | None,
    interval: facts.Interval,
    *,
    exclusive: bool,
) -> Link | None:
    """The fact as a link: the one that is kept, wider, or a new one."""
    if kept is not None:
        interval = facts.widened(kept, interval, exclusive=exclusive)
    # An end that was told stays, whatever becomes of the fact that came next (`reopen`).
    told_end = fact.valid_to is not None and interval.end == fact.valid_to
    if kept is None:
        return await link_rows.insert(tx, user, fact, interval, told_end=told_end)
    return await link_rows.widen(
        tx, user, kept["id"], fact, interval, told_end=told_end
    )


async def _say(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, fact: Fact, proof: Evidence
) -> None:
    """Keep which record says a fact, and of which moment."""
    await evidence.add(
        tx,
        user,
        proof.record_id,
        [(link_id, proof.ordinal, fact.properties)],
        by=fact.by,
        at=fact.valid_from or fact.at,
    )


def _sound(fact: Fact, *, exclusive: bool) -> Fact:
    """The fact, with the moment from which it holds. Raises Invalid."""
    # Of an exclusive relation the recorded time stands in for a valid time not told.
    if exclusive and fact.valid_from is None:
        fact = replace(fact, valid_from=fact.at or datetime.now(UTC))
    if fact.from_id == fact.to_id:
        raise errors.Invalid("A node cannot have a link to itself.")
    if fact.valid_from and fact.valid_to and fact.valid_to < fact.valid_from:
        raise errors.Invalid("A fact cannot end before it begins.")
    return fact


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
    rows = await link_rows.mention(
        tx, user, source_id, ends, relation=relation, link_type=link_type, by=by
    )
    told = {node_id: (ordinal, properties) for node_id, _, properties, ordinal in ends}
    passages = [(link_id, *told[node_id]) for link_id, node_id in rows]
    await evidence.add(tx, user, record_id, passages, by=by)
    return [link_id for link_id, _ in rows]


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
    rows = await link_rows.drop_unsaid(
        tx, user, ids, record_id=record_id, record_gone=by is None
    )
    await _reopen(tx, user, rows)
    return link_rows.end_ids(rows)


async def delete(tx: db.Transaction, user: db.HasUser, link_id: UUID) -> list[UUID]:
    """Delete by hand: it stays deleted, whatever is read again. Returns its ends.
    Raises NotFound.
    """
    await versions.bump(tx, user)
    rows = await link_rows.delete(tx, user, link_id)
    if not rows:
        raise _missing()
    await _reopen(tx, user, rows)
    return [rows[0]["from_id"], rows[0]["to_id"]]


async def _reopen(
    tx: db.Transaction, user: db.HasUser, rows: Sequence[Mapping[str, Any]]
) -> None:
    """What some links that are gone had closed holds on, the earliest first."""
    closing = [
        row
        for row in rows
        if row["held"] and row["valid_from"] and relations.exclusive(row["relation"])
    ]
    for row in sorted(closing, key=lambda row: row["valid_from"]):
        await link_rows.reopen(tx, user, row)


async def delete_of_node(
    tx: db.Transaction, user: db.HasUser, node_id: UUID
) -> list[UUID]:
    """The links of a node that is deleted by hand go with it; returns the nodes that
    have lost a link.
    """
    return link_rows.end_ids(await link_rows.mark_deleted_of_node(tx, user, node_id))


async def end(
    tx: db.Transaction, user: db.HasUser, link_id: UUID, at: datetime
) -> None:
    """A fact holds no longer. Raises NotFound, Invalid."""
    await versions.bump(tx, user)
    link = await get(tx, user, link_id)
    if link.valid_from is not None and at < link.valid_from:
        raise errors.Invalid("A fact cannot end before it begins.")
    await link_rows.close(tx, user, link_id, at, told_end=True)


async def warm(tx: db.Transaction, user: db.HasUser, first: UUID, second: UUID) -> int:
    """Two records were opened within a minute: the links between their nodes warm.
    Returns how many.
    """
    await versions.hold(tx, user)
    return await link_rows.warm(tx, user, first, second)


async def cool(tx: db.Transaction, user: db.HasUser) -> None:
    """Let links cool down to now."""
    await versions.hold(tx, user)
    await link_rows.cool(tx, user)
