"""Mail: single messages, mbox files and Maildir messages.

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
from typing import cast

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import units
from reverie.ingest.formats import mailheaders, pagetext

# A line "From …" inside a letter looks like the start of the next one; only with a time
# and a year is it one.
MBOX_FROM = re.compile(rb"^From [^\n]*\d{1,2}:\d{2}[^\n]*\d{4}[^\n]*$", re.MULTILINE)
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
MAILDIR_FLAGS = re.compile(
    r"[:;!_]2,([A-Za-z]*)$"
)  # ":" is not allowed in names everywhere
HEADER = re.compile(rb"^[!-9;-~]{1,100}[ \t]*:")
LARGEST = 200 * 1024 * 1024
PARTS = 2000
DECORATION = 30_000


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
    attachments: list[dict[str, object]] = field(
        default_factory=list[dict[str, object]]
    )
    files: list[units.EmbeddedFile] = field(default_factory=list[units.EmbeddedFile])
    parts: int = 0


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | units.EmbeddedFile]:
    """The one message of an .eml or Maildir file, and the files in it."""
    data = source.data
    if source.path.suffix.lower() == ".emlx" and (
        counted := re.match(rb"\s*(\d{1,12})\s*\n", data)
    ):
        data = data[
            counted.end() : counted.end() + int(counted.group(1))
        ]  # Apple Mail: the length, then a plist
    yield from message(data, _place(source))


def read_mbox(
    source: drafts.SourceFile,
) -> Iterator[drafts.Draft | drafts.Skip | units.EmbeddedFile]:
    """Every message of an mbox with the files in it, one at a time; a broken one is
    skipped.
    """
    name = source.path.name.removesuffix(".mbox")
    folder = (
        source.path.parent.name.removesuffix(".mbox") if name == "mbox" else name
    )  # Apple: Inbox.mbox/mbox
    seen: set[str] = set()
    for number, raw in enumerate(messages(source.data), start=1):
        try:
            draft, *files = message(raw, MailLocation(folder))
        except errors.Unreadable as error:
            yield drafts.Skip(
                f"sha:{hashlib.sha256(raw).hexdigest()}", f"message {number}: {error}"
            )
            continue
        if draft.key in seen:
            yield drafts.Skip(draft.key, "the same message is in the file twice")
            continue
        seen.add(draft.key)
        yield draft
        yield from files
    if not seen:
        raise errors.Unreadable("no message was found in the file")


def messages(data: bytes) -> Iterator[bytes]:
    """The messages of an mbox, without their From line and with quoted From lines
    restored.
    """
    start = -1
    for match in MBOX_FROM.finditer(data):
        at = match.start()
        if at and not data.endswith((b"\n\n", b"\n\r\n"), max(0, at - 3), at):
            continue
        if not HEADER.match(data[match.end() : match.end() + 200].lstrip(b"\r\n")):
            continue
        if start >= 0:
            yield QUOTED_FROM.sub(rb"\1", data[start:at])
        start = match.end() + 1
    if start >= 0:
        yield QUOTED_FROM.sub(rb"\1", data[start:])


def message(
    raw: bytes, place: MailLocation
) -> tuple[drafts.Draft, *tuple[units.EmbeddedFile, ...]]:
    """One message as a draft, and the files in it; the folder and the like come from
    where it lay.
    """
    if len(raw) > LARGEST:
        raise errors.Unreadable(f"a message larger than {LARGEST // 1024 // 1024} MB")
    parsed = _parse(raw)
    if not any(
        parsed.get(name) is not None
        for name in (
            "From",
            "To",
            "Subject",
            "Date",
            "Message-ID",
            "Received",
            "Content-Type",
        )
    ):
        raise errors.Unreadable("none of the headers of a message were found")
    contents = Contents()
    _collect(parsed, contents, 0)
    own = mailheaders.message_ids(parsed, "Message-ID")
    key = f"mid:{own[0]}" if own else f"sha:{hashlib.sha256(raw).hexdigest()}"
    roots = [
        *mailheaders.message_ids(parsed, "References"),
        *mailheaders.message_ids(parsed, "In-Reply-To"),
        *own,
    ]
    page = "\n".join(contents.pages)
    words = "\n\n".join(text for part in contents.plain if (text := part.strip()))
    senders = mailheaders.addresses(parsed, "From") or mailheaders.addresses(
        parsed, "Sender"
    )
    draft = drafts.Draft(
        "email",
        key,
        {
            "subject": mailheaders.text(parsed, "Subject"),
            "from_": senders[0] if senders else None,
            "to": mailheaders.addresses(parsed, "To") or None,
            "cc": mailheaders.addresses(parsed, "Cc") or None,
            "date": mailheaders.date(parsed),
            "thread": roots[0] if roots else key.removeprefix("mid:"),
            "folder": place.folder,
            "read": mailheaders.was_read(parsed)
            if place.flags is None
            else "S" in place.flags,
            "attachments": contents.attachments or None,
            "body_text": words or pagetext.text(page) or None,
            "body_html": page or None,
            "message_id": own[0] if own else None,
            "custom": _custom(parsed) | {"flags": place.flags},
        },
    )
    return (draft, *contents.files)


def _parse(raw: bytes) -> email.message.Message:
    raw = raw.lstrip(b"\r\n")
    if raw.startswith((b"From ", b">From ")):
        raw = raw.partition(b"\n")[2]
    try:
        return email.message_from_bytes(raw, policy=email.policy.compat32)
    except RecursionError as error:
        raise errors.Unreadable(
            "the parts of the message are nested too deeply"
        ) from error
    except (
        email.errors.MessageError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
    ) as error:
        # The parser promises never to raise, and does on some spam: a charset or
        # boundary without sense.
        raise errors.Unreadable(f"not a message: {error}") from error


def _collect(part: email.message.Message, contents: Contents, depth: int) -> None:
    contents.parts += 1
    if depth > 100 or contents.parts > PARTS:
        raise errors.Unreadable("the message has too many parts")
    kind = part.get_content_type()
    children = part.get_payload()
    if kind == "message/rfc822" and isinstance(children, list) and children:
        _enclosed(part, children[0], contents, depth)
    elif part.is_multipart() and isinstance(children, list):
        for child in cast("list[object]", children):
            if isinstance(child, email.message.Message):
                _collect(cast("email.message.Message", child), contents, depth + 1)
    elif kind.startswith("multipart/"):
        contents.plain.append(
            _text(part)
        )  # without a boundary that works all of it is one text
    elif _is_body(part, kind):
        target = contents.pages if kind == "text/html" else contents.plain
        target.append(_text(part))
    else:
        _attach(part, kind, contents)


def _enclosed(
    part: email.message.Message, inner: object, contents: Contents, depth: int
) -> None:
    """A message in a message: part of the text when it is the whole or in a digest,
    else an attachment.
    """
    if not isinstance(inner, email.message.Message):
        return
    if depth <= 1 and part.get_content_disposition() != "attachment":
        subject = mailheaders.text(inner, "Subject")
        if depth:
            sender = next(iter(mailheaders.addresses(inner, "From")), "")
            contents.plain.append(
                "\n".join(
                    line
                    for line in ("", f"From: {sender}" if sender else "", subject or "")
                    if line
                )
            )
        _collect(inner, contents, depth + 1)
        return
    name = (
        mailheaders.filename(part)
        or f"{mailheaders.text(inner, 'Subject') or 'message'}.eml"
    )
    contents.attachments.append({"name": name, "mime": "message/rfc822"})


def _is_body(part: email.message.Message, kind: str) -> bool:
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
    try:
        payload = part.get_payload(decode=True)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
    ):  # a Content-Transfer-Encoding that is broken in itself
        payload = part.get_payload()
    if isinstance(payload, bytes):
        return payload
    return (
        payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else b""
    )


def _text(part: email.message.Message) -> str:
    declared = mailheaders.param(part, "charset")
    text, _ = charsets.decode(_bytes(part), declared)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _attach(part: email.message.Message, kind: str, contents: Contents) -> None:
    """An attachment is listed, and is a file of its own: all but the small pictures
    that decorate a letter.
    """
    data = _bytes(part)
    name = mailheaders.filename(part) or ""
    known: dict[str, object] = {"name": name, "mime": kind, "size": len(data)}
    known["sha256"] = hashlib.sha256(data).hexdigest()
    content_id = mailheaders.text(part, "Content-ID")
    if content_id:
        known["content_id"] = content_id.strip("<> ")
    contents.attachments.append(known)
    decorates = (
        kind.startswith("image/") and bool(content_id) and len(data) < DECORATION
    )
    if data and not decorates:
        contents.files.append(units.EmbeddedFile(name, kind, data))


def _custom(parsed: email.message.Message) -> dict[str, object]:
    custom: dict[str, object] = {
        "reply_to": mailheaders.addresses(parsed, "Reply-To"),
        "bcc": mailheaders.addresses(parsed, "Bcc"),
        "list": mailheaders.text(parsed, "List-Id"),
        "labels": [
            label.strip()
            for label in (mailheaders.text(parsed, "X-Gmail-Labels") or "").split(",")
            if label.strip()
        ],
    }
    sender = mailheaders.addresses(parsed, "Sender")
    if sender and sender != mailheaders.addresses(parsed, "From")[:1]:
        custom["sender"] = sender[0]
    if mailheaders.date(parsed) is None and (raw := mailheaders.text(parsed, "Date")):
        custom["broken_date"] = raw
    return custom


def _place(source: drafts.SourceFile) -> MailLocation:
    box = source.path.parent
    if box.name not in {"cur", "new"}:
        parts = source.relative.parts
        return MailLocation(parts[-2] if len(parts) > 1 else None)
    match = MAILDIR_FLAGS.search(source.path.name)
    holder = box.parent.name
    return MailLocation(
        holder[1:].replace(".", "/") if holder.startswith(".") else "INBOX",
        match.group(1) if match else "",
    )
