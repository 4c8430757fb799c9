"""What readers of documents take and hand over: a document's bytes, and its units of
text with their places.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Place = Mapping[str, int | str | list[int]]
"""Where a text stands: `page`, `slide`, `sheet` and `rows` ([first, last], as the sheet
numbers them), `section`.
"""
Kind = Literal["text", "heading", "row", "header", "notes"]


@dataclass(frozen=True, slots=True)
class Given:
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
    place: Place = field(default_factory=dict[str, int | str | list[int]])


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
    place: Place = field(default_factory=dict[str, int | str | list[int]])
    remark: str = ""


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
Reader = Callable[[Given], Iterator[Read]]
"""Raises Unreadable with the reason (a fragment such as "the file is cut short"),
Locked when it wants a password.
"""
