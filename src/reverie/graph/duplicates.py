"""Duplicate nodes (entity resolution): suggested with reasons, never merged here."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.graph import links, merging, nodes, redaction, visibility
from reverie.graph.resolution import keys, matching

KINDS: tuple[nodes.Kind, ...] = ("person", "concept", "entity")
# Two that nearly always stand in the same records may be one by two names: so many
# records, and this share of all.
# Set by hand; no bench measures it.
_LEAST_COMMON, _LEAST_SHARE = 5, 0.8
_PROFILES = f"""
SELECT node.id, node.name, node.properties, node.links,
    array_agg(alias.alias ORDER BY alias.alias) FILTER (WHERE alias.kind = 'name') AS names,
    array_agg(alias.alias ORDER BY alias.alias) FILTER (WHERE alias.kind = 'email') AS emails
FROM node LEFT JOIN alias ON alias.user_id = node.user_id AND alias.node_id = node.id
WHERE node.user_id = %s AND node.kind = %s AND {nodes.LIVE} GROUP BY node.user_id, node.id ORDER BY node.id
"""
_CO_OCCURRENCES = f"""
WITH said AS (
    SELECT DISTINCT node.id, link.from_id AS record FROM link
    JOIN node ON node.user_id = link.user_id AND node.id = link.to_id AND node.kind = %(kind)s AND {nodes.LIVE}
    JOIN node AS record ON record.user_id = link.user_id AND record.id = link.from_id
        AND (record.domain IS NULL OR record.domain = ANY(%(domains)s))
    WHERE link.user_id = %(user)s AND link.relation IN ('mentions', 'attended_by') AND {links.LIVE}
), often AS (
    SELECT id, record, count(*) OVER (PARTITION BY id) AS times FROM said
)
SELECT a.id AS first, b.id AS second, count(*) AS common, a.times + b.times - count(*) AS any
FROM often AS a JOIN often AS b ON b.record = a.record AND b.id > a.id AND b.times >= %(least)s
WHERE a.times >= %(least)s GROUP BY a.id, b.id, a.times, b.times HAVING count(*) >= %(least)s
"""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two nodes, the one with more links first; how likely they are one, and why.
    `certain`: by a key of their own.
    """

    first: nodes.Node
    second: nodes.Node
    score: float
    certain: bool
    reasons: tuple[str, ...]


async def suggested(
    tx: db.Transaction, caller: callers.Caller, kind: nodes.Kind, *, limit: int = 50
) -> list[Duplicate]:
    """The likeliest first, without those that somebody has said are two."""
    rows = await _rows(tx, caller, kind)
    apart = await merging.kept_apart(tx, caller)
    profiles = [_profile(kind, row) for row in rows]
    pairs: dict[tuple[UUID, UUID], matching.Verdict] = {}
    for i, j, verdict in await asyncio.to_thread(matching.candidates, profiles):
        pairs[_pair(rows[i]["id"], rows[j]["id"])] = verdict
    for pair, common, share in await _co_occurring(tx, caller, kind):
        verdict = pairs.get(pair)
        if verdict is None:
            verdict = matching.Verdict(keys.SAME, certain=False, reasons=())
        if verdict.reasons or share >= _LEAST_SHARE:
            reasons = (*verdict.reasons, f"{common} records in common")
            pairs[pair] = replace(verdict, reasons=reasons)
    ranked = sorted(
        pairs.items(), key=lambda item: (-item[1].certain, -item[1].score, item[0])
    )
    shown = {row["id"] for row in rows}
    likeliest = [
        item for item in ranked if item[0] not in apart and shown.issuperset(item[0])
    ][:limit]
    ids = [node_id for pair, _ in likeliest for node_id in pair]
    by_id = await visibility.several(tx, caller, ids)
    return [_duplicate(by_id, pair, verdict) for pair, verdict in likeliest]


async def _rows(
    tx: db.Transaction, caller: callers.Caller, kind: nodes.Kind
) -> list[dict[str, Any]]:
    """The nodes of a kind that show, with the names and addresses by which they do."""
    if visibility.sees_all(caller):
        return await tx.rows(_PROFILES, (caller.user_id, kind))
    domains = visibility.open_to(caller)
    shown, _ = await redaction.listed(tx, caller, domains, kind=kind)
    return [
        {
            "id": node.id,
            "name": node.name,
            "properties": node.properties,
            "names": [alias for alias, kind_ in told.spelled if kind_ == "name"],
            "emails": [alias for alias, kind_ in told.spelled if kind_ == "email"],
        }
        for node, told in sorted(shown, key=lambda entry: entry[0].id)
    ]


def _duplicate(
    by_id: dict[UUID, nodes.Node], pair: tuple[UUID, UUID], verdict: matching.Verdict
) -> Duplicate:
    first, second = sorted(
        (by_id[node_id] for node_id in pair),
        key=lambda node: (not node.is_owner, -node.links, node.id),
    )
    return Duplicate(first, second, verdict.score, verdict.certain, verdict.reasons)


async def _co_occurring(
    tx: db.Transaction, caller: callers.Caller, kind: nodes.Kind
) -> Sequence[tuple[tuple[UUID, UUID], int, float]]:
    """Pairs that stand in the same records: how many, and which share of all records of
    either.
    """
    domains = list(visibility.open_to(caller))
    values = {
        "user": caller.user_id,
        "kind": kind,
        "least": _LEAST_COMMON,
        "domains": domains,
    }
    rows = await tx.rows(_CO_OCCURRENCES, values)
    return [
        (_pair(row["first"], row["second"]), row["common"], row["common"] / row["any"])
        for row in rows
    ]


def _profile(kind: nodes.Kind, row: dict[str, Any]) -> matching.Profile:
    own = keys.normalised(row["name"])
    names = [name for name in (row["name"], *(row["names"] or ())) if "@" not in name]
    # The node's own name stands among its aliases too, normalised.
    others = [name for name in names[1:] if name != own]
    return matching.Profile(
        kind,
        (*names[:1], *others),
        emails=tuple(row["emails"] or ()),
        birthday=str(row["properties"].get("birthday") or ""),
    )


def _pair(a: UUID, b: UUID) -> tuple[UUID, UUID]:
    return (a, b) if a < b else (b, a)
