"""Nodes of the graph, their aliases and salience: this module alone writes them."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from reverie import db, errors
from reverie.graph import links, node_data, relations, versions
from reverie.graph.resolution import keys

Kind = node_data.Kind
By = node_data.By
Node = node_data.Node
NodeDraft = node_data.NodeDraft

COLUMNS = (
    "node.id, node.key, node.kind, node.name, node.type, node.description, node.properties, node.is_owner,"
    " node.created_by, node.domain, node.record_id, node.links, node.salience, node.touched_at, node.created_at,"
    " node.updated_at"
)
bump, version = versions.bump, versions.version
LIVE = "node.deleted_at IS NULL AND node.merged_into IS NULL"
_GET = f"SELECT {COLUMNS} FROM node WHERE user_id = %s AND id = ANY(%s) AND {LIVE}"
_BY_KEY = f"""
SELECT {COLUMNS}, node.deleted_at IS NOT NULL AS gone, node.merged_into FROM node WHERE user_id = %s AND key = %s
"""
_ERASED = "SELECT key FROM erased WHERE user_id = %s AND key = ANY(%s)"
_GONE = """
SELECT DISTINCT alias.alias, node.kind FROM alias JOIN node ON node.user_id = alias.user_id AND node.id = alias.node_id
WHERE alias.user_id = %s AND alias.alias = ANY(%s) AND node.deleted_at IS NOT NULL
"""
_INSERT = f"""
INSERT INTO node (user_id, key, kind, name, type, description, properties, is_owner, created_by, domain, record_id,
    hash)
VALUES (%(user)s, %(key)s, %(kind)s, %(name)s, %(type)s, %(description)s, %(properties)s, %(owner)s, %(by)s,
    %(domain)s, %(record)s, %(hash)s)
ON CONFLICT DO NOTHING RETURNING {COLUMNS}
"""
LONGEST_NAME = 500
_ALIASES = """
INSERT INTO alias (user_id, alias, node_id, kind) SELECT %s, new.alias, %s, new.kind
FROM unnest(%s::text[], %s::text[]) AS new (alias, kind) ON CONFLICT DO NOTHING
"""
_FIND = f"""
SELECT alias.alias, {COLUMNS} FROM alias JOIN node ON node.user_id = alias.user_id AND node.id = alias.node_id
WHERE alias.user_id = %s AND alias.alias = ANY(%s) AND {LIVE} ORDER BY node.links DESC, node.id
"""
_WITHIN = """
WITH RECURSIVE up AS (
    SELECT id, merged_into FROM node WHERE user_id = %(user)s AND id = %(id)s
    UNION SELECT node.id, node.merged_into FROM node JOIN up ON node.id = up.merged_into WHERE node.user_id = %(user)s
)
SELECT id FROM up WHERE merged_into IS NULL
"""
_CHANGE = f"""
UPDATE node SET name = %(name)s, type = %(type)s, description = %(description)s, properties = %(properties)s,
    hash = %(hash)s, updated_at = now(), touched_at = now()
WHERE user_id = %(user)s AND id = %(id)s AND {LIVE} RETURNING {COLUMNS}
"""
_SOURCE = """
SELECT id, deleted_at IS NOT NULL AS gone
FROM node WHERE user_id = %s AND record_id = %s AND kind = 'source'
"""
_RETITLE = "UPDATE node SET name = %s, updated_at = now() WHERE user_id = %s AND id = %s AND name <> %s"
# Salience: from the number of links (fifty are as many as anybody needs) and from how
# lately it was touched, a half a quarter of a year.
_RECOUNT = """
WITH fresh AS MATERIALIZED (
    SELECT wanted.id, (
        SELECT count(*) FROM link WHERE link.user_id = %(user)s AND link.from_id = wanted.id
            AND link.deleted_at IS NULL AND link.hidden_by IS NULL
    ) + (
        SELECT count(*) FROM link WHERE link.user_id = %(user)s AND link.to_id = wanted.id
            AND link.deleted_at IS NULL AND link.hidden_by IS NULL
    ) AS count FROM unnest(%(ids)s::uuid[]) AS wanted (id)
)
UPDATE node SET links = fresh.count, touched_at = CASE WHEN %(touch)s THEN now() ELSE touched_at END,
    salience = least(1, ln(1 + fresh.count) / ln(51))
        * (0.5 + 0.5 * exp(-ln(2) / 90 * CASE WHEN %(touch)s THEN 0
            ELSE greatest(0, extract(epoch FROM now() - touched_at) / 86400) END))
FROM fresh WHERE node.user_id = %(user)s AND node.id = fresh.id AND node.id = ANY(%(ids)s)
"""
_COOL = """
UPDATE node SET salience = least(1, ln(1 + links) / ln(51))
    * (0.5 + 0.5 * exp(-ln(2) / 90 * greatest(0, extract(epoch FROM now() - touched_at) / 86400)))
WHERE user_id = %s
"""
_ORPHANS = f"""
SELECT {COLUMNS} FROM node WHERE user_id = %(user)s AND {LIVE} AND created_by <> 'user' AND NOT is_owner
    AND (%(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s))
    AND NOT EXISTS (SELECT FROM link WHERE link.user_id = node.user_id AND link.from_id = node.id)
    AND NOT EXISTS (SELECT FROM link WHERE link.user_id = node.user_id AND link.to_id = node.id)
    AND NOT EXISTS (SELECT FROM node AS other WHERE other.user_id = node.user_id AND other.merged_into = node.id)
ORDER BY node.id
"""
_OWNER = f"SELECT {COLUMNS} FROM node WHERE user_id = %s AND is_owner AND {LIVE} ORDER BY id LIMIT 1"
_DROP = "DELETE FROM node WHERE user_id = %s AND id = ANY(%s)"
_DELETE = f"UPDATE node SET deleted_at = now(), updated_at = now() WHERE user_id = %s AND id = %s AND {LIVE}"
_FAMILY = """
WITH RECURSIVE family AS (
    SELECT id FROM node WHERE user_id = %(user)s AND id = %(id)s AND merged_into IS NULL
    UNION SELECT node.id FROM node JOIN family ON node.merged_into = family.id WHERE node.user_id = %(user)s
)
SELECT node.id, node.key, node.kind, node.hash,
    ARRAY(SELECT alias FROM alias WHERE alias.user_id = node.user_id AND alias.node_id = node.id) AS aliases
FROM family JOIN node ON node.user_id = %(user)s AND node.id = family.id
"""
_OWN = "UPDATE node SET is_owner = (id = %(id)s) WHERE user_id = %(user)s AND (is_owner OR id = %(id)s)"
_REMEMBER = "INSERT INTO erased (user_id, key) SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING"
_INTO = "UPDATE node SET merged_into = %s, updated_at = now() WHERE user_id = %s AND id = %s"
_OWN_ALIASES = "SELECT alias, kind FROM alias WHERE user_id = %s AND node_id = %s ORDER BY kind, alias"
_UNALIAS = "DELETE FROM alias WHERE user_id = %s AND node_id = %s AND alias = ANY(%s)"
# What somebody has done by hand stays: merges, links, what was deleted, and the nodes
# these are about.
_FORGET = """
DELETE FROM node WHERE user_id = %s AND created_by <> 'user' AND NOT is_owner AND deleted_at IS NULL
    AND NOT EXISTS (SELECT FROM link WHERE link.user_id = node.user_id AND link.from_id = node.id
        AND (link.link_type = 'manual' OR link.deleted_at IS NOT NULL))
    AND NOT EXISTS (SELECT FROM link WHERE link.user_id = node.user_id AND link.to_id = node.id
        AND (link.link_type = 'manual' OR link.deleted_at IS NOT NULL))
    AND NOT EXISTS (SELECT FROM merge WHERE merge.user_id = node.user_id AND merge.winner_id = node.id)
    AND NOT EXISTS (SELECT FROM merge WHERE merge.user_id = node.user_id AND merge.loser_id = node.id)
    AND NOT EXISTS (SELECT FROM apart WHERE apart.user_id = node.user_id
        AND (apart.first_id = node.id OR apart.second_id = node.id))
"""


def missing() -> errors.NotFound:
    """The answer for a node that is unknown, foreign, deleted or merged."""
    return errors.NotFound(
        "There is no such node.", hint="It may have been deleted or merged."
    )


async def get(tx: db.Transaction, user: db.HasUser, node_id: UUID) -> Node:
    """One node. Raises NotFound, in the same words for a foreign id."""
    nodes = await several(tx, user, [node_id])
    if not nodes:
        raise missing()
    return nodes[node_id]


async def by_key(tx: db.Transaction, user: db.HasUser, key: str) -> Node | None:
    """The node of a key, or the one that it was merged into; None if there is none or
    it was deleted.
    """
    kept = await _by_key(tx, user, key)
    return kept[0] if kept else None


async def owner(tx: db.Transaction, user: db.HasUser) -> Node | None:
    """The owner's own node, if there is one."""
    return await tx.one(Node, _OWNER, (user.user_id,))


async def several(
    tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID]
) -> dict[UUID, Node]:
    """Some nodes by id; unknown ones are left out."""
    nodes = await tx.all(Node, _GET, (user.user_id, list(ids)))
    return {node.id: node for node in nodes}


async def find(
    tx: db.Transaction, user: db.HasUser, aliases: Iterable[str]
) -> dict[str, list[Node]]:
    """The nodes by each normalised name or address, the one with most links first."""
    by_alias: dict[str, list[Node]] = {}
    for row in await tx.rows(_FIND, (user.user_id, list(aliases))):
        by_alias.setdefault(row.pop("alias"), []).append(Node(**row))
    return by_alias


async def add(tx: db.Transaction, user: db.HasUser, new: NodeDraft) -> Node | None:
    """A node, or the one that has its key already; None if that was deleted by hand or
    erased. Raises Invalid.
    """
    if not keys.normalised(new.name):
        raise errors.Invalid("A node needs a name.")
    if len(new.name) > LONGEST_NAME:
        raise errors.Invalid(f"A name has at most {LONGEST_NAME} characters.")
    await bump(tx, user)
    key = node_data.key_of(user, new)
    emails = [email.strip().lower() for email in new.emails]
    tombstones = [
        node_data.tombstone(user, new.kind, alias)
        for alias in emails or [keys.normalised(new.name)]
    ]
    if await tx.rows(_ERASED, (user.user_id, [key, *tombstones])):
        return None
    kept = await _by_key(tx, user, key)
    if kept is not None:
        return kept[0]
    values = {
        "user": user.user_id,
        "key": key,
        "kind": new.kind,
        "name": new.name,
        "type": new.type,
        "description": new.description,
        "properties": db.json(dict(new.properties)),
        "owner": new.is_owner,
        "by": new.by,
        "domain": None,
        "record": None,
        "hash": node_data.hash_of(new.kind, new.name, new.description, new.properties),
    }
    node = await tx.one(Node, _INSERT, values)
    if node is None:
        raise errors.Conflict("Somebody has just made this node.", hint="Try again.")
    await also(tx, user, node.id, names_=[new.name, *new.names], emails=new.emails)
    return node


async def also(
    tx: db.Transaction,
    user: db.HasUser,
    node_id: UUID,
    *,
    names_: Iterable[str] = (),
    emails: Iterable[str] = (),
) -> None:
    """Further names and addresses that a node is found by."""
    kinds = {keys.normalised(name): "name" for name in names_}
    kinds |= {email.strip().lower(): "email" for email in emails}
    kinds.pop("", None)
    await bump(tx, user)
    await tx.run(_ALIASES, (user.user_id, node_id, list(kinds), list(kinds.values())))


async def gone(
    tx: db.Transaction, user: db.HasUser, aliases: Iterable[str]
) -> set[tuple[Kind, str]]:
    """Which names and addresses, each (kind, alias), are of what was deleted by hand or
    erased.
    """
    distinct = list(dict.fromkeys(aliases))
    deleted: set[tuple[Kind, str]] = {
        (row["kind"], row["alias"])
        for row in await tx.rows(_GONE, (user.user_id, distinct))
    }
    tombstones: dict[str, tuple[Kind, str]] = {
        node_data.tombstone(user, kind, alias): (kind, alias)
        for kind in relations.KINDS
        for alias in distinct
    }
    rows = await tx.rows(_ERASED, (user.user_id, list(tombstones)))
    return deleted | {tombstones[row["key"]] for row in rows}


async def aliases(
    tx: db.Transaction, user: db.HasUser, node_id: UUID
) -> list[tuple[str, str]]:
    """All (alias, kind) of a node."""
    return [
        (row["alias"], row["kind"])
        for row in await tx.rows(_OWN_ALIASES, (user.user_id, node_id))
    ]


async def unalias(
    tx: db.Transaction, user: db.HasUser, node_id: UUID, gone: Sequence[str]
) -> None:
    """Names and addresses that a node is not found by any longer."""
    await tx.run(_UNALIAS, (user.user_id, node_id, list(gone)))


async def change(
    tx: db.Transaction, user: db.HasUser, node: Node, **values: Any
) -> Node:
    """Another name, type, description or properties (None takes a property away); the
    key stays. Raises NotFound.
    """
    await bump(tx, user)
    merged_properties = {**node.properties, **values.get("properties", {})}
    properties = {
        name: value for name, value in merged_properties.items() if value is not None
    }
    before = {name: getattr(node, name) for name in ("name", "type", "description")}
    texts = {name: values.get(name, text) for name, text in before.items()}
    if texts == before and properties == node.properties:
        return node
    parameters = {
        "user": user.user_id,
        "id": node.id,
        "properties": db.json(properties),
        "hash": node_data.hash_of(
            node.kind, texts["name"], texts["description"], properties
        ),
    }
    changed = await tx.one(Node, _CHANGE, parameters | texts)
    if changed is None:
        raise missing()
    await also(tx, user, node.id, names_=[changed.name])
    return changed


async def source(
    tx: db.Transaction, user: db.HasUser, *, domain: str, record_id: UUID, title: str
) -> UUID | None:
    """The node of a record, made if it is missing; None if it was deleted by hand."""
    name = title[:300] or "(no title)"
    for row in await tx.rows(_SOURCE, (user.user_id, record_id)):
        if row["gone"]:
            return None
        await tx.run(_RETITLE, (name, user.user_id, row["id"], name))
        return row["id"]
    values = {
        "user": user.user_id,
        "key": keys.key(user.user_id, "source", str(record_id)),
        "kind": "source",
        "name": name,
        "type": domain,
        "description": "",
        "properties": db.json({}),
        "owner": False,
        "by": "system",
        "domain": domain,
        "record": record_id,
        "hash": None,
    }
    node = await tx.one(Node, _INSERT, values)
    return node.id if node else None


async def source_of(
    tx: db.Transaction, user: db.HasUser, record_id: UUID
) -> UUID | None:
    """The node of a record, if there is one."""
    rows = await tx.rows(_SOURCE, (user.user_id, record_id))
    return rows[0]["id"] if rows and not rows[0]["gone"] else None


async def recount(
    tx: db.Transaction, user: db.HasUser, ids: Iterable[UUID], *, touch: bool = True
) -> None:
    """Count the links of some nodes again, and how much they matter."""
    distinct = list(dict.fromkeys(ids))
    if distinct:
        await tx.run(_RECOUNT, {"user": user.user_id, "ids": distinct, "touch": touch})


async def own(tx: db.Transaction, user: db.HasUser, node_id: UUID) -> None:
    """This node is the owner's own, and no other is."""
    await bump(tx, user)
    await tx.run(_OWN, {"user": user.user_id, "id": node_id})


async def cool(tx: db.Transaction, user: db.HasUser) -> None:
    """Let all nodes matter as much as they do by now."""
    await versions.hold(tx, user)
    await tx.run(_COOL, (user.user_id,))


async def orphans(
    tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID] | None = None
) -> list[Node]:
    """Nodes that nobody made by hand and that nothing leads to; of `ids` alone if
    given.
    """
    candidates = None if ids is None else list(ids)
    return await tx.all(Node, _ORPHANS, {"user": user.user_id, "ids": candidates})


async def drop(tx: db.Transaction, user: db.HasUser, ids: Sequence[UUID]) -> int:
    """Take nodes away that are derived: they come back when a record says so again."""
    if not ids:
        return 0
    await bump(tx, user)
    return await tx.run(_DROP, (user.user_id, list(ids)))


async def delete(tx: db.Transaction, user: db.HasUser, node_id: UUID) -> None:
    """Delete by hand, with its links: it stays deleted, whatever is read again. Raises
    NotFound.
    """
    await bump(tx, user)
    if not await tx.run(_DELETE, (user.user_id, node_id)):
        raise missing()
    await recount(tx, user, await links.delete_of_node(tx, user, node_id), touch=False)


async def erase(tx: db.Transaction, user: db.HasUser, node_id: UUID) -> list[bytes]:
    """Take a node away for good, with its names, links, evidence and merges. Returns
    the hashes of its vectors.

    What was merged into it goes as well. Of all that, only the keys are kept, so that
    it does not come back.
    """
    await bump(tx, user)
    rows = await tx.rows(_FAMILY, {"user": user.user_id, "id": node_id})
    if not rows:
        raise missing()
    tombstones = {row["key"] for row in rows}
    for row in rows:
        for alias in row["aliases"]:
            tombstones.add(node_data.tombstone(user, row["kind"], alias))
    await tx.run(_REMEMBER, (user.user_id, sorted(tombstones)))
    neighbours = [
        end for row in rows for end in await links.delete_of_node(tx, user, row["id"])
    ]
    await tx.run(_DROP, (user.user_id, [row["id"] for row in rows]))
    await recount(tx, user, neighbours, touch=False)
    return [bytes(row["hash"]) for row in rows if row["hash"]]


async def merged(
    tx: db.Transaction, user: db.HasUser, node_id: UUID, into: UUID | None
) -> None:
    """A node is another one from now on, or itself again."""
    await tx.run(_INTO, (into, user.user_id, node_id))


async def forget(tx: db.Transaction, user: db.HasUser) -> None:
    """Take away all that is derived, so that it is read again; what was done by hand
    stays.
    """
    await bump(tx, user)
    await tx.run(_FORGET, (user.user_id,))


async def _by_key(
    tx: db.Transaction, user: db.HasUser, key: str
) -> tuple[Node | None] | None:
    """The node of a key, as (node,); (None,) if it was deleted by hand; None if there
    never was one.
    """
    rows = await tx.rows(_BY_KEY, (user.user_id, key))
    if not rows:
        return None
    row = rows[0]
    deleted, merged_into = row.pop("gone"), row.pop("merged_into")
    if deleted:
        return (None,)
    if merged_into is None:
        return (Node(**row),)
    winner_id = await tx.value(_WITHIN, {"user": user.user_id, "id": row["id"]})
    return ((await several(tx, user, [winner_id])).get(winner_id),)
