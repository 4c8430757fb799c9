"""Taking in one file: looked at, kept by its hash, read in a child process, saved; the
same bytes are read once.
"""

import asyncio
import contextlib
import itertools
import mimetypes
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from reverie import blobs, db, errors
from reverie.access import callers
from reverie.ingest import detect, drafts, ledger, report, saving, scan, units_read
from reverie.ingest.documents import cutting, units
from reverie.ingest.sandbox import pool, wire

LARGEST = 2 * 1024**3
_BATCH = 50
_OFTEN_S = 0.5
_DEEPEST = 3

Transaction = db.Transaction
Far = Callable[[db.Transaction, int, int], Awaitable[None]]
Ending = Callable[[db.Transaction, "Outcome"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Context:
    """What taking in needs."""

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
    """How a file is to be taken: `again` reads what was refused before once more.

    `far` is told in a transaction how many units are read, of how many; `ending` is
    called in the last transaction.
    """

    password: str = ""
    again: bool = False
    far: Far = _nothing
    ending: Ending = _nothing


async def take(
    desk: Context, found: scan.ScannedFile, wishes: Options = Options()
) -> Outcome:
    """Take in one file; its report says what became of it. Raises Unavailable,
    DiskFull: then try again.
    """
    taken = Outcome(report.FileReport(str(found.relative)))
    try:
        settled = await _settled(desk, found, wishes, taken)
        if settled is not None:
            await _read(desk, found, wishes, taken, *settled)
    except (errors.Unavailable, errors.DiskFull):
        raise
    except errors.ReverieError as failure:
        taken.result.status, taken.result.reason = "failed", failure.message
        await _end(desk, wishes, taken)
    return taken


async def _end(desk: Context, wishes: Options, taken: Outcome) -> None:
    async with desk.database.transaction(desk.caller) as tx:
        await wishes.ending(tx, taken)


async def _settled(
    desk: Context, found: scan.ScannedFile, wishes: Options, taken: Outcome
) -> tuple[datetime, set[int]] | None:
    """None when there is nothing to read: then it is told at once. Else its bytes are
    kept.

    Returns the time of the file, and the numbers of its units that are there already.
    """
    result = taken.result
    refused = found.problem
    modified = found.modified or datetime.now(UTC)
    if not refused:
        head, modified = await asyncio.to_thread(_look, found)
        refused = refusal(head, found)
    if refused:
        result.status, result.reason = "skipped", saving.reason_of(refused)
        await _end(desk, wishes, taken)
        return None
    taken.digest = found.blob or await asyncio.to_thread(_digest, found.file)
    async with desk.database.transaction(desk.caller) as tx:
        known = await ledger.known(tx, desk.caller, found.path)
        if known is not None and ledger.recall(
            known, taken.digest, result, again=wishes.again or bool(wishes.password)
        ):
            await wishes.ending(tx, taken)
            return None
        there = await units_read.numbers(tx, desk.caller, taken.digest)
    if not found.blob:
        kept = await asyncio.to_thread(
            blobs.put_file, desk.blobs, desk.caller.user_id, found.file
        )
        if (
            kept != taken.digest
        ):  # it was written to meanwhile: what counts is what was kept
            taken.digest, there = kept, set[int]()
    return modified, there


def refusal(head: bytes, found: scan.ScannedFile) -> str:
    """Why a file is not read, by its beginning and its name; "" when it may be."""
    kind = detect.look(head, found.relative)
    return kind if isinstance(kind, str) else ""


def _look(found: scan.ScannedFile) -> tuple[bytes, datetime]:
    """The beginning of a file, and when it was changed."""
    try:
        status = found.file.stat()
        if status.st_size > LARGEST:
            raise errors.Unreadable("the file is larger than 2 GB: split it")
        with found.file.open("rb") as opened:
            head = opened.read(detect.HEAD)
    except OSError as refused:
        raise errors.Unreadable(f"cannot be read: {refused.strerror}") from None
    return head, found.modified or datetime.fromtimestamp(status.st_mtime, UTC)


def _digest(file: Path) -> str:
    try:
        return blobs.digest_of(file)
    except OSError as refused:
        raise errors.Unreadable(f"cannot be read: {refused.strerror}") from None


async def _read(
    desk: Context,
    found: scan.ScannedFile,
    wishes: Options,
    taken: Outcome,
    modified: datetime,
    there: set[int],
) -> None:
    """Read in a child process, keeping what comes as it comes, and save the rest at the
    end.
    """
    content = blobs.path_of(desk.blobs, desk.caller.user_id, taken.digest)
    intake = _Intake(
        desk,
        found,
        wishes,
        taken,
        saving.SaveJob(found, modified, taken.digest, taken.result),
    )
    intake.numbers = set(there)
    first = next(number for number in itertools.count(1) if number not in there)
    job = pool.ReadJob(
        source=content,
        relative=found.relative,
        path=found.file,
        vault=found.vault,
        mtime=modified,
        first=first,
        password=wishes.password,
    )
    async with contextlib.aclosing(desk.worker_pool.read(job)) as messages:
        async for message in messages:
            await intake.add(message)
    await intake.finish(documents=first > 1)


@dataclass(slots=True)
class _Intake:
    """What came from a reader and is not kept yet."""

    desk: Context
    found: scan.ScannedFile
    wishes: Options
    taken: Outcome
    job: saving.SaveJob
    items: list[drafts.Draft | drafts.Skip] = field(
        default_factory=list[drafts.Draft | drafts.Skip]
    )
    read: list[units.About | units.Unit] = field(
        default_factory=list[units.About | units.Unit]
    )
    numbers: set[int] = field(default_factory=set[int])
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
        if isinstance(message, drafts.Draft | drafts.Skip):
            self.items.append(self._allowed(message))
        elif isinstance(message, units.EmbeddedFile):
            await self._attachment(message)
        elif isinstance(message, wire.Broken):
            if message.cause == "stopped":
                raise errors.Unavailable(f"{self.found.relative}: {message.reason}.")
            self.problem = message.reason
        elif isinstance(message, wire.Unread):
            self.items.append(drafts.Skip("", message.reason))
        elif isinstance(message, units.About | units.Unit):
            self.document = True
            self.read.append(message)
            self.numbers.add(message.number if isinstance(message, units.Unit) else 0)
            if isinstance(message, units.Unit):
                self.reached, self.total = (
                    message.number,
                    max(message.total, message.number),
                )
        if len(self.items) >= _BATCH or (
            self.read and time.monotonic() - self.kept_at > _OFTEN_S
        ):
            await self._keep()

    def _allowed(self, item: drafts.Draft | drafts.Skip) -> drafts.Draft | drafts.Skip:
        """Out of a letter come texts and documents: no event enters a calendar, nor a
        contact, by being sent.
        """
        if (
            isinstance(item, drafts.Skip)
            or not self.found.inside
            or item.domain in ("note", "file")
        ):
            return item
        return drafts.Skip(
            item.key,
            f"of the kind {item.domain}, and inside another file: not taken over",
        )

    async def _keep(self) -> None:
        caller = self.desk.caller
        async with self.desk.database.transaction(caller) as tx:
            if self.items:
                await saving.save(
                    tx, caller, self.job, [self._told(one) for one in self.items]
                )
            await units_read.keep(tx, caller, self.taken.digest, self.read)
            new = self.reached + self.taken.result.imported + self.taken.result.updated
            if (
                new > self.new
            ):  # what was there before is no step forward, however often it is looked at
                await self.wishes.far(tx, self.reached, self.total)
                self.new = new
        self.items, self.read = [], []
        self.kept_at = time.monotonic()

    def _told(self, item: drafts.Draft | drafts.Skip) -> drafts.Draft | drafts.Skip:
        """The draft with what is known of its file from elsewhere."""
        if isinstance(item, drafts.Skip) or not self.found.custom:
            return item
        custom = item.fields.get("custom")
        own = cast(
            "Mapping[str, object]", custom if isinstance(custom, Mapping) else {}
        )
        return drafts.Draft(
            item.domain,
            item.key,
            {**item.fields, "custom": {**own, **self.found.custom}},
            item.refs,
        )

    async def _attachment(self, given: units.EmbeddedFile) -> None:
        """A file inside this one: its bytes are kept, and it is a file of its own."""
        depth = int(str(self.found.custom.get("depth", 0)))
        if depth >= _DEEPEST or not given.data:
            return
        await self._keep()  # so that the letter it came with is known
        root, user = self.desk.blobs, self.desk.caller.user_id
        address = await asyncio.to_thread(blobs.put, root, user, given.data)
        name = (
            _plain(given.name)
            or f"unnamed{mimetypes.guess_extension(given.mime) or ''}"
        )
        record = next(reversed(self.job.ids.values()), None)
        inside = scan.ScannedFile(
            blobs.path_of(root, user, address),
            scan.inside(self.found.path, address, name),
            self.found.relative / name,
            blob=address,
            modified=self.job.modified,
            custom={"depth": depth + 1, "inside": str(record or "")},
            inside=True,
        )
        self.taken.inside.append(inside)

    async def finish(self, *, documents: bool) -> None:
        """The reader is done: the document is cut and saved, and the file is noted, in
        one transaction.
        """
        caller, digest = self.desk.caller, self.taken.digest
        if self.document or documents:
            await self._keep()
            async with self.desk.database.transaction(caller) as tx:
                whole = await units_read.all_of(tx, caller, digest)
                torn = not self.numbers <= whole.numbers
                if torn:
                    await units_read.drop(tx, caller, digest)
            if torn:
                raise errors.Unavailable(
                    f"{self.found.relative} was read by somebody else as well."
                )
            if whole.units or not self.problem:
                self.items.append(await asyncio.to_thread(self._document, whole))
        async with self.desk.database.transaction(caller) as tx:
            await saving.save(
                tx, caller, self.job, [self._told(one) for one in self.items]
            )
            _conclude(self.taken.result, self.problem)
            await self._note(tx)
            await units_read.drop(tx, caller, digest)
            await self.wishes.ending(tx, self.taken)

    async def _note(self, tx: db.Transaction) -> None:
        result = self.taken.result
        items = result.imported + result.updated + result.unchanged
        state = result.status if result.status in ("skipped", "failed") else "imported"
        await ledger.keep_file(
            tx,
            self.desk.caller,
            self.found.path,
            digest=self.taken.digest,
            modified=self.job.modified,
            items=items,
            state=state,
            reason=result.reason,
        )

    def _document(self, whole: units_read.UnitsRead) -> drafts.Draft:
        """The document as one record of the domain `file`, with its passages where they
        stand.
        """
        cut = cutting.cut(whole.units)
        self.taken.passages = len(cut.parts)
        name = self.found.relative.name
        remarks = list(dict.fromkeys(one.remark for one in whole.units if one.remark))
        custom = {
            "title": whole.about.title,
            "author": whole.about.author,
            "created": whole.about.created,
            "encoding": whole.about.encoding,
            "units": len(whole.units),
            "remarks": remarks,
            "incomplete": self.problem,
            "modified": self.job.modified.isoformat(),
        }
        fields = {
            "name": name,
            "mime": mimetypes.guess_type(name)[0] or "application/octet-stream",
            "size": blobs.path_of(
                self.desk.blobs, self.desk.caller.user_id, self.taken.digest
            )
            .stat()
            .st_size,
            "sha256": self.taken.digest,
            "path": self.found.path,
            "text": cut.text,
            "parts": cut.as_json(),
            "custom": custom,
        }
        return drafts.Draft(
            "file", f"sha:{self.taken.digest}" if self.found.inside else "", fields
        )


def _plain(name: str) -> str:
    """A name from outside as a name and nothing else."""
    return drafts.clean(name.replace("\\", "/").rpartition("/")[2].strip(". "))[:200]


def _conclude(result: report.FileReport, problem: str) -> None:
    if problem:
        result.status, result.reason = "failed", saving.reason_of(problem)
    elif result.imported or result.updated:
        result.status = "imported"
    elif not result.unchanged:
        result.status = "skipped"
        result.reason = (
            result.skipped[0]["reason"]
            if len(result.skipped) == 1
            else "no records in it"
        )
        if len(result.skipped) == 1:
            result.skipped.clear()
