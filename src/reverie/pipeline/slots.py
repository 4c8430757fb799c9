"""Slots: consumers of the change log (change data capture), each with a cursor."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie import db
from reverie.access import users
from reverie.llm import chat, embedding
from reverie.records import changes

BATCH = 64


@dataclass(frozen=True, slots=True)
class Work:
    """What a slot may use while it works for one user."""

    database: db.Database
    embeddings: embedding.Embeddings
    user: users.Reference
    models: chat.Models | None = None


Step = Callable[[Work, Sequence[changes.Change]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Slot:
    """A follower.

    `before` does work that may be repeated: it runs outside a transaction and must be
    idempotent. `within` runs in the transaction that moves the cursor, so it happens
    exactly once. `again` is the `before` of a change that was put aside, if it differs.
    `queue` does a bit of what waits in a queue of the slot's own, and says whether
    anything waited. `idle` does, bit by bit, what no change tells of: it gets the key
    that was reached and returns the next, or None at the end. `asks` says that it asks
    a language model: without one it waits, and begins with the first change once there
    is one.
    """

    name: str
    before: Step | None = None
    again: Step | None = None
    within: (
        Callable[
            [db.Transaction, users.Reference, Sequence[changes.Change]], Awaitable[None]
        ]
        | None
    ) = None
    queue: Callable[[Work], Awaitable[bool]] | None = None
    idle: Callable[[Work, bytes], Awaitable[bytes | None]] | None = None
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a slot has come for a user, and what is wrong with it as a whole."""

    xid: int = 0
    seq: int = 0
    trouble: str | None = None
    trouble_since: datetime | None = None


_CURSOR = (
    "SELECT xid, seq, trouble, trouble_since FROM slot WHERE user_id = %s AND name = %s"
)
# Only from where the cursor was read: of two followers the later one, and one that was
# reset meanwhile, moves nothing.
_MOVE = """
INSERT INTO slot AS old (user_id, name, xid, seq) VALUES (%(user)s, %(slot)s, %(xid)s, %(seq)s)
ON CONFLICT (user_id, name) DO UPDATE
    SET xid = excluded.xid, seq = excluded.seq, updated_at = now(),
        trouble = CASE WHEN %(well)s THEN NULL ELSE old.trouble END,
        trouble_since = CASE WHEN %(well)s THEN NULL ELSE old.trouble_since END
    WHERE (old.xid, old.seq) = (%(from_xid)s, %(from_seq)s)
"""
_TROUBLE = """
INSERT INTO slot AS old (user_id, name, trouble, trouble_since) VALUES (%s, %s, %s, now())
ON CONFLICT (user_id, name) DO UPDATE
    SET trouble = excluded.trouble, trouble_since = coalesce(old.trouble_since, now()), updated_at = now()
"""
_WELL = "UPDATE slot SET trouble = NULL, trouble_since = NULL WHERE user_id = %s AND name = %s AND trouble IS NOT NULL"
_RESET = "UPDATE slot SET xid = 0, seq = 0 WHERE user_id = %s AND name = %s"
_REWIND = "UPDATE slot SET xid = 0 WHERE user_id = %s"


async def cursor(tx: db.Transaction, user: db.HasUser, slot: str) -> Cursor:
    """Where a slot stands; a new slot starts at the beginning of the log."""
    return await tx.one(Cursor, _CURSOR, (user.user_id, slot)) or Cursor()


async def move(
    tx: db.Transaction,
    user: db.HasUser,
    slot: str,
    last: changes.Change,
    *,
    start: Cursor,
    well: bool = True,
) -> bool:
    """The slot has followed everything from `start` up to this change; False when it
    stands elsewhere by now. `well`: that shows that it works again.
    """
    values = {
        "user": user.user_id,
        "slot": slot,
        "from_xid": start.xid,
        "from_seq": start.seq,
        "xid": last.xid,
        "seq": last.seq,
        "well": well,
    }
    return bool(await tx.run(_MOVE, values))


async def trouble(tx: db.Transaction, user: db.HasUser, slot: str, reason: str) -> None:
    """The slot as a whole cannot work just now."""
    await tx.run(_TROUBLE, (user.user_id, slot, reason[:500]))


async def well(tx: db.Transaction, user: db.HasUser, slot: str) -> None:
    """The slot works again."""
    await tx.run(_WELL, (user.user_id, slot))


async def reset(tx: db.Transaction, user: db.HasUser, slot: str) -> None:
    """Follow the log again from its beginning."""
    await tx.run(_RESET, (user.user_id, slot))


async def rewind(tx: db.Transaction, user: db.HasUser) -> None:
    """Keep each slot's place in a log that was adopted: there, the sequence alone is
    the order.
    """
    await tx.run(_REWIND, (user.user_id,))
