"""VTIMEZONE definitions (RFC 5545, 3.6.5): when the clock of a zone changes, and by how
much.
"""

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dateutil import rrule

from reverie.ingest.formats import contentlines

# Zones have not changed their clocks before, and nobody knows the rules after.
_FIRST_YEAR = 1900
_LAST_YEAR = 2100
# More periods than any zone of the world has, and of them those with a rule, each of
# which is expanded.
_MOST_PERIODS = 1000
_MOST_RULES = 60
# How long the last change counts where the file has no rule for the next one.
_HALF_A_YEAR = timedelta(days=120)
_OFFSET = re.compile(r"\s*([+-]?)(\d{2}):?(\d{2})(?::?(\d{2}))?\s*")
_STAMP = re.compile(
    r"(\d{4})-?(\d{2})-?(\d{2})(?:T(\d{2}):?(\d{2})(?::?(\d{2}))?)?(Z?)"
)
_BYDAY = re.compile(r"([+-]?\d)?(MO|TU|WE|TH|FR|SA|SU)")
_POSIX_DAYS = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
# What dateutil raises for what is no rule.
_BROKEN = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)


@dataclass(frozen=True, slots=True)
class ClockPeriod:
    """STANDARD or DAYLIGHT: the clock goes from one offset to another, first at `start`
    (by the clock before), and again by its rule.
    """

    start: datetime
    before: timedelta
    after: timedelta
    rule: str
    dates: Sequence[datetime]
    daylight: bool

    @property
    def is_open(self) -> bool:
        """Whether it comes again without end."""
        return bool(self.rule) and not re.search(r"\b(UNTIL|COUNT)=", self.rule)

    def onsets(self) -> Iterator[datetime]:
        """When it begins, by the clock before it."""
        yield self.start
        yield from self.dates
        if not self.rule:
            return
        first = self.start.replace(year=max(self.start.year, _FIRST_YEAR))
        try:
            series = rrule.rrulestr("RRULE:" + self._local_rule(), dtstart=first)
            for onset in series:
                if onset.year > _LAST_YEAR:
                    return
                yield onset
        except _BROKEN:
            return

    def _local_rule(self) -> str:
        """The rule with UNTIL by the clock before, as dateutil wants it."""
        parts = self.rule.split(";")
        for at, part in enumerate(parts):
            name, _, value = part.partition("=")
            if name == "UNTIL" and (until := _stamp(value)):
                if value.endswith("Z"):
                    until += self.before
                parts[at] = f"UNTIL={until:%Y%m%dT%H%M%S}"
        return ";".join(parts)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of the clock at a local time by the clock before it."""

    onset: datetime
    before: timedelta
    after: timedelta


class Definition:
    """The clock of one zone, as a file defines it."""

    def __init__(self, periods: Sequence[ClockPeriod]) -> None:
        self._periods = periods
        changes: dict[datetime, _Change] = {}
        rules = 0
        for period in periods:
            rules += bool(period.rule)
            if rules > _MOST_RULES and period.rule:
                continue
            for onset in period.onsets():
                changes[onset] = _Change(onset, period.before, period.after)
        self._changes = [changes[onset] for onset in sorted(changes)]
        self._onsets = [change.onset for change in self._changes]

    def covers(self, local: datetime) -> bool:
        """Whether the definition says something of this time: it lies behind the first
        change, and not long behind the last one that is written down.
        """
        if local < self._onsets[0]:
            return False
        if len(self._onsets) == 1 or any(period.is_open for period in self._periods):
            return True
        return local < self._onsets[-1] + _HALF_A_YEAR

    def offset(self, local: datetime) -> timedelta:
        """The offset from UTC of a local time. What comes twice is the first one, what
        the clock leaves out has the offset before (RFC 5545, 3.3.5).
        """
        at = bisect.bisect_right(self._onsets, local) - 1
        if at < 0:
            return self._changes[0].before
        change = self._changes[at]
        skipped = change.after - change.before
        if skipped > timedelta() and local < change.onset + skipped:
            return change.before
        return change.after

    def moments(self, year: int, years: int) -> list[tuple[datetime, timedelta]]:
        """Times (UTC) with their offsets that tell this clock from others: around each
        change of some years, and one in each month.
        """
        moments: list[tuple[datetime, timedelta]] = []
        for month in range(years * 12):
            local = datetime(year + month // 12, month % 12 + 1, 15, 12)  # noqa: DTZ001 - local time
            offset = self.offset(local)
            moments.append(((local - offset).replace(tzinfo=UTC), offset))
        for change in self._changes:
            if year <= change.onset.year < year + years:
                at = (change.onset - change.before).replace(tzinfo=UTC)
                moments.append((at - timedelta(minutes=1), change.before))
                moments.append((at + timedelta(minutes=1), change.after))
        return moments

    def posix(self, year: int) -> str | None:
        """The POSIX TZ rule of its clock from a year on; None when it has no two rules
        of that kind.
        """
        last: dict[bool, ClockPeriod] = {}
        for period in self._periods:
            if period.is_open and period.start.year <= year:
                last[period.daylight] = period
        if len(last) != 2:
            return None
        standard, daylight = last[False], last[True]
        dates = [_posix_date(daylight), _posix_date(standard)]
        if None in dates:
            return None
        names = _posix_offset(standard.after) + _posix_offset(daylight.after)
        return f"{names},{dates[0]},{dates[1]}"


def read(component: contentlines.Component) -> Definition | None:
    """The clock of a VTIMEZONE; None when it says nothing that can be read."""
    periods: list[ClockPeriod] = []
    for child in component.children[:_MOST_PERIODS]:
        period = _period(child)
        if period is not None:
            periods.append(period)
    return Definition(periods) if periods else None


def _period(component: contentlines.Component) -> ClockPeriod | None:
    """STANDARD or DAYLIGHT; None without an offset."""
    after = _offset(component.text("TZOFFSETTO") or "")
    if after is None:
        return None
    before = _offset(component.text("TZOFFSETFROM") or "")
    start = _stamp(component.text("DTSTART") or "")
    dates: list[datetime] = []
    for line in component.every("RDATE"):
        stamps = [_stamp(value) for value in line.value.split(",")[:_MOST_PERIODS]]
        dates += [stamp for stamp in stamps if stamp is not None]
    rule = component.text("RRULE") or ""
    return ClockPeriod(
        start=start or datetime(_FIRST_YEAR, 1, 1),  # noqa: DTZ001 - local time
        before=after if before is None else before,
        after=after,
        rule=rule.upper() if start and _is_yearly(rule.upper()) else "",
        dates=dates,
        daylight=component.name == "DAYLIGHT",
    )


def _is_yearly(rule: str) -> bool:
    """Clocks change by the year; a rule by the second would be counted through."""
    return "FREQ=YEARLY" in rule and not re.search("BY(HOUR|MINUTE|SECOND)", rule)


def _offset(text: str) -> timedelta | None:
    """UTC-OFFSET (RFC 5545, 3.3.14)."""
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    sign, hours, minutes, seconds = match.groups("0")
    offset = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    if offset >= timedelta(hours=24):
        return None
    return -offset if sign == "-" else offset


def _stamp(text: str) -> datetime | None:
    """A date and time without its zone."""
    match = _STAMP.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = match.groups("0")[:6]
    try:
        return datetime(  # noqa: DTZ001 - by the clock of the zone that is defined
            int(year), int(month), int(day), int(hour), int(minute), int(second)
        )
    except ValueError:
        return None


def _posix_offset(offset: timedelta) -> str:
    """An offset with its name: POSIX counts to the west."""
    sign = "-" if offset < timedelta() else "+"
    minutes = abs(offset) // timedelta(minutes=1)
    name = f"<{sign}{minutes // 60:02}{minutes % 60:02}>"
    west = "-" if sign == "+" else ""
    return f"{name}{west}{minutes // 60}:{minutes % 60:02}"


def _posix_date(period: ClockPeriod) -> str | None:
    """The rule of a period as a POSIX date and time; None when POSIX has none."""
    parts: dict[str, str] = {}
    for part in period.rule.split(";"):
        name, _, value = part.partition("=")
        parts[name] = value
    month = parts.get("BYMONTH", str(period.start.month))
    time = f"{period.start.hour}:{period.start.minute:02}"
    if not month.isdecimal() or parts.get("INTERVAL", "1") != "1":
        return None
    if "BYDAY" not in parts:
        day = parts.get("BYMONTHDAY", str(period.start.day))
        return _julian(int(month), day, time)
    week = _posix_week(parts["BYDAY"], parts.get("BYMONTHDAY", ""))
    return f"M{int(month)}.{week}/{time}" if week else None


def _posix_week(by_day: str, month_days: str) -> str | None:
    """The week and the day of the week: -1SU is 5.0, SU of the 8th to 14th is 2.0."""
    match = _BYDAY.fullmatch(by_day)
    if match is None:
        return None
    number, day = match.groups()
    if number is None:
        days = [int(text) for text in re.findall(r"-?\d{1,2}", month_days)]
        if len(days) != 7:
            return None
        first = min(days)
        number = "-1" if first < 0 or first > 22 else str((first - 1) // 7 + 1)
    week = 5 if int(number) < 0 else int(number)
    if int(number) < -1 or not 1 <= week <= 5:
        return None
    return f"{week}.{_POSIX_DAYS.index(day)}"


def _julian(month: int, day: str, time: str) -> str | None:
    """A fixed date as POSIX counts days, without the 29th of February."""
    try:
        on = datetime(2023, month, int(day))  # noqa: DTZ001 - a date
    except ValueError:
        return None
    return f"J{on.timetuple().tm_yday}/{time}"
