"""Hybrid search: query understanding, retrievers, rank fusion, reranker, results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import numpy as np

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import embedding
from reverie.privacy import sensitivity
from reverie.records import passages, terms
from reverie.search import (
    advanced,
    candidates,
    context,
    fusion,
    gather,
    graph,
    heat,
    query_intent,
    results,
    temporal,
    weights,
)
from reverie.search import query as queries
from reverie.search.dates import timewords

_TEXTS = (
    "SELECT id, record_id, text, head FROM passage WHERE user_id = %s AND id = ANY(%s)"
)
_ONLY_TIME = "left out: only a time is asked for"
_DEFAULT = config.SearchTuning()


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an answer is made from, beside the passages: the query, what it says, the
    records and what became of each signal.
    """

    query: queries.Query
    understood: queries.Understood
    cards: Mapping[UUID, context.Card]
    statuses: dict[str, str]


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
    understood = queries.understand(query, timezone=caller.timezone)
    stated = await temporal.stated(database, caller, query, understood.when)
    if _is_only_time(query, understood, stated):
        return await _all_of_time(database, caller, query, understood, stated)
    gathered = await gather.gather(
        database,
        caller,
        embeddings,
        stated.scoped or query,
        depth=settings.depth,
        phrases=understood.intent.phrases,
    )
    async with database.snapshot(caller) as tx:
        scored = await context.score(tx, caller, query.text, gathered)
        fused = fusion.fuse(
            scored,
            await _bonuses(tx, caller, scored, understood),
            _features(scored.records, understood.intent, gathered.linked),
            meaning=gathered.model_query is not None,
            settings=settings,
            most=_kept(query),
        )
        if stated.scoped:
            # Neighbours of what was found may be of another time.
            fused = await temporal.only(tx, caller, stated.scoped, fused)
        cards = {card.record_id: card for card in scored.records}
        statuses = {**gathered.statuses, **stated.statuses}
        answer = _Answer(query, understood, cards, statuses)
        if not embeddings.reranks:
            return await _results(tx, caller, answer, _by_record(fused, query))
    # With no transaction open: a model takes its time.
    fused = await _reranked(database, caller, embeddings, answer, fused)
    async with database.snapshot(caller) as tx:
        return await _results(tx, caller, answer, _by_record(fused, query))


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
    query = queries.checked(caller, query)
    sliders = advanced.checked(sliders)
    understood = queries.understand(query, timezone=caller.timezone)
    stated = await temporal.stated(database, caller, query, understood.when)
    if _is_only_time(query, understood, stated):
        return await _all_of_time(database, caller, query, understood, stated)
    gathered = await gather.gather(
        database, caller, embeddings, stated.scoped or query, depth=settings.depth
    )
    async with database.snapshot(caller) as tx:
        records = list({hit.record_id for hit in gathered.hits})
        cards = await context.cards(tx, caller, records)
        raw = {
            "lexical": _raw_scores(gathered.matches.hits),
            "semantic": _raw_scores(gathered.similar),
            "graph": _raw_scores(gathered.linked.hits),
            "heat": heat.raw_scores(cards.values()),
        }
        # Days that are only likely give no bonus here, so nothing is told of them.
        of_time = stated.statuses if stated.scoped else dict[str, str]()
        fused, statuses = advanced.fuse(
            raw, sliders, statuses={**gathered.statuses, **of_time}
        )
        answer = _Answer(query, understood, cards, statuses)
        ranking = [[passage] for passage in fused]
        return await _results(tx, caller, answer, ranking)


def _raw_scores(
    hits: Sequence[candidates.PassageHit],
) -> list[advanced.RawScore]:
    return [advanced.RawScore(hit.record_id, hit.passage_id, hit.score) for hit in hits]


# Where nothing but a time is asked for ------------------------------------------------


def _is_only_time(
    query: queries.Query, understood: queries.Understood, stated: temporal.StatedTime
) -> bool:
    """Whether a query states a time and has no word beside it but for a kind of record."""
    if stated.scoped is None or understood.intent.phrases:
        return False
    content = timewords.content(query.text, understood.when)
    return set(content) <= understood.intent.words


async def _all_of_time(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    understood: queries.Understood,
    stated: temporal.StatedTime,
) -> results.Results:
    """Everything of the time that is asked for, the kind that is spoken of first, where
    nothing else is asked.
    """
    async with database.snapshot(caller) as tx:
        records = list({hit.record_id for hit in stated.hits})
        cards = await context.cards(tx, caller, records)
        fused: list[fusion.Fused] = []
        for rank, hit in enumerate(stated.hits, start=1):
            card = cards.get(hit.record_id)
            if card is None:
                continue  # deleted since the signals looked
            by_time = fusion.SignalScore(hit.score, 1.0, rank, hit.score)
            fused.append(
                fusion.Fused(
                    record_id=card.record_id,
                    passage_id=hit.passage_id,
                    evidence={"time": by_time},
                    heat=card.heat,
                    boosts=_boosts_of_time(query, understood, card),
                )
            )
        statuses = {
            "lexical": _ONLY_TIME,
            "semantic": _ONLY_TIME,
            "heat": "ok",
            **stated.statuses,
        }
        answer = _Answer(query, understood, cards, statuses)
        ranking = _by_record(fusion.ordered(fused), query)
        return await _results(tx, caller, answer, ranking)


def _boosts_of_time(
    query: queries.Query, understood: queries.Understood, card: context.Card
) -> dict[str, float]:
    """The boosts of a record of the kind that is spoken of, and of one that bears the
    time as its name.
    """
    boosts: dict[str, float] = {}
    if card.domain in understood.intent.domains:
        boosts["hint"] = weights.ONLY_TIME_BOOST
    if terms.fold(query.text) in terms.fold(card.title):
        boosts["title"] = weights.ONLY_TIME_BOOST
    return boosts


# The reranker, and the results --------------------------------------------------------


async def _reranked(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    answer: _Answer,
    fused: Sequence[fusion.Fused],
) -> list[fusion.Fused]:
    """The best passages sorted again by a model that reads them beside the query; left
    out, and named, if it fails.
    """
    best, rest = fused[: embeddings.top], fused[embeddings.top :]
    texts = await _embedded_texts(database, caller, answer, best)
    best = [passage for passage in best if passage.passage_id in texts]
    try:
        levels = [
            sensitivity.named(answer.cards[passage.record_id].sensitivity)
            for passage in best
        ]
        level = sensitivity.highest(levels)
        origin = embedding.Origin(caller, "reranking", level=level)
        scores = await embeddings.rerank(
            answer.query.text,
            [texts[passage.passage_id] for passage in best],
            origin=origin,
        )
    except errors.RerankerUnavailable as failure:
        answer.statuses["reranker"] = f"left out: {failure.message}"
        return list(fused)
    answer.statuses["reranker"] = "ok"
    return [*fusion.reranked(best, scores), *rest]


async def _embedded_texts(
    database: db.Database,
    caller: callers.Caller,
    answer: _Answer,
    best: Sequence[fusion.Fused],
) -> dict[int, str]:
    """The texts of passages as an embedder reads them, by id."""
    ids = [passage.passage_id for passage in best]
    async with database.snapshot(caller) as tx:
        rows = await tx.rows(_TEXTS, (caller.user_id, ids))
    return {
        row["id"]: passages.embedded_text(
            answer.cards[row["record_id"]].title, row["text"], row["head"]
        )
        for row in rows
        if row["record_id"] in answer.cards
    }


async def _results(
    tx: db.Transaction,
    caller: callers.Caller,
    answer: _Answer,
    ranking: Sequence[list[fusion.Fused]],
) -> results.Results:
    shown, hidden = heat.without_cold(ranking, answer.cards, answer.query)
    hits = await results.hits(
        tx, caller, answer.query, shown[: answer.query.limit], answer.cards
    )
    reason = "" if hits else results.nothing(answer.query, answer.statuses)
    return results.Results(
        query=answer.query,
        hits=hits,
        signals=answer.statuses,
        reason=reason,
        hidden_cold=hidden,
        understood=answer.understood.as_json(),
    )


def _by_record(
    fused: Sequence[fusion.Fused], query: queries.Query
) -> list[list[fusion.Fused]]:
    """The passages of each record, best record first: its best passage, and what else
    is among the best.
    """
    most = _kept(query)
    grouped: dict[UUID, list[fusion.Fused]] = {}
    for number, passage in enumerate(fused):
        if number < most or passage.record_id not in grouped:
            grouped.setdefault(passage.record_id, []).append(passage)
    return list(grouped.values())


def _kept(query: queries.Query) -> int:
    """How many passages are kept beside the best of each record."""
    return max(weights.KEPT_PASSAGES, weights.KEPT_PER_RESULT * query.limit)


# What the query's own words add -------------------------------------------------------


async def _bonuses(
    tx: db.Transaction,
    caller: callers.Caller,
    scored: context.Scored,
    understood: queries.Understood,
) -> fusion.PassageBonuses:
    phrases = understood.intent.phrases
    return fusion.PassageBonuses(
        time=_time_bonus(scored, understood.when),
        phrase=await _phrase_bonus(tx, caller, scored, phrases),
    )


def _features(
    records: Sequence[context.Card],
    intent: query_intent.Intent,
    linked: graph.GraphMatches,
) -> fusion.RecordFeatures:
    shares = [linked.shares.get(card.record_id, 0.0) for card in records]
    domain = [
        weights.DOMAIN_BOOST if card.domain in intent.domains else 1.0
        for card in records
    ]
    soon = [
        1 + weights.PROXIMITY_BOOST * linked.proximity(card.record_id, card.at)
        for card in records
    ]
    return fusion.RecordFeatures(
        graph=np.array(shares, np.float32),
        domain=np.array(domain, np.float32),
        soon=np.array(soon, np.float32),
    )


def _time_bonus(scored: context.Scored, when: timewords.When | None) -> fusion.Floats:
    """The bonus of each passage for the day that the query names: all of it on the day,
    less for each day away.
    """
    if when is None or when.session is not None:
        return np.zeros(len(scored.ids), np.float32)
    most = weights.TIME_BONUS
    if not when.firm:
        most *= weights.DOUBTFUL_TIME
    away = [_days_away(card.day, when) for card in scored.records]
    near = np.maximum(0, 1 - np.array(away, np.float32) / (weights.NEAR_DAYS + 1))
    return (most * near)[scored.record].astype(np.float32)


def _days_away(day: date | None, when: timewords.When) -> int:
    """How many days a day is from the time; too many for a bonus where it is none."""
    if day is None:
        return weights.NEAR_DAYS + 1
    first, last = when.first or date.min, when.last or date.max
    return max((first - day).days, (day - last).days, 0)


async def _phrase_bonus(
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
    ids: list[int] = scored.ids.tolist()
    rows = await tx.rows(_TEXTS, (caller.user_id, ids))
    texts = {row["id"]: row["text"] for row in rows}
    numbers: list[int] = scored.record.tolist()
    titles = [scored.records[number].title for number in numbers]
    share = [
        _phrase_share(texts.get(passage_id, ""), title, phrases)
        for passage_id, title in zip(ids, titles, strict=True)
    ]
    return np.array(share, np.float32) * np.float32(weights.PHRASE_BONUS)


def _phrase_share(text: str, title: str, phrases: Sequence[str]) -> float:
    matching = sum(
        query_intent.holds(text, phrase) or query_intent.holds(title, phrase)
        for phrase in phrases
    )
    return matching / len(phrases)
