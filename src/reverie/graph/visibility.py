"""What a caller sees of the graph: all of it but the records of domains that are not
open to them.

Such records are left out as nodes, as ends of links, as evidence and as steps of a
path.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.graph import links, lookups, merging, nodes
from reverie.records import catalogue

_MOST = 20_000  # links that one step of a walk looks at
_PROOF = """
SELECT DISTINCT ON (evidence.link_id, evidence.record_id) evidence.link_id, evidence.record_id, card.domain, card.title,
    card.at, evidence.ordinal
FROM evidence JOIN card ON card.user_id = evidence.user_id AND card.record_id = evidence.record_id
WHERE evidence.user_id = %(user)s AND evidence.link_id = ANY(%(links)s) AND card.domain = ANY(%(domains)s)
ORDER BY evidence.link_id, evidence.record_id, evidence.ordinal NULLS LAST
"""
_LINKS = f"SELECT {links.COLUMNS} FROM link WHERE user_id = %s AND id = ANY(%s)"
_NAMES = "SELECT id, name FROM node WHERE user_id = %s AND id = ANY(%s)"
_HIDDEN_NODES = f"""
SELECT count(*) FROM node WHERE user_id = %(user)s AND {nodes.LIVE} AND domain IS NOT NULL
    AND NOT (domain = ANY(%(domains)s))
"""
_HIDDEN_LINKS = f"""
SELECT relation, count(*) AS count FROM link WHERE user_id = %(user)s AND {links.LIVE} AND EXISTS (
    SELECT FROM node WHERE node.user_id = link.user_id AND node.id IN (link.from_id, link.to_id)
        AND node.domain IS NOT NULL AND NOT (node.domain = ANY(%(domains)s))
) GROUP BY relation
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """A record that says so, and in which of its passages."""

    link_id: UUID
    record_id: UUID
    domain: str
    title: str
    at: datetime | None
    ordinal: int | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A link with both its ends and the records that say so, the latest first."""

    link: links.Link
    begin: nodes.Node
    end: nodes.Node
    proof: Sequence[Proof] = ()

    def other(self, node_id: UUID) -> nodes.Node:
        """The end that is not this one."""
        return self.end if self.begin.id == node_id else self.begin


@dataclass(frozen=True, slots=True)
class Whole:
    """All that is known of a node. `more`: there are further links."""

    node: nodes.Node
    aliases: Sequence[tuple[str, str]]
    links: Sequence[Shown]
    more: bool
    history: Sequence[merging.MergeEntry]
    merged: Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class Reached:
    """A node within some steps, and the link by which it was reached."""

    node: nodes.Node
    depth: int
    link: links.Link


def open_to(caller: callers.Caller) -> frozenset[str]:
    """The domains whose records the caller may read; none is no error here."""
    return frozenset(
        one.name for one in catalogue.DOMAINS.values() if caller.may(one.plural, "read")
    )


def sees(caller: callers.Caller, node: nodes.Node) -> bool:
    """Whether a node may be shown."""
    return node.domain is None or node.domain in open_to(caller)


def missing() -> errors.NotFound:
    """The answer for a node that is unknown, foreign, hidden, deleted or merged."""
    return errors.NotFound(
        "There is no such node.", hint="It may have been deleted or merged."
    )


async def get(tx: db.Transaction, caller: callers.Caller, node_id: UUID) -> nodes.Node:
    """One node. Raises NotFound."""
    found = await several(tx, caller, [node_id])
    if not found:
        raise missing()
    return found[node_id]


async def several(
    tx: db.Transaction, caller: callers.Caller, ids: Iterable[UUID]
) -> dict[UUID, nodes.Node]:
    """Those of some nodes that may be shown, by id."""
    domains = open_to(caller)
    found = await nodes.several(tx, caller, list(dict.fromkeys(ids)))
    return {
        one.id: one
        for one in found.values()
        if one.domain is None or one.domain in domains
    }


async def named(tx: db.Transaction, caller: callers.Caller, name: str) -> nodes.Node:
    """The node that somebody means by a name, an address or an id. Raises NotFound,
    Conflict.
    """
    found = await lookups.named(tx, caller, name)
    if not sees(caller, found):
        raise missing()
    return found


async def listed(
    tx: db.Transaction,
    caller: callers.Caller,
    *,
    kind: str | None,
    type_: str | None,
    name: str | None,
    limit: int,
    offset: int,
) -> tuple[list[nodes.Node], int]:
    """Nodes by how many links they have, and how many there are; records only when
    asked for (`source`).
    """
    if kind != "source" or _all(caller):
        return await lookups.listed(
            tx, caller, kind=kind, type_=type_, name=name, limit=limit, offset=offset
        )
    found, total = list[nodes.Node](), 0
    for domain in sorted(open_to(caller)):  # the type of a record's node is its domain
        if type_ in (None, domain):
            some, count = await lookups.listed(
                tx,
                caller,
                kind=kind,
                type_=domain,
                name=name,
                limit=limit + offset,
                offset=0,
            )
            found, total = [*found, *some], total + count
    return sorted(found, key=lambda one: (-one.links, one.name, one.id))[
        offset : offset + limit
    ], total


async def shown(
    tx: db.Transaction, caller: callers.Caller, found: Sequence[links.Link]
) -> list[Shown]:
    """Links with their ends and evidence; those with an end that may not be shown are
    left out.
    """
    ends = await several(
        tx, caller, (end for one in found for end in (one.from_id, one.to_id))
    )
    kept = [one for one in found if one.from_id in ends and one.to_id in ends]
    proofs: dict[UUID, list[Proof]] = {one.id: [] for one in kept}
    values = {
        "user": caller.user_id,
        "links": list(proofs),
        "domains": list(open_to(caller)),
    }
    for proof in await tx.all(Proof, _PROOF, values) if kept else ():
        proofs[proof.link_id].append(proof)
    for some in proofs.values():
        some.sort(key=lambda one: one.at.timestamp() if one.at else 0.0, reverse=True)
    return [
        Shown(one, ends[one.from_id], ends[one.to_id], proofs[one.id]) for one in kept
    ]


async def whole(
    tx: db.Transaction,
    caller: callers.Caller,
    node: nodes.Node,
    *,
    as_of: datetime | None = None,
    ended: bool = False,
    limit: int = 200,
) -> Whole:
    """A node with its names, its links, and what was merged into it."""
    # One more than is shown tells whether there are more; with hidden ends among them,
    # all are looked at.
    most = limit + 1 if _all(caller) else _MOST
    found = await lookups.links_of(
        tx, caller, [node.id], as_of=as_of, ended=ended, limit=most
    )
    told = await shown(tx, caller, found)
    history = await merging.history(tx, caller, node.id)
    merged = (
        await tx.rows(_NAMES, (caller.user_id, [one.loser_id for one in history]))
        if history
        else []
    )
    return Whole(
        node,
        await nodes.aliases(tx, caller, node.id),
        told[:limit],
        len(told) > limit or len(found) >= most,
        history,
        {row["id"]: row["name"] for row in merged},
    )


async def connections(
    tx: db.Transaction,
    caller: callers.Caller,
    begin: UUID,
    *,
    depth: int = 2,
    confidence: float = lookups.CONFIDENT,
    as_of: datetime | None = None,
    limit: int = 200,
) -> list[Reached]:
    """What is within `depth` links of a node, nearest first."""
    if not _all(caller):
        walked = await _walk(
            tx, caller, begin, depth=depth, confidence=confidence, as_of=as_of
        )
        there = await several(tx, caller, walked)
        reached = [
            Reached(there[one], step, link) for one, (link, _, step) in walked.items()
        ]
        return sorted(
            reached, key=lambda one: (one.depth, -one.node.links, one.node.id)
        )[:limit]
    found = await lookups.connections(
        tx,
        caller,
        [begin],
        depth=depth,
        confidence=confidence,
        as_of=as_of,
        limit=limit,
    )
    rows = await tx.all(
        links.Link, _LINKS, (caller.user_id, [one.link_id for one in found])
    )
    by_id = {one.id: one for one in rows}
    return [Reached(one.node, one.depth, by_id[one.link_id]) for one in found]


async def path(
    tx: db.Transaction,
    caller: callers.Caller,
    begin: nodes.Node,
    end: nodes.Node,
    *,
    depth: int = lookups.DEEPEST,
    confidence: float = lookups.CONFIDENT,
    as_of: datetime | None = None,
) -> tuple[list[nodes.Node], list[Shown]] | None:
    """A shortest path: its nodes in order, and the links between them. None if there is
    none.
    """
    if _all(caller):
        part = await lookups.path(
            tx,
            caller,
            begin.id,
            end.id,
            depth=depth,
            confidence=confidence,
            as_of=as_of,
        )
        if part is None:
            return None
        told = await shown(tx, caller, part.links)
        return (list(part.nodes), told) if len(part.nodes) == len(told) + 1 else None
    if begin.id == end.id:
        return [begin], []
    walked = await _walk(
        tx,
        caller,
        begin.id,
        depth=depth,
        confidence=confidence,
        as_of=as_of,
        until=end.id,
    )
    at, ids, taken = end.id, [end.id], list[links.Link]()
    while at != begin.id:
        if at not in walked:
            return None
        link, at, _ = walked[at]
        ids, taken = [at, *ids], [link, *taken]
    there = await several(tx, caller, ids)
    return [there[one] for one in ids], await shown(tx, caller, taken)


async def stats(tx: db.Transaction, caller: callers.Caller) -> lookups.Stats:
    """How many nodes and links there are, without those of hidden records."""
    found = await lookups.stats(tx, caller)
    if _all(caller):
        return found
    values = {"user": caller.user_id, "domains": list(open_to(caller))}
    hidden = {
        row["relation"]: row["count"] for row in await tx.rows(_HIDDEN_LINKS, values)
    }
    sources = found.nodes.get("source", 0) - int(await tx.value(_HIDDEN_NODES, values))
    kinds = {**found.nodes, "source": sources}
    relations = {
        name: count - hidden.get(name, 0) for name, count in found.links.items()
    }
    return replace(
        found,
        nodes={name: count for name, count in kinds.items() if count},
        links={name: count for name, count in relations.items() if count},
    )


async def _walk(
    tx: db.Transaction,
    caller: callers.Caller,
    begin: UUID,
    *,
    depth: int,
    confidence: float,
    as_of: datetime | None,
    until: UUID | None = None,
) -> dict[UUID, tuple[links.Link, UUID, int]]:
    """Step by step over what may be shown: each node with the link and the node it was
    reached from, and its step.
    """
    came: dict[UUID, tuple[links.Link, UUID, int]] = {}
    edge = {begin}
    for step in range(1, depth + 1):
        found = await lookups.links_of(
            tx, caller, edge, confidence=confidence, as_of=as_of, limit=_MOST
        )
        there = await several(
            tx, caller, (end for one in found for end in (one.from_id, one.to_id))
        )
        fresh: set[UUID] = set()
        for link in sorted(found, key=lambda one: one.id):
            for here, other in ((link.from_id, link.to_id), (link.to_id, link.from_id)):
                if (
                    here in edge
                    and other in there
                    and other not in came
                    and other != begin
                ):
                    came[other] = (link, here, step)
                    fresh.add(other)
        if not fresh or until in fresh:
            break
        edge = fresh
    return came


def _all(caller: callers.Caller) -> bool:
    return len(open_to(caller)) == len(catalogue.DOMAINS)
