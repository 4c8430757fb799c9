"""Date parsing of periods: last week, March 2024, 3 months ago, Q3, Easter. Pure.

Each reader turns a match of a pattern of `grammar.py` into an expression, or None where
it is no time after all. Raises ValueError or OverflowError for a day that there is not.
"""

import re
from dataclasses import replace
from datetime import date, timedelta

from dateutil import easter

from reverie.search.dates import days
from reverie.search.dates import expressions as reading
from reverie.search.dates import time_lexicon as tables
from reverie.search.dates.expressions import Match, TimeExpression

# At most so many days: for a length of time that nobody counts to the day.
DAYS_OF = {"day": 1, "week": 7, "month": 31, "year": 366, "quarter": 92, "weekend": 7}
# Behind one of these, 2000 is a number of something.
_COUNTED = re.compile(
    r"\s*(?:%|[€$£]|(?:tokens?|words|euros?|dollars?|people|personas|personen|users|steps|schritte|pasos|words|worter|"
    r"palabras|kilometers?|kilometros|miles|meters?|metros|meter|pounds|bytes|lines|rows|items|pages|km|kg|mb|gb)\b)"
)
# Before one of these, 2000 is the number of a thing.
_NUMBERED = tables.words(
    "windows office version iso din rfc room page seite pagina zimmer model modell modelo release build nr no "
    "number nummer numero article artikel articulo § area agenda anno"
)


# Months


def month_of_year(match: Match, today: date) -> TimeExpression:
    """`March 2024`, `March of last year`."""
    year = int(match["y"] or today.year)
    if match["rel"]:
        year += reading.step(match["rel"])
    begins = date(year, reading.month_number(match["m"]), 1)
    first, last = days.span_of(begins, "month")
    return reading.of_days(match, "month", first, last)


def near_month(match: Match, today: date) -> TimeExpression:
    """`last March`, `marzo pasado`: the one before this month."""
    number = reading.month_number(match["m"])
    step = reading.step(match["s"] or match["t"])
    year = today.year
    if step < 0 and number >= today.month:
        year -= 1
    elif step > 0 and number <= today.month:
        year += 1
    begins = date(year, number, 1)
    first, last = days.span_of(begins, "month")
    return reading.of_days(match, "said", first, last)


def month(match: Match, today: date) -> TimeExpression:
    """`March`: the latest one that began."""
    number = reading.month_number(match["m"])
    begins = days.latest(number, 1, today)
    first, last = days.span_of(begins, "month")
    expression = reading.of_days(match, "month", first, last, firm=False)
    return replace(expression, yearless=True)


def iso_month(match: Match, today: date) -> TimeExpression:
    """`2024-03` (ISO 8601)."""
    year, number = int(match["y"]), int(match["m"])
    begins = date(year, number, 1)
    first, last = days.span_of(begins, "month")
    return reading.of_days(match, "month", first, last, firm=False)


# Days, weeks, months and years from today


def near_unit(match: Match, today: date) -> TimeExpression | None:
    """`last week` is the week before this one; `the last three weeks` are the days up
    to today.
    """
    groups = match.groupdict()
    words = match["s"]
    number = groups.get("n")
    unit = tables.UNITS[reading.spaced(match["u"])]
    step = reading.step(words)
    if number or groups.get("roll") or words.strip() == "past":
        count = reading.count(number)[1] if number else 1
        first, last = _up_to_today(today, unit, step, count)
        return reading.of_days(match, "said", first, last)
    if unit == "day":
        return None  # `the next day` is another day's
    kind = "week" if unit == "week" else "said"
    first, last = days.beside(today, unit, step)
    return reading.of_days(match, kind, first, last)


def _up_to_today(today: date, unit: str, step: int, count: int) -> tuple[date, date]:
    """The days of so many units up to today, or from today on."""
    if unit in ("weekend", "quarter"):
        return days.beside(today, unit, step)
    if unit in ("day", "week"):
        length = timedelta(count * DAYS_OF[unit])
        if step > 0:
            return today, today + length
        return today - length, today
    months = count * days.MONTHS_OF[unit]
    if step > 0:
        return today, days.months_later(today, months)
    return days.months_later(today, -months), today


def ago(match: Match, today: date) -> TimeExpression:
    """As exact as it is said: `167 days ago` is a day, `3 weeks ago` a week around it,
    `5 months ago` a month.
    """
    least, most = reading.count(match["n"])
    word = reading.spaced(match["u"])
    if word in tables.SESSIONS or word in ("times", "time"):
        return reading.of_sessions(match, -most, -least)
    unit = tables.UNITS[word]
    if unit == "day":
        first = today - timedelta(most)
        last = today - timedelta(least)
        # Nobody counts 167 days without an error of one, and hours make one too.
        slack = 1 if least >= 14 else 0
        return replace(reading.of_days(match, "said", first, last), slack=slack)
    if unit in ("week", "weekend"):
        around = timedelta(3)
        first = today - timedelta(7 * most) - around
        last = today - timedelta(7 * least) + around
        return reading.of_days(match, "said", first, last)
    months = days.MONTHS_OF[unit]
    earliest = days.months_later(today, -months * most)
    latest = days.months_later(today, -months * least)
    first, _ = days.span_of(earliest, unit)
    _, last = days.span_of(latest, unit)
    return reading.of_days(match, "said", first, last)


def ahead(match: Match, today: date) -> TimeExpression:
    """`in 3 days`, `dentro de dos semanas`."""
    least, most = reading.count(match["n"])
    unit = timedelta(DAYS_OF[tables.UNITS[reading.spaced(match["u"])]])
    first = today + unit * least
    last = today + unit * most
    return reading.of_days(match, "said", first, last, firm=False)


# Years and parts of them


def year(match: Match, today: date) -> TimeExpression | None:
    """`2023`, `the year 2023`, `2019-2021`; no number of something."""
    groups = match.groupdict()
    first = int(match["y"])
    if first > today.year + 3 or reading.word_before(match) in _NUMBERED:
        return None
    if _COUNTED.match(match.string, match.end()):
        return None
    last = int(groups.get("z") or first)
    if last < first:
        return None
    begins = date(first, 1, 1)
    ends = date(last, 12, 31)
    named = bool(groups.get("named"))
    return reading.of_days(match, "year", begins, ends, firm=named)


def quarter(match: Match, today: date) -> TimeExpression:
    """`Q3 2024`, `third quarter`: the latest one that began."""
    digit = match["q"]
    number = int(digit) if digit else tables.ORDINALS[match["o"]]
    if not 1 <= number <= 4:
        raise ValueError(number)
    month = 3 * number - 2
    begins = days.latest(month, 1, today)
    if match["y"]:
        begins = date(int(match["y"]), month, 1)
    first, last = days.span_of(begins, "quarter")
    return reading.of_days(match, "season", first, last, firm=bool(match["y"]))


def season(match: Match, today: date) -> TimeExpression | None:
    """`last summer`, `in the spring`, `otoño de 2023`."""
    number = tables.SEASONS[match["n"]]
    words = match["s"] or match["t"]
    if match["y"]:
        year = int(match["y"])
    elif words or match["in"]:
        year = _season_year(number, words, today)
    else:
        return None  # a name, a verb, a framework
    first, last = _season_days(number, year)
    return reading.of_days(match, "season", first, last)


def _season_days(number: int, year: int) -> tuple[date, date]:
    january = date(year, 1, 1)
    first = days.months_later(january, 3 * number - 1)
    after = days.months_later(first, 3)
    return first, after - timedelta(1)


def _season_year(number: int, words: str | None, today: date) -> int:
    """The year of the season that is meant: the latest that began, or one beside it."""
    step = reading.step(words or "")
    years = (today.year - 1, today.year, today.year + 1)
    begun = max(year for year in years if _season_days(number, year)[0] <= today)
    if _season_days(number, begun)[1] >= today:
        return begun + step
    if step < 0:
        return begun + step + 1  # the one that is over is the last
    if step == 0 and words:
        return begun + 1  # this summer, before it begins
    return begun + step


def decade(match: Match, today: date) -> TimeExpression:
    """`the 90s`, `años 80`, `seventies`."""
    digits = match["d"] or match["e"]
    word = digits or match["w"]
    number = int(word) if digits and digits.isdigit() else tables.DECADES[word]
    if number < 100:
        number += 1900 if number >= 30 else 2000
    first = date(number, 1, 1)
    last = date(number + 9, 12, 31)
    return reading.of_days(match, "season", first, last, firm=False)


def holiday(match: Match, today: date) -> TimeExpression:
    """`last Christmas`, `Ostern 2024`: the latest one that began, or the next."""
    name = reading.spaced(match["h"])
    month, _, length = tables.HOLIDAYS[name]
    words = match["s"] or match["t"]
    year = match["y"]
    first = _near_holiday(name, words, today)
    if year:
        first = _holiday_date(name, int(year))
    last = first + timedelta(length - 1)
    firm = bool(words or year) and month > 0
    return reading.of_days(match, "season", first, last, firm=firm)


def _holiday_date(name: str, year: int) -> date:
    """The first day of a holiday; month 0 counts from Easter Sunday."""
    month, day, _ = tables.HOLIDAYS[name]
    if month:
        return date(year, month, day)
    return easter.easter(year) + timedelta(day)


def _near_holiday(name: str, words: str | None, today: date) -> date:
    step = reading.step(words or "last")
    near = [_holiday_date(name, today.year + away) for away in (-1, 0, 1)]
    first = max(day for day in near[:2] if day <= today)
    is_to_come = words and step == 0 and first.year < today.year
    if step > 0 or is_to_come:
        return min(day for day in near[1:] if day > today)
    return first
