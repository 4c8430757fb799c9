"""Calendar arithmetic: weeks, months and years as days; SQL for a passage's own day."""

import calendar
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Period:
    """The days from the first to the last, both included."""

    first: date
    last: date


def span_of(day: date, unit: str) -> Period:
    """The calendar week, weekend, month, quarter or year that a day is in."""
    if unit == "week":
        return _week_of(day)
    if unit == "weekend":
        return _weekend_of(day)
    return _months_of(day, MONTHS_OF[unit])


def month_of(year: int, month: int) -> Period:
    """The days of a month."""
    first = date(year, month, 1)
    last = date(year, month, _length(year, month))
    return Period(first, last)


def years(first: int, last: int) -> Period:
    """The days from one year to another."""
    new_year = date(first, 1, 1)
    new_years_eve = date(last, 12, 31)
    return Period(new_year, new_years_eve)


def months_from(first: date, months: int) -> Period:
    """So many months from a day on."""
    next_first = months_later(first, months)
    last = next_first - timedelta(1)
    return Period(first, last)


def months_later(day: date, months: int) -> date:
    """The same day some months later, or the last of that month."""
    months_before = day.year * 12 + day.month - 1
    year, month_before = divmod(months_before + months, 12)
    month = month_before + 1
    length = _length(year, month)
    return date(year, month, min(day.day, length))


def _week_of(day: date) -> Period:
    """Monday to Sunday."""
    monday = day - timedelta(day.weekday())
    sunday = monday + timedelta(6)
    return Period(monday, sunday)


def _weekend_of(day: date) -> Period:
    """Saturday and Sunday of the week that a day is in."""
    sunday = _week_of(day).last
    saturday = sunday - timedelta(1)
    return Period(saturday, sunday)


def _months_of(day: date, months: int) -> Period:
    """The month that a day is in, or its quarter (3 months), or its year (12)."""
    months_before = day.month - 1
    months_into = months_before % months
    first = date(day.year, day.month - months_into, 1)
    return months_from(first, months)


def _length(year: int, month: int) -> int:
    """How many days a month has."""
    _, length = calendar.monthrange(year, month)
    return length


def latest(month: int, day: int, today: date) -> date:
    """The latest such day that is not after today; 29 February in its latest leap year."""
    for year in range(today.year, today.year - 9, -1):
        if day > _length(year, month):
            continue
        latest_day = date(year, month, day)
        if latest_day <= today:
            return latest_day
    raise ValueError(day)


def beside(today: date, unit: str, step: int) -> Period:
    """The calendar week, weekend, month, quarter or year that is `step` away from
    today's.
    """
    if unit in ("week", "weekend"):
        # On a Saturday or Sunday `last weekend` is the one before.
        day = today + timedelta(7 * step)
        return span_of(day, unit)
    this_month = today.replace(day=1)
    day = months_later(this_month, MONTHS_OF[unit] * step)
    return span_of(day, unit)
