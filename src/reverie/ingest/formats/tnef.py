"""TNEF (winmail.dat, [MS-OXTNEF]): the text and the files that Outlook packs into one
attachment.

After a signature and a key come attributes, each with its level, its id, its length,
its data and a checksum. The properties of the message and of each file are lists of
MAPI properties in attributes of their own.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import richtext, rtf, units
from reverie.ingest.formats import pagetext

SIGNATURE = b"\x78\x9f\x3e\x22"
HEAD = 6
ATTRIBUTE = struct.Struct("<BII")
CHECKSUM = 2
MOST = 10_000  # attributes, and properties of one list
# Attributes ([MS-OXTNEF] 2.1.3.1), without their types.
SUBJECT = 0x8004
BODY = 0x800C
CODEPAGE = 0x9007
PROPERTIES = 0x9003
RENDERING = 0x9002
TITLE = 0x8010
DATA = 0x800F
FILE_PROPERTIES = 0x9005
# Properties ([MS-OXPROPS]).
TEXT = 0x1000
RICH_TEXT = 0x1009
PAGE = 0x1013
FILE_DATA = 0x3701
SHORT_NAME = 0x3704
LONG_NAME = 0x3707
DISPLAY_NAME = 0x3001
MIME = 0x370E
# Types of properties of fixed length, and their bytes as they are written.
FIXED = {
    0x2: 4,
    0x3: 4,
    0x4: 4,
    0x5: 8,
    0x6: 8,
    0x7: 8,
    0xA: 4,
    0xB: 4,
    0x14: 8,
    0x40: 8,
    0x48: 16,
}
NARROW, WIDE, BINARY, OBJECT = 0x1E, 0x1F, 0x102, 0xD
MULTIPLE = 0x1000
NAMED = 0x8000
EMBEDDED_MESSAGE = bytes.fromhex("0703020000000000c000000000000046")


@dataclass(slots=True)
class TnefFile:
    """A file while its attributes are read."""

    name: str = ""
    mime: str = ""
    data: bytes = b""


@dataclass(slots=True)
class Container:
    """What a winmail.dat holds."""

    subject: str = ""
    text: str = ""
    files: list[TnefFile] = field(default_factory=list[TnefFile])
    encoding: str = ""


def read(
    source: drafts.SourceFile,
) -> Iterator[drafts.DraftOrSkip | units.EmbeddedFile]:
    """A winmail.dat that was saved as a file: its text as a note, then its files."""
    container = opened(source.data)
    if not container.text and not container.files:
        yield drafts.Skip("", "an Outlook container (winmail.dat) with nothing in it")
        return
    title = container.subject or source.relative.stem
    names = "\n".join(f"[file: {file.name}]" for file in container.files)
    content = "\n\n".join(filter(None, (container.text, names)))
    yield drafts.Draft(
        "note", "", {"title": title, "content": content, "format": "text"}
    )
    yield from embedded(container)


def embedded(container: Container) -> Iterator[units.EmbeddedFile]:
    """The files that have something in them."""
    for number, file in enumerate(container.files, start=1):
        if file.data:
            name = file.name or f"attachment-{number}"
            yield units.EmbeddedFile(name, file.mime, file.data)


def opened(data: bytes, depth: int = 0) -> Container:
    """What is in a container, as far as it goes. Raises Unreadable when it is none."""
    if not data.startswith(SIGNATURE):
        raise errors.Unreadable("not an Outlook container (winmail.dat)")
    container = Container()
    for attribute, value in _attributes(data):
        _take(container, attribute, value, depth)
    return container


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes up to the first that is cut short; a checksum that is wrong costs
    nothing.
    """
    at = HEAD
    for _ in range(MOST):
        if at + ATTRIBUTE.size > len(data):
            return
        _, tag, length = ATTRIBUTE.unpack_from(data, at)
        at += ATTRIBUTE.size
        yield tag & 0xFFFF, data[at : at + length]
        at += length + CHECKSUM


def _take(container: Container, attribute: int, value: bytes, depth: int) -> None:
    if attribute == CODEPAGE and len(value) >= 4:
        container.encoding = f"cp{int.from_bytes(value[:4], 'little')}"
    elif attribute == SUBJECT:
        container.subject = _narrow(value, container.encoding)
    elif attribute == BODY:
        container.text = container.text or _narrow(value, container.encoding)
    elif attribute == PROPERTIES:
        _take_message(container, dict(_properties(value)))
    elif attribute == RENDERING:
        container.files.append(TnefFile())
    else:
        if not container.files:
            container.files.append(TnefFile())
        _take_file(container, attribute, value, depth)


def _take_file(container: Container, attribute: int, value: bytes, depth: int) -> None:
    file = container.files[-1]
    if attribute == TITLE:
        file.name = file.name or _narrow(value, container.encoding)
    elif attribute == DATA:
        file.data = value
    elif attribute == FILE_PROPERTIES:
        _take_file_properties(container, file, dict(_properties(value)), depth)


def _take_message(
    container: Container, properties: dict[int, tuple[int, bytes]]
) -> None:
    """The text of the message: plain, else of its page, else of its rich text."""
    text = _text(properties, TEXT, container.encoding)
    page = _text(properties, PAGE, container.encoding)
    if not text and page:
        text = pagetext.text(page)
    compressed = properties.get(RICH_TEXT, (0, b""))[1]
    if not text and compressed:
        text = _rich_text(compressed)
    container.text = text.replace("\r\n", "\n").strip() or container.text


def _rich_text(compressed: bytes) -> str:
    try:
        source, encoding = rtf.decoded(richtext.unpacked(compressed))
        return "\n\n".join(block.text for block in rtf.blocks(source, encoding))
    except (errors.Unreadable, ValueError, IndexError, struct.error):
        return ""


def _take_file_properties(
    container: Container,
    file: TnefFile,
    properties: dict[int, tuple[int, bytes]],
    depth: int,
) -> None:
    for name in (LONG_NAME, SHORT_NAME, DISPLAY_NAME):
        stated = _text(properties, name, container.encoding)
        if stated:
            file.name = stated
            break
    file.mime = _text(properties, MIME, container.encoding) or file.mime
    inner = properties.get(FILE_DATA, (0, b""))[1]
    if inner.startswith(EMBEDDED_MESSAGE) and depth < 3:
        _take_embedded(container, file, inner[16:], depth)
    elif inner and not file.data:
        file.data = inner[16:] if properties[FILE_DATA][0] == OBJECT else inner


def _take_embedded(
    container: Container, file: TnefFile, data: bytes, depth: int
) -> None:
    """A message inside: its text as a text file, and its files beside it."""
    if not data.startswith(SIGNATURE):
        return
    inner = opened(data, depth + 1)
    text = "\n\n".join(filter(None, (inner.subject, inner.text)))
    file.name = f"{inner.subject or file.name or 'message'}.txt"
    file.data = text.encode("utf-8", "replace")
    container.files[-1:-1] = inner.files


def _properties(data: bytes) -> Iterator[tuple[int, tuple[int, bytes]]]:
    """The MAPI properties of a list by their ids, with their types: the first value of
    each, up to the first that is of no known type or cut short.
    """
    count = int.from_bytes(data[:4], "little")
    at = 4
    for _ in range(min(count, MOST)):
        if at + 4 > len(data):
            return
        kind, name = struct.unpack_from("<HH", data, at)
        at += 4
        if name >= NAMED:
            at = _after_name(data, at)
        value, at = _value(data, at, kind)
        if value is None:
            return
        yield name, (kind & ~MULTIPLE, value)


def _after_name(data: bytes, at: int) -> int:
    """Where a property goes on behind its GUID and its name or number."""
    kind = int.from_bytes(data[at + 16 : at + 20], "little")
    at += 20
    if kind == 0:
        return at + 4
    length = int.from_bytes(data[at : at + 4], "little")
    return at + 4 + _padded(length)


def _value(data: bytes, at: int, kind: int) -> tuple[bytes | None, int]:
    """The first value of a property and where the next one begins; None for a type
    that is not known.
    """
    single = kind & ~MULTIPLE
    count = 1
    varies = single in (NARROW, WIDE, BINARY, OBJECT)
    if varies or kind & MULTIPLE:
        count = int.from_bytes(data[at : at + 4], "little")
        at += 4
    first = b""
    for number in range(min(count, MOST)):
        if varies:
            length = int.from_bytes(data[at : at + 4], "little")
            at += 4
            value, size = data[at : at + length], _padded(length)
        elif single in FIXED:
            size = FIXED[single]
            value = data[at : at + size]
        else:
            return None, at
        first = value if number == 0 else first
        at += size
        if at > len(data) + 3:
            break
    return first, at


def _padded(length: int) -> int:
    return (length + 3) & ~3


def _text(properties: dict[int, tuple[int, bytes]], name: int, encoding: str) -> str:
    kind, value = properties.get(name, (0, b""))
    if kind == WIDE:
        text = value.decode("utf-16-le", "replace")
        return text.replace("\0", "")
    return _narrow(value, encoding)


def _narrow(value: bytes, encoding: str) -> str:
    """A text in the container's own encoding, without the NUL at its end."""
    text, _ = charsets.decode(value.rstrip(b"\0"), encoding or None)
    return text.replace("\0", "")
