"""Contacts: people and companies the owner knows."""

from dataclasses import dataclass, field
from datetime import date, datetime

from reverie import compact, db
from reverie.access import callers
from reverie.records import passages, record_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact(record_types.Record):
    display_name: str
    given: str | None = None
    family: str | None = None
    emails: list[str] = field(default_factory=list[str])
    phones: list[str] = field(default_factory=list[str])
    company: str | None = None
    job_title: str | None = None
    address: str | None = None
    notes: str | None = None
    birthday: date | None = None


_NAMED = """
SELECT {all} FROM {table}
WHERE user_id = %(user)s AND lower(display_name) = lower(%(name)s) AND deleted_at IS NULL ORDER BY id LIMIT 20
"""


def _text(contact: Contact) -> passages.Text:
    work = ", ".join(part for part in (contact.job_title, contact.company) if part)
    body = "\n".join(part for part in (work, contact.notes) if part)
    digits = ["".join(filter(str.isdigit, phone)) for phone in contact.phones]
    names = [contact.given, contact.family, contact.address]
    born = contact.birthday.isoformat() if contact.birthday else None
    keywords = [*names, *contact.emails, *contact.phones, *digits, born]
    return passages.Text(
        contact.display_name,
        [passages.Section(body)] if body else [],
        keywords=" ".join(word for word in keywords if word),
        people=[contact.display_name, *contact.emails],
    )


def _line(contact: Contact, now: datetime) -> str:
    parts = [contact.display_name, contact.company, *contact.emails[:1]]
    return " — ".join(compact.clip(part, 40) for part in parts if part)


CONTACTS = record_types.Domain(
    name="contact",
    plural="contacts",
    record=Contact,
    text=_text,
    summary=lambda contact: contact.display_name,
    line=_line,
    order="t.display_name, t.id",
    filters={
        "company": record_types.Filter(str, "t.company = %(company)s"),
        "email": record_types.Filter(
            str, "lower(%(email)s) = ANY(lower(t.emails::text)::text[])"
        ),
    },
)


async def named(tx: db.Transaction, caller: callers.Caller, name: str) -> list[Contact]:
    """The contacts of that very name, in any case; of many, the oldest."""
    statement = record_types.statement(_NAMED, CONTACTS)
    return await tx.all(Contact, statement, {"user": caller.user_id, "name": name})
