"""Calendar arithmetic: weeks, months and years as days; SQL for a passage's own day."""

import calendar
from datetime import date, timedelta
from typing import LiteralString

# Over `passage.place` and `card.at`, in the zone %(zone)s. A turn's time without an
# offset is the user's own; what is no time at all (imports bring everything) counts as
# missing.
DAY: LiteralString = r"""
CASE
    WHEN NOT coalesce(pg_input_is_valid(passage.place->>'at', 'timestamptz'), false)
        THEN (card.at AT TIME ZONE %(zone)s)::date
    WHEN passage.place->>'at' ~ ':\d\d.*(Z|[+-]\d\d(:?\d\d)?)$'
        THEN ((passage.place->>'at')::timestamptz AT TIME ZONE %(zone)s)::date
    ELSE (passage.place->>'at')::timestamp::date
END
"""


MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}


def span_of(start: date, unit: str, count: int = 1) -> tuple[date, date]:
    """The days of the calendar week, weekend, month, quarter or year that a day is in;
    `count` of them.
    """
    if unit == "day":
        return start, start + timedelta(count - 1)
    if unit in ("week", "weekend"):
        monday = start - timedelta(start.weekday())
        saturday = monday + timedelta(5)
        first = saturday if unit == "weekend" else monday
        return first, monday + timedelta(7 * count - 1)
    months = MONTHS_OF[unit]
    before = (start.month - 1) // months * months
    begins = date(start.year, before + 1, 1)
    after = months_later(begins, months * count)
    return begins, after - timedelta(1)


def months_later(day: date, months: int) -> date:
    """The same day some months later, or the last of that month."""
    year, before = divmod(day.year * 12 + day.month - 1 + months, 12)
    month = before + 1
    return date(year, month, min(day.day, _length(year, month)))


def _length(year: int, month: int) -> int:
    """How many days a month has."""
    return calendar.monthrange(year, month)[1]


def latest(month: int, day: int, today: date) -> date:
    """The latest such day that is not after today; 29 February in its latest leap year."""
    for year in range(today.year, today.year - 9, -1):
        if day > _length(year, month):
            continue
        latest_day = date(year, month, day)
        if latest_day <= today:
            return latest_day
    raise ValueError(day)


def beside(today: date, unit: str, step: int) -> tuple[date, date]:
    """The calendar week, weekend, month, quarter or year that is `step` away from
    today's.
    """
    weeks = timedelta(7 * step)
    if unit == "weekend":
        first, last = span_of(today, "weekend")
        # On a Saturday or Sunday `last weekend` is the one before.
        return first + weeks, last + weeks
    if unit == "week":
        return span_of(today + weeks, "week")
    this_month, _ = span_of(today, "month")
    begins = months_later(this_month, MONTHS_OF[unit] * step)
    return span_of(begins, unit)
