"""The manner of a passage: what speaks for or against a turn of a chat as the place of
an answer, beside its words.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reverie.records import terms

# A turn whose speaker the question names is likelier to hold the answer, one that only
# asks is not; one after a question answers something, and one that tells a time answers
# `when`. Chosen as search/context.py tells.
NAMED, ASKS, REPLIES, TELLS_WHEN = 0.08, -0.3, 0.05, 0.2
SHORT_TURN = 40

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

_WHEN = frozenset({"when", "cuando", "wann"})
_TIMES = (
    "yesterday today tonight tomorrow day days week weeks weekend month months year years ago last next recently "
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june july august september october november december "
    "ayer anteayer hoy mañana día días semana semanas mes meses año años hace pasado pasada próximo próxima "
    "lunes martes miércoles jueves viernes sábado domingo "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "gestern vorgestern heute morgen tag tage tagen woche wochen wochenende monat monate monaten jahr jahre jahren vor "
    "letzte letzten letzter letztes nächste nächsten nächster kürzlich "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag "
    "januar februar märz mai juni juli oktober dezember"
)
# As a regular expression of PostgreSQL.
TIMES = rf"\m({'|'.join(dict.fromkeys(_TIMES.split()))})\M"


def asks_when(text: str) -> bool:
    """Whether a question asks for a time."""
    return not _WHEN.isdisjoint(terms.words(terms.fold(text)))


def of(
    speaker: Sequence[str | None],
    text: str,
    *,
    only_asks: Flags,
    replies: Floats,
    tells_when: Floats,
) -> Floats:
    """The bonus of each passage of a speaker; `replies` is 1 where the turn before
    asks.
    """
    turn = np.array([one is not None for one in speaker], np.float32)
    if not turn.any():
        return turn
    speakers = {one for one in speaker if one}
    asked = set(terms.words(terms.fold(text)))
    named = {
        one for one in speakers if not asked.isdisjoint(terms.words(terms.fold(one)))
    }
    if named == speakers:
        named = set[str]()  # everybody is named: that tells nothing
    by_named = np.array([one in named for one in speaker], np.float32)
    bonus = (
        NAMED * by_named
        + ASKS * only_asks
        + REPLIES * replies
        + TELLS_WHEN * tells_when
    )
    return (turn * bonus).astype(np.float32)
