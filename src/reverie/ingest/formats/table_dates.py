"""CSV dates and times: the order of day and month is that of the whole file, months may
have names.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from functools import lru_cache

from reverie.records import terms
from reverie.vocabulary import calendar_words

DATE = re.compile(
    r"^\s*(?:[^\W\d_]{2,10}[.,]{0,2}\s+)?(\d{1,4})\s?([./ -])\s?(\d{1,2})\s?\2\s?(\d{1,4})(?:[T ,]+(.*))?\s*$"
)
COMPACT = re.compile(r"^\s*(\d{4})(\d{2})(\d{2})(?:[T ]?(\d{2})(\d{2})(\d{2})?)?\s*$")
EAST_ASIAN = re.compile(
    r"^\s*(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]?(.*)$"
)
CLOCK = re.compile(
    r"^\s*(\d{1,2})[:.h](\d{2})(?:[:.](\d{2})(?:[.,]\d+)?)?\s*([ap]\.?\s?m\.?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?\s*$",
    re.IGNORECASE,
)
_CLOCK_IN = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?.*$")
_WORDS = re.compile(r"\d+|[^\W\d_]+")
_LONGEST = 60
# Where an English file names its currency, it says who writes day or month first.
_MONTH_FIRST = frozenset({"USD"})


@dataclass(frozen=True, slots=True)
class DateOrder:
    """Whether a file writes 31/12 or 12/31, and whether that had to be guessed."""

    day_first: bool
    guessed: bool = False

    @property
    def remark(self) -> str:
        """What the report says of a guess."""
        order = "day before month" if self.day_first else "month before day"
        return f"the order of its dates was guessed: {order}"


def order(
    cells: Sequence[str], presumed: bool, others: Iterable[str] = ()
) -> DateOrder:
    """The order of the dates, also told by dates in `others`; presumed, when none of
    them can tell.
    """
    ambiguous: list[tuple[int, int, int]] = []
    for cell in cells:
        if (told := _told(cell)) is not None:
            return DateOrder(day_first=told)
        match = DATE.match(cell[:_LONGEST])
        if match is not None and len(match[1]) < 3 and match[1] != match[3]:
            ambiguous.append((_full_year(match[4]), int(match[1]), int(match[3])))
    if not ambiguous:
        return DateOrder(day_first=presumed)
    for cell in others:
        if "." not in cell and (told := _told(cell)) is not None:
            return DateOrder(day_first=told)
    return DateOrder(day_first=_likelier(ambiguous, presumed), guessed=True)


def _told(cell: str) -> bool | None:
    """Whether a date says that its day comes first; None when it does not say."""
    match = DATE.match(cell[:_LONGEST])
    if match is None or len(match[1]) > 2:
        return None
    if match[2] == "." or int(match[1]) > 12:
        return True
    return False if int(match[3]) > 12 else None


def _likelier(dates: Sequence[tuple[int, int, int]], presumed: bool) -> bool:
    """Whether the day comes first: in a list that is sorted only that way, or else as
    presumed.
    """
    by_day = [(year, second, first) for year, first, second in dates]
    sorted_by_day, sorted_by_month = _is_sorted(by_day), _is_sorted(dates)
    if sorted_by_day != sorted_by_month and len(dates) > 2:
        return sorted_by_day
    return presumed


def _is_sorted(dates: Sequence[tuple[int, int, int]]) -> bool:
    """Whether dates go up or down."""
    ascending = sorted(dates)
    return [*dates] in (ascending, ascending[::-1])


def is_day_first(english: bool, currency: str | None) -> bool:
    """What is presumed of a file: only in the United States the month comes first."""
    if not english:
        return True
    return currency is not None and currency not in _MONTH_FIRST


def day(text: str, day_first: bool) -> date | None:
    """The date of a cell, whatever time follows it."""
    text = text[:_LONGEST]
    parts = _year_month_day(text, day_first) or _named(text)
    if parts is None:
        return None
    try:
        return date(*parts)
    except ValueError:
        return None


def _year_month_day(text: str, day_first: bool) -> tuple[int, int, int] | None:
    """The three numbers of a date."""
    if match := COMPACT.match(text) or EAST_ASIAN.match(text):
        return int(match[1]), int(match[2]), int(match[3])
    match = DATE.match(text)
    if match is None:
        return None
    first, second, third = match.group(1, 3, 4)
    if len(first) > 2:  # ISO 8601
        return int(first), int(second), int(third)
    if len(third) == 3:
        return None
    if day_first:
        return _full_year(third), int(second), int(first)
    return _full_year(third), int(first), int(second)


def _named(text: str) -> tuple[int, int, int] | None:
    """A date with the name of its month: 5 Mar 2026, Mar 9, 2026, 9. März 26."""
    numbers: list[str] = []
    months: list[int] = []
    for word in _WORDS.findall(_CLOCK_IN.sub("", text)):
        if word.isdecimal():
            numbers.append(word)
        elif month := month_number(word):
            months.append(month)
    # A weekday may be short for a month as well: the last of two is the month.
    if len(numbers) != 2 or not months:
        return None
    first, second = numbers
    if len(first) == 4:
        return int(first), months[-1], int(second)
    return _full_year(second), months[-1], int(first)


@lru_cache(maxsize=1000)
def month_number(word: str) -> int | None:
    """The month of a name or an abbreviation, with or without its accents."""
    folded = terms.fold(word)
    return _MONTHS.get(folded)


def _month_names() -> dict[str, int]:
    """Every spelling of a month, folded, with its number."""
    names: dict[str, int] = {}
    for table in (
        calendar_words.OTHER_MONTH_NUMBERS,
        calendar_words.SHORT_MONTH_NUMBERS,
        calendar_words.MONTH_NUMBERS,
    ):
        names.update({terms.fold(name): number for name, number in table.items()})
    return names


_MONTHS = _month_names()


def _full_year(text: str) -> int:
    """Two digits are taken as 1970 to 2069; set by hand, POSIX has 1969 to 2068."""
    year = int(text)
    if len(text) > 2:
        return year
    return year + (2000 if year < 70 else 1900)


def moment(
    text: str, clock: str, day_first: bool, zone: tzinfo | None
) -> datetime | None:
    """The time of a cell, its hour from a second cell if there is one; without a zone,
    in the one given.
    """
    on = day(text, day_first)
    if on is None:
        return None
    at = CLOCK.match(clock[:_LONGEST] or _clock_after_date(text[:_LONGEST]))
    if at is None:
        return datetime.combine(on, time(), zone)
    try:
        local = datetime.combine(on, _time_of_day(at), zone)
        offset = at[5]
        if not offset:
            return local
        if offset.upper() in {"UTC", "GMT"}:
            offset = "Z"
        floating = local.replace(tzinfo=None)
        return datetime.fromisoformat(floating.isoformat() + offset.upper())
    except ValueError:
        return None


def _clock_after_date(text: str) -> str:
    """What follows the date in a cell."""
    if match := DATE.match(text):
        return match[5] or ""
    if match := COMPACT.match(text):
        return ":".join(filter(None, match.group(4, 5, 6)))
    match = _CLOCK_IN.search(text)
    return match.group() if match else ""


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
