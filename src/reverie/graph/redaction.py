"""Redaction of the graph for callers who may not read every domain.

A node shows by the names, and with the properties, that a record which the caller may
read attests, or somebody by hand; a link by the evidence that they may read. What was
read before attestations were kept shows where all of its evidence may be read.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from reverie import db
from reverie.graph import facts, link_rows, lookups, nodes
from reverie.graph.resolution import keys

_OWNER_NAME = "owner"
# Salience by so many links is the highest; as nodes.py counts it.
_MANY_LINKS = 50

# Conditions on the row of the name that stands in them, for the parameters `user` and
# `domains`.
_MAY_READ = """(attestation.record_id = '00000000-0000-0000-0000-000000000000' OR EXISTS (
    SELECT FROM card WHERE card.user_id = attestation.user_id AND card.record_id = attestation.record_id
        AND card.domain = ANY(%(domains)s)
))"""
_EVIDENCE_READ = """EXISTS (
    SELECT FROM card WHERE card.user_id = evidence.user_id AND card.record_id = evidence.record_id
        AND card.domain = ANY(%(domains)s)
)"""
# A node and what was merged into it, and into that.
_PARTS = """(
    SELECT node.id UNION ALL
    SELECT part.id FROM node AS part WHERE part.user_id = node.user_id AND part.merged_into = node.id UNION ALL
    SELECT deeper.id FROM node AS part JOIN node AS deeper
        ON deeper.user_id = part.user_id AND deeper.merged_into = part.id
    WHERE part.user_id = node.user_id AND part.merged_into = node.id
)"""
_ATTESTED = f"""EXISTS (
    SELECT FROM attestation WHERE attestation.user_id = node.user_id AND attestation.node_id IN {_PARTS}
)"""
_CLOSED_EVIDENCE = f"""EXISTS (
    SELECT FROM link JOIN evidence ON evidence.user_id = link.user_id AND evidence.link_id = link.id
    WHERE link.user_id = node.user_id AND (link.from_id = node.id OR link.to_id = node.id) AND NOT {_EVIDENCE_READ}
)"""
_NAMED = f"""EXISTS (
    SELECT FROM attestation WHERE attestation.user_id = node.user_id AND attestation.node_id IN {_PARTS}
        AND attestation.aliases <> '{{}}' AND {_MAY_READ}
)"""
NODE_SHOWS = f"""CASE WHEN node.domain IS NOT NULL THEN node.domain = ANY(%(domains)s) ELSE
    node.is_owner OR {_NAMED} OR (NOT {_ATTESTED} AND (node.created_by = 'user' OR NOT {_CLOSED_EVIDENCE})) END"""
LINK_SHOWS = f"""(link.link_type = 'manual' OR EXISTS (
    SELECT FROM evidence WHERE evidence.user_id = link.user_id AND evidence.link_id = link.id AND {_EVIDENCE_READ}
) OR NOT EXISTS (SELECT FROM evidence WHERE evidence.user_id = link.user_id AND evidence.link_id = link.id))"""
NAMED_LIKE = f"""(EXISTS (
    SELECT FROM attestation CROSS JOIN unnest(attestation.aliases) AS given (alias)
    WHERE attestation.user_id = node.user_id AND attestation.node_id IN {_PARTS} AND {_MAY_READ}
        AND given.alias LIKE '%%' || %(name)s || '%%'
) OR ((node.domain IS NOT NULL OR NOT {_ATTESTED}) AND EXISTS (
    SELECT FROM alias WHERE alias.user_id = node.user_id AND alias.node_id = node.id
        AND alias.alias LIKE '%%' || %(name)s || '%%'
)))"""

_STATES = f"""
SELECT node.id, {NODE_SHOWS} AS shows, {_ATTESTED} AS attested, {_CLOSED_EVIDENCE} AS closed,
    (SELECT count(*) FROM link WHERE link.user_id = node.user_id AND link.from_id = node.id AND {link_rows.LIVE}
        AND {LINK_SHOWS})
    + (SELECT count(*) FROM link WHERE link.user_id = node.user_id AND link.to_id = node.id AND {link_rows.LIVE}
        AND {LINK_SHOWS}) AS links
FROM node WHERE node.user_id = %(user)s AND node.id = ANY(%(ids)s)
"""
_TOLD = f"""
SELECT node.id, attestation.names, attestation.emails, attestation.aliases, attestation.type,
    attestation.description, attestation.properties
FROM node CROSS JOIN LATERAL {_PARTS} AS part (id)
JOIN attestation ON attestation.user_id = node.user_id AND attestation.node_id = part.id
WHERE node.user_id = %(user)s AND node.id = ANY(%(ids)s) AND {_MAY_READ}
ORDER BY node.id, attestation.record_id, attestation.by
"""
_LEGACY_NAMES = """
SELECT node_id AS id, alias, kind FROM alias WHERE user_id = %(user)s AND node_id = ANY(%(ids)s) ORDER BY alias
"""
_CALLED = f"""
SELECT DISTINCT coalesce(deeper.id, upper.id, node.id) AS id
FROM attestation JOIN node ON node.user_id = attestation.user_id AND node.id = attestation.node_id
LEFT JOIN node AS upper ON upper.user_id = node.user_id AND upper.id = node.merged_into
LEFT JOIN node AS deeper ON deeper.user_id = node.user_id AND deeper.id = upper.merged_into
WHERE attestation.user_id = %(user)s AND attestation.aliases && %(aliases)s::text[] AND {_MAY_READ}
UNION SELECT alias.node_id FROM alias JOIN node ON node.user_id = alias.user_id AND node.id = alias.node_id
WHERE alias.user_id = %(user)s AND alias.alias = ANY(%(aliases)s)
    AND (node.domain IS NOT NULL OR NOT {_ATTESTED})
"""
_EVIDENCE = f"""
SELECT link_id AS id, {_EVIDENCE_READ} AS read, properties FROM evidence
WHERE evidence.user_id = %(user)s AND evidence.link_id = ANY(%(ids)s)
"""


@dataclass(slots=True)
class Told:
    """What the caller may learn of a node: its names, and the values of its fields."""

    names: list[str] = field(default_factory=list[str])
    emails: list[str] = field(default_factory=list[str])
    aliases: set[str] = field(default_factory=set[str])
    types: set[str] = field(default_factory=set[str])
    descriptions: set[str] = field(default_factory=set[str])
    properties: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    whole: bool = False
    """Nothing of it is closed to the caller."""

    @property
    def spelled(self) -> list[tuple[str, str]]:
        """All (alias, kind) by which the node may be known."""
        emails = set(self.emails)
        pairs = [
            (alias, "email" if alias in emails else "name") for alias in self.aliases
        ]
        return sorted(pairs, key=lambda pair: (pair[1], pair[0]))


async def redacted(
    tx: db.Transaction,
    user: db.HasUser,
    domains: Collection[str],
    candidates: Iterable[nodes.Node],
) -> dict[UUID, tuple[nodes.Node, Told]]:
    """Those of some nodes that show, by id, as they show, and what is told of each."""
    by_id = {node.id: node for node in candidates}
    if not by_id:
        return {}
    values = _values(user, domains, by_id)
    states = {row["id"]: row for row in await tx.rows(_STATES, values)}
    told: dict[UUID, Told] = {node_id: Told() for node_id in by_id}
    for row in await tx.rows(_TOLD, values):
        _add(told[row["id"]], row)
    for row in await tx.rows(_LEGACY_NAMES, values):
        state = states.get(row["id"])
        if state is None or state["closed"]:
            continue
        told[row["id"]].aliases.add(row["alias"])
        if row["kind"] == "email":
            told[row["id"]].emails.append(row["alias"])
    shown: dict[UUID, tuple[nodes.Node, Told]] = {}
    for node_id, node in by_id.items():
        state = states.get(node_id)
        if state is not None and state["shows"]:
            what = told[node_id]
            what.whole = not state["closed"]
            shown[node_id] = (_as_told(node, what, state), what)
    return shown


def _values(
    user: db.HasUser, domains: Collection[str], ids: Iterable[UUID]
) -> dict[str, Any]:
    return {"user": user.user_id, "domains": list(domains), "ids": list(ids)}


def _add(told: Told, row: Mapping[str, Any]) -> None:
    told.names += row["names"]
    told.emails += row["emails"]
    told.aliases.update(row["aliases"])
    told.types.add(row["type"])
    told.descriptions.add(row["description"])
    told.properties.append(row["properties"])


def _as_told(node: nodes.Node, told: Told, state: Mapping[str, Any]) -> nodes.Node:
    links = int(state["links"])
    salience = min(1.0, math.log(1 + links) / math.log(1 + _MANY_LINKS))
    node = replace(node, links=links, salience=min(node.salience, salience))
    if node.domain is not None or told.whole:
        return node
    if not state["attested"]:  # and made by hand: its name is, and no more is known
        name = node.name if node.created_by == "user" else _OWNER_NAME
        told.aliases.add(keys.normalised(name))
        return replace(node, name=name, description="", properties={})
    return replace(
        node,
        name=_name(node, told),
        type=node.type if node.type in told.types else "",
        description=node.description if node.description in told.descriptions else "",
        properties=_told_properties(node.properties, told.properties),
    )


def _name(node: nodes.Node, told: Told) -> str:
    """The node's own name where it is told, and else the longest that is."""
    if {keys.normalised(node.name), node.name.strip().lower()} & told.aliases:
        return node.name
    longest = max(
        told.names, key=lambda name: (len(name.split()), len(name)), default=""
    )
    return longest or (told.emails[0] if told.emails else _OWNER_NAME)


def _told_properties(
    properties: Mapping[str, Any], told: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The properties whose values are told. Of texts of several lines, which several
    records have added to, those lines.
    """
    shown: dict[str, Any] = {}
    for name, value in properties.items():
        values = [given[name] for given in told if name in given]
        if value in values:
            shown[name] = value
        elif isinstance(value, str) and "\n" in value:
            lines = {line for text in values for line in str(text).split("\n")}
            kept = [line for line in value.split("\n") if line in lines]
            shown |= {name: "\n".join(kept)} if kept else {}
    return shown


async def redacted_links(
    tx: db.Transaction,
    user: db.HasUser,
    domains: Collection[str],
    candidates: Sequence[facts.Link],
) -> list[facts.Link]:
    """Those of some links that show by their evidence, with what that tells of them;
    their ends are not looked at.
    """
    if not candidates:
        return []
    values = _values(user, domains, (link.id for link in candidates))
    rows: dict[UUID, list[Mapping[str, Any]]] = {link.id: [] for link in candidates}
    for row in await tx.rows(_EVIDENCE, values):
        rows[row["id"]].append(row)
    shown = [_link_as_told(link, rows[link.id]) for link in candidates]
    return [link for link in shown if link is not None]


def _link_as_told(
    link: facts.Link, evidence: Sequence[Mapping[str, Any]]
) -> facts.Link | None:
    read = [row for row in evidence if row["read"]]
    closed = [row for row in evidence if not row["read"]]
    if not closed:
        return link
    by_hand = link.link_type == "manual"
    if not read and not by_hand:
        return None
    told = [row["properties"] for row in read if row["properties"] is not None]
    shown = _told_properties(link.properties, told)
    if by_hand and all(row["properties"] is not None for row in closed):
        for name, value in link.properties.items():
            if all(row["properties"].get(name) != value for row in closed):
                shown[name] = value
    return replace(link, properties=shown)


async def called(
    tx: db.Transaction,
    user: db.HasUser,
    domains: Collection[str],
    aliases: Sequence[str],
) -> list[UUID]:
    """The nodes that some normalised names or addresses are told of."""
    values = _values(user, domains, ()) | {"aliases": list(aliases)}
    return [row["id"] for row in await tx.rows(_CALLED, values)]


_OF_KIND = f"""
FROM node WHERE node.user_id = %(user)s AND {nodes.LIVE} AND (%(kind)s::text IS NULL OR node.kind = %(kind)s)
    AND (%(kind)s IS NOT NULL OR node.kind <> 'source') AND (%(type)s::text IS NULL OR node.type = %(type)s)
    AND (%(name)s::text IS NULL OR {NAMED_LIKE}) AND {NODE_SHOWS}
"""
_LIST = f"SELECT {nodes.COLUMNS} {_OF_KIND} ORDER BY node.links DESC, node.id LIMIT %(limit)s OFFSET %(offset)s"
_COUNT = f"SELECT count(*) {_OF_KIND}"
_KINDS = f"""
SELECT node.kind AS name, count(*) AS count FROM node
WHERE node.user_id = %(user)s AND {nodes.LIVE} AND {NODE_SHOWS} GROUP BY node.kind ORDER BY node.kind
"""
_RELATIONS = f"""
WITH shown AS MATERIALIZED (SELECT node.id FROM node WHERE node.user_id = %(user)s AND {nodes.LIVE} AND {NODE_SHOWS})
SELECT link.relation AS name, count(*) AS count FROM link
WHERE link.user_id = %(user)s AND {link_rows.LIVE} AND {LINK_SHOWS}
    AND link.from_id IN (SELECT id FROM shown) AND link.to_id IN (SELECT id FROM shown)
GROUP BY link.relation ORDER BY link.relation
"""


async def listed(
    tx: db.Transaction,
    user: db.HasUser,
    domains: Collection[str],
    *,
    kind: str | None,
    type_: str | None = None,
    name: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> tuple[list[tuple[nodes.Node, Told]], int]:
    """Nodes that show, as they show, those with most links first; and how many there
    are.
    """
    values = _values(user, domains, ()) | {
        "kind": kind,
        "type": type_,
        "name": lookups.pattern(name) if name else None,
        "limit": limit,
        "offset": offset,
    }
    page = await tx.all(nodes.Node, _LIST, values)
    shown = await redacted(tx, user, domains, page)
    of_type = [
        shown[node.id]
        for node in page
        if node.id in shown and type_ in (None, shown[node.id][0].type)
    ]
    return of_type, int(await tx.value(_COUNT, values))


async def counts(
    tx: db.Transaction, user: db.HasUser, domains: Collection[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """How many nodes of each kind and links of each relation show."""
    values = _values(user, domains, ())
    kinds = await tx.rows(_KINDS, values)
    relations = await tx.rows(_RELATIONS, values)
    return (
        {row["name"]: row["count"] for row in kinds},
        {row["name"]: row["count"] for row in relations},
    )
