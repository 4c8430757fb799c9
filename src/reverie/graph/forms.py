"""JSON forms (serialisation) of nodes, links and merges, for API, tools and CLI."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from reverie.graph import duplicates, merging, nodes, visibility

_MOST_PROOFS = 20


def brief(node_: nodes.Node) -> dict[str, Any]:
    """A node by its name."""
    form: dict[str, Any] = {
        "id": str(node_.id),
        "kind": node_.kind,
        "name": node_.name,
        "type": node_.type,
    }
    if node_.record_id is not None:
        form |= {"domain": node_.domain, "record_id": str(node_.record_id)}
    return form


def node(node_: nodes.Node) -> dict[str, Any]:
    """A node with all its properties."""
    return brief(node_) | {
        "key": node_.key,
        "description": node_.description,
        "properties": node_.properties,
        "is_owner": node_.is_owner,
        "created_by": node_.created_by,
        "links": node_.links,
        "salience": round(node_.salience, 4),
        "created_at": _moment(node_.created_at),
        "updated_at": _moment(node_.updated_at),
    }


def link(shown: visibility.Shown) -> dict[str, Any]:
    """A link with both ends' names and the records that say so."""
    proof = [
        {
            "record_id": str(record.record_id),
            "domain": record.domain,
            "title": record.title,
            "at": _moment(record.at),
            "passage": record.ordinal,
        }
        for record in shown.proof[:_MOST_PROOFS]
    ]
    return {
        "id": str(shown.link.id),
        "from": brief(shown.begin),
        "relation": shown.link.relation,
        "to": brief(shown.end),
        "link_type": shown.link.link_type,
        "confidence": round(shown.link.confidence, 4),
        "created_by": shown.link.created_by,
        "properties": shown.link.properties,
        "valid_from": _moment(shown.link.valid_from),
        "valid_to": _moment(shown.link.valid_to),
        "heat": round(shown.link.heat, 4),
        "evidence": proof,
        "evidence_count": len(shown.proof),
    }


def whole(whole_: visibility.Whole) -> dict[str, Any]:
    """A node with everything at it."""
    return node(whole_.node) | {
        "names": [alias for alias, kind in whole_.aliases if kind == "name"],
        "emails": [alias for alias, kind in whole_.aliases if kind == "email"],
        "linked": [link(shown) for shown in whole_.links],
        "more_links": whole_.more,
        "merge_history": [
            merge(entry, whole_.merged.get(entry.loser_id)) for entry in whole_.history
        ],
    }


def merge(entry: merging.MergeEntry, loser: str | None = None) -> dict[str, Any]:
    """A merge, with the name of the node that went into the other."""
    form = {
        "id": str(entry.id),
        "winner": str(entry.winner_id),
        "loser": str(entry.loser_id),
    }
    form |= {"loser_name": loser} if loser else {}
    return form | {
        "by": entry.by,
        "at": _moment(entry.at),
        "undone_at": _moment(entry.undone_at),
    }


def reached(reached_: visibility.Reached) -> dict[str, Any]:
    """A node near another, and the link that leads there."""
    via = {
        "id": str(reached_.link.id),
        "from": str(reached_.link.from_id),
        "relation": reached_.link.relation,
        "to": str(reached_.link.to_id),
    }
    return node(reached_.node) | {"depth": reached_.depth, "via": via}


def path(
    path_: tuple[Sequence[nodes.Node], Sequence[visibility.Shown]] | None,
) -> dict[str, Any]:
    """A path from node to node; without one, an empty one."""
    path_nodes, path_links = path_ or ((), ())
    return {
        "found": path_ is not None,
        "length": len(path_links) if path_ else None,
        "nodes": [brief(step) for step in path_nodes],
        "steps": [link(shown) for shown in path_links],
    }


def double(duplicate: duplicates.Duplicate) -> dict[str, Any]:
    """Two nodes that may be duplicate, and why."""
    return {
        "first": node(duplicate.first),
        "second": node(duplicate.second),
        "score": round(duplicate.score, 4),
        "certain": duplicate.certain,
        "reasons": list(duplicate.reasons),
    }


def _moment(value: datetime | None) -> str | None:
    return value.isoformat().replace("+00:00", "Z") if value else None
