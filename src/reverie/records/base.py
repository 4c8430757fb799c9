"""Records of every domain (CRUD), each write with a row in the change log.

A domain is declared by a module of its own (notes.py, events.py, …); who has read one
of them knows them all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from reverie import db, errors, offload
from reverie.access import callers
from reverie.privacy import sensitivity
from reverie.records import changes, fields, heat, passages, record_types, versions

Domain = record_types.Domain
R = TypeVar("R", bound=record_types.Record)


_INSERT = """
INSERT INTO {table} (id, created_at, updated_at, {columns})
VALUES (coalesce(%(id)s, uuidv7()), statement_timestamp(), statement_timestamp(), {values}) RETURNING {all}
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


async def prepared(
    caller: callers.Caller, domain: Domain[R], values: Mapping[str, Any]
) -> record_types.PreparedRecord[R]:
    """Check a new record and compute its sensitivity, which takes long where the text
    is long: no transaction need be open. Raises Invalid.
    """
    checked = fields.checked(domain.name, domain.new, values, partial=False)
    checked["custom"] = checked["custom"] or {}
    columns = domain.prepare(checked, caller) if domain.prepare else checked
    wish = columns["sensitivity"]
    computed = await _level(domain, columns)
    level = sensitivity.decided(computed, sensitivity.named(wish) if wish else None)
    # Only a person asks for less than the content does.
    columns["sensitivity"] = (
        level if caller.kind == "user" else max(level, computed)
    ).word
    return record_types.PreparedRecord(domain, columns)


async def insert(
    tx: db.Transaction,
    caller: callers.Caller,
    new: record_types.PreparedRecord[R],
    *,
    source: str = "local",
    record_id: UUID | None = None,
) -> R:
    """Keep a prepared record, its change row and its passages. Raises Conflict."""
    domain = new.domain
    names = [name for name in domain.columns if name in new.columns]
    statement = db.compose(
        _INSERT,
        table=domain.name,
        columns=["user_id", "source", *names],
        values=db.placeholders(["user_id", "source", *names]),
        all=domain.columns,
    )
    parameters = record_types.parameters(domain, new.columns) | {
        "id": record_id,
        "user_id": caller.user_id,
        "source": source,
    }
    record = await _guarded(tx, domain, statement, parameters)
    await _index(tx, caller, domain, None, record)
    await _log(tx, caller, domain, record, "create", domain.own, source)
    return record


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

    For a transaction that does more than this: `prepared` and `insert` leave none open
    while the sensitivity is computed.
    """
    new = await prepared(caller, domain, values)
    return await insert(tx, caller, new, source=source, record_id=record_id)


def _without_lowering(
    caller: callers.Caller, old: record_types.Record, changed: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The changed columns without a lower sensitivity, unless a person changes them."""
    wanted = sensitivity.named(changed.get("sensitivity", old.sensitivity))
    if caller.kind == "user" or wanted >= sensitivity.named(old.sensitivity):
        return changed
    return {name: value for name, value in changed.items() if name != "sensitivity"}


async def _level(domain: Domain[Any], values: Mapping[str, Any]) -> sensitivity.Level:
    """How private a record is by what it holds."""
    content = {name: values[name] for name in (*domain.own, "custom") if name in values}
    size = sum(len(value) for value in content.values() if isinstance(value, str))
    return await offload.to_thread(size, sensitivity.of_record, domain.name, content)


async def _following(
    domain: Domain[Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    wish: record_types.Sensitivity | None,
) -> record_types.Sensitivity:
    """The level of a changed record: the owner's word where there is one, and else what
    its content asks for.
    """
    now = await _level(domain, after)
    if wish:
        return sensitivity.decided(now, sensitivity.named(wish)).word
    return sensitivity.followed(
        sensitivity.named(before["sensitivity"]), await _level(domain, before), now
    ).word


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
    changed = await _changed(caller, domain, old, checked)
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
        change = await prepared_change(caller, domain, old, values)
        async with database.transaction(caller) as tx:
            written = await apply(tx, caller, change)
        if written is not None:
            return written
    async with database.transaction(caller) as tx:
        return await update(tx, caller, domain, record_id, values)


async def prepared_change(
    caller: callers.Caller, domain: Domain[R], old: R, values: Mapping[str, Any]
) -> record_types.PreparedChange[R]:
    """Check a change of a record as it was read, and compute its sensitivity: no
    transaction need be open. Raises Invalid.
    """
    checked = fields.checked(domain.name, domain.change, values, partial=True)
    return record_types.PreparedChange(
        domain, old, await _changed(caller, domain, old, checked)
    )


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
    now = await _level(domain, content)
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


async def _changed(
    caller: callers.Caller, domain: Domain[R], old: R, checked: dict[str, Any]
) -> dict[str, Any]:
    """The columns of a record that get another value by checked values, in the order of
    the table: sensitivity among them if it follows. Raises Invalid.
    """
    before = {name: getattr(old, db.field(name)) for name in domain.columns}
    merged = before | checked
    if domain.prepare:
        sent = {
            name: value
            for name, value in merged.items()
            if name not in domain.derived or name in checked
        }
        merged = domain.prepare(sent, caller)
    if not _differing(domain, before, merged):
        return {}
    merged["sensitivity"] = await _following(
        domain, before, merged, checked.get("sensitivity")
    )
    return _differing(domain, before, merged)


def _differing(
    domain: Domain[Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Any]:
    """The columns of `after` that have another value than `before`."""
    return {
        name: after[name]
        for name in domain.columns
        if name in after and after[name] != before[name]
    }


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
    record = await _guarded(
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
    record = await _guarded(
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
    record = await _guarded(
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
) -> R:
    """Run a statement that returns the record; a refusal by a unique index becomes the
    domain's sentence.
    """
    if not domain.unique:
        record = await tx.one(domain.record, statement, parameters)
    else:
        try:
            async with tx.savepoint():
                record = await tx.one(domain.record, statement, parameters)
        except errors.Conflict:
            raise errors.Conflict(domain.unique) from None
    if record is None:
        raise record_types.missing(domain)
    return record


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
        record_id=record.id,
        action=action,
        columns=columns,
        source=source,
        summary=record_types.summary_of(domain, record),
    )
