"""Ingestion of one file: inspected, kept by its hash, read in a sandbox, and saved.

The same bytes are read once.
"""

import asyncio
import contextlib
import itertools
import mimetypes
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from reverie import blobs, db, errors
from reverie.access import callers
from reverie.ingest import (
    drafts,
    gathering,
    inspection,
    ledger,
    prepare,
    report,
    saving,
    scan,
    units_read,
)
from reverie.ingest.documents import cutting, units
from reverie.ingest.sandbox import pool, wire

LARGEST = inspection.LARGEST
_BATCH = 100  # a hundred take .3 s to prepare and save; set by hand
_OFTEN_S = 0.5

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


Outcome = gathering.Outcome


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
    gathered = gathering.Gathering(
        context.blobs,
        context.caller,
        file,
        saving.SaveJob(file, modified, outcome.digest, outcome.result),
    )
    collector = _Collector(
        context,
        options,
        outcome,
        gathered,
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
    try:
        async with contextlib.aclosing(context.worker_pool.read(job)) as messages:
            async for message in messages:
                await collector.add(message)
        await collector.finish(documents=first > 1)
    finally:
        await collector.close()


@dataclass(slots=True)
class _Collector:
    """Keeps what comes from a reader as it comes, and the rest at the end. Of records one
    batch is prepared while the one before is saved.
    """

    context: Context
    options: Options
    outcome: Outcome
    gathered: gathering.Gathering
    numbers: set[int] = field(default_factory=set[int])
    known: bool = True
    new: int = 0
    document: bool = False
    reached: int = 0
    total: int = 0
    kept_at: float = 0.0
    preparing: asyncio.Task[list[saving.Item]] | None = None

    async def add(self, message: wire.Message) -> None:
        """Take one message; a page is kept within half a second, records a hundred at a
        time.
        """
        await self.gathered.add(message)
        match message:
            case units.About():
                self._part_of_document(0)
            case units.Unit():
                self._part_of_document(message.number)
                self.reached = message.number
                self.total = max(message.total, message.number)
            case _:
                pass
        if self._is_due():
            await self._keep()

    def _part_of_document(self, number: int) -> None:
        self.document = True
        self.numbers.add(number)

    def _is_due(self) -> bool:
        if len(self.gathered.items) >= _BATCH:
            return True
        return bool(self.gathered.read) and time.monotonic() - self.kept_at > _OFTEN_S

    async def _keep(self) -> None:
        ready, self.preparing = self.preparing, self._begin_preparing()
        items = await ready if ready else []
        caller = self.context.caller
        async with self.context.database.transaction(caller) as tx:
            if items:
                await saving.save(tx, caller, items)
            await units_read.keep(tx, caller, self.outcome.digest, self.gathered.read)
            new = (
                self.reached
                + self.outcome.result.imported
                + self.outcome.result.updated
            )
            # What was there before is no step forward, however often it is looked at.
            if new > self.new:
                await self.options.on_progress(tx, self.reached, self.total)
                self.new = new
        self.gathered.read = []
        self.kept_at = time.monotonic()

    def _begin_preparing(self) -> "asyncio.Task[list[saving.Item]] | None":
        items, self.gathered.items = self.gathered.items, []
        return asyncio.create_task(self._prepared(items)) if items else None

    async def _prepared(
        self, items: Sequence[drafts.Draft | drafts.Skip]
    ) -> list[saving.Item]:
        """Items as far as they can be prepared before their transaction."""
        context, gathered = self.context, self.gathered
        found = [prepare.Found(gathered.file, item, self.known) for item in items]
        ready = await prepare.prepared_items(context.database, context.caller, found)
        return [(gathered.job, item) for item in ready]

    async def close(self) -> None:
        """Stop what is being prepared for nobody."""
        if self.preparing is not None:
            self.preparing.cancel()
            await asyncio.gather(self.preparing, return_exceptions=True)

    async def finish(self, *, documents: bool) -> None:
        """The reader is done: the document is cut and saved, and the file is noted, in
        one transaction.
        """
        caller, digest = self.context.caller, self.outcome.digest
        gathered = self.gathered
        if self.document or documents:
            await self._keep()
            async with self.context.database.transaction(caller) as tx:
                whole = await units_read.all_of(tx, caller, digest)
                torn = not self.numbers <= whole.numbers
                if torn:
                    await units_read.drop(tx, caller, digest)
            if torn:
                raise errors.Unavailable(
                    f"{gathered.file.relative} was read by somebody else as well."
                )
            if whole.units or not gathered.problem:
                gathered.items.append(await asyncio.to_thread(self._document, whole))
        before = await self.preparing if self.preparing else []
        items = before + await self._prepared(gathered.items)
        async with self.context.database.transaction(caller) as tx:
            await saving.save(tx, caller, items)
            entry = concluded(gathered, self.outcome)
            await ledger.keep_files(tx, caller, [entry])
            await units_read.drop(tx, caller, digest)
            await self.options.ending(tx, self.outcome)

    def _document(self, whole: units_read.UnitsRead) -> drafts.Draft:
        """The document as one record of the domain `file`, with its passages where they
        stand.
        """
        file, digest = self.gathered.file, self.outcome.digest
        root, user = self.context.blobs, self.context.caller.user_id
        cut = cutting.cut(whole.units)
        self.outcome.passages = len(cut.parts)
        name = file.relative.name
        fields = {
            "name": name,
            "mime": mimetypes.guess_type(name)[0] or "application/octet-stream",
            "size": blobs.path_of(root, user, digest).stat().st_size,
            "sha256": digest,
            "path": file.path,
            "text": cut.text,
            "parts": cut.as_json(),
            "custom": self._document_custom(whole),
        }
        draft = drafts.Draft("file", f"sha:{digest}" if file.inside else "", fields)
        return gathering.with_custom(draft, file.custom)

    def _document_custom(self, whole: units_read.UnitsRead) -> dict[str, object]:
        remarks = dict.fromkeys(unit.remark for unit in whole.units if unit.remark)
        return {
            "title": whole.about.title,
            "author": whole.about.author,
            "created": whole.about.created,
            "encoding": whole.about.encoding,
            "units": len(whole.units),
            "remarks": list(remarks),
            "incomplete": self.gathered.problem,
            "modified": self.gathered.job.modified.isoformat(),
        }


def concluded(gathered: gathering.Gathering, outcome: Outcome) -> ledger.FileEntry:
    """What became of a file of which all is saved: told in its outcome, and as it is to
    be noted.
    """
    job, result = gathered.job, outcome.result
    _conclude(result, gathered.problem, job.refused)
    outcome.inside += gathered.inside()
    state = result.status if result.status in ("skipped", "failed") else "imported"
    # What was refused to this caller may come in for another: it is not settled.
    if job.refused and state == "imported":
        state = "skipped"
    return ledger.FileEntry(
        gathered.file.path,
        digest=outcome.digest,
        modified=job.modified,
        items=result.imported + result.updated + result.unchanged,
        state=state,
        reason=result.reason,
        domains=sorted(job.domains | gathered.left_out),
        final=not job.refused,
    )


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
