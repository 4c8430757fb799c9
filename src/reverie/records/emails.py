"""Emails: messages the owner received or sent."""

from dataclasses import dataclass, field
from datetime import datetime

import pydantic
from typing_extensions import TypedDict

from reverie import compact
from reverie.records import email_parts, passages, record_types


class Attachment(TypedDict, total=False):
    name: str | None
    mime: str | None
    size: int | None
    sha256: str | None
    content_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Email(record_types.Record):
    """`thread` is the message id that the conversation began with."""

    subject: str = ""
    from_: str | None = None
    to: list[str] = field(default_factory=list[str])
    cc: list[str] = field(default_factory=list[str])
    date: pydantic.AwareDatetime | None = None
    thread: str | None = None
    folder: str | None = None
    read: bool = False
    attachments: list[Attachment] = field(default_factory=list[Attachment])
    body_text: str = ""
    body_html: str | None = None
    message_id: str | None = None


def _text(email: Email) -> passages.Text:
    names = [attachment.get("name") or "" for attachment in email.attachments]
    keywords = " ".join([email.from_ or "", *email.to, *email.cc, *names])
    people = [email.from_ or "", *email.to, *email.cc]
    title = email.subject or "(no subject)"
    return passages.Text(
        title,
        _sections(email),
        keywords=keywords,
        at=email.date,
        people=people,
        category=email.folder,
    )


def _sections(email: Email) -> list[passages.Section]:
    """What the sender wrote, then what it quotes and the signature: the mail that is
    quoted has vectors of its own, and a signature says the same each time. Of 2,000
    letters (bench/letters.py) that spares 55 of 100 pieces that a model would read.
    """
    answers = email.thread is not None and email.thread != email.message_id
    parts = email_parts.parsed(
        email.body_text, subject=email.subject, is_answer=answers
    )
    sections = [
        passages.Section(parts.own),
        passages.Section(parts.quoted, words_only=True),
        passages.Section(parts.signature, words_only=True),
    ]
    return [section for section in sections if section.text.strip()]


def _line(email: Email, now: datetime) -> str:
    sender = compact.clip(
        (email.from_ or "?").partition("<")[0].strip(' "') or email.from_ or "?", 30
    )
    folder = f" [{email.folder.upper()}]" if email.folder else ""
    marks = f"{'' if email.read else ' unread'}{' 📎' if email.attachments else ''}"
    return f'{sender}: "{compact.clip(email.subject, 48)}"{folder}{marks}'


EMAILS = record_types.Domain(
    name="email",
    plural="emails",
    record=Email,
    text=_text,
    summary=lambda email: email.subject or "(no subject)",
    line=_line,
    order="t.date DESC NULLS LAST, t.id",
    json=frozenset({"attachments"}),
    filters={
        "thread": record_types.Filter(str, "t.thread = %(thread)s"),
        "folder": record_types.Filter(str, "t.folder = %(folder)s"),
        "read": record_types.Filter(bool, "t.read = %(read)s"),
    },
)
