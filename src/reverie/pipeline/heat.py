"""The heat slot: writing warms a record, deleting does not."""

from collections.abc import Sequence

from reverie import db
from reverie.access import users
from reverie.pipeline import slots
from reverie.records import changes, heat


async def warm(
    tx: db.Transaction, user: users.Reference, batch: Sequence[changes.Change]
) -> None:
    """Count one access a change, in the transaction that moves the cursor: never twice."""
    for change in batch:
        if change.action != "delete":
            source = heat.source_of(change.caller.partition(":")[0], change.source)
            await heat.touch(tx, user, record_id=change.record_id, source=source)


HEAT = slots.Slot("heat", within=warm)
