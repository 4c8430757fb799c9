"""Fusion: one order out of what the signals say. Pure; every number that enters is kept as provenance.

score = (sum of weight * score over signals + sum of bonuses) * product of boosts
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from reverie.search import context, signals

HEAT_BOOST = 0.1
EXACT_BONUS = 1.0


@dataclass(frozen=True, slots=True)
class Weights:
    """How much words and meaning count: the weight of words is the query's coverage to the power of `words`."""

    words: float = 1.2
    meaning: float = 3.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one signal says of a passage: its score (0..1), its weight for this query, its rank among all (from 1).

    `raw` is the signal's own number where the score is made of ranks, else the score.
    """

    score: float
    weight: float
    rank: int
    raw: float


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage and all that its score is made of.

    Bonuses: `exact`, the share of the query's identifiers that the passage holds times its coverage of the query;
    `manner`, how a turn of a chat is said. Boosts: `heat` 1 + 0.1 * heat, and what a mode adds.
    """

    record_id: UUID
    passage_id: int
    evidence: Mapping[str, Evidence]
    heat: float
    bonuses: Mapping[str, float] = field(default_factory=dict[str, float])
    boosts: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def score(self) -> float:
        """The formula at the top of this module."""
        said = sum(one.weight * one.score for one in self.evidence.values()) + sum(self.bonuses.values())
        return said * math.prod(self.boosts.values())

    def boosted(self, name: str, factor: float) -> "Fused":
        """The same with one more boost."""
        return replace(self, boosts={**self.boosts, name: factor})


def fuse(
    scored: Sequence[context.Scored],
    *,
    meaning: bool,
    warmth: Mapping[UUID, signals.Warmth],
    weights: Weights,
) -> list[Fused]:
    """All passages, best first. Without `meaning`, words alone count.

    The weight of words follows how much they have to say: it is the share of the query's information that the best
    passage holds, to a power; that of meaning is fixed.
    """
    coverage = max((one.coverage for one in scored if one.lexical > 0), default=0.0)
    by_words = ranks([one.lexical for one in scored])
    by_meaning = ranks([one.semantic for one in scored])
    fused: list[Fused] = []
    for i, one in enumerate(scored):
        evidence: dict[str, Evidence] = {}
        if one.lexical > 0:
            weight = coverage**weights.words if meaning else 1.0
            evidence["lexical"] = Evidence(one.lexical, weight, by_words[i], one.lexical)
        if meaning and one.semantic > 0:
            evidence["semantic"] = Evidence(one.semantic, weights.meaning, by_meaning[i], one.semantic)
        if evidence:
            heat = warmth[one.record_id].heat if one.record_id in warmth else 0.0
            bonuses = {"exact": EXACT_BONUS * one.exact * one.coverage, "manner": one.manner}
            kept = {name: value for name, value in bonuses.items() if value}
            boosts = {"heat": 1 + HEAT_BOOST * heat}
            fused.append(Fused(one.record_id, one.passage_id, evidence, heat, kept, boosts))
    return ordered(fused)


def ordered(fused: Sequence[Fused]) -> list[Fused]:
    """Best first; the same every time."""
    return sorted(fused, key=lambda one: (-round(one.score, 9), str(one.record_id), one.passage_id))


def ranks(scores: Sequence[float]) -> list[int]:
    """The rank of each score from 1; equal scores share a rank."""
    rounded = [round(score, 9) for score in scores]
    first = {score: rank for rank, score in reversed(list(enumerate(sorted(rounded, reverse=True), start=1)))}
    return [first[score] for score in rounded]
