"""Ranking features of a query's own words: time, phrases, kinds of record, links."""

from collections.abc import Sequence
from datetime import date

import numpy as np

from reverie import db
from reverie.access import callers
from reverie.search import (
    candidates,
    context,
    fusion,
    graph,
    query_intent,
    question_features,
    weights,
)
from reverie.search import query as queries
from reverie.search.dates import timewords

TEXTS = (
    "SELECT id, record_id, text, head FROM passage WHERE user_id = %s AND id = ANY(%s)"
)


async def bonuses(
    tx: db.Transaction,
    caller: callers.Caller,
    scored: context.Scored,
    understood: queries.Understood,
    typed_hits: Sequence[candidates.PassageHit] = (),
) -> fusion.PassageBonuses:
    """What the time, the phrases and the type of a question give to each passage."""
    phrases = understood.phrases
    return fusion.PassageBonuses(
        time=_time_bonus(scored, understood.when),
        phrase=await _phrase_bonus(tx, caller, scored, phrases),
        answer=question_features.bonus(scored, understood.question, typed_hits),
    )


def features(
    records: Sequence[context.Card],
    understood: queries.Understood,
    linked: graph.GraphMatches,
) -> fusion.RecordFeatures:
    """What links, kinds and events near in time give to each record."""
    intent = understood.intent
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
        answer=question_features.boost(records, understood.question),
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
    rows = await tx.rows(TEXTS, (caller.user_id, ids))
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
