"""The public search: understands the query, asks every signal, fuses what they say, and
keeps why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import numpy as np

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import embedding
from reverie.privacy import sensitivity
from reverie.records import passages, terms
from reverie.search import (
    advanced,
    context,
    fusion,
    gather,
    graph,
    lexical,
    query_intent,
    results,
    temporal,
)
from reverie.search import query as queries
from reverie.search.dates import timewords

_COLD_AFTER = timedelta(days=7)
_TEXTS = (
    "SELECT id, record_id, text, head FROM passage WHERE user_id = %s AND id = ANY(%s)"
)
# A record of the very day that the query names, and of days near it (LoCoMo; from 0.2
# to 0.5 the same).
TIME_BONUS, NEAR_DAYS = 0.3, 14
PHRASE_BONUS = 3.0
# Where nothing but a time is asked for, the kind of record that is spoken of comes
# before all others.
SPOKEN_OF = 2.0
_DEFAULT = config.SearchTuning()


@dataclass(frozen=True, slots=True)
class _Found:
    """What an answer is made from, beside the passages: the query, what it says, the
    records and what was told.
    """

    query: queries.Query
    heard: queries.Understood
    cards: Mapping[UUID, context.Card]
    told: dict[str, str]


async def search(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    *,
    settings: config.SearchTuning = _DEFAULT,
) -> results.Results:
    """Search everything the caller keeps. Raises Invalid; a signal that cannot run is
    left out and named.
    """
    query = queries.checked(caller, query)
    heard = queries.understand(query, timezone=caller.timezone)
    then = await temporal.stated(database, caller, query, heard.when)
    if _only_a_time(query, heard, then):
        return await _all_of_then(database, caller, query, heard, then)
    phrases, scope = heard.hints.phrases, then.scoped or query
    gathered = await gather.gather(
        database, caller, embeddings, scope, depth=settings.depth, phrases=phrases
    )
    told = {**gathered.told, **then.told}
    async with database.snapshot(caller) as tx:
        scored = await context.score(tx, caller, query.text, gathered)
        fused = fusion.fuse(
            scored,
            meaning=gathered.asked is not None,
            settings=settings,
            most=_most(query),
            time=_time(scored, heard.when),
            phrase=await _phrased(tx, caller, scored, phrases),
            hints=_hinted(scored.records, heard.hints),
            **_linked(scored.records, gathered.related),
        )
        if (
            then.scoped and heard.when
        ):  # neighbours of what was found may be of another time
            fused = await temporal.only(tx, caller, then.scoped, heard.when, fused)
        found = _Found(
            query, heard, {card.record_id: card for card in scored.records}, told
        )
        if not embeddings.reranks:
            return await _answer(tx, caller, found, _by_record(fused, query))
    fused = await _reranked(
        database, caller, embeddings, found, fused
    )  # with no transaction open
    async with database.snapshot(caller) as tx:
        return await _answer(tx, caller, found, _by_record(fused, query))


async def by_sliders(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    sliders: advanced.Sliders,
    *,
    settings: config.SearchTuning = _DEFAULT,
) -> results.Results:
    """Search with the owner's own weights for the signals. Raises Invalid."""
    query, sliders = queries.checked(caller, query), advanced.checked(sliders)
    heard = queries.understand(query, timezone=caller.timezone)
    then = await temporal.stated(database, caller, query, heard.when)
    if _only_a_time(query, heard, then):
        return await _all_of_then(database, caller, query, heard, then)
    gathered = await gather.gather(
        database, caller, embeddings, then.scoped or query, depth=settings.depth
    )
    async with database.snapshot(caller) as tx:
        cards = await context.cards(
            tx, caller, list({one.record_id for one in gathered.found})
        )
        raws = {
            "lexical": _raw(gathered.words.found),
            "semantic": _raw(gathered.near),
            "graph": _raw(gathered.related.found),
            "heat": [
                advanced.Raw(card.record_id, None, card.heat)
                for card in cards.values()
                if card.heat > 0
            ],
        }
        fused, told = advanced.fuse(
            raws, sliders, told={**gathered.told, **(then.told if then.scoped else {})}
        )
        return await _answer(
            tx, caller, _Found(query, heard, cards, told), [[one] for one in fused]
        )


def _raw(found: Sequence[lexical.PassageHit]) -> list[advanced.Raw]:
    return [advanced.Raw(one.record_id, one.passage_id, one.score) for one in found]


def _only_a_time(
    query: queries.Query, heard: queries.Understood, then: temporal.StatedTime
) -> bool:
    if then.scoped is None or heard.hints.phrases:
        return False
    return set(timewords.content(query.text, heard.when)) <= heard.hints.words


async def _all_of_then(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    heard: queries.Understood,
    then: temporal.StatedTime,
) -> results.Results:
    """Everything of the time that is asked for, the kind that is spoken of first, where
    nothing else is asked.
    """
    async with database.snapshot(caller) as tx:
        cards = await context.cards(
            tx, caller, list({one.record_id for one in then.found})
        )
        fused = [
            fusion.Fused(
                card.record_id,
                one.passage_id,
                {"time": fusion.SignalScore(one.score, 1.0, rank, one.score)},
                card.heat,
                boosts=_spoken_of(query, heard, card),
            )
            for rank, one in enumerate(then.found, start=1)
            if (card := cards.get(one.record_id))
        ]
        told = {
            **dict.fromkeys(
                ("lexical", "semantic"), "left out: only a time is asked for"
            ),
            "heat": "ok",
            **then.told,
        }
        found = _Found(query, heard, cards, told)
        return await _answer(
            tx, caller, found, _by_record(fusion.ordered(fused), query)
        )


def _spoken_of(
    query: queries.Query, heard: queries.Understood, card: context.Card
) -> dict[str, float]:
    """The boosts of a record of the kind that is spoken of, and of one that bears the
    time as its name.
    """
    boosts = {"hint": SPOKEN_OF} if card.domain in heard.hints.domains else {}
    return boosts | (
        {"title": SPOKEN_OF} if terms.fold(query.text) in terms.fold(card.title) else {}
    )


async def _reranked(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    found: _Found,
    fused: Sequence[fusion.Fused],
) -> list[fusion.Fused]:
    """The best passages sorted again by a model that reads them beside the query; left
    out, and named, if it fails.
    """
    best, rest = list(fused[: embeddings.top]), list(fused[embeddings.top :])
    async with database.snapshot(caller) as tx:
        rows = await tx.rows(_TEXTS, (caller.user_id, [one.passage_id for one in best]))
    texts = {
        row["id"]: passages.embedded_text(
            found.cards[row["record_id"]].title, row["text"], row["head"]
        )
        for row in rows
        if row["record_id"] in found.cards
    }
    best = [one for one in best if one.passage_id in texts]
    try:
        level = sensitivity.highest(
            sensitivity.named(found.cards[one.record_id].sensitivity) for one in best
        )
        given = [texts[one.passage_id] for one in best]
        origin = embedding.Origin(caller, "reranking", level=level)
        scores = await embeddings.rerank(found.query.text, given, origin=origin)
    except errors.RerankerUnavailable as away:
        found.told["reranker"] = f"left out: {away.message}"
        return list(fused)
    found.told["reranker"] = "ok"
    return [*fusion.reranked(best, scores), *rest]


async def _answer(
    tx: db.Transaction,
    caller: callers.Caller,
    found: _Found,
    grouped: Sequence[list[fusion.Fused]],
) -> results.Results:
    shown, hidden = _without_cold(grouped, found.cards, found.query)
    hits = await results.hits(
        tx, caller, found.query, shown[: found.query.limit], found.cards
    )
    reason = "" if hits else results.nothing(found.query, found.told)
    return results.Results(
        found.query, hits, found.told, reason, hidden, found.heard.as_json()
    )


def _linked(
    records: Sequence[context.Card], linked: graph.Related
) -> dict[str, fusion.Floats]:
    """What the graph says of each record: its share of what is named, and the boost of
    what is close in time.
    """
    shares = [linked.shares.get(card.record_id, 0.0) for card in records]
    soon = [
        1 + graph.PROXIMITY * linked.proximity(card.record_id, card.at)
        for card in records
    ]
    return {"graph": np.array(shares, np.float32), "soon": np.array(soon, np.float32)}


def _time(scored: context.Scored, when: timewords.When | None) -> fusion.Floats:
    """The bonus of each passage for the day that the query names: all of it on the day,
    less for each day away.
    """
    if when is None or when.session is not None:
        return np.zeros(len(scored.ids), np.float32)
    most = TIME_BONUS if when.firm else TIME_BONUS / 2
    first, last = when.first or date.min, when.last or date.max
    away = [
        NEAR_DAYS + 1
        if card.day is None
        else max((first - card.day).days, (card.day - last).days, 0)
        for card in scored.records
    ]
    near = np.maximum(0, 1 - np.array(away, np.float32) / (NEAR_DAYS + 1))
    return (most * near)[scored.record].astype(np.float32)


def _hinted(cards: Sequence[context.Card], heard: query_intent.Intent) -> fusion.Floats:
    """The boost of each record: of the kind that the query speaks of, or not."""
    return np.array(
        [query_intent.BOOST if card.domain in heard.domains else 1.0 for card in cards],
        np.float32,
    )


async def _phrased(
    tx: db.Transaction,
    caller: callers.Caller,
    scored: context.Scored,
    phrases: Sequence[str],
) -> fusion.Floats:
    """The bonus of each passage for the phrases in quotes that it, or its title, holds
    word by word.
    """
    if not phrases:
        return np.zeros(len(scored.ids), np.float32)
    rows = await tx.rows(_TEXTS, (caller.user_id, scored.ids.tolist()))
    texts = {row["id"]: row["text"] for row in rows}

    def held(passage_id: int, title: str) -> float:
        text = texts.get(passage_id, "")
        return sum(
            query_intent.holds(text, one) or query_intent.holds(title, one)
            for one in phrases
        ) / len(phrases)

    places = zip(scored.ids.tolist(), scored.record.tolist(), strict=True)
    share = [
        held(passage_id, scored.records[record].title) for passage_id, record in places
    ]
    return np.array(share, np.float32) * np.float32(PHRASE_BONUS)


def _by_record(
    fused: Sequence[fusion.Fused], query: queries.Query
) -> list[list[fusion.Fused]]:
    """The passages of each record, best record first: its best passage, and what else
    is among the best.
    """
    most = _most(query)
    grouped: dict[UUID, list[fusion.Fused]] = {}
    for number, one in enumerate(fused):
        if number < most or one.record_id not in grouped:
            grouped.setdefault(one.record_id, []).append(one)
    return list(grouped.values())


def _most(query: queries.Query) -> int:
    """How many passages are kept beside the best of each record."""
    return max(20, 2 * query.limit)


def _without_cold(
    found: Sequence[list[fusion.Fused]],
    cards: Mapping[UUID, context.Card],
    query: queries.Query,
) -> tuple[list[list[fusion.Fused]], int]:
    """Leave out what was touched once and went cold, unless it is asked for or nothing
    else matches.
    """
    if query.include_cold or query.tier is not None:
        return list(found), 0
    now = datetime.now(UTC)

    def cold(record_id: UUID) -> bool:
        card = cards.get(record_id)
        return (
            card is not None
            and card.accessed_at is not None
            and 0 < card.heat < 0.2
            and 1 <= card.accesses < 2
            and now - card.accessed_at > _COLD_AFTER
        )

    kept = [grouped for grouped in found if not cold(grouped[0].record_id)]
    return (kept, len(found) - len(kept)) if kept else (list(found), 0)
