"""Fusion: one order out of what the signals say. Pure; every number that enters is kept
as provenance.

score = (sum of weight * score over signals + sum of bonuses) * product of boosts
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import config
from reverie.search import context

HEAT_BOOST = 0.1
EXACT_BONUS = 1.0
RERANKER = 20.0

Floats = NDArray[np.float32]


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
    (1 + 0.15 * proximity to an event of what is named), `confirmation`.
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
        said = sum(one.weight * one.score for one in self.evidence.values()) + sum(
            self.bonuses.values()
        )
        return said * math.prod(self.boosts.values())

    def raised(self, name: str, bonus: float) -> "Fused":
        """The same with one more bonus."""
        return replace(self, bonuses={**self.bonuses, name: bonus})


def fuse(
    scored: context.Scored,
    *,
    meaning: bool,
    settings: config.SearchTuning,
    most: int,
    time: Floats,
    phrase: Floats,
    hints: Floats,
    graph: Floats,
    soon: Floats,
) -> list[Fused]:
    """The `most` best passages and the best of every record, best first. Without
    `meaning`, words alone count.

    The weight of words follows how much they have to say: the share of the query's
    information that the best passage holds, to a power; that of meaning is fixed.
    `time` and `phrase` are bonuses for each passage, `hints` and `soon` boosts for each
    record, `graph` the share of what the query names that a record is linked to: it
    counts for records that hold none of the words, and is told of the others.
    """
    held = scored.coverage[scored.lexical > 0]
    of_words = settings.words * (
        float(held.max(initial=0.0)) ** settings.coverage if meaning else 1.0
    )
    of_meaning = settings.meaning if meaning else 0.0
    worded = np.zeros(len(scored.records), np.float32)
    np.maximum.at(worded, scored.record, scored.lexical)
    everywhere = np.ones_like(scored.lexical)
    signals = {
        "lexical": (scored.lexical, of_words * everywhere),
        "semantic": (scored.semantic, of_meaning * everywhere),
        "graph": (graph[scored.record], settings.graph * (worded[scored.record] == 0)),
    }
    bonuses = {
        "exact": EXACT_BONUS * scored.exact * scored.coverage,
        "manner": scored.manner,
    }
    bonuses |= {"time": time, "phrase": phrase}
    heat = np.array([card.heat for card in scored.records])[scored.record]
    boosts = {
        "heat": 1 + HEAT_BOOST * heat,
        "hint": hints[scored.record],
        "soon": soon[scored.record],
    }
    said = sum(
        (weight * of for of, weight in signals.values()),
        sum(bonuses.values(), np.zeros_like(time)),
    )
    total = said * np.prod(list(boosts.values()), axis=0)
    there = (
        (scored.lexical > 0)
        | ((scored.semantic > 0) & meaning)
        | (phrase > 0)
        | (graph[scored.record] > 0)
    )
    order = np.lexsort((scored.ids, scored.record, -np.round(total, 6)))
    order = order[there[order]]
    best = np.sort(np.unique(scored.record[order], return_index=True)[1])[: 2 * most]
    rank = {name: _ranks(of) for name, (of, _) in signals.items()}

    def made(i: int) -> Fused:
        evidence = {
            name: SignalScore(
                float(of[i]), float(weight[i]), int(rank[name][i]), float(of[i])
            )
            for name, (of, weight) in signals.items()
            if of[i] > 0 and (weight[i] or name == "graph")
        }
        return Fused(
            scored.records[scored.record[i]].record_id,
            int(scored.ids[i]),
            evidence,
            float(heat[i]),
            {name: float(of[i]) for name, of in bonuses.items() if of[i]},
            {name: float(of[i]) for name, of in boosts.items() if of[i] != 1},
        )

    return ordered(
        [
            made(i)
            for i in order[np.union1d(np.arange(min(most, len(order))), best)].tolist()
        ]
    )


def ordered(fused: Sequence[Fused]) -> list[Fused]:
    """Best first; the same every time."""
    return sorted(
        fused, key=lambda one: (-round(one.score, 6), one.record_id.int, one.passage_id)
    )


def reranked(best: Sequence[Fused], scores: Sequence[float]) -> list[Fused]:
    """Passages in the order of a reranker's scores (0..1): a signal that outweighs all
    others.

    What holds an identifier or a phrase of the query stays before what does not, and
    the rest, without any such score, stays behind.
    """
    by_score = ranks(list(scores))
    return ordered(
        [
            replace(
                one,
                evidence={
                    **one.evidence,
                    "reranker": SignalScore(score, RERANKER, rank, score),
                },
            ).raised(
                "foremost",
                2 * RERANKER if {"exact", "phrase"} & one.bonuses.keys() else 0.0,
            )
            for one, score, rank in zip(best, scores, by_score, strict=True)
        ]
    )


def ranks(scores: Sequence[float]) -> list[int]:
    """The rank of each score from 1; equal scores share a rank."""
    return [int(rank) for rank in _ranks(np.array(scores, np.float32))]


def _ranks(scores: Floats) -> NDArray[np.int64]:
    rounded = -np.round(scores, 6)
    return np.searchsorted(np.sort(rounded), rounded) + 1
