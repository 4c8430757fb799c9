"""The index slot: packs fresh passages into posting lists (inverted index)."""

from collections.abc import Sequence

from reverie import db
from reverie.access import callers
from reverie.pipeline import rebuild, slots
from reverie.records import changes, passages

_OLD_FORM = "SELECT EXISTS (SELECT FROM passage WHERE user_id = %s AND terms IS NULL)"


async def pack(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Pack what is fresh once it is worth it, then segments that have become many.
    Whatever the batch: all of it.
    """
    while await _once(work):
        pass


async def renew(work: slots.Work, after: bytes) -> bytes | None:
    """Once, after an upgrade: passages of a time before they knew their terms are
    written again.
    """
    async with work.database.transaction(work.user) as tx:
        old = await outdated(tx, work.user)
    if old:
        caller = callers.Caller(
            work.user.user_id, "user", "upgrade", frozenset({"*:*"})
        )
        await rebuild.rebuild(
            work.database, caller, vectors=False, progress=lambda done: None
        )
        await pack(work, ())
    return None


async def outdated(tx: db.Transaction, user: db.HasUser) -> bool:
    """Whether there are passages of a time before they knew their terms."""
    return bool(await tx.value(_OLD_FORM, (user.user_id,)))


async def _once(work: slots.Work) -> bool:
    """One step in a transaction of its own, so that a kill costs one step and changes
    are not held up.
    """
    async with work.database.transaction(work.user) as tx:
        return await passages.pack(tx, work.user)


INDEX = slots.Slot("index", before=pack, idle=renew)
