"""Time expressions: what date parsing finds, and the numbers and steps within it. Pure."""

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from reverie.search.dates import days
from reverie.search.dates import time_lexicon as tables
from reverie.search.dates.days import Period

Kind = Literal["said", "date", "month", "year", "weekday", "week", "season", "session"]
Match = re.Match[str]


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One time found in a folded text: its days (or its sessions), and whether its form
    leaves no doubt.

    `said` is a time counted from today (yesterday, last week); `yearless`: the year was
    guessed. `slack`: by how many days the count may be wrong.
    """

    start: int
    end: int
    kind: Kind
    first: date | None = None
    last: date | None = None
    firm: bool = True
    yearless: bool = False
    sessions: tuple[int, int] | None = None
    slack: int = 0


def of_days(
    match: Match, kind: Kind, period: Period, *, firm: bool = True
) -> TimeExpression:
    """The expression of a match that means these days."""
    start, end = match.span()
    return TimeExpression(start, end, kind, period.first, period.last, firm)


def on_day(match: Match, kind: Kind, day: date) -> TimeExpression:
    """The expression of a match that means one day."""
    return of_days(match, kind, Period(day, day))


def of_sessions(match: Match, first: int, last: int) -> TimeExpression:
    """The expression of a match that means these sessions."""
    start, end = match.span()
    return TimeExpression(start, end, "session", sessions=(first, last))


def in_year(expression: TimeExpression, year: int) -> TimeExpression:
    """An expression whose year was guessed, in the year that it belongs to."""
    if expression.first is None:
        return expression
    return years_later(expression, year - expression.first.year)


def years_later(expression: TimeExpression, years: int) -> TimeExpression:
    """The same days some years later; the end of February stays its end."""
    if expression.first is None or expression.last is None:
        return expression
    first = days.months_later(expression.first, 12 * years)
    last = days.months_later(expression.last, 12 * years)
    if expression.last == _month_end(expression.last):
        last = _month_end(last)
    return replace(expression, first=first, last=last)


def _month_end(day: date) -> date:
    """The last day of the month that a day is in."""
    return days.span_of(day, "month").last


def word_before(match: Match) -> str:
    """The word before a match, or ""."""
    return last_word(match.string[: match.start()])


def last_word(text: str) -> str:
    """The last word of a text, or ""."""
    words = text.rsplit(maxsplit=1)
    return words[-1] if words else ""


def spaced(text: str) -> str:
    """A text with single spaces, as the tables have it."""
    return " ".join(text.split())


def unit(text: str) -> str:
    """The unit of time that a word names: `week` of `weeks` and `Woche`."""
    return tables.UNITS[spaced(text)]


def count(text: str) -> tuple[int, int]:
    """How many, as a range: `a few` is from 2 to 7."""
    words = text.split()
    if words[-1] in ("of", "de"):
        words.pop()
    word = words[-1]
    if word in tables.VAGUE:
        return tables.VAGUE[word]
    if word in ("couple", "par"):
        return 2, 3
    number = int(word) if word.isdigit() else tables.SMALL[word]
    return number, number


def count_at_most(text: str | None) -> int:
    """How many at most; one where there is no number."""
    if not text:
        return 1
    _, most = count(text)
    return most


def ordinal(text: str) -> int:
    """The number of `3rd`, `third` or `3.`."""
    digits = re.match(r"\d+", text)
    if digits:
        return int(digits.group())
    return tables.ORDINALS[re.sub(r"\s+", " ", text)]


def month_number(text: str) -> int:
    """The number of a month from its name or its short form."""
    if text in tables.MONTHS:
        return tables.MONTHS[text]
    return tables.SHORT_MONTHS[text]


def step_words(match: Match) -> str:
    """The words before a time or behind it that say `last`, `this` or `next`, or ""."""
    return match["s"] or match["t"] or ""


def step(text: str) -> int:
    """-1 for `last`, 0 for `this`, 1 for `next`, in any of the languages."""
    if "que viene" in spaced(text):
        return 1
    for word in text.split():
        if word in tables.STEPS:
            return tables.STEPS[word]
    return 0
