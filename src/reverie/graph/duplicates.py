"""Nodes that may be one: suggested with the reasons, and never merged here."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.graph import links, merging, nodes, visibility
from reverie.graph.resolution import keys, matching

KINDS: tuple[nodes.Kind, ...] = ("person", "concept", "entity")
# Two that nearly always stand in the same records may be one by two names: so many
# records, and this share of all.
_TOGETHER, _SHARE = 5, 0.8
_PROFILES = f"""
SELECT node.id, node.name, node.properties, node.links,
    array_agg(alias.alias ORDER BY alias.alias) FILTER (WHERE alias.kind = 'name') AS names,
    array_agg(alias.alias ORDER BY alias.alias) FILTER (WHERE alias.kind = 'email') AS emails
FROM node LEFT JOIN alias ON alias.user_id = node.user_id AND alias.node_id = node.id
WHERE node.user_id = %s AND node.kind = %s AND {nodes.LIVE} GROUP BY node.user_id, node.id ORDER BY node.id
"""
_SAID_TOGETHER = f"""
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
    rows = await tx.rows(_PROFILES, (caller.user_id, kind))
    apart = await merging.kept_apart(tx, caller)
    found = await asyncio.to_thread(
        matching.candidates, [_profile(kind, row) for row in rows]
    )
    pairs: dict[tuple[UUID, UUID], tuple[float, bool, tuple[str, ...]]] = {}
    for i, j, verdict in found:
        pairs[_pair(rows[i]["id"], rows[j]["id"])] = (
            verdict.score,
            verdict.automatic,
            verdict.reasons,
        )
    for pair, common, share in await _together(tx, caller, kind):
        score, certain, reasons = pairs.get(pair, (keys.SAME, False, ()))
        if reasons or share >= _SHARE:
            pairs[pair] = (score, certain, (*reasons, f"{common} records in common"))
    ranked = sorted(pairs.items(), key=lambda one: (-one[1][1], -one[1][0], one[0]))
    wanted = [one for one in ranked if one[0] not in apart][:limit]
    return _told(
        await nodes.several(tx, caller, [node for pair, _ in wanted for node in pair]),
        wanted,
    )


def _told(
    there: dict[UUID, nodes.Node],
    wanted: Iterable[tuple[tuple[UUID, UUID], tuple[float, bool, tuple[str, ...]]]],
) -> list[Duplicate]:
    made: list[Duplicate] = []
    for pair, (score, certain, reasons) in wanted:
        first, second = sorted(
            (there[one] for one in pair),
            key=lambda one: (not one.is_owner, -one.links, one.id),
        )
        made.append(Duplicate(first, second, score, certain, reasons))
    return made


async def _together(
    tx: db.Transaction, caller: callers.Caller, kind: nodes.Kind
) -> Sequence[tuple[tuple[UUID, UUID], int, float]]:
    """Pairs that stand in the same records: how many, and which share of all records of
    either.
    """
    domains = list(visibility.open_to(caller))
    values = {
        "user": caller.user_id,
        "kind": kind,
        "least": _TOGETHER,
        "domains": domains,
    }
    rows = await tx.rows(_SAID_TOGETHER, values)
    return [
        (_pair(row["first"], row["second"]), row["common"], row["common"] / row["any"])
        for row in rows
    ]


def _profile(kind: nodes.Kind, row: dict[str, Any]) -> matching.Profile:
    own = keys.normalised(row["name"])
    called = [one for one in (row["name"], *(row["names"] or ())) if "@" not in one]
    return matching.Profile(
        kind,
        tuple(one for number, one in enumerate(called) if number == 0 or one != own),
        emails=tuple(row["emails"] or ()),
        birthday=str(row["properties"].get("birthday") or ""),
    )


def _pair(a: UUID, b: UUID) -> tuple[UUID, UUID]:
    return (a, b) if a < b else (b, a)
