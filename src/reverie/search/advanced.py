"""Advanced mode: rank fusion by position (as RRF does) with the owner's own weights.

A signal scores a record (N - position) / N among the N that it found, 0 where it found
nothing. Where a signal cannot tell its finds apart, or cannot run, its weight goes to
the others. A record that two or three signals confirm is boosted; heat never confirms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from reverie import errors
from reverie.search import fusion, weights

NAMES: tuple[str, ...] = ("heat", "semantic", "lexical", "graph")
# Those that find passages; heat is of whole records.
_OF_PASSAGES = ("lexical", "semantic", "graph")
_OTHERS_COUNT = "degenerate: its scores are all alike, its weight went to the others"
_NO_OTHER_COUNTS = "degenerate: its scores are all alike, and no other signal counts"


@dataclass(frozen=True, slots=True)
class Sliders:
    """How much each signal counts, from 0 to 1."""

    heat: float = 0.25
    semantic: float = 0.25
    lexical: float = 0.25
    graph: float = 0.25


@dataclass(frozen=True, slots=True)
class RawScore:
    """What a signal says of one record: its best passage (None for a signal of whole
    records) and the raw score.
    """

    record_id: UUID
    passage_id: int | None
    score: float


RawScores = Mapping[str, Sequence[RawScore]]


def checked(sliders: Sliders) -> Sliders:
    """The sliders themselves. Raises Invalid for a number outside 0..1, or nothing but
    zeros.
    """
    values = [getattr(sliders, name) for name in NAMES]
    if not all(0 <= value <= 1 for value in values):
        raise errors.Invalid("A slider goes from 0 to 1.")
    if not any(values):
        raise errors.Invalid(
            "All sliders are at 0: no signal counts.", hint="Raise one of them."
        )
    return sliders


def degenerate(scores: Sequence[float]) -> bool:
    """Whether a signal's scores are within 5 % of each other, so that their order says
    nothing.
    """
    if len(scores) <= 1:
        return False
    largest = max(abs(score) for score in scores)
    return max(scores) - min(scores) <= weights.ALIKE * largest


def fuse(
    raw: RawScores, sliders: Sliders, *, statuses: Mapping[str, str]
) -> tuple[list[fusion.Fused], dict[str, str]]:
    """Records, best first, each with its best passage; and what became of each signal.

    score = (a*heat + b*semantic + c*lexical + d*graph) / (a + b + c + d) * confirmation
    """
    statuses = dict(statuses)
    shares = _shares(raw, sliders, statuses)
    by_signal = {name: _by_rank(scores) for name, scores in raw.items()}
    heat = {score.record_id: score.score for score in raw.get("heat", ())}
    fused: list[fusion.Fused] = []
    for record_id, passage_id in _best_passages(raw).items():
        evidence = {
            name: fusion.SignalScore(
                score=records[record_id].score,
                weight=shares[name],
                rank=records[record_id].rank,
                raw=records[record_id].raw,
            )
            for name, records in by_signal.items()
            if record_id in records
        }
        fused.append(
            fusion.Fused(
                record_id=record_id,
                passage_id=passage_id,
                evidence=evidence,
                heat=heat.get(record_id, 0.0),
                boosts=_confirmation(evidence),
            )
        )
    return fusion.ordered(fused), statuses


def _shares(
    raw: RawScores, sliders: Sliders, statuses: dict[str, str]
) -> dict[str, float]:
    """The share of each signal of all weights; what degenerated is noted in
    `statuses`.
    """
    slider = {name: float(getattr(sliders, name)) for name in NAMES}
    running = [
        name for name in NAMES if raw.get(name) and statuses.get(name, "ok") == "ok"
    ]
    for name in NAMES:
        if name not in running:
            slider[name] = 0.0
    alike = [
        name for name in running if degenerate([score.score for score in raw[name]])
    ]
    others_count = any(weight for name, weight in slider.items() if name not in alike)
    for name in alike:
        if others_count:
            slider[name] = 0.0
            statuses[name] = _OTHERS_COUNT
        else:
            statuses[name] = _NO_OTHER_COUNTS
    total = sum(slider.values()) or 1.0
    return {name: weight / total for name, weight in slider.items()}


def _best_passages(raw: RawScores) -> dict[UUID, int]:
    """The best passage of each record, by the first signal that found one in it."""
    passages: dict[UUID, int] = {}
    for name in _OF_PASSAGES:
        for score in raw.get(name, ()):
            if score.passage_id is not None:
                passages.setdefault(score.record_id, score.passage_id)
    return passages


def _confirmation(evidence: Mapping[str, fusion.SignalScore]) -> dict[str, float]:
    """The boost of a record that more than one signal found."""
    confirming = sum(1 for name in evidence if name != "heat")
    if confirming not in weights.CONFIRMATION:
        return {}
    return {"confirmation": weights.CONFIRMATION[confirming]}


def _by_rank(scores: Sequence[RawScore]) -> dict[UUID, fusion.SignalScore]:
    """(N - position) / N for each record, by its best score; equal scores share a
    position.
    """
    best: dict[UUID, float] = {}
    for score in scores:
        before = best.get(score.record_id, score.score)
        best[score.record_id] = max(score.score, before)
    ranks = fusion.ranks(list(best.values()))
    n = len(best)
    return {
        record_id: fusion.SignalScore((n - rank + 1) / n, 0.0, rank, score)
        for (record_id, score), rank in zip(best.items(), ranks, strict=True)
    }
