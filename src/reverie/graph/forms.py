"""The JSON forms of nodes, links and merges: the same for the API, the tools and the
command line.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from reverie.graph import duplicates, merging, nodes, visibility

_PROOFS = 20


def brief(one: nodes.Node) -> dict[str, Any]:
    """A node by its name."""
    told: dict[str, Any] = {
        "id": str(one.id),
        "kind": one.kind,
        "name": one.name,
        "type": one.type,
    }
    if one.record_id is not None:
        told |= {"domain": one.domain, "record_id": str(one.record_id)}
    return told


def node(one: nodes.Node) -> dict[str, Any]:
    """A node with all its properties."""
    return brief(one) | {
        "key": one.key,
        "description": one.description,
        "properties": one.properties,
        "is_owner": one.is_owner,
        "created_by": one.created_by,
        "links": one.links,
        "salience": round(one.salience, 4),
        "created_at": _moment(one.created_at),
        "updated_at": _moment(one.updated_at),
    }


def link(one: visibility.Shown) -> dict[str, Any]:
    """A link with both ends' names and the records that say so."""
    proof = [
        {
            "record_id": str(record.record_id),
            "domain": record.domain,
            "title": record.title,
            "at": _moment(record.at),
            "passage": record.ordinal,
        }
        for record in one.proof[:_PROOFS]
    ]
    return {
        "id": str(one.link.id),
        "from": brief(one.begin),
        "relation": one.link.relation,
        "to": brief(one.end),
        "link_type": one.link.link_type,
        "confidence": round(one.link.confidence, 4),
        "created_by": one.link.created_by,
        "properties": one.link.properties,
        "valid_from": _moment(one.link.valid_from),
        "valid_to": _moment(one.link.valid_to),
        "heat": round(one.link.heat, 4),
        "evidence": proof,
        "evidence_count": len(one.proof),
    }


def whole(found: visibility.Whole) -> dict[str, Any]:
    """A node with everything at it."""
    return node(found.node) | {
        "names": [alias for alias, kind in found.aliases if kind == "name"],
        "emails": [alias for alias, kind in found.aliases if kind == "email"],
        "linked": [link(one) for one in found.links],
        "more_links": found.more,
        "merge_history": [
            merge(one, found.merged.get(one.loser_id)) for one in found.history
        ],
    }


def merge(one: merging.MergeEntry, loser: str | None = None) -> dict[str, Any]:
    """A merge, with the name of the node that went into the other."""
    told = {"id": str(one.id), "winner": str(one.winner_id), "loser": str(one.loser_id)}
    told |= {"loser_name": loser} if loser else {}
    return told | {
        "by": one.by,
        "at": _moment(one.at),
        "undone_at": _moment(one.undone_at),
    }


def reached(one: visibility.Reached) -> dict[str, Any]:
    """A node near another, and the link that leads there."""
    via = {
        "id": str(one.link.id),
        "from": str(one.link.from_id),
        "relation": one.link.relation,
        "to": str(one.link.to_id),
    }
    return node(one.node) | {"depth": one.depth, "via": via}


def path(
    found: tuple[Sequence[nodes.Node], Sequence[visibility.Shown]] | None,
) -> dict[str, Any]:
    """A path from node to node; without one, an empty one."""
    steps = found or ((), ())
    return {
        "found": found is not None,
        "length": len(steps[1]) if found else None,
        "nodes": [brief(one) for one in steps[0]],
        "steps": [link(one) for one in steps[1]],
    }


def double(one: duplicates.Duplicate) -> dict[str, Any]:
    """Two nodes that may be one, and why."""
    return {
        "first": node(one.first),
        "second": node(one.second),
        "score": round(one.score, 4),
        "certain": one.certain,
        "reasons": list(one.reasons),
    }


def _moment(value: datetime | None) -> str | None:
    return value.isoformat().replace("+00:00", "Z") if value else None
