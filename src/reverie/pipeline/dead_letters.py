"""The retry queue of dead letters, with backoff: changes that a slot could not follow."""

from dataclasses import dataclass
from uuid import UUID

from reverie import db
from reverie.records import changes

# With pauses of 1, 2, 4 and 8 seconds, 15 seconds in all. Set by hand.
TRIES = 5


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One change that a slot could not follow; `dead` after as many tries as TRIES."""

    record_id: UUID
    seq: int
    attempts: int
    reason: str
    dead: bool


_PUT = """
INSERT INTO dead_letter AS old (user_id, slot, record_id, seq, attempts, reason, retry_at, dead)
VALUES (%(user)s, %(slot)s, %(record)s, %(seq)s, 1, %(reason)s, now() + interval '1 second', false)
ON CONFLICT (user_id, slot, record_id) DO UPDATE SET
    seq = greatest(old.seq, excluded.seq),
    attempts = old.attempts + 1,
    reason = excluded.reason,
    retry_at = now() + interval '1 second'
        * CASE WHEN old.attempts + 1 >= %(tries)s THEN 600 ELSE power(2, old.attempts) END,
    dead = old.attempts + 1 >= %(tries)s
"""
# A letter that is there already goes on with its tries.
_BEGIN = """
INSERT INTO dead_letter AS old (user_id, slot, record_id, seq, attempts, reason, retry_at, dead)
VALUES (%(user)s, %(slot)s, %(record)s, %(seq)s, 1, %(reason)s, now() + interval '1 second', false)
ON CONFLICT (user_id, slot, record_id) DO UPDATE SET seq = greatest(old.seq, excluded.seq), reason = excluded.reason
"""
_DUE = """
SELECT record_id, seq, attempts, reason, dead FROM dead_letter
WHERE user_id = %s AND slot = %s AND retry_at <= now() ORDER BY retry_at LIMIT %s
"""
_OF_SLOT = """
SELECT record_id, seq, attempts, reason, dead FROM dead_letter
WHERE user_id = %s AND slot = %s ORDER BY seq
"""
_REMOVE = "DELETE FROM dead_letter WHERE user_id = %s AND slot = %s AND record_id = %s"
_RETRY_NOW = "UPDATE dead_letter SET retry_at = now() WHERE user_id = %s"


async def put(
    tx: db.Transaction, user: db.HasUser, slot: str, change: changes.Change, reason: str
) -> None:
    """Put a change aside: tried again after 1, 2, 4, 8 seconds, then dead and tried
    every ten minutes. Of a record, one letter: a later change takes its place.
    """
    values = _values(user, slot, change, reason)
    await tx.run(_PUT, values | {"tries": TRIES})


async def begin(
    tx: db.Transaction, user: db.HasUser, slot: str, change: changes.Change, reason: str
) -> None:
    """Put a change aside of which several parts may fail: the first counts as a try."""
    await tx.run(_BEGIN, _values(user, slot, change, reason))


def _values(
    user: db.HasUser, slot: str, change: changes.Change, reason: str
) -> dict[str, object]:
    return {
        "user": user.user_id,
        "slot": slot,
        "record": change.record_id,
        "seq": change.seq,
        "reason": reason[:500],
    }


async def due(
    tx: db.Transaction, user: db.HasUser, slot: str, *, limit: int
) -> list[DeadLetter]:
    """The letters of a slot whose time has come, the longest overdue first."""
    return await tx.all(DeadLetter, _DUE, (user.user_id, slot, limit))


async def of_slot(tx: db.Transaction, user: db.HasUser, slot: str) -> list[DeadLetter]:
    """Every letter of a slot, in the order of the log."""
    return await tx.all(DeadLetter, _OF_SLOT, (user.user_id, slot))


async def remove(
    tx: db.Transaction, user: db.HasUser, slot: str, letter: DeadLetter
) -> bool:
    """A letter has been followed after all; False when somebody else has done so."""
    return bool(await tx.run(_REMOVE, (user.user_id, slot, letter.record_id)))


async def retry_now(tx: db.Transaction, user: db.HasUser) -> int:
    """Try every letter now, the dead ones too; returns how many there are."""
    return await tx.run(_RETRY_NOW, (user.user_id,))
