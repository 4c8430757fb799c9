"""Readers of calendars, cards and tables take no more than n log n: doubling the input
takes at most 2.6 times the CPU.
"""

import datetime as dt
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from reverie.ingest import drafts
from reverie.ingest.formats import ics, table, vcf
from tests import growth

_ZONE = (
    "BEGIN:VTIMEZONE\nTZID:Kiln\nBEGIN:STANDARD\nDTSTART:20001029T030000\n"
    "TZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\n"
    "BEGIN:DAYLIGHT\nDTSTART:20000326T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n"
    "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\nEND:DAYLIGHT\nEND:VTIMEZONE\n"
)
_DAY = dt.date(2026, 1, 1)


def _event(*lines: str) -> str:
    return "\n".join(
        ["BEGIN:VEVENT", "UID:1", "DTSTART:20260101T090000Z", *lines, "END:VEVENT"]
    )


def _calendar(body: str) -> bytes:
    return f"BEGIN:VCALENDAR\n{_ZONE}{body}\nEND:VCALENDAR\n".encode()


def _card(body: str) -> bytes:
    return f"BEGIN:VCARD\nFN:Ana\n{body}\nEND:VCARD\n".encode()


def _table(body: str) -> bytes:
    return f"Date,Description,Amount,Balance\n{body}\n".encode()


def _exdates(size: int) -> str:
    days = [
        f"{_DAY + dt.timedelta(days=at):%Y%m%d}T090000Z" for at in range(size // 17)
    ]
    return ",".join(days)


HOSTILE: dict[str, tuple[Callable[..., object], Callable[[int], bytes]]] = {
    "a long summary": (ics.read, lambda n: _calendar(_event("SUMMARY:" + "x" * n))),
    "a summary of escapes": (
        ics.read,
        lambda n: _calendar(_event("SUMMARY:" + "\\n\\," * (n // 4))),
    ),
    "folds": (ics.read, lambda n: _calendar(_event("SUMMARY:" + "x\n " * (n // 3)))),
    "many EXDATE": (
        ics.read,
        lambda n: _calendar(_event("RRULE:FREQ=DAILY", "EXDATE:" + _exdates(n))),
    ),
    "EXDATE in a zone": (
        ics.read,
        lambda n: _calendar(
            _event(
                "RRULE:FREQ=DAILY", "EXDATE;TZID=Kiln:" + _exdates(n).replace("Z", "")
            )
        ),
    ),
    "lines of EXDATE": (
        ics.read,
        lambda n: _calendar(
            _event(
                "RRULE:FREQ=DAILY", "EXDATE:" + _exdates(n).replace(",", "\nEXDATE:")
            )
        ),
    ),
    "a long rule": (
        ics.read,
        lambda n: _calendar(_event("RRULE:FREQ=DAILY;" + "BYDAY=XX;" * (n // 9))),
    ),
    "parameters": (
        ics.read,
        lambda n: _calendar(_event("ATTENDEE" + ";A=b" * (n // 4) + ":mailto:a@x.org")),
    ),
    "parameters without an end": (
        ics.read,
        lambda n: _calendar(_event("ATTENDEE" + ';A="b' * (n // 5))),
    ),
    "colons": (
        ics.read,
        lambda n: _calendar(
            _event("DTEND;TZID=" + "x:" * (n // 2) + "20260101T100000")
        ),
    ),
    "no properties": (ics.read, lambda n: _calendar(_event("nonsense\n" * (n // 9)))),
    "events": (
        ics.read,
        lambda n: _calendar(
            "\n".join(
                f"BEGIN:VEVENT\nUID:{at}\nDTSTART;TZID=Kiln:2026{at % 12 + 1:02}01T090000\nEND:VEVENT"
                for at in range(n // 70)
            )
        ),
    ),
    "versions of one event": (
        ics.read,
        lambda n: _calendar("\n".join([_event("SEQUENCE:1")] * (n // 60))),
    ),
    "names of zones": (
        ics.read,
        lambda n: _calendar(
            "\n".join(
                f"BEGIN:VEVENT\nUID:{at}\nDTSTART;TZID=Z{at}:20260101T090000\nEND:VEVENT"
                for at in range(n // 70)
            )
        ),
    ),
    "a long card": (vcf.read, lambda n: _card("NOTE:" + "x;" * (n // 2))),
    "numbers of a card": (vcf.read, lambda n: _card("TEL:+1\n" * (n // 7))),
    "quoted-printable": (
        vcf.read,
        lambda n: _card("NOTE;ENCODING=QUOTED-PRINTABLE:" + "=C3=A9=\n" * (n // 8)),
    ),
    "cards of one name": (
        vcf.read,
        lambda n: b"".join(_card(f"NOTE:{at}") for at in range(n // 40)),
    ),
    "quotes": (table.read, lambda n: _table('2026-03-02,"' + '"' * n + ",-1,2")),
    "open quotes": (table.read, lambda n: _table('2026-03-02,"x,-1,2\n' * (n // 19))),
    "open quotes without an end": (
        table.read,
        lambda n: _table('2026-03-02,"x,-1,2\n' + "2026-03-02,y,-1,2\n" * (n // 18)),
    ),
    "digits": (table.read, lambda n: _table("2026-03-02,x," + "1" * n + ",2")),
    "marks": (table.read, lambda n: _table("2026-03-02,x," + "1." * (n // 2) + ",2")),
    "minus": (table.read, lambda n: _table("2026-03-02,x," + "-" * n + "1,2")),
    "rows": (table.read, lambda n: _table("03/04/2026,x,1.00,2.00\n" * (n // 23))),
    "columns": (
        table.read,
        lambda n: (
            "Date,Description,Amount" + ",c" * (n // 4) + "\n" + "1," * (n // 4)
        ).encode(),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_doubling_the_input_takes_at_most_2_6_times_the_cpu(name: str) -> None:
    read, make = HOSTILE[name]

    def work(size: int) -> None:
        source = drafts.SourceFile(
            Path("/x/x"),
            PurePosixPath("x"),
            make(size),
            False,
            dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        )
        list(read(source))  # type: ignore[call-overload]

    growth.assert_grows_evenly(work, 50_000, largest=1_500_000)
