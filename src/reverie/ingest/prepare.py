"""Drafts prepared before their transaction: checked, with their sensitivity computed.

Looking for personal values in a long text takes long, and a transaction that waits for
it would hold back every follower of the change log. What is prepared here is a guess
at what the transaction will find in the ledger; where it finds something else, it
computes anew.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.ingest import drafts, ledger, matching, scan
from reverie.records import base, catalogue, limits, record_types

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
class PreparedDraft:
    """A draft with the digest of what it says: as a new record, and as a change of the
    record that it became before, as far as these could be made ahead.
    """

    draft: drafts.Draft
    digest: bytes
    record: record_types.PreparedRecord[Any] | None = None
    change: record_types.PreparedChange[Any] | None = None


async def prepared_items(
    database: db.Database,
    caller: callers.Caller,
    file: scan.ScannedFile,
    items: Sequence[drafts.Draft | drafts.Skip],
    *,
    known: bool,
) -> list[PreparedDraft | drafts.Skip]:
    """The items of a file, in their order. `known` says whether the ledger has the file:
    else an item without a key of its own is new, and nobody is asked.
    """
    named = [item for item in items if isinstance(item, drafts.Draft)]
    before = await _imported_before(database, caller, file, named, known=known)
    prepared: list[PreparedDraft | drafts.Skip] = []
    for item in items:
        if isinstance(item, drafts.Skip):
            prepared.append(item)
        else:
            prepared.append(await _prepared(caller, file, item, before.get(item.key)))
    return prepared


@dataclass(frozen=True, slots=True)
class _Before:
    """What the ledger says of an item, and its record if that is to be looked at."""

    seen: ledger.Seen
    record: record_types.Record | None


async def _imported_before(
    database: db.Database,
    caller: callers.Caller,
    file: scan.ScannedFile,
    items: Sequence[drafts.Draft],
    *,
    known: bool,
) -> dict[str, _Before]:
    """By key, the items that were imported before, from this file or another."""
    keys = [item.key for item in items if item.key]
    if not keys and not known:
        return {}
    before: dict[str, _Before] = {}
    async with database.transaction(caller) as tx:
        imported = await ledger.imported_keys(tx, caller, keys)
        for item in items:
            if item.key in imported or (known and not item.key):
                match = await matching.match(
                    tx, caller, file.path, item, digest_of(item)
                )
                if match.seen is not None:
                    before[item.key] = await _looked_at(tx, caller, item, match.seen)
    return before


async def _looked_at(
    tx: db.Transaction, caller: callers.Caller, draft: drafts.Draft, seen: ledger.Seen
) -> _Before:
    """With its record, unless the file says what it said before."""
    if seen.digest == digest_of(draft):
        return _Before(seen, None)
    domain = catalogue.domain(seen.domain)
    record = await base.get(tx, caller, domain, seen.record_id, deleted=True)
    return _Before(seen, record)


async def _prepared(
    caller: callers.Caller,
    file: scan.ScannedFile,
    draft: drafts.Draft,
    before: _Before | None,
) -> PreparedDraft:
    digest = digest_of(draft)
    if before is not None and before.seen.digest == digest:
        return PreparedDraft(draft, digest)
    seen = before.seen if before else None
    later = dict.fromkeys(draft.refs.values(), _LATER)
    content = content_of(draft, file.relative, seen, later)
    try:
        if before is None or _is_to_be_kept_twice(before, content):
            record = await base.prepared(caller, content.domain, content.fields)
            return PreparedDraft(draft, digest, record=record)
        if before.record is None or before.record.deleted_at or draft.refs:
            return PreparedDraft(draft, digest)
        change = await base.prepared_change(
            caller, content.domain, before.record, content.fields
        )
        return PreparedDraft(draft, digest, change=change)
    except errors.Invalid:
        # Said again in the transaction, where it becomes the reason of this one item.
        return PreparedDraft(draft, digest)


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
    ids: Mapping[str, UUID],
) -> Content:
    """The fields of a draft from a file, its references by the ids of their keys. A
    diary entry that once became a note stays one.
    """
    domain = catalogue.domain(draft.domain)
    references = {name: ids.get(key) for name, key in draft.refs.items()}
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
