"""Fusion: one order out of the signals' orders. Pure; every number that enters is kept as provenance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from reverie.search import signals

K = 10
HEAT_BOOST = 0.1
EXACT_BOOST = 1.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A find of one signal with its strength, 0..1."""

    found: signals.Found
    strength: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one signal says of one record: its raw score, its rank (from 1) and its strength."""

    score: float
    rank: int
    strength: float


@dataclass(frozen=True, slots=True)
class Fused:
    """A record and the sum of its evidence:

    score = (sum over signals of strength / (K + rank), + exact) * (1 + 0.1 * heat)

    where `exact` is 1 / (K + rank) for a record that holds every word of the query, an identifier among them.
    """

    record_id: UUID
    passage_ids: tuple[int, ...]
    score: float
    evidence: Mapping[str, Evidence] = field(default_factory=dict[str, Evidence])
    heat: float = 0.0
    exact: float = 0.0


def fuse(ranked: Mapping[str, Sequence[Ranked]], warmth: Mapping[UUID, signals.Warmth]) -> list[Fused]:
    """Reciprocal rank fusion weighted by strength, deduplicated by record, best first."""
    evidence: dict[UUID, dict[str, Evidence]] = {}
    places: dict[UUID, list[int]] = {}
    exact: dict[UUID, float] = {}
    for name, finds in ranked.items():
        for rank, one in enumerate(finds, start=1):
            record_id = one.found.record_id
            evidence.setdefault(record_id, {})[name] = Evidence(one.found.score, rank, one.strength)
            places.setdefault(record_id, []).append(one.found.passage_id)
            if one.found.exact and one.found.coverage >= 1.0:
                exact[record_id] = EXACT_BOOST / (K + rank)
    fused: list[Fused] = []
    for record_id, by_signal in evidence.items():
        heat = warmth[record_id].heat if record_id in warmth else 0.0
        bonus = exact.get(record_id, 0.0)
        total = sum(one.strength / (K + one.rank) for one in by_signal.values()) + bonus
        passage_ids = tuple(dict.fromkeys(places[record_id]))
        fused.append(Fused(record_id, passage_ids, total * (1 + HEAT_BOOST * heat), by_signal, heat, bonus))
    return sorted(fused, key=lambda one: (-one.score, str(one.record_id)))
