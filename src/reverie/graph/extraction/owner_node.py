"""Entity resolution of the owner: their own node, guessed from most of the mails."""

from reverie import db
from reverie.access import users
from reverie.graph import nodes
from reverie.graph.extraction import update

_IN_MOST_MAILS = """
SELECT person.id, count(*) AS count,
    (SELECT count(*) FROM node WHERE user_id = %s AND kind = 'source' AND domain = 'email') AS total
FROM node AS mail
JOIN link ON link.user_id = mail.user_id AND link.from_id = mail.id AND link.deleted_at IS NULL
    AND link.hidden_by IS NULL
JOIN node AS person ON person.user_id = link.user_id AND person.id = link.to_id AND person.kind = 'person'
WHERE mail.user_id = %s AND mail.kind = 'source' AND mail.domain = 'email'
GROUP BY person.id ORDER BY count(*) DESC, person.id LIMIT 1
"""
# From so many mails on, whoever is in such a share of them is the owner; set by hand.
_ENOUGH_MAILS, _SHARE_OF_MAILS = 15, 0.6


async def ensure(tx: db.Transaction, user: users.Reference) -> None:
    """The owner has a node of their own from the first record on: whoever is in most
    mails, once that is plain.
    """
    node = await nodes.owner(tx, user)
    if node is None:
        person = await users.get(tx, user.user_id)
        if person is not None:
            await nodes.bump(tx, user)
            await update.owner(tx, user, name=person.name)
    elif not node.links:
        await _move_to_most_mailed(tx, user, node)


async def _move_to_most_mailed(
    tx: db.Transaction, user: users.Reference, node: nodes.Node
) -> None:
    """Replace an owner's node that nothing is linked to by that of whoever is in most
    mails, if it is clear.
    """
    rows = await tx.rows(_IN_MOST_MAILS, (user.user_id, user.user_id))
    if not rows:
        return
    mails, total = rows[0]["count"], rows[0]["total"]
    if total < _ENOUGH_MAILS or mails < _SHARE_OF_MAILS * total:
        return
    await nodes.bump(tx, user)
    await nodes.own(tx, user, rows[0]["id"])
    await nodes.drop(tx, user, [node.id])
