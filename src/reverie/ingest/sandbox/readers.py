"""Content type detection of whole files, for which reader they are.

What an archive or an old office document holds counts before its name.
"""

import importlib
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, cast

from reverie import errors
from reverie.ingest import detect, drafts
from reverie.ingest.documents import kinds, units

_READERS = "reverie.ingest.documents"
_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MARK = 200
_MOST_MEMBERS = 100_000
_STREAMS: tuple[tuple[str, kinds.DocumentFormat], ...] = (
    ("__properties_version1.0", kinds.OUTLOOK),
    ("WordDocument", kinds.OLD),
    ("PowerPoint Document", kinds.OLD),
    ("Workbook", kinds.SHEETS),
    ("Book", kinds.SHEETS),
)
_FOLDERS = (("word/", kinds.WORD), ("ppt/", kinds.SLIDES), ("xl/", kinds.SHEETS))
_OFFICE = frozenset({kinds.WORD, kinds.SLIDES, kinds.SHEETS})
_OPEN_MARK = b"application/vnd.oasis.opendocument"
_EPUB_MARK = b"application/epub+zip"
_BROKEN_STREAMS = (OSError, ValueError, struct.error, IndexError, RecursionError)
_BROKEN_ARCHIVE = (
    OSError,
    ValueError,
    zipfile.BadZipFile,
    NotImplementedError,
    zlib.error,
    RuntimeError,
    EOFError,
)


def find(data: bytes, relative: PurePath) -> detect.Detected:
    """The reader of drafts, the format of the document, or the reason why the file is
    skipped.

    The path counts from the import root.
    """
    detected = detect.look(data[: detect.HEAD], relative)
    if isinstance(detected, str):
        return detected
    if data.startswith(_ZIP):
        return _in_archive(data) or detected
    if data.startswith(_OLE):
        return _in_streams(data, detected)
    return detected


def opened(data: bytes, password: str) -> bytes:
    """An office file without its encryption, all other files as they are. Raises
    Locked.
    """
    if not data.startswith(_OLE):
        return data
    encrypted: Any = importlib.import_module(f"{_READERS}.encrypted")
    return bytes(encrypted.opened(data, password))


def _in_archive(data: bytes) -> kinds.DocumentFormat | str | None:
    """What an archive is a document of; None if it is none, or too broken to tell."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()[:_MOST_MEMBERS]
            mark = _mark(archive) if "mimetype" in names else b""
    except _BROKEN_ARCHIVE:
        return None
    if mark.startswith(_OPEN_MARK):
        return kinds.OPEN
    if mark.startswith(_EPUB_MARK) or "META-INF/container.xml" in names:
        return kinds.EPUB
    if "[Content_Types].xml" in names:
        return _in_office_archive(names)
    is_open = "META-INF/manifest.xml" in names and "content.xml" in names
    return kinds.OPEN if is_open else None


def _in_office_archive(names: Sequence[str]) -> kinds.DocumentFormat | str | None:
    """What an archive of Office Open XML (ECMA-376) is, by the folder of its body."""
    if "xl/workbook.bin" in names:
        return detect.BY_SUFFIX[".xlsb"]
    for folder, kind in _FOLDERS:
        if any(name.startswith(folder) for name in names):
            return kind
    return None


def _mark(archive: zipfile.ZipFile) -> bytes:
    with archive.open("mimetype") as member:
        return member.read(_MARK).strip()


def _in_streams(
    data: bytes, detected: drafts.Reader | kinds.DocumentFormat
) -> detect.Detected:
    """What an OLE file is a document of. An encrypted one of today's office is known by
    its name alone.
    """
    compound: Any = importlib.import_module(f"{_READERS}.compound")
    try:
        streams = compound.Compound(data, "")
        kind = next((kind for name, kind in _STREAMS if streams.has(name)), None)
        encrypted = streams.has("EncryptedPackage")
    except (errors.Unreadable, *_BROKEN_STREAMS):
        return detected
    if encrypted:
        return detected if detected in _OFFICE else kinds.WORD
    return kind or detected


def reader(kind: kinds.DocumentFormat) -> units.Reader | None:
    """The function that reads such documents; its module is imported now, and not
    before. None without one.
    """
    name = f"{_READERS}.{kind.reader}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        return None
    return cast("Callable[[units.DocumentSource], Any]", module.read)


def warm(number: int) -> None:
    """Import the reader of the format of that number in `kinds.DOCUMENTS`, so that who
    is forked from here has it.
    """
    if number < len(kinds.DOCUMENTS):
        reader(kinds.DOCUMENTS[number])


def picture(data: bytes, name: str, page: int) -> bytes:
    """A page of a PDF or an image as PNG. Raises Unreadable, also for a page that is
    not there.
    """
    images: Any = importlib.import_module(f"{_READERS}.images")
    try:
        return bytes(images.page_png(data, name, page))
    except errors.NotFound as missing:
        raise errors.Unreadable(missing.message) from None
