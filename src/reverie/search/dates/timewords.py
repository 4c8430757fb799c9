"""When a question is about: finds the time words in it, in English, Spanish and German,
and reads them as days.

`filter` is for a question that states when something was kept ("what did I write last
March"); everything that might as well be content ("the March report", a bare year) is a
`boost`, so that a wrong guess costs little.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from reverie.records import language
from reverie.search.dates import grammar
from reverie.search.dates import time_lexicon as tables

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
    zone = ZoneInfo(timezone) if isinstance(timezone, str) else timezone
    today = (now if now.tzinfo else now.replace(tzinfo=UTC)).astimezone(zone).date()
    quoted = [match.span() for match in _QUOTED.finditer(folded)]
    pieces = [
        _placed(one, folded, text, places)
        for one in grammar.find(folded, today)
        if not any(start < one.end and one.start < end for start, end in quoted)
    ]
    pieces = _joined(_narrowed([one for one in pieces if one is not None]), folded)
    pieces = _opened([one for one in pieces if not _listed(one, folded)], folded)
    pieces += _last_time(folded) if not pieces else []
    if not pieces:
        return None
    chosen = next((one for one in pieces if one.firm), pieces[0])
    start = chosen.start - len(_before(_LEADING, folded[: chosen.start]))
    spans = ((places[start], _end(places, chosen.end, text)),)
    session, until = chosen.sessions or (None, None)
    until = None if until == session else until
    when = When(
        chosen.first,
        chosen.last,
        session,
        spans,
        "boost",
        chosen.firm,
        until,
        chosen.slack,
    )
    return (
        replace(when, strength="filter")
        if _states(chosen, folded, start, content(text, when))
        else when
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
    return "".join(one for one in parts if not unicodedata.combining(one))


def _folded(text: str) -> tuple[str, list[int] | range]:
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


def _end(places: list[int] | range, end: int, text: str) -> int:
    """Behind the last character, with the accents that the folding dropped."""
    at = places[end - 1] + 1
    while at < len(text) and unicodedata.combining(text[at]):
        at += 1
    return at


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

_ARTICLE = r"(?:(?:the|our|this|der|die|das|dem|den|des|unserer|unserem|unsere|el|la|los|las|lo|nuestra|nuestro)\s+)?"
_LEADING = re.compile(
    r"(?<!\w)(?:(?:on|in|at|during|from|over|around|within|of|between|im|am|vom|aus|zwischen|en|de|del|durante|entre|"
    rf"wahrend)\s+)?{_ARTICLE}$"
)
_CONNECTED = re.compile(
    r",?\s*(?:-|–|—|\b(?:to|through|thru|until|till|and|bis|und|hasta|al?|y|e)\b)\s*(?:zum\s+|"
    + _ARTICLE[3:]
)
_COUPLED = re.compile(
    r"\b(?:between|from|von|vom|zwischen|entre|del?|desde|over)\s+" + _ARTICLE + "$"
)
_AND = re.compile(r"\b(?:and|und|y|e|al?)\b")
_OPENER = re.compile(
    r"\b(before|prior\s+to|vor|antes\s+del?|after|nach|despues\s+del?|tras|since|seit|ab|desde|until|till|up\s+to|bis(?:\s+zum)?|hasta)\s+"
    + _ARTICLE
    + "$"
)
_LISTING = ("and", "und", "y", "e", "to", "a", "al", "through", "hasta")
_MEETING_AGAIN = re.compile(
    r"\b(?:last\s+time|letztes\s+mal|letzten\s+mal|(?:la\s+)?ultima\s+vez)\b"
)
_TALKED = re.compile(
    r"\b(?:we|wir)\b.*\b(?:talk|discuss|chat|sp[eo]ke?|sprach|gesproch|besproch|geredet|unterh)|\b(?:hablamos|discutimos|charlamos)\b"
)
_OURS = re.compile(r"\b(?:our|we|unser\w*|wir|nuestr[oa]s?)\b|\w{3}[aei]mos\b")


def _before(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group() if match else ""


def _placed(
    piece: grammar.TimeExpression, folded: str, text: str, places: list[int] | range
) -> grammar.TimeExpression | None:
    """A piece as its surroundings show it: `in May` is a time, `May said` a person,
    `the May report` a maybe.
    """
    words = folded[: piece.start].split()[-2:]
    before = words[-1] if words else ""
    attributive = (
        before in tables.ARTICLES
        and re.match(r"\s+\w", folded[piece.end :]) is not None
    )
    said = folded[piece.start : piece.end]
    original = text[places[piece.start] : _end(places, piece.end, text)]
    if piece.kind == "said":
        # `USA Today` is a name: a capital amid a text that has small letters, after
        # another capital.
        previous = text[: places[piece.start]].split()[-1:]
        name = (
            original.istitle()
            and previous
            and (previous[0][1:].isupper() or (previous[0].istitle() and words[1:]))
        )
        return (
            None
            if name and said in ("today", "tomorrow", "yesterday", "tonight")
            else piece
        )
    if piece.kind == "month" and not piece.firm and said in tables.NAMESAKES:
        if before in (
            "in",
            "im",
            "during",
            "since",
            "until",
            "en",
            "durante",
            "seit",
            "hasta",
            "between",
            "ab",
        ):
            return replace(piece, firm=True)
        return (
            piece
            if before
            in ("the", "from", "by", "of", "de", "vom", "bis", "dem", "des", *_LISTING)
            else None
        )
    if piece.kind in ("month", "year", "season") and not piece.firm:
        if (
            piece.kind != "season"
            and before in ("de", "del", "of")
            and words[0] in tables.KEPT
        ):
            return replace(piece, firm=True)  # notas de enero
        return replace(
            piece,
            firm=before
            in tables.PLACING - {"of", "by", "um", "zu", "after", "an", "at", "over"},
        )
    if piece.kind == "weekday":
        if said in (
            "domingo",
            "freitag",
            "sonntag",
            "martes",
        ) and before not in tables.PLACING | {"el", "este", "y"}:
            return None  # names and newspapers
        return replace(
            piece,
            firm=before
            in ("on", "am", "el", "since", "seit", "vom", "from", "bis", "until"),
        )
    if (
        piece.kind in ("date", "month")
        and attributive
        and before not in ("der", "den", "dem", "el", "la")
    ):
        return replace(piece, firm=not re.match(r"\s+[a-z]{4,}", folded[piece.end :]))
    return piece


def _listed(piece: grammar.TimeExpression, folded: str) -> bool:
    """`and April`, without a time that it goes on from: a person."""
    said = folded[piece.start : piece.end]
    before = folded[: piece.start].split()[-1:]
    return (
        said in tables.NAMESAKES
        and not piece.firm
        and bool(before)
        and before[0] in _LISTING
    )


def _narrowed(pieces: list[grammar.TimeExpression]) -> list[grammar.TimeExpression]:
    """`Monday last week`, `Friday, 5 May`: two neighbours that say one day."""
    made: list[grammar.TimeExpression] = []
    for piece in pieces:
        day = made[-1] if made else None
        if (
            day is not None
            and day.kind == "weekday"
            and day.first
            and piece.first
            and piece.start - day.end <= 2
        ):
            if piece.kind == "date":
                made[-1] = replace(piece, start=day.start)
                continue
            if piece.kind == "week":
                first = piece.first + timedelta(day.first.weekday())
                made[-1] = grammar.TimeExpression(
                    day.start, piece.end, "date", first, first
                )
                continue
        made.append(piece)
    return made


def _joined(
    pieces: list[grammar.TimeExpression], folded: str
) -> list[grammar.TimeExpression]:
    """Two times that are the ends of one: `between X and Y`, `from X to Y`, `X - Y`."""
    made: list[grammar.TimeExpression] = []
    for piece in pieces:
        start = made[-1] if made else None
        between = folded[start.end : piece.start] if start else ""
        if (
            start is not None
            and start.first is not None
            and piece.last is not None
            and _CONNECTED.fullmatch(between)
            and (not _AND.search(between) or _COUPLED.search(folded[: start.start]))
        ):
            made[-1] = _range(
                start, piece, len(_before(_COUPLED, folded[: start.start]))
            )
        else:
            made.append(piece)
    return made


def _range(
    start: grammar.TimeExpression, end: grammar.TimeExpression, lead: int
) -> grammar.TimeExpression:
    if start.yearless and not end.yearless and end.last:
        start = grammar.in_year(start, end.last.year)
    elif end.yearless and not start.yearless and start.first:
        end = grammar.in_year(end, start.first.year)
        if end.last and end.last < start.first:
            end = grammar.in_year(end, start.first.year + 1)
    if start.first and end.last and start.first > end.last and start.yearless:
        start = grammar.in_year(start, start.first.year - 1)
    first, last = start.first, end.last
    if first and last and first > last:
        first, last = end.first, start.last
    return grammar.TimeExpression(start.start - lead, end.end, "date", first, last)


def _opened(
    pieces: list[grammar.TimeExpression], folded: str
) -> list[grammar.TimeExpression]:
    """`since X`, `before X`: times with one end."""
    made: list[grammar.TimeExpression] = []
    for piece in pieces:
        match = _OPENER.search(folded[: piece.start])
        if match is None or piece.first is None or piece.last is None:
            made.append(piece)
            continue
        word, first, last = match.group(1).split()[0], piece.first, piece.last
        days: tuple[date | None, date | None]
        before = (
            grammar.stretch(folded[: match.start()])
            if word in ("before", "vor", "antes")
            else None
        )
        if before is not None:  # two weeks before X: the time between
            made.append(
                replace(
                    piece,
                    start=before[0],
                    first=first - before[1],
                    last=first - timedelta(1),
                )
            )
            continue
        if word in ("before", "prior", "vor", "antes"):
            days = (None, first - timedelta(1))
        elif word in ("after", "nach", "despues", "tras"):
            days = (last + timedelta(1), None)
        elif word in ("since", "seit", "ab", "desde"):
            days = (first, None)
        else:
            days = (None, last)
        made.append(replace(piece, start=match.start(), first=days[0], last=days[1]))
    return made


def _last_time(folded: str) -> list[grammar.TimeExpression]:
    """`what did we talk about last time`: the last session."""
    match = _MEETING_AGAIN.search(folded)
    if match is None or not _TALKED.search(folded):
        return []
    return [
        grammar.TimeExpression(match.start(), match.end(), "session", sessions=(-1, -1))
    ]


def _states(
    piece: grammar.TimeExpression, folded: str, start: int, left: list[str]
) -> bool:
    """Whether the question states when the record was made, or leaves nothing else to
    look for.
    """
    if piece.sessions is not None:
        return not left or _OURS.search(folded) is not None
    if not piece.firm:
        return False
    if all(word in tables.KEPT for word in left):
        return True
    words = set(_WORD.findall(folded))
    if not words.isdisjoint(tables.SAYING_ALONE) or (
        words & tables.SAYING and words & {"i", "we", "ich", "wir"}
    ):
        return True
    if piece.kind in ("said", "week") and not words.isdisjoint(tables.RECORDING):
        return True
    before = folded[:start].split()[-1:]
    return bool(before) and before[0].strip(",;:") in tables.KEPT - tables.LOOSE
