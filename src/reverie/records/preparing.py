"""Records and changes prepared before their transaction: checked, with their
sensitivity, cut for search.

Looking for personal values in a long text and counting its words take long, and a
transaction that waits for it would hold back every follower of the change log.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from reverie import db, offload
from reverie.access import callers
from reverie.privacy import sensitivity
from reverie.records import fields, ids, passages, record_types

Domain = record_types.Domain
R = TypeVar("R", bound=record_types.Record)

# Stand for the owner and the times of a record that is not kept yet.
_NOBODY = UUID(int=0)
_LATER = datetime.max.replace(tzinfo=UTC)


async def prepared(
    caller: callers.Caller,
    domain: Domain[R],
    values: Mapping[str, Any],
    *,
    record_id: UUID | None = None,
) -> record_types.PreparedRecord[R]:
    """Check a new record and compute all that is kept of it: no transaction need be
    open. Raises Invalid.
    """
    return await offload.to_thread(
        _size(values), prepared_now, caller, domain, values, record_id or ids.new()
    )


def prepared_now(
    caller: callers.Caller,
    domain: Domain[R],
    values: Mapping[str, Any],
    record_id: UUID,
) -> record_types.PreparedRecord[R]:
    """The same, in this thread."""
    checked = fields.checked(domain.name, domain.new, values, partial=False)
    checked["custom"] = checked["custom"] or {}
    columns = domain.prepare(checked, caller) if domain.prepare else checked
    wish = columns["sensitivity"]
    computed = _level(domain, columns)
    level = sensitivity.decided(computed, sensitivity.named(wish) if wish else None)
    # Only a person asks for less than the content does.
    if caller.kind != "user":
        level = max(level, computed)
    columns["sensitivity"] = level.word
    return _complete(domain, record_id, columns)


def _complete(
    domain: Domain[R], record_id: UUID, columns: Mapping[str, Any]
) -> record_types.PreparedRecord[R]:
    """Checked columns with what search and the change log keep of them."""
    record = _provisional(domain, record_id, columns)
    return record_types.PreparedRecord(
        domain,
        record_id,
        columns,
        passages.indexed(record_types.text_of(domain, record)),
        record_types.summary_of(domain, record),
    )


def referring(
    new: record_types.PreparedRecord[R], references: Mapping[str, UUID | None]
) -> record_types.PreparedRecord[R]:
    """A prepared record with the ids of the records that it refers to, which its
    passages may name as their place.
    """
    return _complete(new.domain, new.id, {**new.columns, **references})


def _provisional(domain: Domain[R], record_id: UUID, columns: Mapping[str, Any]) -> R:
    """The record as it will be, but for its owner and its times."""
    unknown: dict[str, Any] = {
        "user_id": _NOBODY,
        "id": record_id,
        "source": "",
        "created_at": _LATER,
        "updated_at": _LATER,
        "deleted_at": None,
    }
    own = {db.field(name): columns[name] for name in domain.columns if name in columns}
    return domain.record(**unknown | own)


def entry(new: record_types.PreparedRecord[R], record: R) -> passages.KnownText:
    """What search is to know of a record that was kept as it was prepared."""
    indexed = new.indexed
    if indexed.text.at == _LATER:
        text = replace(indexed.text, at=record.created_at)
        indexed = replace(indexed, text=text)
    return passages.KnownText(new.domain.name, record.id, record.sensitivity, indexed)


async def change(
    caller: callers.Caller, domain: Domain[R], old: R, values: Mapping[str, Any]
) -> record_types.PreparedChange[R]:
    """Check a change of a record as it was read, and compute its sensitivity: no
    transaction need be open. Raises Invalid.
    """
    checked = fields.checked(domain.name, domain.change, values, partial=True)
    return record_types.PreparedChange(
        domain, old, await changed(caller, domain, old, checked)
    )


async def changed(
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


async def _following(
    domain: Domain[Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    wish: record_types.Sensitivity | None,
) -> record_types.Sensitivity:
    """The level of a changed record: the owner's word where there is one, and else what
    its content asks for.
    """
    now = await level(domain, after)
    if wish:
        return sensitivity.decided(now, sensitivity.named(wish)).word
    return sensitivity.followed(
        sensitivity.named(before["sensitivity"]), await level(domain, before), now
    ).word


async def level(domain: Domain[Any], values: Mapping[str, Any]) -> sensitivity.Level:
    """How private a record is by what it holds."""
    return await offload.to_thread(_size(values), _level, domain, values)


def _level(domain: Domain[Any], values: Mapping[str, Any]) -> sensitivity.Level:
    content = {name: values[name] for name in (*domain.own, "custom") if name in values}
    return sensitivity.of_record(domain.name, content)


def _size(values: Mapping[str, Any]) -> int:
    return sum(len(value) for value in values.values() if isinstance(value, str))
