"""Attestations (provenance of nodes): which record calls a node what, and what it tells
of it; written here alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from reverie import db
from reverie.graph import node_data
from reverie.graph.resolution import keys

BY_HAND = UUID(int=0)
"""Stands for the record of what somebody has said by hand."""

_INSERT = """
INSERT INTO attestation (user_id, node_id, record_id, by, names, emails, aliases, type, description, properties)
SELECT %(user)s, new.node, %(record)s, %(by)s, new.names, new.emails, new.aliases, new.type, new.description,
    new.properties
FROM jsonb_to_recordset(%(said)s::jsonb) AS new (node uuid, names text[], emails text[], aliases text[], type text,
    description text, properties jsonb)
ON CONFLICT (user_id, node_id, record_id, by) DO UPDATE SET
"""
_KEEP = f"""
WITH unsaid AS (
    DELETE FROM attestation WHERE user_id = %(user)s AND record_id = %(record)s AND by = %(by)s
        AND NOT (node_id = ANY(%(nodes)s))
) {_INSERT}
    names = excluded.names, emails = excluded.emails, aliases = excluded.aliases, type = excluded.type,
    description = excluded.description, properties = excluded.properties
"""
_ADD = f"""
{_INSERT}
    names = attestation.names || excluded.names, emails = attestation.emails || excluded.emails,
    aliases = attestation.aliases || excluded.aliases,
    type = coalesce(nullif(excluded.type, ''), attestation.type),
    description = coalesce(nullif(excluded.description, ''), attestation.description),
    properties = attestation.properties || excluded.properties
"""
_WITHDRAW = "DELETE FROM attestation WHERE user_id = %s AND record_id = %s"


@dataclass(frozen=True, slots=True)
class Attestation:
    """What somebody calls a node, and what they tell of it."""

    node_id: UUID
    names: Sequence[str] = ()
    emails: Sequence[str] = ()
    type: str = ""
    description: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def keep(
    tx: db.Transaction,
    user: db.HasUser,
    record_id: UUID,
    said: Iterable[Attestation],
    *,
    by: node_data.By,
) -> None:
    """A record, as somebody reads it, says this of nodes and no more."""
    by_node: dict[UUID, Attestation] = {}
    for attestation in said:
        before = by_node.get(attestation.node_id)
        both = attestation if before is None else _joined(before, attestation)
        by_node[attestation.node_id] = both
    values = _values(user, record_id, by, list(by_node.values()))
    await tx.run(_KEEP, values | {"nodes": list(by_node)})


def _joined(first: Attestation, second: Attestation) -> Attestation:
    return Attestation(
        first.node_id,
        (*first.names, *second.names),
        (*first.emails, *second.emails),
        second.type or first.type,
        second.description or first.description,
        {**first.properties, **second.properties},
    )


async def add(
    tx: db.Transaction,
    user: db.HasUser,
    record_id: UUID,
    attestation: Attestation,
    *,
    by: node_data.By,
) -> None:
    """A record says this of a node, too."""
    await tx.run(_ADD, _values(user, record_id, by, [attestation]))


async def withdraw(tx: db.Transaction, user: db.HasUser, record_id: UUID) -> None:
    """A record is gone: it says nothing any more."""
    await tx.run(_WITHDRAW, (user.user_id, record_id))


def _values(
    user: db.HasUser,
    record_id: UUID,
    by: node_data.By,
    said: Sequence[Attestation],
) -> dict[str, Any]:
    rows = [_row(attestation) for attestation in said]
    return {
        "user": user.user_id,
        "record": record_id,
        "by": by,
        "said": db.json(rows),
    }


def _row(attestation: Attestation) -> dict[str, Any]:
    names = [name for name in dict.fromkeys(attestation.names) if name]
    emails = [email.strip().lower() for email in dict.fromkeys(attestation.emails)]
    aliases = dict.fromkeys([*map(keys.normalised, names), *emails])
    return {
        "node": str(attestation.node_id),
        "names": names,
        "emails": emails,
        "aliases": [alias for alias in aliases if alias],
        "type": attestation.type,
        "description": attestation.description,
        "properties": dict(attestation.properties),
    }
