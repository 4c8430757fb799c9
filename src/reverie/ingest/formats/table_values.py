"""Numbers and dates as tables write them, read by the habits of their whole column."""

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
    comma = point = 0
    for value in values:
        marks = re.findall(r"[.,]", value)
        last = re.search(r"([.,])(\d+)\D*$", value)
        if not marks or last is None:
            continue
        if len(set(marks)) == 2 or (len(marks) == 1 and len(last.group(2)) != 3):
            comma += last.group(1) == ","
            point += last.group(1) == "."
        elif len(marks) > 1:  # 1.234.567: the mark that repeats parts thousands
            comma += last.group(1) == "."
            point += last.group(1) == ","
    return "," if comma > point else "."


def number(text: str, mark: str) -> Decimal | None:
    """The number, with (12.50) and 12.50- below zero; signs of currency and units
    around it are let be.
    """
    match = NUMBER.search(text)
    if match is None:
        return None
    raw = match.group()
    negative = bool(re.search(r"[-−–(]", raw)) or bool(re.match(r"\s*[-−–(]", text))
    digits = re.sub(r"[^\d.,]", "", raw)
    digits = digits.replace("." if mark == "," else ",", "").replace(",", ".")
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
    if match := COMPACT.match(text):
        parts = (match.group(1), match.group(2), match.group(3))
    elif match := DATE.match(text):
        first, second, third = match.group(1), match.group(3), match.group(4)
        parts = (
            (first, second, third)
            if len(first) == 4
            else (third, second, first)
            if dmy
            else (third, first, second)
        )
    else:
        return None
    year = int(parts[0])
    if len(parts[0]) <= 2:
        year += 2000 if year < 70 else 1900
    try:
        return date(year, int(parts[1]), int(parts[2]))
    except ValueError:
        return None


def moment(text: str, clock: str, dmy: bool, zone: tzinfo | None) -> datetime | None:
    """The time of a cell, its hour from a second cell if there is one; without a zone,
    in the one given.
    """
    on = day(text, dmy)
    if on is None:
        return None
    match = DATE.match(text)
    at = CLOCK.match(clock or (match.group(5) if match else "") or "")
    if at is None:
        return datetime.combine(on, time(), zone)
    hour, half = int(at.group(1)), (at.group(4) or "").lower()[:1]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        found = datetime.combine(
            on, time(hour, int(at.group(2)), int(at.group(3) or 0)), zone
        )
        return (
            datetime.fromisoformat(found.replace(tzinfo=None).isoformat() + at.group(5))
            if at.group(5)
            else found
        )
    except ValueError:
        return None
