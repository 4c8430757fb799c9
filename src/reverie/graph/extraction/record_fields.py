"""What a record says by its own fields, without a model: contacts, attendees and
addresses are people.
"""

import email.utils
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reverie.privacy import folding, lists
from reverie.records import base, contacts, emails, events

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
_WRITTEN = re.compile(r"(.*?)<\s*([^<>\s]+@[^<>\s]+)\s*>\s*", re.DOTALL)
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


def of(record: base.Record) -> FieldEntities:
    """What a record says by its fields; nothing for the kinds that have none."""
    read = _READERS.get(type(record))
    return read(record) if read else FieldEntities()


def address(text: str) -> tuple[str, str]:
    """The name and the address of `Ana Ruiz <ana@example.org>`; either may be empty."""
    written = _WRITTEN.fullmatch(text)
    name, found = written.groups() if written else email.utils.parseaddr(text)
    if not written and "@" not in text:
        name, found = text, ""
    found = found.strip().lower().removeprefix("mailto:") if "@" in found else ""
    name = " ".join(name.strip("\"' ").split())
    return ("" if "@" in name else name), found


def is_role(found: str) -> bool:
    """Whether an address belongs to nobody in particular."""
    return bool(_ROLE.match(found.partition("@")[0]))


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


def named_by(found: str) -> str:
    """A name for somebody of whom only the address is known: `ana.ruiz@…` is Ana Ruiz,
    `ar77@…` the address.
    """
    local = found.partition("@")[0].partition("+")[0]
    parts = re.split(r"[._\-]", local)
    if 2 <= len(parts) <= 3 and all(_PARTS.fullmatch(part) for part in parts):
        return " ".join(part.capitalize() for part in parts)
    return found


def _contact(contact: contacts.Contact) -> FieldEntities:
    company = (contact.company or "").strip()
    told = {
        "notes": contact.notes,
        "birthday": contact.birthday and contact.birthday.isoformat(),
    }
    properties = {name: value for name, value in told.items() if value}
    # An address of an office is on the cards of all who work there: it tells nobody
    # from anybody.
    found = (one.strip().lower() for one in contact.emails if "@" in one)
    mails = tuple(one for one in found if not is_role(one))
    if (
        company
        and contact.display_name.strip() == company
        and not (contact.given or contact.family)
    ):
        return FieldEntities(
            organisations=[Organisation(company, properties=properties)]
        )
    plain = " ".join(one for one in (contact.given, contact.family) if one)
    person = Person(
        contact.display_name,
        mails,
        tuple(
            one
            for one in (plain, titleless(contact.display_name))
            if one and one != contact.display_name
        ),
        properties=properties,
        works_at=company,
        job_title=contact.job_title or "",
    )
    return FieldEntities([person], [Organisation(company)] if company else [])


def _event(event: events.Event) -> FieldEntities:
    people: list[Person] = []
    organisations: list[Organisation] = []
    for one in event.attendees:
        name, found = address(one.get("email") or "")
        shown = (one.get("name") or "").strip() or name
        shown = "" if "@" in shown else shown
        mails, role = (found,) if found else (), one.get("role") or ""
        if shown and sounds_like_a_company(shown):
            organisations.append(Organisation(shown, "company", role))
        elif (shown or found) and not (found and is_role(found)):
            people.append(
                Person(
                    shown or named_by(found), mails, relation="attended_by", role=role
                )
            )
    return FieldEntities(people, organisations)


def _email(mail: emails.Email) -> FieldEntities:
    people: list[Person] = []
    organisations: list[Organisation] = []
    sides = (("from", [mail.from_ or ""]), ("to", mail.to), ("cc", mail.cc))
    for role, written in sides:
        for one in written:
            name, found = address(one)
            if found and is_role(found):
                if name:
                    organisations.append(Organisation(name, "institution", role))
            elif name and sounds_like_a_company(name):
                organisations.append(Organisation(name, "company", role))
            elif name or found:
                people.append(
                    Person(
                        name or named_by(found), (found,) if found else (), role=role
                    )
                )
    return FieldEntities(people, organisations)


_READERS: Mapping[type, Callable[[Any], FieldEntities]] = {
    contacts.Contact: _contact,
    events.Event: _event,
    emails.Email: _email,
}
