"""Idempotent saving of drafts as records: created, updated, left alone, or kept twice
when both sides changed.

What is plainly new is saved many a statement, all else one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.ingest import (
    contact_merging,
    drafts,
    ledger,
    matching,
    prepare,
    report,
    scan,
)
from reverie.records import base, catalogue, preparing, record_types

SOURCE = "import"
MOST_REMARKS = 100


@dataclass(slots=True)
class SaveJob:
    """One file on its way in: `original` is the address of its bytes, `ids` the records
    made of its keys so far, `domains` the kinds of all that it told of; `refused` says
    why the caller may not write some of it.
    """

    file: scan.ScannedFile
    modified: datetime
    original: str
    result: report.FileReport
    ids: dict[str, UUID] = field(default_factory=dict[str, UUID])
    domains: set[str] = field(default_factory=set[str])
    refused: str = ""

    def skip(self, item: str, reason: str) -> None:
        """Say why an item, or a part of it, is not kept."""
        self.result.skipped.append({"item": item, "reason": reason_of(reason)})

    def remark(self, item: str, remark: str) -> None:
        """Say something of an item that is kept; of many remarks the first are enough."""
        if len(self.result.remarks) < MOST_REMARKS:
            self.result.remarks.append({"item": item, "remark": remark})


Item = tuple[SaveJob, prepare.PreparedDraft | drafts.Skip]


async def save(
    tx: db.Transaction, caller: callers.Caller, items: Sequence[Item]
) -> None:
    """Some items of one file or of many; one that is refused costs itself."""
    await ledger.turn(tx, caller)
    for job, item in items:
        if isinstance(item, drafts.Skip):
            job.skip(item.key, item.reason)
    found = [
        (job, item) for job, item in items if isinstance(item, prepare.PreparedDraft)
    ]
    for job, item in await _save_new(tx, caller, found):
        try:
            async with tx.savepoint():
                await _save_draft(tx, caller, job, item)
        except errors.Forbidden as refused:
            job.refused = reason_of(refused.message)
            job.skip(item.draft.key or item.draft.domain, refused.message)
        except (errors.Invalid, errors.Conflict, errors.NotFound) as refused:
            job.skip(item.draft.key or item.draft.domain, refused.message)


Draft = tuple[SaveJob, prepare.PreparedDraft]


async def _save_new(
    tx: db.Transaction, caller: callers.Caller, found: Sequence[Draft]
) -> list[Draft]:
    """Save what is plainly new, each kind of record in one go; returns the rest."""
    by_domain: dict[str, list[Draft]] = {}
    rest: list[Draft] = []
    known = await _known(tx, caller, found)
    for job, item in found:
        place = item.draft.key or job.file.path
        if place in known or not _is_plain(caller, item):
            rest.append((job, item))
        else:
            by_domain.setdefault(item.draft.domain, []).append((job, item))
        # Of two under one key in this very batch the second is no more new.
        known.add(place)
    for drafts_of_domain in by_domain.values():
        if not await _saved_together(tx, caller, drafts_of_domain):
            rest += drafts_of_domain
    return rest


async def _known(
    tx: db.Transaction, caller: callers.Caller, found: Sequence[Draft]
) -> set[str]:
    """The keys that something was imported under before, and the paths of files without
    keys.
    """
    keys = [item.draft.key for _, item in found if item.draft.key]
    paths = [job.file.path for job, item in found if not item.draft.key]
    known = await ledger.imported_keys(tx, caller, keys)
    return known | await ledger.imported_files(tx, caller, paths)


def _is_plain(caller: callers.Caller, item: prepare.PreparedDraft) -> bool:
    """Whether a new draft asks for nothing but to be kept: it refers to nothing, and no
    other record can be meant by it or stand against it.
    """
    if item.record is None or item.draft.refs:
        return False
    domain = item.record.domain
    is_alone = domain.name != "contact" and not domain.unique
    return is_alone and caller.may(domain.plural, "write")


async def _saved_together(
    tx: db.Transaction, caller: callers.Caller, found: Sequence[Draft]
) -> bool:
    """Whether new drafts of one domain could be saved as a whole; if not, none was."""
    new = [item.record for _, item in found if item.record is not None]
    try:
        async with tx.savepoint():
            records = await base.insert_all(tx, caller, new, source=SOURCE)
    except (errors.Forbidden, errors.Invalid, errors.Conflict):
        return False
    entries: list[ledger.LedgerNote] = []
    for (job, item), record in zip(found, records, strict=True):
        for remark in item.remarks:
            job.skip(item.draft.key or item.draft.domain, remark)
        job.domains.add(item.draft.domain)
        job.result.imported += 1
        job.ids[item.draft.key] = record.id
        seen = ledger.Seen(
            path=job.file.path,
            key=item.draft.key or ledger.WHOLE_FILE,
            digest=item.digest,
            domain=item.draft.domain,
            record_id=record.id,
            version=record.updated_at,
            modified=job.modified,
            content=item.identity or None,
        )
        entries.append(ledger.LedgerNote(seen, job.original))
    await ledger.keep(tx, caller, entries)
    return True


def reason_of(text: str) -> str:
    """A reason as the report shows it."""
    return text.strip().rstrip(".")


async def _save_draft(
    tx: db.Transaction,
    caller: callers.Caller,
    job: SaveJob,
    prepared: prepare.PreparedDraft,
) -> None:
    draft = prepared.draft
    match = await matching.match(tx, caller, job.file.path, draft, prepared.digest)
    seen = match.seen
    content = prepare.content_of(draft, job.file.relative, seen, job.ids)
    for remark in content.remarks:
        job.skip(draft.key or draft.domain, remark)
    _need_writing(caller, job, content.domain)
    if match.remark:
        job.remark(draft.key, match.remark)
    if seen is None or seen.domain != content.domain.name:
        record = await _create(tx, caller, job, content, prepared.record)
        job.result.imported += 1
        version = record.updated_at
    else:
        record, version = await _again(tx, caller, job, content, match, prepared)
    job.ids[draft.key] = record.id
    modified = job.modified
    if seen and seen.path != job.file.path:
        modified = max(modified, seen.modified)
    known_as = ledger.Seen(
        path=job.file.path,
        key=match.key,
        digest=prepared.digest,
        domain=_domain_name(record),
        record_id=record.id,
        version=version,
        modified=modified,
        content=match.content or None,
    )
    await ledger.keep(tx, caller, [ledger.LedgerNote(known_as, job.original)])


def _need_writing(
    caller: callers.Caller, job: SaveJob, domain: record_types.Domain[Any]
) -> None:
    """Raise Forbidden unless the caller may write records of this kind."""
    job.domains.add(domain.name)
    caller.need(domain.plural, "write")


async def _create(
    tx: db.Transaction,
    caller: callers.Caller,
    job: SaveJob,
    content: prepare.Content,
    ahead: record_types.PreparedRecord[Any] | None,
) -> record_types.Record:
    """A new record. A second diary entry for one day is kept as a note: nothing is
    lost.
    """
    try:
        if ahead is None or ahead.domain is not content.domain or content.unresolved:
            return await base.create(
                tx, caller, content.domain, content.fields, source=SOURCE
            )
        if content.references:
            ahead = preparing.referring(ahead, content.references)
        return await base.insert(tx, caller, ahead, source=SOURCE)
    except errors.Conflict:
        if content.domain.name != "diary":
            raise
        _need_writing(caller, job, catalogue.domain("note"))
        note = prepare.diary_as_note(content.fields, job.file.relative)
        job.result.skipped.append(
            {
                "item": str(content.fields["date"]),
                "reason": "this day has an entry: kept as a note",
            }
        )
        return await base.create(
            tx, caller, catalogue.domain("note"), note, source=SOURCE
        )


async def _again(
    tx: db.Transaction,
    caller: callers.Caller,
    job: SaveJob,
    content: prepare.Content,
    match: matching.ItemMatch,
    prepared: prepare.PreparedDraft,
) -> tuple[record_types.Record, datetime]:
    """A thing that was imported before: unchanged, newer in the file, known better by
    another source, or changed on both sides (both are kept).

    With the version that came from a file, so that what was changed here stays known as
    changed here.
    """
    seen = match.seen
    if seen is None:
        raise LookupError(match.key)
    record = await base.get(tx, caller, content.domain, seen.record_id, deleted=True)
    is_same = seen.digest == prepared.digest
    if reason := _left_alone(job, match, record, is_same=is_same):
        job.result.unchanged += 1
        if not is_same:
            job.result.skipped.append({"item": seen.key, "reason": reason})
        return record, seen.version
    if match.how == "person" or _has_sources(record):
        return await _add(tx, caller, job, content, match, record)
    if record.updated_at == seen.version:
        job.result.updated += 1
        record = await _update(tx, caller, content, seen, prepared.change)
        return record, record.updated_at
    job.result.imported += 1
    job.result.skipped.append(
        {"item": seen.key, "reason": "changed here and in the file: both are kept"}
    )
    record = await _create(tx, caller, job, content, prepared.record)
    return record, record.updated_at


def _left_alone(
    job: SaveJob,
    match: matching.ItemMatch,
    record: record_types.Record,
    *,
    is_same: bool,
) -> str:
    """Why a record stays as it is, or "" if the file has something to say."""
    seen = match.seen
    if record.deleted_at is not None:
        return "you deleted it"
    if is_same or seen is None:
        return "unchanged"
    if match.how != "copy":
        return ""
    if job.modified < seen.modified:
        return f"{seen.path} has a newer version"
    if match.content and record.updated_at != seen.version:
        return "a copy of what you changed here"
    return ""


def _has_sources(record: record_types.Record) -> bool:
    """Whether several sources told of a contact."""
    return bool(record.custom.get("merged_from"))


async def _add(
    tx: db.Transaction,
    caller: callers.Caller,
    job: SaveJob,
    content: prepare.Content,
    match: matching.ItemMatch,
    record: record_types.Record,
) -> tuple[record_types.Record, datetime]:
    """What a source of a contact adds to what others know. The first source may change
    what it said itself; none takes anything away.
    """
    relative = str(job.file.relative)
    is_first = relative == record.custom.get("imported_from")
    known = matching.fields_of(record)
    changes = contact_merging.merged(known, content.fields, newer=is_first)
    version = match.seen.version if match.seen else record.updated_at
    if not changes:
        job.result.unchanged += 1
        return record, version
    sources = list(record.custom.get("merged_from", ()))
    if not is_first and relative not in sources:
        sources.append(relative)
    custom = cast("Mapping[str, object]", changes.get("custom", record.custom))
    custom = {**custom, "merged_from": sources}
    changed = await base.update(
        tx, caller, content.domain, record.id, {**changes, "custom": custom}
    )
    job.result.updated += 1
    added = ", ".join(sorted(name.replace("_", " ") for name in changes))
    origin = record.custom.get("imported_from", "an import")
    job.remark(
        str(content.fields["display_name"]),
        f"merged into the contact of {origin}: {added}",
    )
    # What was changed here stays known as changed here.
    is_ours = record.updated_at == version
    return changed, changed.updated_at if is_ours else version


async def _update(
    tx: db.Transaction,
    caller: callers.Caller,
    content: prepare.Content,
    seen: ledger.Seen,
    ahead: record_types.PreparedChange[Any] | None,
) -> record_types.Record:
    """What the file says now, in place of what it said."""
    if ahead is not None and ahead.old.id == seen.record_id:
        written = await base.apply(tx, caller, ahead)
        if written is not None:
            return written
    return await base.update(tx, caller, content.domain, seen.record_id, content.fields)


def _domain_name(record: record_types.Record) -> str:
    for domain in catalogue.DOMAINS.values():
        if isinstance(record, domain.record):
            return domain.name
    raise LookupError(type(record).__name__)
