"""How much each signal has to say about a query: what is believable, and how it weighs."""

from collections.abc import Mapping, Sequence

from reverie import llm
from reverie.search import signals


def believable(
    text: str, found: Sequence[signals.Found], vector: llm.QueryVector
) -> tuple[list[signals.Found], str]:
    """The records whose similarity means something, by the model's floor; with the reason when none does."""
    kept = [one for one in found if one.score >= vector.floor]
    return kept, "" if kept or not found else "ok: nothing is similar enough"


def worth_showing(found: Sequence[signals.Found]) -> list[signals.Found]:
    """The records that hold enough of the query's words."""
    return list(found)


def weights(words: Sequence[signals.Found], near: Sequence[signals.Found]) -> Mapping[str, float]:
    """The weight of each signal for this query."""
    return {"lexical": 1.0, "semantic": 1.0}
