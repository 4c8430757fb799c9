"""Rich Text Format (.rtf), read with striprtf."""

import re
from collections.abc import Iterator

from striprtf import striprtf

from reverie import errors
from reverie.ingest import charsets
from reverie.ingest.documents import packed, spacing, units

KIND = "a Rich Text file"
LARGEST = (
    64 * 1024 * 1024
)  # bytes of text: striprtf takes some fifty times as much memory
PICTURE = re.compile(
    r"\\(?:pngblip|jpegblip|emfblip|wmetafile\d?|dibitmap\d?|macpict|objdata)[^{}\\]{0,100}"
    r"(?:\\[a-z]{1,20}-?\d{0,9} ?){0,20}[0-9a-fA-F\s]{64,}"
)
CODEPAGE = re.compile(r"\\ansicpg(\d{3,5})")
INFO = re.compile(r"\{\\(title|author)\s([^{}]{0,2000})\}")
CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself, then its paragraphs as one unit; the cells of a table's
    row are joined by " | ".
    """
    if not given.data.lstrip().startswith(b"{\\rtf"):
        raise errors.Unreadable(
            f"not {KIND}" if given.data.strip() else "the file is empty"
        )
    source, encoding = decoded(given.data)
    yield _about(source, encoding)
    if given.first <= 1:
        yield units.Unit(1, 1, tuple(blocks(source, encoding)))


def decoded(data: bytes) -> tuple[str, str]:
    """The source of a file and the encoding its letters beyond ASCII are in."""
    found = CODEPAGE.search(data[:4096].decode("latin-1"))
    encoding = (charsets.lookup(f"cp{found.group(1)}") if found else None) or "cp1252"
    source = PICTURE.sub("", data.decode(encoding, "replace"))
    if len(source) > LARGEST:
        raise errors.Unreadable(
            f"it holds more than {LARGEST // 1024 // 1024} MB of text"
        )
    return source, encoding


def blocks(source: str, encoding: str) -> list[units.Block]:
    """The paragraphs of a file's source."""
    text = _unpacked(source, encoding)
    found: list[units.Block] = []
    for line in re.split(r"[\n\f\v\u2028\u2029]", text):
        cells = line.split("|")
        if (
            len(cells) > 2 and not cells[-1].strip()
        ):  # striprtf ends each cell with a bar, also the last
            said = spacing.row(cells)
            found += [units.Block(said, "row")] if said else []
        elif said := spacing.clean(line):
            found.append(units.Block(said))
    return found


def _about(source: str, encoding: str) -> units.About:
    head = source[:65536]
    said = {
        key: spacing.clean(_unpacked(f"{{\\rtf1 {text}}}", encoding))
        for key, text in INFO.findall(head)
    }
    when = CREATED.search(head)
    created = (
        "-".join([when.group(1), when.group(2).zfill(2), when.group(3).zfill(2)])
        if when
        else ""
    )
    return units.About(said.get("title", ""), said.get("author", ""), created, encoding)


def _unpacked(source: str, encoding: str) -> str:
    return str(striprtf.rtf_to_text(source, encoding=encoding, errors="ignore"))  # pyright: ignore[reportUnknownArgumentType]
