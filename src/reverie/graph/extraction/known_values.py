"""What the graph already knows by name, as the readers of texts want it."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from reverie import db
from reverie.graph import nodes
from reverie.graph.extraction import gazetteer, mentions

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
_GIVEN = f"""
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
_cache: dict[UUID, tuple[int, gazetteer.Gazetteer]] = {}
_MOST_USERS = 8


async def meant(
    tx: db.Transaction, user: db.HasUser, names: Sequence[str]
) -> dict[str, str]:
    """The key of the node that each of some normalised names means: a whole name, or a
    person's given name alone.
    """
    words = [one for one in names if " " not in one and len(one) >= _SHORTEST]
    values = {
        "user": user.user_id,
        "names": list(names),
        "words": words,
        "most": _MOST_NAMESAKES,
    }
    whole, given = await tx.together((_MEANT, values), (_GIVEN, values))
    return {row["name"]: row["key"] for row in (*given, *whole)}


async def of(tx: db.Transaction, user: db.HasUser) -> gazetteer.Gazetteer:
    """Every node with the names that are its alone; a person's given name, too, if
    nobody else has it.

    A tenth of a second for ten thousand nodes, once a version of the graph: for whoever
    reads many texts.
    """
    version = await nodes.version(tx, user)
    held = _cache.get(user.user_id)
    if held is not None and held[0] == version:
        return held[1]
    rows = await tx.rows(_NODES, (user.user_id,))
    times = Counter(alias for row in rows for alias in row["aliases"])
    given = Counter(
        row["name"].split()[0].lower() for row in rows if row["kind"] == "person"
    )
    made: list[mentions.KnownNode] = []
    for row in rows:
        own = [
            alias for alias in row["aliases"] if times[alias] == 1 and "@" not in alias
        ]
        first = row["name"].split()[0]
        if (
            row["kind"] == "person"
            and " " in row["name"]
            and given[first.lower()] == 1
            and len(first) >= _SHORTEST
        ):
            own.append(first)
        if own and "@" not in row["name"]:
            made.append(
                mentions.KnownNode(
                    row["key"], row["kind"], row["name"], row["type"], tuple(own)
                )
            )
    while len(_cache) >= _MOST_USERS:
        _cache.pop(next(iter(_cache)))
    found = gazetteer.of(made)
    _cache[user.user_id] = (version, found)
    return found
