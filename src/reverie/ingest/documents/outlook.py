"""Outlook messages (.msg, [MS-OXMSG]): headers, body, attachments as files of their own.

A message is a storage of a compound file. Properties of fixed length (dates, code pages)
stand in one stream, all others in a stream each, named by tag and type: __substg1.0_0037
and 001F is the subject in UTF-16, 001E the same in an older encoding, 0102 bytes. Each
recipient and attachment is a storage inside; an attached message is a storage like its
own.
"""

import datetime as dt
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reverie import errors
from reverie.ingest import charsets
from reverie.ingest.documents import (
    compound,
    markup,
    packed,
    richtext,
    rtf,
    spacing,
    units,
)

KIND = "an Outlook message"
# Names of streams and storages ([MS-OXMSG] 2.2 to 2.4); the third is an attached
# message (PidTagAttachDataObject).
PROPERTIES = "__properties_version1.0"
ATTACHED = "__attach_version1.0_#"
EMBEDDED = "__substg1.0_3701000D"
RECIPIENT = "__recip_version1.0_#"
# Bytes before the properties of a whole message, an attached one, a recipient.
WHOLE_HEAD = 32
EMBEDDED_HEAD = 24
RECIPIENT_HEAD = 8
PROPERTY = 16
MOST_PROPERTY_BYTES = 1024 * 1024
# Messages inside messages; set by hand.
DEEPEST = 10
# Properties of fixed length ([MS-OXPROPS]): PidTagClientSubmitTime,
# PidTagMessageDeliveryTime, PidTagInternetCodepage, PidTagMessageCodepage,
# PidTagRecipientType.
SENT = 0x0039
DELIVERED = 0x0E06
CODEPAGE = 0x3FDE
MESSAGE_CODEPAGE = 0x3FFD
RECIPIENT_TYPE = 0x0C15
TO = 1
COPY = 2
# Properties with texts, as the names of streams write them.
SUBJECT = "0037"
BODY = "1000"
HTML = "1013"
DISPLAY_TO = "0E04"
DISPLAY_CC = "0E03"
SENDER_NAMES = ("0C1A", "0042")
SENDER_ADDRESSES = ("5D01", "5D02", "0C1F")
DISPLAY_NAME = "3001"
ADDRESSES = ("39FE", "3003")
FILE_NAMES = ("3707", "3704", DISPLAY_NAME)
MIME_TYPE = "370E"
# Properties with bytes (PtypBinary): the page, the compressed rich text, a file.
HTML_BYTES = "10130102"
RICH_TEXT = "10090102"
ATTACHED_BYTES = "37010102"
# FILETIME counts steps of 100 ns from here; up to the year 9000.
EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)
LAST_TICK = 2**61


@dataclass(frozen=True, slots=True)
class OutlookMessage:
    """A message in its file: the storage it lies in, [] for the whole, and the values
    of fixed length it has.
    """

    file: compound.Compound
    at: list[str]
    fixed: dict[int, bytes]

    def data(self, key: str) -> bytes:
        """A property's bytes, by its tag in hexadecimal; b"" when absent."""
        return self.file.read(*self.at, f"__substg1.0_{key}")

    def text(self, key: str) -> str:
        """A property's text, in Unicode or in the message's old encoding."""
        wide = self.data(f"{key}001F")
        if wide:
            return wide.decode("utf-16-le", "replace").replace("\0", "")
        narrow = self.data(f"{key}001E")
        if not narrow:
            return ""
        return charsets.decode(narrow, self.encoding())[0].replace("\0", "")

    def first(self, keys: Iterable[str]) -> str:
        """The first of several texts that is there, cleaned, else ""."""
        return spacing.clean(next(filter(None, map(self.text, keys)), ""))

    def encoding(self) -> str:
        """The name of the encoding its bytes are in, "" when it does not say."""
        for key in (CODEPAGE, MESSAGE_CODEPAGE):
            number = struct.unpack("<I", self.fixed.get(key, b"\0" * 8)[:4])[0]
            if number:
                return "utf-8" if number == 65001 else f"cp{number}"
        return ""


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself, one unit with its headers and body, then its attachments.

    A message inside the message is part of the text: it lies there in pieces, not as a
    file.
    """
    file = compound.Compound(source.data, KIND)
    if not file.has(PROPERTIES):
        raise errors.Unreadable(f"not {KIND}")
    message = _opened(file, [], WHOLE_HEAD)
    yield units.About(
        spacing.clean(message.text(SUBJECT)),
        _sender(message),
        _when(message).replace(" ", "T"),
        message.encoding(),
    )
    if source.first <= 1:
        yield units.whole(_message(message, 0))
    yield from _attachments(file)


def _opened(file: compound.Compound, path: list[str], head: int) -> OutlookMessage:
    """A message or recipient with its properties of fixed length: after a head of so
    many bytes entries of 16, the value in the last 8.
    """
    data = file.read(*path, PROPERTIES)[:MOST_PROPERTY_BYTES]
    fixed: dict[int, bytes] = {}
    for start in range(head, len(data) - PROPERTY + 1, PROPERTY):
        entry = data[start : start + PROPERTY]
        fixed[int.from_bytes(entry[2:4], "little")] = entry[8:]
    return OutlookMessage(file, path, fixed)


def _when(message: OutlookMessage) -> str:
    """When a message was sent, else when it came; ISO 8601 with a space, "" for never."""
    for key in (SENT, DELIVERED):
        ticks = int.from_bytes(message.fixed.get(key, b""), "little")
        if not 0 < ticks < LAST_TICK:
            continue
        try:
            moment = EPOCH + dt.timedelta(microseconds=ticks // 10)
        except OverflowError:
            continue
        return moment.replace(microsecond=0).isoformat(" ")
    return ""


def _sender(message: OutlookMessage) -> str:
    """The name and the address of who sent a message."""
    name = message.first(SENDER_NAMES)
    address = message.first(SENDER_ADDRESSES)
    if not address or "@" not in address or address == name:
        return name
    return f"{name} <{address}>" if name else address


def _recipients(message: OutlookMessage, shown: str, kind: int) -> str:
    """Those of one kind (1 to, 2 copy) with their addresses; the line that Outlook
    shows when none are listed.
    """
    names: list[str] = []
    for storage in message.file.storages(message.at, RECIPIENT):
        path = [*message.at, storage]
        recipient = _opened(message.file, path, RECIPIENT_HEAD)
        stated = recipient.fixed.get(RECIPIENT_TYPE, b"")[:4]
        if int.from_bytes(stated, "little") == kind:
            names.append(_recipient(recipient))
    return "; ".join(filter(None, names)) or spacing.clean(message.text(shown))


def _recipient(recipient: OutlookMessage) -> str:
    """The name and the address of a recipient, or which of them is known."""
    name = spacing.clean(recipient.text(DISPLAY_NAME))
    address = recipient.first(ADDRESSES)
    if "@" not in address:
        return name
    return f"{name} <{address}>" if name and name != address else address


def _message(message: OutlookMessage, depth: int) -> units.Blocks:
    """A message's subject, headers and body, then the messages inside it."""
    if depth > DEEPEST:
        raise errors.Unreadable("messages are nested too deeply")
    headers = {
        "From": _sender(message),
        "To": _recipients(message, DISPLAY_TO, TO),
        "Cc": _recipients(message, DISPLAY_CC, COPY),
        "Date": _when(message),
    }
    subject = spacing.clean(message.text(SUBJECT))
    blocks = [units.heading(subject, 1)] if subject else []
    for name, value in headers.items():
        if value:
            blocks.append(units.Block(f"{name}: {value}"))
    blocks += _body(message)
    for storage in message.file.storages(message.at, ATTACHED):
        path = [*message.at, storage, EMBEDDED]
        if message.file.has(*path, PROPERTIES):
            inner = _opened(message.file, path, EMBEDDED_HEAD)
            blocks += _message(inner, depth + 1)
    return blocks


def _body(message: OutlookMessage) -> units.Blocks:
    """The text: as plain text, else from the page, else from the compressed rich text."""
    plain = message.text(BODY)
    if plain.strip():
        paragraphs = map(spacing.lines, _paragraphs(plain))
        return [units.Block(paragraph) for paragraph in paragraphs if paragraph]
    page = message.data(HTML_BYTES) or message.text(HTML).encode()
    if page.strip():
        root = markup.page(markup.decoded(page, message.encoding())[0])
        return [] if root is None else markup.blocks(root)
    compressed = message.data(RICH_TEXT)
    if not compressed:
        return []
    source, encoding = rtf.decoded(richtext.unpacked(compressed))
    return rtf.blocks(source, encoding)


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a plain text."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")


def _attachments(file: compound.Compound) -> Iterator[units.EmbeddedFile]:
    """The files attached to the outermost message."""
    for number, storage in enumerate(file.storages([], ATTACHED), start=1):
        attachment = OutlookMessage(file, [storage], {})
        data = attachment.data(ATTACHED_BYTES)
        if data:
            name = attachment.first(FILE_NAMES) or f"attachment-{number}"
            mime = spacing.clean(attachment.text(MIME_TYPE))
            yield units.EmbeddedFile(name, mime, data)
