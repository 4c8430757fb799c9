"""What a labelled set is made of: texts to keep, questions, and the units of text that
answer them.
"""

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import reverie


@dataclass(frozen=True, slots=True)
class Note:
    """A document: one record, one unit."""

    unit: str
    text: str
    title: str | None = None
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said. Its unit is `conversation/id`."""

    id: str
    speaker: str
    text: str
    at: str | None = None

    @property
    def said(self) -> str:
        """The turn as a line."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Chat:
    """One session of a conversation: one record, a unit for each turn."""

    conversation: str
    title: str
    started: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What one user keeps. Either notes and chats, or a folder of files for the
    importer (a unit for each file).
    """

    name: str
    notes: tuple[Note, ...] = ()
    chats: tuple[Chat, ...] = ()
    folder: Path | None = None

    @property
    def key(self) -> str:
        """A digest of the content: what was imported under it need not be imported
        again.
        """
        digest = hashlib.sha256(repr((self.notes, self.chats)).encode())
        for file in sorted(self.folder.rglob("*")) if self.folder else ():
            if file.is_file():
                digest.update(
                    f"{file.relative_to(self.folder or file)}\0".encode()
                    + file.read_bytes()
                )
        return digest.hexdigest()[:16]

    def units(self) -> dict[str, tuple[str, str]]:
        """The text and the language of every unit that is known before the import."""
        found = {
            note.unit: (
                f"{note.title}\n{note.text}" if note.title else note.text,
                note.language,
            )
            for note in self.notes
        }
        for chat in self.chats:
            found |= {
                f"{chat.conversation}/{turn.id}": (turn.said, "en")
                for turn in chat.turns
            }
        return found


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the units that answer it, and those that the set's authors published
    where corrections differ.
    """

    text: str
    gold: frozenset[str]
    category: str = ""
    language: str = "en"
    published: frozenset[str] | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Questions to one corpus. The figures of all tasks with the same `row` are taken
    together.
    """

    row: str
    corpus: Corpus
    questions: tuple[Question, ...]


def raw(file: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzipped."""
    data = file.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def loaded(file: Path) -> Any:
    """The JSON of a file, gzipped or not."""
    return json.loads(raw(file))


def spread(tasks: Sequence[Task], limit: int) -> list[Task]:
    """Of each row at most `limit` questions, evenly spread over its tasks; tasks left
    without one are dropped.
    """
    kept: list[Task] = []
    for row in dict.fromkeys(task.row for task in tasks):
        mine = [task for task in tasks if task.row == row]
        every = (
            max(1.0, sum(len(task.questions) for task in mine) / limit)
            if limit
            else 1.0
        )
        seen, due = 0, 0.0
        for task in mine:
            chosen: list[Question] = []
            for question in task.questions:
                if seen >= due:
                    chosen.append(question)
                    due += every
                seen += 1
            if chosen:
                kept.append(Task(task.row, task.corpus, tuple(chosen)))
    return kept


def of_code(packages: Sequence[str]) -> str:
    """A digest of some packages of the product: what was kept under another was made by
    other code.
    """
    digest = hashlib.sha256()
    root = Path(reverie.__file__).parent
    for package in packages:
        for file in sorted((root / package).rglob("*")):
            if file.suffix in (".py", ".sql", ".json"):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
