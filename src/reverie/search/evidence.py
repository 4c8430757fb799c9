"""How much each find has to say: the share of the query's words it holds, or how sure its similarity is.

Equal weights let a weak signal outvote a strong one. On questions across languages a lexical hit holds one word of
five, on an identifier a vector is a guess: so a find's reciprocal rank is multiplied by its own strength.
"""

from collections.abc import Sequence

from reverie import llm
from reverie.search import signals

LEAST = 0.05


def of_words(one: signals.Found) -> float:
    """0.05..1: the covered share of the query's information, squared."""
    return max(LEAST, one.coverage) ** 2


def of_meaning(one: signals.Found, vector: llm.QueryVector) -> float:
    """0..1: where the similarity lies between the model's floor and what is surely the same matter."""
    low = 0.6 * vector.calibration.floor
    return min(1.0, max(0.0, (one.score - low) / (vector.calibration.strong - low)))


def believable(found: Sequence[signals.Found], vector: llm.QueryVector) -> list[signals.Found]:
    """The records whose similarity means something for this model."""
    return [one for one in found if one.score >= vector.calibration.floor]
