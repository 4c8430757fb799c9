"""Rich Text Format (.rtf): paragraphs and table rows, read with striprtf."""

import re
from collections.abc import Iterator

from striprtf import striprtf

from reverie import errors
from reverie.ingest import charsets
from reverie.ingest.documents import packed, spacing, units

KIND = "a Rich Text file"
# Bytes of text: striprtf takes some fifty times as much memory.
LARGEST = 64 * 1024 * 1024
# The parts of a file in which its encoding, and what it says of itself, must stand.
FIRST = 4096
HEAD = 65536
LINE_ENDS = re.compile(r"[\n\f\v\u2028\u2029]")
PICTURE = re.compile(
    r"\\(?:pngblip|jpegblip|emfblip|wmetafile\d?|dibitmap\d?|macpict|objdata)[^{}\\]{0,100}"
    r"(?:\\[a-z]{1,20}-?\d{0,9} ?){0,20}[0-9a-fA-F\s]{64,}"
)
CODEPAGE = re.compile(r"\\ansicpg(\d{3,5})")
INFO = re.compile(r"\{\\(title|author)\s([^{}]{0,2000})\}")
CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself, then its paragraphs as one unit; the cells of a table's
    row are joined by " | ".
    """
    if not source.data.strip():
        raise errors.Unreadable("the file is empty")
    if not source.data.lstrip().startswith(b"{\\rtf"):
        raise errors.Unreadable(f"not {KIND}")
    text, encoding = decoded(source.data)
    yield _about(text, encoding)
    if source.first <= 1:
        yield units.whole(blocks(text, encoding))


def decoded(data: bytes) -> tuple[str, str]:
    """The source of a file and the encoding its letters beyond ASCII are in."""
    head = data[:FIRST].decode("latin-1")
    encoding = _codepage(head) or "cp1252"
    text = data.decode(encoding, "replace")
    source = PICTURE.sub("", text)
    if len(source) > LARGEST:
        raise errors.Unreadable(
            f"it holds more than {LARGEST // 1024 // 1024} MB of text"
        )
    return source, encoding


def _codepage(head: str) -> str | None:
    """The name of the encoding that \\ansicpg states, None for none that is known."""
    stated = CODEPAGE.search(head)
    if stated is None:
        return None
    return charsets.lookup(f"cp{stated[1]}")


def blocks(source: str, encoding: str) -> units.Blocks:
    """The paragraphs of a file's source."""
    paragraphs: units.Blocks = []
    for line in LINE_ENDS.split(_unpacked(source, encoding)):
        block = _block(line)
        if block.text:
            paragraphs.append(block)
    return paragraphs


def _block(line: str) -> units.Block:
    """A line of striprtf's, which ends each cell of a row with a bar, also the last."""
    cells = line.split("|")
    is_row = len(cells) > 2 and not cells[-1].strip()
    if is_row:
        return units.Block(spacing.row(cells), "row")
    return units.Block(spacing.clean(line))


def _about(source: str, encoding: str) -> units.About:
    """What the group \\info says: title, author, day of creation."""
    head = source[:HEAD]
    properties: dict[str, str] = {}
    for key, text in INFO.findall(head):
        plain = _unpacked(f"{{\\rtf1 {text}}}", encoding)
        properties[key] = spacing.clean(plain)
    return units.About(
        title=properties.get("title", ""),
        author=properties.get("author", ""),
        created=_created(head),
        encoding=encoding,
    )


def _created(head: str) -> str:
    """The day of creation as ISO 8601, "" without one."""
    created = CREATED.search(head)
    if created is None:
        return ""
    year, month, day = created.groups()
    return f"{year}-{month.zfill(2)}-{day.zfill(2)}"


def _unpacked(source: str, encoding: str) -> str:
    """The plain text of a source, by striprtf."""
    return str(striprtf.rtf_to_text(source, encoding=encoding, errors="ignore"))  # pyright: ignore[reportUnknownArgumentType]
