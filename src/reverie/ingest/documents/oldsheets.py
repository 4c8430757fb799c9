"""Excel 5 to 2003 workbooks (.xls, BIFF; [MS-XLS]), read with xlrd."""

import io
from collections.abc import Iterator

import xlrd
from xlrd import biffh, book, sheet, xldate

from reverie import errors
from reverie.ingest.documents import numberformats, sheetrows, spacing, units

NUMBERS = frozenset([xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE])


def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself, then its sheets. Locked when it is encrypted; what xlrd
    raises is for the caller.
    """
    try:
        opened = _opened(source.data)
    except biffh.XLRDError as error:
        if "encrypted" in str(error):
            raise errors.Locked("it is encrypted") from error
        raise
    yield units.About(author=spacing.clean(opened.user_name or ""))
    names = opened.sheet_names()
    writer = sheetrows.Writer(source.first)
    for at, name in enumerate(names):
        page = opened.sheet_by_index(at)
        yield from writer.sheet(name, _rows(opened, page))
        opened.unload_sheet(at)


def _opened(data: bytes) -> book.Book:
    """The workbook with its number formats; without them where they are broken."""
    try:
        return _open(data, formatted=True)
    except biffh.XLRDError:
        raise
    except Exception:  # noqa: BLE001 - the styles of a broken file raise anything
        return _open(data, formatted=False)


def _open(data: bytes, *, formatted: bool) -> book.Book:
    return xlrd.open_workbook(
        file_contents=data,
        logfile=io.StringIO(),
        on_demand=True,
        ragged_rows=True,
        formatting_info=formatted,
    )


def _rows(opened: book.Book, page: sheet.Sheet) -> Iterator[sheetrows.Row]:
    """The rows of a sheet that say something."""
    for number in range(page.nrows):
        kinds = page.row_types(number)
        values = page.row_values(number)
        cells: list[sheetrows.Cell] = []
        for column, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            code = _code(opened, page, number, column) if kind in NUMBERS else ""
            if text := _text(opened, kind, value, code):
                cells.append(sheetrows.Cell(column, text, number=kind in NUMBERS))
        if cells:
            yield sheetrows.Row(number + 1, cells)


def _code(opened: book.Book, page: sheet.Sheet, row: int, column: int) -> str:
    """The number format of a cell, "" where it is not known."""
    if not opened.formatting_info:
        return ""
    try:
        style = opened.xf_list[page.cell_xf_index(row, column)]
        return str(opened.format_map[style.format_key].format_str)
    except (IndexError, KeyError, AttributeError):
        return ""


def _text(opened: book.Book, kind: int, value: object, code: str) -> str:
    """What a cell shows; an error shows nothing."""
    if kind == xlrd.XL_CELL_TEXT:
        return spacing.clean(str(value))
    if not isinstance(value, int | float):
        return ""
    if kind == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if value else "FALSE"
    if kind == xlrd.XL_CELL_DATE:
        try:
            return _moment(opened, value)
        except (xldate.XLDateError, ValueError, OverflowError):
            pass  # no date after all: the number as it stands
        code = ""
    return numberformats.shown(float(value), code) if kind in NUMBERS else ""


def _moment(opened: book.Book, serial: float) -> str:
    """A serial number of days as a date, or a time when it is less than a day."""
    moment = xldate.xldate_as_datetime(serial, opened.datemode)
    return sheetrows.moment(moment.time() if 0 <= serial < 1 else moment)
