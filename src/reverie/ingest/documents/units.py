"""The reader interface of document parsers: bytes in, units of text with their places
out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Place = Mapping[str, int | str | list[int]]
"""Where a text stands: `page`, `slide`, `sheet` and `rows` ([first, last], as the sheet
numbers them), `section`.
"""
PlaceDict = dict[str, int | str | list[int]]
Kind = Literal["text", "heading", "row", "header", "notes"]


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document to read: its bytes, and its name, whose ending may matter.

    Units before `first` are known already: they are neither read nor handed over again.
    `password` opens an encrypted document.
    """

    data: bytes
    name: str
    first: int = 1
    password: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading (`level` 1 to 6), a row of a table, or notes to a slide,
    in reading order.

    A row is its cells joined by " | ". A `header` is the row that names the columns; it
    is repeated with each group of rows. `place` says more than the unit's, such as the
    number of a row.
    """

    text: str
    kind: Kind = "text"
    level: int = 0
    place: Place = field(default_factory=PlaceDict)


Blocks = list[Block]
"""Blocks in reading order."""


def paragraph(text: str, level: int = 0) -> Block:
    """A paragraph, or a heading of a level above 0."""
    return heading(text, level) if level else Block(text)


def heading(text: str, level: int) -> Block:
    """A heading; `level` is 1 to 6."""
    return Block(text, "heading", level)


def joined(blocks: Iterable[Block]) -> str:
    """The texts of blocks as one line: of a cell, a note, a comment."""
    return " ".join(block.text for block in blocks)


@dataclass(frozen=True, slots=True)
class Unit:
    """What is read in one go: a page, a slide, a sheet, a chapter, or the whole.
    `number` counts from 1.

    `total` is how many units there are, 0 while nobody knows. `remark` is told to the
    owner ("read by OCR").
    """

    number: int
    total: int
    blocks: tuple[Block, ...]
    place: Place = field(default_factory=PlaceDict)
    remark: str = ""


def whole(blocks: Iterable[Block]) -> Unit:
    """A document that is read in one go: one unit of all blocks."""
    return Unit(number=1, total=1, blocks=tuple(blocks))


@dataclass(frozen=True, slots=True)
class About:
    """What a document says of itself; told once, before the first unit. `created` is
    ISO 8601.
    """

    title: str = ""
    author: str = ""
    created: str = ""
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddedFile:
    """A file inside the document, which is a document of its own."""

    name: str
    mime: str
    data: bytes


Read = About | Unit | EmbeddedFile
Reader = Callable[[DocumentSource], Iterator[Read]]
"""Raises Unreadable with the reason (a fragment such as "the file is cut short"),
Locked when it wants a password.
"""
