"""What the graph already knows by name, as the readers of texts want it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from reverie import db
from reverie.graph import gazetteer, names, nodes, spotting

_SHORTEST = 3
_NODES = f"""
SELECT node.key, node.kind, node.name, node.type, array_agg(alias.alias) AS aliases
FROM node JOIN alias ON alias.user_id = node.user_id AND alias.node_id = node.id AND alias.kind = 'name'
WHERE node.user_id = %s AND {nodes.LIVE} AND node.kind IN ('person', 'entity', 'concept')
    AND NOT (node.is_owner AND node.name = 'owner')
GROUP BY node.user_id, node.id ORDER BY node.id
"""
_cache: dict[UUID, "_Kept"] = {}
_MOST_USERS = 8


@dataclass(frozen=True, slots=True)
class _Kept:
    version: int
    gazetteer: gazetteer.Gazetteer
    by_name: Mapping[str, str]


async def by_name(tx: db.Transaction, user: db.HasUser) -> Mapping[str, str]:
    """The key of the node that each normalised name means."""
    return (await _kept(tx, user)).by_name


async def of(tx: db.Transaction, user: db.HasUser) -> gazetteer.Gazetteer:
    """Every node with the names that are its alone; a person's given name, too, if nobody else has it."""
    return (await _kept(tx, user)).gazetteer


async def _kept(tx: db.Transaction, user: db.HasUser) -> _Kept:
    version = await nodes.version(tx, user)
    held = _cache.get(user.user_id)
    if held is not None and held.version == version:
        return held
    rows = await tx.rows(_NODES, (user.user_id,))
    times = Counter(alias for row in rows for alias in row["aliases"])
    given = Counter(row["name"].split()[0].lower() for row in rows if row["kind"] == "person")
    made: list[spotting.KnownNode] = []
    for row in rows:
        own = [alias for alias in row["aliases"] if times[alias] == 1 and "@" not in alias]
        first = row["name"].split()[0]
        if row["kind"] == "person" and " " in row["name"] and given[first.lower()] == 1 and len(first) >= _SHORTEST:
            own.append(first)
        if own and "@" not in row["name"]:
            made.append(spotting.KnownNode(row["key"], row["kind"], row["name"], row["type"], tuple(own)))
    while len(_cache) >= _MOST_USERS:
        _cache.pop(next(iter(_cache)))
    named = {names.normalised(name): one.key for one in made for name in one.other_names}
    kept = _cache[user.user_id] = _Kept(version, gazetteer.of(made), named)
    return kept
