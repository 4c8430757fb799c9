"""PDF files (PDF 32000) page by page by PDFium: text layer, headings by outline and type
size, or OCR.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any, cast

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from reverie import errors
from reverie.ingest.documents import layout, ocr, pdfnotes, pdftext, units

# Thresholds are set by hand where nothing else is said; bench/extraction.py and
# bench/ocr.py measure with them (docs/decisions/0020).
# Characters: less than that is no text layer.
FEW = 50
# Of the text layer's letters: so many unknown ones are read in the picture.
UNKNOWN = 0.3
OCR_DPI = 144
# OCR replaces the text layer if it finds a fifth more (docs/decisions/0020).
OCR_FINDS_MORE = 1.2
MOST_PIXELS = 4_000_000
MOST_OUTLINE = 5_000
# In a row: there are no pages, whatever the file says.
MOST_BROKEN = 100
UNREAD = "this page could not be read"
READ_BY_OCR = "read by OCR"
# Characters of a title or an author that are kept.
LONGEST_ABOUT = 500
# The dates of PDF 32000-1, 7.9.4.
DATE = re.compile(
    r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?"
)
NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\.)\s+\w")
LONGEST_HEADING = 200
MOST_HEADING_LINES = 3
# How much larger than the body a heading's type is at least, by the heading's level.
HEADING_SIZES = {1: 1.6, 2: 1.3, 3: 1.15}
Outline = Mapping[int, Mapping[str, int]]
"""What a page is to have as headings, by its index: their text as `_plain` has it, with
their level.
"""


def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What the document says of itself, a unit a page, then the files inside it.

    Raises Unreadable for what is no PDF or has no page that can be read, Locked when it
    wants another password.
    """
    with opened(source.data, source.password) as document:
        yield _about(document)
        total = len(document)
        outline = _outline(document)
        broken = 0
        for number in range(max(source.first, 1), total + 1):
            unit = _unit(document, number, total, outline)
            broken = broken + 1 if unit.remark == UNREAD else 0
            if broken >= min(MOST_BROKEN, total):
                raise errors.Unreadable("none of its pages can be read")
            yield unit
        yield from pdfnotes.files(document)


@contextmanager
def opened(data: bytes, password: str = "") -> Generator[pypdfium2.PdfDocument]:
    """The document, open for as long as the block. Raises Unreadable, or Locked when it
    wants another password.
    """
    try:
        document = pypdfium2.PdfDocument(data, password=password or None)
    except pypdfium2.PdfiumError as error:
        raise _refused(error, bool(password)) from error
    with closing(document):
        if not len(document):
            raise errors.Unreadable("the PDF has no pages")
        if document.get_formtype() != pdfium.FORMTYPE_NONE:
            document.init_forms()
        yield document


def picture(page: pypdfium2.PdfPage, dpi: int) -> Image.Image:
    """The page as it is shown, at most `MOST_PIXELS` large whatever size it claims."""
    width, height = (max(side, 1.0) for side in page.get_size())
    area = width * height
    bounded_scale = (MOST_PIXELS / area) ** 0.5
    scale = min(dpi / 72, bounded_scale)
    # A page a thousand times longer than wide would still be a row of single points.
    scale = max(scale, 1 / min(width, height))
    if area * scale * scale > 2 * MOST_PIXELS:
        raise errors.Unreadable("a page too long and thin to be shown")
    render = cast("Callable[..., pypdfium2.PdfBitmap]", page.render)
    with closing(render(scale=scale, rev_byteorder=True)) as bitmap:
        return bitmap.to_pil().convert("RGB")


def _refused(error: pypdfium2.PdfiumError, tried: bool) -> errors.Unreadable:
    """The error for a document that PDFium does not open."""
    if error.err_code == pdfium.FPDF_ERR_PASSWORD:
        wrong = "the password does not open it: " if tried else ""
        return errors.Locked(f"{wrong}the PDF asks for a password")
    if error.err_code == pdfium.FPDF_ERR_SECURITY:
        return errors.Unreadable(
            "the PDF is locked in a way that no password opens here"
        )
    return errors.Unreadable("the file is no PDF, or is cut short or damaged")


def _about(document: pypdfium2.PdfDocument) -> units.About:
    """Title, author and time of creation of the document information."""
    properties = document.get_metadata_dict(skip_empty=True)
    title = pdftext.clean(properties.get("Title", ""))
    author = pdftext.clean(properties.get("Author", ""))
    return units.About(
        title=title[:LONGEST_ABOUT],
        author=author[:LONGEST_ABOUT],
        created=_date(properties.get("CreationDate", "")),
    )


def _date(text: str) -> str:
    """A date of a PDF ("D:20240131120000+01'00'") as ISO 8601, "" for none."""
    match = DATE.match(text.strip())
    if match is None:
        return ""
    year, month, day, *clock_parts, zulu, offset, offset_minutes = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    clock = ":".join(part or "00" for part in clock_parts)
    zone = "+00:00" if zulu else _zone(offset, offset_minutes)
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{zone}")
    except ValueError:
        return ""
    return moment.isoformat()


def _zone(offset: str | None, minutes: str | None) -> str:
    """The offset from UTC as ISO 8601, "" without one."""
    return f"{offset}:{minutes or '00'}" if offset else ""


def _outline(document: pypdfium2.PdfDocument) -> Outline:
    """The bookmarks by page; as far as they can be read."""
    headings: dict[int, dict[str, int]] = {}
    marks = cast("Iterator[pypdfium2.PdfBookmark]", document.get_toc())
    try:
        for mark in itertools.islice(marks, MOST_OUTLINE):
            target = mark.get_dest()
            page = cast("int | None", target.get_index()) if target else None
            if page is not None:
                title = _plain(mark.get_title())
                on_page = headings.setdefault(page, {})
                on_page[title] = min(mark.level + 1, 6)
    except pypdfium2.PdfiumError:
        return headings
    return headings


def _plain(text: str) -> str:
    """Letters and digits, without the number of a heading, which an outline may leave
    out.
    """
    return "".join(letter for letter in text.casefold() if letter.isalpha())


def _unit(
    document: pypdfium2.PdfDocument, number: int, total: int, outline: Outline
) -> units.Unit:
    """A page: its text layer or what OCR reads, then fields and notes on it."""
    place: units.Place = {"page": number}
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return units.Unit(number, total, blocks=(), place=place, remark=UNREAD)
    with closing(page):
        try:
            lines = pdftext.lines(page)
            notes = list(pdfnotes.on_page(page))
            seen = _seen(page) if _wants_ocr(page, lines) else []
        except pypdfium2.PdfiumError:
            return units.Unit(number, total, blocks=(), place=place, remark=UNREAD)
    headings = outline.get(number - 1, {})
    blocks = list(_blocks(lines, headings))
    remark = ""
    layer = _amount([line.text for line in lines])
    if _amount(seen) > OCR_FINDS_MORE * layer:
        kept = _not_seen(blocks, seen)
        blocks = [units.Block(text) for text in seen]
        blocks += kept
        remark = READ_BY_OCR
    blocks += notes
    return units.Unit(number, total, tuple(blocks), place, remark)


def _not_seen(
    blocks: Sequence[units.Block], seen: Sequence[str]
) -> Iterator[units.Block]:
    """The blocks of the text layer with a word that OCR has not read."""
    words = " ".join(seen).casefold()
    for block in blocks:
        own_words = block.text.casefold().split()
        if any(word not in words for word in own_words):
            yield block


def _wants_ocr(page: pypdfium2.PdfPage, lines: Sequence[layout.LayoutLine]) -> bool:
    """Too little text, or codes for letters that nobody can know, and something on the
    page besides.
    """
    written = "".join(line.text for line in lines)
    unknown = sum(map(_is_unknown, written))
    legible = len(written.strip()) - unknown
    if legible >= FEW and unknown < UNKNOWN * len(written):
        return False
    objects = cast("Iterator[Any]", page.get_objects(max_depth=1))
    kinds = {each.type for each in objects}
    if kinds - {pdfium.FPDF_PAGEOBJ_TEXT}:
        return True
    # Text alone has been read already, unless its font does not tell the letters.
    return bool(kinds) and (unknown > 0 or not written)


def _is_unknown(letter: str) -> bool:
    """Whether a letter is the replacement character or of the private use area."""
    return letter == "\ufffd" or "\ue000" <= letter <= "\uf8ff"


def _seen(page: pypdfium2.PdfPage) -> list[str]:
    """The paragraphs that OCR reads; none on a page of a shape that cannot be drawn,
    whose text layer counts all the same.
    """
    try:
        shown = picture(page, OCR_DPI)
    except errors.Unreadable:
        return []
    return [text for text in ocr.text(shown) if text]


def _amount(texts: Sequence[str]) -> int:
    """How many letters and digits there are in texts."""
    return sum(letter.isalnum() for text in texts for letter in text)


def _blocks(
    lines: Sequence[layout.LayoutLine], headings: Mapping[str, int]
) -> Iterator[units.Block]:
    """The paragraphs and headings of a page's lines."""
    body = _body_size(lines)
    compound_words = layout.compounds(lines)
    for group in layout.paragraphs(lines):
        text = layout.text_of(group, compound_words)
        if not text:
            continue
        yield units.paragraph(text, _level(group, text, body, headings))


def _body_size(lines: Sequence[layout.LayoutLine]) -> float:
    """The size of type that most letters of a page have, 0 without lines."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _level(
    group: Sequence[layout.LayoutLine],
    text: str,
    body: float,
    headings: Mapping[str, int],
) -> int:
    """Of a heading, 1 to 6, or 0: in the outline, in larger type, or in bold with a
    number.
    """
    plain = _plain(text)
    too_long = len(text) > LONGEST_HEADING or len(group) > MOST_HEADING_LINES
    if too_long or len(plain) < 2:
        return 0
    if plain in headings:
        return headings[plain]
    first = group[0]
    if first.tabular:
        return 0
    by_size = _level_by_size(first.size, body)
    if by_size:
        return by_size
    if len(group) == 1 and first.bold and _is_numbered(text):
        return min(text.split()[0].strip(".").count(".") + 2, 6)
    return 0


def _level_by_size(size: float, body: float) -> int:
    """The level of a heading by its type and the body's, 0 for none."""
    if not body:
        return 0
    for level, ratio in HEADING_SIZES.items():
        if size >= ratio * body:
            return level
    return 0


def _is_numbered(text: str) -> bool:
    """Whether a line begins with the number of a heading and is no sentence."""
    return NUMBERED.match(text) is not None and not text.endswith((".", ",", ";"))
