"""Date parsing of single days: yesterday, 5 May, 2024-01-15, last Monday. Pure.

Each reader turns a match of a pattern of `grammar.py` into an expression, or None where
it is no time after all. Raises ValueError or OverflowError for a day that there is not.
"""

from dataclasses import replace
from datetime import date, timedelta

from reverie.search.dates import days
from reverie.search.dates import expressions as reading
from reverie.search.dates import time_lexicon as tables
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
    day = today + timedelta(tables.DAYS[word])
    return reading.of_days(match, "said", day, day)


def dated(match: Match, today: date) -> TimeExpression | None:
    """`5 May`, `May 5th, 2024`, `from 3 to 5 May`."""
    if _is_sentence(match):
        return None
    month = reading.month_number(match["m"])
    first = reading.ordinal(match["d"])
    last = first
    if "d2" in match.groupdict():
        last = reading.ordinal(match["d2"])
    if last < first:
        return None
    if match["y"]:
        year = int(match["y"])
        begins = date(year, month, first)
        ends = date(year, month, last)
        return reading.of_days(match, "date", begins, ends)
    day = days.latest(month, first, today)
    until = day + timedelta(last - first)
    return replace(reading.of_days(match, "date", day, until), yearless=True)


def _is_sentence(match: Match) -> bool:
    """`5 may be enough`: a number before a word that is a month too, and nothing that
    says it is a day.
    """
    if match["m"] not in _MONTHS_TOO or match["y"]:
        return False
    if reading.word_before(match) in tables.BEFORE_A_DAY:
        return False
    return match["d"].isdigit() and match[0][0].isdigit()


def iso(match: Match, today: date) -> TimeExpression:
    """`2024-01-15` (ISO 8601), with slashes or dots too."""
    year, month, day = (int(match[name]) for name in ("y", "m", "d"))
    the_day = date(year, month, day)
    return reading.of_days(match, "date", the_day, the_day)


def numeric(match: Match, today: date) -> TimeExpression | None:
    """`15.01.2024`, `05/13/2023`: days before months with dots; with slashes only where
    no other reading is.
    """
    day = int(match["a"])
    month = int(match["b"])
    year = int(match["y"])
    year += 2000 if year < 100 else 0
    if match["sep"] == "/" and month > 12:
        day, month = month, day
    elif match["sep"] != "." and day <= 12 and day != month:
        return None
    the_day = date(year, month, day)
    return reading.of_days(match, "date", the_day, the_day)


def german_day(match: Match, today: date) -> TimeExpression:
    """`am 3.4.`"""
    number = int(match["a"])
    month = int(match["b"])
    day = days.latest(month, number, today)
    return replace(reading.of_days(match, "date", day, day), yearless=True)


def weekday(match: Match, today: date) -> TimeExpression | None:
    """`Monday` (the latest one), `last Monday`, `el lunes que viene`."""
    if reading.word_before(match) in _BEFORE_NAMED_DAY:
        return None
    number = tables.WEEKDAYS[match["w"]]
    words = match["s"] or match["t"] or ""
    if not words:
        back = (today.weekday() - number) % 7
        day = today - timedelta(back)
        return reading.of_days(match, "weekday", day, day, firm=False)
    day = _near_weekday(number, reading.step(words), today)
    return reading.of_days(match, "said", day, day)


def _near_weekday(number: int, step: int, today: date) -> date:
    """The weekday before today, after it, or of this week."""
    ahead = number - today.weekday()
    if step > 0:
        return today + timedelta(ahead % 7 or 7)
    if step < 0:
        return today - timedelta(-ahead % 7 or 7)
    return today + timedelta(ahead)
