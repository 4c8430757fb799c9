"""Version of a graph, moved by every change, and the row lock that writers wait for."""

from reverie import db

_BUMP = """
INSERT INTO graph AS old (user_id, version) VALUES (%s, 1)
ON CONFLICT (user_id) DO UPDATE SET version = old.version + 1
"""
_VERSION = "SELECT coalesce((SELECT version FROM graph WHERE user_id = %s), 0)"
_HOLD = "SELECT FROM graph WHERE user_id = %s FOR UPDATE"


async def bump(tx: db.Transaction, user: db.HasUser) -> None:
    """Something of the graph has changed. It holds the others off until this
    transaction ends: one writer at a time.
    """
    await tx.run(_BUMP, (user.user_id,))


async def hold(tx: db.Transaction, user: db.HasUser) -> None:
    """Take the turn for what changes neither nodes nor links, such as their heat."""
    await tx.run(_HOLD, (user.user_id,))


async def version(tx: db.Transaction, user: db.HasUser) -> int:
    """What moves with every change of the graph."""
    return int(await tx.value(_VERSION, (user.user_id,)))
