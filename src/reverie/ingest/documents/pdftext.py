"""The text layer of a page of a PDF: lines with their boxes and type, in the order they
are read in.
"""

import ctypes
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import median
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from reverie.ingest.documents import layout

MOST_CHARACTERS = 200_000
BROKEN_WORD = "\x02"
GAP = 1.5  # of the height of the type: wider than between words, so a cell or a column ends here
BOLD = re.compile(r"bold|black|heavy|-medi$|[a-z]{2}bx\d|-bd", re.IGNORECASE)
BOLD_WEIGHT = 600
LETTERS = "ا-يٱ-ۓ"
SCRIPTS_MEET = re.compile(rf"(?<=[{LETTERS}])(?=[A-Za-z])|(?<=[A-Za-z])(?=[{LETTERS}])")
LATIN_ENDS = "\u0250"
ALEFS = "اأإآٱ"
# Letters that are shapes of others: Latin ligatures, Arabic by its place in the word.
SHAPES = re.compile("[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefc]+")
# Codes that no Unicode text has, and a font of Windows's own does.
WINDOWS = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
REMOVED = re.compile(
    "[\x00-\x01\x03-\x08\x0b\x0e-\x1f\x7f\u200b\u2060\ufeff\ufffe\uffff]"
)
SPACES = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]+")


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character and its box as the page is shown, from the top left down."""

    index: int
    text: str
    left: float
    top: float
    right: float
    bottom: float


def lines(page: pypdfium2.PdfPage) -> list[layout.LayoutLine]:
    """A page's lines. The file's own order is kept, which mostly is the reading order,
    unless columns are mixed up.
    """
    with closing(page.get_textpage()) as layer:
        found = [
            _segments(row, layer) for row in _rows(_glyphs(layer, page.get_rotation()))
        ]
    found = [segments for segments in found if segments]
    pieces = [piece for segments in found for piece in segments]
    gutter = layout.find_gutter(pieces)
    if gutter is not None:
        mixed = sum(
            segments[0].right < gutter < segments[-1].left for segments in found
        )
        if mixed >= max(layout.ROWS, 0.4 * len(found)):
            return layout.in_order(pieces)
    return [_whole(segments) for segments in found]


def _glyphs(layer: pypdfium2.PdfTextPage, rotation: int) -> Iterator[Glyph]:
    raw: Any = layer.raw
    box = pdfium.FS_RECTF()
    for index in range(min(layer.count_chars(), MOST_CHARACTERS)):
        code = pdfium.FPDFText_GetUnicode(raw, index)
        pdfium.FPDFText_GetLooseCharBox(raw, index, box)
        left, top, right, bottom = _shown(
            box.left, box.top, box.right, box.bottom, rotation
        )
        yield Glyph(index, chr(code), left, top, right, bottom)


def _shown(
    left: float, top: float, right: float, bottom: float, rotation: int
) -> tuple[float, float, float, float]:
    """A box in the page's own space, where up is more, as one on the page that was
    turned clockwise.
    """
    if rotation == 90:
        return bottom, left, top, right
    if rotation == 180:
        return -right, bottom, -left, top
    if rotation == 270:
        return -top, -right, -bottom, -left
    return left, -top, right, -bottom


def _rows(glyphs: Iterator[Glyph]) -> Iterator[list[Glyph]]:
    row: list[Glyph] = []
    for glyph in glyphs:
        if glyph.text in "\r\n":
            if row:
                yield row
            row = []
        else:
            row.append(glyph)
            if (
                glyph.text == BROKEN_WORD
            ):  # pdfium goes on with the next line as if it were the same
                yield row
                row = []
    if row:
        yield row


def _segments(
    row: Sequence[Glyph], layer: pypdfium2.PdfTextPage
) -> list[layout.LayoutLine]:
    """A row cut where nothing stands for long, in the order of reading."""
    drawn = [
        glyph for glyph in row if not glyph.text.isspace() and glyph.right > glyph.left
    ]
    if not drawn:
        return []
    size = _type_size(layer, drawn[len(drawn) // 2])
    cuts: list[float] = []
    end = min(glyph.left for glyph in drawn)
    for glyph in sorted(drawn, key=lambda each: each.left):
        if glyph.left - end > GAP * size:
            cuts.append((glyph.left + end) / 2)
        end = max(end, glyph.right)
    pieces: list[list[Glyph]] = [[] for _ in range(len(cuts) + 1)]
    for glyph in row:
        pieces[sum(glyph.left >= cut for cut in cuts)].append(glyph)
    made = [_line(piece, size, layer) for piece in pieces]
    return [line for line in made if line.text]


def _line(
    glyphs: Sequence[Glyph], size: float, layer: pypdfium2.PdfTextPage
) -> layout.LayoutLine:
    drawn = [glyph for glyph in glyphs if not glyph.text.isspace()] or list(glyphs)
    telling = (drawn[0], drawn[len(drawn) // 2], drawn[-1])
    return layout.LayoutLine(
        clean(_spelled(glyphs)),
        min(glyph.left for glyph in drawn),
        median(glyph.top for glyph in drawn),
        max(glyph.right for glyph in drawn),
        median(glyph.bottom for glyph in drawn),
        size,
        all(_bold(layer, glyph.index) for glyph in telling),
    )


def _whole(segments: Sequence[layout.LayoutLine]) -> layout.LayoutLine:
    if len(segments) == 1:
        return segments[0]
    written = "".join(segment.text for segment in segments)
    return layout.joined_row(
        segments[::-1] if _right_to_left(written) else segments, tabular=True
    )


def _right_to_left(text: str) -> bool:
    kinds = [unicodedata.bidirectional(letter) for letter in text if letter.isalpha()]
    return 2 * sum(kind in ("R", "AL") for kind in kinds) > len(kinds)


def _spelled(glyphs: Sequence[Glyph]) -> str:
    """The letters, with a ligature's in their right order, and a space before the
    number of a footnote.
    """
    letters: list[str] = []
    height = median(glyph.bottom - glyph.top for glyph in glyphs)
    floor = median(glyph.bottom for glyph in glyphs)
    word = 0
    before: Glyph | None = None
    for glyph in glyphs:
        if (
            before
            and glyph.text == "ل"
            and before.text in ALEFS
            and _same_place(before, glyph)
        ):
            # Turning the line round turns lam-alef round too, which is one glyph.
            letters.insert(-1, glyph.text)
            continue
        raised = (
            floor - glyph.bottom > 0.15 * height
            and glyph.bottom - glyph.top < 0.85 * height
        )
        if (
            glyph.text.isdigit()
            and raised
            and before
            and before.text.isalpha()
            and (word > 3 or before.text > "\u0250")
        ):
            letters.append(" ")
        word = word + 1 if glyph.text.isalpha() else 0
        letters.append(glyph.text)
        before = glyph
    return "".join(letters)


def _same_place(one: Glyph, other: Glyph) -> bool:
    return abs(one.left - other.left) < 0.01 and abs(one.right - other.right) < 0.01


def clean(text: str) -> str:
    """Composed letters, no shapes, no controls; scripts of two directions do not touch
    each other.
    """
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = SHAPES.sub(
        lambda shapes: unicodedata.normalize("NFKC", shapes[0]),
        REMOVED.sub("", text.translate(WINDOWS)),
    )
    text = unicodedata.normalize("NFC", SCRIPTS_MEET.sub(" ", text))
    return SPACES.sub(" ", text).strip()


def _type_size(layer: pypdfium2.PdfTextPage, glyph: Glyph) -> float:
    matrix = pdfium.FS_MATRIX()
    size: float = pdfium.FPDFText_GetFontSize(layer.raw, glyph.index)
    if pdfium.FPDFText_GetMatrix(layer.raw, glyph.index, matrix):
        size *= float(matrix.c**2 + matrix.d**2) ** 0.5
    return size if size > 0.1 else max(glyph.bottom - glyph.top, 1.0)


def _bold(layer: pypdfium2.PdfTextPage, index: int) -> bool:
    if pdfium.FPDFText_GetFontWeight(layer.raw, index) >= BOLD_WEIGHT:
        return True
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    length = pdfium.FPDFText_GetFontInfo(layer.raw, index, name, 128, flags)
    return 0 < length <= 128 and bool(
        BOLD.search(name.value.decode("utf-8", "replace"))
    )
