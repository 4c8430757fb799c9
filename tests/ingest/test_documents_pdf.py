"""PDFs read page by page: order, broken words, headings, passwords, notes, files
inside, and what cannot be read.
"""

import io
import time
from pathlib import Path

import pytest
from PIL import Image

from reverie import errors
from reverie.ingest.documents import images, pdf, units
from tests.conftest import DATA
from tests.ingest.pdfs import built, drawn

LONG = "The keeper climbed the narrow stairs each evening and counted every step"


def read(data: bytes, **given: str | int) -> list[units.Read]:
    return list(pdf.read(units.DocumentSource(data, "a.pdf", **given)))  # pyright: ignore[reportArgumentType]


def pages(data: bytes, **given: str | int) -> list[units.Unit]:
    return [each for each in read(data, **given) if isinstance(each, units.Unit)]


def texts(unit: units.Unit) -> list[str]:
    return [block.text for block in unit.blocks]


def test_what_it_says_of_itself_comes_first() -> None:
    assert read(built([drawn([LONG])]))[0] == units.About(
        "The lamp", "A. Keeper", "2024-02-03T04:05:06+02:00"
    )


def test_a_unit_a_page_with_its_number_and_accents() -> None:
    found = pages(
        built(
            [drawn([f"{LONG}: über señor", "and no more."]), drawn([f"Second. {LONG}"])]
        )
    )
    assert [(unit.number, unit.total, unit.place, unit.remark) for unit in found] == [
        (1, 2, {"page": 1}, ""),
        (2, 2, {"page": 2}, ""),
    ]
    assert texts(found[0]) == [f"{LONG}: über señor and no more."]


def test_pages_known_already_are_not_read_again() -> None:
    data = built([drawn([f"{LONG} {number}"]) for number in range(1, 4)])
    assert [(unit.number, texts(unit)) for unit in pages(data, first=3)] == [
        (3, [f"{LONG} 3"])
    ]
    assert pages(data, first=4) == []


def test_a_thousand_pages_begin_at_once() -> None:
    data = built([drawn([f"{LONG} {number}"]) for number in range(1000)])
    started = time.process_time()
    found = pdf.read(units.DocumentSource(data, "a.pdf"))
    next(found)
    unit = next(found)
    assert time.process_time() - started < 2
    assert isinstance(unit, units.Unit)
    assert (unit.number, unit.total) == (1, 1000)


def test_words_broken_at_the_end_of_a_line_are_whole_and_compounds_keep_their_hyphen() -> (
    None
):
    lines = [
        "The light-house was built of well-known stone, and its con-",
        "struction took years of work that was well-",
        "known.",
    ]
    assert texts(pages(built([drawn(lines)]))[0]) == [
        "The light-house was built of well-known stone, and its construction took years of work that was well-known."
    ]


def test_columns_written_row_by_row_are_read_one_after_the_other() -> None:
    left = [f"the left column goes on in line {number}" for number in range(6)]
    right = [f"but on the right there is row {number}" for number in range(6)]
    content = "".join(
        drawn([one], y=700 - 14 * n) + drawn([other], x=320, y=700 - 14 * n)
        for n, (one, other) in enumerate(zip(left, right, strict=True))
    )
    text = " ".join(texts(pages(built([content]))[0]))
    assert text == " ".join(left + right)


def test_the_rows_of_a_table_stay_rows() -> None:
    rows = [
        ("Oslo", "Norway", "1,2"),
        ("Bern", "Switzerland", "3,4"),
        ("Rome", "Italy", "5,6"),
        ("Riga", "Latvia", "7,8"),
    ]
    content = drawn([LONG]) + "".join(
        drawn([cell], x=60 + 150 * column, y=700 - 14 * n)
        for n, row in enumerate(rows)
        for column, cell in enumerate(row)
    )
    assert texts(pages(built([content]))[0])[1:] == [" ".join(row) for row in rows]


def test_larger_type_is_a_heading_and_space_ends_a_paragraph() -> None:
    content = (
        drawn(["On lamps"], size=20)
        + drawn([LONG, "up to the top"], y=740)
        + drawn(["A second thought."], y=690)
    )
    blocks = pages(built([content]))[0].blocks
    assert [(block.kind, block.level) for block in blocks] == [
        ("heading", 1),
        ("text", 0),
        ("text", 0),
    ]
    assert [block.text for block in blocks] == [
        "On lamps",
        f"{LONG} up to the top",
        "A second thought.",
    ]


def test_the_outline_names_headings_in_any_type() -> None:
    outline = (
        b"<</First 11 0 R/Last 11 0 R/Count 1>>",
        b"<</Title(Of lamps)/Parent 10 0 R/Dest[100 0 R/Fit]>>",
    )
    data = built(
        [drawn(["1 Of lamps"]) + drawn([LONG], y=740)],
        objects=outline,
        catalog="/Outlines 10 0 R",
    )
    assert [block.kind for block in pages(data)[0].blocks] == ["heading", "text"]


def test_notes_and_filled_in_fields_are_read() -> None:
    objects = (
        b"<</Type/Annot/Subtype/Text/Rect[10 10 20 20]/Contents(Ask the harbour master)>>",
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(Surname)/V(Lindqvist)/Rect[10 30 90 50]>>",
    )
    data = built(
        [drawn([LONG])],
        page="/Annots[10 0 R 11 0 R]",
        objects=objects,
        catalog="/AcroForm<</Fields[11 0 R]>>",
    )
    notes = [block.text for block in pages(data)[0].blocks if block.kind == "notes"]
    assert notes == ["Ask the harbour master", "Surname: Lindqvist"]


def test_files_inside_are_handed_over_without_their_folders() -> None:
    objects = (
        b"<</Names[(a) 11 0 R]>>",
        b"<</Type/Filespec/F(../../log.txt)/UF(../../log.txt)/EF<</F 12 0 R>>>>",
        b"<</Type/EmbeddedFile/Length 9>>stream\nall quiet\nendstream",
    )
    data = built(
        [drawn([LONG])], objects=objects, catalog="/Names<</EmbeddedFiles 10 0 R>>"
    )
    assert read(data)[-1] == units.EmbeddedFile("log.txt", "text/plain", b"all quiet")


def test_a_blank_page_is_a_unit_without_blocks() -> None:
    blank = pages(built(["", drawn([LONG])]))[0]
    assert (blank.blocks, blank.remark) == ((), "")


def test_arabic_ligatures_and_marks_of_windows() -> None:
    assert texts(pages(built([drawn([f"It’s “so” – {LONG}"])]))[0]) == [
        f"It’s “so” – {LONG}"
    ]
    path = DATA / "formats-docling/pdf/sources/right_to_left_01.pdf"
    if not path.exists():
        pytest.skip("the sample PDFs are not here")
    assert texts(pages(path.read_bytes())[0])[0].startswith(
        "تحسين الإنتاجية وحل المشكلات من خلال"
    )


@pytest.mark.parametrize("password", ["1234", "owner"])
def test_a_locked_document_opens_with_either_password(password: str) -> None:
    data = _locked()
    for wrong in ("", "4321"):
        with pytest.raises(errors.Locked, match="asks for a password"):
            read(data, password=wrong)
    assert "DocLayNet" in " ".join(texts(pages(data, password=password)[0]))


def _locked() -> bytes:
    path: Path = DATA / "formats-docling/pdf_password/sources/2206.01062_pg3.pdf"
    if not path.exists():
        pytest.skip("the sample of a locked PDF is not here")
    return path.read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-1.7",
        b"\0" * 1000,
        b"PK\3\4 no pdf",
        built([drawn([LONG])])[:300],
        built([]),
    ],
    ids=["empty", "header", "zeros", "other", "cut", "no pages"],
)
def test_what_is_no_pdf_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(errors.Unreadable, match=r"PDF|pages"):
        read(data)


def test_a_broken_page_does_not_take_the_others_with_it() -> None:
    data = built([drawn([LONG]), drawn([LONG])]).replace(
        b"100 0 obj\n<</Type/Page/", b"100 0 obj\n[</Type/Page/"
    )
    found = pages(data)
    assert [bool(unit.blocks) for unit in found] == [False, True]
    assert found[0].remark


def test_pages_of_odd_shapes_and_lengths_do_not_stall_or_stop_the_rest() -> None:
    lined = "60 700 m 200 700 l S\n"
    thin = built([drawn(["A short page."]) + lined, drawn([LONG])]).replace(
        b"0 0 595 842", b"0 0 9999999 1"
    )
    assert [unit.number for unit in pages(thin)] == [1, 2]
    started = time.process_time()
    assert len(
        " ".join(texts(pages(built([drawn([LONG] * 2500, y=36_000)]))[0]))
    ) > 2400 * len(LONG)
    assert (
        time.process_time() - started < 15
    )  # a second or so; it was forty when a long paragraph cost its square


def test_a_turned_page_is_read_from_its_top() -> None:
    lines = [LONG, "and then", "came down"]
    content = "".join(
        f"BT /F 11 Tf 0 1 -1 0 {60 + 14 * n} 60 Tm ({line}) Tj ET\n"
        for n, line in enumerate(lines)
    )
    assert texts(pages(built([content], page="/Rotate 90"))[0]) == [" ".join(lines)]


def test_a_page_is_shown_as_a_picture_of_bounded_size() -> None:
    data = built([drawn([LONG])])
    shown = Image.open(io.BytesIO(images.page_png(data, "a.pdf", 1)))
    assert (shown.format, shown.size) == ("PNG", (910, 1287))
    huge = Image.open(
        io.BytesIO(
            images.page_png(
                data.replace(b"0 0 595 842", b"0 0 9000 9999"), "a.pdf", 1, dpi=600
            )
        )
    )
    assert huge.width * huge.height <= pdf.MOST_PIXELS * 1.01
    for page in (0, 2):
        with pytest.raises(errors.NotFound):
            images.page_png(data, "a.pdf", page)
    with pytest.raises(errors.NotFound, match=r"notes\.txt has no pages"):
        images.page_png(b"words", "notes.txt", 1)
