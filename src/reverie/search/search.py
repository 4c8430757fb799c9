"""The public search: asks every signal, fuses what they say, and tells why each result is there."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from reverie import db, llm
from reverie.access import callers
from reverie.search import advanced, context, fusion, gather, results, signals
from reverie.search import query as queries

_COLD_AFTER = timedelta(days=7)
_DEFAULT = fusion.Weights()


async def search(
    database: db.Database,
    caller: callers.Caller,
    embeddings: llm.Embeddings,
    query: queries.Query,
    *,
    weights: fusion.Weights = _DEFAULT,
) -> results.Results:
    """Search everything the caller keeps. Raises Invalid; a signal that cannot run is left out and named."""
    query = queries.checked(query)
    gathered = await gather.gather(database, caller, embeddings, query)
    async with database.snapshot(caller) as tx:
        warmth = await signals.warmth(tx, caller, list({one.record_id for one in gathered.found}))
        scored = await context.score(tx, caller, query, gathered)
        fused = fusion.fuse(scored, meaning=gathered.vector is not None, warmth=warmth, weights=weights)
        shown, hidden = _without_cold(_by_record(fused, most=max(20, 2 * query.limit)), warmth, query)
        hits = await results.hits(tx, caller, query, shown[: query.limit])
    reason = "" if hits else results.nothing(query, gathered.told)
    return results.Results(query, hits, gathered.told, reason, hidden, {})


async def by_sliders(
    database: db.Database,
    caller: callers.Caller,
    embeddings: llm.Embeddings,
    query: queries.Query,
    sliders: advanced.Sliders,
) -> results.Results:
    """Search with the owner's own weights for the signals. Raises Invalid."""
    query, sliders = queries.checked(query), advanced.checked(sliders)
    gathered = await gather.gather(database, caller, embeddings, query)
    async with database.snapshot(caller) as tx:
        warmth = await signals.warmth(tx, caller, list({one.record_id for one in gathered.found}))
        raws = {
            "lexical": [advanced.Raw(one.record_id, one.passage_id, one.score) for one in gathered.words.found],
            "semantic": [advanced.Raw(one.record_id, one.passage_id, one.score) for one in gathered.meaning],
            "heat": [advanced.Raw(one.record_id, None, one.heat) for one in warmth.values()],
        }
        fused, told = advanced.fuse(raws, sliders, told=gathered.told)
        shown, hidden = _without_cold([[one] for one in fused], warmth, query)
        hits = await results.hits(tx, caller, query, shown[: query.limit])
    reason = "" if hits else results.nothing(query, told)
    return results.Results(query, hits, told, reason, hidden, {})


def _by_record(fused: Sequence[fusion.Fused], *, most: int) -> list[list[fusion.Fused]]:
    """The passages of each record, best record first: its best passage, and what else is among the best `most`."""
    grouped: dict[UUID, list[fusion.Fused]] = {}
    for number, one in enumerate(fused):
        if number < most or one.record_id not in grouped:
            grouped.setdefault(one.record_id, []).append(one)
    return list(grouped.values())


def _without_cold(
    found: Sequence[list[fusion.Fused]], warmth: Mapping[UUID, signals.Warmth], query: queries.Query
) -> tuple[list[list[fusion.Fused]], int]:
    """Leave out what was touched once and went cold, unless it is asked for or nothing else matches."""
    if query.include_cold or query.tier is not None:
        return list(found), 0
    now = datetime.now(UTC)

    def cold(record_id: UUID) -> bool:
        touched = warmth.get(record_id)
        return (
            touched is not None
            and 0 < touched.heat < 0.2
            and 1 <= touched.accesses < 2
            and now - touched.accessed_at > _COLD_AFTER
        )

    kept = [passages for passages in found if not cold(passages[0].record_id)]
    return (kept, len(found) - len(kept)) if kept else (list(found), 0)
