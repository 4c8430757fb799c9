"""How private a record is: its domain, its content, and what the owner says, at every
write.
"""

from typing import Any

import pytest

from reverie import db
from reverie.access import callers
from reverie.records import base, catalogue


@pytest.mark.parametrize(
    ("domain", "body", "level"),
    [
        ("event", {"title": "Lunch", "start": "2026-05-01T12:00:00Z"}, "low"),
        (
            "event",
            {"title": "Call 612 34 56 78", "start": "2026-05-01T12:00:00Z"},
            "high",
        ),
        ("event", {"title": "Oncologist", "start": "2026-05-01T12:00:00Z"}, "critical"),
        ("note", {"content": "Buy paint"}, "normal"),
        (
            "note",
            {
                "content": "paint",
                "custom": {"account": "ES91 2100 0418 4502 0005 1332"},
            },
            "high",
        ),
        ("note", {"content": "paint", "sensitivity": "critical"}, "critical"),
        ("note", {"content": "mi DNI es 12345678Z", "sensitivity": "low"}, "normal"),
        ("note", {"content": "my diabetes", "sensitivity": "low"}, "critical"),
        ("contact", {"display_name": "Ana"}, "normal"),
        ("contact", {"display_name": "Ana", "phones": ["+34 612 34 56 78"]}, "high"),
        (
            "transaction",
            {"date": "2026-05-01", "amount": "-3", "currency": "EUR", "text": "tea"},
            "high",
        ),
        (
            "health",
            {"kind": "weight", "at": "2026-05-01T12:00:00Z", "value": 70},
            "critical",
        ),
    ],
)
async def test_a_new_record(
    database: db.Database,
    owner: callers.Caller,
    domain: str,
    body: dict[str, Any],
    level: str,
) -> None:
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, catalogue.domain(domain), body)
        assert made.sensitivity == level
        cards = await tx.rows(
            "SELECT sensitivity FROM card WHERE record_id = %s", (made.id,)
        )
    assert [row["sensitivity"] for row in cards] == [level]


async def test_a_record_that_changes(
    database: db.Database, owner: callers.Caller
) -> None:
    """Content raises and lowers; what the owner decided stays, until the content asks
    for more.
    """
    note = catalogue.domain("note")
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, note, {"content": "paint"})

        async def after(**change: Any) -> str:
            return (await base.update(tx, owner, note, made.id, change)).sensitivity

        assert await after(content="call 612 34 56 78") == "high"
        assert await after(content="paint") == "normal"
        assert (
            await after(content="call 612 34 56 78", sensitivity="normal") == "normal"
        )
        assert await after(title="Painter") == "normal"
        assert await after(content="call 612 34 56 78 about the biopsy") == "critical"
        assert await after(sensitivity="low") == "critical"
        assert await after(content="call 612 34 56 78") == "high"
        assert await after(sensitivity="critical") == "critical"
        assert await after(content="paint") == "critical"
        assert await after(sensitivity="low") == "normal"
