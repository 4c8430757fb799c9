"""Mail (MIME, RFC 5322 and 2045): single messages, mbox files and Maildir messages.

Headers are read with the compat32 policy: policy.default parses addresses in time
quadratic in the length of the header, and raises on some headers of spam. What it would
decode (RFC 2047, 2231) mailheaders decodes.
"""

import email.message
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reverie import errors
from reverie.ingest import charsets, drafts, identity
from reverie.ingest.documents import units
from reverie.ingest.formats import mailcontent, mailheaders

# A line "From …" inside a letter looks like the start of the next one; only with a time
# and a year is it one.
# Looked for near its beginning only, or a long line would take long.
MBOX_FROM = re.compile(
    rb"^From (?=[^\n]{0,300}?\d:\d\d[^\n]{0,40}?\d{4})[^\n]*$", re.MULTILINE
)
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
# ":" is not allowed in names everywhere.
MAILDIR_FLAGS = re.compile(r"[:;!_]2,([A-Za-z]*)$")
HEADER = re.compile(rb"^[!-9;-~]{1,100}[ \t]*:")


@dataclass(frozen=True, slots=True)
class MailLocation:
    """Where a message lay."""

    folder: str | None
    flags: str | None = None  # the letters of a Maildir name; None for every other file
    collected: bool = False  # in a mailbox of many


Read = drafts.Draft | drafts.Remark | units.EmbeddedFile


def read(source: drafts.SourceFile) -> Iterator[Read]:
    """The one message of an .eml or Maildir file, and the files in it."""
    data = source.data
    if source.path.suffix.lower() == ".emlx":
        data = _without_plist(data)
    draft, *files = message(charsets.as_utf8(data), _location(source))
    yield draft
    yield from _remarks(draft)
    yield from files


def _remarks(draft: drafts.Draft) -> Iterator[drafts.Remark]:
    """What the report says of a message of which only a part is here."""
    custom = draft.fields.get("custom")
    if isinstance(custom, dict) and "cut" in custom:
        yield drafts.Remark(draft.key, str(custom["cut"]))  # pyright: ignore[reportUnknownArgumentType]


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
    location = MailLocation(_mbox_name(source.path), collected=True)
    seen: set[tuple[str, bytes]] = set()
    for number, raw in enumerate(messages(charsets.as_utf8(source.data)), start=1):
        try:
            draft, *files = message(raw, location)
        except errors.Unreadable as error:
            digest = hashlib.sha256(raw).hexdigest()
            yield drafts.Skip(f"sha:{digest}", f"message {number}: {error}")
            continue
        content = identity.content_of(draft.key, draft.fields)
        letter = (draft.key, content)
        if letter in seen:
            yield drafts.Skip(draft.key, "the same message is in the file twice")
            continue
        seen.add(letter)
        yield draft
        yield from _remarks(draft)
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
    parsed, contents = mailcontent.opened(raw)
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
        "custom": _custom(parsed) | {"flags": location.flags, "cut": contents.cut},
    }
    key = f"mid:{own_id}" if own_id else identity
    draft = drafts.Draft("email", key, fields, collected=location.collected)
    return (draft, *contents.files)


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
