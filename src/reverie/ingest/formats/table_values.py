"""CSV cells: numbers, currencies and dates, read by the habits of their whole column."""

import re
from collections.abc import Iterable
from datetime import date, datetime, time, tzinfo
from decimal import Decimal, InvalidOperation

CURRENCIES = {
    "€": "EUR",
    "$": "USD",
    "£": "GBP",
    "¥": "JPY",
    "CHF": "CHF",
    "₹": "INR",
    "zł": "PLN",
    "kr": "SEK",
}
NUMBER = re.compile(r"[-+−–(]?\s*[\d.,'’\u00a0\u202f ]*\d[\d.,'’]*\s*[-−)]?")
DATE = re.compile(r"^\s*(\d{1,4})([./ -])(\d{1,2})\2(\d{1,4})(?:[T ,]+(.*))?\s*$")
COMPACT = re.compile(r"^\s*(\d{4})(\d{2})(\d{2})\s*$")
CLOCK = re.compile(
    r"^\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*([ap]\.?m\.?)?\s*(Z|[+-]\d{2}:?\d{2})?\s*$",
    re.IGNORECASE,
)


def decimal_mark(values: Iterable[str]) -> str:
    """Whether the column writes 12,50 or 12.50; a point when it has only lone marks
    before three digits.
    """
    commas = points = 0
    for value in values:
        mark = _decimal_mark_of(value)
        commas += mark == ","
        points += mark == "."
    return "," if commas > points else "."


def _decimal_mark_of(value: str) -> str:
    """The decimal mark that a number shows; "" when it may be either, as in 1.234."""
    marks = re.findall(r"[.,]", value)
    last = re.search(r"([.,])(\d+)\D*$", value)
    if not marks or last is None:
        return ""
    mark, digits = last.groups()
    if len(set(marks)) == 2:
        return mark
    # 1.234.567: the mark that repeats parts thousands
    if len(marks) > 1:
        return "," if mark == "." else "."
    return mark if len(digits) != 3 else ""


def number(text: str, mark: str) -> Decimal | None:
    """The number, with (12.50) and 12.50- below zero; signs of currency and units
    around it are let be.
    """
    match = NUMBER.search(text)
    if match is None:
        return None
    raw = match.group()
    negative = re.search(r"[-−–(]", raw) or re.match(r"\s*[-−–(]", text)
    digits = re.sub(r"[^\d.,]", "", raw)
    grouping = "." if mark == "," else ","
    digits = digits.replace(grouping, "").replace(",", ".")
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return None
    return -value if negative else value


def currency(*texts: str) -> str | None:
    """The currency a cell or a header names."""
    for text in texts:
        if match := re.search(r"\b([A-Z]{3})\b", text):
            return match.group(1)
        for sign, code in CURRENCIES.items():
            if sign in text:
                return code
    return None


def day_first(values: Iterable[str], presumed: bool) -> bool:
    """Whether the column writes 31/12 or 12/31; presumed, when no date in it can tell."""
    for value in values:
        match = DATE.match(value)
        if match is None or len(match.group(1)) == 4:
            continue
        if match.group(2) == "." or int(match.group(1)) > 12:
            return True
        if int(match.group(3)) > 12:
            return False
    return presumed


def day(text: str, dmy: bool) -> date | None:
    """The date of a cell, whatever time follows it."""
    parts = _year_month_day(text, dmy)
    if parts is None:
        return None
    year, month, on = parts
    try:
        return date(_full_year(year), int(month), int(on))
    except ValueError:
        return None


def _year_month_day(text: str, dmy: bool) -> tuple[str, str, str] | None:
    """The three parts of a date, as they are written."""
    if match := COMPACT.match(text):
        year, month, on = match.group(1, 2, 3)
        return year, month, on
    match = DATE.match(text)
    if match is None:
        return None
    first, second, third = match.group(1, 3, 4)
    if len(first) == 4:  # ISO 8601
        return first, second, third
    if dmy:
        return third, second, first
    return third, first, second


def _full_year(text: str) -> int:
    """Two digits are taken as 1970 to 2069; set by hand, POSIX has 1969 to 2068."""
    year = int(text)
    if len(text) > 2:
        return year
    return year + (2000 if year < 70 else 1900)


def moment(text: str, clock: str, dmy: bool, zone: tzinfo | None) -> datetime | None:
    """The time of a cell, its hour from a second cell if there is one; without a zone,
    in the one given.
    """
    on = day(text, dmy)
    if on is None:
        return None
    at = CLOCK.match(clock or _clock_after_date(text))
    if at is None:
        return datetime.combine(on, time(), zone)
    try:
        local = datetime.combine(on, _time_of_day(at), zone)
        offset = at[5]
        if not offset:
            return local
        floating = local.replace(tzinfo=None)
        return datetime.fromisoformat(floating.isoformat() + offset)
    except ValueError:
        return None


def _clock_after_date(text: str) -> str:
    """What follows the date in a cell."""
    match = DATE.match(text)
    if match is None:
        return ""
    return match[5] or ""


def _time_of_day(clock: re.Match[str]) -> time:
    """A time of 12 or 24 hours. Raises ValueError."""
    hours, minute, second, half = clock.group(1, 2, 3, 4)
    hour = int(hours)
    # 12 am is midnight and 12 pm noon
    if half:
        hour %= 12
        if half.lower().startswith("p"):
            hour += 12
    return time(hour, int(minute), int(second or 0))
