"""OpenDocument spreadsheets (.ods; ODF 1.3): table rows streamed from content.xml."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from reverie.ingest.documents import (
    numbering,
    officeparts,
    packed,
    sheetrows,
    spacing,
    trees,
    units,
)

# Bytes in which a part without a declared type shows what it is.
HEAD = 64 * 1024
# Copies of a filled cell that are written out; set by hand, against files of few bytes
# that repeat a cell to the end of the sheet.
REPEATED = 100
MOST_REPEATED_ROWS = 2_000_000
SPREADSHEET = re.compile(rb"<office:spreadsheet[\s/>]")
# What a format adds to the digits of a number: thousands parted, a currency, words.
_SHOWN_MARKS = re.compile(r"[^\d.,\s+-]|\d[.,\s\u202f'’]\d{3}(?!\d)|\d\s?/\s?\d")
SECONDS = re.compile(r"T(\d\d:\d\d)(:00(\.0+)?)?$")


@dataclass(slots=True)
class OdfSheetWalk:
    """Where the walk through content.xml stands."""

    number: int = 1
    column: int = 0
    cells: list[sheetrows.Cell] = field(default_factory=list[sheetrows.Cell])
    comments: units.Blocks = field(default_factory=units.Blocks)


def is_spreadsheet(package: packed.Package) -> bool:
    """Whether the package holds sheets: by its declared type, or by how its content
    begins.
    """
    if "mimetype" in package:
        declared = package.read("mimetype", 1024 * 1024)
        if declared.startswith(b"application/vnd.oasis.opendocument."):
            return b"spreadsheet" in declared
    stream = package.stream("content.xml")
    return SPREADSHEET.search(stream.read(HEAD)) is not None


@dataclass(frozen=True, slots=True)
class OdfSheetRow:
    """A row with the number and the name of its sheet."""

    sheet: tuple[int, str]
    row: sheetrows.Row


def read(package: packed.Package, first: int) -> Iterator[units.Unit]:
    """The units of all sheets. How many there are nobody knows before the end."""
    writer = sheetrows.Writer(first)
    walk = OdfSheetWalk()
    rows = _rows(package, walk)
    for (_, name), group in itertools.groupby(rows, key=lambda row: row.sheet):
        yield from writer.sheet(name, (row.row for row in group), walk.comments)
        walk.comments = []


def _rows(package: packed.Package, walk: OdfSheetWalk) -> Iterator[OdfSheetRow]:
    """The filled rows of all sheets; a row ends after its cells, a sheet after its rows."""
    sheet = 0
    for element in package.elements(
        "content.xml", "table-cell", "covered-table-cell", "table-row", "table"
    ):
        name = officeparts.local(element)
        if name == "table":
            sheet += 1
            walk.number = 1
        elif name == "table-row":
            repeated = officeparts.attribute(element, "number-rows-repeated")
            rows = numbering.whole(repeated, 1, MOST_REPEATED_ROWS)
            last = walk.number + rows - 1
            if walk.cells:
                row = sheetrows.Row(walk.number, walk.cells, last)
                yield OdfSheetRow((sheet, _sheet_name(element)), row)
            walk.number = last + 1
            walk.column = 0
            walk.cells = []
        else:
            _cell(walk, element, covered=name != "table-cell")


def _sheet_name(row: trees.Element) -> str:
    """The name of the sheet that a row is in."""
    table = next(row.iterancestors("{*}table"), None)
    return "" if table is None else officeparts.attribute(table, "name")


def _cell(walk: OdfSheetWalk, element: trees.Element, *, covered: bool) -> None:
    """Go on by a cell with its copies; its comment is set aside for the sheet's end."""
    stated = officeparts.attribute(element, "number-columns-repeated")
    repeated = max(1, numbering.whole(stated, 1))
    note = officeparts.child(element, "annotation")
    if note is not None:
        _comment(walk, note)
        element.remove(note)
    if not covered:
        text, number = _shown(element)
        copies = min(repeated, REPEATED) if text else 0
        for column in range(walk.column, walk.column + copies):
            walk.cells.append(sheetrows.Cell(column, text, number))
    walk.column = min(walk.column + repeated, sheetrows.COLUMNS)


def _comment(walk: OdfSheetWalk, note: trees.Element) -> None:
    """Set a comment on a cell aside, with its row and who wrote it."""
    paragraphs = [spacing.clean(_paragraph(part)) for part in note.iter("{*}p")]
    author = spacing.clean(trees.full_text(officeparts.child(note, "creator")))
    place = f"row {walk.number}"
    if author:
        place += f", {author}"
    if paragraphs:
        text = " ".join(paragraphs)
        walk.comments.append(units.Block(f"[Comment {place}] {text}"))


def _shown(element: trees.Element) -> tuple[str, bool]:
    """What a cell shows and whether it is a number or a date: the stored value where
    people would see less of it.
    """
    kind = officeparts.attribute(element, "value-type")
    paragraphs = [_paragraph(part) for part in element.iterchildren("{*}p")]
    shown = spacing.clean(" ".join(paragraphs))
    if kind == "float":
        value = officeparts.attribute(element, "value")
        return figure(value, shown), True
    if kind == "date":
        stored = officeparts.attribute(element, "date-value")
        return _moment(stored) or shown, True
    return shown, kind in {"percentage", "currency", "time"}


def figure(stored: str, shown: str) -> str:
    """A number as the sheet shows it; the stored one where its column is too narrow or
    it is shown without some of its digits.
    """
    plain = officeparts.number(stored)
    if not shown or "#" in shown or not _SHOWN_MARKS.search(shown):
        return plain or shown
    return shown


def _moment(stored: str) -> str:
    """A date and time with a space between; without seconds or a time that are zero."""
    return SECONDS.sub(r" \1", stored).removesuffix(" 00:00")


def _paragraph(element: trees.Element) -> str:
    """The text of a paragraph; what stands for white space is a space."""
    pieces = [element.text or ""]
    for child in element:
        blank = officeparts.local(child) in {"s", "tab", "line-break"}
        pieces.append(" " if blank else _paragraph(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
