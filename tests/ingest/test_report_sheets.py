"""Sheets that tripped other programs: numbers as the sheet shows them, imported and read
back through the API.
"""

import datetime as dt
import io

import openpyxl
import pytest

from reverie.ingest.documents import numberformats, odfsheets
from tests.ingest.test_report_calendars import REPORTS, Visitor, visitor

__all__ = ["visitor"]


async def test_a_plan_that_counts_from_1904(visitor: Visitor) -> None:
    await visitor.take(REPORTS / "xlsx-1904" / "plan.xlsx")
    (file,) = await visitor.get("files")
    lines = file["text"].splitlines()
    # 44,689 days after 1 January 1904; an hour of 0.604166 is 14:30.
    assert "2026-05-09 | Pottery fair | 12.5% | 1,234.50 kr" in lines
    assert any(line.startswith("2026-05-10 14:30 | Tear down") for line in lines)
    assert any("zaffre" in line for line in lines)


async def test_formats_of_a_workbook(visitor: Visitor) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["what", "value"])
    rows: list[tuple[str, object, str]] = [
        ("share", 0.5, "0%"),
        ("debt", -1234.5, "#,##0.00;[Red](#,##0.00)"),
        ("rent", 1850, "[$€-407] #,##0.00"),
        ("cup", 1.5, "# ?/?"),
        ("shift", dt.timedelta(hours=27, minutes=30), "[h]:mm"),
        ("day", dt.datetime(2026, 3, 5, 9, 30), "d mmm yyyy h:mm"),  # noqa: DTZ001 - sheets have no zones
        ("code", 1234, "00000"),
        ("text", 12, "@"),
        ("plain", 2.5, "General"),
    ]
    for at, (name, value, code) in enumerate(rows, start=2):
        sheet.append([name, value])
        sheet.cell(at, 2).number_format = code
    file = io.BytesIO()
    book.save(file)
    await visitor.read("formats.xlsx", file.getvalue())
    (kept,) = await visitor.get("files")
    assert kept["text"].splitlines()[-9:] == [
        "share | 50%",
        "debt | (1,234.50)",
        "rent | € 1,850.00",
        "cup | 1 1/2",
        "shift | 27:30",
        "day | 2026-03-05 09:30",
        "code | 01234",
        "text | 12",
        "plain | 2.5",
    ]


@pytest.mark.parametrize(
    ("figure", "code", "shown"),
    [
        (0.125, "0.0%", "12.5%"),
        (0.25, "# ??/??", "1/4"),
        (3.5, "# ?/8", "3 4/8"),
        (12345, "0.00E+00", "1.23E+04"),
        (123456789, "000-00-0000", "123-45-6789"),
        (1234567, "0.0,,\\M", "1.2M"),
        (1234.5, '_-* #,##0.00 "€"_-', "1,234.50 €"),
        (-3.2, '"$"#,##0.00_);("$"#,##0.00)', "($3.20)"),
        (7, "[<=9]\\00;General", "07"),
        (2.5, "0", "3"),
        (-0.001, "0.00", "0.00"),
        (1e300, "#,##0", "1e+300"),
        (5, '"hidden"', "5"),
        (5, "[", "5"),
        (5, "0" * 1000, "5"),
    ],
)
def test_number_formats(figure: float, code: str, shown: str) -> None:
    assert numberformats.shown(figure, code) == shown


@pytest.mark.parametrize(
    ("stored", "written", "shown"),
    [
        ("1234.5", "1,234.50", "1,234.50"),
        ("1234.5", "1.234,50 €", "1.234,50 €"),
        ("0.333333333333333", "0.33", "0.333333333333333"),
        ("1234", "###", "1234"),
        ("1.5", "1 1/2", "1 1/2"),
    ],
)
def test_numbers_of_open_documents(stored: str, written: str, shown: str) -> None:
    assert odfsheets.figure(stored, written) == shown
