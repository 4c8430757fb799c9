"""Snapshot of a user's graph, as a caller sees it: the rows of a projection for Cypher."""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID, uuid5

from reverie import db
from reverie.access import callers
from reverie.graph import links, nodes, visibility
from reverie.graph.cypher import projection

_NODES = (
    f"SELECT {nodes.COLUMNS} FROM node WHERE user_id = %s AND {nodes.LIVE} ORDER BY id"
)
_LINKS = f"""
SELECT {links.COLUMNS} FROM link WHERE user_id = %s AND {links.LIVE} ORDER BY id
"""


def held_by(user: db.HasUser, domains: Collection[str]) -> UUID:
    """Whose projection it is: of a user, as seen by a caller that may read these
    domains.
    """
    return uuid5(user.user_id, ",".join(sorted(domains)))


async def rows(
    tx: db.Transaction, caller: callers.Caller
) -> tuple[list[projection.ProjectedNode], list[projection.ProjectedEdge]]:
    """Every node and link that is live and shows to the caller, as it shows."""
    every_node = await tx.all(nodes.Node, _NODES, (caller.user_id,))
    visible = (await visibility.permitted(tx, caller, every_node)).values()
    keys = {node.id: node.key for node in visible}
    between = [
        link
        for link in await tx.all(links.Link, _LINKS, (caller.user_id,))
        if link.from_id in keys and link.to_id in keys
    ]
    shown = await visibility.permitted_links(tx, caller, between)
    edges = [_edge(link, keys) for link in shown]
    return [_node(node) for node in visible], edges


def _edge(link: links.Link, keys: Mapping[UUID, str]) -> projection.ProjectedEdge:
    return projection.ProjectedEdge(
        keys[link.from_id],
        keys[link.to_id],
        link.relation,
        link_type=link.link_type,
        confidence=link.confidence,
        valid_from=link.valid_from,
        valid_to=link.valid_to,
        properties=_flat(link.properties),
    )


def _node(node: nodes.Node) -> projection.ProjectedNode:
    properties: dict[str, Any] = _flat(node.properties)
    properties |= {"salience": node.salience, "links": node.links}
    if node.is_owner:
        properties["is_owner"] = True
    if node.record_id:
        properties |= {"record": str(node.record_id), "domain": node.domain}
    return projection.ProjectedNode(
        node.key,
        node.kind.capitalize(),
        name=node.name,
        type=node.type,
        description=node.description,
        properties=properties,
    )


def _flat(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as a column can hold them: what is nested becomes JSON."""
    flat = dict(properties)
    for name, value in properties.items():
        if isinstance(value, dict):
            flat[name] = json.dumps(value, ensure_ascii=False)
    return flat
