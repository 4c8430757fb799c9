"""A user's whole graph as rows, for the projection that Cypher is asked on."""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID, uuid5

from reverie import db
from reverie.graph import links, nodes
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
    tx: db.Transaction, user: db.HasUser, domains: Collection[str]
) -> tuple[list[projection.ProjectedNode], list[projection.ProjectedEdge]]:
    """Every node and link that is live, without the records of other domains and what
    leads to them.
    """
    found = [
        one
        for one in await tx.all(nodes.Node, _NODES, (user.user_id,))
        if one.domain in (None, *domains)
    ]
    keys = {one.id: one.key for one in found}
    edges = [
        projection.ProjectedEdge(
            keys[one.from_id],
            keys[one.to_id],
            one.relation,
            link_type=one.link_type,
            confidence=one.confidence,
            valid_from=one.valid_from,
            valid_to=one.valid_to,
            properties=_flat(one.properties),
        )
        for one in await tx.all(links.Link, _LINKS, (user.user_id,))
        if one.from_id in keys and one.to_id in keys
    ]
    return [_node(one) for one in found], edges


def _node(one: nodes.Node) -> projection.ProjectedNode:
    told: dict[str, Any] = _flat(one.properties) | {
        "salience": one.salience,
        "links": one.links,
    }
    if one.is_owner:
        told["is_owner"] = True
    if one.record_id:
        told |= {"record": str(one.record_id), "domain": one.domain}
    return projection.ProjectedNode(
        one.key,
        one.kind.capitalize(),
        name=one.name,
        type=one.type,
        description=one.description,
        properties=told,
    )


def _flat(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as a column can hold them: what is nested becomes JSON."""
    return {
        name: json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict)
        else value
        for name, value in properties.items()
    }
