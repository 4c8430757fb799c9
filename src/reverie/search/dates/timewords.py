"""Temporal query understanding: the days or sessions that a question is about.

In English, Spanish and German. `filter` is for a question that states when something
was kept ("what did I write last March"); everything that might as well be content ("the
March report", a bare year) is a `boost`, so that a wrong guess costs little
(docs/decisions/0012).
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from reverie.records import language
from reverie.search.dates import expressions, grammar, ranges, surroundings
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
    folded, places = _folded(text)
    if not _MAYBE.search(folded):
        return None
    today = _today(now, timezone)
    times = _times(folded, text, places, today) or _last_time(folded)
    if not times:
        return None
    chosen = _first_firm(times)
    start = chosen.start - len(ranges.matched(_LEADING, folded[: chosen.start]))
    when = _when(chosen, (places[start], surroundings.end_in(places, chosen.end, text)))
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


def _times(
    folded: str, text: str, places: surroundings.Places, today: date
) -> list[TimeExpression]:
    """The times of a question, but for what stands in quotes, with their surroundings
    taken into account.
    """
    quoted = [match.span() for match in _QUOTED.finditer(folded)]
    times: list[TimeExpression] = []
    for time in grammar.find(folded, today):
        if any(start < time.end and time.start < end for start, end in quoted):
            continue
        judged = surroundings.judged(time, folded, text, places)
        if judged is not None:
            times.append(judged)
    times = ranges.joined(ranges.narrowed(times), folded)
    times = [time for time in times if not surroundings.is_listed(time, folded)]
    return ranges.opened(times, folded)


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
    for start, end in reversed(when.spans if when else ()):
        text = f"{text[:start]} {text[end:]}"
    return " ".join(text.split())


def content(text: str, when: When | None) -> list[str]:
    """The folded words of the question that say what is looked for, beside the time and
    the asking.
    """
    return [
        word
        for word in _WORD.findall(_folded(rest(text, when))[0])
        if word not in _IDLE
    ]


# ----------------------------------------------------------------------------------------------------------- folding


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    parts = unicodedata.normalize("NFKD", character.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def _folded(text: str) -> tuple[str, surroundings.Places]:
    """The text as the tables know it, and where each character of it stands in the
    original.
    """
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    folded: list[str] = []
    places: list[int] = []
    for at, character in enumerate(text):
        piece = _fold_character(character)
        folded.append(piece)
        places.extend([at] * len(piece))
    places.append(len(text))
    return "".join(folded), places


_WORD = re.compile(r"[^\W_]+")
# The least that a time needs: a digit, or the beginning of a word of the tables.
_MAYBE = re.compile(
    r"\d|(?<!\w)(?:"
    + "|".join(
        sorted(
            {
                key.split()[0]
                for table in (
                    tables.MONTHS, tables.WEEKDAYS, tables.DAYS, tables.UNITS, tables.SEASONS, tables.HOLIDAYS,
                    tables.DECADES, tables.ORDINALS, dict.fromkeys(tables.LAST | tables.SESSIONS), {"q": 0},
                )
                for key in table
            }
            - {"the", "esta", "este"}
        )
    )
    + r")"
)  # fmt: skip
_QUOTED = re.compile(
    r"\"[^\"]{2,}\"|“[^”]{2,}”|„[^“”]{2,}[“”]|«[^»]{2,}»|»[^«]{2,}«|‘[^’]{2,}’"
)
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
    before = folded[:start].split()[-1:]
    return bool(before) and before[0].strip(",;:") in tables.KEPT - tables.LOOSE


def _is_recording(time: TimeExpression, words: set[str]) -> bool:
    """Whether the words of a question say that somebody wrote or said something."""
    if not words.isdisjoint(tables.SAYING_ALONE):
        return True
    if words & tables.SAYING and words & {"i", "we", "ich", "wir"}:
        return True
    return time.kind in ("said", "week") and not words.isdisjoint(tables.RECORDING)
