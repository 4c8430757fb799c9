"""Spreadsheets: rows with the numbers of the sheet, headers, dates, and sheets that are
large or pretend to be.
"""

import datetime as dt
import io
import time
import zipfile
from typing import Any

import openpyxl
import openpyxl.chart
import openpyxl.comments
import pytest

from reverie import errors
from reverie.ingest.documents import opendocument, packed, sheetrows, sheets, units

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def units_of(data: bytes, first: int = 1, reader=sheets) -> list[units.Unit]:
    return [
        one
        for one in reader.read(units.DocumentSource(data, "a", first))
        if isinstance(one, units.Unit)
    ]


def saved(book: openpyxl.Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def workbook(sheet: str, texts: str = "<sst/>") -> bytes:
    """A workbook of one sheet, whose XML is given."""
    buffer = io.BytesIO()
    relation = f'<Relationships xmlns="{RELATIONS}">%s</Relationships>'
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="S" r:id="a"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            relation
            % f'<Relationship Id="a" Type="{OFFICE}/worksheet" Target="s.xml"/>'
            f'<Relationship Id="b" Type="{OFFICE}/sharedStrings" Target="t.xml"/>',
        )
        archive.writestr("xl/s.xml", f'<worksheet xmlns="{MAIN}">{sheet}</worksheet>')
        archive.writestr("xl/t.xml", texts)
    return buffer.getvalue()


def spreadsheet(tables: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f"<office:document-content {ODF}><office:body><office:spreadsheet>{tables}</office:spreadsheet>"
            "</office:body></office:document-content>",
        )
    return buffer.getvalue()


class TestWorkbook:
    def test_each_sheet_is_a_unit_and_each_row_knows_its_number(self):
        book: Any = openpyxl.Workbook()
        page = book.active
        page.title = "Ducks"
        for row in (
            ["Counted by Ana"],
            [],
            ["Year", "Ducks", "When"],
            [2024, 12.0, dt.date(2024, 3, 4)],
        ):
            page.append(row)
        page["A9"], page["B9"], page["C9"] = (
            2025,
            0.1 + 0.2,
            dt.datetime(2025, 3, 4, 5, 6),  # noqa: DTZ001 -- sheets know no zones
        )
        book.create_sheet("Flags").append([True, "x | y\nz"])
        first, second = units_of(saved(book))
        assert [(block.text, block.kind, block.place) for block in first.blocks] == [
            ("Counted by Ana", "row", {"rows": [1, 1]}),
            ("Year | Ducks | When", "header", {"rows": [3, 3]}),
            ("2024 | 12 | 2024-03-04", "row", {"rows": [4, 4]}),
            ("2025 | 0.3 | 2025-03-04 05:06", "row", {"rows": [9, 9]}),
        ]
        assert (first.place, second.place, first.total) == (
            {"sheet": "Ducks"},
            {"sheet": "Flags"},
            2,
        )
        assert [block.text for block in second.blocks] == ["TRUE | x | y z"]

    def test_columns_stay_where_the_header_has_them(self):
        book: Any = openpyxl.Workbook()
        page = book.active
        for cell, value in {
            "B2": "Name",
            "C2": "Age",
            "D2": "Town",
            "B3": "Ana",
            "D3": "Rome",
            "C4": 5,
            "D4": "x",
        }.items():
            page[cell] = value
        assert [block.text for block in units_of(saved(book))[0].blocks] == [
            "Name | Age | Town",
            "Ana |  | Rome",
            "| 5 | x",
        ]

    def test_a_merged_cell_is_read_once(self):
        book: Any = openpyxl.Workbook()
        page = book.active
        page.append(["a", "b", "c"])
        page.append(["wide", None, "end"])
        page.merge_cells("A2:B2")
        assert units_of(saved(book))[0].blocks[1].text == "wide |  | end"

    def test_charts_and_comments_follow_the_rows(self):
        book: Any = openpyxl.Workbook()
        page = book.active
        for row in (["Year", "Ducks"], [2024, 3], [2025, 4]):
            page.append(row)
        page["B2"].comment = openpyxl.comments.Comment("counted twice", "Ana")
        chart: Any = openpyxl.chart.BarChart()
        chart.title = "Ducks a year"
        chart.add_data(
            openpyxl.chart.Reference(page, min_col=2, min_row=1, max_row=3),
            titles_from_data=True,
        )
        page.add_chart(chart, "D1")
        said = [block.text for block in units_of(saved(book))[0].blocks]
        assert said[:5] == [
            "Year | Ducks",
            "2024 | 3",
            "2025 | 4",
            "Ducks a year",
            "Bar chart",
        ]
        assert said[-1] == "[Comment B2, Ana] counted twice"

    def test_a_long_sheet_is_several_units_each_with_the_header(self, monkeypatch):
        monkeypatch.setattr(sheetrows, "ROWS", 100)
        book: Any = openpyxl.Workbook()
        book.active.append(["Number", "Square"])
        for at in range(250):
            book.active.append([at, at * at])
        data = saved(book)
        found = units_of(data)
        assert [unit.number for unit in found] == [1, 2, 3]
        assert all(unit.blocks[0].text == "Number | Square" for unit in found)
        rows = [block for unit in found for block in unit.blocks if block.kind == "row"]
        assert [block.place["rows"] for block in rows] == [
            [at, at] for at in range(2, 252)
        ]
        assert units_of(data, first=3) == found[2:]

    def test_a_declared_size_costs_nothing(self):
        far = '<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
        far += '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>'
        started = time.process_time()
        (unit,) = units_of(workbook(far))
        assert [(block.text, block.place) for block in unit.blocks] == [
            ("1", {"rows": [1, 1]}),
            ("2", {"rows": [1048576, 1048576]}),
        ]
        assert time.process_time() - started < 2

    def test_shared_texts_cannot_multiply_without_end(self, monkeypatch):
        monkeypatch.setattr(sheetrows, "MOST", 100_000)
        texts = f'<sst xmlns="{MAIN}"><si><t>{"word " * 2000}</t></si></sst>'
        sheet = (
            "<sheetData>" + '<row><c t="s"><v>0</v></c></row>' * 100 + "</sheetData>"
        )
        with pytest.raises(errors.Unreadable, match="unpack to more than"):
            units_of(workbook(sheet, texts))

    def test_a_sheet_that_is_a_bomb_is_stopped(self, monkeypatch):
        monkeypatch.setattr(packed, "FROM", 500_000)
        row = "<row><c><v>1</v></c></row>"
        sheet = (
            "<sheetData>" + row * (packed.FROM // len(row) + 20_000) + "</sheetData>"
        )
        with pytest.raises(errors.Unreadable, match="unpacks to more than"):
            units_of(workbook(sheet))

    @pytest.mark.parametrize(
        ("cell", "shown"),
        [
            ('t="s"><v>99</v>', ""),
            ('t="s"><v>x</v>', ""),
            ('t="inlineStr"><is><t>in</t></is>', "in"),
            ('t="e"><v>#N/A</v>', ""),
            ("><v>1e400</v>", ""),
            ("><v>12345678901234567890</v>", "12345678901234567890"),
            ('s="7"><v>5</v>', "5"),
            ('t="str"><v>made</v>', "made"),
        ],
    )
    def test_strange_cells_harm_nothing(self, cell: str, shown: str):
        (unit,) = units_of(workbook(f"<sheetData><row><c {cell}</c></row></sheetData>"))
        assert [block.text for block in unit.blocks] == ([shown] if shown else [])

    def test_a_broken_sheet_says_so(self):
        with pytest.raises(errors.Unreadable, match="XML is broken"):
            units_of(workbook("<sheetData><row></sheetData>"))


class TestOpenDocumentSheets:
    def test_rows_columns_and_dates_are_where_they_are(self):
        data = spreadsheet(
            '<table:table table:name="One"><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell>'
            '<table:table-cell table:number-columns-repeated="2"/><table:table-cell><text:p>When</text:p>'
            "</table:table-cell></table:table-row>"
            '<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>'
            '<table:table-row table:number-rows-repeated="3"><table:table-cell><text:p>a<text:s/>b</text:p>'
            "<office:annotation><dc:creator>Ana</dc:creator><text:p>why</text:p></office:annotation></table:table-cell>"
            '<table:table-cell office:value-type="float" office:value="2.50"><text:p>3</text:p></table:table-cell>'
            "<table:covered-table-cell/>"
            '<table:table-cell office:value-type="date" office:date-value="2024-01-02T00:00:00">'
            "<text:p>2 Jan</text:p></table:table-cell></table:table-row></table:table>"
            '<table:table table:name="Two"><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell>'
            "</table:table-row></table:table>"
        )
        one, two = units_of(data, reader=opendocument)
        assert [(block.text, block.place) for block in one.blocks] == [
            ("Name |  |  | When", {"rows": [1, 1]}),
            ("a b | 2.5 |  | 2024-01-02", {"rows": [1000002, 1000004]}),
            ("[Comment row 1000002, Ana] why", {}),
        ]
        assert (one.place, two.place) == ({"sheet": "One"}, {"sheet": "Two"})

    def test_repeated_cells_are_bounded(self):
        cell = '<table:table-cell table:number-columns-repeated="16000"><text:p>x</text:p></table:table-cell>'
        row = f'<table:table-row table:number-rows-repeated="1000000">{cell}</table:table-row>'
        (unit,) = units_of(
            spreadsheet(f'<table:table table:name="A">{row}</table:table>'),
            reader=opendocument,
        )
        assert len(unit.blocks) == 1
        assert len(unit.blocks[0].text) < 1000
