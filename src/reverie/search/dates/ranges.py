"""Date ranges: neighbouring times that are one, `from X to Y`, `since X`. Pure."""

import re
from dataclasses import replace
from datetime import date, timedelta

from reverie.search.dates import expressions, grammar
from reverie.search.dates.expressions import TimeExpression

# Articles and possessives that may stand before a time.
ARTICLE = r"(?:(?:the|our|this|der|die|das|dem|den|des|unserer|unserem|unsere|el|la|los|las|lo|nuestra|nuestro)\s+)?"
_CONNECTED = re.compile(
    r",?\s*(?:-|–|—|\b(?:to|through|thru|until|till|and|bis|und|hasta|al?|y|e)\b)\s*(?:zum\s+|"
    + ARTICLE[3:]
)
_COUPLED = re.compile(
    r"\b(?:between|from|von|vom|zwischen|entre|del?|desde|over)\s+" + ARTICLE + "$"
)
_AND = re.compile(r"\b(?:and|und|y|e|al?)\b")
_OPENER = re.compile(
    r"\b(before|prior\s+to|vor|antes\s+del?|after|nach|despues\s+del?|tras|since|seit|ab|desde|until|till|up\s+to|bis(?:\s+zum)?|hasta)\s+"
    + ARTICLE
    + "$"
)
_BEFORE = ("before", "prior", "vor", "antes")
# `two weeks before X`: the length of a time may stand before it.
_BETWEEN_LENGTH_AND_TIME = ("before", "vor", "antes")
_AFTER = ("after", "nach", "despues", "tras")
_SINCE = ("since", "seit", "ab", "desde")
_DAY = timedelta(1)
# So many characters before a time are read for the words that open it.
_REACH = 200


def matched(pattern: re.Pattern[str], text: str) -> str:
    """What a pattern finds in a text, or ""."""
    match = pattern.search(text)
    return match.group() if match else ""


def narrowed(times: list[TimeExpression]) -> list[TimeExpression]:
    """`Monday last week`, `Friday, 5 May`: two neighbours that say one day."""
    days: list[TimeExpression] = []
    for time in times:
        one_day = _one_day(days[-1], time) if days else None
        if one_day is None:
            days.append(time)
        else:
            days[-1] = one_day
    return days


def _one_day(weekday: TimeExpression, time: TimeExpression) -> TimeExpression | None:
    """The day that a weekday and the time right behind it say together, if they do."""
    is_beside = time.start - weekday.end <= 2
    if weekday.kind != "weekday" or not is_beside:
        return None
    if weekday.first is None or time.first is None:
        return None
    if time.kind == "date":
        return replace(time, start=weekday.start)
    if time.kind != "week":
        return None
    monday = time.first
    day = monday + timedelta(weekday.first.weekday())
    return TimeExpression(weekday.start, time.end, "date", day, day)


def joined(times: list[TimeExpression], folded: str) -> list[TimeExpression]:
    """Two times that are the ends of one: `between X and Y`, `from X to Y`, `X - Y`."""
    ranges: list[TimeExpression] = []
    for time in times:
        if ranges and _are_ends(ranges[-1], time, folded):
            ranges[-1] = _range(ranges[-1], time, folded)
        else:
            ranges.append(time)
    return ranges


def _are_ends(start: TimeExpression, end: TimeExpression, folded: str) -> bool:
    """Whether two times are the ends of one; `X and Y` only after `between`."""
    if start.first is None or end.last is None:
        return False
    between = folded[start.end : end.start]
    if not _CONNECTED.fullmatch(between):
        return False
    if not _AND.search(between):
        return True
    return _said_before(_COUPLED, folded, start.start) is not None


def _said_before(
    pattern: re.Pattern[str], folded: str, end: int
) -> re.Match[str] | None:
    """What a pattern finds right before a place."""
    return pattern.search(folded, max(0, end - _REACH), end)


def _range(start: TimeExpression, end: TimeExpression, folded: str) -> TimeExpression:
    """The time from one to another, with the word before them: `between`."""
    lead = _said_before(_COUPLED, folded, start.start)
    begins = start.start - len(lead.group() if lead else "")
    start, end = _in_same_year(start, end)
    if start.yearless and _are_reversed(start, end):
        start = expressions.years_later(start, -1)
    if _are_reversed(start, end):
        return TimeExpression(begins, end.end, "date", end.first, start.last)
    return TimeExpression(begins, end.end, "date", start.first, end.last)


def _are_reversed(start: TimeExpression, end: TimeExpression) -> bool:
    """Whether the first of two times begins after the second ends."""
    if start.first is None or end.last is None:
        return False
    return start.first > end.last


def _in_same_year(
    start: TimeExpression, end: TimeExpression
) -> tuple[TimeExpression, TimeExpression]:
    """Two ends of a time: where the year of one was guessed, it is that of the other,
    or the next one for the end.
    """
    if start.yearless == end.yearless:
        return start, end
    if start.yearless and end.last:
        return expressions.in_year(start, end.last.year), end
    if end.yearless and start.first:
        end = expressions.in_year(end, start.first.year)
        if _is_over(end, start.first):
            end = expressions.years_later(end, 1)
    return start, end


def _is_over(time: TimeExpression, day: date) -> bool:
    """Whether a time ends before a day."""
    return time.last is not None and time.last < day


def opened(times: list[TimeExpression], folded: str) -> list[TimeExpression]:
    """`since X`, `before X`: times with one end."""
    return [_opened(time, folded) for time in times]


def _opened(time: TimeExpression, folded: str) -> TimeExpression:
    """A time with one end, if a word before it says so."""
    opener = _said_before(_OPENER, folded, time.start)
    if opener is None or time.first is None or time.last is None:
        return time
    preposition = opener.group(1).split()[0]
    if preposition in _BETWEEN_LENGTH_AND_TIME:
        length = grammar.length_before(folded, opener.start(), _REACH)
        if length is not None:
            return _length_before(time, time.first, *length)
    first, last = _open_days(preposition, time.first, time.last)
    return replace(time, start=opener.start(), first=first, last=last)


def _length_before(
    time: TimeExpression, day: date, start: int, length: timedelta
) -> TimeExpression:
    """`two weeks before X`: the time between."""
    first = day - length
    last = day - _DAY
    return replace(time, start=start, first=first, last=last)


def _open_days(
    preposition: str, first: date, last: date
) -> tuple[date | None, date | None]:
    """The days that are before, after, since or until some days; None is an open end."""
    if preposition in _BEFORE:
        return None, first - _DAY
    if preposition in _AFTER:
        return last + _DAY, None
    if preposition in _SINCE:
        return first, None
    return None, last
