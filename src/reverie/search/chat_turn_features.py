"""Chat turn features: what makes a turn of a conversation likelier to hold an answer."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reverie.records import terms
from reverie.search import weights
from reverie.vocabulary import calendar_words

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

_WHEN = frozenset({"when", "cuando", "wann"})
# Words by which a turn tells when something was, beside the weekdays and the months.
_TIME_WORDS: str = """
    yesterday today tonight tomorrow day days week weeks weekend month months year years
    ago last next recently
    ayer anteayer hoy mañana día días semana semanas mes meses año años
    hace pasado pasada próximo próxima
    gestern vorgestern heute morgen tag tage tagen woche wochen wochenende monat monate
    monaten jahr jahre jahren
    vor letzte letzten letzter letztes nächste nächsten nächster kürzlich
"""


def _times_pattern() -> str:
    """The words of time in any of the languages, as a PostgreSQL regular expression."""
    words = _TIME_WORDS.split()
    for weekdays in calendar_words.WEEKDAYS.values():
        words.extend(weekdays)
    for months in calendar_words.MONTHS.values():
        words.extend(months)
    unique = dict.fromkeys(words)
    return rf"\m({'|'.join(unique)})\M"


_TIMES_PATTERN = _times_pattern()


def times_asked_for(text: str) -> str | None:
    """The PostgreSQL pattern of words of time, if a question asks for one ("when")."""
    if _WHEN.isdisjoint(terms.words(terms.fold(text))):
        return None
    return _TIMES_PATTERN


def bonus(
    speaker: Sequence[str | None],
    text: str,
    *,
    only_asks: Flags,
    replies: Floats,
    tells_when: Floats,
) -> Floats:
    """The bonus of each passage of a speaker, 0 for all others: shape (passages,).

    `replies` is 1 where the turn before asks.
    """
    turn = np.array([name is not None for name in speaker], np.float32)
    if not turn.any():
        return turn
    named = _named_speakers({name for name in speaker if name}, text)
    by_named = np.array([name in named for name in speaker], np.float32)
    of_turn = (
        weights.SPEAKER_NAMED * by_named
        + weights.ONLY_ASKS * only_asks
        + weights.AFTER_QUESTION * replies
        + weights.TELLS_WHEN * tells_when
    )
    return (turn * of_turn).astype(np.float32)


def _named_speakers(speakers: set[str], text: str) -> set[str]:
    """The speakers whom a question names; that it names everybody tells nothing."""
    words = set(terms.words(terms.fold(text)))
    named = {
        name for name in speakers if not words.isdisjoint(terms.words(terms.fold(name)))
    }
    return named if named != speakers else set[str]()
