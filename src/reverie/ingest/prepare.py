"""Drafts prepared before their transaction: checked, with their sensitivity computed.

Looking for personal values in a long text takes long, and a transaction that waits for
it would hold back every follower of the change log. What is prepared here is a guess
at what the transaction will find in the ledger; where it finds something else, it
computes anew.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any
from uuid import UUID

from reverie import db, errors, processes
from reverie.access import callers
from reverie.ingest import drafts, identity, ledger, matching, scan
from reverie.records import (
    base,
    catalogue,
    ids,
    limits,
    passages,
    preparing,
    record_types,
)

# Stands for a record that is saved in the same transaction, while there is no such yet.
_LATER = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Content:
    """What a draft says as fields of a domain. `references` are those of the fields that
    name other records, by their ids; `unresolved` says that one of these is missing.
    `remarks` say what was cut because it is too long to be kept.
    """

    domain: record_types.Domain[Any]
    fields: Mapping[str, Any]
    references: Mapping[str, UUID | None]
    remarks: Sequence[str] = ()

    @property
    def unresolved(self) -> bool:
        """Whether a record that is referred to is not there."""
        return None in self.references.values()


@dataclass(frozen=True, slots=True)
class Found:
    """An item as it was found in a file. `known` says whether the ledger has the file:
    else an item without a key of its own is new, and nobody is asked.
    """

    file: scan.ScannedFile
    item: drafts.Draft | drafts.Skip
    known: bool


@dataclass(frozen=True, slots=True)
class PreparedDraft:
    """A draft with the digest of what it says and the hash of what makes it this thing
    (`identity`): as a new record, of which `remarks` say what was cut, or as a change
    of the record that it became before, as far as these could be made ahead.
    """

    draft: drafts.Draft
    digest: bytes
    identity: bytes = b""
    remarks: Sequence[str] = ()
    record: record_types.PreparedRecord[Any] | None = None
    change: record_types.PreparedChange[Any] | None = None


async def prepared_items(
    database: db.Database, caller: callers.Caller, found: Sequence[Found]
) -> list[PreparedDraft | drafts.Skip]:
    """Some items, in their order, of one file or of many."""
    before = await _imported_before(database, caller, found)
    fresh = [
        _NewDraft(caller, each.file.relative, each.item, ids.new())
        for number, each in enumerate(found)
        if isinstance(each.item, drafts.Draft) and number not in before
    ]
    size = sum(_size(new.draft) for new in fresh)
    ready = iter(await processes.compute(_ready, fresh, size=size))
    prepared: list[PreparedDraft | drafts.Skip] = []
    for number, each in enumerate(found):
        if isinstance(each.item, drafts.Skip):
            prepared.append(each.item)
        elif number in before:
            again = await _prepared_again(caller, each.file, each.item, before[number])
            prepared.append(again)
        else:
            prepared.append(_as_prepared(each.item, next(ready)))
    return prepared


def _size(draft: drafts.Draft) -> int:
    """How many characters are to be looked through, about."""
    return sum(len(value) for value in draft.fields.values() if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class _NewDraft:
    """A new draft as it travels to where it is prepared."""

    caller: callers.Caller
    relative: PurePath
    draft: drafts.Draft
    record_id: UUID


@dataclass(frozen=True, slots=True)
class _Ready:
    """What comes back: all of a prepared draft but the draft and its domain, which stayed
    here. Without `columns` it was refused.
    """

    digest: bytes
    identity: bytes
    remarks: Sequence[str]
    record_id: UUID
    columns: Mapping[str, Any] | None = None
    indexed: passages.IndexedText = passages.NOTHING
    summary: str = ""


def _ready(new: _NewDraft) -> _Ready:
    draft = new.draft
    later = dict.fromkeys(draft.refs.values(), _LATER)
    content = content_of(draft, new.relative, None, later)
    ready = _Ready(
        digest_of(draft),
        identity.content_of(draft.key, draft.fields),
        content.remarks,
        new.record_id,
    )
    try:
        record = preparing.prepared_now(
            new.caller, content.domain, content.fields, new.record_id
        )
    except errors.Invalid:
        # Said again in the transaction, where it becomes the reason of this one item.
        return ready
    return replace(
        ready, columns=record.columns, indexed=record.indexed, summary=record.summary
    )


def _as_prepared(draft: drafts.Draft, ready: _Ready) -> PreparedDraft:
    prepared = PreparedDraft(draft, ready.digest, ready.identity, ready.remarks)
    if ready.columns is None:
        return prepared
    record = record_types.PreparedRecord(
        catalogue.domain(draft.domain),
        ready.record_id,
        ready.columns,
        ready.indexed,
        ready.summary,
    )
    return replace(prepared, record=record)


@dataclass(frozen=True, slots=True)
class _Before:
    """What the ledger says of an item with this digest, and its record if that is to be
    looked at.
    """

    seen: ledger.Seen
    digest: bytes
    record: record_types.Record | None


async def _imported_before(
    database: db.Database, caller: callers.Caller, found: Sequence[Found]
) -> dict[int, _Before]:
    """By number, the items that were imported before, from their file or another."""
    named = {
        number: each.item
        for number, each in enumerate(found)
        if isinstance(each.item, drafts.Draft)
    }
    keys = [draft.key for draft in named.values() if draft.key]
    if not keys and not any(each.known for each in found):
        return {}
    before: dict[int, _Before] = {}
    async with database.transaction(caller) as tx:
        imported = await ledger.imported_keys(tx, caller, keys)
        for number, draft in named.items():
            is_known = found[number].known and not draft.key
            if draft.key in imported or is_known:
                path, digest = found[number].file.path, digest_of(draft)
                match = await matching.match(tx, caller, path, draft, digest)
                if match.seen is not None:
                    before[number] = await _looked_at(tx, caller, digest, match.seen)
    return before


async def _looked_at(
    tx: db.Transaction, caller: callers.Caller, digest: bytes, seen: ledger.Seen
) -> _Before:
    """With its record, unless the file says what it said before."""
    if seen.digest == digest:
        return _Before(seen, digest, None)
    domain = catalogue.domain(seen.domain)
    record = await base.get(tx, caller, domain, seen.record_id, deleted=True)
    return _Before(seen, digest, record)


async def _prepared_again(
    caller: callers.Caller,
    file: scan.ScannedFile,
    draft: drafts.Draft,
    before: _Before,
) -> PreparedDraft:
    """A draft of something that was imported before."""
    prepared = PreparedDraft(draft, before.digest)
    if before.seen.digest == before.digest:
        return prepared
    later = dict.fromkeys(draft.refs.values(), _LATER)
    content = content_of(draft, file.relative, before.seen, later)
    try:
        if _is_to_be_kept_twice(before, content):
            record = await preparing.prepared(caller, content.domain, content.fields)
            return replace(prepared, record=record)
        if before.record is None or before.record.deleted_at or draft.refs:
            return prepared
        change = await preparing.change(
            caller, content.domain, before.record, content.fields
        )
        return replace(prepared, change=change)
    except errors.Invalid:
        # Said again in the transaction, where it becomes the reason of this one item.
        return prepared


def _is_to_be_kept_twice(before: _Before, content: Content) -> bool:
    """Whether a new record comes of it: of another kind, or changed on both sides."""
    if before.seen.domain != content.domain.name:
        return True
    record = before.record
    return record is not None and record.updated_at != before.seen.version


def content_of(
    draft: drafts.Draft,
    relative: PurePath,
    seen: ledger.Seen | None,
    records: Mapping[str, UUID],
) -> Content:
    """The fields of a draft from a file, its references by the ids of their keys. A
    diary entry that once became a note stays one.
    """
    domain = catalogue.domain(draft.domain)
    references = {name: records.get(key) for name, key in draft.refs.items()}
    fields: dict[str, Any] = {**draft.fields, **references}
    fields["custom"] = {**_custom(draft), "imported_from": str(relative)}
    fields, remarks = limits.clipped(fields)
    if seen is not None and (seen.domain, domain.name) == ("note", "diary"):
        note = catalogue.domain("note")
        return Content(note, diary_as_note(fields, relative), references, remarks)
    return Content(domain, fields, references, remarks)


def _custom(draft: drafts.Draft) -> dict[str, Any]:
    custom = draft.fields.get("custom")
    return dict(custom) if isinstance(custom, dict) else {}


def diary_as_note(entry: Mapping[str, Any], relative: PurePath) -> dict[str, Any]:
    """A diary entry as the note that it becomes when its day has one already."""
    return {
        "title": f"{entry['date']} ({relative.stem})",
        "content": entry["content"],
        "tags": ["diary"],
        "custom": entry["custom"],
    }


def digest_of(draft: drafts.Draft) -> bytes:
    """What the file says of an item, so that a second look sees whether it says
    something else.
    """
    content = [draft.domain, drafts.jsonable(draft.fields), drafts.jsonable(draft.refs)]
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).digest()
