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
from reverie.search.dates.days import Period
from reverie.search.dates.expressions import Kind, Match, TimeExpression

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
    number = reading.month_number(match["m"])
    year = int(match["y"] or today.year)
    if match["rel"]:
        year += reading.step(match["rel"])
    return _of_month(match, "month", year, number)


def near_month(match: Match, today: date) -> TimeExpression:
    """`last March`, `marzo pasado`: the one before this month."""
    number = reading.month_number(match["m"])
    step = reading.step(reading.step_words(match))
    year = today.year
    if step < 0 and number >= today.month:
        year -= 1
    elif step > 0 and number <= today.month:
        year += 1
    return _of_month(match, "said", year, number)


def month(match: Match, today: date) -> TimeExpression:
    """`March`: the latest one that began."""
    number = reading.month_number(match["m"])
    begins = days.latest(number, 1, today)
    expression = _of_month(match, "month", begins.year, number)
    return replace(expression, firm=False, yearless=True)


def iso_month(match: Match, today: date) -> TimeExpression:
    """`2024-03` (ISO 8601)."""
    year = int(match["y"])
    number = int(match["m"])
    expression = _of_month(match, "month", year, number)
    return replace(expression, firm=False)


def _of_month(match: Match, kind: Kind, year: int, number: int) -> TimeExpression:
    """The expression of a match that means one month."""
    period = days.month_of(year, number)
    return reading.of_days(match, kind, period)


# Days, weeks, months and years from today


def near_unit(match: Match, today: date) -> TimeExpression | None:
    """`last week` is the week before this one; `the last three weeks` are the days up
    to today.
    """
    unit = reading.unit(match["u"])
    step = reading.step(match["s"])
    if _is_rolling(match):
        count = reading.count_at_most(match["n"])
        period = _up_to_today(today, unit, step, count)
        return reading.of_days(match, "said", period)
    if unit == "day":
        return None  # `the next day` is another day's
    period = days.beside(today, unit, step)
    kind = "week" if unit == "week" else "said"
    return reading.of_days(match, kind, period)


def _is_rolling(match: Match) -> bool:
    """`the last three weeks`, `in the last week`, `past week`: up to today, whatever
    the calendar's weeks are.
    """
    if match["n"] or match["s"].strip() == "past":
        return True
    return bool(match.groupdict().get("roll"))


def _up_to_today(today: date, unit: str, step: int, count: int) -> Period:
    """The days of so many units up to today, or from today on."""
    if unit in ("weekend", "quarter"):
        return days.beside(today, unit, step)
    if step > 0:
        last = _units_later(today, unit, count)
        return Period(today, last)
    first = _units_later(today, unit, -count)
    return Period(first, today)


def _units_later(day: date, unit: str, count: int) -> date:
    """The day so many days, weeks, months or years later."""
    if unit in ("day", "week"):
        return day + timedelta(DAYS_OF[unit] * count)
    months = days.MONTHS_OF[unit] * count
    return days.months_later(day, months)


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
        return _days_ago(match, today, least, most)
    farthest = _around(today, unit, most)
    nearest = _around(today, unit, least)
    period = Period(farthest.first, nearest.last)
    return reading.of_days(match, "said", period)


def _days_ago(match: Match, today: date, least: int, most: int) -> TimeExpression:
    """A day, give or take one where the count is long."""
    first = today - timedelta(most)
    last = today - timedelta(least)
    expression = reading.of_days(match, "said", Period(first, last))
    # Nobody counts 167 days without an error of one, and hours make one too.
    slack = 1 if least >= 14 else 0
    return replace(expression, slack=slack)


def _around(today: date, unit: str, count: int) -> Period:
    """The seven days around a day so many weeks ago; the month, quarter or year that
    was so many of them ago.
    """
    if unit in ("week", "weekend"):
        day = today - timedelta(7 * count)
        first = day - timedelta(3)
        last = day + timedelta(3)
        return Period(first, last)
    day = _units_later(today, unit, -count)
    return days.span_of(day, unit)


def ahead(match: Match, today: date) -> TimeExpression:
    """`in 3 days`, `dentro de dos semanas`."""
    least, most = reading.count(match["n"])
    unit = reading.unit(match["u"])
    length = timedelta(DAYS_OF[unit])
    first = today + length * least
    last = today + length * most
    return reading.of_days(match, "said", Period(first, last), firm=False)


# Years and parts of them


def year(match: Match, today: date) -> TimeExpression | None:
    """`2023`, `the year 2023`, `2019-2021`; no number of something."""
    groups = match.groupdict()
    first = int(match["y"])
    last = int(groups.get("z") or first)
    if first > today.year + 3 or last < first:
        return None
    if _is_quantity(match):
        return None
    period = days.years(first, last)
    is_named = bool(groups.get("named"))
    return reading.of_days(match, "year", period, firm=is_named)


def _is_quantity(match: Match) -> bool:
    """`2000 tokens`, `Windows 2000`: the number of something."""
    if reading.word_before(match) in _NUMBERED:
        return True
    return _COUNTED.match(match.string, match.end()) is not None


def quarter(match: Match, today: date) -> TimeExpression:
    """`Q3 2024`, `third quarter`: the latest one that began."""
    month = _quarter_month(match)
    begins = days.latest(month, 1, today)
    year = match["y"]
    if year:
        begins = date(int(year), month, 1)
    period = days.span_of(begins, "quarter")
    return reading.of_days(match, "season", period, firm=bool(year))


def _quarter_month(match: Match) -> int:
    """The first month of a quarter."""
    digit = match["q"]
    number = int(digit) if digit else tables.ORDINALS[match["o"]]
    if not 1 <= number <= 4:
        raise ValueError(number)
    return 3 * number - 2


def season(match: Match, today: date) -> TimeExpression | None:
    """`last summer`, `in the spring`, `otoño de 2023`."""
    number = tables.SEASONS[match["n"]]
    words = reading.step_words(match)
    if match["y"]:
        year = int(match["y"])
    elif words or match["in"]:
        year = _season_year(number, words, today)
    else:
        return None  # a name, a verb, a framework
    period = _season_days(number, year)
    return reading.of_days(match, "season", period)


def _season_days(number: int, year: int) -> Period:
    """Three months; winter (0) begins in December of the year before."""
    january = date(year, 1, 1)
    first = days.months_later(january, 3 * number - 1)
    return days.months_from(first, 3)


def _season_year(number: int, words: str, today: date) -> int:
    """The year of the season that is meant: the latest that began, or one beside it."""
    step = reading.step(words)
    begun = _begun_season_year(number, today)
    season = _season_days(number, begun)
    if season.last >= today:
        return begun + step
    if step < 0:
        return begun + step + 1  # the one that is over is the last
    if step == 0 and words:
        return begun + 1  # this summer, before it begins
    return begun + step


def _begun_season_year(number: int, today: date) -> int:
    """The year of the latest such season that began."""
    year = today.year + 1  # its winter begins in this year
    while _season_days(number, year).first > today:
        year -= 1
    return year


def decade(match: Match, today: date) -> TimeExpression:
    """`the 90s`, `años 80`, `seventies`."""
    year = _decade_year(match)
    period = days.years(year, year + 9)
    return reading.of_days(match, "season", period, firm=False)


def _decade_year(match: Match) -> int:
    """The first year of a decade; two digits below 30 are of this century."""
    digits = match["d"] or match["e"]
    number = int(digits) if digits else tables.DECADES[match["w"]]
    if number >= 100:
        return number
    century = 1900 if number >= 30 else 2000
    return century + number


def holiday(match: Match, today: date) -> TimeExpression:
    """`last Christmas`, `Ostern 2024`: the latest one that began, or the next."""
    name = reading.spaced(match["h"])
    words = reading.step_words(match)
    year = match["y"]
    first = _near_holiday(name, words, today)
    if year:
        first = _holiday_date(name, int(year))
    month, _, length = tables.HOLIDAYS[name]
    last = first + timedelta(length - 1)
    is_placed = bool(words or year)
    firm = is_placed and month > 0
    return reading.of_days(match, "season", Period(first, last), firm=firm)


def _holiday_date(name: str, year: int) -> date:
    """The first day of a holiday; month 0 counts from Easter Sunday."""
    month, day, _ = tables.HOLIDAYS[name]
    if month:
        return date(year, month, day)
    return easter.easter(year) + timedelta(day)


def _near_holiday(name: str, words: str, today: date) -> date:
    """The latest such holiday that began; with `next` the one to come, and with `this`
    where the latest was last year's.
    """
    years = (today.year - 1, today.year, today.year + 1)
    dates = [_holiday_date(name, year) for year in years]
    latest = max(day for day in dates if day <= today)
    to_come = min(day for day in dates if day > today)
    if not words:
        return latest
    step = reading.step(words)
    is_last_years = latest.year < today.year
    if step > 0 or (step == 0 and is_last_years):
        return to_come
    return latest
