"""The advanced mode's fusion: every signal by its ranks, with the owner's own weights.
Pure.

A signal scores a record (N - position) / N among the N that it found, 0 where it found
nothing. Where a signal cannot tell its finds apart, or cannot run, its weight goes to
the others. A record that two or three signals confirm is boosted; heat never confirms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from reverie import errors
from reverie.search import fusion

NAMES: tuple[str, ...] = ("heat", "semantic", "lexical", "graph")
CONFIRMED = {2: 1.25, 3: 1.5}
ALIKE = 0.05


@dataclass(frozen=True, slots=True)
class Sliders:
    """How much each signal counts, from 0 to 1."""

    heat: float = 0.25
    semantic: float = 0.25
    lexical: float = 0.25
    graph: float = 0.25


@dataclass(frozen=True, slots=True)
class Raw:
    """What a signal says of one record: its best passage (None for a signal of whole
    records) and the raw score.
    """

    record_id: UUID
    passage_id: int | None
    score: float


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
    return len(scores) > 1 and max(scores) - min(scores) <= ALIKE * max(
        abs(score) for score in scores
    )


def fuse(
    raws: Mapping[str, Sequence[Raw]], sliders: Sliders, *, told: Mapping[str, str]
) -> tuple[list[fusion.Fused], dict[str, str]]:
    """Records, best first, each with its best passage; and what became of each signal.

    score = (a*heat + b*semantic + c*lexical + d*graph) / (a + b + c + d) * confirmation
    """
    told = dict(told)
    weights = {name: float(getattr(sliders, name)) for name in NAMES}
    alike: list[str] = []
    for name in NAMES:
        found = raws.get(name, ())
        if told.get(name, "ok") != "ok" or not found:
            weights[name] = 0.0
        elif degenerate([one.score for one in found]):
            alike.append(name)
    others = any(weight for name, weight in weights.items() if name not in alike)
    for name in alike:
        if others:
            weights[name], told[name] = (
                0.0,
                "degenerate: its scores are all alike, its weight went to the others",
            )
        else:
            told[name] = (
                "degenerate: its scores are all alike, and no other signal counts"
            )
    total = sum(weights.values()) or 1.0
    normal = {name: _by_rank(found) for name, found in raws.items()}
    passages: dict[UUID, int] = {}
    for name in ("lexical", "semantic", "graph"):
        for one in raws.get(name, ()):
            if one.passage_id is not None:
                passages.setdefault(one.record_id, one.passage_id)
    heat = {one.record_id: one.score for one in raws.get("heat", ())}
    fused: list[fusion.Fused] = []
    for record_id, passage_id in passages.items():
        evidence = {
            name: fusion.SignalScore(
                of[record_id].score,
                weights[name] / total,
                of[record_id].rank,
                of[record_id].raw,
            )
            for name, of in normal.items()
            if record_id in of
        }
        confirming = sum(1 for name in evidence if name != "heat")
        boosts = (
            {"confirmation": CONFIRMED[confirming]} if confirming in CONFIRMED else {}
        )
        fused.append(
            fusion.Fused(
                record_id, passage_id, evidence, heat.get(record_id, 0.0), {}, boosts
            )
        )
    return fusion.ordered(fused), told


def _by_rank(found: Sequence[Raw]) -> dict[UUID, fusion.SignalScore]:
    """(N - position) / N for each record, by its best score; equal scores share a
    position.
    """
    best: dict[UUID, float] = {}
    for one in found:
        best[one.record_id] = max(one.score, best.get(one.record_id, one.score))
    ranks = fusion.ranks(list(best.values()))
    n = len(best)
    return {
        record_id: fusion.SignalScore((n - rank + 1) / n, 0.0, rank, score)
        for (record_id, score), rank in zip(best.items(), ranks, strict=True)
    }
