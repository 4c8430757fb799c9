"""Days: which a week, a month or a year is made of, and, as SQL, the day that a passage
is of.
"""

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


def span_of(start: date, unit: str, count: int = 1) -> tuple[date, date]:
    """The days of the calendar week, weekend, month, quarter or year that a day is in;
    `count` of them.
    """
    if unit == "day":
        return start, start + timedelta(count - 1)
    if unit in ("week", "weekend"):
        monday = start - timedelta(start.weekday())
        return (
            monday + timedelta(5) if unit == "weekend" else monday
        ), monday + timedelta(7 * count - 1)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    begins = date(start.year, (start.month - 1) // months * months + 1, 1)
    return begins, months_later(begins, months * count) - timedelta(1)


def months_later(day: date, months: int) -> date:
    """The same day some months later, or the last of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def latest(month: int, day: int, today: date) -> date:
    """The latest such day that is not after today; 29 February in its latest leap year."""
    for year in range(today.year, today.year - 9, -1):
        if (day <= calendar.monthrange(year, month)[1]) and date(
            year, month, day
        ) <= today:
            return date(year, month, day)
    raise ValueError(day)


def beside(today: date, unit: str, step: int) -> tuple[date, date]:
    """The calendar week, weekend, month, quarter or year that is `step` away from
    today's.
    """
    if unit == "weekend":
        first, last = span_of(today, "weekend")
        # On a Saturday or Sunday `last weekend` is the one before.
        return first + timedelta(7 * step), last + timedelta(7 * step)
    if unit == "week":
        return span_of(today + timedelta(7 * step), "week")
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    return span_of(months_later(span_of(today, "month")[0], months * step), unit)
