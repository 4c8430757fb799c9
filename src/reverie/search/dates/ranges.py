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
_AFTER = ("after", "nach", "despues", "tras")
_SINCE = ("since", "seit", "ab", "desde")


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
    if weekday.kind != "weekday" or time.start - weekday.end > 2:
        return None
    if weekday.first is None or time.first is None:
        return None
    if time.kind == "date":
        return replace(time, start=weekday.start)
    if time.kind != "week":
        return None
    day = time.first + timedelta(weekday.first.weekday())
    return TimeExpression(weekday.start, time.end, "date", day, day)


def joined(times: list[TimeExpression], folded: str) -> list[TimeExpression]:
    """Two times that are the ends of one: `between X and Y`, `from X to Y`, `X - Y`."""
    ranges: list[TimeExpression] = []
    for time in times:
        if ranges and _are_ends(ranges[-1], time, folded):
            lead = matched(_COUPLED, folded[: ranges[-1].start])
            ranges[-1] = _range(ranges[-1], time, len(lead))
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
    return _COUPLED.search(folded[: start.start]) is not None


def _range(start: TimeExpression, end: TimeExpression, lead: int) -> TimeExpression:
    """The time from one to another, which a word of so many characters introduces."""
    start, end = _in_same_year(start, end)
    first, last = start.first, end.last
    if first and last and first > last and start.yearless:
        start = expressions.in_year(start, first.year - 1)
        first = start.first
    if first and last and first > last:
        first, last = end.first, start.last
    return TimeExpression(start.start - lead, end.end, "date", first, last)


def _in_same_year(
    start: TimeExpression, end: TimeExpression
) -> tuple[TimeExpression, TimeExpression]:
    """Two ends of a time: where the year of one was guessed, it is that of the other,
    or the next one for the end.
    """
    if start.yearless and not end.yearless and end.last:
        return expressions.in_year(start, end.last.year), end
    if end.yearless and not start.yearless and start.first:
        year = start.first.year
        end = expressions.in_year(end, year)
        if end.last and end.last < start.first:
            end = expressions.in_year(end, year + 1)
    return start, end


def opened(times: list[TimeExpression], folded: str) -> list[TimeExpression]:
    """`since X`, `before X`: times with one end."""
    return [_with_one_end(time, folded) for time in times]


def _with_one_end(time: TimeExpression, folded: str) -> TimeExpression:
    match = _OPENER.search(folded[: time.start])
    if match is None or time.first is None or time.last is None:
        return time
    word = match.group(1).split()[0]
    day = timedelta(1)
    if word in _BEFORE and word != "prior":
        length = grammar.length_at_end(folded[: match.start()])
        if length is not None:  # two weeks before X: the time between
            begins = time.first - length[1]
            return replace(time, start=length[0], first=begins, last=time.first - day)
    first: date | None = None
    last: date | None = None
    if word in _BEFORE:
        last = time.first - day
    elif word in _AFTER:
        first = time.last + day
    elif word in _SINCE:
        first = time.first
    else:
        last = time.last
    return replace(time, start=match.start(), first=first, last=last)
