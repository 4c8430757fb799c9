"""Rank fusion: one score out of weighted signals, bonuses and boosts, with provenance.

score = (sum of weight * score over signals + sum of bonuses) * product of boosts

Pure; every number that enters is kept (docs/decisions/0006).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import config
from reverie.search import context, weights

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SignalScore:
    """What one signal says of a passage: its score (0..1), its weight for this query,
    its rank among all (from 1).

    `raw` is the signal's own number where the score is made of ranks, else the score.
    """

    score: float
    weight: float
    rank: int
    raw: float


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage and all that its score is made of.

    Bonuses: `exact`, the share of the query's identifiers that the passage holds times
    its coverage of the query; `manner`, how a turn of a chat is said; `time`, how near
    it is to the day that the query names; `phrase`, and `foremost`, which keeps what is
    exact before what a reranker likes. Boosts: `heat` (1 + 0.1 * heat), `hint`, `soon`
    (1 + 0.15 * proximity to an event of what is named), `title`, `confirmation`.
    """

    record_id: UUID
    passage_id: int
    evidence: Mapping[str, SignalScore]
    heat: float
    bonuses: Mapping[str, float] = field(default_factory=dict[str, float])
    boosts: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def score(self) -> float:
        """The formula at the top of this module."""
        signals = sum(signal.weight * signal.score for signal in self.evidence.values())
        return (signals + sum(self.bonuses.values())) * math.prod(self.boosts.values())

    def raised(self, name: str, bonus: float) -> "Fused":
        """The same with one more bonus."""
        return replace(self, bonuses={**self.bonuses, name: bonus})


@dataclass(frozen=True, slots=True)
class PassageBonuses:
    """The bonuses that a query's own words give, an entry for each passage: for the day
    that it names, for its phrases in quotes, and for what answers its type.
    """

    time: Floats
    phrase: Floats
    answer: Floats


@dataclass(frozen=True, slots=True)
class RecordFeatures:
    """What is known of the records, an entry for each.

    `graph` is the share of what the query names that a record is linked to; `domain`
    the boost of the kind that the query speaks of; `soon` that of what is close in time
    to an event of what is named; `answer` that of what answers a question of this type.
    """

    graph: Floats
    domain: Floats
    soon: Floats
    answer: Floats


@dataclass(frozen=True, slots=True)
class _Signal:
    """The score (0..1) and the weight of one signal, an entry for each passage."""

    score: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the scores are made of, an entry for each passage."""

    signals: Mapping[str, _Signal]
    bonuses: Mapping[str, Floats]
    boosts: Mapping[str, Floats]
    heat: Floats

    def total(self) -> Floats:
        """The formula at the top of this module: shape (passages,)."""
        bonuses = sum(
            self.bonuses.values(), np.zeros_like(self.signals["lexical"].score)
        )
        weighed = sum(
            (signal.weight * signal.score for signal in self.signals.values()), bonuses
        )
        return weighed * np.prod(list(self.boosts.values()), axis=0)


def fuse(
    scored: context.Scored,
    bonuses: PassageBonuses,
    features: RecordFeatures,
    *,
    meaning: bool,
    settings: config.SearchTuning,
    most: int,
) -> list[Fused]:
    """The `most` best passages and the best of every record, best first. Without
    `meaning`, words alone count.
    """
    heat = np.array([card.heat for card in scored.records])[scored.record]
    parts = _Parts(
        signals=_signals(scored, features, settings, meaning=meaning),
        bonuses=_bonuses(scored, bonuses),
        boosts=_boosts(scored, features, heat),
        heat=heat,
    )
    matching = (
        (scored.lexical > 0)
        | ((scored.semantic > 0) & meaning)
        | (bonuses.phrase > 0)
        | (bonuses.answer > 0)
        | (features.graph[scored.record] > 0)
    )
    rows = _best_rows(scored, parts.total(), matching, most)
    return ordered(_fused(scored, parts, rows))


def _signals(
    scored: context.Scored,
    features: RecordFeatures,
    settings: config.SearchTuning,
    *,
    meaning: bool,
) -> dict[str, _Signal]:
    """The weight of words follows how much they have to say: the share of the query's
    information that the best passage holds, to a power; that of meaning is fixed. The
    graph counts for records that hold none of the words, and is told of the others.
    """
    lexical_weight = settings.words
    if meaning:
        coverage = scored.coverage[scored.lexical > 0]
        lexical_weight *= float(coverage.max(initial=0.0)) ** settings.coverage
    semantic_weight = settings.meaning if meaning else 0.0
    best_words = np.zeros(len(scored.records), np.float32)
    np.maximum.at(best_words, scored.record, scored.lexical)
    without_words = best_words[scored.record] == 0
    each = np.ones_like(scored.lexical)
    return {
        "lexical": _Signal(scored.lexical, lexical_weight * each),
        "semantic": _Signal(scored.semantic, semantic_weight * each),
        "graph": _Signal(features.graph[scored.record], settings.graph * without_words),
    }


def _bonuses(scored: context.Scored, bonuses: PassageBonuses) -> dict[str, Floats]:
    return {
        "exact": weights.EXACT_BONUS * scored.exact * scored.coverage,
        "manner": scored.turn,
        "time": bonuses.time,
        "phrase": bonuses.phrase,
        "answer": bonuses.answer,
    }


def _boosts(
    scored: context.Scored, features: RecordFeatures, heat: Floats
) -> dict[str, Floats]:
    return {
        "heat": 1 + weights.HEAT_BOOST * heat,
        "hint": features.domain[scored.record],
        "soon": features.soon[scored.record],
        "answer": features.answer[scored.record],
    }


def _best_rows(
    scored: context.Scored, total: Floats, matching: NDArray[np.bool_], most: int
) -> list[int]:
    """The passages that are kept, of those that match: the `most` best, and the best
    one of each of the best records.
    """
    order = np.lexsort((scored.ids, scored.record, -np.round(total, 6)))
    order = order[matching[order]]
    first_of_record = np.unique(scored.record[order], return_index=True)[1]
    best_of_record = np.sort(first_of_record)[: 2 * most]
    best = np.arange(min(most, len(order)))
    return order[np.union1d(best, best_of_record)].tolist()


def _fused(scored: context.Scored, parts: _Parts, rows: Sequence[int]) -> list[Fused]:
    """The passages of some rows, with what their scores are made of."""
    rank = {name: _ranks(signal.score) for name, signal in parts.signals.items()}

    def evidence(i: int) -> dict[str, SignalScore]:
        return {
            name: SignalScore(
                score=float(signal.score[i]),
                weight=float(signal.weight[i]),
                rank=int(rank[name][i]),
                raw=float(signal.score[i]),
            )
            for name, signal in parts.signals.items()
            if signal.score[i] > 0 and (signal.weight[i] or name == "graph")
        }

    return [
        Fused(
            record_id=scored.records[scored.record[i]].record_id,
            passage_id=int(scored.ids[i]),
            evidence=evidence(i),
            heat=float(parts.heat[i]),
            bonuses={n: float(of[i]) for n, of in parts.bonuses.items() if of[i]},
            boosts={n: float(of[i]) for n, of in parts.boosts.items() if of[i] != 1},
        )
        for i in rows
    ]


def ordered(fused: Sequence[Fused]) -> list[Fused]:
    """Best first; the same every time."""
    return sorted(
        fused,
        key=lambda passage: (
            -round(passage.score, 6),
            passage.record_id.int,
            passage.passage_id,
        ),
    )


def reranked(best: Sequence[Fused], scores: Sequence[float]) -> list[Fused]:
    """Passages in the order of a reranker's scores (0..1): a signal that outweighs all
    others.

    What holds an identifier or a phrase of the query stays before what does not, and
    the rest, without any such score, stays behind.
    """
    return ordered(
        [
            _with_reranker(passage, score, rank)
            for passage, score, rank in zip(
                best, scores, ranks(list(scores)), strict=True
            )
        ]
    )


def _with_reranker(passage: Fused, score: float, rank: int) -> Fused:
    signal = SignalScore(score, weights.RERANKER_WEIGHT, rank, score)
    is_exact = not passage.bonuses.keys().isdisjoint({"exact", "phrase"})
    foremost = weights.FOREMOST_BONUS if is_exact else 0.0
    evidence = {**passage.evidence, "reranker": signal}
    return replace(passage, evidence=evidence).raised("foremost", foremost)


def ranks(scores: Sequence[float]) -> list[int]:
    """The rank of each score from 1; equal scores share a rank."""
    return [int(rank) for rank in _ranks(np.array(scores, np.float32))]


def _ranks(scores: Floats) -> Integers:
    rounded = -np.round(scores, 6)
    return np.searchsorted(np.sort(rounded), rounded) + 1
