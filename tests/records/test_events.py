"""Events: a wall clock stays a wall clock, a local day stays a local day, and no
recurrence stops the house.
"""

import time
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.records import base, events, record_types

MADRID = ZoneInfo("Europe/Madrid")


async def kept(
    database: db.Database, caller: callers.Caller, **values: Any
) -> events.Event:
    async with database.transaction(caller) as tx:
        return await base.create(tx, caller, events.EVENTS, values)


def days_of(event: events.Event, first: str, last: str) -> list[str]:
    """When it takes place, in local time: `03-29 09:00`."""
    found = events.occurrences(
        event, date.fromisoformat(first), date.fromisoformat(last)
    )
    return [f"{one.start:%m-%d %H:%M}" for one in found]


@pytest.mark.parametrize(
    ("day", "before", "after"), [("2026-03-29", 1, 2), ("2026-10-25", 2, 1)]
)
async def test_the_clocks_change_and_nine_stays_nine(
    database: db.Database, owner: callers.Caller, day: str, before: int, after: int
) -> None:
    change = date.fromisoformat(day)
    start = datetime.combine(
        change - timedelta(days=2), datetime.min.time(), MADRID
    ).replace(hour=9)
    event = await kept(
        database,
        owner,
        title="Standup",
        start=start.isoformat(),
        end=(start + timedelta(minutes=15)).isoformat(),
        timezone="Europe/Madrid",
        recurrence="RRULE:FREQ=DAILY;COUNT=5",
    )
    found = list(
        events.occurrences(
            event, change - timedelta(days=3), change + timedelta(days=5)
        )
    )
    assert [one.start.strftime("%H:%M") for one in found] == ["09:00"] * 5
    hours = {one.day: one.start.utcoffset() for one in found}
    assert hours[change - timedelta(days=1)] == timedelta(hours=before)
    assert hours[change + timedelta(days=1)] == timedelta(hours=after)
    assert {one.end - one.start for one in found} == {timedelta(minutes=15)}
    assert {one.end.astimezone(UTC) - one.start.astimezone(UTC) for one in found} == {
        timedelta(minutes=15)
    }


async def test_a_night_shift_over_the_change_keeps_its_hours(
    database: db.Database, owner: callers.Caller
) -> None:
    event = await kept(
        database,
        owner,
        title="Nachtdienst",
        start="2026-03-27T22:00:00",
        end="2026-03-28T06:00:00",
        timezone="Europe/Berlin",
        recurrence="FREQ=DAILY;COUNT=3",
    )
    lengths = [
        one.end.astimezone(UTC) - one.start.astimezone(UTC)
        for one in events.occurrences(event, date(2026, 3, 27), date(2026, 3, 31))
    ]
    assert lengths == [timedelta(hours=8)] * 3


RULES = [
    ("RRULE:FREQ=DAILY;COUNT=3", ["03-01 09:00", "03-02 09:00", "03-03 09:00"]),
    ("FREQ=DAILY;UNTIL=20260303", ["03-01 09:00", "03-02 09:00", "03-03 09:00"]),
    # 07:59 UTC is 08:59 in Madrid: the third day's nine o'clock is after it.
    ("RRULE:FREQ=DAILY;UNTIL=20260303T075900Z", ["03-01 09:00", "03-02 09:00"]),
    (
        "RRULE:FREQ=DAILY;UNTIL=20260303T080000Z",
        ["03-01 09:00", "03-02 09:00", "03-03 09:00"],
    ),
    (
        "RRULE:FREQ=DAILY;COUNT=4\nEXDATE:20260302T080000Z",
        ["03-01 09:00", "03-03 09:00", "03-04 09:00"],
    ),
    (
        "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Europe/Madrid:20260302T090000\nRDATE;TZID=Asia/Singapore:20260305T200000",
        ["03-01 09:00", "03-03 09:00", "03-05 13:00"],
    ),
    ("RRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20260301,20260303", ["03-02 09:00"]),
    (
        "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3",
        ["03-02 09:00", "03-04 09:00", "03-09 09:00"],
    ),
    ("rrule:freq=weekly;interval=2;byday=su;count=2", ["03-01 09:00", "03-15 09:00"]),
    ("RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=2", ["03-31 09:00", "04-30 09:00"]),
    (
        "RRULE:FREQ=HOURLY;INTERVAL=8;COUNT=3",
        ["03-01 09:00", "03-01 17:00", "03-02 01:00"],
    ),
    ("RDATE:20260310T080000Z", ["03-10 09:00"]),
]


@pytest.mark.parametrize(
    ("recurrence", "expected"),
    RULES,
    ids=[rule.replace("\n", " ") for rule, _ in RULES],
)
async def test_rules(
    database: db.Database, owner: callers.Caller, recurrence: str, expected: list[str]
) -> None:
    event = await kept(
        database,
        owner,
        title="x",
        start="2026-03-01T09:00:00",
        timezone="Europe/Madrid",
        recurrence=recurrence,
    )
    assert days_of(event, "2026-01-01", "2026-06-01") == expected


@pytest.mark.parametrize(
    "recurrence",
    [
        "FREQ=DAILY",
        "FREQ=HOURLY;INTERVAL=5",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=TU,SU;WKST=SU",
        "FREQ=DAILY;INTERVAL=7;BYMONTH=1,3",
        "FREQ=MONTHLY;BYDAY=-1FR",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
        "RRULE:FREQ=DAILY;INTERVAL=2\nEXDATE:20260110T080000Z\nRDATE:20260111T150000Z",
    ],
)
async def test_old_events_recur_as_if_counted_from_their_start(
    database: db.Database, owner: callers.Caller, recurrence: str
) -> None:
    """A window far behind the start shows what counting through from the start shows."""
    event = await kept(
        database,
        owner,
        title="x",
        start="2021-01-07T09:00:00",
        timezone="Europe/Madrid",
        recurrence=recurrence,
    )
    whole = [
        one.start
        for one in events.occurrences(
            event, date(2021, 1, 1), date(2026, 4, 30), most=100_000
        )
    ]
    window = [
        one.start
        for one in events.occurrences(event, date(2026, 1, 1), date(2026, 4, 30))
    ]
    assert window == [one for one in whole if one.date() >= date(2026, 1, 1)]
    if "BYMONTHDAY=29" in recurrence:
        assert [one.date() for one in whole] == [date(2024, 2, 29)]
    else:
        assert window


async def test_a_daily_event_of_long_ago_is_quick(
    database: db.Database, owner: callers.Caller
) -> None:
    event = await kept(
        database,
        owner,
        title="bell",
        start="1970-01-01T08:30:00Z",
        recurrence="FREQ=HOURLY",
    )
    started = time.process_time()
    assert days_of(event, "2026-11-28", "2026-11-28") == [
        f"11-28 {hour:02d}:30" for hour in range(24)
    ]
    assert time.process_time() - started < 0.25


@pytest.mark.parametrize(
    "recurrence",
    [
        "nonsense",
        "FREQ=SOMETIMES",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=-1",
        "FREQ=DAILY;INTERVAL=x",
        "FREQ=SECONDLY",
        "FREQ=MINUTELY",
        "FREQ=DAILY;COUNT=x",
        "RRULE:FREQ=DAILY\nEXDATE:yesterday",
        "RRULE:FREQ=DAILY\nEXDATE:20269999",
        "DTSTART:20260101T000000Z",
        "RRULE:FREQ=DAILY\nEXDATE;TZID=Nowhere/Land:20260302T090000",
    ],
)
async def test_rules_that_are_refused(
    database: db.Database, owner: callers.Caller, recurrence: str
) -> None:
    with pytest.raises(errors.Invalid):
        await kept(
            database,
            owner,
            title="x",
            start="2026-03-01T09:00:00Z",
            recurrence=recurrence,
        )


ZONES = [
    "Pacific/Pago_Pago",
    "America/New_York",
    "UTC",
    "Europe/Madrid",
    "Asia/Kathmandu",
    "Pacific/Kiritimati",
]
OFFSETS = [f"{hours:+03d}:00" for hours in range(-11, 15)]


async def test_all_day_is_that_local_day_in_every_zone(
    database: db.Database, owner: callers.Caller
) -> None:
    async with database.transaction(owner) as tx:
        made = [
            await base.create(
                tx,
                owner,
                events.EVENTS,
                {
                    "title": name,
                    "start": "2026-11-30",
                    "timezone": name.replace("+00:00", "UTC"),
                },
            )
            for name in (*ZONES, *OFFSETS)
        ]
        there = await base.find(
            tx, owner, events.EVENTS, filters={"day": date(2026, 11, 30)}, limit=100
        )
        assert there.total == len(made) == 32
        for day in (date(2026, 11, 29), date(2026, 12, 1)):
            assert (
                await base.find(tx, owner, events.EVENTS, filters={"day": day})
            ).items == []
        for event in made:
            again = await base.get(tx, owner, events.EVENTS, event.id)
            assert (again.all_day, again.start_day, again.end_day) == (
                True,
                date(2026, 11, 30),
                date(2026, 11, 30),
            )
            form = record_types.as_json(events.EVENTS, again)
            assert (form["start"], form["end"]) == ("2026-11-30", "2026-12-01")
            assert events.EVENTS.line(again, again.created_at).startswith(
                "📅 all-day: "
            )
        agenda = await events.agenda(
            tx, owner, first=date(2026, 11, 30), last=date(2026, 11, 30)
        )
        assert {one.day for one in agenda} == {date(2026, 11, 30)}
        assert len(agenda) == 32


async def test_morning_in_the_east_belongs_to_that_local_day(
    database: db.Database, owner: callers.Caller
) -> None:
    event = await kept(
        database, owner, title="Flight", start="2026-12-01T07:10:00+08:00"
    )
    assert (event.timezone, event.start_day, event.start) == (
        "+08:00",
        date(2026, 12, 1),
        datetime(2026, 11, 30, 23, 10, tzinfo=UTC),
    )
    async with database.transaction(owner) as tx:
        agenda = await events.agenda(
            tx, owner, first=date(2026, 12, 1), last=date(2026, 12, 1)
        )
        assert [(one.event.id, one.day, f"{one.start:%H:%M%z}") for one in agenda] == [
            (event.id, date(2026, 12, 1), "07:10+0800")
        ]
        assert (
            await events.agenda(
                tx, owner, first=date(2026, 11, 30), last=date(2026, 11, 30)
            )
            == []
        )
    assert (
        record_types.as_json(events.EVENTS, event)["start"]
        == "2026-12-01T07:10:00+08:00"
    )
    assert events.EVENTS.line(event, event.created_at).startswith("07:10 Flight")


async def test_a_bare_time_is_in_the_given_zone_or_the_callers(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    given = await kept(
        database,
        owner,
        title="x",
        start="2026-07-01T09:00:00",
        timezone="America/New_York",
    )
    mine = await kept(database, owner, title="x", start="2026-07-01T09:00:00")
    theirs = await kept(database, other, title="x", start="2026-07-01T09:00:00")
    assert [one.start for one in (given, mine, theirs)] == [
        datetime(2026, 7, 1, hour, tzinfo=UTC) for hour in (13, 7, 1)
    ]


async def test_spans_of_several_days(
    database: db.Database, owner: callers.Caller
) -> None:
    trip = await kept(
        database, owner, title="Trip", start="2026-12-20", end="2026-12-24"
    )
    night = await kept(
        database,
        owner,
        title="Night train",
        start="2026-12-19T22:00",
        end="2026-12-20T07:00",
    )
    until = await kept(
        database,
        owner,
        title="Until midnight",
        start="2026-12-18T20:00",
        end="2026-12-19T00:00",
    )
    weekly = await kept(
        database,
        owner,
        title="Retreat",
        start="2026-12-04",
        end="2026-12-07",
        recurrence="FREQ=WEEKLY;COUNT=3",
    )
    assert (trip.start_day, trip.end_day) == (date(2026, 12, 20), date(2026, 12, 23))
    assert (night.start_day, night.end_day) == (date(2026, 12, 19), date(2026, 12, 20))
    assert until.end_day == date(2026, 12, 18)
    seen: dict[int, list[str]] = {}
    async with database.transaction(owner) as tx:
        for day in range(17, 26):
            one = date(2026, 12, day)
            seen[day] = [
                found.event.title
                for found in await events.agenda(tx, owner, first=one, last=one)
            ]
    retreat = {18: ["Retreat"], 19: ["Retreat"], 20: ["Retreat"]}
    assert seen == {
        17: [],
        18: [*retreat[18], "Until midnight"],
        19: ["Retreat", "Night train"],
        20: ["Retreat", "Night train", "Trip"],
        21: ["Trip"],
        22: ["Trip"],
        23: ["Trip"],
        24: [],
        25: [],
    }
    assert days_of(weekly, "2026-12-13", "2026-12-13") == ["12-11 00:00"]


async def test_agenda_is_in_order(database: db.Database, owner: callers.Caller) -> None:
    await kept(database, owner, title="late", start="2026-05-02T18:00:00")
    await kept(
        database,
        owner,
        title="daily",
        start="2026-04-01T08:00:00",
        recurrence="FREQ=DAILY",
    )
    await kept(database, owner, title="whole day", start="2026-05-02")
    await kept(database, owner, title="abroad", start="2026-05-02T00:30:00+02:00")
    gone = await kept(database, owner, title="deleted", start="2026-05-02T09:00:00")
    await kept(
        database,
        owner,
        title="cancelled",
        start="2026-05-02T09:00:00",
        status="cancelled",
    )
    async with database.transaction(owner) as tx:
        await base.delete(tx, owner, events.EVENTS, gone.id)
        found = await events.agenda(
            tx, owner, first=date(2026, 5, 2), last=date(2026, 5, 3)
        )
        assert [one.event.title for one in found] == [
            "whole day",
            "abroad",
            "daily",
            "late",
            "daily",
        ]
        assert (
            len(
                await events.agenda(
                    tx, owner, first=date(2026, 5, 1), last=date(2026, 5, 31), most=7
                )
            )
            == 7
        )
        with pytest.raises(errors.Invalid):
            await events.agenda(
                tx, owner, first=date(2026, 5, 2), last=date(2026, 5, 1)
            )
        everything = await events.agenda(tx, owner, first=date.min, last=date.max)
        assert everything[0].event.title == "daily"


async def test_updates_move_the_days(
    database: db.Database, owner: callers.Caller
) -> None:
    event = await kept(
        database,
        owner,
        title="x",
        start="2026-12-01T23:30:00+01:00",
        end="2026-12-02T00:30:00+01:00",
    )
    async with database.transaction(owner) as tx:
        moved = await base.update(
            tx, owner, events.EVENTS, event.id, {"timezone": "Asia/Tokyo"}
        )
        assert (moved.start, moved.start_day, moved.end_day) == (
            event.start,
            date(2026, 12, 2),
            date(2026, 12, 2),
        )
        whole = await base.update(
            tx, owner, events.EVENTS, event.id, {"start": "2026-12-05", "end": None}
        )
        assert (whole.all_day, whole.start_day, whole.timezone) == (
            True,
            date(2026, 12, 5),
            "Asia/Tokyo",
        )
        with pytest.raises(errors.Invalid, match="ends before it starts"):
            await base.update(
                tx,
                owner,
                events.EVENTS,
                event.id,
                {"end": "2026-11-01T00:00:00Z", "all_day": False},
            )


@pytest.mark.parametrize(
    "values",
    [
        {"start": "0001-01-01T00:00:00+14:00"},
        {"start": "9999-12-31"},
        {"start": "9999-12-31T23:00:00-11:00"},
        {"start": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"},
        {"start": "2026-01-01", "timezone": "+99:99"},
        {"start": "2026-01-01", "timezone": "../../etc/passwd"},
        {"start": "2026-13-01"},
        {"title": "no start"},
    ],
)
async def test_what_has_no_place_in_a_calendar(
    database: db.Database, owner: callers.Caller, values: dict[str, Any]
) -> None:
    with pytest.raises(errors.Invalid):
        await kept(database, owner, **({"title": "x"} | values))
