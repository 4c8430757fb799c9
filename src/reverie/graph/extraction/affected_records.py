"""Incremental extraction: the other records that a change concerns.

What was read before something had a node could not be linked to it.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from reverie import db
from reverie.graph.extraction import update

# So many new nodes are followed up at once.
_MOST_NEW = 100
_NEW = """
SELECT name, kind FROM node
WHERE user_id = %s AND created_at >= %s AND kind IN ('person', 'entity') AND deleted_at IS NULL AND NOT is_owner
ORDER BY id LIMIT %s
"""
_LINKED_BY_TITLE = """
SELECT source.record_id FROM alias
JOIN node AS topic ON topic.user_id = alias.user_id AND topic.id = alias.node_id AND topic.kind = 'concept'
JOIN link ON link.user_id = topic.user_id AND link.to_id = topic.id
JOIN node AS source ON source.user_id = link.user_id AND source.id = link.from_id AND source.kind = 'source'
WHERE alias.user_id = %s AND alias.alias = ANY(%s)
"""
_DOMAINS = "SELECT record_id, domain FROM card WHERE user_id = %s AND record_id = ANY(%s) ORDER BY record_id"
# Whoever has a card is known by it before mails and calendars name them: those that the
# log tells of only later on.
_UNREAD_CONTACTS = """
SELECT id FROM contact WHERE user_id = %(user)s AND deleted_at IS NULL AND NOT (id = ANY(%(there)s)) AND NOT EXISTS (
    SELECT FROM node WHERE node.user_id = contact.user_id AND node.record_id = contact.id
) AND EXISTS (
    SELECT FROM change WHERE change.user_id = contact.user_id AND change.record_id = contact.id
        AND (change.xid, change.seq) > (%(xid)s, %(seq)s)
) ORDER BY id
"""
_TITLED = """
SELECT DISTINCT ON (title) record_id, domain, title FROM card
WHERE user_id = %s AND title = ANY(%s) ORDER BY title, (domain <> 'note'), record_id
"""


async def new_names(tx: db.Transaction, user: db.HasUser, since: datetime) -> list[str]:
    """The names of people and entities that have a node only since then, and the given
    names of the people.
    """
    rows = await tx.rows(_NEW, (user.user_id, since, _MOST_NEW))
    names = [row["name"] for row in rows]
    names += [row["name"].split()[0] for row in rows if row["kind"] == "person"]
    return list(dict.fromkeys(names))


async def linking_to(
    tx: db.Transaction, user: db.HasUser, normalised_titles: Sequence[str]
) -> set[UUID]:
    """The records that link to notes of some titles, by what was a topic until now."""
    rows = await tx.rows(_LINKED_BY_TITLE, (user.user_id, list(normalised_titles)))
    return {row["record_id"] for row in rows}


async def by_domain(
    tx: db.Transaction, user: db.HasUser, ids: Collection[UUID]
) -> dict[str, list[UUID]]:
    """Records by the domain that they are of."""
    records: dict[str, list[UUID]] = defaultdict(list)
    for row in await tx.rows(_DOMAINS, (user.user_id, list(ids))):
        records[row["domain"]].append(row["record_id"])
    return records


async def unread_contacts(
    tx: db.Transaction,
    user: db.HasUser,
    *,
    besides: Sequence[UUID],
    after: tuple[int, int],
) -> list[UUID]:
    """The contacts without a node that the change log tells of only after a place of it
    (xid, seq).
    """
    xid, seq = after
    values = {"user": user.user_id, "there": besides, "xid": xid, "seq": seq}
    return [row["id"] for row in await tx.rows(_UNREAD_CONTACTS, values)]


async def titled(
    tx: db.Transaction, user: db.HasUser, titles: Sequence[str]
) -> list[update.LinkedRecord]:
    """The records that links in a text lead to, by their titles."""
    if not titles:
        return []
    rows = await tx.rows(_TITLED, (user.user_id, list(titles)))
    return [
        update.LinkedRecord(row["record_id"], row["domain"], row["title"])
        for row in rows
    ]
