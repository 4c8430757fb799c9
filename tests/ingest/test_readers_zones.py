"""Zones, rules and lines of calendars as strangers' programs write them; right values
by hand.
"""

import datetime as dt
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from reverie.ingest import drafts
from reverie.ingest.formats import ics, vcf
from tests.ingest.test_report_calendars import Visitor, visitor

__all__ = ["visitor"]


def source(text: str) -> drafts.SourceFile:
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return drafts.SourceFile(
        Path("/x/x"), PurePosixPath("x"), text.encode(), False, moment
    )


def calendar(*parts: str) -> list[Any]:
    text = "\n".join(["BEGIN:VCALENDAR", *parts, "END:VCALENDAR"])
    return list(ics.read(source(text)))


def event(*lines: str) -> str:
    return "\n".join(["BEGIN:VEVENT", "UID:1", "SUMMARY:Talk", *lines, "END:VEVENT"])


def zone(name: str, standard: str, daylight: str = "") -> str:
    """A VTIMEZONE of one or two periods: from, to, start and rule of each."""
    lines = ["BEGIN:VTIMEZONE", f"TZID:{name}"]
    for kind, period in (("STANDARD", standard), ("DAYLIGHT", daylight)):
        if period:
            before, after, start, *rule = period.split()
            lines += [
                f"BEGIN:{kind}",
                f"TZOFFSETFROM:{before}",
                f"TZOFFSETTO:{after}",
                f"DTSTART:{start}",
                *(f"RRULE:{part}" for part in rule),
                f"END:{kind}",
            ]
    return "\n".join([*lines, "END:VTIMEZONE"])


@pytest.mark.parametrize(
    ("tzid", "start"),
    [
        ('"(UTC-05:00) Eastern Time (US & Canada)"', "2026-07-14T09:00:00-04:00"),
        ('"(GMT-08:00) Pacific Time (US & Canada)"', "2026-07-14T09:00:00-07:00"),
        ('"(UTC+00:00) Dublin, Edinburgh, Lisbon, London"', "2026-07-14T09:00:00+01:00"),
        ('"(UTC) Coordinated Universal Time"', "2026-07-14T09:00:00+00:00"),
        ('"(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi"', "2026-07-14T09:00:00+05:30"),
        ('"(UTC+09:00) Osaka, Sapporo, Tokyo"', "2026-07-14T09:00:00+09:00"),
        ('"(UTC+01:00) Bruselas, Copenhague, Madrid, París"', "2026-07-14T09:00:00+02:00"),
        ('"(UTC+01:00) Amsterdam, Berlin, Bern, Rom, Stockholm, Wien"', "2026-07-14T09:00:00+02:00"),
        ("Romance Standard Time", "2026-07-14T09:00:00+02:00"),
        ("Eastern", "2026-07-14T09:00:00-04:00"),
        ("W. Europe", "2026-07-14T09:00:00+02:00"),
        ("/freeassociation.sourceforge.net/Europe/Berlin", "2026-07-14T09:00:00+02:00"),
        ("tzone://Microsoft/Utc", "2026-07-14T09:00:00+00:00"),
        ("(UTC+01:00) Belgrade, Budapest", "2026-07-14T09:00:00+02:00"),
        ("GMT+0200", "2026-07-14T09:00:00+02:00"),
        ("Custom/Of My Own", "2026-07-14T09:00:00"),
    ],
)  # fmt: skip
def test_names_of_zones(tzid: str, start: str) -> None:
    draft = calendar(event(f"DTSTART;TZID={tzid}:20260714T090000"))[0]
    assert draft.fields["start"].isoformat() == start


EU = (
    "+0200 +0100 19701025T030000 FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU",
    "+0100 +0200 19700329T020000 FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU",
)
US = (
    "-0400 -0500 20071104T020000 FREQ=YEARLY;BYMONTH=11;BYDAY=1SU",
    "-0500 -0400 20070311T020000 FREQ=YEARLY;BYMONTH=3;BYDAY=2SU",
)


@pytest.mark.parametrize(
    ("definition", "tzid", "local", "offset", "name"),
    [
        # The clock of the file, whatever the name says.
        (EU, "Europe/Berlin", "20260714T090000", 2, "Europe/Berlin"),
        (US, "Europe/Berlin", "20260714T090000", -4, "America/New_York"),
        (EU, "UTC", "20260114T090000", 1, "Europe/Berlin"),
        (("+0530 +0530 16010101T000000",), "UTC", "20260714T090000", 5.5, "+05:30"),
        # Before its first change the definition says nothing: the name does.
        (US, "America/New_York", "20060714T090000", -4, "America/New_York"),
        # One year of changes and no rule: five years later the name counts.
        (
            ("+0200 +0100 20211031T030000", "+0100 +0200 20210328T020000"),
            "Europe/Berlin",
            "20260714T090000",
            2,
            "Europe/Berlin",
        ),
        # The hour that the clock leaves out, and the one that comes twice.
        (EU, "Mine", "20260329T023000", 1, "Europe/Berlin"),
        (EU, "Mine", "20261025T023000", 2, "Europe/Berlin"),
    ],
)
def test_definitions(
    definition: tuple[str, ...], tzid: str, local: str, offset: float, name: str
) -> None:
    draft = calendar(zone(tzid, *definition), event(f"DTSTART;TZID={tzid}:{local}"))[0]
    assert draft.fields["start"].utcoffset() == dt.timedelta(hours=offset)
    assert draft.fields["timezone"] == name


async def test_a_series_in_a_zone_that_is_nobodys(visitor: Visitor) -> None:
    """Clocks that change on the second Sunday of May and the third of September."""
    own = zone(
        "Kiln Time",
        "+0430 +0330 19700920T030000 FREQ=YEARLY;BYMONTH=9;BYDAY=3SU",
        "+0330 +0430 19700510T020000 FREQ=YEARLY;BYMONTH=5;BYDAY=2SU",
    )
    text = event(
        "DTSTART;TZID=Kiln Time:20260914T090000",
        "DTEND;TZID=Kiln Time:20260914T100000",
        "RRULE:FREQ=WEEKLY;COUNT=3",
        "EXDATE;TZID=Kiln Time:20260921T090000",
    )
    await visitor.read("own.ics", f"BEGIN:VCALENDAR\n{own}\n{text}\nEND:VCALENDAR\n")
    assert await visitor.agenda("2026-09-01", "2026-10-31") == [
        "Talk 2026-09-14T09:00:00+04:30",
        "Talk 2026-09-28T09:00:00+03:30",
    ]


@pytest.mark.parametrize(
    ("rule", "kept", "aside"),
    [
        ("FREQ=WEEKLY;BYDAY=MO,XX,FR", "FREQ=WEEKLY;BYDAY=MO,FR", "BYDAY=MO,XX,FR"),
        ("freq=daily;count=0", "FREQ=DAILY", "count=0"),
        ("FREQ=MONTHLY;BYMONTHDAY=32,1", "FREQ=MONTHLY;BYMONTHDAY=1", "BYMONTHDAY=32,1"),
        ("FREQ=YEARLY;BYMONTH=13", "FREQ=YEARLY", "BYMONTH=13"),
        ("FREQ=WEEKLY;X-OWN=1", "FREQ=WEEKLY", "X-OWN=1"),
        ("FREQ=WEEKLY;UNTIL=whenever", "FREQ=WEEKLY", "UNTIL=whenever"),
        ("FREQ=DAILY;COUNT=9;UNTIL=20260715T235959Z", "FREQ=DAILY;UNTIL=20260715T235959Z", "COUNT=9"),
        ("FREQ=SECONDLY", None, "FREQ=SECONDLY"),
        ("INTERVAL=2", None, "INTERVAL=2"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", None, "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
        ("FREQ=DAILY;UNTIL=20200101T000000Z", None, "FREQ=DAILY;UNTIL=20200101T000000Z"),
    ],
)  # fmt: skip
def test_broken_rules(rule: str, kept: str | None, aside: str) -> None:
    draft, remark = calendar(event("DTSTART:20260714T090000Z", f"RRULE:{rule}"))
    assert draft.fields.get("recurrence") == (f"RRULE:{kept}" if kept else None)
    assert remark.text == f"Talk: set aside, recurrence: {aside}"


def test_one_broken_date_of_a_list() -> None:
    draft, remark = calendar(
        event(
            "DTSTART:20260714T090000Z",
            "RRULE:FREQ=DAILY;COUNT=3",
            "EXDATE:20260715T090000Z,2026-99-99,20260716T090000Z",
        )
    )
    assert draft.fields["recurrence"].splitlines()[1:] == [
        "EXDATE:20260715T090000Z",
        "EXDATE:20260716T090000Z",
    ]
    assert remark.text == "Talk: set aside, recurrence: EXDATE:2026-99-99"


@pytest.mark.parametrize(
    ("line", "start", "remarks"),
    [
        ("DTSTART:20260714T240000Z", "2026-07-15T00:00:00+00:00", 0),
        ("DTSTART:20260714T256100Z", "2026-07-14", 1),
        ("DTSTART:2026-07-14t09:00:00z", "2026-07-14T09:00:00+00:00", 0),
        ("DTSTART : 20260714T090000Z", "2026-07-14T09:00:00+00:00", 0),
        ("dtstart;value=date:20260714", "2026-07-14", 0),
    ],
)
def test_odd_starts(line: str, start: str, remarks: int) -> None:
    draft, *told = calendar(event(line))
    assert draft.fields["start"].isoformat() == start
    assert len(told) == remarks


def test_lines_that_lack_their_quotes() -> None:
    draft = calendar(
        event(
            "DTSTART:20260714T090000Z",
            "ATTENDEE;CN=Team: Kiln;ROLE=CHAIR:mailto:kiln@example.org",
            'ATTENDEE;CN=Bob "Bo" Lee:mailto:bo@example.org',
            "DESCRIPTION:first\x00 second",
        )
    )[0]
    people = [(person["name"], person["email"]) for person in draft.fields["attendees"]]
    assert people == [
        ("Team: Kiln", "kiln@example.org"),
        ('Bob "Bo" Lee', "bo@example.org"),
    ]
    assert draft.fields["description"] == "first second"


def test_a_card_with_broken_parts() -> None:
    card = "BEGIN:VCARD\nFN:Ana\x00 Gil\nBDAY:1985-02-31\nno property\nTEL:+34 1\nEND:VCARD"
    contact, *told = list(vcf.read(source(card)))
    assert isinstance(contact, drafts.Draft)
    assert (contact.fields["display_name"], contact.fields["phones"]) == (
        "Ana Gil",
        ["+34 1"],
    )
    assert [remark.text for remark in told if isinstance(remark, drafts.Remark)] == [
        "Ana Gil: set aside, birthday: 1985-02-31",
        "Ana Gil: set aside, lines: no property",
    ]
