"""OpenDocument spreadsheets (.ods): their rows while the one part that holds them is
unpacked.
"""

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

HEAD = 64 * 1024  # bytes in which a part without a declared type shows what it is
REPEATED = 100  # copies of a filled cell that are written out
SPREADSHEET = re.compile(rb"<office:spreadsheet[\s/>]")


@dataclass(slots=True)
class OdfSheetWalk:
    """Where the walk through content.xml stands."""

    number: int = 1
    column: int = 0
    cells: list[sheetrows.Cell] = field(default_factory=list[sheetrows.Cell])
    comments: list[units.Block] = field(default_factory=list[units.Block])


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


def read(package: packed.Package, first: int) -> Iterator[units.Unit]:
    """The units of all sheets. How many there are nobody knows before the end."""
    writer = sheetrows.Writer(first)
    walk = OdfSheetWalk()
    rows = _rows(package, walk)
    for (_, name), group in itertools.groupby(rows, key=lambda one: one[0]):
        yield from writer.sheet(name, (row for _, row in group), walk.comments)
        walk.comments = []


def _rows(
    package: packed.Package, walk: OdfSheetWalk
) -> Iterator[tuple[tuple[int, str], sheetrows.Row]]:
    """The rows with the number and the name of their sheet."""
    sheet = 0
    for element in package.elements(
        "content.xml", "table-cell", "covered-table-cell", "table-row", "table"
    ):
        name = officeparts.local(element)
        if name == "table":
            sheet, walk.number = sheet + 1, 1
        elif name == "table-row":
            last = (
                walk.number
                + numbering.whole(
                    officeparts.attribute(element, "number-rows-repeated"), 1, 2_000_000
                )
                - 1
            )
            if walk.cells:
                table = next(element.iterancestors("{*}table"), None)
                label = "" if table is None else officeparts.attribute(table, "name")
                yield (sheet, label), sheetrows.Row(walk.number, walk.cells, last)
            walk.number, walk.column, walk.cells = last + 1, 0, []
        else:
            _cell(walk, element, covered=name != "table-cell")


def _cell(walk: OdfSheetWalk, element: trees.Element, *, covered: bool) -> None:
    repeated = max(
        1, numbering.whole(officeparts.attribute(element, "number-columns-repeated"), 1)
    )
    note = officeparts.child(element, "annotation")
    if note is not None:
        words = [spacing.clean(_paragraph(one)) for one in note.iter("{*}p")]
        author = officeparts.child(note, "creator")
        said = spacing.clean("".join(author.itertext())) if author is not None else ""
        if words:
            where = f"row {walk.number}" + (f", {said}" if said else "")
            walk.comments.append(units.Block(f"[Comment {where}] {' '.join(words)}"))
        element.remove(note)
    text, number = ("", False) if covered else _shown(element)
    if text:
        copies = range(min(repeated, REPEATED))
        walk.cells += [sheetrows.Cell(walk.column + at, text, number) for at in copies]
    walk.column = min(walk.column + repeated, sheetrows.COLUMNS)


def _shown(element: trees.Element) -> tuple[str, bool]:
    """What a cell shows and whether it is a number or a date: the stored value where
    people would see less of it.
    """
    kind = officeparts.attribute(element, "value-type")
    shown = spacing.clean(
        " ".join(_paragraph(one) for one in element.iterchildren("{*}p"))
    )
    if kind == "float":
        return officeparts.number(
            officeparts.attribute(element, "value")
        ) or shown, True
    if kind == "date":
        stored = officeparts.attribute(element, "date-value")
        return re.sub(r"T(\d\d:\d\d)(:00(\.0+)?)?$", r" \1", stored).removesuffix(
            " 00:00"
        ) or shown, True
    return shown, kind in {"percentage", "currency", "time"}


def _paragraph(element: trees.Element) -> str:
    pieces = [element.text or ""]
    for one in element:
        name = officeparts.local(one)
        pieces.append(" " if name in {"s", "tab", "line-break"} else _paragraph(one))
        pieces.append(one.tail or "")
    return "".join(pieces)
