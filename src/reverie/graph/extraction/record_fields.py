"""Structured extraction: people and organisations from a record's own fields.

Contacts, attendees and addresses are people. No model is asked.
"""

import email.utils
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reverie.privacy import folding, lists
from reverie.records import contacts, emails, events, record_types

_ROLE = re.compile(
    r"^(?:no-?_?reply|do-?not-?reply|noresponder|nicht-?antworten|newsletters?|news|info|hello|hi|hola|hallo|support|soporte"
    r"|billing|facturas?|rechnung|invoices?|team|equipo|mailer-daemon|postmaster|notifications?|avisos|alerts?|service"
    r"|servicio|kundenservice|contact[eo]?|kontakt|office|oficina|admin|administracion|marketing|sales|ventas|orders?"
    r"|pedidos|bookings?|reservas|buchung|jobs|hr|press|accounts?|security|updates?|digest|clientes|atencion\w*"
    r"|customer\w*|bounces?|list|lists|announce)(?:[+.\-_].*)?$",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"^(?:(?:dr|dra|prof|profesora?|ing|lic|mr|mrs|ms|miss|sr|sra|srta|herr|frau|don|doña|sir|dame)\b\.? )+",
    re.IGNORECASE,
)
_WRITTEN = re.compile(r"(.*?)<\s*((?=[^<>\s]+?@[^<>\s])[^<>\s]+)\s*>\s*", re.DOTALL)
# The standard library reads brackets inside of brackets by recursion.
_LONGEST_ADDRESS = 300
_PARTS = re.compile(r"[a-zà-öø-ÿ]{2,}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody that a record names in a field, and what else they are called. Without a
    name, the address is one.
    """

    name: str
    emails: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    relation: str = "mentions"
    role: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    works_at: str = ""
    job_title: str = ""


@dataclass(frozen=True, slots=True)
class Organisation:
    """A company or an institution that a record names in a field."""

    name: str
    type: str = "company"
    role: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class FieldEntities:
    """Everybody whom a record's fields name."""

    people: Sequence[Person] = ()
    organisations: Sequence[Organisation] = ()


def of(record: record_types.Record) -> FieldEntities:
    """What a record says by its fields; nothing for the kinds that have none."""
    read = _READERS.get(type(record))
    return read(record) if read else FieldEntities()


def address(text: str) -> tuple[str, str]:
    """The name and the address of `Ana Ruiz <ana@example.org>`; either may be empty."""
    name, email_ = _written_address(text)
    email_ = email_.strip().lower().removeprefix("mailto:") if "@" in email_ else ""
    name = " ".join(name.strip("\"' ").split())
    return ("" if "@" in name else name), email_


def _written_address(text: str) -> tuple[str, str]:
    match = _WRITTEN.fullmatch(text)
    if match:
        return match[1], match[2]
    if "@" not in text or len(text) > _LONGEST_ADDRESS:
        return text, ""
    return email.utils.parseaddr(text)


def is_role(email_: str) -> bool:
    """Whether an address belongs to nobody in particular."""
    return bool(_ROLE.match(email_.partition("@")[0]))


def sounds_like_a_company(name: str) -> bool:
    """Whether no part of a sender's name is anybody's given name, and one of them is an
    ordinary word.
    """
    parts = [folding.plain(part) for part in _PARTS.findall(name)]
    if len(parts) < 2 or any(lists.given(part) for part in parts):
        return False
    return any(lists.english(part) or lists.spanish(part) for part in parts)


def titleless(name: str) -> str:
    """A name without `Dr.` and its like before it."""
    return _TITLE.sub("", name).strip()


def named_by(email_: str) -> str:
    """A name for somebody of whom only the address is known: `ana.ruiz@…` is Ana Ruiz,
    `ar77@…` the address.
    """
    local = email_.partition("@")[0].partition("+")[0]
    parts = re.split(r"[._\-]", local)
    if 2 <= len(parts) <= 3 and all(_PARTS.fullmatch(part) for part in parts):
        return " ".join(part.capitalize() for part in parts)
    return email_


def _contact(contact: contacts.Contact) -> FieldEntities:
    company = (contact.company or "").strip()
    properties = _properties(contact)
    unnamed = not (contact.given or contact.family)
    if company and unnamed and contact.display_name.strip() == company:
        organisation = Organisation(company, properties=properties)
        return FieldEntities(organisations=[organisation])
    person = Person(
        contact.display_name,
        _own_emails(contact),
        _other_names(contact),
        properties=properties,
        works_at=company,
        job_title=contact.job_title or "",
    )
    return FieldEntities([person], [Organisation(company)] if company else [])


def _properties(contact: contacts.Contact) -> dict[str, Any]:
    """What a card says of its node besides names and addresses."""
    birthday = contact.birthday and contact.birthday.isoformat()
    properties = {"notes": contact.notes, "birthday": birthday}
    return {name: value for name, value in properties.items() if value}


def _own_emails(contact: contacts.Contact) -> tuple[str, ...]:
    """An address of an office is on the cards of all who work there: it tells nobody
    from anybody.
    """
    emails_ = [email_.strip().lower() for email_ in contact.emails if "@" in email_]
    return tuple(email_ for email_ in emails_ if not is_role(email_))


def _other_names(contact: contacts.Contact) -> tuple[str, ...]:
    """Given and family name, and the shown name without its title, if they differ."""
    given_and_family = " ".join(filter(None, (contact.given, contact.family)))
    names = (given_and_family, titleless(contact.display_name))
    return tuple(name for name in names if name and name != contact.display_name)


def _event(event: events.Event) -> FieldEntities:
    people: list[Person] = []
    organisations: list[Organisation] = []
    for attendee in event.attendees:
        name, email_ = _attendee(attendee)
        role = attendee.get("role") or ""
        if name and sounds_like_a_company(name):
            organisations.append(Organisation(name, "company", role))
        elif (name or email_) and not is_role(email_):
            people.append(_person(name, email_, role, relation="attended_by"))
    return FieldEntities(people, organisations)


def _attendee(attendee: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the address of an attendee; either may be empty."""
    written, email_ = address(attendee.get("email") or "")
    name = (attendee.get("name") or "").strip() or written
    return ("" if "@" in name else name), email_


def _email(mail: emails.Email) -> FieldEntities:
    people: list[Person] = []
    organisations: list[Organisation] = []
    sides = (("from", [mail.from_ or ""]), ("to", mail.to), ("cc", mail.cc))
    for role, addresses in sides:
        for written in addresses:
            name, email_ = address(written)
            if is_role(email_):
                if name:
                    organisations.append(Organisation(name, "institution", role))
            elif name and sounds_like_a_company(name):
                organisations.append(Organisation(name, "company", role))
            elif name or email_:
                people.append(_person(name, email_, role))
    return FieldEntities(people, organisations)


def _person(name: str, email_: str, role: str, relation: str = "mentions") -> Person:
    """Somebody of whom the name, the address or both are known."""
    return Person(
        name or named_by(email_),
        (email_,) if email_ else (),
        relation=relation,
        role=role,
    )


_READERS: Mapping[type, Callable[[Any], FieldEntities]] = {
    contacts.Contact: _contact,
    events.Event: _event,
    emails.Email: _email,
}
