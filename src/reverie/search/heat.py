"""Heat signal: how warm records are, and which went cold and are left out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from reverie.search import advanced, context, fusion, weights
from reverie.search import query as queries


def raw_scores(cards: Iterable[context.Card]) -> list[advanced.RawScore]:
    """What heat says of records: those that were ever touched, by their heat."""
    return [
        advanced.RawScore(card.record_id, None, card.heat)
        for card in cards
        if card.heat > 0
    ]


def without_cold(
    ranking: Sequence[list[fusion.Fused]],
    cards: Mapping[UUID, context.Card],
    query: queries.Query,
) -> tuple[list[list[fusion.Fused]], int]:
    """Leave out what was touched once and went cold, unless it is asked for or nothing
    else matches: the rest, and how many records were left out.
    """
    if query.include_cold or query.tier is not None:
        return list(ranking), 0
    now = datetime.now(UTC)
    kept = [
        passages
        for passages in ranking
        if not _is_cold(cards.get(passages[0].record_id), now)
    ]
    if not kept:
        return list(ranking), 0
    return kept, len(ranking) - len(kept)


def _is_cold(card: context.Card | None, now: datetime) -> bool:
    if card is None or card.accessed_at is None:
        return False
    return (
        0 < card.heat < weights.COLD_HEAT
        and 1 <= card.accesses < weights.COLD_ACCESSES
        and now - card.accessed_at > weights.COLD_AFTER
    )
