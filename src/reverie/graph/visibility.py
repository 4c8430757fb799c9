"""Visibility of the graph (authorisation): nothing known from closed domains alone.

Records of domains closed to the caller are left out as nodes, as ends of links, as
evidence and as steps of a path; what only they tell of others is, too (`redaction`).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.graph import links, lookups, merging, nodes, redaction
from reverie.records import catalogue

# Links that one step of a breadth-first search looks at; set by hand.
_MOST_LINKS = 20_000
_PROOF = """
SELECT DISTINCT ON (evidence.link_id, evidence.record_id) evidence.link_id, evidence.record_id, card.domain, card.title,
    card.at, evidence.ordinal
FROM evidence JOIN card ON card.user_id = evidence.user_id AND card.record_id = evidence.record_id
WHERE evidence.user_id = %(user)s AND evidence.link_id = ANY(%(links)s) AND card.domain = ANY(%(domains)s)
ORDER BY evidence.link_id, evidence.record_id, evidence.ordinal NULLS LAST
"""
_LINKS = f"SELECT {links.COLUMNS} FROM link WHERE user_id = %s AND id = ANY(%s)"
_NAMES = "SELECT id, name FROM node WHERE user_id = %s AND id = ANY(%s)"


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
        domain.name
        for domain in catalogue.DOMAINS.values()
        if caller.may(domain.plural, "read")
    )


def missing() -> errors.NotFound:
    """The answer for a node that is unknown, foreign, hidden, deleted or merged."""
    return nodes.missing()


async def get(tx: db.Transaction, caller: callers.Caller, node_id: UUID) -> nodes.Node:
    """One node. Raises NotFound."""
    visible = await several(tx, caller, [node_id])
    if not visible:
        raise missing()
    return visible[node_id]


async def several(
    tx: db.Transaction, caller: callers.Caller, ids: Iterable[UUID]
) -> dict[UUID, nodes.Node]:
    """Those of some nodes that may be shown, by id, as they may be shown."""
    candidates = await nodes.several(tx, caller, list(dict.fromkeys(ids)))
    return await permitted(tx, caller, candidates.values())


async def permitted(
    tx: db.Transaction, caller: callers.Caller, candidates: Iterable[nodes.Node]
) -> dict[UUID, nodes.Node]:
    """Those of some nodes that may be shown, by id, as they may be shown."""
    if sees_all(caller):
        return {node.id: node for node in candidates}
    shown_ = await redaction.redacted(tx, caller, open_to(caller), candidates)
    return {node_id: node for node_id, (node, _) in shown_.items()}


async def permitted_links(
    tx: db.Transaction, caller: callers.Caller, candidates: Sequence[links.Link]
) -> Sequence[links.Link]:
    """Those of some links that may be shown by their evidence, as they may be shown;
    their ends are the caller's to look at.
    """
    if sees_all(caller):
        return candidates
    return await redaction.redacted_links(tx, caller, open_to(caller), candidates)


async def named(tx: db.Transaction, caller: callers.Caller, name: str) -> nodes.Node:
    """The node that somebody means by a name, an address or an id. Raises NotFound,
    Conflict.
    """
    if sees_all(caller):
        return await lookups.named(tx, caller, name)
    with suppress(ValueError):
        meant = UUID(name)
        node = await nodes.by_key(tx, caller, meant.hex)
        return await get(tx, caller, node.id if node else meant)
    aliases = lookups.spellings(name)
    domains = open_to(caller)
    ids = await redaction.called(tx, caller, domains, aliases) if aliases else []
    candidates = list((await several(tx, caller, ids)).values())
    if not candidates and aliases:
        near, _ = await redaction.listed(
            tx, caller, domains, kind=None, name=name, limit=5
        )
        candidates = [node for node, _ in near]
    return lookups.chosen(name, aliases, candidates)


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
    if sees_all(caller):
        return await lookups.listed(
            tx, caller, kind=kind, type_=type_, name=name, limit=limit, offset=offset
        )
    page, total = await redaction.listed(
        tx,
        caller,
        open_to(caller),
        kind=kind,
        type_=type_,
        name=name,
        limit=limit,
        offset=offset,
    )
    return [node for node, _ in page], total


async def shown(
    tx: db.Transaction, caller: callers.Caller, candidates: Sequence[links.Link]
) -> list[Shown]:
    """Links with their ends and evidence; those with an end that may not be shown are
    left out.
    """
    ends = await several(tx, caller, _end_ids(candidates))
    between = [
        link for link in candidates if link.from_id in ends and link.to_id in ends
    ]
    visible = await permitted_links(tx, caller, between)
    proofs = await _proofs(tx, caller, [link.id for link in visible])
    return [
        Shown(link, ends[link.from_id], ends[link.to_id], proofs[link.id])
        for link in visible
    ]


def _end_ids(links_: Iterable[links.Link]) -> list[UUID]:
    return [end for link in links_ for end in (link.from_id, link.to_id)]


async def _proofs(
    tx: db.Transaction, caller: callers.Caller, link_ids: Sequence[UUID]
) -> dict[UUID, list[Proof]]:
    """The records that say each link and may be read, the latest first."""
    proofs: dict[UUID, list[Proof]] = {link_id: [] for link_id in link_ids}
    if not proofs:
        return proofs
    values = {
        "user": caller.user_id,
        "links": list(proofs),
        "domains": list(open_to(caller)),
    }
    for proof in await tx.all(Proof, _PROOF, values):
        proofs[proof.link_id].append(proof)
    for sources in proofs.values():
        sources.sort(key=_timestamp, reverse=True)
    return proofs


def _timestamp(proof: Proof) -> float:
    return proof.at.timestamp() if proof.at else 0.0


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
    most = limit + 1 if sees_all(caller) else _MOST_LINKS
    candidates = await lookups.links_of(
        tx, caller, [node.id], as_of=as_of, ended=ended, limit=most
    )
    visible = await shown(tx, caller, candidates)
    # What was merged into a node is known to whoever may know all of it.
    history = await merging.history(tx, caller, node.id) if sees_all(caller) else []
    loser_ids = [entry.loser_id for entry in history]
    losers = await tx.rows(_NAMES, (caller.user_id, loser_ids)) if history else []
    return Whole(
        node,
        await aliases(tx, caller, node.id),
        visible[:limit],
        len(visible) > limit or len(candidates) >= most,
        history,
        {row["id"]: row["name"] for row in losers},
    )


async def aliases(
    tx: db.Transaction, caller: callers.Caller, node_id: UUID
) -> list[tuple[str, str]]:
    """All (alias, kind) of a node that may be shown."""
    if sees_all(caller):
        return await nodes.aliases(tx, caller, node_id)
    raw = (await nodes.several(tx, caller, [node_id])).values()
    shown_ = await redaction.redacted(tx, caller, open_to(caller), raw)
    return shown_[node_id][1].spelled if node_id in shown_ else []


async def spelled(
    tx: db.Transaction, caller: callers.Caller, keys: Iterable[str]
) -> dict[str, list[str]]:
    """By its key, the names and addresses that may be shown of each of some nodes."""
    named_ = [await nodes.by_key(tx, caller, key) for key in keys]
    present = [node for node in named_ if node is not None]
    shown_ = await redaction.redacted(tx, caller, open_to(caller), present)
    return {node.key: sorted(told.aliases) for node, told in shown_.values()}


async def subgraph(
    tx: db.Transaction, caller: callers.Caller, *, limit: int
) -> tuple[lookups.Subgraph, Mapping[UUID, float]]:
    """The nodes with most links, the links among them, and how warm each is. Nodes are
    warm by records of all domains: to whoever may not read all, they are cold.
    """
    if sees_all(caller):
        return await lookups.subgraph(tx, caller, limit=limit)
    page, _ = await redaction.listed(
        tx, caller, open_to(caller), kind=None, limit=limit
    )
    top = [node for node, _ in page]
    ids = [node.id for node in top]
    among = await lookups.among(tx, caller, ids, limit=limit * 10)
    return lookups.Subgraph(top, await permitted_links(tx, caller, among)), {}


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
    if not sees_all(caller):
        steps = await _search(
            tx, caller, begin, depth=depth, confidence=confidence, as_of=as_of
        )
        visible = await several(tx, caller, steps)
        reached = [
            Reached(visible[node_id], step.depth, step.link)
            for node_id, step in steps.items()
        ]
        reached.sort(key=lambda near: (near.depth, -near.node.links, near.node.id))
        return reached[:limit]
    neighbours = await lookups.connections(
        tx,
        caller,
        [begin],
        depth=depth,
        confidence=confidence,
        as_of=as_of,
        limit=limit,
    )
    link_ids = [neighbour.link_id for neighbour in neighbours]
    by_id = {
        link.id: link
        for link in await tx.all(links.Link, _LINKS, (caller.user_id, link_ids))
    }
    return [
        Reached(neighbour.node, neighbour.depth, by_id[neighbour.link_id])
        for neighbour in neighbours
    ]


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
    if sees_all(caller):
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
        visible = await shown(tx, caller, part.links)
        whole_path = len(part.nodes) == len(visible) + 1
        return (list(part.nodes), visible) if whole_path else None
    if begin.id == end.id:
        return [begin], []
    steps = await _search(
        tx,
        caller,
        begin.id,
        depth=depth,
        confidence=confidence,
        as_of=as_of,
        until=end.id,
    )
    ids = [end.id]
    path_links: list[links.Link] = []
    while ids[-1] != begin.id:
        step = steps.get(ids[-1])
        if step is None:
            return None
        ids.append(step.before)
        path_links.append(step.link)
    ids.reverse()
    path_links.reverse()
    visible = await several(tx, caller, ids)
    path_nodes = [visible[node_id] for node_id in ids]
    return path_nodes, await shown(tx, caller, path_links)


async def stats(tx: db.Transaction, caller: callers.Caller) -> lookups.Stats:
    """How many nodes and links there are, without those of hidden records."""
    if sees_all(caller):
        return await lookups.stats(tx, caller)
    kinds, relations = await redaction.counts(tx, caller, open_to(caller))
    return lookups.Stats(kinds, relations, await nodes.version(tx, caller))


@dataclass(frozen=True, slots=True)
class _Step:
    """How a search has reached a node: by which link, from which node, how far."""

    link: links.Link
    before: UUID
    depth: int


async def _search(
    tx: db.Transaction,
    caller: callers.Caller,
    begin: UUID,
    *,
    depth: int,
    confidence: float,
    as_of: datetime | None,
    until: UUID | None = None,
) -> dict[UUID, _Step]:
    """Breadth-first search over what may be shown: the shortest way to each node."""
    steps: dict[UUID, _Step] = {}
    frontier = {begin}
    for step in range(1, depth + 1):
        candidates = await lookups.links_of(
            tx,
            caller,
            frontier,
            confidence=confidence,
            as_of=as_of,
            limit=_MOST_LINKS,
        )
        candidates = await permitted_links(tx, caller, candidates)
        visible = await several(tx, caller, _end_ids(candidates))
        reached: set[UUID] = set()
        for link in sorted(candidates, key=lambda link: link.id):
            for near, far in _directions(link):
                if near not in frontier or far not in visible:
                    continue
                if far != begin and far not in steps:
                    steps[far] = _Step(link, near, step)
                    reached.add(far)
        if not reached or until in reached:
            break
        frontier = reached
    return steps


def _directions(link: links.Link) -> tuple[tuple[UUID, UUID], tuple[UUID, UUID]]:
    """A link is followed either way."""
    return (link.from_id, link.to_id), (link.to_id, link.from_id)


def sees_all(caller: callers.Caller) -> bool:
    """Whether nothing of the graph is closed to the caller."""
    return len(open_to(caller)) == len(catalogue.DOMAINS)
