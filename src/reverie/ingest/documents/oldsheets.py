"""Workbooks of Excel 5 to 2003 (.xls), read with xlrd."""

import io
from collections.abc import Iterator

import xlrd
from xlrd import biffh, book, sheet, xldate

from reverie import errors
from reverie.ingest.documents import officeparts, sheetrows, spacing, units

TRUTH = ("FALSE", "TRUE")


def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself, then its sheets. Locked when it is encrypted; what xlrd
    raises is for the caller.
    """
    try:
        opened = xlrd.open_workbook(
            file_contents=given.data,
            logfile=io.StringIO(),
            on_demand=True,
            ragged_rows=True,
            formatting_info=False,
        )
    except biffh.XLRDError as error:
        if "encrypted" in str(error):
            raise errors.Locked("it is encrypted") from error
        raise
    yield units.About(author=spacing.clean(opened.user_name or ""))
    names = opened.sheet_names()
    writer = sheetrows.Writer(given.first)
    for at, name in enumerate(names):
        page = opened.sheet_by_index(at)
        yield from writer.sheet(name, _rows(opened, page))
        opened.unload_sheet(at)


def _rows(opened: book.Book, page: sheet.Sheet) -> Iterator[sheetrows.Row]:
    for number in range(page.nrows):
        cells = [
            sheetrows.Cell(
                column, text, number=kind in {xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE}
            )
            for column, (kind, value) in enumerate(
                zip(page.row_types(number), page.row_values(number), strict=True)
            )
            if (text := _text(opened, kind, value))
        ]
        if cells:
            yield sheetrows.Row(number + 1, cells)


def _text(opened: book.Book, kind: int, value: object) -> str:
    if kind == xlrd.XL_CELL_TEXT:
        return spacing.clean(str(value))
    if not isinstance(value, int | float):
        return ""
    if kind == xlrd.XL_CELL_BOOLEAN:
        return TRUTH[bool(value)]
    if kind == xlrd.XL_CELL_DATE:
        try:
            moment = xldate.xldate_as_datetime(value, opened.datemode)
            return sheetrows.moment(moment.time() if 0 <= value < 1 else moment)
        except (xldate.XLDateError, ValueError, OverflowError):
            pass  # no date after all: the number as it stands
    return (
        officeparts.decimal(float(value))
        if kind in {xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE}
        else ""
    )
