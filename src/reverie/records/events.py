"""Events, and recurrence rules (RRULE, RFC 5545) expanded into occurrences.

Each is in its own time zone; a local day stays that local day.
"""

import zoneinfo
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Annotated, Any, Literal

import dateutil.rrule
import pydantic
from typing_extensions import TypedDict

from reverie import compact, db, errors
from reverie.access import callers
from reverie.records import passages, record_types, zones


def _when(value: object) -> object:
    """A bare date stays a date: it means the whole local day."""
    if isinstance(value, str) and len(value) == 10:
        try:
            return date.fromisoformat(value)
        except ValueError:
            return value
    return value


When = Annotated[datetime | date, pydantic.BeforeValidator(_when)]


_EVER = datetime(1, 1, 1)  # noqa: DTZ001 - recurrences are reckoned in wall-clock time


class Attendee(TypedDict, total=False):
    name: str | None
    email: str | None
    status: str | None
    role: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(record_types.Record):
    """`start` and `end` are moments (UTC in the database); an all-day event starts at
    its local midnight.

    `start_day` and `end_day` are the local days it covers, both inclusive.
    """

    start: When
    title: str = ""
    end: When | None = None
    all_day: bool = False
    timezone: str = ""
    start_day: date
    end_day: date
    description: str | None = None
    location: str | None = None
    recurrence: str | None = None
    status: Literal["confirmed", "tentative", "cancelled"] = "confirmed"
    calendar: str | None = None
    attendees: list[Attendee] = field(default_factory=list[Attendee])
    reminders: list[int] = field(default_factory=list[int])


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time that an event takes place, in local time."""

    event: Event
    start: datetime
    end: datetime
    day: date


# What dateutil raises for what is no rule.
_BROKEN_RULE = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    IndexError,
    OverflowError,
)
_STEPS = {
    "HOURLY": timedelta(hours=1),
    "DAILY": timedelta(days=1),
    "WEEKLY": timedelta(weeks=1),
}


def zone(name: str) -> tzinfo:
    """A time zone from an IANA name, a fixed offset or a POSIX rule. Raises Invalid."""
    return zones.zone(name)


def _zone_name(moment: datetime) -> str:
    if isinstance(moment.tzinfo, zoneinfo.ZoneInfo) and moment.tzinfo.key:
        return moment.tzinfo.key
    offset = moment.utcoffset() or timedelta()
    sign, minutes = ("-", -offset) if offset < timedelta() else ("+", offset)
    total = int(minutes.total_seconds()) // 60
    return f"{sign}{total // 60:02d}:{total % 60:02d}" if total else "UTC"


def _moment(value: datetime | date, local: tzinfo) -> datetime:
    if not isinstance(value, datetime):
        return datetime.combine(value, time.min, tzinfo=local)
    return value if value.tzinfo else value.replace(tzinfo=local)


def _prepare(values: dict[str, Any], caller: callers.Caller) -> dict[str, Any]:
    """Find the zone, the moments and the local days. A date means all day; a bare time
    is in the given zone.
    """
    try:
        return _placed(values, caller)
    except OverflowError:
        raise errors.Invalid(
            "This event lies outside of the years 1 to 9999."
        ) from None


def _placed(values: dict[str, Any], caller: callers.Caller) -> dict[str, Any]:
    start: datetime | date = values["start"]
    all_day = values["all_day"] or not isinstance(start, datetime)
    name = values.get("timezone") or _default_zone(start, caller)
    local = zone(name)
    begin = _moment(start, local).astimezone(local)
    if all_day:
        begin = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    finish = _finish(values["end"], begin, local, all_day=all_day)
    last = begin
    if finish is not None and finish != begin:
        last = finish - timedelta(microseconds=1)
    _rules(values["recurrence"], begin)
    return values | {
        "all_day": all_day,
        "timezone": name,
        "start": begin.astimezone(UTC),
        "end": finish.astimezone(UTC) if finish else None,
        "start_day": begin.date(),
        "end_day": last.date(),
    }


def _default_zone(start: datetime | date, caller: callers.Caller) -> str:
    """The zone that a start comes with, or else the caller's."""
    if isinstance(start, datetime) and start.tzinfo:
        return _zone_name(start)
    return caller.timezone


def _finish(
    end: datetime | date | None, begin: datetime, local: tzinfo, *, all_day: bool
) -> datetime | None:
    """The end of an event in its zone; a whole day ends at a midnight. Raises Invalid."""
    finish = None if end is None else _moment(end, local).astimezone(local)
    if all_day and (finish is None or finish <= begin):
        tomorrow = begin.date() + timedelta(days=1)
        finish = datetime.combine(tomorrow, time.min, tzinfo=local)
    if finish is not None and finish < begin:
        raise errors.Invalid(
            "This event ends before it starts.",
            hint="`end` must be later than `start`.",
        )
    return finish


def local_start(event: Event) -> datetime:
    """When it starts, in its own zone."""
    return _moment(event.start, UTC).astimezone(zone(event.timezone))


def _local_end(event: Event) -> datetime | None:
    if event.end is None:
        return None
    return _moment(event.end, UTC).astimezone(zone(event.timezone))


def _rules(
    recurrence: str | None, start: datetime, lower: datetime = _EVER
) -> dateutil.rrule.rruleset | None:
    """The recurrence in local wall-clock time, so that 09:00 stays 09:00 when the
    clocks change. Raises Invalid.

    Times before `lower` may be missing.
    """
    if not recurrence:
        return None
    lines: list[str] = []
    for line in recurrence.splitlines():
        line = line.strip()
        if line:
            lines.append(_wall_clock(line if ":" in line else f"RRULE:{line}", start))
    try:
        parsed = dateutil.rrule.rrulestr(
            "\n".join(lines),
            dtstart=_near(lines, start.replace(tzinfo=None), lower),
            forceset=True,
            ignoretz=True,
        )
    except _BROKEN_RULE as broken:
        raise errors.Invalid(
            f"This recurrence is not valid: {broken}.",
            hint="Such as RRULE:FREQ=WEEKLY.",
        ) from None
    if not isinstance(parsed, dateutil.rrule.rruleset):
        raise errors.Invalid(
            "This recurrence is not valid.", hint="Such as RRULE:FREQ=WEEKLY."
        )
    return parsed


def _parts(rule: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in rule.partition(":")[2].upper().split(";"))
    return {name: value for name, _, value in pairs}


def _near(lines: Sequence[str], start: datetime, lower: datetime) -> datetime:
    """A start that gives the same times, close before `lower`: dateutil counts up to a
    day one by one.
    """
    rules = [_parts(line) for line in lines if line.startswith(("RRULE:", "EXRULE:"))]
    for rule in rules:
        if rule.get("FREQ") in ("SECONDLY", "MINUTELY"):
            raise errors.Invalid(
                "This recurrence comes more than once an hour.",
                hint="HOURLY is the most often.",
            )
        if int(rule.get("INTERVAL", "1")) < 1:
            raise errors.Invalid("The INTERVAL of this recurrence is less than 1.")
    step = (
        _STEPS.get(rules[0].get("FREQ", ""))
        if len(rules) == 1 and "COUNT" not in rules[0]
        else None
    )
    if step is None or lower <= start:
        return start
    step *= int(rules[0].get("INTERVAL", "1"))
    return start + step * ((lower - start) // step)


def _wall_clock(line: str, start: datetime) -> str:
    """One recurrence line with its UTC and zoned times turned into the event's own
    wall-clock time.
    """
    head, _, values = line.partition(":")
    name = head.upper().partition(";")[0]
    if name in ("RRULE", "EXRULE"):
        parts = [_until(part, start) for part in values.split(";") if part]
        return f"{name}:{';'.join(parts)}"
    if name not in ("RDATE", "EXDATE"):
        raise errors.Invalid(
            f"{name} is not part of a recurrence.", hint="RRULE, RDATE and EXDATE are."
        )
    tzid = _tzid(head)
    moments = [
        _local(value.partition("/")[0], tzid, start) for value in values.split(",")
    ]
    return f"{name}:{','.join(moments)}"


def _until(part: str, start: datetime) -> str:
    """A part of a rule; its end, if it is that, in the event's wall-clock time."""
    if not part.upper().startswith("UNTIL="):
        return part
    return f"UNTIL={_local(part[6:], '', start)}"


def _tzid(head: str) -> str:
    """The zone in the parameters before the colon, as in `EXDATE;TZID=Asia/Tokyo`."""
    for parameter in head.split(";")[1:]:
        if parameter.upper().startswith("TZID="):
            return parameter.partition("=")[2]
    return ""


def _local(stamp: str, tzid: str, start: datetime) -> str:
    text = stamp.strip().upper()
    if "T" not in text:
        # An UNTIL or EXDATE that is a bare date means the occurrence of that local day.
        return f"{text}T{start:%H%M%S}"
    try:
        moment = datetime.strptime(text.rstrip("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - the zone follows
    except ValueError:
        raise errors.Invalid(
            f"{stamp} is not a time of a recurrence.", hint="Such as 20260329T070000Z."
        ) from None
    if text.endswith("Z"):
        moment = moment.replace(tzinfo=UTC).astimezone(start.tzinfo)
    elif tzid:
        moment = moment.replace(tzinfo=zone(tzid)).astimezone(start.tzinfo)
    return moment.strftime("%Y%m%dT%H%M%S")


def occurrences(
    event: Event, first: date, last: date, *, most: int = 1000
) -> Iterator[Occurrence]:
    """When an event takes place between two local days, both inclusive; at most `most`
    times.
    """
    begin = local_start(event)
    finish = _local_end(event) or begin
    before = finish.date() - begin.date() + timedelta(days=1)
    lower = _EVER
    if first - date.min > before:
        lower = datetime.combine(first, time.min) - before
    rules = _rules(event.recurrence, begin, lower)
    once = [begin.replace(tzinfo=None)]
    for moment in rules.xafter(lower, count=most, inc=True) if rules else once:
        start = moment.replace(tzinfo=begin.tzinfo)
        end = _shifted(event, moment, begin, finish)
        last_day = start.date()
        if end != start:
            last_day = (end - timedelta(microseconds=1)).date()
        if start.date() > last:
            return
        if last_day >= first:
            yield Occurrence(event, start, end, start.date())


def _shifted(
    event: Event, moment: datetime, begin: datetime, finish: datetime
) -> datetime:
    """The end of the occurrence that begins at a wall-clock time: days stay whole days,
    and hours pass whatever the clocks do.
    """
    if event.all_day:
        length = finish.replace(tzinfo=None) - begin.replace(tzinfo=None)
        return (moment + length).replace(tzinfo=begin.tzinfo)
    start = moment.replace(tzinfo=begin.tzinfo)
    return (start.astimezone(UTC) + (finish - begin)).astimezone(begin.tzinfo)


_BETWEEN = """
SELECT {all} FROM event
WHERE user_id = %(user)s AND deleted_at IS NULL AND status <> 'cancelled' AND start_day <= %(last)s
  AND (recurrence IS NOT NULL OR end_day >= %(first)s)
ORDER BY start
"""


async def agenda(
    tx: db.Transaction,
    caller: callers.Caller,
    *,
    first: date,
    last: date,
    most: int = 1000,
) -> list[Occurrence]:
    """Everything that takes place between two local days, recurrences spread out, in
    order. Raises Invalid.
    """
    if last < first:
        raise errors.Invalid(
            "This range ends before it starts.", hint="`to` must not be before `from`."
        )
    statement = db.compose(_BETWEEN, all=EVENTS.columns)
    events = await tx.all(
        Event, statement, {"user": caller.user_id, "first": first, "last": last}
    )
    everything = [
        occurrence
        for event in events
        for occurrence in occurrences(event, first, last, most=most)
    ]
    return sorted(everything, key=_agenda_order)[:most]


def _agenda_order(occurrence: Occurrence) -> tuple[date, bool, datetime]:
    """By day, whole days first."""
    return occurrence.day, not occurrence.event.all_day, occurrence.start


def _text(event: Event) -> passages.Text:
    parts = [part for part in (event.description, event.location) if part]
    people = [
        part
        for attendee in event.attendees
        for part in (attendee.get("name"), attendee.get("email"))
        if part
    ]
    sections = [passages.Section("\n".join(parts))] if parts else []
    keywords = (
        f"{' '.join(people)} {event.calendar or ''} {event.start_day.isoformat()}"
    )
    return passages.Text(
        _title(event),
        sections,
        keywords=keywords,
        at=_moment(event.start, UTC),
        people=people,
        category=event.calendar,
    )


def _title(event: Event) -> str:
    return event.title or "(untitled event)"


def _summary(event: Event) -> str:
    start = local_start(event)
    if event.all_day:
        return f"{_title(event)} {start:%Y-%m-%d}"
    return f"{_title(event)} {start:%Y-%m-%d %H:%M}"


def _line(event: Event, now: datetime) -> str:
    again = " 🔁" if event.recurrence else ""
    if event.all_day:
        return f"📅 all-day: {compact.clip(event.title, 40)}{again} {event.start_day}"
    place = f" [{compact.clip(event.location, 24)}]" if event.location else ""
    start, end = local_start(event), _local_end(event)
    until = f"-{compact.clock(end)}" if end and end != start else ""
    return f"{compact.clock(start)}{until} {compact.clip(event.title, 40)}{place}{again} {event.start_day}"


def _present(event: Event, form: dict[str, Any]) -> dict[str, Any]:
    start, end = local_start(event), _local_end(event)
    if event.all_day:
        return form | {
            "start": start.date().isoformat(),
            "end": end.date().isoformat() if end else None,
        }
    return form | {"start": start.isoformat(), "end": end.isoformat() if end else None}


EVENTS = record_types.Domain(
    name="event",
    plural="events",
    record=Event,
    text=_text,
    summary=_summary,
    line=_line,
    order="t.start, t.id",
    derived=frozenset({"start_day", "end_day"}),
    json=frozenset({"attendees", "reminders"}),
    prepare=_prepare,
    present=_present,
    filters={
        "day": record_types.Filter(
            date, "t.start_day <= %(day)s AND t.end_day >= %(day)s"
        ),
        "from": record_types.Filter(date, "t.end_day >= %(from)s"),
        "to": record_types.Filter(date, "t.start_day <= %(to)s"),
        "calendar": record_types.Filter(str, "t.calendar = %(calendar)s"),
        "status": record_types.Filter(str, "t.status = %(status)s"),
    },
)
