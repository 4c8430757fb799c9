"""Words in pictures: whichever way the page lies, with accents, in columns; image files
with their pages and dates.
"""

import io
import struct
import zlib

import pypdfium2
import pytest
from PIL import Image

from reverie import errors
from reverie.ingest.documents import images, ocr, pdf, units
from tests.ingest.pdfs import built, drawn

# Helvetica comes with the library that draws PDFs: a picture with accents wants no font
# of the machine's.
SPANISH = ["¿Qué pasó después? El niño soñó con", "pingüinos y jamás volvió a Málaga."]
GERMAN = [
    "Größere Häuser über dem Fluß, schöne",
    "Gärten und süße Äpfel: natürlich Äcker.",
]


def picture(content: str, *, width: int = 300, height: int = 200) -> Image.Image:
    """What `drawn` draws in the top left corner of a page, at 144 dpi."""
    document = pypdfium2.PdfDocument(built([content]))
    page = document[0]
    shown = pdf.picture(page, 144).crop((0, 0, 2 * width, 2 * height))
    page.close()
    document.close()
    return shown


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def read(data: bytes, *, first: int = 1) -> list[units.Read]:
    return list(images.read(units.DocumentSource(data, "a.png", first)))


def words(found: list[units.Read]) -> list[str]:
    return [
        " ".join(block.text for block in unit.blocks)
        for unit in found
        if isinstance(unit, units.Unit)
    ]


@pytest.mark.parametrize("angle", [0, 90, 180, 270, 4])
def test_a_page_is_read_whichever_way_it_lies(angle: int) -> None:
    page = picture(drawn(GERMAN, x=30), width=270, height=130)
    turned = page.rotate(
        angle, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC
    )
    assert " ".join(ocr.text(turned)) == " ".join(GERMAN)


def test_accents_are_read() -> None:
    found = " ".join(ocr.text(picture(drawn(SPANISH, x=30), width=270, height=130)))
    assert found.lstrip("¿") == " ".join(SPANISH).lstrip("¿")


def test_columns_are_read_one_after_the_other_under_their_title() -> None:
    left = [
        f"the left column, line {name}"
        for name in ("one", "two", "three", "four", "five")
    ]
    right = [
        f"and right of it, row {name}"
        for name in ("six", "seven", "eight", "nine", "ten")
    ]
    content = drawn(["The title of the whole page, above both columns"], x=80) + drawn(
        left, x=30, y=750
    )
    found = ocr.text(
        picture(content + drawn(right, x=230, y=750), width=420, height=180)
    )
    assert found[0] == "The title of the whole page, above both columns"
    assert " ".join(found[1:]) == " ".join(left + right)


def test_nothing_to_read_is_no_words() -> None:
    for blank in (
        Image.new("L", (300, 200), 255),
        Image.new("RGB", (1, 1)),
        Image.effect_noise((300, 200), 80),
    ):
        assert ocr.text(blank) == []


def test_a_scanned_page_of_a_pdf_is_read_and_says_so() -> None:
    page = picture(drawn(GERMAN, x=30), width=270, height=130)
    data = saved(
        page,
        "PDF",
        resolution=144,
        save_all=True,
        append_images=[Image.new("RGB", (200, 200), "white")],
    )
    found = [
        each
        for each in pdf.read(units.DocumentSource(data, "scan.pdf"))
        if isinstance(each, units.Unit)
    ]
    assert [(unit.place, unit.remark) for unit in found] == [
        ({"page": 1}, "read by OCR"),
        ({"page": 2}, ""),
    ]
    assert found[0].blocks == (units.Block(" ".join(GERMAN)),)
    assert found[1].blocks == ()


def test_a_short_text_stays_when_the_picture_adds_nothing() -> None:
    content = drawn(["A short page."]) + "60 700 m 200 700 l S\n"
    data = built([content]).replace(b"0 0 595 842", b"0 660 400 842")
    found = [
        each
        for each in pdf.read(units.DocumentSource(data, "a.pdf"))
        if isinstance(each, units.Unit)
    ]
    assert [(unit.blocks, unit.remark) for unit in found] == [
        ((units.Block("A short page."),), "")
    ]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "WEBP"])
def test_image_files_of_each_kind(kind: str) -> None:
    found = read(
        saved(picture(drawn(["Invoice 4711"], size=14), width=200, height=80), kind)
    )
    assert words(found) == ["Invoice 4711"]
    assert found[1] == units.Unit(
        1, 1, (units.Block("Invoice 4711"),), {}, "read by OCR"
    )


def test_transparent_and_deep_pictures() -> None:
    ink = picture(drawn(["Invoice 4711"], size=14), width=200, height=80).convert("L")
    clear = Image.new("RGBA", ink.size, (0, 0, 0, 0))
    clear.putalpha(ink.point(lambda value: 255 - value))
    deep = Image.frombytes(
        "I;16",
        ink.size,
        b"".join(struct.pack("<H", value * 200) for value in ink.tobytes()),
    )
    for image in (clear, deep):
        assert words(read(saved(image, "PNG"))) == ["Invoice 4711"]


def test_the_pages_of_a_tiff_are_units_and_known_ones_are_skipped() -> None:
    pages = [
        picture(drawn([f"Receipt {number}"], size=14), width=200, height=80)
        for number in (11, 12, 13)
    ]
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    found = read(data, first=2)
    assert words(found) == ["Receipt 12", "Receipt 13"]
    assert [
        (each.number, each.total, each.place)
        for each in found
        if isinstance(each, units.Unit)
    ] == [
        (2, 3, {"page": 2}),
        (3, 3, {"page": 3}),
    ]


def test_the_camera_tells_the_date_and_which_way_is_up() -> None:
    image = picture(drawn(["Invoice 4711"], size=14), width=200, height=80)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    exif[0x013B] = "A. Keeper"
    exif.get_ifd(0x8769).update({0x9003: "2024:02:03 04:05:06", 0x9011: "+02:00"})
    data = saved(image.rotate(90, expand=True), "JPEG", exif=exif, quality=95)
    assert read(data)[0] == units.About("", "A. Keeper", "2024-02-03T04:05:06+02:00")
    shown = Image.open(io.BytesIO(images.page_png(data, "a.jpg", 1)))
    assert shown.size == image.size


def test_a_picture_to_look_at_is_bounded_and_has_its_pages() -> None:
    data = saved(
        Image.new("L", (5000, 3000), 200),
        "TIFF",
        save_all=True,
        append_images=[Image.new("L", (10, 10))],
    )
    first, second = (
        Image.open(io.BytesIO(images.page_png(data, "a.tif", page))) for page in (1, 2)
    )
    assert first.width * first.height <= images.SHOWN
    assert second.size == (10, 10)
    with pytest.raises(errors.NotFound, match=r"a\.tif has no page 3"):
        images.page_png(data, "a.tif", 3)


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be large."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body))
            + name
            + body
            + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("width", "height"), [(60_000, 60_000), (12_000, 10_000), (8_000, 7_000)]
)
def test_a_bomb_is_refused_before_it_is_decoded(width: int, height: int) -> None:
    with pytest.raises(errors.Unreadable, match="too large"):
        read(bomb(width, height))


def test_broken_pictures_are_refused_with_a_reason() -> None:
    whole = saved(Image.effect_noise((100, 100), 50), "PNG")
    for data in (
        b"",
        b"GIF89a",
        b"no picture",
        whole[:30],
        whole[: len(whole) // 2],
        whole[:40] + bytes(60),
    ):
        with pytest.raises(errors.Unreadable, match="picture"):
            read(data)
