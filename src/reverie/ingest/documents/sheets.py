"""Excel workbooks (.xlsx; SpreadsheetML, ECMA-376; .xls): a unit a sheet, table rows
with the numbers the sheet gives them.

The workbook lists its sheets. Their cells are streamed, since a sheet may be large; texts
stand in a list that all sheets share, and a number is a date if the number format of its
cell style is one. Charts, shapes and comments are parts of their own.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from openpyxl.styles import numbers
from openpyxl.utils import datetime as serials

from reverie import errors
from reverie.ingest.documents import (
    compound,
    numberformats,
    numbering,
    officeparts,
    oldsheets,
    packed,
    sheetrows,
    spacing,
    trees,
    units,
)

KIND = "an Excel workbook"
Moment = dt.datetime | dt.time | dt.timedelta | None
# Characters of the shared strings, which are all held; set by hand.
TEXTS = 256 * 1024 * 1024
# Bytes of a sheet that surely is one unit; set by hand.
SMALL = 100 * 1024
WHOLE = re.compile(r"[0-9]{1,9}")
REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
# Of cells of type "b" (ST_CellType).
BOOLEANS = {"1": "TRUE", "0": "FALSE"}


@dataclass(frozen=True, slots=True)
class Book:
    """What the sheets of a workbook share: its texts, the number format of each cell
    style, and where dates begin.
    """

    package: packed.Package
    texts: Sequence[str]
    formats: Sequence[str]
    late: bool


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself, then its sheets in their order; a long sheet in several
    units. Hidden sheets too.
    """
    if source.data.startswith(compound.MAGIC):
        if compound.Compound(source.data, KIND).has("EncryptedPackage"):
            raise errors.Locked("it is encrypted")
        yield from oldsheets.read(source)
        return
    package = packed.Package(source.data, KIND)
    part = officeparts.main(package, "xl/workbook.xml")
    root = package.tree(part)
    if officeparts.local(root) != "workbook":
        raise errors.Unreadable(f"not {KIND}")
    yield officeparts.about(package)
    relations = officeparts.relations(package, part)
    book = _book(package, root, relations)
    sheets = _listed(package, root, relations)
    small = all(package.size(target) < SMALL for _, target in sheets)
    writer = sheetrows.Writer(source.first, len(sheets) if small else 0)
    for name, target in sheets:
        yield from writer.sheet(name, _rows(book, target), _around(package, target))


def _listed(
    package: packed.Package,
    root: trees.Element,
    relations: officeparts.Relations,
) -> list[tuple[str, str]]:
    """The sheets in their order: the name and the part of each."""
    sheets: list[tuple[str, str]] = []
    for element in trees.children(officeparts.child(root, "sheets")):
        relation = relations.get(officeparts.reference(element, "id"))
        if relation is not None and relation.target in package:
            name = officeparts.attribute(element, "name")
            sheets.append((name, relation.target))
    return sheets


def _book(
    package: packed.Package,
    root: trees.Element,
    relations: officeparts.Relations,
) -> Book:
    """What the sheets of a workbook share."""
    texts = _shared_strings(package, relations)
    styles = officeparts.first_of_kind(relations, "styles", package)
    properties = officeparts.child(root, "workbookPr")
    late = False
    if properties is not None:
        late = officeparts.attribute(properties, "date1904") in {"1", "true"}
    return Book(package, texts, _formats(styles), late)


def _shared_strings(
    package: packed.Package, relations: officeparts.Relations
) -> list[str]:
    """The shared strings in their order. Unreadable when they unpack to too much."""
    texts: list[str] = []
    size = 0
    for part in officeparts.of_kind(relations, "sharedStrings", package):
        for item in package.elements(part, "si"):
            text = _rich(item)
            texts.append(text)
            size += len(text)
            if size > TEXTS:
                raise errors.Unreadable(
                    f"its texts unpack to more than {TEXTS // 1024 // 1024} MB"
                )
    return texts


def _rich(element: trees.Element) -> str:
    """The text of a cell in runs, without the readings (furigana) that Japanese texts
    carry beside them.
    """
    runs = [run.text or "" for run in element.iter("{*}t") if not _is_reading(run)]
    return spacing.clean("".join(runs))


def _is_reading(run: trees.Element) -> bool:
    """Whether a run is furigana."""
    parent = run.getparent()
    return parent is not None and officeparts.local(parent) == "rPh"


def _formats(root: trees.Element | None) -> list[str]:
    """For each cell style the code of its number format. [] without styles."""
    if root is None:
        return []
    codes: dict[str, str] = {
        str(number): code for number, code in numbers.BUILTIN_FORMATS.items()
    }
    for number_format in root.iter("{*}numFmt"):
        number = officeparts.attribute(number_format, "numFmtId")
        codes[number] = officeparts.attribute(number_format, "formatCode")
    styles = trees.children(officeparts.child(root, "cellXfs"))
    return [codes.get(officeparts.attribute(style, "numFmtId"), "") for style in styles]


@lru_cache(maxsize=1000)
def _moment_kind(code: str) -> str:
    """ "date", "time" (a length of time) or "" by a number format's code."""
    if not numbers.is_date_format(code):
        return ""
    return "time" if numbers.is_timedelta_format(code) else "date"


def _rows(book: Book, part: str) -> Iterator[sheetrows.Row]:
    """The rows of a sheet while it is unpacked; a row or cell without a number follows
    the one before.
    """
    seen = 0
    number = 0
    column = -1
    cells: dict[int, sheetrows.Cell] = {}
    for element in book.package.elements(part, "c", "row"):
        if not str(element.tag).endswith("}row"):
            column = _cell_column(element, column + 1)
            cell = _cell(book, element, column)
            if cell.text and column < sheetrows.COLUMNS:
                cells[column] = cell
            continue
        seen += 1
        if seen > sheetrows.MOST_ROWS:
            raise errors.Unreadable(
                f"a sheet unpacks to more than {sheetrows.MOST_ROWS} rows"
            )
        stated = element.get("r") or ""
        number = int(stated) if WHOLE.fullmatch(stated) else number + 1
        if cells:
            yield sheetrows.Row(number, [cells[at] for at in sorted(cells)])
        cells = {}
        column = -1


def _cell_column(element: trees.Element, following: int) -> int:
    """The column that a cell's reference ("AB12") names, else the following one."""
    reference = REFERENCE.fullmatch(element.get("r") or "")
    return _column(reference.group(1)) if reference else following


def _column(letters: str) -> int:
    """The number from 0 of a column that is called "A" or "AB"."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _cell(book: Book, element: trees.Element, column: int) -> sheetrows.Cell:
    """What a cell shows: the stored value; an error or a formula that was never
    calculated shows nothing.
    """
    kind = element.get("t") or "n"
    if kind == "inlineStr":
        return sheetrows.Cell(column, _rich(element))
    stored = _stored(element)
    if kind == "n":
        number = _number(book, element.get("s") or "0", stored)
        return sheetrows.Cell(column, number, number=True)
    if kind == "s":
        return sheetrows.Cell(column, _shared(book, stored))
    if kind == "b":
        return sheetrows.Cell(column, BOOLEANS.get(stored, stored))
    text = "" if kind == "e" else spacing.clean(stored)
    return sheetrows.Cell(column, text, number=kind == "d")


def _stored(element: trees.Element) -> str:
    """The last value in a cell, "" without one."""
    text = ""
    for child in element:
        if str(child.tag).endswith("}v"):
            text = child.text or ""
    return text


def _shared(book: Book, text: str) -> str:
    """A shared string by its index, "" when there is none of it."""
    if not WHOLE.fullmatch(text) or int(text) >= len(book.texts):
        return ""
    return book.texts[int(text)]


def _number(book: Book, style: str, text: str) -> str:
    """A number as people write it, or the moment that its style shows it as."""
    index = int(style) if WHOLE.fullmatch(style) else 0
    code = book.formats[index] if index < len(book.formats) else ""
    try:
        figure = float(text)
    except ValueError:
        return officeparts.number(text.strip())
    kind = _moment_kind(code)
    if kind:
        try:
            moment = _moment(figure, kind, late=book.late)
            return moment if _has_seconds(code) else moment.removesuffix(":00")
        except (ValueError, OverflowError):
            code = ""  # no date after all: the number as it stands
    if code in ("", "General"):
        return officeparts.number(text.strip())
    return numberformats.shown(figure, code)


def _has_seconds(code: str) -> bool:
    """Whether a length of time is shown with its seconds; others have none at zero."""
    return _moment_kind(code) != "time" or "s" in code.lower()


def _moment(serial: float, kind: str, *, late: bool) -> str:
    """A serial number of days as a date, a time or a length of time. Raises ValueError
    or OverflowError for what is none.
    """
    epoch = serials.MAC_EPOCH if late else serials.WINDOWS_EPOCH
    value = cast("Moment", serials.from_excel(serial, epoch, kind == "time"))
    return sheetrows.moment(value) if value is not None else ""


def _around(package: packed.Package, part: str) -> units.Blocks:
    """What stands on a sheet beside its cells: texts of shapes, charts, and comments."""
    relations = officeparts.relations(package, part)
    blocks: units.Blocks = []
    for drawing in officeparts.of_kind(relations, "drawing", package):
        inner = officeparts.relations(package, drawing)
        for body in trees.descendants(package.maybe(drawing), "{*}txBody"):
            blocks += [units.Block(text) for text in officeparts.texts(body)]
        for chart in officeparts.of_kind(inner, "chart", package):
            blocks += officeparts.chart(package, chart)
        for data in officeparts.of_kind(inner, "diagramData", package):
            blocks += officeparts.diagram(package, data)
    return blocks + _comments(package, relations)


@dataclass(frozen=True, slots=True)
class SheetComment:
    """A comment: the cell it is on, who wrote it and when, as far as is known."""

    text: str
    cell: str
    author: str
    created: str = ""

    def block(self) -> units.Block:
        """The comment as a block."""
        label = ", ".join(filter(None, [self.cell, self.author, self.created]))
        return units.Block(f"[Comment {label}] {self.text}")


def _comments(
    package: packed.Package, relations: officeparts.Relations
) -> units.Blocks:
    """Comments with their cells. Of a conversation the notes repeat the first words:
    those are left out.
    """
    comments = list(_threaded(package, relations))
    threaded = {comment.cell for comment in comments}
    for part in officeparts.of_kind(relations, "comments", package):
        notes = _notes(package.maybe(part))
        comments += [note for note in notes if note.cell not in threaded]
    return [comment.block() for comment in comments if comment.text]


def _threaded(
    package: packed.Package, relations: officeparts.Relations
) -> Iterator[SheetComment]:
    """The comments of conversations ([MS-XLSX])."""
    people = _people(package)
    for part in officeparts.of_kind(relations, "threadedComment", package):
        for element in trees.descendants(package.maybe(part), "{*}threadedComment"):
            yield SheetComment(
                spacing.clean(trees.full_text(element)),
                element.get("ref") or "",
                people.get(element.get("personId") or "", ""),
                officeparts.iso(element.get("dT") or ""),
            )


def _people(package: packed.Package) -> dict[str, str]:
    """The names of those who take part in conversations, by id."""
    people: dict[str, str] = {}
    for name in package.names():
        if name.lower().startswith("xl/persons/"):
            for person in trees.children(package.maybe(name)):
                people[person.get("id") or ""] = person.get("displayName") or ""
    return people


def _notes(root: trees.Element | None) -> Iterator[SheetComment]:
    """The comments of the older kind, which newer versions call notes."""
    names = trees.descendants(root, "{*}author")
    authors = [spacing.clean(name.text or "") for name in names]
    for element in trees.descendants(root, "{*}comment"):
        index = numbering.whole(element.get("authorId") or "")
        author = authors[index] if index < len(authors) else ""
        yield SheetComment(_rich(element), element.get("ref") or "", author)
