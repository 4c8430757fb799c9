"""Date parsing of single days: yesterday, 5 May, 2024-01-15, last Monday. Pure.

Each reader turns a match of a pattern of `grammar.py` into an expression, or None where
it is no time after all. Raises ValueError or OverflowError for a day that there is not.
"""

from dataclasses import replace
from datetime import date, timedelta

from reverie.search.dates import days
from reverie.search.dates import expressions as reading
from reverie.search.dates import time_lexicon as tables
from reverie.search.dates.days import Period
from reverie.search.dates.expressions import Match, TimeExpression

# `por la mañana`, `guten Morgen`: the part of a day, not the day after this one.
_BEFORE_MORNING = {
    "manana": frozenset({"la", "las", "esta", "de"}),
    "morgen": frozenset({"guten", "am", "jeden", "der", "den"}),
}
_MONTHS_TOO = ("may", "mar")
# Good Friday, Black Friday, Super Tuesday: names.
_BEFORE_NAMED_DAY = frozenset(
    {"good", "black", "cyber", "ash", "palm", "super", "bloody"}
)


def deictic(match: Match, today: date) -> TimeExpression | None:
    """`yesterday`, `the day after tomorrow`, `heute Abend`."""
    word = reading.spaced(match["w"])
    if reading.word_before(match) in _BEFORE_MORNING.get(word, ()):
        return None
    days_ahead = tables.DAYS[word]
    day = today + timedelta(days_ahead)
    return reading.on_day(match, "said", day)


def dated(match: Match, today: date) -> TimeExpression | None:
    """`5 May`, `May 5th, 2024`, `from 3 to 5 May`."""
    if _is_sentence(match):
        return None
    month = reading.month_number(match["m"])
    first, last = _days_of_month(match)
    if last < first:
        return None
    if match["y"]:
        year = int(match["y"])
        begins = date(year, month, first)
        ends = date(year, month, last)
        return reading.of_days(match, "date", Period(begins, ends))
    begins = days.latest(month, first, today)
    ends = begins + timedelta(last - first)
    expression = reading.of_days(match, "date", Period(begins, ends))
    return replace(expression, yearless=True)


def _days_of_month(match: Match) -> tuple[int, int]:
    """The numbers of the first and the last day; of a single day twice the same."""
    groups = match.groupdict()
    first = reading.ordinal(groups["d"])
    if "d2" not in groups:
        return first, first
    return first, reading.ordinal(groups["d2"])


def _is_sentence(match: Match) -> bool:
    """`5 may be enough`: a number before a word that is a month too, and nothing that
    says it is a day.
    """
    if match["m"] not in _MONTHS_TOO or match["y"]:
        return False
    if reading.word_before(match) in tables.BEFORE_A_DAY:
        return False
    begins_with_digit = match[0][0].isdigit()
    return begins_with_digit and match["d"].isdigit()


def iso(match: Match, today: date) -> TimeExpression:
    """`2024-01-15` (ISO 8601), with slashes or dots too."""
    year = int(match["y"])
    month = int(match["m"])
    day = int(match["d"])
    return reading.on_day(match, "date", date(year, month, day))


def numeric(match: Match, today: date) -> TimeExpression | None:
    """`15.01.2024`, `05/13/2023`: days before months with dots; with slashes only where
    no other reading is.
    """
    day = int(match["a"])
    month = int(match["b"])
    year = int(match["y"])
    if year < 100:
        year += 2000
    if match["sep"] == "/" and month > 12:
        day, month = month, day
    elif match["sep"] != "." and day <= 12 and day != month:
        return None
    return reading.on_day(match, "date", date(year, month, day))


def german_day(match: Match, today: date) -> TimeExpression:
    """`am 3.4.`"""
    number = int(match["a"])
    month = int(match["b"])
    day = days.latest(month, number, today)
    expression = reading.on_day(match, "date", day)
    return replace(expression, yearless=True)


def weekday(match: Match, today: date) -> TimeExpression | None:
    """`Monday` (the latest one), `last Monday`, `el lunes que viene`."""
    if reading.word_before(match) in _BEFORE_NAMED_DAY:
        return None
    number = tables.WEEKDAYS[match["w"]]
    words = reading.step_words(match)
    if words:
        step = reading.step(words)
        day = _near_weekday(number, step, today)
        return reading.on_day(match, "said", day)
    day = _latest_weekday(number, today)
    expression = reading.on_day(match, "weekday", day)
    return replace(expression, firm=False)


def _latest_weekday(number: int, today: date) -> date:
    """Such a weekday (Monday is 0) that is today or within the six days before."""
    days_back = (today.weekday() - number) % 7
    return today - timedelta(days_back)


def _near_weekday(number: int, step: int, today: date) -> date:
    """The weekday before today, after it, or of this week."""
    if step > 0:
        latest = _latest_weekday(number, today)
        return latest + timedelta(7)
    if step < 0:
        yesterday = today - timedelta(1)
        return _latest_weekday(number, yesterday)
    days_ahead = number - today.weekday()
    return today + timedelta(days_ahead)
