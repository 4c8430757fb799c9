"""The text layer of a PDF page (PDF 32000): lines with boxes and type in reading order.

PDFium gives characters in the order of the file with their boxes. They are split into
rows where it ends a line, rows into segments where nothing stands for long (a column, a
cell), and segments become lines with the size and weight of their type. `layout` puts
lines of mixed-up columns in order.
"""

import bisect
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

# Thresholds are set by hand where nothing else is said; bench/extraction.py measures
# PDFs with them (docs/decisions/0020).
MOST_CHARACTERS = 200_000
# pdfium's mark for a word that goes on in the next line.
BROKEN_WORD = "\x02"
# Of the height of the type: wider than between words, so a cell or a column ends here.
GAP = 1.5
# Of the rows: so many that stand on both sides of a gutter mix the columns up.
MIXED = 0.4
BOLD = re.compile(r"bold|black|heavy|-medi$|[a-z]{2}bx\d|-bd", re.IGNORECASE)
BOLD_WEIGHT = 600
# Arabic letters.
LETTERS = "ا-يٱ-ۓ"
SCRIPTS_MEET = re.compile(rf"(?<=[{LETTERS}])(?=[A-Za-z])|(?<=[A-Za-z])(?=[{LETTERS}])")
LAM = "ل"
ALEFS = "اأإآٱ"
# In points: edges of the two halves of a ligature are no further apart.
SAME_PLACE = 0.01
# The first letter after the Latin blocks: shorter words have footnotes there.
LATIN_ENDS = "\u0250"
# Of a line's height: how far above its floor a footnote's number ends, how high it is.
RAISED = 0.15
SMALLER = 0.85
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

    @property
    def height(self) -> float:
        """From its top to its bottom."""
        return self.bottom - self.top


def lines(page: pypdfium2.PdfPage) -> list[layout.LayoutLine]:
    """A page's lines. The file's own order is kept, which mostly is the reading order,
    unless columns are mixed up.
    """
    with closing(page.get_textpage()) as layer:
        glyphs = _glyphs(layer, page.get_rotation())
        segmented = [_segments(row, layer) for row in _rows(glyphs)]
    rows = [segments for segments in segmented if segments]
    pieces = [piece for segments in rows for piece in segments]
    gutter = layout.find_gutter(pieces)
    if gutter is not None and _is_mixed(rows, gutter):
        return layout.in_order(pieces)
    return [_whole(segments) for segments in rows]


def _is_mixed(rows: Sequence[Sequence[layout.LayoutLine]], gutter: float) -> bool:
    """Whether the file's own order runs across the columns."""
    mixed = 0
    for row in rows:
        first = row[0]
        last = row[-1]
        mixed += first.right < gutter < last.left
    return mixed >= max(layout.ROWS, MIXED * len(rows))


def _glyphs(layer: pypdfium2.PdfTextPage, rotation: int) -> Iterator[Glyph]:
    """The characters of a page in the order of the file, with their boxes."""
    raw: Any = layer.raw
    box = pdfium.FS_RECTF()
    for index in range(min(layer.count_chars(), MOST_CHARACTERS)):
        code = pdfium.FPDFText_GetUnicode(raw, index)
        pdfium.FPDFText_GetLooseCharBox(raw, index, box)
        left, top, right, bottom = _shown(
            box.left, box.top, box.right, box.bottom, rotation
        )
        # By position: keywords make the text layer of a page take a tenth longer.
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
    """The glyphs line by line. After a broken word pdfium goes on with the next line as
    if it were the same.
    """
    row: list[Glyph] = []
    for glyph in glyphs:
        ends_line = glyph.text in "\r\n"
        if not ends_line:
            row.append(glyph)
        if row and (ends_line or glyph.text == BROKEN_WORD):
            yield row
            row = []
    if row:
        yield row


def _segments(
    row: Sequence[Glyph], layer: pypdfium2.PdfTextPage
) -> list[layout.LayoutLine]:
    """A row cut where nothing stands for long, in the order of reading."""
    drawn = [glyph for glyph in row if _is_drawn(glyph)]
    if not drawn:
        return []
    size = _type_size(layer, drawn[len(drawn) // 2])
    cuts = _gaps(drawn, GAP * size)
    pieces: list[list[Glyph]] = [[] for _ in range(len(cuts) + 1)]
    for glyph in row:
        cuts_before = bisect.bisect_right(cuts, glyph.left)
        pieces[cuts_before].append(glyph)
    segments = [_line(piece, size, layer) for piece in pieces]
    return [line for line in segments if line.text]


def _is_drawn(glyph: Glyph) -> bool:
    """Whether a glyph leaves a mark on the page."""
    return glyph.right > glyph.left and not glyph.text.isspace()


def _gaps(drawn: Sequence[Glyph], least: float) -> list[float]:
    """The middles of the gaps in a row that are wider, from left to right."""
    middles: list[float] = []
    by_left = sorted(drawn, key=lambda glyph: glyph.left)
    end = by_left[0].left
    for glyph in by_left:
        if glyph.left - end > least:
            middles.append((glyph.left + end) / 2)
        end = max(end, glyph.right)
    return middles


def _line(
    glyphs: Sequence[Glyph], size: float, layer: pypdfium2.PdfTextPage
) -> layout.LayoutLine:
    """Glyphs as a line; its type is bold if that of three of them is."""
    drawn = [glyph for glyph in glyphs if not glyph.text.isspace()]
    drawn = drawn or list(glyphs)
    middle = drawn[len(drawn) // 2]
    telling = (drawn[0], middle, drawn[-1])
    return layout.LayoutLine(
        text=clean(_spelled(glyphs)),
        left=min(glyph.left for glyph in drawn),
        top=median(glyph.top for glyph in drawn),
        right=max(glyph.right for glyph in drawn),
        bottom=median(glyph.bottom for glyph in drawn),
        size=size,
        bold=all(_bold(layer, glyph.index) for glyph in telling),
    )


def _whole(segments: Sequence[layout.LayoutLine]) -> layout.LayoutLine:
    """The segments of a row as one line, in the direction of its script."""
    if len(segments) == 1:
        return segments[0]
    written = "".join(segment.text for segment in segments)
    ordered = segments[::-1] if _right_to_left(written) else segments
    return layout.joined_row(ordered, tabular=True)


def _right_to_left(text: str) -> bool:
    """Whether most letters are of scripts written so (bidirectional classes R and AL)."""
    letters = [letter for letter in text if letter.isalpha()]
    leftward = 0
    for letter in letters:
        leftward += unicodedata.bidirectional(letter) in ("R", "AL")
    return 2 * leftward > len(letters)


def _spelled(glyphs: Sequence[Glyph]) -> str:
    """The letters, with a ligature's in their right order, and a space before the
    number of a footnote.
    """
    letters: list[str] = []
    height = median(glyph.bottom - glyph.top for glyph in glyphs)
    floor = median(glyph.bottom for glyph in glyphs)
    word_length = 0
    before: Glyph | None = None
    for glyph in glyphs:
        if glyph.text == LAM and _is_alef(before, glyph):
            # Turning the line round turns lam-alef round too, which is one glyph.
            letters.insert(-1, glyph.text)
            continue
        raised = glyph.text.isdigit() and _is_raised(glyph, floor, height)
        if raised and _takes_footnote(before, word_length):
            letters.append(" ")
        word_length = word_length + 1 if glyph.text.isalpha() else 0
        letters.append(glyph.text)
        before = glyph
    return "".join(letters)


def _takes_footnote(before: Glyph | None, word_length: int) -> bool:
    """Whether a raised number after this letter is that of a footnote, and no power."""
    if before is None or not before.text.isalpha():
        return False
    return word_length > 3 or before.text > LATIN_ENDS


def _is_alef(before: Glyph | None, glyph: Glyph) -> bool:
    """Whether the letter before is an alef in the same place: half of a ligature."""
    if before is None or before.text not in ALEFS:
        return False
    from_left = abs(before.left - glyph.left)
    from_right = abs(before.right - glyph.right)
    return from_left < SAME_PLACE and from_right < SAME_PLACE


def _is_raised(glyph: Glyph, floor: float, height: float) -> bool:
    """Whether a glyph is small and stands above the floor of its line."""
    above_floor = floor - glyph.bottom
    if above_floor <= RAISED * height:
        return False
    return glyph.height < SMALLER * height


def clean(text: str) -> str:
    """Composed letters, no shapes, no controls; scripts of two directions do not touch
    each other.
    """
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = text.translate(WINDOWS)
    text = REMOVED.sub("", text)
    text = SHAPES.sub(_plain_shape, text)
    text = SCRIPTS_MEET.sub(" ", text)
    text = unicodedata.normalize("NFC", text)
    return SPACES.sub(" ", text).strip()


def _plain_shape(shapes: re.Match[str]) -> str:
    """The letters that shapes stand for (NFKC)."""
    return unicodedata.normalize("NFKC", shapes[0])


def _type_size(layer: pypdfium2.PdfTextPage, glyph: Glyph) -> float:
    """The height of the type as drawn, by the font size and the matrix."""
    matrix = pdfium.FS_MATRIX()
    size: float = pdfium.FPDFText_GetFontSize(layer.raw, glyph.index)
    if pdfium.FPDFText_GetMatrix(layer.raw, glyph.index, matrix):
        size *= float(matrix.c**2 + matrix.d**2) ** 0.5
    if size > 0.1:
        return size
    return max(glyph.height, 1.0)


def _bold(layer: pypdfium2.PdfTextPage, index: int) -> bool:
    """Whether a character's font is bold, by its weight or its name."""
    if pdfium.FPDFText_GetFontWeight(layer.raw, index) >= BOLD_WEIGHT:
        return True
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    length = pdfium.FPDFText_GetFontInfo(layer.raw, index, name, 128, flags)
    if not 0 < length <= 128:
        return False
    return BOLD.search(name.value.decode("utf-8", "replace")) is not None
