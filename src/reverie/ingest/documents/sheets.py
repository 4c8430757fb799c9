"""Spreadsheets (.xlsx, .xlsm, .xltx, .xls): a unit a sheet, row by row with the numbers
the sheet gives its rows.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from openpyxl.styles import numbers
from openpyxl.utils import datetime as serials

from reverie import errors
from reverie.ingest.documents import (
    compound,
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
TEXTS = 256 * 1024 * 1024  # characters of the shared texts, which are all held
SMALL = 100 * 1024  # bytes of a sheet that surely is one unit
WHOLE = re.compile(r"[0-9]{1,9}")
REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Book:
    """What the sheets of a workbook share: its texts, which cell styles show dates, and
    where dates begin.
    """

    package: packed.Package
    texts: Sequence[str]
    dates: Sequence[str]
    late: bool


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself, then its sheets in their order; a long sheet in several
    units. Hidden sheets too.
    """
    if given.data.startswith(compound.MAGIC):
        if compound.Compound(given.data, KIND).has("EncryptedPackage"):
            raise errors.Locked("it is encrypted")
        yield from oldsheets.read(given)
        return
    package = packed.Package(given.data, KIND)
    part = officeparts.main(package, "xl/workbook.xml")
    root = package.tree(part)
    if officeparts.local(root) != "workbook":
        raise errors.Unreadable(f"not {KIND}")
    yield officeparts.about(package)
    relations = officeparts.relations(package, part)
    book = _book(package, root, relations)
    listed = officeparts.child(root, "sheets")
    sheets = [
        (officeparts.attribute(one, "name"), relation.target)
        for one in (() if listed is None else listed)
        if (relation := relations.get(officeparts.reference(one, "id"))) is not None
        and relation.target in package
    ]
    small = all(package.size(target) < SMALL for _, target in sheets)
    writer = sheetrows.Writer(given.first, len(sheets) if small else 0)
    for name, target in sheets:
        yield from writer.sheet(name, _rows(book, target), _around(package, target))


def _book(
    package: packed.Package,
    root: trees.Element,
    relations: Mapping[str, officeparts.PartRelation],
) -> Book:
    texts: list[str] = []
    size = 0
    for part in officeparts.of_kind(relations, "sharedStrings", package):
        for item in package.elements(part, "si"):
            texts.append(_rich(item))
            size += len(texts[-1])
            if size > TEXTS:
                raise errors.Unreadable(
                    f"its texts unpack to more than {TEXTS // 1024 // 1024} MB"
                )
    styles = officeparts.of_kind(relations, "styles", package)
    late = officeparts.child(root, "workbookPr")
    return Book(
        package,
        texts,
        _formats(package.maybe(styles[0])) if styles else [],
        late is not None and officeparts.attribute(late, "date1904") in {"1", "true"},
    )


def _rich(element: trees.Element) -> str:
    """The text of a cell in runs, without the readings that Japanese texts carry beside
    them.
    """
    pieces = [
        one.text or ""
        for one in element.iter("{*}t")
        if (parent := one.getparent()) is None or officeparts.local(parent) != "rPh"
    ]
    return spacing.clean("".join(pieces))


def _formats(root: trees.Element | None) -> list[str]:
    """For each cell style "date", "time" (a length of time) or "": what a number in it
    is shown as.
    """
    codes: dict[str, str] = {
        str(number): code for number, code in numbers.BUILTIN_FORMATS.items()
    }
    for one in () if root is None else root.iter("{*}numFmt"):
        codes[officeparts.attribute(one, "numFmtId")] = officeparts.attribute(
            one, "formatCode"
        )
    kinds: list[str] = []
    used = officeparts.child(root, "cellXfs")
    for one in () if used is None else used:
        code = codes.get(officeparts.attribute(one, "numFmtId"), "")
        kind = "date" if numbers.is_date_format(code) else ""
        kinds.append("time" if kind and numbers.is_timedelta_format(code) else kind)
    return kinds


def _rows(book: Book, part: str) -> Iterator[sheetrows.Row]:
    """The rows of a sheet while it is unpacked; a row or cell without a number follows
    the one before.
    """
    seen, number, column = 0, 0, -1
    cells: dict[int, sheetrows.Cell] = {}
    for element in book.package.elements(part, "c", "row"):
        if str(element.tag).endswith("}row"):
            stated = element.get("r") or ""
            seen += 1
            if seen > sheetrows.MOST_ROWS:
                raise errors.Unreadable(
                    f"a sheet unpacks to more than {sheetrows.MOST_ROWS} rows"
                )
            number = int(stated) if WHOLE.fullmatch(stated) else number + 1
            if cells:
                yield sheetrows.Row(number, [cells[at] for at in sorted(cells)])
            cells, column = {}, -1
            continue
        found = REFERENCE.fullmatch(element.get("r") or "")
        column = _column(found.group(1)) if found else column + 1
        cell = _cell(book, element, column)
        if cell.text and column < sheetrows.COLUMNS:
            cells[column] = cell


def _column(letters: str) -> int:
    at = 0
    for letter in letters:
        at = at * 26 + ord(letter) - 64
    return at - 1


def _cell(book: Book, element: trees.Element, column: int) -> sheetrows.Cell:
    """What a cell shows: the stored value; an error or a formula that was never
    calculated shows nothing.
    """
    kind = element.get("t") or "n"
    if kind == "inlineStr":
        return sheetrows.Cell(column, _rich(element))
    text = ""
    for stored in element:
        if str(stored.tag).endswith("}v"):
            text = stored.text or ""
    if kind == "s":
        at = int(text) if WHOLE.fullmatch(text) else -1
        return sheetrows.Cell(
            column, book.texts[at] if 0 <= at < len(book.texts) else ""
        )
    if kind == "b":
        return sheetrows.Cell(column, {"1": "TRUE", "0": "FALSE"}.get(text, text))
    if kind == "n":
        return sheetrows.Cell(
            column, _number(book, element.get("s") or "0", text), number=True
        )
    return sheetrows.Cell(
        column, "" if kind == "e" else spacing.clean(text), number=kind == "d"
    )


def _number(book: Book, style: str, text: str) -> str:
    at = int(style) if WHOLE.fullmatch(style) else 0
    kind = book.dates[at] if at < len(book.dates) else ""
    if kind:
        try:
            epoch = serials.MAC_EPOCH if book.late else serials.WINDOWS_EPOCH
            value = cast(
                "Moment", serials.from_excel(float(text), epoch, kind == "time")
            )
            return sheetrows.moment(value) if value is not None else ""
        except (ValueError, OverflowError):
            pass  # no date after all: the number as it stands
    return officeparts.number(text.strip())


def _around(package: packed.Package, part: str) -> list[units.Block]:
    """What stands on a sheet beside its cells: texts of shapes, charts, and comments."""
    relations = officeparts.relations(package, part)
    blocks: list[units.Block] = []
    for drawing in officeparts.of_kind(relations, "drawing", package):
        root = package.maybe(drawing)
        inner = officeparts.relations(package, drawing)
        for body in () if root is None else root.iter("{*}txBody"):
            blocks += [units.Block(text) for text in officeparts.texts(body)]
        for chart in officeparts.of_kind(inner, "chart", package):
            blocks += officeparts.chart(package, chart)
        for data in officeparts.of_kind(inner, "diagramData", package):
            blocks += officeparts.diagram(package, data)
    return blocks + _comments(package, relations)


def _comments(
    package: packed.Package, relations: Mapping[str, officeparts.PartRelation]
) -> list[units.Block]:
    """Comments with their cells. Of a conversation the notes repeat the first words:
    those are left out.
    """
    people: dict[str, str] = {}
    for name in package.names():
        if name.lower().startswith("xl/persons/"):
            root = package.maybe(name)
            people |= (
                {}
                if root is None
                else {one.get("id") or "": one.get("displayName") or "" for one in root}
            )
    found: list[tuple[str, ...]] = []
    for part in officeparts.of_kind(relations, "threadedComment", package):
        root = package.maybe(part)
        for one in () if root is None else root.iter("{*}threadedComment"):
            said = people.get(one.get("personId") or "", "")
            text = spacing.clean("".join(one.itertext()))
            found.append(
                (text, one.get("ref") or "", said, officeparts.iso(one.get("dT") or ""))
            )
    threaded = {cell for _, cell, *_ in found}
    for part in officeparts.of_kind(relations, "comments", package):
        root = package.maybe(part)
        authors = (
            []
            if root is None
            else [spacing.clean(one.text or "") for one in root.iter("{*}author")]
        )
        for one in () if root is None else root.iter("{*}comment"):
            cell, at = one.get("ref") or "", numbering.whole(one.get("authorId") or "")
            if cell not in threaded:
                found.append(
                    (_rich(one), cell, authors[at] if at < len(authors) else "")
                )
    return [
        units.Block(f"[Comment {', '.join(filter(None, of))}] {text}")
        for text, *of in found
        if text
    ]
