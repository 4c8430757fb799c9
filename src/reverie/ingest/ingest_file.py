"""Ingestion of one file: inspected, kept by its hash, read in a sandbox, and saved.

The same bytes are read once.
"""

import asyncio
import contextlib
import itertools
import mimetypes
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import cast

from reverie import blobs, db, errors
from reverie.access import callers
from reverie.ingest import (
    drafts,
    inspection,
    ledger,
    letters,
    prepare,
    report,
    saving,
    scan,
    units_read,
)
from reverie.ingest.documents import cutting, units
from reverie.ingest.sandbox import pool, wire

LARGEST = inspection.LARGEST
_BATCH = 50
_OFTEN_S = 0.5
_DEEPEST = 5  # three letters in one another, and what is attached to the last

Transaction = db.Transaction
OnProgress = Callable[[db.Transaction, int, int], Awaitable[None]]
Ending = Callable[[db.Transaction, "Outcome"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Context:
    """What ingesting a file needs, for one caller."""

    database: db.Database
    caller: callers.Caller
    blobs: Path
    worker_pool: pool.WorkerPool


@dataclass(slots=True)
class Outcome:
    """What became of a file, how many passages a document has, and the files that lay
    inside it.
    """

    result: report.FileReport
    digest: str = ""
    passages: int = 0
    inside: list[scan.ScannedFile] = field(default_factory=list[scan.ScannedFile])


async def _nothing(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Options:
    """How a file is to be ingested: `again` reads what was refused before once more.

    `on_progress` is told in a transaction how many units are read, of how many;
    `ending` is called in the last transaction.
    """

    password: str = ""
    again: bool = False
    on_progress: OnProgress = _nothing
    ending: Ending = _nothing


async def take(
    context: Context, file: scan.ScannedFile, options: Options = Options()
) -> Outcome:
    """Ingest one file; its report says what became of it. Raises Unavailable, DiskFull:
    then try again.
    """
    outcome = Outcome(report.FileReport(str(file.relative)))
    try:
        readable = await _readable(context, file, options, outcome)
        if readable is not None:
            await _read(context, readable, options, outcome)
    except (errors.Unavailable, errors.DiskFull):
        raise
    except errors.ReverieError as failure:
        outcome.result.status = "failed"
        outcome.result.reason = failure.message
        await _end(context, options, outcome)
    return outcome


async def _end(context: Context, options: Options, outcome: Outcome) -> None:
    async with context.database.transaction(context.caller) as tx:
        await options.ending(tx, outcome)


@dataclass(frozen=True, slots=True)
class _Readable:
    """A file whose bytes are kept: when it was `modified`, the numbers of its units that
    were read before, and whether the ledger has it (`known`).
    """

    file: scan.ScannedFile
    modified: datetime
    numbers: set[int]
    known: bool


async def _readable(
    context: Context, file: scan.ScannedFile, options: Options, outcome: Outcome
) -> _Readable | None:
    """None when there is nothing to read: then it is reported at once. Else its bytes
    are kept.
    """
    result = outcome.result
    file = await asyncio.to_thread(inspection.inspect, file)
    state = file.state
    if file.problem or state is None:
        result.status = "skipped"
        result.reason = saving.reason_of(file.problem)
        await _end(context, options, outcome)
        return None
    outcome.digest = state.digest
    again = options.again or bool(options.password)
    async with context.database.transaction(context.caller) as tx:
        entry = await ledger.entry(tx, context.caller, file.path)
        if entry and ledger.recall(entry, state.digest, result, again=again):
            await options.ending(tx, outcome)
            return None
        numbers = await units_read.numbers(tx, context.caller, state.digest)
    outcome.digest = await asyncio.to_thread(_kept, context, file)
    # It was written to meanwhile: what counts is what was kept.
    if outcome.digest != state.digest:
        numbers = set[int]()
    return _Readable(file, file.modified or state.modified, numbers, entry is not None)


def _kept(context: Context, file: scan.ScannedFile) -> str:
    """The address of a file's bytes, kept and whole. Raises DiskFull, Unreadable."""
    user = context.caller.user_id
    if not file.blob:
        return blobs.put_file(context.blobs, user, file.file)
    try:
        blobs.verified(context.blobs, user, file.blob)
    except errors.Damaged as damaged:
        raise errors.Unreadable(damaged.message, hint=damaged.hint) from None
    return file.blob


async def _read(
    context: Context, readable: _Readable, options: Options, outcome: Outcome
) -> None:
    """Read in a child process, keeping what comes as it comes, and save the rest at the
    end.
    """
    file, modified = readable.file, readable.modified
    collector = _Collector(
        context,
        file,
        options,
        outcome,
        saving.SaveJob(file, modified, outcome.digest, outcome.result),
        numbers=set(readable.numbers),
        known=readable.known,
    )
    first = next(n for n in itertools.count(1) if n not in readable.numbers)
    job = pool.ReadJob(
        source=blobs.path_of(context.blobs, context.caller.user_id, outcome.digest),
        relative=file.relative,
        path=file.file,
        vault=file.vault,
        mtime=modified,
        first=first,
        password=options.password,
    )
    async with contextlib.aclosing(context.worker_pool.read(job)) as messages:
        async for message in messages:
            await collector.add(message)
    await collector.finish(documents=first > 1)


@dataclass(slots=True)
class _Collector:
    """What came from a reader and is not kept yet."""

    context: Context
    file: scan.ScannedFile
    options: Options
    outcome: Outcome
    job: saving.SaveJob
    items: list[drafts.Draft | drafts.Skip] = field(
        default_factory=list[drafts.Draft | drafts.Skip]
    )
    read: list[units.About | units.Unit] = field(
        default_factory=list[units.About | units.Unit]
    )
    numbers: set[int] = field(default_factory=set[int])
    known: bool = True
    left_out: set[str] = field(default_factory=set[str])
    new: int = 0
    problem: str = ""
    document: bool = False
    reached: int = 0
    total: int = 0
    kept_at: float = 0.0

    async def add(self, message: wire.Message) -> None:
        """Take one message; a page is kept within half a second, records fifty at a
        time.
        """
        match message:
            case drafts.Draft() | drafts.Skip():
                self.items.append(self._allowed(message))
            case drafts.Remark():
                self.job.remark(message.key, message.text)
            case units.EmbeddedFile():
                await self._attachment(message)
            case units.About():
                self._add_to_document(message, 0)
            case units.Unit():
                self._add_to_document(message, message.number)
                self.reached = message.number
                self.total = max(message.total, message.number)
            case wire.Unread():
                self.items.append(drafts.Skip("", message.reason))
            case wire.Broken():
                self._broken(message)
            case wire.Began() | wire.Done():
                pass
        if self._is_due():
            await self._keep()

    def _add_to_document(self, part: units.About | units.Unit, number: int) -> None:
        self.document = True
        self.read.append(part)
        self.numbers.add(number)

    def _broken(self, message: wire.Broken) -> None:
        if message.cause == "stopped":
            raise errors.Unavailable(f"{self.file.relative}: {message.reason}.")
        self.problem = message.reason

    def _is_due(self) -> bool:
        if len(self.items) >= _BATCH:
            return True
        return bool(self.read) and time.monotonic() - self.kept_at > _OFTEN_S

    def _allowed(self, item: drafts.Draft | drafts.Skip) -> drafts.Draft | drafts.Skip:
        """Out of a letter come texts and documents: no event enters a calendar, nor a
        contact, by being sent.
        """
        if isinstance(item, drafts.Skip) or not self.file.inside:
            return item
        if item.domain in ("note", "file"):
            return item
        if item.domain == "email":
            return self._letter(item)
        self.left_out.add(item.domain)
        reason = f"of the kind {item.domain}, and inside another file: not taken over"
        return drafts.Skip(item.key, reason)

    def _letter(self, letter: drafts.Draft) -> drafts.Draft:
        """A letter inside another file as a document: it is found, and no mail comes in
        that somebody else says was sent.
        """
        data = blobs.path_of(
            self.context.blobs, self.context.caller.user_id, self.outcome.digest
        )
        return letters.as_document(
            letter, self.file, self.outcome.digest, data.stat().st_size
        )

    async def _keep(self) -> None:
        caller = self.context.caller
        items = await self._prepared()
        async with self.context.database.transaction(caller) as tx:
            if items:
                await saving.save(tx, caller, self.job, items)
            await units_read.keep(tx, caller, self.outcome.digest, self.read)
            new = (
                self.reached
                + self.outcome.result.imported
                + self.outcome.result.updated
            )
            # What was there before is no step forward, however often it is looked at.
            if new > self.new:
                await self.options.on_progress(tx, self.reached, self.total)
                self.new = new
        self.items, self.read = [], []
        self.kept_at = time.monotonic()

    async def _prepared(self) -> list[prepare.PreparedDraft | drafts.Skip]:
        """The items as far as they can be prepared before their transaction."""
        return await prepare.prepared_items(
            self.context.database,
            self.context.caller,
            self.file,
            self._completed(),
            known=self.known,
        )

    def _completed(self) -> list[drafts.Draft | drafts.Skip]:
        """The items with what is known of their file from elsewhere."""
        if not self.file.custom:
            return self.items
        return [
            item
            if isinstance(item, drafts.Skip)
            else _with_custom(item, self.file.custom)
            for item in self.items
        ]

    async def _attachment(self, attachment: units.EmbeddedFile) -> None:
        """A file inside this one: its bytes are kept, and it is a file of its own."""
        depth = int(str(self.file.custom.get("depth", 0)))
        if depth >= _DEEPEST or not attachment.data:
            return
        await self._keep()  # so that the letter it came with is known
        root, user = self.context.blobs, self.context.caller.user_id
        address = await asyncio.to_thread(blobs.put, root, user, attachment.data)
        name = _plain(attachment.name)
        if not name:
            name = f"unnamed{mimetypes.guess_extension(attachment.mime) or ''}"
        record = next(reversed(self.job.ids.values()), None)
        inside = scan.ScannedFile(
            blobs.path_of(root, user, address),
            scan.inside(self.file.path, address, name),
            self.file.relative / name,
            blob=address,
            modified=self.job.modified,
            custom={"depth": depth + 1, "inside": str(record or "")},
            inside=True,
        )
        self.outcome.inside.append(inside)

    async def finish(self, *, documents: bool) -> None:
        """The reader is done: the document is cut and saved, and the file is noted, in
        one transaction.
        """
        caller, digest = self.context.caller, self.outcome.digest
        if self.document or documents:
            await self._keep()
            async with self.context.database.transaction(caller) as tx:
                whole = await units_read.all_of(tx, caller, digest)
                torn = not self.numbers <= whole.numbers
                if torn:
                    await units_read.drop(tx, caller, digest)
            if torn:
                raise errors.Unavailable(
                    f"{self.file.relative} was read by somebody else as well."
                )
            if whole.units or not self.problem:
                self.items.append(await asyncio.to_thread(self._document, whole))
        items = await self._prepared()
        async with self.context.database.transaction(caller) as tx:
            await saving.save(tx, caller, self.job, items)
            _conclude(self.outcome.result, self.problem, self.job.refused)
            await self._note(tx)
            await units_read.drop(tx, caller, digest)
            await self.options.ending(tx, self.outcome)

    async def _note(self, tx: db.Transaction) -> None:
        result = self.outcome.result
        items = result.imported + result.updated + result.unchanged
        state = result.status if result.status in ("skipped", "failed") else "imported"
        # What was refused to this caller may come in for another: it is not settled.
        if self.job.refused and state == "imported":
            state = "skipped"
        await ledger.keep_file(
            tx,
            self.context.caller,
            self.file.path,
            digest=self.outcome.digest,
            modified=self.job.modified,
            items=items,
            state=state,
            reason=result.reason,
            domains=self.job.domains | self.left_out,
            final=not self.job.refused,
        )

    def _document(self, whole: units_read.UnitsRead) -> drafts.Draft:
        """The document as one record of the domain `file`, with its passages where they
        stand.
        """
        digest = self.outcome.digest
        root, user = self.context.blobs, self.context.caller.user_id
        cut = cutting.cut(whole.units)
        self.outcome.passages = len(cut.parts)
        name = self.file.relative.name
        fields = {
            "name": name,
            "mime": mimetypes.guess_type(name)[0] or "application/octet-stream",
            "size": blobs.path_of(root, user, digest).stat().st_size,
            "sha256": digest,
            "path": self.file.path,
            "text": cut.text,
            "parts": cut.as_json(),
            "custom": self._document_custom(whole),
        }
        return drafts.Draft("file", f"sha:{digest}" if self.file.inside else "", fields)

    def _document_custom(self, whole: units_read.UnitsRead) -> dict[str, object]:
        remarks = dict.fromkeys(unit.remark for unit in whole.units if unit.remark)
        return {
            "title": whole.about.title,
            "author": whole.about.author,
            "created": whole.about.created,
            "encoding": whole.about.encoding,
            "units": len(whole.units),
            "remarks": list(remarks),
            "incomplete": self.problem,
            "modified": self.job.modified.isoformat(),
        }


def _with_custom(draft: drafts.Draft, custom: Mapping[str, object]) -> drafts.Draft:
    own = draft.fields.get("custom")
    if isinstance(own, Mapping):
        custom = {**cast("Mapping[str, object]", own), **custom}
    fields = {**draft.fields, "custom": custom}
    return replace(draft, fields=fields)


def _plain(name: str) -> str:
    """A name from outside as a name and nothing else."""
    return drafts.clean(name.replace("\\", "/").rpartition("/")[2].strip(". "))[:200]


def _conclude(result: report.FileReport, problem: str, refused: str) -> None:
    """Say what became of a file as a whole."""
    if problem:
        result.status, result.reason = "failed", saving.reason_of(problem)
    elif result.imported or result.updated:
        result.status = "imported"
    elif not result.unchanged:
        result.status = "skipped"
        result.reason = refused or "no records in it"
        if len(result.skipped) == 1:
            result.reason = result.skipped.pop()["reason"]
