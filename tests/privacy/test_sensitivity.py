"""How sensitive records and fields are: the table of domains, what content raises, what the owner may change."""

import pytest

from reverie.privacy import sensitivity

DOMAINS = {
    "low": ["event", "bookmark", "feed", "feed_item"],
    "normal": ["note", "contact", "file", "diary", "task", "chat"],
    "high": ["email", "transaction", "run", "something new"],
    "critical": ["health"],
}


@pytest.mark.parametrize(("level", "domain"), [(level, domain) for level, all_ in DOMAINS.items() for domain in all_])
def test_each_domain_has_its_level(level: str, domain: str) -> None:
    assert sensitivity.of_domain(domain) == level
    assert sensitivity.of_record(domain, {"title": "Lunch"}) == level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Lunch on Friday", "low"),
        ("order number 123456", "low"),
        ("call me on 612 34 56 78", "high"),
        ("mail ana@example.com", "high"),
        ("4111 1111 1111 1111", "high"),
        ("ES91 2100 0418 4502 0005 1332", "high"),
        ("SSN 123-45-6789", "high"),
        ("mi DNI es 12345678Z", "high"),
        ("password: hunter22", "high"),
        ("４１１１１１１１１１１１１１１１", "high"),
        ("my diabetes is fine", "critical"),
        ("blood pressure 120 over 80", "critical"),
        ("mi tensión arterial", "critical"),
        ("me han diagnosticado algo", "critical"),
        ("die Schwangerschaft verläuft gut", "critical"),
        ("Termin beim Hausarzt", "critical"),
        ("DIABETES", "critical"),
        ("dia\u200bbetes", "critical"),
        ("", "low"),
    ],
)
def test_content_raises(text: str, level: str) -> None:
    assert sensitivity.of_text(text) == level
    assert sensitivity.of_record("event", {"title": text}) == level


def test_fields_have_levels_of_their_own() -> None:
    fields = {"display_name": "Ann", "phones": ["+34 612345678"], "company": "Acme", "notes": "has asthma"}
    levels = sensitivity.of_fields("contact", fields)
    assert levels == {"display_name": "normal", "phones": "high", "company": "normal", "notes": "critical"}
    assert sensitivity.of_record("contact", fields) == "critical"
    assert set(sensitivity.of_fields("health", {"kind": "weight", "value": 70}).values()) == {"critical"}
    assert sensitivity.of_fields("note", {"custom": {"tel": ["612345678"]}}) == {"custom": "high"}


@pytest.mark.parametrize(
    ("computed", "wanted", "level"),
    [
        ("low", None, "low"),
        ("low", "critical", "critical"),
        ("high", "normal", "normal"),
        ("high", "low", "normal"),
        ("normal", "low", "normal"),
        ("normal", "high", "high"),
        ("critical", "low", "critical"),
        ("critical", "high", "critical"),
    ],
)
def test_the_owners_word(
    computed: sensitivity.Level, wanted: sensitivity.Level | None, level: sensitivity.Level
) -> None:
    assert sensitivity.decided(computed, wanted) == level
