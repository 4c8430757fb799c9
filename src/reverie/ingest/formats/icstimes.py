"""iCalendar (RFC 5545) dates, times and durations as Python values."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from reverie.ingest.formats import contentlines, icszone_names, icszones

Moment = datetime | date
"""An all-day event begins at a date, any other at a time."""
# DATE and DATE-TIME (RFC 5545, 3.3.4 and 3.3.5), and their ISO 8601 forms of vCard.
STAMP = re.compile(
    r"^\s*(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2}):?(\d{2}):?(\d{2})?)?(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?\s*$",
    re.IGNORECASE,
)
DAY = re.compile(r"\s*(\d{4})-?(\d{2})-?(\d{2})(?!\d)")
# RFC 5545, 3.3.6
DURATION = re.compile(
    r"^\s*([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,7})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,10})S)?)?\s*$",
    re.IGNORECASE,
)
DURATION_UNITS = ("weeks", "days", "hours", "minutes", "seconds")


def moment(
    line: contentlines.ContentLine, zones: icszones.Zones, *, series: bool = False
) -> Moment:
    """The date or time a line holds; a time in an unknown zone floats. The start of a
    series needs a zone that holds for years.
    """
    return moment_of(line.value, line.param("TZID"), zones, series=series)


def moment_of(
    text: str, tzid: str, zones: icszones.Zones, *, series: bool = False
) -> Moment:
    """RFC 5545, 3.3.4 and 3.3.5. Raises ValueError."""
    match = STAMP.match(text)
    if match is None:
        raise ValueError(f"not a date: {text[:40]!r}")
    year, month, day, hour, minute, seconds, suffix = match.groups()
    on = date(int(year), int(month), int(day))
    if hour is None:
        return on
    if hour == "24" and not int(minute) + int(seconds or 0):
        hour = "0"
        on += timedelta(days=1)
    # 60 is a leap second, which Python does not count
    second = min(int(seconds or 0), 59)
    at = time(int(hour), int(minute), second)
    local = datetime.combine(on, at)
    # RFC 5545, 3.3.5: in UTC with a Z, in a zone with TZID, else it floats.
    if suffix:
        zone = UTC if suffix in "Zz" else icszone_names.fixed(suffix)
        return local.replace(tzinfo=zone)
    if tzid:
        return local.replace(tzinfo=zones.at(tzid, local, series=series))
    return local


def day_of(text: str) -> date | None:
    """The day of a stamp whose time is none."""
    match = DAY.match(text)
    if match is None:
        return None
    year, month, on = match.groups()
    try:
        return date(int(year), int(month), int(on))
    except ValueError:
        return None


def day(moment: Moment | None) -> date | None:
    """The date of a moment, by the clock of its own zone."""
    return moment.date() if isinstance(moment, datetime) else moment


def aware(moment: Moment) -> datetime:
    """The moment as an aware time; what floats is taken as UTC."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def like(moment: Moment, start: Moment) -> Moment:
    """The moment as the same kind as the start: date, floating time or aware time."""
    if not isinstance(start, datetime):
        if not isinstance(moment, datetime):
            return moment
        # An end after midnight: the day counts whole.
        begun_days = timedelta(days=moment.time() != time())
        return moment.date() + begun_days
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time(), start.tzinfo)
    if start.tzinfo is None:
        return moment.replace(tzinfo=None)
    return moment if moment.tzinfo else moment.replace(tzinfo=start.tzinfo)


def duration(text: str) -> timedelta:
    """A DURATION value; days are kept as days."""
    match = DURATION.match(text)
    if match is None or not any(match.groups()[1:]):
        raise ValueError(f"not a duration: {text[:40]!r}")
    sign, *counts = match.groups()
    numbers = [int(count or 0) for count in counts]
    length = timedelta(**dict(zip(DURATION_UNITS, numbers, strict=True)))
    return -length if sign == "-" else length


def after(start: Moment, length: timedelta) -> Moment:
    """The moment that long after the start: days by the calendar, hours exactly (RFC
    5545, 3.3.6).
    """
    if not isinstance(start, datetime):
        days = -(-length // timedelta(days=1))  # rounded up
        return start + timedelta(days=max(1, days))
    moved = start + timedelta(days=length.days)
    rest = timedelta(seconds=length.seconds)
    if moved.tzinfo is None:
        return moved + rest
    return (moved.astimezone(UTC) + rest).astimezone(moved.tzinfo)


def minutes(start: Moment, other: Moment, local: tzinfo) -> int:
    """Whole minutes from the start to the other moment; what has no zone is taken in
    the local one.
    """
    length = _placed(other, local) - _placed(start, local)
    return round(length.total_seconds() / 60)


def _placed(moment: Moment, local: tzinfo) -> datetime:
    """The moment as an aware time; what floats is in the local zone."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=local)


def written(moment: Moment, start: Moment) -> str:
    """The moment as RDATE, EXDATE and UNTIL write it beside this start."""
    if not isinstance(start, datetime):
        return f"{moment:%Y%m%d}"
    # A whole day against a timed event means its occurrence on that day.
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, start.time(), start.tzinfo)
    if start.tzinfo is None:
        return f"{moment:%Y%m%dT%H%M%S}"
    placed = moment if moment.tzinfo else moment.replace(tzinfo=start.tzinfo)
    return f"{placed.astimezone(UTC):%Y%m%dT%H%M%SZ}"
