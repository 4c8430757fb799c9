"""Idempotent saving of drafts as records: created, updated, left alone, or kept twice
when both sides changed.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.ingest import drafts, ledger, report, scan
from reverie.records import base, catalogue, record_types

SOURCE = "import"


@dataclass(slots=True)
class SaveJob:
    """One file on its way in: `original` is the address of its bytes, `ids` the records
    made of its keys so far.
    """

    file: scan.ScannedFile
    modified: datetime
    original: str
    result: report.FileReport
    ids: dict[str, UUID] = field(default_factory=dict[str, UUID])


async def save(
    tx: db.Transaction,
    caller: callers.Caller,
    job: SaveJob,
    items: Sequence[drafts.Draft | drafts.Skip],
) -> None:
    """Some items of a file, each in a savepoint of its own."""
    await ledger.turn(tx, caller)
    for item in items:
        if isinstance(item, drafts.Skip):
            job.result.skipped.append(
                {"item": item.key, "reason": reason_of(item.reason)}
            )
            continue
        try:
            async with tx.savepoint():
                await _draft(tx, caller, job, item)
        except (errors.Invalid, errors.Conflict, errors.NotFound) as refused:
            job.result.skipped.append(
                {"item": item.key or item.domain, "reason": reason_of(refused.message)}
            )


def reason_of(text: str) -> str:
    """A reason as the report shows it."""
    return text.strip().rstrip(".")


async def _draft(
    tx: db.Transaction, caller: callers.Caller, job: SaveJob, draft: drafts.Draft
) -> None:
    domain = catalogue.domain(draft.domain)
    key = draft.key or "file"
    digest = _digest(draft)
    seen = await ledger.seen(tx, caller, job.file.path, key, shared=bool(draft.key))
    fields = dict(draft.fields)
    fields["custom"] = {**_custom(draft), "imported_from": str(job.file.relative)}
    for name, ref in draft.refs.items():
        fields[name] = job.ids.get(ref)
    if seen is not None and (seen.domain, domain.name) == ("note", "diary"):
        domain, fields = catalogue.domain("note"), _as_note(fields, job)
    if seen is None or seen.domain != domain.name:
        record = await _create(tx, caller, job, domain, fields)
        job.result.imported += 1
        version = record.updated_at
    else:
        record, version = await _again(
            tx, caller, job, domain, fields, seen, same=seen.digest == digest
        )
    job.ids[draft.key] = record.id
    modified = job.modified
    if seen and seen.path != job.file.path:
        modified = max(modified, seen.modified)
    entry = ledger.Seen(
        path=job.file.path,
        key=key,
        digest=digest,
        domain=_domain_name(record),
        record_id=record.id,
        version=version,
        modified=modified,
    )
    await ledger.keep(tx, caller, entry, job.original)


async def _create(
    tx: db.Transaction,
    caller: callers.Caller,
    job: SaveJob,
    domain: record_types.Domain[Any],
    fields: Mapping[str, Any],
) -> record_types.Record:
    """A new record. A second diary entry for one day is kept as a note: nothing is
    lost.
    """
    try:
        return await base.create(tx, caller, domain, fields, source=SOURCE)
    except errors.Conflict:
        if domain.name != "diary":
            raise
        note = _as_note(fields, job)
        job.result.skipped.append(
            {
                "item": str(fields["date"]),
                "reason": "this day has an entry: kept as a note",
            }
        )
        return await base.create(
            tx, caller, catalogue.domain("note"), note, source=SOURCE
        )


def _as_note(entry: Mapping[str, Any], job: SaveJob) -> dict[str, Any]:
    return {
        "title": f"{entry['date']} ({job.file.relative.stem})",
        "content": entry["content"],
        "tags": ["diary"],
        "custom": entry["custom"],
    }


async def _again(
    tx: db.Transaction,
    caller: callers.Caller,
    job: SaveJob,
    domain: record_types.Domain[Any],
    fields: Mapping[str, Any],
    seen: ledger.Seen,
    *,
    same: bool,
) -> tuple[record_types.Record, datetime]:
    """A thing that was imported before: unchanged, newer in the file, or changed on
    both sides (both are kept).

    With the version that came from a file, so that what was changed here stays known as
    changed here.
    """
    record = await base.get(tx, caller, domain, seen.record_id, deleted=True)
    older = seen.path != job.file.path and job.modified < seen.modified
    if same or older or record.deleted_at is not None:
        job.result.unchanged += 1
        if not same:
            reason = (
                "you deleted it"
                if record.deleted_at is not None
                else f"{seen.path} has a newer version"
            )
            job.result.skipped.append({"item": seen.key, "reason": reason})
        return record, seen.version
    if record.updated_at != seen.version:
        job.result.imported += 1
        job.result.skipped.append(
            {"item": seen.key, "reason": "changed here and in the file: both are kept"}
        )
        record = await _create(tx, caller, job, domain, fields)
    else:
        job.result.updated += 1
        record = await base.update(tx, caller, domain, seen.record_id, fields)
    return record, record.updated_at


def _custom(draft: drafts.Draft) -> dict[str, Any]:
    custom = draft.fields.get("custom")
    return dict(custom) if isinstance(custom, dict) else {}


def _domain_name(record: record_types.Record) -> str:
    for domain in catalogue.DOMAINS.values():
        if isinstance(record, domain.record):
            return domain.name
    raise LookupError(type(record).__name__)


def _digest(draft: drafts.Draft) -> bytes:
    """What the file says of an item, so that a second look sees whether it says
    something else.
    """
    content = [draft.domain, drafts.jsonable(draft.fields), drafts.jsonable(draft.refs)]
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).digest()
