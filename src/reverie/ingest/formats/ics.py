"""iCalendar files: events, tasks and journal entries, one component at a time.

Recurrence is emitted so that `dateutil.rrule.rrulestr(recurrence, dtstart=start)` reads
it, with midnight as the start of all-day events. Beside an aware start, UNTIL, RDATE
and EXDATE are UTC ("…Z"); otherwise they are local, and plain dates for all-day events.
No TZID remains.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.formats import contentlines, icstimes

PRIORITIES = {
    1: "high",
    2: "high",
    3: "high",
    4: "high",
    5: "medium",
    6: "low",
    7: "low",
    8: "low",
    9: "low",
}
COLUMNS = {
    "NEEDS-ACTION": "todo",
    "IN-PROCESS": "doing",
    "COMPLETED": "done",
    "CANCELLED": "cancelled",
}
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
KINDS = {"VEVENT", "VTODO", "VJOURNAL"}


@dataclass(frozen=True, slots=True)
class Calendar:
    """What the components of one file share."""

    name: str | None
    zones: icstimes.Zones
    default: (
        str  # the zone the exporter says the calendar is in, "" when it does not say
    )
    overridden: Mapping[
        str, Sequence[icstimes.Moment]
    ]  # UID -> the occurrences that have an event of their own


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """Every event, task and journal entry of the file, in its order."""
    roots = list(contentlines.components(source.data))
    if not roots:
        raise errors.Unreadable("no calendar was found in the file")
    found = False
    for root in roots:
        for item in _calendar(root):
            found = True
            yield item
    if not found:
        yield drafts.Skip("", "the calendar holds no events or tasks")


def _calendar(root: contentlines.Component) -> Iterator[drafts.Draft | drafts.Skip]:
    parts = [part for part in root.walk() if part.name in KINDS]
    zones = icstimes.Zones([part for part in root.walk() if part.name == "VTIMEZONE"])
    name = root.text("X-WR-CALNAME") or root.text("NAME")
    calendar = Calendar(
        name, zones, root.text("X-WR-TIMEZONE") or "", _overrides(parts, zones)
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
            yield _draft(part, key, calendar)
        except (ValueError, OverflowError) as error:
            yield drafts.Skip(key, f"{part.name}: {error}")
    for part in root.walk():
        if part.name in {"VFREEBUSY", "VAVAILABILITY"}:
            yield drafts.Skip(
                _key(part, zones),
                f"{part.name}: times that are free or busy are not kept",
            )


def _newest(
    parts: Sequence[contentlines.Component], zones: icstimes.Zones
) -> dict[str, contentlines.Component]:
    newest: dict[str, contentlines.Component] = {}
    for part in parts:
        key = _key(part, zones)
        if key not in newest or _number(part, "SEQUENCE") >= _number(
            newest[key], "SEQUENCE"
        ):
            newest[key] = part
    return newest


def _key(part: contentlines.Component, zones: icstimes.Zones) -> str:
    uid = part.text("UID")
    occurrence = part.first("RECURRENCE-ID")
    if uid:
        return (
            f"uid:{uid}/{_occurrence(occurrence, zones)}"
            if occurrence
            else f"uid:{uid}"
        )
    # DTSTAMP is the time of the export, so it would make every export a new event.
    lines = sorted(
        f"{line.name}:{line.value}" for line in part.lines if line.name != "DTSTAMP"
    )
    return (
        "sha:" + hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()
    )


def _occurrence(line: contentlines.ContentLine, zones: icstimes.Zones) -> str:
    try:
        moment = icstimes.moment(line, zones)
    except (ValueError, OverflowError):
        return line.value.strip()
    # In UTC where it can be: some programs write the same occurrence now with its zone
    # and now with Z.
    return icstimes.written(moment, moment)


def _overrides(
    parts: Sequence[contentlines.Component], zones: icstimes.Zones
) -> dict[str, list[icstimes.Moment]]:
    found: dict[str, list[icstimes.Moment]] = {}
    for part in parts:
        uid, line = part.text("UID"), part.first("RECURRENCE-ID")
        if uid and line:
            try:
                found.setdefault(uid, []).append(icstimes.moment(line, zones))
            except (ValueError, OverflowError):
                continue  # the override itself is reported when its turn comes
    return found


def _draft(part: contentlines.Component, key: str, calendar: Calendar) -> drafts.Draft:
    if part.name == "VTODO":
        return _task(part, key, calendar)
    if part.name == "VJOURNAL":
        return _journal(part, key, calendar)
    return _event(part, key, calendar)


def _event(part: contentlines.Component, key: str, calendar: Calendar) -> drafts.Draft:
    line = part.first("DTSTART")
    if line is None:
        raise ValueError(f"no start time ({part.text('SUMMARY') or 'untitled'})")
    start = icstimes.moment(line, calendar.zones)
    custom = _custom(part, calendar)
    end = _end(part, start, calendar.zones, custom)
    recurrence = _recurrence(part, start, calendar, custom)
    all_day = not isinstance(start, datetime)
    if isinstance(start, datetime) and start.tzinfo is None and calendar.default:
        custom["calendar_timezone"] = calendar.default
    status = (part.text("STATUS") or "").lower()
    return drafts.Draft(
        "event",
        key,
        {
            "title": part.text("SUMMARY"),
            "description": _description(part),
            "location": part.text("LOCATION"),
            "start": start,
            "end": end,
            "all_day": all_day,
            "timezone": icstimes.zone_name(start),
            "recurrence": recurrence or None,
            "status": status
            if status in {"confirmed", "tentative", "cancelled"}
            else None,
            "calendar": calendar.name,
            "attendees": _people(part) or None,
            "reminders": _reminders(part, start, end, calendar) or None,
            "custom": custom,
        },
    )


def _description(part: contentlines.Component) -> str | None:
    line = part.first("DESCRIPTION")
    return (line.text.strip("\n") or None) if line else None


def _end(
    part: contentlines.Component,
    start: icstimes.Moment,
    zones: icstimes.Zones,
    custom: dict[str, object],
) -> icstimes.Moment | None:
    """The exclusive end, of the same type as the start."""
    end: icstimes.Moment | None = None
    line, length = part.first("DTEND"), part.first("DURATION")
    try:
        if line:
            end = icstimes.like(icstimes.moment(line, zones), start)
        elif length:
            end = icstimes.after(start, icstimes.duration(length.value))
    except (ValueError, OverflowError) as error:
        custom["broken_end"] = (
            f"{(line or length or contentlines.ContentLine('', '')).value}: {error}"
        )
    if not isinstance(start, datetime):
        # Some writers give an all-day event the same day as its end; a day is the least
        # it lasts.
        return max(end, start + timedelta(days=1)) if end else start + timedelta(days=1)
    if isinstance(end, datetime) and icstimes.minutes(start, end, UTC) < 0:
        custom["broken_end"] = "the end lies before the start: " + end.isoformat()
        return None
    return end


def _recurrence(
    part: contentlines.Component,
    start: icstimes.Moment,
    calendar: Calendar,
    custom: dict[str, object],
) -> str:
    lines: list[str] = []
    broken: list[str] = []
    for name in ("RRULE", "EXRULE", "RDATE", "EXDATE"):
        for line in part.every(name):
            try:
                lines += icstimes.recurrence(line, start, calendar.zones)
            except (ValueError, OverflowError) as error:
                broken.append(f"{name}:{line.value} ({error})")
    custom["broken_recurrence"] = broken
    custom["rdate_periods"] = [
        line.value for line in part.every("RDATE") if "/" in line.value
    ]
    if part.first("RECURRENCE-ID") is None and lines:
        uid = part.text("UID") or ""
        lines += [
            "EXDATE:" + icstimes.written(moment, start)
            for moment in calendar.overridden.get(uid, ())
        ]
    lines = list(dict.fromkeys(lines))
    return (
        "\n".join(lines)
        if any(line.startswith(("RRULE", "RDATE")) for line in lines)
        else ""
    )


def _people(part: contentlines.Component) -> list[dict[str, str]]:
    people: list[dict[str, str]] = []
    for line in (*part.every("ORGANIZER"), *part.every("ATTENDEE")):
        email = line.text.strip()
        email = email[7:] if email.lower().startswith("mailto:") else email
        person = {
            "name": line.param("CN") or email,
            "email": email if "@" in email else line.param("EMAIL"),
            "status": line.param("PARTSTAT").lower(),
            "role": "organizer"
            if line.name == "ORGANIZER"
            else (line.param("ROLE").lower() or "req-participant"),
        }
        people.append({name: value for name, value in person.items() if value})
    return people


def _reminders(
    part: contentlines.Component,
    start: icstimes.Moment,
    end: icstimes.Moment | None,
    calendar: Calendar,
) -> list[int]:
    """Minutes before the start, negative for after it."""
    found: list[int] = []
    local = calendar.zones.get(calendar.default) or UTC
    for alarm in part.children:
        trigger = alarm.first("TRIGGER") if alarm.name == "VALARM" else None
        if trigger is None:
            continue
        try:
            if (
                trigger.param("VALUE").upper() == "DATE-TIME"
                or trigger.value[:8].isdigit()
            ):
                found.append(
                    -icstimes.minutes(
                        start, icstimes.moment(trigger, calendar.zones), local
                    )
                )
                continue
            anchor = end if trigger.param("RELATED").upper() == "END" and end else start
            offset = icstimes.duration(trigger.value).total_seconds() / 60
            found.append(-round(icstimes.minutes(start, anchor, local) + offset))
        except (ValueError, OverflowError):
            continue  # a reminder nobody can place is no reason to lose the event
    return sorted(set(found))


def _task(part: contentlines.Component, key: str, calendar: Calendar) -> drafts.Draft:
    custom = _custom(part, calendar)
    description = _description(part)
    title = part.text("SUMMARY") or (description or "").strip().split("\n")[0][:200]
    if not title:
        raise ValueError("a task without a title")
    due, completed = (
        _time(part, "DUE", calendar, custom),
        _time(part, "COMPLETED", calendar, custom),
    )
    status = (part.text("STATUS") or "").upper()
    priority = _number(part, "PRIORITY")
    if isinstance(due, datetime):
        custom["due_at"] = due
    start = _time(part, "DTSTART", calendar, custom)
    if anchor := start or due:
        custom["recurrence"] = _recurrence(part, anchor, calendar, custom)
    return drafts.Draft(
        "task",
        key,
        {
            "title": title,
            "description": description,
            "board": calendar.name,
            "column": "done" if completed else COLUMNS.get(status),
            "due": due.date() if isinstance(due, datetime) else due,
            "priority": PRIORITIES.get(priority),
            "labels": _categories(part) or None,
            "completed_at": icstimes.aware(completed) if completed else None,
            "custom": custom
            | {"status": status, "priority": priority or None, "start": start},
        },
    )


def _time(
    part: contentlines.Component,
    name: str,
    calendar: Calendar,
    custom: dict[str, object],
) -> icstimes.Moment | None:
    line = part.first(name)
    if line is None:
        return None
    try:
        return icstimes.moment(line, calendar.zones)
    except (ValueError, OverflowError) as error:
        custom[f"broken_{name.lower()}"] = f"{line.value}: {error}"
        return None


def _journal(
    part: contentlines.Component, key: str, calendar: Calendar
) -> drafts.Draft:
    custom = _custom(part, calendar)
    custom["date"] = _time(part, "DTSTART", calendar, custom)
    text = "\n\n".join(line.text for line in part.every("DESCRIPTION"))
    title = part.text("SUMMARY")
    if not text.strip() and not title:
        raise ValueError("a journal entry without text")
    return drafts.Draft(
        "note",
        key,
        {
            "title": title,
            "content": text,
            "format": "text",
            "tags": _categories(part) or None,
            "custom": custom,
        },
    )


def _custom(part: contentlines.Component, calendar: Calendar) -> dict[str, object]:
    custom: dict[str, object] = {"uid": part.text("UID")}
    if part.name == "VEVENT":
        custom["categories"] = _categories(part)
    for name in KEPT:
        values = [line.text.strip() for line in part.every(name) if line.value.strip()]
        custom[name.lower().replace("-", "_")] = (
            values[0] if len(values) == 1 else values
        )
    for name, label in (("CREATED", "created"), ("LAST-MODIFIED", "modified")):
        moment = _time(part, name, calendar, custom)
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


def _attachment(line: contentlines.ContentLine) -> dict[str, object]:
    data = contentlines.binary(line)
    known: dict[str, object] = {
        "name": line.param("FILENAME") or line.param("X-FILENAME"),
        "mime": line.param("FMTTYPE"),
    }
    known |= (
        {"url": line.text.strip()}
        if data is None
        else {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    )
    return {name: value for name, value in known.items() if value}


def _categories(part: contentlines.Component) -> list[str]:
    return contentlines.unique(
        word
        for line in part.every("CATEGORIES")
        for word in contentlines.split(line.value, ",")
    )


def _number(part: contentlines.Component, name: str) -> int:
    text = part.text(name) or ""
    return int(text) if text.isdecimal() and len(text) < 10 else 0
