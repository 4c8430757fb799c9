"""The table of what may go where, and the log of what went."""

import itertools
from typing import Any, get_args

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.privacy import log, routing

Level = routing.Level
TABLE = {
    (Level.LOW, "cloud"): "sent_plain",
    (Level.NORMAL, "cloud"): "sent_plain",
    (Level.HIGH, "cloud"): "sent_pseudonymised",
    (Level.CRITICAL, "cloud"): "blocked",
    **{(level, "local"): "local" for level in Level},
}


def test_the_table() -> None:
    for level, place in itertools.product(Level, get_args(routing.Destination)):
        assert routing.decide(level, place) == TABLE[level, place]


def test_doubt_is_blocked() -> None:
    for level, place in (
        ("high", "cloud"),
        (None, "cloud"),
        (Level.LOW, "moon"),
        (Level.LOW, ""),
        (7, "cloud"),
    ):
        assert routing.decide(level, place) == "blocked"  # pyright: ignore[reportArgumentType]


def test_what_travels_together_is_as_private_as_its_most_private_part() -> None:
    def judge(text: str) -> Level:
        if text == "broken":
            raise RuntimeError
        return Level.HIGH if text == "a@b.c" else Level.LOW

    assert routing.level_of(["x", "y"], Level.NORMAL, judge=judge) is Level.NORMAL
    assert routing.level_of(["x", "a@b.c"], Level.LOW, judge=judge) is Level.HIGH
    assert routing.level_of(["x", "broken"], Level.LOW, judge=judge) is Level.CRITICAL
    assert (
        routing.level_of(["x", "y"], [Level.LOW, Level.CRITICAL], judge=judge)
        is Level.CRITICAL
    )
    assert routing.level_of([], Level.HIGH, judge=judge) is Level.HIGH
    assert (
        routing.level_of(["x"], Level.CRITICAL, judge=lambda _: Level.LOW)
        is Level.CRITICAL
    )


def entry(**more: Any) -> log.Entry:
    given: dict[str, Any] = {
        "feature": "test",
        "domain": "note",
        "record": None,
        "lane": "query",
        "level": Level.NORMAL,
        "action": "sent_plain",
        "destination": "cloud",
        "model": "openai:m",
        "tokens_in": 5,
    }
    return log.Entry(**{**given, **more})


async def test_the_summary(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    async with database.transaction(owner) as tx:
        for _ in range(3):
            number = await log.append(tx, owner, entry())
            await log.finish(
                tx, owner, number, outcome="done", tokens_in=10, tokens_out=4
            )
        await log.append(
            tx, owner, entry(action="sent_pseudonymised", level=Level.HIGH)
        )
        await log.append(
            tx,
            owner,
            entry(
                action="local",
                destination="local",
                model="ollama:x",
                level=Level.CRITICAL,
            ),
        )
        await log.append(
            tx,
            owner,
            entry(action="blocked", destination="", model="", level=Level.CRITICAL),
        )
        old = await log.append(tx, owner, entry())
        await tx.run(
            "UPDATE pii_routing_log SET at = at - interval '7 days' WHERE id = %s",
            (old,),
        )
        found = await log.summary(tx, owner, 7)
        assert (
            found.processed,
            found.plain,
            found.pseudonymised,
            found.local,
            found.blocked,
        ) == (6, 3, 1, 1, 1)
        assert found.sentence == (
            "this week: 6 processed, 3 plain, 1 pseudonymised, 1 blocked, 1 on this machine"
        )
        assert [
            (one.model, one.calls, one.failed, one.tokens_in, one.tokens_out)
            for one in found.models
        ] == [
            ("openai:m", 4, 1, 35, 12),
            ("ollama:x", 1, 1, 5, 0),
        ]
        assert (await log.summary(tx, owner, 30)).processed == 7
    async with database.transaction(other) as tx:
        assert (await log.summary(tx, other, 7)).processed == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": Level.CRITICAL},
        {"level": Level.HIGH},
        {"feature": "what Ana said"},
        {"domain": "Ana López"},
        {"destination": "moon"},
    ],
)
async def test_the_database_refuses_what_must_not_be(
    database: db.Database, owner: callers.Caller, wrong: dict[str, Any]
) -> None:
    with pytest.raises(errors.ReverieError):
        async with database.transaction(owner) as tx:
            await log.append(tx, owner, entry(**wrong))
