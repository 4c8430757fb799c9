"""Lookups in the graph: lists, neighbours, shortest path, subgraph, as of a day, counts."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from reverie import db, errors
from reverie.graph import links, nodes
from reverie.graph.resolution import keys

CONFIDENT = 0.5
DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node with how far it is, and by which link it was reached first."""

    node: nodes.Node
    depth: int
    link_id: UUID


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Some nodes, and the links among them."""

    nodes: Sequence[nodes.Node]
    links: Sequence[links.Link]


@dataclass(frozen=True, slots=True)
class Stats:
    """How large a graph is."""

    nodes: Mapping[str, int]
    links: Mapping[str, int]
    version: int


_HOLDS = """
    AND link.confidence >= %(confidence)s
    AND (%(as_of)s::timestamptz IS NULL OR (
        (link.valid_from IS NULL OR link.valid_from <= %(as_of)s)
        AND (link.valid_to IS NULL OR link.valid_to > %(as_of)s)
    ))
    AND (%(as_of)s::timestamptz IS NOT NULL OR link.valid_to IS NULL OR link.valid_to > now() OR %(ended)s)
"""
_LIST = f"""
SELECT {nodes.COLUMNS} FROM node
WHERE user_id = %(user)s AND {nodes.LIVE} AND (%(kind)s::text IS NULL OR kind = %(kind)s)
    AND (%(kind)s IS NOT NULL OR kind <> 'source') AND (%(type)s::text IS NULL OR type = %(type)s)
    AND (%(name)s::text IS NULL OR EXISTS (
        SELECT FROM alias WHERE alias.user_id = node.user_id AND alias.node_id = node.id
            AND alias.alias LIKE '%%' || %(name)s || '%%'
    ))
ORDER BY links DESC, name, id LIMIT %(limit)s OFFSET %(offset)s
"""
_COUNT = f"""
SELECT count(*) FROM node
WHERE user_id = %(user)s AND {nodes.LIVE} AND (%(kind)s::text IS NULL OR kind = %(kind)s)
    AND (%(kind)s IS NOT NULL OR kind <> 'source') AND (%(type)s::text IS NULL OR type = %(type)s)
    AND (%(name)s::text IS NULL OR EXISTS (
        SELECT FROM alias WHERE alias.user_id = node.user_id AND alias.node_id = node.id
            AND alias.alias LIKE '%%' || %(name)s || '%%'
    ))
"""
_LINKS_OF = f"""
SELECT {links.COLUMNS} FROM link
WHERE user_id = %(user)s AND {links.LIVE} AND (from_id = ANY(%(ids)s) OR to_id = ANY(%(ids)s)) {_HOLDS}
ORDER BY link.relation, link.valid_from DESC NULLS LAST, link.updated_at DESC, link.id LIMIT %(limit)s
"""
# One round trip: both directions of both steps, each over an index; the nearest way to
# a node counts.
_STEP = f"""
SELECT link.to_id AS id, link.id AS link_id, {{depth}} AS depth FROM {{near}} AS near JOIN link
    ON link.user_id = %(user)s AND link.from_id = near.id AND {links.LIVE} {_HOLDS}
UNION ALL
SELECT link.from_id, link.id, {{depth}} FROM {{near}} AS near JOIN link
    ON link.user_id = %(user)s AND link.to_id = near.id AND {links.LIVE} {_HOLDS}
"""
_START = "start (id) AS (SELECT unnest(%(ids)s::uuid[]))"
_BETWEEN = f"""
SELECT {links.COLUMNS} FROM link
WHERE user_id = %(user)s AND {links.LIVE} AND from_id = ANY(%(ids)s) AND to_id = ANY(%(ids)s) {_HOLDS}
ORDER BY link.confidence DESC, link.id LIMIT %(limit)s
"""
_FRONTIER = f"""
SELECT from_id AS here, to_id AS there, id FROM link
WHERE user_id = %(user)s AND {links.LIVE} AND from_id = ANY(%(ids)s) {_HOLDS}
UNION ALL
SELECT to_id, from_id, id FROM link
WHERE user_id = %(user)s AND {links.LIVE} AND to_id = ANY(%(ids)s) {_HOLDS}
"""
_TOP = f"""
SELECT {nodes.COLUMNS} FROM node
WHERE user_id = %(user)s AND {nodes.LIVE} AND kind <> 'source'
ORDER BY links DESC, id LIMIT %(limit)s
"""
_LINKS_BY_ID = f"SELECT {links.COLUMNS} FROM link WHERE user_id = %s AND id = ANY(%s)"
_KINDS = f"SELECT kind, count(*) AS count FROM node WHERE user_id = %s AND {nodes.LIVE} GROUP BY kind ORDER BY kind"
_RELATIONS = f"""
SELECT relation, count(*) AS count FROM link WHERE user_id = %s AND {links.LIVE} GROUP BY relation ORDER BY relation
"""
# A node is as warm as the warmest of the records that its newest links lead to, at most
# so many each way.
_HEAT = f"""
SELECT given.id, max(heat.heat) AS heat
FROM unnest(%(ids)s::uuid[]) AS given (id) CROSS JOIN LATERAL (
    (SELECT to_id AS other FROM link WHERE user_id = %(user)s AND from_id = given.id AND {links.LIVE} LIMIT %(most)s)
    UNION ALL
    (SELECT from_id FROM link WHERE user_id = %(user)s AND to_id = given.id AND {links.LIVE} LIMIT %(most)s)
) AS near
JOIN node ON node.user_id = %(user)s AND node.id = near.other AND node.record_id IS NOT NULL
JOIN heat ON heat.user_id = %(user)s AND heat.record_id = node.record_id
GROUP BY given.id
"""
_HEAT_FROM = 20


async def listed(
    tx: db.Transaction,
    user: db.HasUser,
    *,
    kind: str | None = None,
    type_: str | None = None,
    name: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[nodes.Node], int]:
    """Nodes by how many links they have, and how many there are; records only when
    asked for (`source`).
    """
    values = {
        "user": user.user_id,
        "kind": kind,
        "type": type_,
        "name": None,
        "limit": limit,
        "offset": offset,
    }
    if name:
        values["name"] = pattern(name)
    page = await tx.all(nodes.Node, _LIST, values)
    return page, int(await tx.value(_COUNT, values))


def pattern(name: str) -> str:
    """A name, normalised, that stands for itself in SQL's LIKE."""
    text = keys.normalised(name)
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


async def named(tx: db.Transaction, user: db.HasUser, name: str) -> nodes.Node:
    """The node that somebody means by a name, an address, an id or a key. Raises
    NotFound, Conflict if several fit.
    """
    with suppress(ValueError):
        meant = UUID(name)
        return await nodes.by_key(tx, user, meant.hex) or await nodes.get(
            tx, user, meant
        )
    aliases = spellings(name)
    return chosen(name, aliases, await _called(tx, user, name, aliases))


def spellings(name: str) -> list[str]:
    """A name as an alias, or an address as one."""
    return [alias for alias in {keys.normalised(name), name.strip().lower()} if alias]


def chosen(
    name: str, aliases: Sequence[str], candidates: Sequence[nodes.Node]
) -> nodes.Node:
    """The one of some nodes that is meant by a name, or an address. Raises NotFound,
    Conflict if several fit.
    """
    exact = [node for node in candidates if keys.normalised(node.name) in aliases]
    matches = exact or candidates
    if not matches:
        raise errors.NotFound(f"Nothing in the graph is called {name[:60]}.")
    if len(matches) > 1:
        listed = "; ".join(
            f"{node.name} ({node.type or node.kind}) {node.id}" for node in matches[:5]
        )
        raise errors.Conflict(
            f"{name[:60]} may be several.", hint=f"Name one by its id: {listed}."
        )
    return matches[0]


async def _called(
    tx: db.Transaction, user: db.HasUser, name: str, aliases: Sequence[str]
) -> list[nodes.Node]:
    """The nodes of some aliases, each once; without any, those whose names have it."""
    by_id: dict[UUID, nodes.Node] = {}
    for matches in (await nodes.find(tx, user, aliases)).values():
        by_id.update((node.id, node) for node in matches)
    if by_id or not aliases:
        return list(by_id.values())
    near, _ = await listed(tx, user, name=name, limit=5)
    return near


async def links_of(
    tx: db.Transaction,
    user: db.HasUser,
    ids: Iterable[UUID],
    *,
    confidence: float = 0.0,
    as_of: datetime | None = None,
    ended: bool = False,
    limit: int = 200,
) -> list[links.Link]:
    """The links at some nodes, as of a moment; `ended` shows what holds no longer, too."""
    values = _values(user, confidence, as_of, ended=ended) | {
        "ids": list(ids),
        "limit": limit,
    }
    return await tx.all(links.Link, _LINKS_OF, values)


async def connections(
    tx: db.Transaction,
    user: db.HasUser,
    ids: Sequence[UUID],
    *,
    depth: int = 2,
    confidence: float = CONFIDENT,
    as_of: datetime | None = None,
    limit: int = 500,
) -> list[Neighbour]:
    """The nodes within `depth` links (1 to 3), nearest first. Raises Invalid."""
    if not 1 <= depth <= 3:
        raise errors.Invalid("The depth is from 1 to 3.")
    rows = await tx.rows(
        _expansion(depth),
        _values(user, confidence, as_of) | {"ids": list(ids), "limit": limit},
    )
    return [_neighbour(row) for row in rows]


def _neighbour(row: dict[str, Any]) -> Neighbour:
    depth, link_id = row.pop("depth"), row.pop("link_id")
    return Neighbour(nodes.Node(**row), depth, link_id)


_STEPS: tuple[LiteralString, ...] = ("1", "2", "3")


def _expansion(depth: int) -> LiteralString:
    """The statement for a depth."""
    parts: list[LiteralString] = [_START]
    seen: LiteralString = "SELECT id FROM start"
    reached: list[LiteralString] = []
    near: LiteralString = "start"
    for step in _STEPS[:depth]:
        parts.append(f"step{step} AS ({_STEP.format(depth=step, near=near)})")
        parts.append(
            f"new{step} AS (SELECT DISTINCT ON (id) id, link_id, depth FROM step{step}"
            f" WHERE NOT EXISTS (SELECT FROM ({seen}) AS seen WHERE seen.id = step{step}.id) ORDER BY id, link_id)"
        )
        near = f"new{step}"
        seen = f"{seen} UNION ALL SELECT id FROM {near}"
        reached.append(f"SELECT id, link_id, depth FROM {near}")
    return (
        f"WITH {', '.join(parts)}, nearest AS ("
        f"SELECT * FROM ({' UNION ALL '.join(reached)}) AS reached ORDER BY depth, id LIMIT %(limit)s"
        f") SELECT {nodes.COLUMNS}, nearest.depth, nearest.link_id FROM nearest JOIN node"
        f" ON node.user_id = %(user)s AND node.id = nearest.id AND {nodes.LIVE}"
        " ORDER BY nearest.depth, node.links DESC, node.id"
    )


async def path(
    tx: db.Transaction,
    user: db.HasUser,
    begin: UUID,
    end: UUID,
    *,
    depth: int = DEEPEST,
    confidence: float = CONFIDENT,
    as_of: datetime | None = None,
) -> Subgraph | None:
    """A shortest path of at most `depth` links (1 to 4), its nodes in order; None if
    there is none. Raises Invalid.

    From both ends at once, the smaller side first: no node is passed twice.
    """
    if not 1 <= depth <= DEEPEST:
        raise errors.Invalid(f"The depth is from 1 to {DEEPEST}.")
    both = await nodes.several(tx, user, [begin, end])
    if begin not in both or end not in both:
        raise nodes.missing()
    if begin == end:
        return Subgraph([both[begin]], [])
    values = _values(user, confidence, as_of)
    sides = (_Side({begin: None}, {begin}), _Side({end: None}, {end}))
    for _ in range(depth):
        side, other = sorted(sides, key=lambda side: len(side.frontier))
        rows = await tx.rows(_FRONTIER, values | {"ids": list(side.frontier)})
        reached = side.advance(rows)
        met = reached.intersection(other.steps)
        if met:
            return await _joined(tx, user, *sides, min(met))
        if not reached:
            return None
    return None


@dataclass(slots=True)
class _Side:
    """One half of a bidirectional search: how each node was reached, as (the node
    before, the link), and the nodes reached last.
    """

    steps: dict[UUID, tuple[UUID, UUID] | None]
    frontier: set[UUID]

    def advance(self, rows: Iterable[Mapping[str, Any]]) -> set[UUID]:
        """One step further, over links as rows; returns the nodes that are new."""
        reached: set[UUID] = set()
        for row in rows:
            if row["there"] not in self.steps:
                self.steps[row["there"]] = (row["here"], row["id"])
                reached.add(row["there"])
        self.frontier = reached
        return reached

    def back(self, node_id: UUID) -> tuple[list[UUID], list[UUID]]:
        """The nodes and the links from a node back to where the search began."""
        node_ids: list[UUID] = []
        link_ids: list[UUID] = []
        while (step := self.steps[node_id]) is not None:
            node_id, link_id = step
            node_ids.append(node_id)
            link_ids.append(link_id)
        return node_ids, link_ids


async def subgraph(
    tx: db.Transaction, user: db.HasUser, *, limit: int = 100
) -> tuple[Subgraph, Mapping[UUID, float]]:
    """The nodes with most links, the links among them, and how warm each is: for
    drawing.
    """
    top = await tx.all(nodes.Node, _TOP, {"user": user.user_id, "limit": limit})
    ids = [node.id for node in top]
    values = _values(user, 0.0, None) | {"ids": ids, "limit": limit * 10}
    among = await tx.all(links.Link, _BETWEEN, values)
    return Subgraph(top, among), await heats(tx, user, ids)


async def among(
    tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID], *, limit: int = 500
) -> list[links.Link]:
    """The links between some nodes."""
    values = _values(user, 0.0, None) | {"ids": list(ids), "limit": limit}
    return await tx.all(links.Link, _BETWEEN, values)


async def heats(
    tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID]
) -> dict[UUID, float]:
    """How warm some nodes are: as the warmest of the records that they are linked to."""
    values = {"user": user.user_id, "ids": list(ids), "most": _HEAT_FROM}
    return {row["id"]: float(row["heat"]) for row in await tx.rows(_HEAT, values)}


async def stats(tx: db.Transaction, user: db.HasUser) -> Stats:
    """How many nodes of each kind and links of each relation there are."""
    kinds = {
        row["kind"]: row["count"] for row in await tx.rows(_KINDS, (user.user_id,))
    }
    by_relation = {
        row["relation"]: row["count"]
        for row in await tx.rows(_RELATIONS, (user.user_id,))
    }
    return Stats(kinds, by_relation, await nodes.version(tx, user))


async def _joined(
    tx: db.Transaction, user: db.HasUser, first: _Side, second: _Side, middle: UUID
) -> Subgraph:
    """The path over the node in which two halves of a search have met."""
    nodes_before, links_before = first.back(middle)
    nodes_after, links_after = second.back(middle)
    node_ids = [*reversed(nodes_before), middle, *nodes_after]
    link_ids = [*reversed(links_before), *links_after]
    by_id = await nodes.several(tx, user, node_ids)
    links_by_id = {
        link.id: link
        for link in await tx.all(links.Link, _LINKS_BY_ID, (user.user_id, link_ids))
    }
    return Subgraph(
        [by_id[node_id] for node_id in node_ids if node_id in by_id],
        [links_by_id[link_id] for link_id in link_ids],
    )


def _values(
    user: db.HasUser, confidence: float, as_of: datetime | None, *, ended: bool = False
) -> dict[str, Any]:
    return {
        "user": user.user_id,
        "confidence": confidence,
        "as_of": as_of,
        "ended": ended,
    }
