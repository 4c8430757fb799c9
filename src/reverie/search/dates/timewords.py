"""Temporal query understanding: the days or sessions that a question is about.

In English, Spanish and German. `filter` is for a question that states when something
was kept ("what did I write last March"); everything that might as well be content ("the
March report", a bare year) is a `boost`, so that a wrong guess costs little
(docs/decisions/0012).
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from reverie.records import language
from reverie.search.dates import (
    expressions,
    folding,
    grammar,
    quotations,
    ranges,
    surroundings,
)
from reverie.search.dates import time_lexicon as tables
from reverie.search.dates.expressions import TimeExpression

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class When:
    """The days (inclusive, in the user's timezone; None is open) or the sessions that a
    question is about.

    Sessions count from 1, or from the end from -1; `session` to `until_session` when it
    is about several. `firm`: the words leave no doubt that a time is meant, even where
    it may not be the record's. `slack`: how many days around count too where nothing is
    there.
    """

    first: date | None
    last: date | None
    session: int | None
    spans: tuple[Span, ...]
    strength: Literal["filter", "boost"]
    firm: bool = True
    until_session: int | None = None
    slack: int = 0


def read(text: str, *, now: datetime, timezone: ZoneInfo | str) -> When | None:
    """The time that a question is about, or None. Of several that do not belong
    together the first firm one.
    """
    folded_text = folding.folded(text)
    folded = folded_text.folded
    if not _MAYBE.search(folded):
        return None
    today = _today(now, timezone)
    times = _times(folded_text, today) or _last_time(folded)
    if not times:
        return None
    chosen = _first_firm(times)
    lead = ranges.matched(_LEADING, folded[: chosen.start])
    start = chosen.start - len(lead)
    end = folded_text.place_of_end(chosen.end)
    when = _when(chosen, (folded_text.places[start], end))
    if _states(chosen, folded, start, content(text, when)):
        return replace(when, strength="filter")
    return when


def _today(now: datetime, timezone: ZoneInfo | str) -> date:
    """The day in the user's time zone; a time without an offset is in UTC."""
    if isinstance(timezone, str):
        timezone = ZoneInfo(timezone)
    if now.tzinfo is None:
        now = now.replace(tzinfo=UTC)
    return now.astimezone(timezone).date()


def _times(text: folding.FoldedText, today: date) -> list[TimeExpression]:
    """The times of a question, but for what stands in quotes, with their surroundings
    taken into account.
    """
    quoted = bytearray(len(text.folded))
    for start, end in quotations.find(text.folded, least=2):
        quoted[start:end] = b"\1" * (end - start)
    times: list[TimeExpression] = []
    for time in grammar.find(text.folded, today):
        if any(quoted[time.start : time.end]):
            continue
        judged = surroundings.judged(time, text)
        if judged is not None:
            times.append(judged)
    return _combined(times, text.folded)


def _combined(times: list[TimeExpression], folded: str) -> list[TimeExpression]:
    """Times with what belongs together as one: `Monday last week`, `from X to Y`."""
    days = ranges.narrowed(times)
    joined = ranges.joined(days, folded)
    unlisted = [time for time in joined if not surroundings.is_listed(time, folded)]
    return ranges.opened(unlisted, folded)


def _first_firm(times: list[TimeExpression]) -> TimeExpression:
    for time in times:
        if time.firm:
            return time
    return times[0]


def _when(time: TimeExpression, span: Span) -> When:
    """What a question is about, as a boost."""
    session, until = time.sessions or (None, None)
    return When(
        first=time.first,
        last=time.last,
        session=session,
        spans=(span,),
        strength="boost",
        firm=time.firm,
        until_session=None if until == session else until,
        slack=time.slack,
    )


def rest(text: str, when: When | None) -> str:
    """The question without its time words."""
    spans = when.spans if when else ()
    for start, end in reversed(spans):
        text = f"{text[:start]} {text[end:]}"
    return " ".join(text.split())


def content(text: str, when: When | None) -> list[str]:
    """The folded words of the question that say what is looked for, beside the time and
    the asking.
    """
    untimed = folding.folded(rest(text, when))
    words = _WORD.findall(untimed.folded)
    return [word for word in words if word not in _IDLE]


_WORD = re.compile(r"[^\W_]+")
# The least that a time needs: a digit, or the beginning of a word of the tables.
# What holds the words that times begin with; "q" is of Q3.
_TABLES = (
    tables.MONTHS,
    tables.WEEKDAYS,
    tables.DAYS,
    tables.UNITS,
    tables.SEASONS,
    tables.HOLIDAYS,
    tables.DECADES,
    tables.ORDINALS,
    tables.LAST,
    tables.SESSIONS,
    ("q",),
)


def _first_words() -> list[str]:
    """The first word of each entry of the tables, but for those of any sentence."""
    first_words: set[str] = set()
    for table in _TABLES:
        first_words.update(entry.split()[0] for entry in table)
    return sorted(first_words - {"the", "esta", "este"})


_MAYBE = re.compile(rf"\d|(?<!\w)(?:{'|'.join(_first_words())})")
_SPOKEN = frozenset[str]().union(*language.FUNCTION_WORDS.values())
_IDLE = _SPOKEN | tables.ASKING | {grammar.fold_word(word) for word in _SPOKEN}


# --------------------------------------------------------------------------------------------------- is it a time?

_LEADING = re.compile(
    r"(?<!\w)(?:(?:on|in|at|during|from|over|around|within|of|between|im|am|vom|aus|zwischen|en|de|del|durante|entre|"
    rf"wahrend)\s+)?{ranges.ARTICLE}$"
)
_MEETING_AGAIN = re.compile(
    r"\b(?:last\s+time|letztes\s+mal|letzten\s+mal|(?:la\s+)?ultima\s+vez)\b"
)
_TALKED = re.compile(
    r"\b(?:we|wir)\b.*\b(?:talk|discuss|chat|sp[eo]ke?|sprach|gesproch|besproch|geredet|unterh)|\b(?:hablamos|discutimos|charlamos)\b"
)
_FIRST_PERSON = ("i", "we", "ich", "wir")
_OURS = re.compile(r"\b(?:our|we|unser\w*|wir|nuestr[oa]s?)\b|\w{3}[aei]mos\b")


def _last_time(folded: str) -> list[TimeExpression]:
    """`what did we talk about last time`: the last session."""
    match = _MEETING_AGAIN.search(folded)
    if match is None or not _TALKED.search(folded):
        return []
    return [expressions.of_sessions(match, -1, -1)]


def _states(
    time: TimeExpression, folded: str, start: int, content_words: list[str]
) -> bool:
    """Whether the question states when the record was made, or leaves nothing else to
    look for.
    """
    if time.sessions is not None:
        return not content_words or _OURS.search(folded) is not None
    if not time.firm:
        return False
    if all(word in tables.KEPT for word in content_words):
        return True
    if _is_recording(time, set(_WORD.findall(folded))):
        return True
    before = expressions.last_word(folded[:start])
    return before.strip(",;:") in tables.KEPT - tables.LOOSE


def _is_recording(time: TimeExpression, words: set[str]) -> bool:
    """Whether the words of a question say that somebody wrote or said something."""
    if not words.isdisjoint(tables.SAYING_ALONE):
        return True
    is_by_user = not words.isdisjoint(_FIRST_PERSON)
    if is_by_user and not words.isdisjoint(tables.SAYING):
        return True
    return time.kind in ("said", "week") and not words.isdisjoint(tables.RECORDING)
