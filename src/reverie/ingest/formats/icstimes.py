"""Dates, durations, zones and recurrence lines of iCalendar, as Python values."""

import re
import zoneinfo
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import cast

import icalendar
from dateutil import rrule
from icalendar.timezone import windows_to_olson

from reverie.ingest.formats import contentlines

Moment = datetime | date
STAMP = re.compile(
    r"^\s*(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2}):?(\d{2}):?(\d{2})?)?(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?\s*$"
)
DURATION = re.compile(
    r"^\s*([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,7})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,10})S)?)?\s*$",
    re.IGNORECASE,
)
SUBDAILY = re.compile(r"BY(HOUR|MINUTE|SECOND)")
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
        self._known: dict[str, tzinfo | None] = {}

    def get(self, name: str) -> tzinfo | None:
        """The zone of that name, or None when nobody knows it."""
        name = name.strip()
        if name not in self._known:
            self._known[name] = iana(name) or self._custom(name) or _fixed(name)
        return self._known[name]

    def _custom(self, name: str) -> tzinfo | None:
        component = self._own.get(name)
        if component is None:
            return None
        located = component.text("X-LIC-LOCATION")
        if located and (zone := iana(located)):
            return zone
        return _zone(component)


def _zone(component: contentlines.Component) -> tzinfo | None:
    body = [
        f"{line.name}:{line.value}" for line in component.lines if line.name == "TZID"
    ]
    for child in component.children[:1000]:
        rules = [line.value.upper() for line in child.every("RRULE")]
        if any("FREQ=YEARLY" not in rule or SUBDAILY.search(rule) for rule in rules):
            # clocks change by the year; a rule by the second would be counted through
            # from 1601
            return None
        body += [
            f"BEGIN:{child.name}",
            *(f"{line.name}:{line.value}" for line in child.lines),
            f"END:{child.name}",
        ]
    text = "\r\n".join(["BEGIN:VTIMEZONE", *body, "END:VTIMEZONE", ""])
    try:
        zone = icalendar.Timezone.from_ical(text)
        # Not looked up: the library remembers zones by name, and another file may
        # define the name otherwise.
        built = (
            cast("object", zone.to_tz(lookup_tzid=False))
            if isinstance(zone, icalendar.Timezone)
            else None
        )
        return built if isinstance(built, tzinfo) else None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
        # what a half-written VTIMEZONE raises depends on the line that is missing
        return None


def iana(name: str) -> tzinfo | None:
    """The zone of an IANA name (also at the end of /mozilla.org/2005/Europe/Berlin) or
    a Windows name.
    """
    if name.upper() in {"UTC", "Z", "GMT", "ETC/UTC"}:
        return UTC
    windows = windows_to_olson.WINDOWS_TO_OLSON.get(name)
    words = name.strip("/").split("/")
    candidates = (
        [windows]
        if windows
        else [
            "/".join(words[-count:])
            for count in (3, 2, len(words))
            if count <= len(words)
        ]
    )
    for candidate in candidates:
        if not re.fullmatch(r"[A-Za-z0-9_+/-]{1,64}", candidate):
            continue
        try:
            return zoneinfo.ZoneInfo(candidate)
        except (
            zoneinfo.ZoneInfoNotFoundError,
            ValueError,
            OSError,
        ):  # OSError: the name of a folder, such as "America"
            continue
    return None


def _fixed(name: str) -> tzinfo | None:
    match = OFFSET.search(name)
    if match is None:
        return None
    offset = timedelta(hours=int(match.group(2)), minutes=int(match.group(3) or 0))
    return (
        timezone(-offset if match.group(1) == "-" else offset)
        if offset < timedelta(hours=24)
        else None
    )


def zone_name(moment: Moment) -> str | None:
    """The IANA name of the moment's zone, or its offset, or None when it floats."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return None
    if isinstance(moment.tzinfo, zoneinfo.ZoneInfo):
        return moment.tzinfo.key
    if moment.tzinfo is UTC:
        return "UTC"
    return moment.strftime("%z")[:3] + ":" + moment.strftime("%z")[3:5]


def moment(line: contentlines.ContentLine, zones: Zones) -> Moment:
    """The date or time a line holds; a time in an unknown zone floats."""
    return _moment(line.value, line.param("TZID"), zones)


def _moment(text: str, tzid: str, zones: Zones) -> Moment:
    match = STAMP.match(text)
    if match is None:
        raise ValueError(f"not a date: {text[:40]!r}")
    day = date(int(match.group(1)), int(match.group(2)), int(match.group(3)))
    if match.group(4) is None:
        return day
    second = min(
        int(match.group(6) or 0), 59
    )  # 60 is a leap second, which Python does not count
    clock = datetime.combine(
        day, time(int(match.group(4)), int(match.group(5)), second)
    )
    if suffix := match.group(7):
        return clock.replace(tzinfo=UTC if suffix == "Z" else _fixed(suffix))
    return clock.replace(tzinfo=zones.get(tzid)) if tzid else clock


def aware(moment: Moment) -> datetime:
    """The moment as an aware time; what floats is taken as UTC."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def like(moment: Moment, start: Moment) -> Moment:
    """The moment as the same kind as the start: date, floating time or aware time."""
    if not isinstance(start, datetime):
        return (
            moment.date() + timedelta(days=moment.time() != time())
            if isinstance(moment, datetime)
            else moment
        )
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
    weeks, days, hours, minutes, seconds = (
        int(part or 0) for part in match.groups()[1:]
    )
    length = timedelta(
        weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds
    )
    return -length if match.group(1) == "-" else length


def after(start: Moment, length: timedelta) -> Moment:
    """The moment that long after the start: days by the calendar, hours exactly, as RFC
    5545 wants.
    """
    if not isinstance(start, datetime):
        return start + timedelta(days=max(1, -(-length // timedelta(days=1))))
    moved = start + timedelta(days=length.days)
    if moved.tzinfo is None:
        return moved + timedelta(seconds=length.seconds)
    return (moved.astimezone(UTC) + timedelta(seconds=length.seconds)).astimezone(
        moved.tzinfo
    )


def minutes(start: Moment, other: Moment, local: tzinfo) -> int:
    """Whole minutes from the start to the other moment; what has no zone is taken in
    the local one.
    """
    return round((_placed(other, local) - _placed(start, local)).total_seconds() / 60)


def _placed(moment: Moment, local: tzinfo) -> datetime:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=local)


def written(moment: Moment, start: Moment) -> str:
    """The moment as RDATE, EXDATE and UNTIL write it beside this start."""
    if not isinstance(start, datetime):
        return f"{moment:%Y%m%d}"
    if not isinstance(
        moment, datetime
    ):  # a whole day against a timed event means its occurrence on that day
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
    for value in line.value.split(","):
        if not value.strip():
            continue
        first = value.strip().partition("/")[0]
        if re.fullmatch(r"\d{8}Z", first):
            first = first[:8]  # Google writes dates with the Z of times
        lines.append(
            f"{line.name}:{written(_moment(first, line.param('TZID'), zones), start)}"
        )
    return lines


def _rule(value: str, start: Moment, zones: Zones) -> str:
    parts: list[str] = []
    for part in value.strip().strip(";").split(";"):
        name, _, wanted = part.strip().partition("=")
        name = name.upper()
        if name == "UNTIL":
            until = _moment(wanted, "", zones)
            if isinstance(start, datetime) and not isinstance(until, datetime):
                until = datetime.combine(
                    until, time(23, 59, 59), start.tzinfo
                )  # the last day counts whole
            wanted = written(until, start)
        parts.append(f"{name}={wanted.strip().upper()}")
    rule = ";".join(parts)
    # Only built, never run: a rule the library cannot read must be known now, not when
    # a calendar is shown.
    rrule.rrulestr(
        "RRULE:" + rule,
        dtstart=aware(start) if _has_zone(start) else aware(start).replace(tzinfo=None),
    )
    return rule


def _has_zone(moment: Moment) -> bool:
    return isinstance(moment, datetime) and moment.tzinfo is not None
