"""MIME parts of a mail (RFC 2045, 2046) sorted into its text, its pages and its files."""

import email
import email.errors
import email.message
import email.policy
import hashlib
import itertools
import mimetypes
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import units
from reverie.ingest.formats import (
    invitations,
    mailbody,
    mailheaders,
    mailparts,
    pagetext,
    tnef,
)

LARGEST = 200 * 1024 * 1024
PARTS = 2000
DEEPEST = 100
DECORATION = 30_000  # bytes of a picture in a letter that decorates it; set by hand
CALENDAR = "text/calendar"
# Versions of a letter that are programs, and no text to read.
SOURCES = frozenset(
    {"text/x-amp-html", "text/css", "text/x-vcalendar", "text/watch-html"}
)
ENCODED = frozenset({"base64", "quoted-printable"})
# What has none of these is no message.
HEADERS = ("From", "To", "Subject", "Date", "Message-ID", "Received", "Content-Type")
# The parser promises never to raise, and does on some spam: a charset or boundary
# without sense.
PARSER_FAULTS = (
    email.errors.MessageError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
)


@dataclass(slots=True)
class Contents:
    """What the parts of one message add up to."""

    texts: list[mailbody.BodyVersion] = field(
        default_factory=list[mailbody.BodyVersion]
    )
    pages: list[str] = field(default_factory=list[str])
    attachments: list[drafts.Fields] = field(default_factory=list[drafts.Fields])
    files: list[units.EmbeddedFile] = field(default_factory=list[units.EmbeddedFile])
    # What calendar parts say in words, once each.
    invitations: dict[str, None] = field(default_factory=dict[str, None])
    parts: int = 0
    # Why there is less of the message here than there was in it.
    cut: str = ""

    def count_part(self, depth: int) -> bool:
        """One more part; False for too many, or too many inside another."""
        self.parts += 1
        if depth <= DEEPEST and self.parts <= PARTS:
            return True
        self.cut = f"it has more than {PARTS} parts: the rest is in the original"
        return False

    def page(self) -> str:
        """All parts in HTML."""
        return "\n".join(self.pages)

    def text(self) -> str:
        """All parts as text, and what its invitations say."""
        return "\n\n".join(
            filter(None, (mailbody.in_order(self.texts), *self.invitations))
        )


def opened(raw: bytes) -> tuple[email.message.Message, Contents]:
    """The headers of a message and what its parts add up to. Raises Unreadable."""
    contents = Contents()
    if len(raw) > LARGEST:
        raise errors.Unreadable(f"a message larger than {LARGEST // 1024 // 1024} MB")
    if mailparts.containers(raw) <= DEEPEST:
        parsed = _parse(raw)
        _collect(parsed, contents, 0)
        return parsed, contents
    # Hundreds of parts that hold others: a digest of digests, or an attack.
    first, *leaves = mailparts.leaves(_without_from(raw))
    parsed = _parse(first)
    for leaf in itertools.islice(leaves, PARTS):
        part = _parsed(leaf)
        inner = not part.get_payload() and part.get("From") is not None
        if inner:
            contents.texts.append(mailbody.BodyVersion(_heading(part)))
        elif not part.is_multipart():
            _collect(part, contents, 1)
    if len(leaves) > PARTS:
        contents.cut = f"it has more than {PARTS} parts: the rest is in the original"
    return parsed, contents


def _parse(raw: bytes) -> email.message.Message:
    """The parts of a message. Raises Unreadable when it is none."""
    parsed = _parsed(_without_from(raw))
    if all(parsed.get(name) is None for name in HEADERS):
        raise errors.Unreadable("none of the headers of a message were found")
    return parsed


def _without_from(raw: bytes) -> bytes:
    """A message without the From line of an mbox."""
    raw = raw.lstrip(b"\r\n")
    if raw.startswith((b"From ", b">From ")):
        raw = raw.partition(b"\n")[2]
    return raw


def _parsed(raw: bytes) -> email.message.Message:
    """The parts of a message or of a part. Raises Unreadable."""
    try:
        return email.message_from_bytes(raw, policy=email.policy.compat32)
    except RecursionError as error:
        reason = "the parts of the message are nested too deeply"
        raise errors.Unreadable(reason) from error
    except PARSER_FAULTS as error:
        raise errors.Unreadable(f"not a message: {error}") from error


def _collect(part: email.message.Message, contents: Contents, depth: int) -> None:
    """Sort the parts of a message into texts, pages and files."""
    if not contents.count_part(depth):
        return
    kind = part.get_content_type()
    children = _children(part)
    if kind == "message/rfc822" and children:
        _enclosed(part, children[0], contents, depth)
    elif kind == "multipart/alternative" and children:
        _alternatives(children, contents, depth)
    elif part.is_multipart() and children is not None:
        for child in children:
            _collect(child, contents, depth + 1)
    # Without a boundary that works all of it is one text.
    elif kind.startswith("multipart/"):
        contents.texts.append(mailbody.BodyVersion(_text(part).strip()))
    elif kind == CALENDAR:
        _invite(part, contents)
    elif _is_body(part, kind):
        _add_text(_text(part), kind, contents)
    else:
        _attach(part, kind, contents)


def _alternatives(
    versions: list[email.message.Message], contents: Contents, depth: int
) -> None:
    """The versions of one letter: that is kept which says most, and every file."""
    before, contents.texts = contents.texts, []
    for version in versions:
        _collect(version, contents, depth + 1)
    contents.texts = [*before, mailbody.fullest(contents.texts)]


def _add_text(text: str, kind: str, contents: Contents) -> None:
    """A text to read, of a page its words."""
    if kind == "text/html":
        contents.pages.append(text)
        contents.texts.append(mailbody.BodyVersion(pagetext.text(text), page=True))
    elif kind not in SOURCES:
        contents.texts.append(mailbody.BodyVersion(text.strip()))


def _invite(part: email.message.Message, contents: Contents) -> None:
    """A calendar, in words; with a name it is a file as well."""
    text = invitations.words(_bytes(part), datetime.now(UTC))
    if text:
        contents.invitations[text] = None
    if mailheaders.filename(part) or not text:
        _attach(part, CALENDAR, contents)


def _children(part: email.message.Message) -> list[email.message.Message] | None:
    """The parts of a part; None when it has none."""
    payload = part.get_payload()
    if not isinstance(payload, list):
        return None
    children = cast("list[object]", payload)
    return [child for child in children if isinstance(child, email.message.Message)]


def _enclosed(
    part: email.message.Message,
    inner: email.message.Message,
    contents: Contents,
    depth: int,
) -> None:
    """A message in a message: its text is part of the text, and its files are files of
    this one. Attached ones are listed.
    """
    inner = _decoded(part, inner)
    if part.get_content_disposition() == "attachment" or depth > 1:
        contents.attachments.append(_listed(part, inner))
    if depth:
        contents.texts.append(mailbody.BodyVersion(_heading(inner)))
    _collect(inner, contents, depth + 1)


def _decoded(
    part: email.message.Message, inner: email.message.Message
) -> email.message.Message:
    """The message inside a part; against the rules (RFC 2046, 5.2.1), some programs
    write it in base64.
    """
    encoding = (mailheaders.raw(part, "Content-Transfer-Encoding")).strip().lower()
    if encoding not in ENCODED or inner.keys():
        return inner
    inner["Content-Transfer-Encoding"] = encoding
    return _parsed(_bytes(inner))


def _listed(part: email.message.Message, inner: email.message.Message) -> drafts.Fields:
    """A message that is attached, as the list of attachments has it."""
    name = mailheaders.filename(part)
    if not name:
        subject = mailheaders.text(inner, "Subject")
        name = f"{subject or 'message'}.eml"
    return {"name": name, "mime": "message/rfc822"}


def _heading(inner: email.message.Message) -> str:
    """From whom, about what and of when a message in another is."""
    senders = mailheaders.addresses(inner, "From")
    sender = f"From: {senders[0]}" if senders else ""
    subject = mailheaders.text(inner, "Subject") or ""
    date = mailheaders.raw(inner, "Date")
    sent = f"Date: {date}" if date and inner.get("From") else ""
    return "\n".join(filter(None, (sender, subject, sent)))


def _is_body(part: email.message.Message, kind: str) -> bool:
    """Whether a part is text to read, and no file."""
    if part.get_content_maintype() != "text":
        return False
    if part.get_content_disposition() == "attachment":
        return False
    return (
        kind == "text/html"
        or not mailheaders.filename(part)
        or part.get_content_disposition() == "inline"
    )


def _bytes(part: email.message.Message) -> bytes:
    """The content of a part, decoded (RFC 2045, 6)."""
    try:
        payload = part.get_payload(decode=True)
    # a Content-Transfer-Encoding that is broken in itself
    except (ValueError, LookupError, TypeError, AttributeError):
        payload = part.get_payload()
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, str):
        return payload.encode("utf-8", "surrogateescape")
    return b""


def _text(part: email.message.Message) -> str:
    """The content of a part in Unicode, with line feeds."""
    declared = mailheaders.param(part, "charset")
    text, _ = charsets.decode(_bytes(part), declared)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _attach(part: email.message.Message, kind: str, contents: Contents) -> None:
    """An attachment is listed, and is a file of its own: all but the small pictures
    that decorate a letter.
    """
    data = _bytes(part)
    name = mailheaders.filename(part) or ""
    if data.startswith(tnef.SIGNATURE) and _unpacked(data, contents):
        return
    content_id = mailheaders.text(part, "Content-ID")
    _add_file(units.EmbeddedFile(name, kind, data), contents, content_id or "")


def _unpacked(data: bytes, contents: Contents) -> bool:
    """What Outlook packed into one attachment, as attachments of the mail; False when
    there is nothing in it.
    """
    container = tnef.opened(data)
    for file in tnef.embedded(container):
        mime = file.mime or mimetypes.guess_type(file.name)[0]
        mime = mime or "application/octet-stream"
        _add_file(units.EmbeddedFile(file.name, mime, file.data), contents, "")
    if container.text:
        contents.texts.append(mailbody.BodyVersion(container.text, page=True))
    return bool(container.text or container.files)


def _add_file(file: units.EmbeddedFile, contents: Contents, content_id: str) -> None:
    attachment: drafts.Fields = {
        "name": file.name,
        "mime": file.mime,
        "size": len(file.data),
        "sha256": hashlib.sha256(file.data).hexdigest(),
    }
    if content_id:
        attachment["content_id"] = content_id.strip("<> ")
    contents.attachments.append(attachment)
    is_inline = file.mime.startswith("image/") and bool(content_id)
    if file.data and not (is_inline and len(file.data) < DECORATION):
        contents.files.append(file)
