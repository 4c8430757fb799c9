"""Headers of mail as text, addresses, dates and ids, whatever state they are in."""

import email.errors
import email.header
import email.message
import email.utils
import re
from datetime import UTC, datetime

from reverie.ingest import charsets

LONGEST = 64 * 1024
BARE = re.compile(r"[^\s<>,;\"()]+@[^\s<>,;\"()]+")
ID = re.compile(r"<([^<>\s]{1,900})>")
ENCODED_GAP = re.compile(r"\?=\s+=\?")
EMBEDDED = re.compile(r"=\?[^?\s]{1,60}\?[BbQq]\?[^?]*\?=")
EMBEDDED_RUN = re.compile(r"(?:=\?[^?\s]{1,60}\?[BbQq]\?[^?]{0,4000}\?=)+")


def every(message: email.message.Message, name: str) -> list[str]:
    """Every header of that name, unfolded but not decoded; bytes outside ASCII in their
    likeliest charset.
    """
    wanted = name.lower()
    # raw_items, because get() turns a header with such bytes into an object that has
    # already lost them.
    return [
        _plain(value) for label, value in message.raw_items() if label.lower() == wanted
    ]


def raw(message: email.message.Message, name: str) -> str:
    """The first header of that name, or nothing."""
    return next(iter(every(message, name)), "")


def _plain(value: object) -> str:
    text = str(value)[:LONGEST]
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
    return re.sub(r"\s+", " ", EMBEDDED_RUN.sub(_run, value)).strip()


def _run(match: re.Match[str]) -> str:
    """Neighbouring words are joined before decoding: some cut a character in two."""
    joined: list[tuple[bytes, str]] = []
    for word in EMBEDDED.findall(match.group()):
        try:
            parts = email.header.decode_header(word)
        except (email.errors.HeaderParseError, ValueError):
            parts = [(word, None)]
        for part, charset in parts:
            data = part if isinstance(part, bytes) else part.encode("utf-8", "replace")
            name = (
                (charset or "").partition("*")[0].lower()
            )  # RFC 2231 allows a language after the charset
            if joined and joined[-1][1] == name:
                joined[-1] = (joined[-1][0] + data, name)
            else:
                joined.append((data, name))
    return "".join(charsets.decode(data, name or None)[0] for data, name in joined)


def addresses(message: email.message.Message, name: str) -> list[str]:
    """Every address of all headers of that name, as "Name <a@b>"."""
    found: list[str] = []
    for line in every(message, name)[:50]:
        try:
            pairs = email.utils.getaddresses([line])
        except (
            ValueError,
            IndexError,
            TypeError,
            RecursionError,
        ):  # unbalanced quotes, nested brackets
            pairs = [("", line)]
        if not any(address for _, address in pairs) and line:
            pairs = [("", match) for match in BARE.findall(line)] or [("", line)]
        found += [
            _address(person, address) for person, address in pairs if person or address
        ]
    return list(dict.fromkeys(found))[:5000]


def _address(person: str, address: str) -> str:
    person = decoded(person).strip().strip("'\"").strip()
    address = decoded(address).strip()
    if not address:
        return person
    return f"{person} <{address}>" if person and person != address else address


def date(message: email.message.Message) -> datetime | None:
    """The time the message was sent, else the time it was last received; without a
    zone, in UTC.
    """
    for candidate in (
        raw(message, "Date"),
        raw(message, "Delivery-Date"),
        raw(message, "Received").rpartition(";")[2],
    ):
        try:
            moment = email.utils.parsedate_to_datetime(candidate[:200])
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        try:
            moment.astimezone(UTC)
        except (OverflowError, ValueError):
            continue
        return moment
    return None


def message_ids(message: email.message.Message, name: str) -> list[str]:
    """The ids without brackets."""
    line = raw(message, name)
    found = ID.findall(line)
    if not found and name == "Message-ID" and (word := line.strip()):
        return [re.sub(r"\s+", "", word)[:900]]
    return found


def was_read(message: email.message.Message) -> bool | None:
    """What the headers of mbox programs and Gmail say, if they say anything."""
    labels = text(message, "X-Gmail-Labels")
    if labels:
        words = {label.strip().lower() for label in labels.split(",")}
        return not words & {"unread", "ungelesen", "no leídos", "no leído", "non lus"}
    flags = raw(message, "X-Mozilla-Status")
    if re.fullmatch(r"[0-9a-fA-F]{4}", flags):
        return bool(int(flags, 16) & 1)
    status = raw(message, "Status")
    return "R" in status if status else None


def param(
    message: email.message.Message, name: str, header: str = "Content-Type"
) -> str | None:
    """A parameter of a header, decoded (RFC 2231, and RFC 2047 where programs use it
    against the rules).
    """
    try:
        value = message.get_param(name, None, header)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
    ):  # the parser trips over half-written RFC 2231 parameters
        return None
    if isinstance(value, tuple):
        charset, _, data = value
        return charsets.decode(data.encode("latin-1", "replace"), charset)[0]
    return decoded(_plain(value)) or None if value is not None else None


def filename(message: email.message.Message) -> str | None:
    """The attachment's name without any path."""
    name = param(message, "filename", "Content-Disposition") or param(message, "name")
    if not name:
        return None
    return re.split(r"[/\\]", name.strip())[-1].strip()[:255] or None
