"""Calendars, cards and the marks of a browser, from small inputs written here."""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from dateutil import rrule

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.formats import bookmarks, contentlines, ics, vcf


def every(items: Iterable[Any]) -> list[Any]:
    """What a reader yields, not yet told apart: each test says what it expects."""
    return list(items)


def source(data: bytes | str, name: str = "x") -> drafts.SourceFile:
    raw = data if isinstance(data, bytes) else data.encode()
    return drafts.SourceFile(
        Path("/x") / name,
        PurePosixPath(name),
        raw,
        False,
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )


def calendar(*bodies: str) -> list[Any]:
    text = "\n".join(["BEGIN:VCALENDAR", "X-WR-CALNAME:Work", *bodies, "END:VCALENDAR"])
    return list(ics.read(source(text)))


def event(*lines: str, uid: str = "1") -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT"])


def test_a_plain_event() -> None:
    (draft,) = calendar(
        event(
            "SUMMARY:Stand\\, up\\nnow",
            "DTSTART;TZID=Europe/Berlin:20240105T090000",
            "DTEND;TZID=Europe/Berlin:20240105T093000",
            "STATUS:TENTATIVE",
            "CATEGORIES:a,b\\,c",
            "ORGANIZER;CN=Ana:mailto:ana@x.org",
            'ATTENDEE;CN="Doe, Jo";PARTSTAT=ACCEPTED;ROLE=CHAIR:MAILTO:jo@x.org',
            "GEO:1.5;2.5",
            "BEGIN:VALARM",
            "TRIGGER:-PT1H30M",
            "END:VALARM",
            "BEGIN:VALARM",
            "TRIGGER;RELATED=END:PT0S",
            "END:VALARM",
        )
    )
    assert draft.key == "uid:1"
    assert draft.fields["title"] == "Stand, up\nnow"
    assert draft.fields["start"] == dt.datetime(
        2024, 1, 5, 9, tzinfo=ZoneInfo("Europe/Berlin")
    )
    assert draft.fields["timezone"] == "Europe/Berlin"
    assert draft.fields["calendar"] == "Work"
    assert draft.fields["status"] == "tentative"
    assert draft.fields["reminders"] == [-30, 90]
    assert draft.fields["attendees"] == [
        {"name": "Ana", "email": "ana@x.org", "role": "organizer"},
        {"name": "Doe, Jo", "email": "jo@x.org", "status": "accepted", "role": "chair"},
    ]
    assert draft.fields["custom"]["categories"] == ["a", "b,c"]
    assert draft.fields["custom"]["geo"] == "1.5,2.5"


def test_duration_and_all_day() -> None:
    timed, whole, days, night = calendar(
        event("DTSTART:20240105T090000Z", "DURATION:PT90M", uid="1"),
        event("DTSTART;VALUE=DATE:20240105", uid="2"),
        event("DTSTART;VALUE=DATE:20240105", "DTEND;VALUE=DATE:20240108", uid="3"),
        event("DTSTART;TZID=Europe/Berlin:20240330T220000", "DURATION:PT8H", uid="4"),
    )
    assert timed.fields["end"] == dt.datetime(2024, 1, 5, 10, 30, tzinfo=dt.UTC)
    assert (whole.fields["all_day"], whole.fields["end"]) == (True, dt.date(2024, 1, 6))
    assert days.fields["end"] == dt.date(2024, 1, 8)
    assert (
        night.fields["end"].isoformat() == "2024-03-31T07:00:00+02:00"
    )  # eight hours over the change of clocks


@pytest.mark.parametrize(
    ("tzid", "zone", "offset"),
    [
        ("W. Europe Standard Time", "Europe/Berlin", 1),
        ("/mozilla.org/20050126_1/Europe/Berlin", "Europe/Berlin", 1),
        ('"(GMT +08:00)"', "+08:00", 8),
        ("Nowhere", "+03:00", 3),
        ("Unknown Zone", None, None),
    ],
)
def test_zones(tzid: str, zone: str | None, offset: int | None) -> None:
    own = (
        "BEGIN:VTIMEZONE\nTZID:Nowhere\nBEGIN:STANDARD\nDTSTART:16010101T000000\n"
        "TZOFFSETFROM:+0300\nTZOFFSETTO:+0300\nEND:STANDARD\nEND:VTIMEZONE"
    )
    draft, *told = calendar(own, event(f"DTSTART;TZID={tzid}:20240105T090000"))
    assert [remark.text for remark in told] == (
        []
        if zone
        else [
            "the time zone 'Unknown Zone' is not known: its times stay local times",
        ]
    )
    assert draft.fields.get("timezone") == zone
    assert draft.fields["start"].utcoffset() == (
        dt.timedelta(hours=offset) if offset else None
    )


def test_a_floating_time_stays_floating() -> None:
    (draft,) = calendar(event("DTSTART:20240105T090000"))
    assert draft.fields["start"] == dt.datetime(2024, 1, 5, 9)  # noqa: DTZ001
    assert "timezone" not in draft.fields


def occurrences(draft: Any) -> list[str]:
    start = draft.fields["start"]
    start = (
        start
        if isinstance(start, dt.datetime)
        else dt.datetime.combine(start, dt.time())
    )
    rule: Any = rrule.rrulestr(draft.fields["recurrence"], dtstart=start)
    return [f"{moment:%m%dT%H}" for moment in rule[:20]]


def test_recurrence_reads_with_dateutil() -> None:
    (draft,) = calendar(
        event(
            "DTSTART;TZID=Europe/Berlin:20240325T090000",
            "RRULE:FREQ=WEEKLY;UNTIL=20240415",
            "RRULE:FREQ=DAILY;COUNT=2",
            "RDATE;TZID=Europe/Berlin:20240501T090000,20240502T090000",
            "EXDATE;VALUE=DATE:20240408",
        )
    )
    assert draft.fields["recurrence"].count("RRULE:") == 2
    assert occurrences(draft) == [
        "0325T09",
        "0326T09",
        "0401T09",
        "0415T09",
        "0501T07",
        "0502T07",
    ]
    (draft,) = calendar(
        event(
            "DTSTART;VALUE=DATE:20240101",
            "RRULE:FREQ=DAILY;UNTIL=20240104",
            "EXDATE;VALUE=DATE:20240102",
        )
    )
    assert occurrences(draft) == ["0101T00", "0103T00", "0104T00"]


def test_an_overridden_occurrence_is_an_event_of_its_own() -> None:
    master, changed = calendar(
        event("DTSTART:20240101T090000Z", "RRULE:FREQ=DAILY;COUNT=3"),
        event(
            "DTSTART:20240102T150000Z",
            "RECURRENCE-ID:20240102T090000Z",
            "SUMMARY:later",
        ),
    )
    assert occurrences(master) == ["0101T09", "0103T09"]
    assert changed.key == "uid:1/20240102T090000Z"
    assert changed.fields["custom"]["recurrence_id"] == "20240102T090000Z"


def test_a_broken_event_is_skipped_and_the_rest_read() -> None:
    items = calendar(
        event("DTSTART:yesterday", uid="1"),
        event("SUMMARY:no start", uid="2"),
        event(
            "DTSTART:20240101T090000Z",
            "DTEND:never",
            "RRULE:FREQ=SOMETIMES",
            "nonsense",
            uid="3",
        ),
    )
    # An event that nobody can place is a note, with what it says of its start.
    undated, told, unnamed = items[:3]
    assert (undated.domain, undated.fields["content"]) == (
        "note",
        "Start as it is written: yesterday",
    )
    assert told.text == "uid:1: set aside, start: yesterday"
    assert unnamed.reason == "VEVENT: no start time (no start)"
    custom = items[3].fields["custom"]
    assert custom["broken_end"].startswith("never")
    assert custom["broken_recurrence"]
    assert custom["broken_lines"] == ["nonsense"]


def test_the_newer_of_two_versions_is_kept() -> None:
    old, new = calendar(
        event("DTSTART:20240101T090000Z", "SEQUENCE:1"),
        event("DTSTART:20240102T090000Z", "SEQUENCE:2"),
    )
    assert isinstance(old, drafts.Skip)
    assert new.fields["start"].day == 2


def test_a_calendar_cut_off() -> None:
    items = every(
        ics.read(
            source(
                "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20240101T090000Z\nSUMMARY:he"
            )
        )
    )
    assert items[0].fields["title"] == "he"


def test_tasks_and_journals() -> None:
    task, journal, busy = calendar(
        "BEGIN:VTODO\nUID:t\nSUMMARY:Pay\nDUE:20240105T170000Z\nPRIORITY:1\nSTATUS:COMPLETED\n"
        "COMPLETED:20240104T080000Z\n"
        "CATEGORIES:home\nEND:VTODO",
        "BEGIN:VJOURNAL\nUID:j\nSUMMARY:Day\nDESCRIPTION:It was good\nEND:VJOURNAL",
        "BEGIN:VFREEBUSY\nUID:f\nEND:VFREEBUSY",
    )
    assert task.domain == "task"
    assert task.fields["due"] == dt.date(2024, 1, 5)
    assert (task.fields["priority"], task.fields["column"], task.fields["board"]) == (
        "high",
        "done",
        "Work",
    )
    assert task.fields["completed_at"] == dt.datetime(2024, 1, 4, 8, tzinfo=dt.UTC)
    assert (journal.domain, journal.fields["content"]) == ("note", "It was good")
    assert isinstance(busy, drafts.Skip)


def card(*lines: str) -> Any:
    item, *told = vcf.read(
        source("\r\n".join(["BEGIN:VCARD", *lines, "END:VCARD"]).encode("latin-1"))
    )
    assert all(isinstance(remark, drafts.Remark) for remark in told)
    return item


def test_card_2_1_with_quoted_printable_and_charset() -> None:
    draft = card(
        "VERSION:2.1",
        "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg;;;",
        "FN;CHARSET=ISO-8859-1;QUOTED-PRINTABLE:J=F6rg M=FC=\r\nller",
        "TEL;CELL;VOICE:+49 170 1",
        "EMAIL;INTERNET;PREF:j@x.de",
        "NOTE;ENCODING=QUOTED-PRINTABLE:one=0D=0Atwo",
        "PHOTO;ENCODING=BASE64;JPEG:",
        " aGVsbG8=",
        "",
        "ORG;CHARSET=ISO-8859-1:Caf\xe9;Sales",
    )
    assert draft.fields["display_name"] == "Jörg Müller"
    assert (draft.fields["given"], draft.fields["family"]) == ("Jörg", "Müller")
    assert draft.fields["phones"] == ["+49 170 1"]
    assert draft.fields["notes"] == "one\ntwo"
    assert draft.fields["company"] == "Café"
    assert draft.fields["custom"]["photo"]["size"] == 5
    assert draft.key == "name:Jörg Müller|j@x.de"


def test_card_3_0_grouped_and_folded() -> None:
    draft = card(
        "VERSION:3.0",
        "UID:7",
        "FN:Ana",
        "item1.TEL;TYPE=pref:+34 1",
        "item1.X-ABLabel:_$!<Assistant>!$_",
        "ADR;TYPE=HOME:;;Calle\\nMayor 1;Madrid;;28001;España".encode().decode(
            "latin-1"
        ),
        "BDAY:1604-04-15",
        "NICKNAME:A,B",
    )
    assert draft.key == "uid:7"
    assert draft.fields["custom"]["labels"] == {"+34 1": "Assistant"}
    assert draft.fields["address"] == "Calle, Mayor 1, 28001 Madrid, España"
    assert draft.fields["custom"]["nicknames"] == ["A", "B"]


@pytest.mark.parametrize(
    ("line", "birthday", "custom"),
    [
        ("BDAY:19960415", dt.date(1996, 4, 15), None),
        ("BDAY:1996-04-15T10:00:00Z", dt.date(1996, 4, 15), None),
        ("BDAY:--0415", None, "--04-15"),
        ("BDAY;X-APPLE-OMIT-YEAR=1604:1604-04-15", None, "--04-15"),
        ("BDAY;VALUE=text:circa 1800", None, "circa 1800"),
        ("BDAY:1996-02-31", None, "1996-02-31"),
    ],
)
def test_birthdays(line: str, birthday: dt.date | None, custom: str | None) -> None:
    fields = card("VERSION:4.0", "FN:A", line).fields
    assert fields.get("birthday") == birthday
    assert fields.get("custom", {}).get("birthday") == custom


def test_several_cards() -> None:
    one = "BEGIN:VCARD\nFN:A\nTEL:1\nEND:VCARD\n"
    items = list(
        vcf.read(
            source(
                one
                + one
                + one.replace("TEL:1", "TEL:1\nNOTE:x")
                + "BEGIN:VCARD\nTEL:\nEND:VCARD"
            )
        )
    )
    assert [type(item).__name__ for item in items] == ["Draft", "Skip", "Draft", "Skip"]
    assert items[0].key != items[2].key


def test_not_a_card() -> None:
    with pytest.raises(errors.Unreadable):
        list(vcf.read(source("hello")))


def test_a_fold_may_cut_a_letter_in_two() -> None:
    data = "SUMMARY:aü".encode()
    unfolded = next(contentlines.unfold(data[:-1] + b"\r\n " + data[-1:]))
    line = contentlines.parse(unfolded)
    assert line is not None
    assert line.text == "aü"


def test_bookmarks() -> None:
    text = """<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>
    <DT><H3>Dev &amp; co</H3><DD>about the folder
    <DL><p><DT><H3>Deep</H3><DL><p>
        <DT><A HREF="https://a.org/?x=1&amp;y=2" ADD_DATE="1460294956000000"
        TAGS="one,two words">A &lt;b&gt;</A>
        <DD>first line
    second</DL><p></DL><p>
    <DT><A HREF="javascript:alert(1)">script</A>
    <DT><A HREF="https://b.org">B</A>
    <DT><A HREF="https://b.org">B again</A></DL>"""
    first, script, second, again = every(bookmarks.read(source(text)))
    assert first.fields["url"] == "https://a.org/?x=1&y=2"
    assert first.fields["folder"] == "Dev & co/Deep"
    assert first.fields["tags"] == ["one", "two words"]
    assert first.fields["title"] == "A <b>"
    assert first.fields["excerpt"] == "first line\n    second"
    assert first.fields["custom"]["created"] == "2016-04-10T13:29:16+00:00"
    assert script.reason == "a script, not a page"
    assert "folder" not in second.fields
    assert isinstance(again, drafts.Skip)
