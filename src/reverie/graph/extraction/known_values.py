"""Known values: gazetteer of the graph's own names, and what names in a query mean."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from reverie import db
from reverie.graph import nodes
from reverie.graph.extraction import gazetteer, given_names

# A given name of fewer letters means nobody; of more namesakes none is looked at.
_SHORTEST, _MOST_NAMESAKES = 3, 50
_NODES = f"""
SELECT node.key, node.kind, node.name, node.type, array_agg(alias.alias) AS aliases
FROM node JOIN alias ON alias.user_id = node.user_id AND alias.node_id = node.id AND alias.kind = 'name'
WHERE node.user_id = %s AND {nodes.LIVE} AND node.kind IN ('person', 'entity', 'concept')
    AND NOT (node.is_owner AND node.name = 'owner')
GROUP BY node.user_id, node.id ORDER BY node.id
"""
# A name that is one node's alone; a given name that one person alone has. Only the
# question's own words are looked up.
_MEANT = f"""
SELECT alias.alias AS name, min(node.key) AS key FROM alias
JOIN node ON node.user_id = alias.user_id AND node.id = alias.node_id
WHERE alias.user_id = %(user)s AND alias.kind = 'name' AND alias.alias = ANY(%(names)s) AND {nodes.LIVE}
    AND node.kind IN ('person', 'entity', 'concept') AND NOT (node.is_owner AND node.name = 'owner')
GROUP BY alias.alias HAVING count(*) = 1
"""
_MEANT_BY_GIVEN_NAME = f"""
SELECT asked.word AS name, min(node.key) AS key
FROM unnest(%(words)s::text[]) AS asked (word)
CROSS JOIN LATERAL (
    SELECT alias.node_id FROM alias WHERE alias.user_id = %(user)s AND alias.kind = 'name'
        AND alias.alias >= asked.word || ' ' AND alias.alias < asked.word || '!'
    ORDER BY alias.alias LIMIT %(most)s
) AS named
JOIN node ON node.user_id = %(user)s AND node.id = named.node_id AND node.kind = 'person' AND {nodes.LIVE}
GROUP BY asked.word HAVING count(DISTINCT node.id) = 1
"""
# The gazetteer of a user by the version of the graph, for so many users.
_cache: dict[UUID, tuple[int, gazetteer.Gazetteer]] = {}
_MOST_USERS = 8


async def meant(
    tx: db.Transaction, user: db.HasUser, names: Sequence[str]
) -> dict[str, str]:
    """The key of the node that each of some normalised names means: a whole name, or a
    person's given name alone.
    """
    words = [name for name in names if " " not in name and len(name) >= _SHORTEST]
    values = {
        "user": user.user_id,
        "names": list(names),
        "words": words,
        "most": _MOST_NAMESAKES,
    }
    by_whole_name, by_given_name = await tx.together(
        (_MEANT, values), (_MEANT_BY_GIVEN_NAME, values)
    )
    return {row["name"]: row["key"] for row in (*by_given_name, *by_whole_name)}


async def of(tx: db.Transaction, user: db.HasUser) -> gazetteer.Gazetteer:
    """Every node with the names that are its alone; a person's given name, too, if
    nobody else has it.

    A tenth of a second for ten thousand nodes, once a version of the graph: for whoever
    reads many texts.
    """
    version = await nodes.version(tx, user)
    cached = _cache.get(user.user_id)
    if cached is not None and cached[0] == version:
        return cached[1]
    names = gazetteer.of(_known_nodes(await tx.rows(_NODES, (user.user_id,))))
    while len(_cache) >= _MOST_USERS:
        _cache.pop(next(iter(_cache)))
    _cache[user.user_id] = (version, names)
    return names


def _known_nodes(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[gazetteer.KnownNode]:
    """The nodes that have a name of their own."""
    times = Counter(alias for row in rows for alias in row["aliases"])
    given_times = Counter(
        _given_name(row).lower() for row in rows if row["kind"] == "person"
    )
    for row in rows:
        if "@" in row["name"]:
            continue
        names = [
            alias
            for alias in row["aliases"]
            if times[alias] == 1 and "@" not in alias and _tells(row, alias)
        ]
        if _known_by_given_name(row, given_times):
            names.append(_given_name(row))
        if names:
            # A node is found by its names alone: the one it shows may tell nothing.
            shown = row["name"] if _tells(row, row["name"]) else names[0]
            yield gazetteer.KnownNode(
                row["key"], row["kind"], shown, row["type"], tuple(names)
            )


def _tells(row: Mapping[str, Any], name: str) -> bool:
    """Whether a name alone says who is meant: no person's that is one word and means
    something else as well.
    """
    if row["kind"] != "person" or " " in name.strip():
        return True
    return not given_names.ambiguous(name)


def _known_by_given_name(row: Mapping[str, Any], times: Mapping[str, int]) -> bool:
    """Whether nobody else has a person's given name, and it means nothing else."""
    if row["kind"] != "person" or " " not in row["name"]:
        return False
    name = _given_name(row)
    known = len(name) >= _SHORTEST and times[name.lower()] == 1
    return known and not given_names.ambiguous(name)


def _given_name(row: Mapping[str, Any]) -> str:
    """The first word of a name."""
    return str(row["name"]).split()[0]
