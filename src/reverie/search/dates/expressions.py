"""Time expressions: what date parsing finds, and the numbers and steps within it. Pure."""

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from reverie.search.dates import days
from reverie.search.dates import time_lexicon as tables

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
    match: Match, kind: Kind, first: date, last: date, *, firm: bool = True
) -> TimeExpression:
    """The expression of a match that means these days."""
    return TimeExpression(match.start(), match.end(), kind, first, last, firm)


def of_sessions(match: Match, first: int, last: int) -> TimeExpression:
    """The expression of a match that means these sessions."""
    return TimeExpression(match.start(), match.end(), "session", sessions=(first, last))


def in_year(expression: TimeExpression, year: int) -> TimeExpression:
    """An expression whose year was guessed, in the year that it belongs to."""
    if expression.first is None or expression.last is None:
        return expression
    shift = 12 * (year - expression.first.year)
    last = days.months_later(expression.last, shift)
    if expression.last == days.span_of(expression.last, "month")[1]:
        last = days.span_of(last, "month")[1]
    first = days.months_later(expression.first, shift)
    return replace(expression, first=first, last=last)


def word_before(match: Match) -> str:
    """The word before a match, or ""."""
    words = match.string[: match.start()].split()[-1:]
    return words[0] if words else ""


def spaced(text: str) -> str:
    """A text with single spaces, as the tables have it."""
    return " ".join(text.split())


def count(text: str) -> tuple[int, int]:
    """How many, as a range: `a few` is from 2 to 7."""
    words = text.split()
    if words[-1] in ("of", "de"):
        words.pop()
    last = words[-1]
    if last in tables.VAGUE:
        return tables.VAGUE[last]
    if last in ("couple", "par"):
        return 2, 3
    number = int(last) if last.isdigit() else tables.SMALL[last]
    return number, number


def ordinal(text: str) -> int:
    """The number of `3rd`, `third` or `3.`."""
    digits = re.match(r"\d+", text)
    if digits:
        return int(digits.group())
    return tables.ORDINALS[re.sub(r"\s+", " ", text)]


def month_number(text: str) -> int:
    """The number of a month from its name or its short form."""
    return tables.MONTHS.get(text) or tables.SHORT_MONTHS[text]


def step(text: str) -> int:
    """-1 for `last`, 0 for `this`, 1 for `next`, in any of the languages."""
    if "que viene" in spaced(text):
        return 1
    for word in text.split():
        if word in tables.STEPS:
            return tables.STEPS[word]
    return 0
