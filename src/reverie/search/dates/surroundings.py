"""Disambiguation of time words by the words around: `in May`, `May said`. Pure."""

import re
from dataclasses import dataclass, replace

from reverie.search.dates import expressions
from reverie.search.dates import time_lexicon as tables
from reverie.search.dates.expressions import TimeExpression
from reverie.search.dates.folding import FoldedText

_LISTING = ("and", "und", "y", "e", "to", "a", "al", "through", "hasta")
# Words of today that names have, too: USA Today, This Is Tomorrow.
_NAMES_OF_TODAY = ("today", "tomorrow", "yesterday", "tonight")
# Before the name of a month that is a person's, too, these say that it is a month,
_BEFORE_MONTH = tables.words(
    "in im during since until en durante seit hasta between ab"
)
# these that it may be one.
_BEFORE_MAYBE_MONTH = frozenset(
    ("the", "from", "by", "of", "de", "vom", "bis", "dem", "des", *_LISTING)
)
_GENITIVE = ("de", "del", "of")
# Of the words that place a time, those that do so before a month, a year or a season.
_PLACING_PERIOD = tables.PLACING - {
    "of", "by", "um", "zu", "after", "an", "at", "over",
}  # fmt: skip
# Weekdays that are names of people and of newspapers, and what makes them weekdays.
_NAMED_WEEKDAYS = ("domingo", "freitag", "sonntag", "martes")
_BEFORE_NAMED_WEEKDAY = tables.PLACING | {"el", "este", "y"}
_BEFORE_FIRM_WEEKDAY = tables.words("on am el since seit vom from bis until")
# Articles that stand before a date and make no attribute of it: der 5. Mai.
_ARTICLES_OF_DATES = ("der", "den", "dem", "el", "la")


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """A time in its text: the last two words before it, its own folded words, and the
    folded text behind it.
    """

    words: list[str]
    own: str
    behind: str

    @property
    def before(self) -> str:
        """The word before it, or ""."""
        return self.words[-1] if self.words else ""


def judged(time: TimeExpression, text: FoldedText) -> TimeExpression | None:
    """A time as its surroundings show it: `in May` is a time, `May said` a person,
    `the May report` a maybe.
    """
    around = _surroundings(time, text.folded)
    if time.kind == "said":
        return None if _is_title(time, around, text) else time
    if time.kind == "weekday":
        return _judged_weekday(time, around)
    if time.kind == "month" and not time.firm:
        return _judged_month(time, around)
    if time.kind in ("year", "season") and not time.firm:
        return replace(time, firm=_is_placed(time, around))
    if time.kind in ("date", "month") and _is_attribute(around):
        is_before_noun = re.match(r"\s+[a-z]{4,}", around.behind)
        return replace(time, firm=not is_before_noun)
    return time


def _surroundings(time: TimeExpression, folded: str) -> _Surroundings:
    """What is around a time in a folded text."""
    words_before = folded[: time.start].rsplit(maxsplit=2)
    own = folded[time.start : time.end]
    behind = folded[time.end :]
    return _Surroundings(words_before[-2:], own, behind)


def _is_title(time: TimeExpression, around: _Surroundings, text: FoldedText) -> bool:
    """`USA Today` is a name: a capital amid a text that has small letters, after
    another capital.
    """
    if around.own not in _NAMES_OF_TODAY:
        return False
    start = text.places[time.start]
    end = text.place_of_end(time.end)
    word = text.original[start:end]
    previous = expressions.last_word(text.original[:start])
    if not previous or not word.istitle():
        return False
    if previous[1:].isupper():
        return True
    return previous.istitle() and len(around.words) > 1


def _judged_month(time: TimeExpression, around: _Surroundings) -> TimeExpression | None:
    """The name of a month without a year."""
    if around.own in tables.NAMESAKES:
        return _judged_namesake(time, around)
    return replace(time, firm=_is_placed(time, around))


def _judged_namesake(
    time: TimeExpression, around: _Surroundings
) -> TimeExpression | None:
    """The name of a month that is a person's, too."""
    if around.before in _BEFORE_MONTH:
        return replace(time, firm=True)
    return time if around.before in _BEFORE_MAYBE_MONTH else None


def _is_placed(time: TimeExpression, around: _Surroundings) -> bool:
    """Whether the words before a month, a year or a season say that it is a time."""
    is_genitive = time.kind != "season" and around.before in _GENITIVE
    if is_genitive and around.words[0] in tables.KEPT:
        return True  # notas de enero
    return around.before in _PLACING_PERIOD


def _judged_weekday(
    time: TimeExpression, around: _Surroundings
) -> TimeExpression | None:
    is_name = around.own in _NAMED_WEEKDAYS
    if is_name and around.before not in _BEFORE_NAMED_WEEKDAY:
        return None
    return replace(time, firm=around.before in _BEFORE_FIRM_WEEKDAY)


def _is_attribute(around: _Surroundings) -> bool:
    """`the 5 May report`: a time between an article and another word."""
    if around.before not in tables.ARTICLES or around.before in _ARTICLES_OF_DATES:
        return False
    return re.match(r"\s+\w", around.behind) is not None


def is_listed(time: TimeExpression, folded: str) -> bool:
    """`and April`, without a time that it goes on from: a person."""
    if time.firm:
        return False
    around = _surroundings(time, folded)
    if around.own not in tables.NAMESAKES:
        return False
    return around.before in _LISTING
