"""Image files read by OCR, and the page of a document as a picture to look at (PNG)."""

import io
import struct
import warnings
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime

import pypdfium2
from PIL import ExifTags, Image, ImageOps

from reverie import errors
from reverie.ingest.documents import ocr, pdf, units

FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP")
# A JPEG can be decoded smaller than it is, the others cannot: 150 to 200 MB then.
MOST_PIXELS = 50_000_000
# A JPEG is decoded at the least of these fractions that leaves so many points.
ENOUGH = 16_000_000
FRACTIONS = (1, 2, 4, 8)
# Points of a page that is looked at.
SHOWN = 4_000_000
MOST_PAGES = 10_000
# Characters of a title or an author that are kept.
LONGEST_ABOUT = 500
UNREAD = "this page could not be read"
# What Pillow's decoders are known to raise on files that were made to break them.
BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    struct.error,
    zlib.error,
)


def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """When and by whom the picture was made, then its words: a unit a page of a TIFF,
    one unit for any other.

    Raises Unreadable for what is no picture of a known format, is cut short, or would
    fill the memory.
    """
    with closing(_opened(source.data)) as image:
        yield _about(image)
        total = _pages(image)
        for number in range(max(source.first, 1), total + 1):
            yield _unit(image, number, total)


def _unit(image: Image.Image, number: int, total: int) -> units.Unit:
    """What OCR reads on a page. Raises Unreadable for an image of one page that is
    broken.
    """
    place: units.Place = {"page": number} if image.format == "TIFF" else {}
    try:
        paragraphs = ocr.text(_page(image, number))
    except errors.Unreadable:
        if total == 1:
            raise
        return units.Unit(number, total, (), place, UNREAD)
    blocks = tuple(units.Block(text) for text in paragraphs if text)
    remark = pdf.READ_BY_OCR if blocks else ""
    return units.Unit(number, total, blocks, place, remark)


def page_png(
    data: bytes, name: str, page: int, *, dpi: int = 110, password: str = ""
) -> bytes:
    """A page of a PDF or of an image as PNG, of bounded size.

    Raises NotFound for a page that is not there and a document whose pages have no
    look, Unreadable, Locked.
    """
    if b"%PDF-" in data[:1024]:
        return _png(_pdf_page(data, page, dpi, password))
    try:
        opened = _opened(data)
    except errors.Unreadable as error:
        raise errors.NotFound(f"{name} has no pages that can be shown") from error
    with closing(opened) as image:
        if not 1 <= page <= _pages(image):
            raise errors.NotFound(f"{name} has no page {page}")
        shown = _page(image, page)
    scale = (SHOWN / (shown.width * shown.height)) ** 0.5
    if scale < 1:
        width = max(int(shown.width * scale), 1)
        height = max(int(shown.height * scale), 1)
        shown.thumbnail((width, height))
    return _png(shown)


def _pdf_page(data: bytes, page: int, dpi: int, password: str) -> Image.Image:
    """A page of a PDF as a picture. Raises NotFound, Unreadable, Locked."""
    with pdf.opened(data, password) as document:
        if not 1 <= page <= len(document):
            raise errors.NotFound(
                f"the document has no page {page}, but {len(document)} in all"
            )
        try:
            with closing(document[page - 1]) as opened:
                return pdf.picture(opened, dpi)
        except pypdfium2.PdfiumError as error:
            raise errors.Unreadable(UNREAD) from error


def _png(image: Image.Image) -> bytes:
    """A picture as a PNG file."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


@contextmanager
def _guarded(otherwise: str) -> Generator[None]:
    """What Pillow raises becomes Unreadable; what it merely warns of (odd tags, many
    points) is for nobody to see.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Image.DecompressionBombError as error:
        raise errors.Unreadable("the picture is too large") from error
    except Image.UnidentifiedImageError as error:
        raise errors.Unreadable("not a picture of a kind that is known here") from error
    except BROKEN as error:
        raise errors.Unreadable(otherwise) from error


def _opened(data: bytes) -> Image.Image:
    """Its header is read, its points are not."""
    with _guarded("the picture is damaged"):
        return Image.open(io.BytesIO(data), formats=FORMATS)


def _pages(image: Image.Image) -> int:
    """How many pages an image has: those of a TIFF, else one."""
    if image.format != "TIFF":  # the pictures of an animation are one
        return 1
    with _guarded("the picture is damaged"):
        return min(int(getattr(image, "n_frames", 1)), MOST_PAGES)


def _page(image: Image.Image, number: int) -> Image.Image:
    """A page upright and in colours, its points read. Raises Unreadable."""
    with _guarded("the picture is cut short or damaged"):
        if number > 1:
            image.seek(number - 1)
        if image.format in ("JPEG", "MPO"):
            fraction = _fraction(image)
            image.draft("RGB", (image.width // fraction, image.height // fraction))
        if image.width * image.height > MOST_PIXELS:
            raise errors.Unreadable(
                f"the picture is too large: {image.width} by {image.height} points"
            )
        return ocr.flat(ImageOps.exif_transpose(image))


def _fraction(image: Image.Image) -> int:
    """By what a JPEG is decoded smaller."""
    points = image.width * image.height
    for fraction in FRACTIONS:
        if points <= ENOUGH * fraction * fraction:
            return fraction
    return FRACTIONS[-1]


def _about(image: Image.Image) -> units.About:
    """Title, author and time of Exif or of a PNG's texts."""
    with suppress(errors.Unreadable), _guarded("its notes are damaged"):
        exif = image.getexif()
        photo = exif.get_ifd(ExifTags.IFD.Exif)
        taken = photo.get(ExifTags.Base.DateTimeOriginal)
        taken = taken or exif.get(ExifTags.Base.DateTime)
        zone = photo.get(ExifTags.Base.OffsetTimeOriginal)
        title = _plain(exif.get(ExifTags.Base.ImageDescription))
        author = _plain(exif.get(ExifTags.Base.Artist))
        return units.About(
            title or _plain(image.info.get("Title")),
            author or _plain(image.info.get("Author")),
            _date(_plain(taken), _plain(zone)),
        )
    return units.About()


def _plain(value: object) -> str:
    """A value as one line of bounded length, "" if it is no text."""
    if not isinstance(value, str):
        return ""
    return " ".join(value.replace("\0", " ").split())[:LONGEST_ABOUT]


def _date(text: str, zone: str) -> str:
    """Exif's "2024:01:31 12:00:00" as ISO 8601, without the zone when that is none."""
    day, _, clock = text.partition(" ")
    local = f"{day.replace(':', '-')}T{clock}"
    for stated in (f"{local}{zone}", local):
        try:
            return datetime.fromisoformat(stated).isoformat()
        except ValueError:
            continue
    return ""
