"""Undo: a record as it was after any of its changes, shown and restored."""

from typing import Any, TypeVar
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.privacy import sensitivity
from reverie.records import base, preparing, record_types, versions

R = TypeVar("R", bound=record_types.Record)

# Others have changed the record so often meanwhile: then under its lock. Set by hand.
_OPTIMISTIC_ROUNDS = 3


async def at_version(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: record_types.Domain[R],
    record_id: UUID,
    version: int,
) -> R:
    """A record as it was after one of its changes. Raises NotFound."""
    present = await base.get(tx, caller, domain, record_id, deleted=True)
    old = await _old_values(tx, caller, record_id, version)
    fields = {
        db.field(name): getattr(present, db.field(name)) for name in domain.columns
    }
    fields |= {db.field(name): value for name, value in old.items()}
    return domain.adapter.validate_python(fields)


async def restore(
    database: db.Database,
    caller: callers.Caller,
    domain: record_types.Domain[R],
    record_id: UUID,
    version: int,
) -> R:
    """Make a record again what it was after one of its changes: an update like others,
    which is in the history itself. A deleted record comes back. Raises NotFound,
    Conflict, Invalid.
    """
    for _ in range(_OPTIMISTIC_ROUNDS):
        async with database.transaction(caller) as tx:
            old = await base.get(tx, caller, domain, record_id, deleted=True)
            values = await _restoring(tx, caller, domain, old, version)
        if old.deleted_at is not None:
            break
        change = await preparing.change(caller, domain, old, values)
        async with database.transaction(caller) as tx:
            written = await base.apply(tx, caller, change)
        if written is not None:
            return written
    async with database.transaction(caller) as tx:
        live = await base.restore(tx, caller, domain, record_id)
        values = await _restoring(tx, caller, domain, live, version)
        return await base.update(tx, caller, domain, record_id, values)


async def _restoring(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: record_types.Domain[R],
    present: R,
    version: int,
) -> dict[str, Any]:
    """The fields to send so that a record becomes what it was. The level of privacy is
    the one it had, and only a person makes it lower than it is.
    """
    old = await _old_values(tx, caller, present.id, version)
    sent = {*domain.sent, "custom"}
    values = {name: value for name, value in old.items() if name in sent}
    level = sensitivity.named(old.get("sensitivity", present.sensitivity))
    if caller.kind != "user":
        level = max(level, sensitivity.named(present.sensitivity))
    return values | {"sensitivity": level.word}


async def _old_values(
    tx: db.Transaction, caller: callers.Caller, record_id: UUID, version: int
) -> dict[str, Any]:
    old = await versions.old_values(tx, caller, record_id, version)
    if old is None:
        raise errors.NotFound(
            "This version is not kept.",
            hint="Its history lists those that are; `history.days` says for how long.",
        )
    return old
