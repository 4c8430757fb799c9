"""Mail (MIME, RFC 5322 and 2045): single messages, mbox files and Maildir messages.

Headers are read with the compat32 policy: policy.default parses addresses in time
quadratic in the length of the header, and raises on some headers of spam. What it would
decode (RFC 2047, 2231) mailheaders decodes.
"""

import email
import email.errors
import email.message
import email.policy
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import units
from reverie.ingest.formats import mailheaders, pagetext

# A line "From …" inside a letter looks like the start of the next one; only with a time
# and a year is it one.
MBOX_FROM = re.compile(rb"^From [^\n]*\d{1,2}:\d{2}[^\n]*\d{4}[^\n]*$", re.MULTILINE)
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
# ":" is not allowed in names everywhere.
MAILDIR_FLAGS = re.compile(r"[:;!_]2,([A-Za-z]*)$")
HEADER = re.compile(rb"^[!-9;-~]{1,100}[ \t]*:")
LARGEST = 200 * 1024 * 1024
PARTS = 2000
DEEPEST = 100
DECORATION = 30_000  # bytes of a picture in a letter that decorates it; set by hand
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


@dataclass(frozen=True, slots=True)
class MailLocation:
    """Where a message lay."""

    folder: str | None
    flags: str | None = None  # the letters of a Maildir name; None for every other file


@dataclass(slots=True)
class Contents:
    """What the parts of one message add up to."""

    plain: list[str] = field(default_factory=list[str])
    pages: list[str] = field(default_factory=list[str])
    attachments: list[drafts.Fields] = field(default_factory=list[drafts.Fields])
    files: list[units.EmbeddedFile] = field(default_factory=list[units.EmbeddedFile])
    parts: int = 0

    def count_part(self, depth: int) -> None:
        """One more part. Raises Unreadable for too many, or too many inside another."""
        self.parts += 1
        if depth > DEEPEST or self.parts > PARTS:
            raise errors.Unreadable("the message has too many parts")

    def page(self) -> str:
        """All parts in HTML."""
        return "\n".join(self.pages)

    def text(self) -> str:
        """All parts in plain text; without one, the words of those in HTML."""
        stripped = map(str.strip, self.plain)
        plain = "\n\n".join(filter(None, stripped))
        return plain or pagetext.text(self.page())


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | units.EmbeddedFile]:
    """The one message of an .eml or Maildir file, and the files in it."""
    data = source.data
    if source.path.suffix.lower() == ".emlx":
        data = _without_plist(data)
    yield from message(data, _location(source))


def _without_plist(data: bytes) -> bytes:
    """Apple Mail writes the length, the message, and a plist."""
    counted = re.match(rb"\s*(\d{1,12})\s*\n", data)
    if counted is None:
        return data
    start = counted.end()
    length = int(counted[1])
    return data[start : start + length]


def read_mbox(
    source: drafts.SourceFile,
) -> Iterator[drafts.DraftOrSkip | units.EmbeddedFile]:
    """Every message of an mbox with the files in it, one at a time; a broken one is
    skipped.
    """
    location = MailLocation(_mbox_name(source.path))
    seen: set[str] = set()
    for number, raw in enumerate(messages(source.data), start=1):
        try:
            draft, *files = message(raw, location)
        except errors.Unreadable as error:
            digest = hashlib.sha256(raw).hexdigest()
            yield drafts.Skip(f"sha:{digest}", f"message {number}: {error}")
            continue
        if draft.key in seen:
            yield drafts.Skip(draft.key, "the same message is in the file twice")
            continue
        seen.add(draft.key)
        yield draft
        yield from files
    if not seen:
        raise errors.Unreadable("no message was found in the file")


def _mbox_name(path: Path) -> str:
    """The name of the folder that an mbox is."""
    name = path.name.removesuffix(".mbox")
    # Apple Mail: Inbox.mbox/mbox
    return path.parent.name.removesuffix(".mbox") if name == "mbox" else name


def messages(data: bytes) -> Iterator[bytes]:
    """The messages of an mbox, without their From line and with quoted From lines
    restored.
    """
    start = -1
    for match in MBOX_FROM.finditer(data):
        at = match.start()
        after_empty_line = data.endswith((b"\n\n", b"\n\r\n"), max(0, at - 3), at)
        if at and not after_empty_line:
            continue
        following = data[match.end() : match.end() + 200]
        if not HEADER.match(following.lstrip(b"\r\n")):
            continue
        if start >= 0:
            yield QUOTED_FROM.sub(rb"\1", data[start:at])
        start = match.end() + 1
    if start >= 0:
        yield QUOTED_FROM.sub(rb"\1", data[start:])


def message(
    raw: bytes, location: MailLocation
) -> tuple[drafts.Draft, *tuple[units.EmbeddedFile, ...]]:
    """One message as a draft, and the files in it; the folder and the like come from
    where it lay. Raises Unreadable.
    """
    parsed = _parse(raw)
    contents = Contents()
    _collect(parsed, contents, 0)
    ids = mailheaders.message_ids(parsed, "Message-ID")
    own_id = ids[0] if ids else None
    identity = own_id or f"sha:{hashlib.sha256(raw).hexdigest()}"
    fields: drafts.Fields = {
        "subject": mailheaders.text(parsed, "Subject"),
        "from_": _sender(parsed),
        "to": mailheaders.addresses(parsed, "To") or None,
        "cc": mailheaders.addresses(parsed, "Cc") or None,
        "date": mailheaders.date(parsed),
        "thread": _thread(parsed) or identity,
        "folder": location.folder,
        "read": _was_read(parsed, location),
        "attachments": contents.attachments or None,
        "body_text": contents.text() or None,
        "body_html": contents.page() or None,
        "message_id": own_id,
        "custom": _custom(parsed) | {"flags": location.flags},
    }
    key = f"mid:{own_id}" if own_id else identity
    return (drafts.Draft("email", key, fields), *contents.files)


def _sender(parsed: email.message.Message) -> str | None:
    """The first of From, else of Sender, who sent it on behalf of others (RFC 5322,
    3.6.2).
    """
    senders = mailheaders.addresses(parsed, "From")
    senders = senders or mailheaders.addresses(parsed, "Sender")
    return senders[0] if senders else None


def _thread(parsed: email.message.Message) -> str | None:
    """The id of the first message of the thread (RFC 5322, 3.6.4), or its own."""
    for name in ("References", "In-Reply-To", "Message-ID"):
        ids = mailheaders.message_ids(parsed, name)
        if ids:
            return ids[0]
    return None


def _was_read(parsed: email.message.Message, location: MailLocation) -> bool | None:
    """Whether it was read, by its file name or its headers."""
    if location.flags is None:
        return mailheaders.was_read(parsed)
    return "S" in location.flags  # Maildir: seen


def _parse(raw: bytes) -> email.message.Message:
    """The parts of a message. Raises Unreadable when it is too large or none."""
    if len(raw) > LARGEST:
        raise errors.Unreadable(f"a message larger than {LARGEST // 1024 // 1024} MB")
    parsed = _parsed(raw)
    if all(parsed.get(name) is None for name in HEADERS):
        raise errors.Unreadable("none of the headers of a message were found")
    return parsed


def _parsed(raw: bytes) -> email.message.Message:
    """The parts of a message, without the From line of an mbox."""
    raw = raw.lstrip(b"\r\n")
    if raw.startswith((b"From ", b">From ")):
        raw = raw.partition(b"\n")[2]
    try:
        return email.message_from_bytes(raw, policy=email.policy.compat32)
    except RecursionError as error:
        reason = "the parts of the message are nested too deeply"
        raise errors.Unreadable(reason) from error
    except PARSER_FAULTS as error:
        raise errors.Unreadable(f"not a message: {error}") from error


def _collect(part: email.message.Message, contents: Contents, depth: int) -> None:
    """Sort the parts of a message into texts, pages and files. Raises Unreadable."""
    contents.count_part(depth)
    kind = part.get_content_type()
    children = _children(part)
    if kind == "message/rfc822" and children:
        _enclosed(part, children[0], contents, depth)
    elif part.is_multipart() and children is not None:
        for child in children:
            _collect(child, contents, depth + 1)
    # Without a boundary that works all of it is one text.
    elif kind.startswith("multipart/"):
        contents.plain.append(_text(part))
    elif _is_body(part, kind):
        bodies = contents.pages if kind == "text/html" else contents.plain
        bodies.append(_text(part))
    else:
        _attach(part, kind, contents)


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
    """A message in a message: part of the text when it is the whole or in a digest,
    else an attachment.
    """
    if depth <= 1 and part.get_content_disposition() != "attachment":
        if depth:
            contents.plain.append(_heading(inner))
        _collect(inner, contents, depth + 1)
        return
    name = mailheaders.filename(part)
    if not name:
        subject = mailheaders.text(inner, "Subject")
        name = f"{subject or 'message'}.eml"
    contents.attachments.append({"name": name, "mime": "message/rfc822"})


def _heading(inner: email.message.Message) -> str:
    """From whom and about what a message in a digest is."""
    senders = mailheaders.addresses(inner, "From")
    sender = f"From: {senders[0]}" if senders else ""
    subject = mailheaders.text(inner, "Subject") or ""
    return "\n".join(filter(None, (sender, subject)))


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
    attachment: drafts.Fields = {
        "name": name,
        "mime": kind,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    content_id = mailheaders.text(part, "Content-ID")
    if content_id:
        attachment["content_id"] = content_id.strip("<> ")
    contents.attachments.append(attachment)
    is_inline = kind.startswith("image/") and bool(content_id)
    if data and not (is_inline and len(data) < DECORATION):
        contents.files.append(units.EmbeddedFile(name, kind, data))


def _custom(parsed: email.message.Message) -> drafts.Fields:
    """Headers that a record has no field for."""
    custom: drafts.Fields = {
        "reply_to": mailheaders.addresses(parsed, "Reply-To"),
        "bcc": mailheaders.addresses(parsed, "Bcc"),
        "list": mailheaders.text(parsed, "List-Id"),
        "labels": _labels(parsed),
    }
    sender = mailheaders.addresses(parsed, "Sender")
    if sender and sender != mailheaders.addresses(parsed, "From")[:1]:
        custom["sender"] = sender[0]
    stated_date = mailheaders.text(parsed, "Date")
    if stated_date and mailheaders.date(parsed) is None:
        custom["broken_date"] = stated_date
    return custom


def _labels(parsed: email.message.Message) -> list[str]:
    """Gmail's labels."""
    labels = mailheaders.text(parsed, "X-Gmail-Labels") or ""
    stripped = map(str.strip, labels.split(","))
    return [*filter(None, stripped)]


def _location(source: drafts.SourceFile) -> MailLocation:
    """Where a message lay, by the path of its file."""
    box = source.path.parent
    if box.name not in {"cur", "new"}:
        parts = source.relative.parts
        return MailLocation(parts[-2] if len(parts) > 1 else None)
    match = MAILDIR_FLAGS.search(source.path.name)
    flags = match.group(1) if match else ""
    return MailLocation(_maildir_name(box.parent.name), flags)


def _maildir_name(folder: str) -> str:
    """Maildir++: .Archive.2024 is a folder in Archive, and the top one is the inbox."""
    if not folder.startswith("."):
        return "INBOX"
    return folder[1:].replace(".", "/")
