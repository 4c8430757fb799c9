"""How sensitive records and fields are: the table of domains, what content raises, what
the owner may change.
"""

import pytest

from reverie.privacy import sensitivity

Level = sensitivity.Level

DOMAINS = {
    Level.LOW: ["event", "bookmark", "feed", "feed_item"],
    Level.NORMAL: ["note", "contact", "file", "diary", "task", "chat"],
    Level.HIGH: ["email", "transaction", "run", "something new"],
    Level.CRITICAL: ["health"],
}


@pytest.mark.parametrize(
    ("level", "domain"),
    [(level, domain) for level, all_ in DOMAINS.items() for domain in all_],
)
def test_each_domain_has_its_level(level: Level, domain: str) -> None:
    assert sensitivity.of_domain(domain) == level
    assert sensitivity.of_record(domain, {"title": "Lunch"}) == level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Lunch on Friday", Level.LOW),
        ("order number 123456", Level.LOW),
        ("call me on 612 34 56 78", Level.HIGH),
        ("mail ana@example.com", Level.HIGH),
        ("4111 1111 1111 1111", Level.HIGH),
        ("ES91 2100 0418 4502 0005 1332", Level.HIGH),
        ("SSN 123-45-6789", Level.HIGH),
        ("mi DNI es 12345678Z", Level.HIGH),
        ("password: hunter22", Level.CRITICAL),
        ("４１１１１１１１１１１１１１１１", Level.HIGH),
        ("my diabetes is fine", Level.CRITICAL),
        ("blood pressure 120 over 80", Level.CRITICAL),
        ("mi tensión arterial", Level.CRITICAL),
        ("me han diagnosticado algo", Level.CRITICAL),
        ("die Schwangerschaft verläuft gut", Level.CRITICAL),
        ("Termin beim Hausarzt", Level.CRITICAL),
        ("DIABETES", Level.CRITICAL),
        ("dia\u200bbetes", Level.CRITICAL),
        ("", Level.LOW),
    ],
)
def test_content_raises(text: str, level: Level) -> None:
    assert sensitivity.of_text(text) == level
    assert sensitivity.of_record("event", {"title": text}) == level


def test_fields_have_levels_of_their_own() -> None:
    fields = {
        "display_name": "Ann",
        "phones": ["+34 612345678"],
        "company": "Acme",
        "notes": "has asthma",
    }
    levels = sensitivity.of_fields("contact", fields)
    assert levels == {
        "display_name": Level.NORMAL,
        "phones": Level.HIGH,
        "company": Level.NORMAL,
        "notes": Level.CRITICAL,
    }
    assert sensitivity.of_record("contact", fields) == Level.CRITICAL
    assert set(
        sensitivity.of_fields("health", {"kind": "weight", "value": 70}).values()
    ) == {Level.CRITICAL}
    assert sensitivity.of_fields("note", {"custom": {"tel": ["612345678"]}}) == {
        "custom": Level.HIGH
    }


@pytest.mark.parametrize(
    ("computed", "wanted", "level"),
    [
        (Level.LOW, None, Level.LOW),
        (Level.LOW, Level.CRITICAL, Level.CRITICAL),
        (Level.HIGH, Level.NORMAL, Level.NORMAL),
        (Level.HIGH, Level.LOW, Level.NORMAL),
        (Level.NORMAL, Level.LOW, Level.NORMAL),
        (Level.NORMAL, Level.HIGH, Level.HIGH),
        (Level.CRITICAL, Level.LOW, Level.CRITICAL),
        (Level.CRITICAL, Level.HIGH, Level.CRITICAL),
    ],
)
def test_the_owners_word(computed: Level, wanted: Level | None, level: Level) -> None:
    assert sensitivity.decided(computed, wanted) == level
