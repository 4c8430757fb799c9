"""Records of every domain (CRUD), each write with a row in the change log.

A domain is declared by a module of its own (notes.py, events.py, …); who has read one
of them knows them all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.privacy import sensitivity
from reverie.records import (
    changes,
    fields,
    heat,
    passages,
    preparing,
    record_types,
    versions,
)

Domain = record_types.Domain
R = TypeVar("R", bound=record_types.Record)


# Rows in the form of JSON: so all records of a kind are one statement, whatever their
# columns are.
_INSERT = """
INSERT INTO {table} (user_id, source, created_at, updated_at, {columns})
SELECT %(user)s, %(source)s, statement_timestamp(), statement_timestamp(), {values}
FROM jsonb_populate_recordset(NULL::{table}, %(rows)s) AS new
RETURNING {all}
"""
_UPDATE = """
UPDATE {table} SET {assignments}, updated_at = clock_timestamp()
WHERE user_id = %(user_id)s AND id = %(id)s RETURNING {all}
"""
_GET = "SELECT {all} FROM {table} WHERE user_id = %(user)s AND id = %(id)s"
_LOCK = "SELECT {all} FROM {table} WHERE user_id = %(user)s AND id = %(id)s FOR UPDATE"
_DELETED = """
UPDATE {table} SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()
WHERE user_id = %(user)s AND id = %(id)s RETURNING {all}
"""
_RESTORED = """
UPDATE {table} SET deleted_at = NULL, updated_at = clock_timestamp()
WHERE user_id = %(user)s AND id = %(id)s RETURNING {all}
"""
_LIST = """
SELECT {all} FROM {table} AS t LEFT JOIN heat ON heat.user_id = t.user_id AND heat.record_id = t.id
WHERE {conditions} ORDER BY {order} LIMIT %(limit)s OFFSET %(offset)s
"""
_COUNT = """
SELECT count(*) FROM {table} AS t LEFT JOIN heat ON heat.user_id = t.user_id AND heat.record_id = t.id
WHERE {conditions}
"""
# Others have changed the record so often meanwhile: then under its lock. Set by hand.
_OPTIMISTIC_ROUNDS = 3


async def insert(
    tx: db.Transaction,
    caller: callers.Caller,
    new: record_types.PreparedRecord[R],
    *,
    source: str = "local",
) -> R:
    """Keep a prepared record, its change row and its passages. Raises Conflict."""
    [record] = await insert_all(tx, caller, [new], source=source)
    return record


async def insert_all(
    tx: db.Transaction,
    caller: callers.Caller,
    new: Sequence[record_types.PreparedRecord[R]],
    *,
    source: str = "local",
) -> list[R]:
    """The same for some records of one domain, in their order: all of them are kept, or
    none. Raises Conflict.
    """
    domain = new[0].domain
    names = ["id", "sensitivity", "custom", *domain.own]
    statement = db.compose(
        _INSERT,
        table=domain.name,
        columns=names,
        values=db.qualified("new", names),
        all=domain.columns,
    )
    rows = [record_types.row(each) for each in new]
    values = {"user": caller.user_id, "source": source, "rows": db.json(rows)}
    kept = await _guarded(tx, domain, statement, values)
    by_id = {record.id: record for record in kept}
    records = [by_id[each.id] for each in new]
    entries = [
        preparing.entry(each, record) for each, record in zip(new, records, strict=True)
    ]
    await passages.add(tx, caller, entries)
    await changes.append(
        tx,
        caller,
        domain=domain.name,
        records={each.id: each.summary for each in new},
        action="create",
        columns=domain.own,
        source=source,
    )
    return records


async def create(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: Domain[R],
    values: Mapping[str, Any],
    *,
    source: str = "local",
    record_id: UUID | None = None,
) -> R:
    """Keep a new record, its change row and its passages. Raises Invalid, Conflict.

    For a transaction that does more than this: `preparing.prepared` and `insert` leave
    none open while the sensitivity is computed.
    """
    new = await preparing.prepared(caller, domain, values, record_id=record_id)
    return await insert(tx, caller, new, source=source)


def _without_lowering(
    caller: callers.Caller, old: record_types.Record, changed: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The changed columns without a lower sensitivity, unless a person changes them."""
    wanted = sensitivity.named(changed.get("sensitivity", old.sensitivity))
    if caller.kind == "user" or wanted >= sensitivity.named(old.sensitivity):
        return changed
    return {name: value for name, value in changed.items() if name != "sensitivity"}


async def _index(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: Domain[R],
    old: R | None,
    record: R,
) -> None:
    """Make search know a record, in place of what it was."""
    await passages.write(
        tx,
        caller,
        domain=domain.name,
        record_id=record.id,
        sensitivity=record.sensitivity,
        old=None if old is None else await record_types.indexed_text(domain, old),
        new=await record_types.indexed_text(domain, record),
    )


async def get(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: Domain[R],
    record_id: UUID,
    *,
    deleted: bool = False,
) -> R:
    """One record. A foreign id and an unknown id are the same NotFound, as is a deleted
    one unless asked for.
    """
    record = await tx.one(
        domain.record,
        record_types.statement(_GET, domain),
        {"user": caller.user_id, "id": record_id},
    )
    if record is None or (record.deleted_at is not None and not deleted):
        raise record_types.missing(domain)
    return record


async def read(
    tx: db.Transaction, caller: callers.Caller, domain: Domain[R], record_id: UUID
) -> R:
    """One record, opened by somebody: it warms."""
    record = await get(tx, caller, domain, record_id)
    await heat.touch(
        tx, caller, record_id=record_id, source=heat.source_of(caller.kind, "local")
    )
    return record


async def find(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: Domain[R],
    *,
    filters: Mapping[str, Any] | None = None,
    tier: record_types.Tier | None = None,
    deleted: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> record_types.Page[R]:
    """A page of a list. `filters` are the domain's own. Listing triggers nothing."""
    conditions = [db.text("t.user_id = %(user)s")]
    conditions.append(
        db.text("t.deleted_at IS NOT NULL" if deleted else "t.deleted_at IS NULL")
    )
    parameters: dict[str, Any] = {
        "user": caller.user_id,
        "limit": limit,
        "offset": offset,
    }
    for name, value in (filters or {}).items():
        if value is not None:
            conditions.append(db.text(domain.filters[name].condition))
            parameters[name] = value
    if tier is not None:
        conditions.append(db.text(heat.TIER_CONDITIONS[tier]))
    where = db.join(" AND ", conditions)
    names = db.compose("{columns}", columns=db.qualified("t", domain.columns))
    statement = db.compose(
        _LIST,
        all=names,
        table=domain.name,
        conditions=where,
        order=db.text(domain.order),
    )
    items = await tx.all(domain.record, statement, parameters)
    if offset == 0 and len(items) < limit:
        total = len(items)
    else:
        total = int(
            await tx.value(
                db.compose(_COUNT, table=domain.name, conditions=where), parameters
            )
        )
    return record_types.Page(items, total, limit, offset)


async def update(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: Domain[R],
    record_id: UUID,
    values: Mapping[str, Any],
) -> R:
    """Change some fields. What stays the same writes nothing. Raises Invalid, NotFound,
    Conflict.

    For a transaction that does more than this: `revise` has none open while the
    sensitivity is computed.
    """
    checked = fields.checked(domain.name, domain.change, values, partial=True)
    old = await _live(tx, caller, domain, record_id)
    changed = await preparing.changed(caller, domain, old, checked)
    return await _write(tx, caller, domain, old, changed)


async def revise(
    database: db.Database,
    caller: callers.Caller,
    domain: Domain[R],
    record_id: UUID,
    values: Mapping[str, Any],
) -> R:
    """`update` in a transaction of its own, which begins when all is computed
    (optimistic concurrency): if the record has changed meanwhile, it is computed again.
    """
    # What is refused for what it says is refused before anybody is asked.
    fields.checked(domain.name, domain.change, values, partial=True)
    for _ in range(_OPTIMISTIC_ROUNDS):
        async with database.transaction(caller) as tx:
            old = await get(tx, caller, domain, record_id)
        change = await preparing.change(caller, domain, old, values)
        async with database.transaction(caller) as tx:
            written = await apply(tx, caller, change)
        if written is not None:
            return written
    async with database.transaction(caller) as tx:
        return await update(tx, caller, domain, record_id, values)


async def apply(
    tx: db.Transaction, caller: callers.Caller, change: record_types.PreparedChange[R]
) -> R | None:
    """Write a prepared change; None if the record is no more what it was then. Raises
    NotFound, Conflict.
    """
    present = await _live(tx, caller, change.domain, change.old.id)
    if present != change.old:
        return None
    return await _write(tx, caller, change.domain, present, change.columns)


async def reclassify(
    tx: db.Transaction, caller: callers.Caller, domain: Domain[R], record: R
) -> R:
    """Raise a locked record to critical if its content asks for that by what is known
    today.
    """
    content = {name: getattr(record, db.field(name)) for name in domain.columns}
    now = await preparing.level(domain, content)
    if now != sensitivity.Level.CRITICAL or record.sensitivity == now.word:
        return record
    return await _write(tx, caller, domain, record, {"sensitivity": now.word})


async def _live(
    tx: db.Transaction, caller: callers.Caller, domain: Domain[R], record_id: UUID
) -> R:
    """A record that is not deleted, locked."""
    record = await _locked(tx, caller, domain, record_id)
    if record.deleted_at is not None:
        raise record_types.missing(domain)
    return record


async def _write(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: Domain[R],
    old: R,
    changed: Mapping[str, Any],
) -> R:
    """Write the changed columns of a locked record, with its change row and passages;
    what they replace is kept.
    """
    changed = _without_lowering(caller, old, changed)
    if not changed:
        return old
    assignments = [
        db.compose("{name} = {value}", name=name, value=db.placeholders([name]))
        for name in changed
    ]
    statement = db.compose(
        _UPDATE,
        table=domain.name,
        assignments=db.join(", ", assignments),
        all=domain.columns,
    )
    keys = {"user_id": caller.user_id, "id": old.id}
    record = await _changed_one(
        tx, domain, statement, record_types.parameters(domain, changed) | keys
    )
    await _index(tx, caller, domain, old, record)
    seq = await _log(tx, caller, domain, record, "update", list(changed), record.source)
    replaced = record_types.columns_as_json(domain, old, changed)
    await versions.keep(tx, caller, record_id=old.id, seq=seq, replaced=replaced)
    return record


async def delete(
    tx: db.Transaction, caller: callers.Caller, domain: Domain[R], record_id: UUID
) -> R:
    """Delete softly: out of every list and every search at once, and restorable. Raises
    NotFound.
    """
    await _live(tx, caller, domain, record_id)
    record = await _changed_one(
        tx,
        domain,
        record_types.statement(_DELETED, domain),
        {"user": caller.user_id, "id": record_id},
    )
    await passages.remove(tx, caller, record_id=record_id)
    await _log(tx, caller, domain, record, "delete", (), record.source)
    return record


async def restore(
    tx: db.Transaction, caller: callers.Caller, domain: Domain[R], record_id: UUID
) -> R:
    """Bring a deleted record back; a record that is not deleted is returned as it is.
    Raises NotFound, Conflict.
    """
    old = await _locked(tx, caller, domain, record_id)
    if old.deleted_at is None:
        return old
    record = await _changed_one(
        tx,
        domain,
        record_types.statement(_RESTORED, domain),
        {"user": caller.user_id, "id": record_id},
    )
    await _index(tx, caller, domain, None, record)
    await _log(tx, caller, domain, record, "restore", (), record.source)
    return record


async def _locked(
    tx: db.Transaction, caller: callers.Caller, domain: Domain[R], record_id: UUID
) -> R:
    record = await tx.one(
        domain.record,
        record_types.statement(_LOCK, domain),
        {"user": caller.user_id, "id": record_id},
    )
    if record is None:
        raise record_types.missing(domain)
    return record


async def _guarded(
    tx: db.Transaction,
    domain: Domain[R],
    statement: db.Query,
    parameters: Mapping[str, Any],
) -> list[R]:
    """Run a statement that returns records; a refusal by a unique index becomes the
    domain's sentence.
    """
    if not domain.unique:
        return await tx.all(domain.record, statement, parameters)
    try:
        async with tx.savepoint():
            return await tx.all(domain.record, statement, parameters)
    except errors.Conflict:
        raise errors.Conflict(domain.unique) from None


async def _changed_one(
    tx: db.Transaction,
    domain: Domain[R],
    statement: db.Query,
    parameters: Mapping[str, Any],
) -> R:
    """Run a statement that changes one record, and return it. Raises NotFound, Conflict."""
    records = await _guarded(tx, domain, statement, parameters)
    if not records:
        raise record_types.missing(domain)
    return records[0]


async def _log(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: Domain[R],
    record: R,
    action: changes.Action,
    columns: Sequence[str],
    source: str,
) -> int:
    return await changes.append(
        tx,
        caller,
        domain=domain.name,
        records={record.id: record_types.summary_of(domain, record)},
        action=action,
        columns=columns,
        source=source,
    )
