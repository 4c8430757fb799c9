"""iCalendar (RFC 5545) dates, durations, zones and recurrence (RRULE) as Python values."""

import re
import zoneinfo
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import cast

import icalendar
from dateutil import rrule
from icalendar.timezone import windows_to_olson

from reverie.ingest.formats import contentlines

Moment = datetime | date
"""An all-day event begins at a date, any other at a time."""
# DATE and DATE-TIME (RFC 5545, 3.3.4 and 3.3.5), and their ISO 8601 forms of vCard.
STAMP = re.compile(
    r"^\s*(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2}):?(\d{2}):?(\d{2})?)?(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?\s*$"
)
# RFC 5545, 3.3.6
DURATION = re.compile(
    r"^\s*([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,7})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,10})S)?)?\s*$",
    re.IGNORECASE,
)
DURATION_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
SUBDAILY = re.compile(r"BY(HOUR|MINUTE|SECOND)")
GOOGLE_DATE = re.compile(r"\d{8}Z")  # it writes dates with the Z of times
IANA_NAME = re.compile(r"[A-Za-z0-9_+/-]{1,64}")
OFFSET = re.compile(r"(?:GMT|UTC)?\s*([+-])(\d{1,2}):?(\d{2})?")


class Zones:
    """The time zones a file names: IANA names, Windows names, and its own VTIMEZONE
    definitions.
    """

    def __init__(self, components: Sequence[contentlines.Component]) -> None:
        self._own = {
            name: component
            for component in components
            if (name := component.text("TZID"))
        }
        self._by_name: dict[str, tzinfo | None] = {}

    def get(self, name: str) -> tzinfo | None:
        """The zone of that name, or None when nobody knows it."""
        name = name.strip()
        if name not in self._by_name:
            self._by_name[name] = iana(name) or self._custom(name) or _fixed(name)
        return self._by_name[name]

    def _custom(self, name: str) -> tzinfo | None:
        """The zone that the file defines under this name."""
        component = self._own.get(name)
        if component is None:
            return None
        located = component.text("X-LIC-LOCATION")
        if located and (zone := iana(located)):
            return zone
        return _zone(component)


# More periods than any zone of the world has; each costs an expanded rule.
_MOST_PERIODS = 1000
# What a half-written VTIMEZONE raises depends on the line that is missing.
_BROKEN_ZONE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
)


def _zone(component: contentlines.Component) -> tzinfo | None:
    """The zone of a VTIMEZONE (RFC 5545, 3.6.5); None when it cannot be one."""
    periods = component.children[:_MOST_PERIODS]
    if not all(map(_changes_yearly, periods)):
        return None
    body = [*_written_lines(component, "TZID")]
    for period in periods:
        body.append(f"BEGIN:{period.name}")
        body += _written_lines(period)
        body.append(f"END:{period.name}")
    text = "\r\n".join(["BEGIN:VTIMEZONE", *body, "END:VTIMEZONE", ""])
    try:
        parsed = icalendar.Timezone.from_ical(text)
        if not isinstance(parsed, icalendar.Timezone):
            return None
        # Not looked up: the library remembers zones by name, and another file may
        # define the name otherwise.
        zone = cast("object", parsed.to_tz(lookup_tzid=False))
    except _BROKEN_ZONE:
        return None
    return zone if isinstance(zone, tzinfo) else None


def _changes_yearly(period: contentlines.Component) -> bool:
    """Clocks change by the year; a rule by the second would be counted through from
    1601.
    """
    for line in period.every("RRULE"):
        rule = line.value.upper()
        if "FREQ=YEARLY" not in rule or SUBDAILY.search(rule):
            return False
    return True


def _written_lines(
    component: contentlines.Component, name: str | None = None
) -> Iterator[str]:
    """The lines of a component as they are written."""
    for line in component.lines:
        if name is None or line.name == name:
            yield f"{line.name}:{line.value}"


def iana(name: str) -> tzinfo | None:
    """The zone of an IANA name (also at the end of /mozilla.org/2005/Europe/Berlin) or
    a Windows name.
    """
    if name.upper() in {"UTC", "Z", "GMT", "ETC/UTC"}:
        return UTC
    for candidate in _iana_candidates(name):
        if not IANA_NAME.fullmatch(candidate):
            continue
        try:
            return zoneinfo.ZoneInfo(candidate)
        # OSError: the name of a folder, such as "America"
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return None


def _iana_candidates(name: str) -> list[str]:
    """The IANA name of a Windows name, or the last three and two words of a path."""
    windows = windows_to_olson.WINDOWS_TO_OLSON.get(name)
    if windows:
        return [windows]
    words = name.strip("/").split("/")
    candidates: list[str] = []
    for count in (3, 2, len(words)):
        if count <= len(words):
            last_words = words[-count:]
            candidates.append("/".join(last_words))
    return candidates


def _fixed(name: str) -> tzinfo | None:
    """The offset that a name such as "GMT+01:00" says."""
    match = OFFSET.search(name)
    if match is None:
        return None
    sign, hours, minutes = match.group(1, 2, 3)
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if offset >= timedelta(hours=24):
        return None
    return timezone(-offset if sign == "-" else offset)


def zone_name(moment: Moment) -> str | None:
    """The IANA name of the moment's zone, or its offset, or None when it floats."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return None
    if isinstance(moment.tzinfo, zoneinfo.ZoneInfo):
        return moment.tzinfo.key
    if moment.tzinfo is UTC:
        return "UTC"
    offset = moment.strftime("%z")
    return offset[:3] + ":" + offset[3:5]


def moment(line: contentlines.ContentLine, zones: Zones) -> Moment:
    """The date or time a line holds; a time in an unknown zone floats."""
    return _moment(line.value, line.param("TZID"), zones)


def _moment(text: str, tzid: str, zones: Zones) -> Moment:
    """RFC 5545, 3.3.4 and 3.3.5. Raises ValueError."""
    match = STAMP.match(text)
    if match is None:
        raise ValueError(f"not a date: {text[:40]!r}")
    year, month, day, hour, minute, seconds, suffix = match.groups()
    on = date(int(year), int(month), int(day))
    if hour is None:
        return on
    # 60 is a leap second, which Python does not count
    second = min(int(seconds or 0), 59)
    at = time(int(hour), int(minute), second)
    local = datetime.combine(on, at)
    # RFC 5545, 3.3.5: in UTC with a Z, in a zone with TZID, else it floats.
    if suffix:
        zone = UTC if suffix == "Z" else _fixed(suffix)
        return local.replace(tzinfo=zone)
    if tzid:
        return local.replace(tzinfo=zones.get(tzid))
    return local


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


def recurrence(
    line: contentlines.ContentLine, start: Moment, zones: Zones
) -> list[str]:
    """The lines to keep for one RRULE, EXRULE, RDATE or EXDATE; periods lose their
    length.
    """
    if line.name in {"RRULE", "EXRULE"}:
        return [f"{line.name}:{_rule(line.value, start, zones)}"]
    lines: list[str] = []
    values = map(str.strip, line.value.split(","))
    for value in filter(None, values):
        first = value.partition("/")[0]
        if GOOGLE_DATE.fullmatch(first):
            first = first[:8]
        moment = _moment(first, line.param("TZID"), zones)
        lines.append(f"{line.name}:{written(moment, start)}")
    return lines


def _rule(value: str, start: Moment, zones: Zones) -> str:
    """The rule (RFC 5545, 3.3.10) in capitals. Raises ValueError for a broken one."""
    parts: list[str] = []
    inside = value.strip().strip(";")
    for part in inside.split(";"):
        name, _, setting = part.strip().partition("=")
        name = name.upper()
        if name == "UNTIL":
            setting = _until(setting, start, zones)
        parts.append(f"{name}={setting.strip().upper()}")
    rule = ";".join(parts)
    first = aware(start)
    if not _has_zone(start):
        first = first.replace(tzinfo=None)
    # Only built, never run: a rule the library cannot read must be known now, not when
    # a calendar is shown.
    rrule.rrulestr("RRULE:" + rule, dtstart=first)
    return rule


def _until(text: str, start: Moment, zones: Zones) -> str:
    """UNTIL as it must be written beside this start (RFC 5545, 3.3.10)."""
    until = _moment(text, "", zones)
    # A date against a timed event, which the RFC forbids: the last day counts whole.
    if isinstance(start, datetime) and not isinstance(until, datetime):
        last_second = time(23, 59, 59)
        until = datetime.combine(until, last_second, start.tzinfo)
    return written(until, start)


def _has_zone(moment: Moment) -> bool:
    """Whether it is a time that does not float."""
    return isinstance(moment, datetime) and moment.tzinfo is not None
