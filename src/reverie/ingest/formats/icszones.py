"""Time zones of calendars: VTIMEZONE (RFC 5545, 3.6.5), IANA names, the names that
Windows and Exchange show, and offsets.

What a file defines itself beats what its name means elsewhere. An IANA zone with the
same clock stands in for a definition where there is one; else its rules are kept as a
POSIX TZ rule.
"""

import zoneinfo
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from icalendar.timezone import windows_to_olson

from reverie.ingest.formats import contentlines, icszone_names, vtimezone
from reverie.records import zones as record_zones

# How many years of a series must have the clock of the zone that stands for it.
_COMPARED_YEARS = 3
# Asked first when several zones of the world have the same clock.
_USUAL = (
    "Europe/Berlin",
    "Europe/London",
    "Europe/Helsinki",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Australia/Sydney",
)
_KNOWN = (*_USUAL, *sorted({*windows_to_olson.WINDOWS_TO_OLSON.values()}))


class Zones:
    """The time zones a file names, each resolved once."""

    def __init__(
        self, components: Sequence[contentlines.Component], default: str = ""
    ) -> None:
        self._own: dict[str, contentlines.Component] = {}
        for component in components:
            if name := component.text("TZID"):
                self._own.setdefault(name.strip(), component)
        self._default = default
        self._named: dict[str, tzinfo | None] = {}
        self._definitions: dict[str, vtimezone.Definition | None] = {}
        self._series: dict[tuple[str, int], tzinfo | None] = {}
        self._resolved: dict[tuple[str, datetime], tzinfo | None] = {}
        self.unknown: dict[str, None] = {}

    def get(self, name: str) -> tzinfo | None:
        """The zone that a name means, whatever the file says of it."""
        name = name.strip()
        if name not in self._named:
            self._named[name] = icszone_names.zone(name)
        return self._named[name]

    def at(self, name: str, local: datetime, *, series: bool = False) -> tzinfo | None:
        """The zone of a local time; of a series, it has to hold for years. None when
        nobody knows the name.
        """
        name = name.strip()
        definition = self._definition(name)
        if definition is None or not definition.covers(local):
            zone = self.get(name)
            if zone is None and definition is None:
                self.unknown[name] = None
            return zone or self._own_at(name, definition, local, series=series)
        return self._own_at(name, definition, local, series=series)

    def _own_at(
        self,
        name: str,
        definition: vtimezone.Definition | None,
        local: datetime,
        *,
        series: bool,
    ) -> tzinfo | None:
        """The zone that the file defines."""
        if definition is None:
            return None
        if not series:
            for candidate in self._candidates(name):
                if _offset(candidate, local) == definition.offset(local):
                    return candidate
        key = (name, local.year)
        if key not in self._series:
            self._series[key] = self._same_clock(name, definition, local.year)
        zone = self._series[key]
        if zone is not None and _offset(zone, local) == definition.offset(local):
            return zone
        return timezone(definition.offset(local))

    def _same_clock(
        self, name: str, definition: vtimezone.Definition, year: int
    ) -> tzinfo | None:
        """A zone whose clock is that of the definition for some years; None when there
        is none with a name and the rules are none of POSIX.
        """
        moments = definition.moments(year, _COMPARED_YEARS)
        for candidate in self._candidates(name):
            if _agrees(candidate, moments):
                return candidate
        if len({offset for _, offset in moments}) == 1:
            return timezone(moments[0][1])
        for known in _KNOWN:
            candidate = icszone_names.iana(known)
            if candidate is not None and _agrees(candidate, moments):
                return candidate
        rule = definition.posix(year)
        if rule is None:
            return None
        zone = record_zones.posix(rule)
        return zone if _agrees(zone, moments) else None

    def _candidates(self, name: str) -> Iterator[tzinfo]:
        """The zones that the file points to beside its definition."""
        component = self._own.get(name)
        located = component.text("X-LIC-LOCATION") if component else None
        for candidate in (located, name, self._default):
            zone = self.get(candidate) if candidate else None
            if zone is not None:
                yield zone

    def _definition(self, name: str) -> vtimezone.Definition | None:
        """What the file itself says of a zone."""
        if name not in self._definitions:
            component = self._own.get(name)
            definition = vtimezone.read(component) if component else None
            self._definitions[name] = definition
        return self._definitions[name]


def _offset(zone: tzinfo, local: datetime) -> timedelta:
    return local.replace(tzinfo=zone).utcoffset() or timedelta()


def _agrees(zone: tzinfo, moments: Sequence[tuple[datetime, timedelta]]) -> bool:
    """Whether a zone has these offsets at these times (UTC)."""
    return all(
        moment.astimezone(zone).utcoffset() == offset for moment, offset in moments
    )


def zone_name(moment: datetime | date) -> str | None:
    """The IANA name of the moment's zone, or its POSIX rule or offset, or None when it
    floats.
    """
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return None
    if isinstance(moment.tzinfo, zoneinfo.ZoneInfo):
        return moment.tzinfo.key
    if moment.tzinfo is UTC:
        return "UTC"
    offset = moment.strftime("%z")
    return offset[:3] + ":" + offset[3:5]
