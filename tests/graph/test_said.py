"""What a record says by its fields: people and organisations, and nobody where there is
nobody.
"""

from typing import Any

import pytest

from reverie import db
from reverie.access import callers
from reverie.graph.extraction import record_fields
from reverie.records import base, catalogue
from tests.records import bodies


async def said_of(
    database: db.Database, caller: callers.Caller, domain: str, **body: Any
) -> record_fields.FieldEntities:
    """What a record of this domain says, kept as the product keeps it."""
    async with database.transaction(caller) as tx:
        return record_fields.of(
            await base.create(tx, caller, catalogue.domain(domain), body)
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana Ruiz <Ana@Example.org>", ("Ana Ruiz", "ana@example.org")),
        ('"Ruiz, Ana" <ana@example.org>', ("Ruiz, Ana", "ana@example.org")),
        ("Ruiz, Ana <ana@example.org>", ("Ruiz, Ana", "ana@example.org")),
        ("'Ana  Ruiz' <ana@example.org>", ("Ana Ruiz", "ana@example.org")),
        ("ana@example.org", ("", "ana@example.org")),
        ("<ana@example.org>", ("", "ana@example.org")),
        ("ana@example.org <ana@example.org>", ("", "ana@example.org")),
        ("MAILTO:Ana@example.org", ("", "ana@example.org")),
        ("Ana Ruiz", ("Ana Ruiz", "")),
        ("", ("", "")),
    ],
)
def test_addresses(text: str, expected: tuple[str, str]) -> None:
    assert record_fields.address(text) == expected


@pytest.mark.parametrize(
    "address",
    ["no-reply@x.org", "noreply@x.org", "DoNotReply@x.org", "info@x.org", "news+ana@x.org", "atencionalcliente@x.org",
     "rechnung@x.org", "mailer-daemon@x.org", "support-de@x.org", "soporte@x.org"],
)  # fmt: skip
def test_roles_are_nobody(address: str) -> None:
    assert record_fields.is_role(address)


@pytest.mark.parametrize(
    "address",
    [
        "ana@x.org",
        "ana.ruiz@x.org",
        "informatica.ana@x.org",
        "teamwork@x.org",
        "lis@x.org",
    ],
)
def test_people_are_somebody(address: str) -> None:
    assert not record_fields.is_role(address)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("ana.ruiz@x.org", "Ana Ruiz"),
        ("ana_maria-ruiz@x.org", "Ana Maria Ruiz"),
        ("ana.ruiz+lists@x.org", "Ana Ruiz"),
        ("ar77@x.org", "ar77@x.org"),
        ("ana@x.org", "ana@x.org"),
        ("a.ruiz@x.org", "a.ruiz@x.org"),
    ],
)
def test_a_name_for_an_address(address: str, name: str) -> None:
    assert record_fields.named_by(address) == name


async def test_a_contact(database: db.Database, owner: callers.Caller) -> None:
    found = await said_of(database, owner, "contact", **bodies.BODIES["contact"][0])
    (person,) = found.people
    assert (person.name, person.emails, person.relation) == (
        "José García Márquez",
        ("jose@example.org",),
        "mentions",
    )
    assert (person.works_at, person.job_title) == ("Palanca S.L.", "Ingeniero")
    assert person.properties == {"birthday": "1980-02-29"}
    assert [one.name for one in found.organisations] == ["Palanca S.L."]


async def test_the_card_of_a_company_is_no_person(
    database: db.Database, owner: callers.Caller
) -> None:
    found = await said_of(
        database,
        owner,
        "contact",
        display_name="Palanca S.L.",
        company="Palanca S.L.",
        notes="n",
    )
    assert found.people == ()
    assert [(one.name, one.properties) for one in found.organisations] == [
        ("Palanca S.L.", {"notes": "n"})
    ]


async def test_an_office_address_on_a_card_is_not_of_its_person(
    database: db.Database, owner: callers.Caller
) -> None:
    found = await said_of(
        database,
        owner,
        "contact",
        display_name="Ana",
        emails=["Ana@x.org", "info@x.org"],
    )
    assert found.people[0].emails == ("ana@x.org",)


async def test_a_mail(database: db.Database, owner: callers.Caller) -> None:
    mail: dict[str, Any] = {
        "subject": "s",
        "from": "Ana Ruiz <ana@example.org>",
        "to": ["bo.beck@example.org", "cy@example.org"],
        "cc": ["Kundenservice Bahn <service@bahn.example>", "no-reply@x.org", ""],
    }
    found = await said_of(database, owner, "email", **mail)
    assert [(one.name, one.emails, one.role) for one in found.people] == [
        ("Ana Ruiz", ("ana@example.org",), "from"),
        ("Bo Beck", ("bo.beck@example.org",), "to"),
        ("cy@example.org", ("cy@example.org",), "to"),
    ]
    assert [(one.name, one.type, one.role) for one in found.organisations] == [
        ("Kundenservice Bahn", "institution", "cc")
    ]


async def test_an_event(database: db.Database, owner: callers.Caller) -> None:
    attendees = [
        {"name": "Ana López", "email": "ANA@example.org", "role": "CHAIR"},
        {"email": "mailto:bo.beck@example.org"},
        {"name": "cy@example.org", "email": "cy@example.org"},
        {"name": "Dee"},
        {"email": "no-reply@calendar.example"},
        {},
    ]
    found = await said_of(
        database, owner, "event", title="t", start="2026-01-01", attendees=attendees
    )
    assert [(one.name, one.emails, one.relation, one.role) for one in found.people] == [
        ("Ana López", ("ana@example.org",), "attended_by", "CHAIR"),
        ("Bo Beck", ("bo.beck@example.org",), "attended_by", ""),
        ("cy@example.org", ("cy@example.org",), "attended_by", ""),
        ("Dee", (), "attended_by", ""),
    ]


@pytest.mark.parametrize("domain", sorted(bodies.BODIES))
async def test_every_kind_of_record_can_be_asked(
    database: db.Database, owner: callers.Caller, domain: str
) -> None:
    for body in bodies.BODIES[domain]:
        found = await said_of(database, owner, domain, **body)
        assert bool(found.people or found.organisations) <= (
            domain in {"contact", "event", "email"}
        )
