"""Heat: the SQL says what the formula of records.md says, and every access counts as
its source does.
"""

import math
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from reverie import db
from reverie.access import callers
from reverie.records import base, bulk, heat, notes, record_types


def by_the_book(accesses: float, since_increment: float, since_access: float) -> float:
    """The formula of records.md, written down a second time."""
    effective = accesses * max(0, 1 - since_increment / 8766)
    raw = effective * math.exp(-math.log(2) / 168 * since_access)
    n = raw / 10
    return min(1, n if n <= 0.8 else 0.8 + (n - 0.8) * 0.5)


NUMBERS = [
    # accesses, hours since the last increment, hours since the last access, heat
    (1, 0, 0, 0.1),
    (8, 0, 0, 0.8),
    (10, 0, 0, 0.9),
    (12, 0, 0, 1.0),
    (40, 0, 0, 1.0),
    (8, 0, 168, 0.4),
    (8, 0, 336, 0.2),
    (10, 4383, 0, 0.5),
    (10, 8766, 0, 0.0),
    (10, 20_000, 20_000, 0.0),
    (0.25, 0, 0, 0.025),
]


@pytest.mark.parametrize(("accesses", "increment", "access", "expected"), NUMBERS)
def test_the_formula(
    accesses: float, increment: float, access: float, expected: float
) -> None:
    got = heat.value(
        accesses=accesses, hours_since_increment=increment, hours_since_access=access
    )
    assert got == pytest.approx(expected, abs=1e-9)
    assert got == pytest.approx(by_the_book(accesses, increment, access), abs=1e-12)


async def kept(
    tx: db.Transaction, caller: callers.Caller, record_id: UUID
) -> tuple[float, float]:
    """Accesses and heat of a record."""
    rows = await tx.rows(
        "SELECT accesses, heat FROM heat WHERE record_id = %s", (record_id,)
    )
    return (rows[0]["accesses"], rows[0]["heat"]) if rows else (0.0, 0.0)


@pytest.mark.parametrize(
    ("source", "weight"),
    [
        ("user", 1.0),
        ("agent", 1.0),
        ("unknown", 1.0),
        ("sync", 0.25),
        ("import", 0.25),
        ("sleep", 0.0),
    ],
)
async def test_touching_counts_by_source(
    database: db.Database, owner: callers.Caller, source: heat.Source, weight: float
) -> None:
    record_id = uuid4()
    async with database.transaction(owner) as tx:
        for times in range(1, 15):
            await heat.touch(tx, owner, record_id=record_id, source=source)
            accesses, warmth = await kept(tx, owner, record_id)
            assert accesses == pytest.approx(weight * times)
            assert warmth == pytest.approx(by_the_book(weight * times, 0, 0), abs=1e-6)
        rows = await tx.rows("SELECT source FROM heat")
        assert [row["source"] for row in rows] == ([source] if weight else [])


async def test_recomputing_is_the_formula(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    now = datetime.now().astimezone()
    cases = [
        (a, i, x)
        for a in (0.25, 1, 7.9, 8, 8.1, 12, 100)
        for i in (0, 1, 100, 4383, 8765, 9000)
        for x in (0, 5, 168, 2000)
    ]
    async with database.transaction(owner) as tx:
        for n, (a, i, x) in enumerate(cases):
            await tx.run(
                "INSERT INTO heat VALUES (%s, %s, %s, %s, %s, 'user', 0.5)",
                (
                    owner.user_id,
                    UUID(int=n),
                    a,
                    now - timedelta(hours=i),
                    now - timedelta(hours=x),
                ),
            )
    async with database.transaction(other) as tx:
        await tx.run(
            "INSERT INTO heat VALUES (%s, %s, 1, now() - interval '9 weeks', now(), 'user', 0.5)",
            (other.user_id, uuid4()),
        )
    async with database.transaction(owner) as tx:
        assert await heat.recompute(tx) == len(cases)
        drift = (await tx.value("SELECT now()") - now).total_seconds() / 3600
        for n, (a, i, x) in enumerate(cases):
            expected = heat.value(
                accesses=a,
                hours_since_increment=i + drift,
                hours_since_access=x + drift,
            )
            assert (await kept(tx, owner, UUID(int=n)))[1] == pytest.approx(
                expected, abs=1e-6
            ), (a, i, x)
    async with database.transaction(other) as tx:
        assert await tx.value("SELECT heat FROM heat") == 0.5


async def test_tiers(database: db.Database, owner: callers.Caller) -> None:
    async with database.transaction(owner) as tx:
        made = {}
        for times in (0, 1, 2, 3, 7, 8, 12):
            note = await base.create(tx, owner, notes.NOTES, {"content": str(times)})
            made[note.id] = times
            for _ in range(times):
                await heat.touch(tx, owner, record_id=note.id, source="user")
        tiers: dict[record_types.Tier, set[int]] = {}
        for tier in ("hot", "warm", "cold"):
            page = await base.find(tx, owner, notes.NOTES, tier=tier)
            tiers[tier] = {made[one.id] for one in page.items}
            assert page.total == len(page.items)
    # Hot is above 0.7 and warm above 0.2: two and seven touches are not enough.
    assert tiers == {"hot": {8, 12}, "warm": {3, 7, 8, 12}, "cold": {0, 1, 2}}


async def test_opening_warms_and_listing_does_not(
    database: db.Database, owner: callers.Caller
) -> None:
    async with database.transaction(owner) as tx:
        note = await base.create(tx, owner, notes.NOTES, {"content": "x"})
        await base.find(tx, owner, notes.NOTES)
        await bulk.fetch(tx, owner, notes.NOTES, [note.id])
        await base.get(tx, owner, notes.NOTES, note.id)
        assert await kept(tx, owner, note.id) == (0.0, 0.0)
        assert await base.read(tx, owner, notes.NOTES, note.id) == note
        assert await kept(tx, owner, note.id) == (1.0, 0.1)


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        ("user", "local", "user"),
        ("agent", "local", "agent"),
        ("machine", "local", "unknown"),
        ("user", "import", "import"),
        ("agent", "import:mbox", "import"),
        ("machine", "sync:caldav", "sync"),
    ],
)
def test_sources(kind: str, source: str, expected: str) -> None:
    assert heat.source_of(kind, source) == expected
