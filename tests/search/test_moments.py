"""The signal of time, against the real PostgreSQL: days of records, of turns, and
sessions in their order.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import pytest_asyncio

from reverie import db
from reverie.access import callers
from reverie.records import base, chats, diary, notes
from reverie.search import query as queries
from reverie.search import temporal
from reverie.search.dates import timewords

NOW = datetime(2026, 9, 16, 10, 0, tzinfo=UTC)


class Life:
    """Some chats and notes of one person, by name."""

    def __init__(self, database: db.Database, caller: callers.Caller) -> None:
        self.database = database
        self.caller = caller
        self.names: dict[UUID, str] = {}

    async def chat(
        self, name: str, started: datetime | None, *said: tuple[str, str, str | None]
    ) -> None:
        """A chat; of each turn the speaker, the text and the time."""
        turns = [
            {"id": f"{n}", "speaker": s, "text": t, "at": at}
            for n, (s, t, at) in enumerate(said, start=1)
        ]
        async with self.database.transaction(self.caller) as tx:
            values = {"title": name, "started": started, "turns": turns}
            self.names[(await base.create(tx, self.caller, chats.CHATS, values)).id] = (
                name
            )

    async def find(self, text: str, **more: object) -> list[str]:
        """The names of the records of the time that a question speaks of, a passage
        each, in order.
        """
        when = timewords.read(text, now=NOW, timezone=self.caller.timezone)
        assert when is not None
        query = queries.Query(text=text, **more)  # pyright: ignore[reportArgumentType]
        async with self.database.transaction(self.caller) as tx:
            found = await temporal.retrieve(tx, self.caller, query, when)
        assert all(0 < one.score <= 1 for one in found)
        assert found == sorted(found, key=lambda one: -one.score)
        return [self.names[one.record_id] for one in found]


@pytest_asyncio.fixture
async def life(database: db.Database, owner: callers.Caller) -> Life:
    made = Life(database, owner)
    await made.chat(
        "Ana 1",
        datetime(2026, 9, 1, 9, tzinfo=UTC),
        ("Ana", "Hola", None),
        ("Berta", "Buenas", None),
    )
    await made.chat(
        "Bob 1",
        datetime(2026, 9, 8, 9, tzinfo=UTC),
        ("Bob", "Hello", None),
        ("Berta", "Hi", None),
    )
    # 23:30 in Madrid on the 14th is still the 14th there; 22:30 UTC is already the
    # 15th.
    await made.chat(
        "Ana 2", datetime(2026, 9, 14, 22, 30, tzinfo=UTC), ("Ana", "Otra vez", None)
    )
    await made.chat(
        "Ana 3", datetime(2026, 9, 16, 8, tzinfo=UTC), ("Ana", "Tercera", None)
    )
    return made


async def test_days_in_the_users_zone(life: Life) -> None:
    assert await life.find("what did we discuss yesterday") == ["Ana 2"]
    assert await life.find("what did we discuss last Monday") == []
    assert await life.find("last week") == ["Bob 1", "Bob 1"]
    assert await life.find("this month") == [
        "Ana 1",
        "Ana 1",
        "Bob 1",
        "Bob 1",
        "Ana 2",
        "Ana 3",
    ]
    assert await life.find("before September 5th") == ["Ana 1", "Ana 1"]
    assert await life.find("since yesterday") == ["Ana 2", "Ana 3"]


async def test_a_turn_has_its_own_time(life: Life) -> None:
    await life.chat(
        "long",
        datetime(2026, 3, 1, tzinfo=UTC),
        ("Eva", "March", "2026-03-01T10:00:00+00:00"),
        ("Eva", "April at night", "2026-03-31T23:30:00Z"),  # in Madrid it is April
        (
            "Eva",
            "local",
            "2026-05-05T23:59:00",
        ),  # without an offset it is the user's own time
        ("Eva", "a day", "2026-06-01"),
        ("Eva", "no time at all", "soon after"),
        ("Eva", "July", "2026-07-07T10:00:00+02:00"),
    )
    assert (
        len(await life.find("in March 2026")) == 2
    )  # with the turn whose time says nothing
    assert len(await life.find("in April 2026")) == 1
    assert len(await life.find("on May 5th 2026")) == 1
    assert len(await life.find("on June 1st 2026")) == 1
    assert len(await life.find("in July 2026")) == 1
    assert (
        await life.find("in February 2026") == await life.find("in August 2026") == []
    )


async def test_a_long_count_may_be_a_day_off(life: Life) -> None:
    assert await life.find("15 days ago") == ["Ana 1", "Ana 1"]
    assert await life.find("16 days ago") == ["Ana 1", "Ana 1"]
    assert await life.find("2 days ago") == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("our first session", ["Ana 1"]),
        ("nuestra segunda sesión", ["Bob 1"]),
        ("unsere dritte Sitzung", ["Ana 2"]),
        ("the last session", ["Ana 3"]),
        ("two sessions ago", ["Ana 2"]),
        ("sessions 2 through 3", ["Bob 1", "Ana 2"]),
        ("the last two sessions", ["Ana 2", "Ana 3"]),
        ("our ninth session", []),
        ("9 sessions ago", []),
        ("what did Ana and I discuss in our second session", ["Ana 2"]),
        ("what did bob and I discuss in our first session", ["Bob 1"]),
        ("what did we say about the roof in our second session", ["Bob 1"]),
    ],
)
async def test_sessions(life: Life, text: str, names: list[str]) -> None:
    assert list(dict.fromkeys(await life.find(text))) == names


async def test_other_records_have_the_time_of_their_own(life: Life) -> None:
    async with life.database.transaction(life.caller) as tx:
        entry = await base.create(
            tx,
            life.caller,
            diary.DIARY,
            {"date": "2026-08-01", "content": "Domingo de playa"},
        )
        note = await base.create(
            tx, life.caller, notes.NOTES, {"title": "Today's", "content": "A thought"}
        )
    life.names |= {entry.id: "diary", note.id: "note"}
    assert await life.find("in August") == ["diary"]
    assert await life.find("in August", domains=("chat",)) == []
    assert (
        await life.find("in August", first=datetime(2026, 8, 2, tzinfo=UTC).date())
        == []
    )


async def test_only_among_some(life: Life) -> None:
    when = timewords.read("this month", now=NOW, timezone=life.caller.timezone)
    assert when is not None
    query = queries.Query(text="this month")
    async with life.database.transaction(life.caller) as tx:
        found = await temporal.retrieve(tx, life.caller, query, when)
        some = [one.passage_id for one in found[:2]]
        assert (
            len(await temporal.retrieve(tx, life.caller, query, when, within=some)) == 2
        )
        assert await temporal.retrieve(tx, life.caller, query, when, within=[]) == []
        assert len(await temporal.retrieve(tx, life.caller, query, when, depth=3)) == 3


async def test_every_record_begins_before_any_goes_on(life: Life) -> None:
    await life.chat(
        "flood",
        NOW - timedelta(hours=3),
        *[("Eva", f"turn {n}", None) for n in range(300)],
    )
    names = await life.find("this month")
    assert len(names) == 100
    assert set(names) == {"Ana 1", "Bob 1", "Ana 2", "Ana 3", "flood"}


async def test_nobody_elses(life: Life, other: callers.Caller) -> None:
    stranger = Life(life.database, other)
    assert (
        await stranger.find("this month")
        == await stranger.find("our first session")
        == []
    )
