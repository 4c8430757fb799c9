"""Mail headers (RFC 5322, 2047, 2231) as text, addresses, dates and ids, however broken."""

import email.errors
import email.header
import email.message
import email.utils
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from reverie.ingest import charsets
from reverie.ingest.formats import mailaddresses

# Characters of a header that are read: of a text, and of a list of addresses.
LONGEST = 64 * 1024
LONGEST_LIST = 4 * 1024 * 1024
LONGEST_ADDRESS = 1000
MOST_HEADERS = 50  # of one name; RFC 5322 allows one
MOST_ADDRESSES = 50_000
# Gmail's label of what was not read, in the languages we know an export of.
UNREAD = frozenset({"unread", "ungelesen", "no leídos", "no leído", "non lus"})
ID = re.compile(r"<([^<>\s]{1,900})>")
# RFC 2047, 6.2: white space between two encoded words is no part of the text.
ENCODED_GAP = re.compile(r"\?=\s+=\?")
# Encoded words (RFC 2047, 2); here also inside quotes and without spaces around them.
EMBEDDED = re.compile(r"=\?[^?\s]{1,60}\?[BbQq]\?[^?]*\?=")
EMBEDDED_RUN = re.compile(r"(?:=\?[^?\s]{1,60}\?[BbQq]\?[^?]{0,4000}\?=)+")


def every(
    message: email.message.Message, name: str, longest: int = LONGEST
) -> list[str]:
    """Every header of that name, unfolded but not decoded; bytes outside ASCII in their
    likeliest charset.
    """
    name = name.lower()
    # raw_items, because get() turns a header with such bytes into an object that has
    # already lost them.
    return [
        _plain(value, longest)
        for label, value in message.raw_items()
        if label.lower() == name
    ]


def raw(message: email.message.Message, name: str) -> str:
    """The first header of that name, or nothing."""
    return next(iter(every(message, name)), "")


def _plain(value: object, longest: int = LONGEST) -> str:
    """A header on one line, in Unicode."""
    text = str(value)[:longest]
    if any("\udc80" <= letter <= "\udcff" for letter in text):
        text = charsets.decode(text.encode("utf-8", "surrogateescape"))[0]
    return re.sub(r"[\r\n]+[ \t]*", " ", text).strip()


def text(message: email.message.Message, name: str) -> str | None:
    """The header decoded, or None."""
    return decoded(raw(message, name)) or None


def decoded(value: str) -> str:
    """Encoded words turned into text, also those some programs leave inside quotes or
    run together.
    """
    if "=?" not in value:
        return value
    value = ENCODED_GAP.sub("?==?", value)
    value = EMBEDDED_RUN.sub(_run, value)
    return re.sub(r"\s+", " ", value).strip()


def _run(match: re.Match[str]) -> str:
    """Neighbouring words are joined before decoding: some cut a character in two."""
    joined: list[tuple[list[bytes], str]] = []
    for word in EMBEDDED.findall(match.group()):
        for data, charset in _parts(word):
            if joined and joined[-1][1] == charset:
                joined[-1][0].append(data)
            else:
                joined.append(([data], charset))
    texts: list[str] = []
    for pieces, charset in joined:
        text, _ = charsets.decode(b"".join(pieces), charset or None)
        texts.append(text)
    return "".join(texts)


def _parts(word: str) -> Iterator[tuple[bytes, str]]:
    """The bytes of an encoded word with the name of their charset, or "" without one."""
    try:
        parts = email.header.decode_header(word)
    except (email.errors.HeaderParseError, ValueError):
        parts = [(word, None)]
    for part, charset in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "replace")
        # RFC 2231, 5 allows a language after the charset.
        charset_name, _, _ = (charset or "").partition("*")
        yield data, charset_name.lower()


def addresses(message: email.message.Message, name: str) -> list[str]:
    """Every address of all headers of that name, as "Name <a@b>"."""
    parsed: list[str] = []
    for line in every(message, name, LONGEST_LIST)[:MOST_HEADERS]:
        pairs = mailaddresses.parse(line)
        # Where there is nothing by the rules, the header as it is.
        for person, address in pairs or [("", line.strip())]:
            parsed.append(_address(person, address)[:LONGEST_ADDRESS])
    return list(dict.fromkeys(filter(None, parsed)))[:MOST_ADDRESSES]


def _address(person: str, address: str) -> str:
    """ "Name <a@b>", or whichever of both there is."""
    person = decoded(person).strip().strip("'\"").strip()
    address = decoded(address).strip()
    if not address:
        return person
    if person and person != address:
        return f"{person} <{address}>"
    return address


def date(message: email.message.Message) -> datetime | None:
    """The time the message was sent, else the time it was last received; without a
    zone, in UTC.
    """
    candidates = (
        raw(message, "Date"),
        raw(message, "Delivery-Date"),
        raw(message, "Received").rpartition(";")[2],
    )
    return next(filter(None, map(_moment, candidates)), None)


def _moment(text: str) -> datetime | None:
    """A date of RFC 5322, 3.3; None for one that cannot be told in UTC."""
    try:
        moment = email.utils.parsedate_to_datetime(text[:200])
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment


def message_ids(message: email.message.Message, name: str) -> list[str]:
    """The ids without brackets."""
    line = raw(message, name)
    ids = ID.findall(line)
    # Some programs forget the brackets of their own id.
    if not ids and name == "Message-ID" and line.strip():
        return [re.sub(r"\s+", "", line)[:900]]
    return ids


def was_read(message: email.message.Message) -> bool | None:
    """What the headers of mbox programs and Gmail say, if they say anything."""
    labels = text(message, "X-Gmail-Labels")
    if labels:
        words = {label.strip().lower() for label in labels.split(",")}
        return not words & UNREAD
    # Thunderbird: four hex digits, whose lowest bit says that it was read.
    flags = raw(message, "X-Mozilla-Status")
    if re.fullmatch(r"[0-9a-fA-F]{4}", flags):
        return bool(int(flags, 16) & 1)
    status = raw(message, "Status")  # mbox: R for read, O for old
    return "R" in status if status else None


def param(
    message: email.message.Message, name: str, header: str = "Content-Type"
) -> str | None:
    """A parameter of a header, decoded (RFC 2231, and RFC 2047 where programs use it
    against the rules).
    """
    try:
        value = message.get_param(name, None, header)
    # the parser trips over half-written RFC 2231 parameters
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if value is None:
        return None
    if isinstance(value, tuple):
        charset, _, data = value
        return charsets.decode(data.encode("latin-1", "replace"), charset)[0]
    return decoded(_plain(value)) or None


def filename(message: email.message.Message) -> str | None:
    """The attachment's name without any path."""
    name = param(message, "filename", "Content-Disposition") or param(message, "name")
    if not name:
        return None
    path = re.split(r"[/\\]", name.strip())
    return path[-1].strip()[:255] or None
