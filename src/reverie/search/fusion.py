"""Fusion: one order out of what words and meaning say. Pure; every number that enters is kept as provenance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from reverie.search import context, signals

WORDS, MEANING = 1.2, 3.5
HEAT_BOOST = 0.1
EXACT_BOOST = 1.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one signal says of a passage: its score (0..1), its weight for this query, its rank among all (from 1)."""

    score: float
    weight: float
    rank: int


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage and the sum of its evidence:

    score = (sum of weight * score over signals, + exact + manner) * (1 + 0.1 * heat)

    The weight of words is the share of the query's information that the best passage holds, to the power of 1.2; that
    of meaning is fixed.
    `exact` is the share of the query's identifiers that the passage holds, times its coverage of the query.
    """

    record_id: UUID
    passage_id: int
    score: float
    evidence: Mapping[str, Evidence]
    exact: float
    manner: float
    heat: float


def fuse(
    scored: Sequence[context.Scored],
    *,
    meaning: bool,
    warmth: Mapping[UUID, signals.Warmth],
) -> list[Fused]:
    """All passages, best first. Without `meaning`, words alone count."""
    coverage = max((one.coverage for one in scored if one.lexical > 0), default=0.0)
    by_words = _ranks([one.lexical for one in scored])
    by_meaning = _ranks([one.semantic for one in scored])
    fused: list[Fused] = []
    for i, one in enumerate(scored):
        evidence: dict[str, Evidence] = {}
        if one.lexical > 0:
            evidence["lexical"] = Evidence(one.lexical, coverage**WORDS if meaning else 1.0, by_words[i])
        if meaning and one.semantic > 0:
            evidence["semantic"] = Evidence(one.semantic, MEANING, by_meaning[i])
        heat = warmth[one.record_id].heat if one.record_id in warmth else 0.0
        bonus = EXACT_BOOST * one.exact * one.coverage
        total = sum(e.weight * e.score for e in evidence.values()) + bonus + one.manner
        score = total * (1 + HEAT_BOOST * heat)
        if evidence:
            fused.append(Fused(one.record_id, one.passage_id, score, evidence, bonus, one.manner, heat))
    return sorted(fused, key=lambda one: (-round(one.score, 9), str(one.record_id), one.passage_id))


def _ranks(scores: Sequence[float]) -> list[int]:
    """The rank of each score from 1; equal scores share a rank."""
    rounded = [round(score, 9) for score in scores]
    first = {score: rank for rank, score in reversed(list(enumerate(sorted(rounded, reverse=True), start=1)))}
    return [first[score] for score in rounded]
