"""Word and PowerPoint documents, the guard before packed files, and what hostile or
broken files come to.
"""

import io
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import docx
import pptx
import pptx.chart.data
import pptx.enum.chart
import pytest
from pptx.util import Inches

from reverie import errors
from reverie.ingest.documents import (
    epub,
    html,
    legacy,
    opendocument,
    outlook,
    packed,
    rtf,
    sheets,
    slides,
    subtitles,
    units,
    word,
)
from tests.conftest import DATA

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
READERS = {
    "docx": word, "pptx": slides, "xlsx": sheets, "xlsm": sheets, "xls": sheets, "odt": opendocument,
    "ods": opendocument, "odp": opendocument, "epub": epub, "html": html, "msg": outlook, "vtt": subtitles,
    "doc": legacy, "ppt": legacy, "rtf": rtf,
}  # fmt: skip


def units_of(reader, data: bytes, first: int = 1) -> list[units.Unit]:
    return [
        one
        for one in reader.read(units.DocumentSource(data, "a", first))
        if isinstance(one, units.Unit)
    ]


def texts(reader, data: bytes) -> list[str]:
    return [block.text for unit in units_of(reader, data) for block in unit.blocks]


def saved(document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def zipped(**parts: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def replaced(data: bytes, name: str, text: str | bytes) -> bytes:
    """The package with one part changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    return zipped(**(parts | {name: text}))


def word_body(body: str, **parts: str) -> bytes:
    """A Word document whose body is the given XML."""
    relations = "".join(
        f'<Relationship Id="r{at}" Type="{OFFICE}/{name.partition(".")[0].rstrip("0123456789")}" Target="{name}"/>'
        for at, name in enumerate(parts)
    )
    return zipped(
        **{
            "_rels/.rels": f'<Relationships xmlns="{RELATIONS}"><Relationship Id="a" Type="{OFFICE}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELATIONS}">{relations}</Relationships>',
        },
        **{f"word/{name}": text for name, text in parts.items()},
    )


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


class TestWord:
    def test_headings_paragraphs_and_tables_come_in_their_order(self):
        document = docx.Document()
        document.core_properties.title, document.core_properties.author = "Plan", "Ana"
        document.add_heading("One", 1)
        document.add_paragraph("First  text.\n")
        table = document.add_table(2, 2)
        for at, text in enumerate(["Name", "Sum", "Cafe\u0301", "12"]):
            table.cell(at // 2, at % 2).text = text
        document.add_heading("Two", 2)
        document.add_paragraph("Last text.")
        about, unit = list(word.read(units.DocumentSource(saved(document), "a.docx")))
        assert isinstance(about, units.About)
        assert isinstance(unit, units.Unit)
        assert (about.title, about.author) == ("Plan", "Ana")
        assert (unit.number, unit.total) == (1, 1)
        assert [(block.text, block.kind, block.level) for block in unit.blocks] == [
            ("One", "heading", 1),
            ("First text.", "text", 0),
            ("Name | Sum", "header", 0),
            ("Caf\u00e9 | 12", "row", 0),
            ("Two", "heading", 2),
            ("Last text.", "text", 0),
        ]

    def test_lists_have_their_bullets_and_numbers(self):
        document = docx.Document()
        for style in ("List Bullet", "List Number", "List Number"):
            document.add_paragraph("item", style)
        assert texts(word, saved(document)) == ["- item", "1. item", "2. item"]

    def test_what_was_deleted_is_out_and_what_was_inserted_is_in(self):
        body = (
            "<w:p><w:r><w:t>Kept </w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
            "<w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>"
        )
        assert texts(word, word_body(body)) == ["Kept new"]

    def test_a_text_box_is_read_once_and_after_its_paragraph(self):
        box = f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent>"
        body = (
            '<w:p><w:r><w:t>before</w:t></w:r><w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/'
            f'markup-compatibility/2006"><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>'
            "</mc:AlternateContent></w:r></w:p>"
        )
        assert texts(word, word_body(body)) == ["before", "in the box"]

    def test_notes_comments_and_edges_surround_the_body(self):
        def part(root: str, inside: str) -> str:
            return f'<w:{root} xmlns:w="{W}">{inside}</w:{root}>'

        data = word_body(
            paragraph("body"),
            **{
                "footnotes.xml": part(
                    "footnotes",
                    f'<w:footnote w:id="0" w:type="separator">{paragraph("no")}</w:footnote>'
                    f'<w:footnote w:id="2">{paragraph("a note")}</w:footnote>',
                ),
                "comments.xml": part(
                    "comments",
                    f'<w:comment w:author="Ana">{paragraph("why?")}</w:comment>',
                ),
                "header1.xml": part("hdr", paragraph("Letterhead")),
                "header2.xml": part("hdr", paragraph("Letterhead")),
                "footer1.xml": part("ftr", paragraph("Imprint")),
            },
        )
        assert texts(word, data) == [
            "Letterhead",
            "body",
            "[2] a note",
            "[Comment by Ana] why?",
            "Imprint",
        ]

    def test_a_merged_cell_says_its_text_in_each_row_it_covers(self):
        document = docx.Document()
        table = document.add_table(3, 2)
        for at, text in enumerate(["Group", "Item", "A", "x", "", "y"]):
            table.cell(at // 2, at % 2).text = text
        table.cell(1, 0).merge(table.cell(2, 0))
        assert texts(word, saved(document)) == ["Group | Item", "A | x", "A | y"]

    def test_equations_are_latex(self):
        body = (
            '<w:p><m:oMath xmlns:m="m"><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:sSup><m:e><m:r><m:t>π</m:t>'
            "</m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath></w:p>"
        )
        assert texts(word, word_body(body)) == [r"$\frac{a}{{\pi}^{2}}$"]

    def test_check_boxes_say_whether_they_are_checked(self):
        box = (
            '<w:sdt><w:sdtPr><x:checkbox xmlns:x="x"><x:checked x:val="{}"/></x:checkbox></w:sdtPr><w:sdtContent>'
            "<w:r><w:t>?</w:t></w:r></w:sdtContent></w:sdt>"
        )
        body = f"<w:p>{box.format(1)}<w:r><w:t> tea </w:t></w:r>{box.format(0)}<w:r><w:t> milk</w:t></w:r></w:p>"
        assert texts(word, word_body(body)) == ["[x] tea [ ] milk"]


def deck() -> bytes:
    presentation: Any = pptx.Presentation()
    one = presentation.slides.add_slide(presentation.slide_layouts[5])
    below = one.shapes.add_textbox(Inches(1), Inches(5), Inches(3), Inches(1))
    below.text_frame.text = "below"
    one.shapes.title.text = "First"
    table = one.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for at, text in enumerate(["Name", "Sum", "x", "1"]):
        table.cell(at // 2, at % 2).text = text
    group = one.shapes.add_group_shape()
    group.shapes.add_textbox(
        Inches(1), Inches(6), Inches(1), Inches(1)
    ).text_frame.text = "grouped"
    one.notes_slide.notes_text_frame.text = "say this"
    two = presentation.slides.add_slide(presentation.slide_layouts[5])
    two.shapes.title.text = "Second"
    data: Any = pptx.chart.data.CategoryChartData()
    data.categories = ["2024", "2025"]
    data.add_series("Ducks", (3, 4.5))
    kind = pptx.enum.chart.XL_CHART_TYPE.COLUMN_CLUSTERED
    two.shapes.add_chart(kind, Inches(1), Inches(2), Inches(4), Inches(3), data)
    return saved(presentation)


class TestSlides:
    def test_a_slide_is_a_unit_with_title_table_groups_and_notes(self):
        first, second = units_of(slides, deck())
        assert [(block.text, block.kind) for block in first.blocks] == [
            ("First", "heading"),
            ("Name | Sum", "header"),
            ("x | 1", "row"),
            ("below", "text"),
            ("grouped", "text"),
            ("say this", "notes"),
        ]
        assert (first.number, first.total, first.place) == (1, 2, {"slide": 1})
        assert second.place == {"slide": 2}

    def test_a_chart_says_its_numbers(self):
        said = [block.text for block in units_of(slides, deck())[1].blocks]
        assert said[0] == "Second"
        assert said[-4:] == ["Bar chart", "| Ducks", "2024 | 3", "2025 | 4.5"]

    def test_reading_goes_on_where_it_stopped(self):
        assert [unit.number for unit in units_of(slides, deck(), first=2)] == [2]

    def test_a_damaged_slide_does_not_take_the_others_with_it(self):
        first, second = units_of(
            slides, replaced(deck(), "ppt/slides/slide1.xml", "<broken")
        )
        assert (first.blocks, first.remark) == ((), "the slide is damaged")
        assert second.blocks


def bomb(part: str, like: bytes) -> bytes:
    return replaced(like, part, b"<a>" + b" " * (packed.FROM * 4) + b"</a>")


def entities(root: str) -> str:
    chain = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY l0 "lol">{chain}]><{root}>&l9;</{root}>'


def nested(root: str) -> str:
    return f"<{root}>" + "<b>" * 100_000


def hostile() -> Iterator[tuple[str, object, bytes]]:
    document, presentation = word_body(paragraph("x")), deck()
    text = zipped(**{"content.xml": "<x/>"})
    book = zipped(**{"xl/workbook.xml": "<x/>"})
    for name, make in (("bomb", None), ("entities", entities), ("nested", nested)):
        for reader, part, data in (
            (word, "word/document.xml", document),
            (slides, "ppt/presentation.xml", presentation),
            (opendocument, "content.xml", text),
            (sheets, "xl/workbook.xml", book),
        ):
            changed = (
                bomb(part, data) if make is None else replaced(data, part, make("w"))
            )
            yield f"{name} {part}", reader, changed
    yield "page", html, nested("div").encode()
    yield "rtf", rtf, rb"{\rtf1" + b"{" * 200_000 + b"x"
    yield "cut", word, document[: len(document) // 2]
    yield "empty", word, b""
    yield "text", word, b"hello"
    yield "zip", word, zipped(a="b")
    yield "ole", word, OLE + b"\0" * 600
    yield "missing", epub, zipped(mimetype="application/epub+zip")


HOSTILE = {name: (reader, data) for name, reader, data in hostile()}


class TestHostile:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_it_ends_quickly_with_a_reason(self, name: str):
        reader, data = HOSTILE[name]
        started = time.process_time()
        if name == "rtf":  # not harmful by itself, only deep
            texts(reader, data)
        else:
            with pytest.raises(errors.Unreadable) as caught:
                texts(reader, data)
            assert len(caught.value.message) < 220
        assert time.process_time() - started < 20

    def test_a_bomb_is_stopped_while_it_unpacks(self):
        reader, data = HOSTILE["bomb word/document.xml"]
        with pytest.raises(errors.Unreadable, match="unpacks to more than"):
            texts(reader, data)

    def test_the_sizes_in_the_directory_are_not_believed(self, monkeypatch):
        monkeypatch.setattr(packed, "LARGEST", 50_000)
        with pytest.raises(errors.Unreadable, match="unpacks to more than"):
            texts(word, word_body(paragraph("a b " * 20_000)))

    def test_entities_are_named_as_the_reason(self):
        reader, data = HOSTILE["entities content.xml"]
        with pytest.raises(errors.Unreadable, match="entities"):
            texts(reader, data)

    def test_deep_nesting_is_named_as_the_reason(self):
        for name in ("nested word/document.xml", "page"):
            reader, data = HOSTILE[name]
            with pytest.raises(errors.Unreadable, match="nested too deeply"):
                texts(reader, data)

    def test_an_encrypted_zip_wants_its_password(self):
        data = bytearray(word_body(paragraph("x")))
        at = data.index(b"PK\x01\x02")
        data[at + 8] |= 1
        with pytest.raises(errors.Locked):
            texts(word, bytes(data))


class TestSamples:
    @pytest.mark.skipif(
        not (DATA / "formats-docling").is_dir(),
        reason="the sample documents are not here",
    )
    def test_every_sample_is_read_or_refused_with_a_reason(self):
        files = [
            file
            for file in sorted((DATA / "formats-docling").glob("*/sources/*"))
            if file.is_file()
        ]
        for file in files:
            reader = READERS.get(file.suffix[1:])
            if reader is not None:
                assert texts(reader, file.read_bytes()), file.name

    @pytest.mark.skipif(
        not (DATA / "formats-docling").is_dir(),
        reason="the sample documents are not here",
    )
    def test_samples_of_other_formats_and_cut_ones_raise_nothing_else(self):
        for file in sorted((DATA / "formats-docling").glob("*/sources/*")):
            data = file.read_bytes()
            for suffix, reader in READERS.items():
                for given in (
                    data if suffix != file.suffix[1:] else data[: len(data) * 3 // 4],
                ):
                    try:
                        texts(reader, given)
                    except errors.Unreadable as error:
                        assert error.message  # noqa: PT017 -- reading it is fine as well
