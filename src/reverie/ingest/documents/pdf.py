"""PDF files, page by page: their text layer, or what can be read in the picture of a
page.
"""

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

FEW = 50  # characters: less than that is no text layer
OCR_DPI = 144
MOST_PIXELS = 4_000_000
MOST_OUTLINE = 5_000
MOST_BROKEN = 100  # in a row: there are no pages, whatever the file says
UNREAD = "this page could not be read"
DATE = re.compile(
    r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?"
)
NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\.)\s+\w")
LONGEST_HEADING = 200
Outline = Mapping[int, Mapping[str, int]]
"""What a page is to have as headings, by its index: their text as `_plain` has it, with
their level.
"""


def read(given: units.Given) -> Iterator[units.Read]:
    """What the document says of itself, a unit a page, then the files inside it.

    Raises Unreadable for what is no PDF or has no page that can be read, Locked when it
    wants another password.
    """
    with opened(given.data, given.password) as document:
        yield _about(document)
        total = len(document)
        outline = _outline(document)
        broken = 0
        for number in range(max(given.first, 1), total + 1):
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
    scale = min(dpi / 72, (MOST_PIXELS / (width * height)) ** 0.5)
    # A page a thousand times longer than wide would still be a row of single points.
    scale = max(scale, 1 / min(width, height))
    if width * height * scale * scale > 2 * MOST_PIXELS:
        raise errors.Unreadable("a page too long and thin to be shown")
    render = cast("Callable[..., pypdfium2.PdfBitmap]", page.render)
    with closing(render(scale=scale, rev_byteorder=True)) as bitmap:
        return bitmap.to_pil().convert("RGB")


def _refused(error: pypdfium2.PdfiumError, tried: bool) -> errors.Unreadable:
    if error.err_code == pdfium.FPDF_ERR_PASSWORD:
        wrong = "the password does not open it: " if tried else ""
        return errors.Locked(f"{wrong}the PDF asks for a password")
    if error.err_code == pdfium.FPDF_ERR_SECURITY:
        return errors.Unreadable(
            "the PDF is locked in a way that no password opens here"
        )
    return errors.Unreadable("the file is no PDF, or is cut short or damaged")


def _about(document: pypdfium2.PdfDocument) -> units.About:
    said = document.get_metadata_dict(skip_empty=True)
    title, author = (
        pdftext.clean(said.get(key, ""))[:500] for key in ("Title", "Author")
    )
    return units.About(title, author, _date(said.get("CreationDate", "")))


def _date(text: str) -> str:
    match = DATE.match(text.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, zulu, off, off_minutes = match.groups()
    zone = "+00:00" if zulu else f"{off}:{off_minutes or '00'}" if off else ""
    clock = f"{hour or '00'}:{minute or '00'}:{second or '00'}"
    try:
        return datetime.fromisoformat(
            f"{year}-{month or '01'}-{day or '01'}T{clock}{zone}"
        ).isoformat()
    except ValueError:
        return ""


def _outline(document: pypdfium2.PdfDocument) -> Outline:
    found: dict[int, dict[str, int]] = {}
    try:
        for count, mark in enumerate(
            cast("Iterator[pypdfium2.PdfBookmark]", document.get_toc())
        ):
            if count >= MOST_OUTLINE:
                break
            target = mark.get_dest()
            page = cast("int | None", target.get_index()) if target else None
            if page is not None:
                found.setdefault(page, {})[_plain(mark.get_title())] = min(
                    mark.level + 1, 6
                )
    except pypdfium2.PdfiumError:
        return found
    return found


def _plain(text: str) -> str:
    """Letters and digits, without the number of a heading, which an outline may leave
    out.
    """
    return "".join(letter for letter in text.casefold() if letter.isalpha())


def _unit(
    document: pypdfium2.PdfDocument, number: int, total: int, outline: Outline
) -> units.Unit:
    place: units.Place = {"page": number}
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return units.Unit(number, total, (), place, UNREAD)
    with closing(page):
        try:
            lines = pdftext.lines(page)
            notes = tuple(pdfnotes.on_page(page))
            seen = _seen(page) if _wants_ocr(page, lines) else []
        except pypdfium2.PdfiumError:
            return units.Unit(number, total, (), place, UNREAD)
    blocks = tuple(_blocks(lines, outline.get(number - 1, {})))
    if _amount(seen) > 1.2 * _amount([line.text for line in lines]):
        words = " ".join(seen).casefold()
        kept = (
            block
            for block in blocks
            if not all(word in words for word in block.text.casefold().split())
        )
        blocks = (*(units.Block(text) for text in seen), *kept)
        return units.Unit(number, total, blocks + notes, place, "read by OCR")
    return units.Unit(number, total, blocks + notes, place)


def _wants_ocr(page: pypdfium2.PdfPage, lines: Sequence[layout.LayoutLine]) -> bool:
    """Too little text, or codes for letters that nobody can know, and something on the
    page besides.
    """
    written = "".join(line.text for line in lines)
    unknown = sum(
        letter == "\ufffd" or "\ue000" <= letter <= "\uf8ff" for letter in written
    )
    if len(written.strip()) - unknown >= FEW and unknown < 0.3 * len(written):
        return False
    kinds = {each.type for each in cast("Iterator[Any]", page.get_objects(max_depth=1))}
    # Text alone has been read already, unless its font does not tell the letters.
    return bool(kinds - {pdfium.FPDF_PAGEOBJ_TEXT}) or (
        bool(kinds) and (bool(unknown) or not written)
    )


def _seen(page: pypdfium2.PdfPage) -> list[str]:
    try:
        shown = picture(page, OCR_DPI)
    except (
        errors.Unreadable
    ):  # of a shape that cannot be drawn; its text layer counts all the same
        return []
    return [text for text in ocr.text(shown) if text]


def _amount(texts: Sequence[str]) -> int:
    return sum(letter.isalnum() for text in texts for letter in text)


def _blocks(
    lines: Sequence[layout.LayoutLine], headings: Mapping[str, int]
) -> Iterator[units.Block]:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    known = layout.compounds(lines)
    for group in layout.paragraphs(lines):
        text = layout.text_of(group, known)
        if not text:
            continue
        level = _level(group, text, body, headings)
        yield units.Block(text, "heading", level) if level else units.Block(text)


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
    if len(plain) < 2 or len(text) > LONGEST_HEADING or len(group) > 3:
        return 0
    if plain in headings:
        return headings[plain]
    first = group[0]
    if first.tabular:
        return 0
    if body and first.size >= 1.15 * body:
        return 1 if first.size >= 1.6 * body else 2 if first.size >= 1.3 * body else 3
    if (
        len(group) == 1
        and first.bold
        and NUMBERED.match(text)
        and not text.endswith((".", ",", ";"))
    ):
        return min(text.split()[0].strip(".").count(".") + 2, 6)
    return 0
