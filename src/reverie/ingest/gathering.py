"""What a reader tells of one file, gathered until it is kept: records, the units of a
document, files inside it.
"""

import asyncio
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from reverie import blobs, errors
from reverie.access import callers
from reverie.ingest import drafts, letters, report, saving, scan
from reverie.ingest.documents import units
from reverie.ingest.sandbox import wire

_DEEPEST = 5  # three letters in one another, and what is attached to the last


@dataclass(slots=True)
class Outcome:
    """What became of a file, how many passages a document has, and the files that lay
    inside it.
    """

    result: report.FileReport
    digest: str = ""
    passages: int = 0
    inside: list[scan.ScannedFile] = field(default_factory=list[scan.ScannedFile])


@dataclass(frozen=True, slots=True)
class _Attachment:
    """A file inside another, and the key of the letter that it came with."""

    file: scan.ScannedFile
    letter: str


@dataclass(slots=True)
class Gathering:
    """What came of one file and is not kept yet. `problem` says why its reading broke
    off, and `ended` that it came to its end.
    """

    blobs: Path
    caller: callers.Caller
    file: scan.ScannedFile
    job: saving.SaveJob
    items: list[drafts.Draft | drafts.Skip] = field(
        default_factory=list[drafts.Draft | drafts.Skip]
    )
    read: list[units.About | units.Unit] = field(
        default_factory=list[units.About | units.Unit]
    )
    attachments: list[_Attachment] = field(default_factory=list[_Attachment])
    left_out: set[str] = field(default_factory=set[str])
    letter: str = ""
    problem: str = ""
    ended: bool = False

    async def add(self, message: wire.Message) -> None:
        """Take one message. Raises Unavailable when its reader was stopped from
        outside.
        """
        match message:
            case drafts.Draft() | drafts.Skip():
                self.items.append(self._completed(self._allowed(message)))
                self.letter = message.key
            case drafts.Remark():
                self.job.remark(message.key, message.text)
            case units.EmbeddedFile():
                await self._attach(message)
            case units.About() | units.Unit():
                self.read.append(message)
            case wire.Unread():
                self.items.append(drafts.Skip("", message.reason))
                self.ended = True
            case wire.Broken():
                self._broken(message)
            case wire.Done():
                self.ended = True
            case wire.Began():
                pass

    def _broken(self, message: wire.Broken) -> None:
        if message.cause == "stopped":
            raise errors.Unavailable(f"{self.file.relative}: {message.reason}.")
        self.problem = message.reason

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
        digest = self.job.original
        data = blobs.path_of(self.blobs, self.caller.user_id, digest)
        return letters.as_document(letter, self.file, digest, data.stat().st_size)

    def _completed(
        self, item: drafts.Draft | drafts.Skip
    ) -> drafts.Draft | drafts.Skip:
        """An item with what is known of its file from elsewhere."""
        if isinstance(item, drafts.Skip) or not self.file.custom:
            return item
        return with_custom(item, self.file.custom)

    async def _attach(self, attachment: units.EmbeddedFile) -> None:
        """A file inside this one: its bytes are kept, and it is a file of its own."""
        depth = int(str(self.file.custom.get("depth", 0)))
        if depth >= _DEEPEST or not attachment.data:
            return
        user = self.caller.user_id
        address = await asyncio.to_thread(blobs.put, self.blobs, user, attachment.data)
        name = _plain(attachment.name)
        if not name:
            name = f"unnamed{mimetypes.guess_extension(attachment.mime) or ''}"
        inside = scan.ScannedFile(
            blobs.path_of(self.blobs, user, address),
            scan.inside(self.file.path, address, name),
            self.file.relative / name,
            blob=address,
            modified=self.job.modified,
            custom={"depth": depth + 1},
            inside=True,
        )
        self.attachments.append(_Attachment(inside, self.letter))

    def inside(self) -> list[scan.ScannedFile]:
        """The files inside this one, each with the record of the letter that it came
        with: to be asked for when that is saved.
        """
        files: list[scan.ScannedFile] = []
        for attachment in self.attachments:
            record = self.job.ids.get(attachment.letter)
            custom = {**attachment.file.custom, "inside": str(record or "")}
            files.append(replace(attachment.file, custom=custom))
        return files


def with_custom(draft: drafts.Draft, custom: Mapping[str, object]) -> drafts.Draft:
    """A draft with more that a record keeps under `custom`."""
    own = draft.fields.get("custom")
    if isinstance(own, Mapping):
        custom = {**cast("Mapping[str, object]", own), **custom}
    return replace(draft, fields={**draft.fields, "custom": custom})


def _plain(name: str) -> str:
    """A name from outside as a name and nothing else."""
    return drafts.clean(name.replace("\\", "/").rpartition("/")[2].strip(". "))[:200]
