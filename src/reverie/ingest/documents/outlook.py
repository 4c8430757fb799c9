"""Outlook messages (.msg): headers, the body in whichever form it has, attachments as
files of their own.
"""

import datetime as dt
import struct
from collections.abc import Iterator
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
PROPERTIES = "__properties_version1.0"
ATTACHED, EMBEDDED, RECIPIENT = (
    "__attach_version1.0_#",
    "__substg1.0_3701000D",
    "__recip_version1.0_#",
)
DEEPEST = 10  # messages inside messages
SENT, DELIVERED, CODEPAGE, MESSAGE_CODEPAGE = 0x0039, 0x0E06, 0x3FDE, 0x3FFD
EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)


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
        return (
            charsets.decode(narrow, self.encoding())[0].replace("\0", "")
            if narrow
            else ""
        )

    def encoding(self) -> str:
        """The name of the encoding its bytes are in, "" when it does not say."""
        for key in (CODEPAGE, MESSAGE_CODEPAGE):
            number = struct.unpack("<I", self.fixed.get(key, b"\0" * 8)[:4])[0]
            if number:
                return "utf-8" if number == 65001 else f"cp{number}"
        return ""


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself, one unit with its headers and body, then its attachments.

    A message inside the message is part of the text: it lies there in pieces, not as a
    file.
    """
    file = compound.Compound(given.data, KIND)
    if not file.has(PROPERTIES):
        raise errors.Unreadable(f"not {KIND}")
    whole = OutlookMessage(file, [], _fixed(file, [], 32))
    yield units.About(
        spacing.clean(whole.text("0037")),
        _sender(whole),
        _when(whole).replace(" ", "T"),
        whole.encoding(),
    )
    if given.first <= 1:
        yield units.Unit(1, 1, tuple(_message(whole, 0)))
    yield from _attachments(file)


def _fixed(file: compound.Compound, at: list[str], skip: int) -> dict[int, bytes]:
    """The properties of fixed length: after a head of `skip` bytes entries of 16, the
    value in the last 8.
    """
    data = file.read(*at, PROPERTIES)[: 1024 * 1024]
    found: dict[int, bytes] = {}
    for start in range(skip, len(data) - 15, 16):
        found[int.from_bytes(data[start + 2 : start + 4], "little")] = data[
            start + 8 : start + 16
        ]
    return found


def _when(message: OutlookMessage) -> str:
    for key in (SENT, DELIVERED):
        ticks = int.from_bytes(message.fixed.get(key, b""), "little")
        if 0 < ticks < 2**61:  # up to the year 9000
            try:
                moment = EPOCH + dt.timedelta(microseconds=ticks // 10)
            except OverflowError:
                continue
            return moment.replace(microsecond=0).isoformat(" ")
    return ""


def _sender(message: OutlookMessage) -> str:
    name = spacing.clean(message.text("0C1A") or message.text("0042"))
    address = spacing.clean(
        message.text("5D01") or message.text("5D02") or message.text("0C1F")
    )
    if not address or "@" not in address or address == name:
        return name
    return f"{name} <{address}>" if name else address


def _recipients(message: OutlookMessage, shown: str, kind: int) -> str:
    """Those of one kind (1 to, 2 copy) with their addresses; the line that Outlook
    shows when none are listed.
    """
    found: list[str] = []
    for name in message.file.storages(message.at, RECIPIENT):
        at = [*message.at, name]
        one = OutlookMessage(message.file, at, _fixed(message.file, at, 8))
        if int.from_bytes(one.fixed.get(0x0C15, b"")[:4], "little") == kind:
            who, address = (
                spacing.clean(one.text("3001")),
                spacing.clean(one.text("39FE") or one.text("3003")),
            )
            named = who and who != address and "@" in address
            found.append(
                f"{who} <{address}>" if named else address if "@" in address else who
            )
    return "; ".join(one for one in found if one) or spacing.clean(message.text(shown))


def _message(message: OutlookMessage, depth: int) -> list[units.Block]:
    if depth > DEEPEST:
        raise errors.Unreadable("messages are nested too deeply")
    headers = {
        "From": _sender(message),
        "To": _recipients(message, "0E04", 1),
        "Cc": _recipients(message, "0E03", 2),
        "Date": _when(message),
    }
    subject = spacing.clean(message.text("0037"))
    blocks = [units.Block(subject, "heading", 1)] if subject else []
    blocks += [units.Block(f"{name}: {said}") for name, said in headers.items() if said]
    blocks += _body(message)
    for name in message.file.storages(message.at, ATTACHED):
        inner = [*message.at, name, EMBEDDED]
        if message.file.has(*inner, PROPERTIES):
            blocks += _message(
                OutlookMessage(message.file, inner, _fixed(message.file, inner, 24)),
                depth + 1,
            )
    return blocks


def _body(message: OutlookMessage) -> list[units.Block]:
    """The text: as plain text, else from the page, else from the compressed rich text."""
    plain = message.text("1000")
    if plain.strip():
        return [
            units.Block(said)
            for part in _paragraphs(plain)
            if (said := spacing.lines(part))
        ]
    page = message.data("10130102") or message.text("1013").encode()
    if page.strip():
        root = markup.page(markup.decoded(page, message.encoding())[0])
        return [] if root is None else markup.blocks(root)
    packed_text = message.data("10090102")
    if not packed_text:
        return []
    source, encoding = rtf.decoded(richtext.unpacked(packed_text))
    return rtf.blocks(source, encoding)


def _paragraphs(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")


def _attachments(file: compound.Compound) -> Iterator[units.EmbeddedFile]:
    for number, name in enumerate(file.storages([], ATTACHED), start=1):
        one = OutlookMessage(file, [name], {})
        data = one.data("37010102")
        if data:
            called = spacing.clean(
                one.text("3707") or one.text("3704") or one.text("3001")
            )
            yield units.EmbeddedFile(
                called or f"attachment-{number}", spacing.clean(one.text("370E")), data
            )
