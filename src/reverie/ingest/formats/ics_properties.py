"""iCalendar properties (RFC 5545) that events, tasks and journal entries share."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reverie.ingest.formats import contentlines, icsrules, icstimes, icszones

RECURRENCE_LINES = ("RRULE", "EXRULE", "RDATE", "EXDATE")
# Properties that a record has no field for, kept as they stand.
KEPT = (
    "CLASS",
    "TRANSP",
    "SEQUENCE",
    "COLOR",
    "URL",
    "CONFERENCE",
    "RELATED-TO",
    "PERCENT-COMPLETE",
    "RESOURCES",
    "CONTACT",
    "COMMENT",
)


@dataclass(frozen=True, slots=True)
class Calendar:
    """What the components of one file share."""

    name: str | None
    zones: icszones.Zones
    # the zone the exporter says the calendar is in, "" when it does not say
    default: str
    # UID -> the occurrences that have an event of their own
    overridden: Mapping[str, Sequence[icstimes.Moment]]


def description(part: contentlines.Component) -> str | None:
    """DESCRIPTION without empty lines around it."""
    line = part.first("DESCRIPTION")
    if line is None:
        return None
    return line.text.strip("\n") or None


def recurrence(
    part: contentlines.Component,
    start: icstimes.Moment,
    calendar: Calendar,
    custom: dict[str, object],
) -> str:
    """The lines of a recurrence set as one text; "" when nothing recurs."""
    lines, broken = _recurrence_lines(part, start, calendar.zones)
    custom["broken_recurrence"] = broken
    custom["rdate_periods"] = [
        line.value for line in part.every("RDATE") if "/" in line.value
    ]
    if lines and part.first("RECURRENCE-ID") is None:
        uid = part.text("UID") or ""
        for moment in calendar.overridden.get(uid, ()):
            lines.append("EXDATE:" + icstimes.written(moment, start))
    # An EXDATE alone recurs never.
    if not any(line.startswith(("RRULE", "RDATE")) for line in lines):
        return ""
    return "\n".join(dict.fromkeys(lines))


def _recurrence_lines(
    part: contentlines.Component, start: icstimes.Moment, zones: icszones.Zones
) -> tuple[list[str], list[str]]:
    """The lines to keep, and what of them is broken."""
    lines: list[str] = []
    broken: list[str] = []
    for name in RECURRENCE_LINES:
        for line in part.every(name):
            kept, wrong = icsrules.recurrence(line, start, zones)
            lines += kept
            broken += wrong
    return lines, broken


def time(
    part: contentlines.Component,
    name: str,
    calendar: Calendar,
    custom: dict[str, object],
) -> icstimes.Moment | None:
    """The time of a property; one that is broken goes into `custom`."""
    line = part.first(name)
    if line is None:
        return None
    try:
        return icstimes.moment(line, calendar.zones)
    except (ValueError, OverflowError) as error:
        custom[f"broken_{name.lower()}"] = f"{line.value}: {error}"
        return None


def custom(part: contentlines.Component, calendar: Calendar) -> dict[str, object]:
    """What a record has no field for."""
    custom: dict[str, object] = {"uid": part.text("UID")}
    if part.name == "VEVENT":
        custom["categories"] = categories(part)
    else:  # which have no attendees
        custom["organizer"] = part.text("ORGANIZER")
    custom |= _kept(part)
    for name, label in (("CREATED", "created"), ("LAST-MODIFIED", "modified")):
        moment = time(part, name, calendar, custom)
        custom[label] = icstimes.aware(moment) if moment else None
    if line := part.first("GEO"):
        custom["geo"] = line.value.replace(";", ",")
    custom["attachments"] = [_attachment(line) for line in part.every("ATTACH")]
    occurrence = part.first("RECURRENCE-ID")
    if occurrence:
        custom["recurrence_id"] = occurrence.value.strip()
        custom["recurrence_tzid"] = occurrence.param("TZID")
        custom["recurrence_range"] = occurrence.param("RANGE")
    custom["broken_lines"] = part.broken
    return custom


def _kept(part: contentlines.Component) -> dict[str, object]:
    """The properties of `KEPT` by name."""
    kept: dict[str, object] = {}
    for name in KEPT:
        lines = [line for line in part.every(name) if line.value.strip()]
        values = [line.text.strip() for line in lines]
        label = name.lower().replace("-", "_")
        kept[label] = values[0] if len(values) == 1 else values
    return kept


def _attachment(line: contentlines.ContentLine) -> dict[str, object]:
    """An attachment by its link, or by the hash of its bytes."""
    data = contentlines.binary(line)
    attachment: dict[str, object] = {
        "name": line.param("FILENAME") or line.param("X-FILENAME"),
        "mime": line.param("FMTTYPE"),
    }
    if data is None:
        attachment["url"] = line.text.strip()
    else:
        attachment["size"] = len(data)
        attachment["sha256"] = hashlib.sha256(data).hexdigest()
    return {name: value for name, value in attachment.items() if value}


def categories(part: contentlines.Component) -> list[str]:
    """All CATEGORIES, once each."""
    words: list[str] = []
    for line in part.every("CATEGORIES"):
        words += contentlines.split(line.value, ",")
    return contentlines.unique(words)


def number(part: contentlines.Component, name: str) -> int:
    """A property that is a number; 0 for anything else."""
    text = part.text(name) or ""
    if text.isdecimal() and len(text) < 10:
        return int(text)
    return 0
