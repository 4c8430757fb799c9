"""iCalendar files (RFC 5545): events, tasks and journal entries, one at a time.

Recurrence is emitted so that `dateutil.rrule.rrulestr(recurrence, dtstart=start)` reads
it, with midnight as the start of all-day events. Beside an aware start, UNTIL, RDATE
and EXDATE are UTC ("…Z"); otherwise they are local, and plain dates for all-day events.
No TZID remains.
"""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.formats import (
    contentlines,
    ics_properties,
    ics_salvage,
    icstimes,
    icszones,
)

# RFC 5545, 3.8.1.9: 1 to 4 are high, 5 is medium, 6 to 9 are low.
PRIORITIES = {
    **dict.fromkeys(range(1, 5), "high"),
    5: "medium",
    **dict.fromkeys(range(6, 10), "low"),
}
COLUMNS = {
    "NEEDS-ACTION": "todo",
    "IN-PROCESS": "doing",
    "COMPLETED": "done",
    "CANCELLED": "cancelled",
}
EVENT_STATES = frozenset({"confirmed", "tentative", "cancelled"})
LONGEST_TITLE = 200  # of a task that has only a description; set by hand
KINDS = {"VEVENT", "VTODO", "VJOURNAL"}


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """Every event, task and journal entry of the file, in its order."""
    roots = list(contentlines.components(source.data))
    if not roots:
        raise errors.Unreadable("no calendar was found in the file")
    is_empty = True
    for root in roots:
        for item in _calendar(root):
            is_empty = False
            yield item
    if is_empty:
        yield drafts.Skip("", "the calendar holds no events or tasks")


def _calendar(root: contentlines.Component) -> Iterator[drafts.DraftOrSkip]:
    """The items of one VCALENDAR, and what in it makes none."""
    parts = [part for part in root.walk() if part.name in KINDS]
    definitions = [part for part in root.walk() if part.name == "VTIMEZONE"]
    default = root.text("X-WR-TIMEZONE") or ""
    zones = icszones.Zones(definitions, default)
    calendar = ics_properties.Calendar(
        name=root.text("X-WR-CALNAME") or root.text("NAME"),
        zones=zones,
        default=default,
        overridden=_overrides(parts, zones),
    )
    newest = _newest(parts, zones)
    for part in parts:
        key = _key(part, zones)
        if newest[key] is not part:
            yield drafts.Skip(
                key, "an older version of an item that is in the same file again"
            )
            continue
        try:
            draft = _draft(part, key, calendar)
        except (ValueError, OverflowError) as error:
            yield drafts.Skip(key, f"{part.name}: {error}")
            continue
        yield draft
        yield from ics_salvage.remarks(draft)
    for name in zones.unknown:
        text = f"the time zone {name[:80]!r} is not known: its times stay local times"
        yield drafts.Remark("", text)
    for part in root.walk():
        if part.name in {"VFREEBUSY", "VAVAILABILITY"}:
            yield drafts.Skip(
                _key(part, zones),
                f"{part.name}: times that are free or busy are not kept",
            )


def _newest(
    parts: Sequence[contentlines.Component], zones: icszones.Zones
) -> dict[str, contentlines.Component]:
    """Key -> the component with the highest SEQUENCE, the last of the same."""
    newest: dict[str, contentlines.Component] = {}
    for part in parts:
        key = _key(part, zones)
        if key not in newest or ics_properties.number(
            part, "SEQUENCE"
        ) >= ics_properties.number(newest[key], "SEQUENCE"):
            newest[key] = part
    return newest


def _key(part: contentlines.Component, zones: icszones.Zones) -> str:
    """The identity of an item: its UID and, of a series, the occurrence."""
    uid = part.text("UID")
    occurrence = part.first("RECURRENCE-ID")
    if uid and occurrence:
        return f"uid:{uid}/{_occurrence(occurrence, zones)}"
    if uid:
        return f"uid:{uid}"
    # DTSTAMP is the time of the export, so it would make every export a new event.
    lines = sorted(
        f"{line.name}:{line.value}" for line in part.lines if line.name != "DTSTAMP"
    )
    content = "\n".join(lines).encode("utf-8", "replace")
    return "sha:" + hashlib.sha256(content).hexdigest()


def _occurrence(line: contentlines.ContentLine, zones: icszones.Zones) -> str:
    """Which occurrence of a series is meant, as a part of a key."""
    try:
        moment = icstimes.moment(line, zones)
    except (ValueError, OverflowError):
        return line.value.strip()
    # In UTC where it can be: some programs write the same occurrence now with its zone
    # and now with Z.
    return icstimes.written(moment, moment)


def _overrides(
    parts: Sequence[contentlines.Component], zones: icszones.Zones
) -> dict[str, list[icstimes.Moment]]:
    """UID -> the occurrences of a series that have an event of their own."""
    occurrences: dict[str, list[icstimes.Moment]] = {}
    for part in parts:
        uid = part.text("UID")
        line = part.first("RECURRENCE-ID")
        if uid and line:
            try:
                moment = icstimes.moment(line, zones)
            except (ValueError, OverflowError):
                continue  # the override itself is reported when its turn comes
            occurrences.setdefault(uid, []).append(moment)
    return occurrences


def _draft(
    part: contentlines.Component, key: str, calendar: ics_properties.Calendar
) -> drafts.Draft:
    """The record of a component. Raises ValueError."""
    if part.name == "VTODO":
        return _task(part, key, calendar)
    if part.name == "VJOURNAL":
        return _journal(part, key, calendar)
    return _event(part, key, calendar)


def _event(
    part: contentlines.Component, key: str, calendar: ics_properties.Calendar
) -> drafts.Draft:
    """A VEVENT as a record, or a note where its start is no date. Raises ValueError
    without a start.
    """
    line = part.first("DTSTART")
    if line is None:
        raise ValueError(f"no start time ({part.text('SUMMARY') or 'untitled'})")
    custom = ics_properties.custom(part, calendar)
    try:
        start = icstimes.moment(line, calendar.zones, series=_recurs(part))
    except (ValueError, OverflowError):
        start = icstimes.day_of(line.value)
        if start is None:
            return ics_salvage.undated(part, key, line, calendar)
        custom["broken_start"] = line.value
    end = _end(part, start, calendar.zones, custom)
    recurrence = ics_properties.recurrence(part, start, calendar, custom)
    if _floats(start) and calendar.default:
        custom["calendar_timezone"] = calendar.default
    status = (part.text("STATUS") or "").lower()
    fields: drafts.Fields = {
        "title": part.text("SUMMARY"),
        "description": ics_properties.description(part),
        "location": part.text("LOCATION"),
        "start": start,
        "end": end,
        "all_day": not isinstance(start, datetime),
        "timezone": icszones.zone_name(start),
        "recurrence": recurrence or None,
        "status": status if status in EVENT_STATES else None,
        "calendar": calendar.name,
        "attendees": _people(part) or None,
        "reminders": _reminders(part, start, end, calendar) or None,
        "custom": custom,
    }
    return drafts.Draft("event", key, fields)


def _recurs(part: contentlines.Component) -> bool:
    """Whether an event has a recurrence of its own."""
    return bool(part.first("RRULE") or part.first("RDATE"))


def _floats(moment: icstimes.Moment) -> bool:
    """Whether it is a time without a zone (RFC 5545, 3.3.5)."""
    return isinstance(moment, datetime) and moment.tzinfo is None


def _end(
    part: contentlines.Component,
    start: icstimes.Moment,
    zones: icszones.Zones,
    custom: drafts.Fields,
) -> icstimes.Moment | None:
    """The exclusive end, of the same type as the start."""
    try:
        end = _written_end(part, start, zones)
    except (ValueError, OverflowError) as error:
        end = None
        custom["broken_end"] = f"{_end_text(part)}: {error}"
    if not isinstance(start, datetime):
        # Some writers give an all-day event the same day as its end; a day is the least
        # it lasts.
        next_day = start + timedelta(days=1)
        return max(end, next_day) if end else next_day
    if isinstance(end, datetime) and icstimes.minutes(start, end, UTC) < 0:
        custom["broken_end"] = "the end lies before the start: " + end.isoformat()
        return None
    return end


def _written_end(
    part: contentlines.Component, start: icstimes.Moment, zones: icszones.Zones
) -> icstimes.Moment | None:
    """DTEND, or the start and DURATION; RFC 5545 allows one of them."""
    if line := part.first("DTEND"):
        return icstimes.like(icstimes.moment(line, zones), start)
    if length := part.first("DURATION"):
        return icstimes.after(start, icstimes.duration(length.value))
    return None


def _end_text(part: contentlines.Component) -> str:
    """What was written where an end cannot be told."""
    line = part.first("DTEND") or part.first("DURATION")
    return line.value if line else ""


def _people(part: contentlines.Component) -> list[dict[str, str]]:
    """The organizer, then the attendees (RFC 5545, 3.8.4)."""
    people: list[dict[str, str]] = []
    for line in (*part.every("ORGANIZER"), *part.every("ATTENDEE")):
        email = line.text.strip()
        if email.lower().startswith("mailto:"):
            email = email[len("mailto:") :]
        person = {
            "name": line.param("CN") or email,
            "email": email if "@" in email else line.param("EMAIL"),
            "status": line.param("PARTSTAT").lower(),
            "role": _role(line),
        }
        people.append({name: value for name, value in person.items() if value})
    return people


def _role(line: contentlines.ContentLine) -> str:
    """The role of an attendee; "organizer" is ours."""
    if line.name == "ORGANIZER":
        return "organizer"
    return line.param("ROLE").lower() or "req-participant"  # RFC 5545, 3.2.16


def _reminders(
    part: contentlines.Component,
    start: icstimes.Moment,
    end: icstimes.Moment | None,
    calendar: ics_properties.Calendar,
) -> list[int]:
    """Minutes before the start, negative for after it."""
    reminders: set[int] = set()
    for alarm in part.children:
        trigger = alarm.first("TRIGGER") if alarm.name == "VALARM" else None
        if trigger is None:
            continue
        try:
            reminders.add(-_trigger_minutes(trigger, start, end, calendar))
        except (ValueError, OverflowError):
            continue  # a reminder nobody can place is no reason to lose the event
    return sorted(reminders)


def _trigger_minutes(
    trigger: contentlines.ContentLine,
    start: icstimes.Moment,
    end: icstimes.Moment | None,
    calendar: ics_properties.Calendar,
) -> int:
    """Minutes from the start to an alarm, which is a time, or a duration from the start
    or the end (RFC 5545, 3.8.6.3).
    """
    local = calendar.zones.get(calendar.default) or UTC
    is_time = trigger.param("VALUE").upper() == "DATE-TIME"
    # Some writers leave VALUE out.
    if is_time or trigger.value[:8].isdigit():
        moment = icstimes.moment(trigger, calendar.zones)
        return icstimes.minutes(start, moment, local)
    from_end = trigger.param("RELATED").upper() == "END"
    anchor = end if from_end and end else start
    offset = icstimes.duration(trigger.value).total_seconds() / 60
    return round(icstimes.minutes(start, anchor, local) + offset)


def _task(
    part: contentlines.Component, key: str, calendar: ics_properties.Calendar
) -> drafts.Draft:
    """A VTODO as a record. Raises ValueError without a title."""
    custom = ics_properties.custom(part, calendar)
    description = ics_properties.description(part)
    title = _task_title(part, description)
    due = ics_properties.time(part, "DUE", calendar, custom)
    completed = ics_properties.time(part, "COMPLETED", calendar, custom)
    if isinstance(due, datetime):
        custom["due_at"] = due
    start = ics_properties.time(part, "DTSTART", calendar, custom)
    status = (part.text("STATUS") or "").upper()
    priority = ics_properties.number(part, "PRIORITY")
    if anchor := start or due:
        custom["recurrence"] = ics_properties.recurrence(part, anchor, calendar, custom)
    custom |= {"status": status, "priority": priority or None, "start": start}
    fields: drafts.Fields = {
        "title": title,
        "description": description,
        "board": calendar.name,
        "column": "done" if completed else COLUMNS.get(status),
        "due": icstimes.day(due),
        "priority": PRIORITIES.get(priority),
        "labels": ics_properties.categories(part) or None,
        "completed_at": icstimes.aware(completed) if completed else None,
        "custom": custom,
    }
    return drafts.Draft("task", key, fields)


def _task_title(part: contentlines.Component, description: str | None) -> str:
    """Its summary, or how its description begins. Raises ValueError without either."""
    first_line = (description or "").strip().split("\n")[0]
    title = part.text("SUMMARY") or first_line[:LONGEST_TITLE]
    if not title:
        raise ValueError("a task without a title")
    return title


def _journal(
    part: contentlines.Component, key: str, calendar: ics_properties.Calendar
) -> drafts.Draft:
    """A VJOURNAL as a note. Raises ValueError without a text."""
    custom = ics_properties.custom(part, calendar)
    custom["date"] = ics_properties.time(part, "DTSTART", calendar, custom)
    text = "\n\n".join(line.text for line in part.every("DESCRIPTION"))
    title = part.text("SUMMARY")
    if not text.strip() and not title:
        raise ValueError("a journal entry without text")
    fields: drafts.Fields = {
        "title": title,
        "content": text,
        "format": "text",
        "tags": ics_properties.categories(part) or None,
        "custom": custom,
    }
    return drafts.Draft("note", key, fields)
