"""Hybrid search: query understanding, retrievers, rank fusion, reranker, results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import embedding
from reverie.privacy import sensitivity
from reverie.records import passages, terms
from reverie.search import (
    advanced,
    by_time,
    candidates,
    context,
    fusion,
    gather,
    heat,
    query_features,
    question_features,
    results,
    temporal,
    weights,
)
from reverie.search import query as queries
from reverie.search.dates import timewords

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
    in_order = await _in_order(
        database, caller, embeddings, query, understood, settings
    )
    if in_order is not None:
        return in_order
    stated = await temporal.stated(database, caller, query, understood.when)
    if _is_only_time(query, understood, stated):
        return await _all_of_time(database, caller, query, understood, stated)
    scoped = stated.scoped or query
    typed = await _of_type(database, caller, embeddings, scoped, understood)
    understood = question_features.answerable(understood, typed)
    text = question_features.text_of(query, understood.question)
    asking = gather.asked(
        database,
        caller,
        embeddings,
        replace(scoped, text=text),
        depth=settings.depth,
        phrases=understood.phrases,
    )
    async with (
        asking as asked,
        database.snapshot(caller, settings=asked.settings) as tx,
    ):
        gathered = await gather.retrieve(tx, caller, embeddings, asked)
        gathered = replace(gathered, typed=typed)
        scored, fused = await _ranked(
            tx, caller, replace(query, text=text), understood, gathered, settings
        )
        if stated.scoped:
            # Neighbours of what was found may be of another time.
            fused = await temporal.only(tx, caller, stated.scoped, fused)
        cards = {card.record_id: card for card in scored.records}
        missing = _missing_phrases(understood, gathered)
        missing |= stated.statuses or by_time.missed(understood)
        statuses = {**gathered.statuses, **missing}
        answer = _Answer(query, understood, cards, statuses)
        if query.words_only or not embeddings.reranks:
            return await _results(tx, caller, answer, _by_record(fused, query))
    # With no transaction open: a model takes its time.
    fused = await _reranked(database, caller, embeddings, answer, fused)
    async with database.snapshot(caller) as tx:
        return await _results(tx, caller, answer, _by_record(fused, query))


async def _ranked(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    understood: queries.Understood,
    gathered: gather.Gathered,
    settings: config.SearchTuning,
) -> tuple[context.Scored, list[fusion.Fused]]:
    """What was found in its context, and its best passages, best first."""
    scored = await context.score(tx, caller, query.text, gathered)
    fused = fusion.fuse(
        scored,
        await query_features.bonuses(tx, caller, scored, understood, gathered.typed),
        query_features.features(scored.records, understood, gathered.linked),
        meaning=gathered.model_query is not None,
        settings=settings,
        most=_kept(query),
    )
    return scored, fused


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


async def _of_type(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    understood: queries.Understood,
) -> gather.Hits:
    """What the domains that answer a question of this type have of it."""
    question = understood.question
    typed = question_features.typed(caller, query, question)
    if question is None or typed is None:
        return []
    of_type = await gather.gather(
        database,
        caller,
        embeddings,
        typed,
        depth=weights.TYPED_DEPTH,
        floor=weights.TYPED_FLOOR if question.replaces else embedding.FLOOR,
    )
    return of_type.hits


def _missing_phrases(
    understood: queries.Understood, gathered: gather.Gathered
) -> dict[str, str]:
    """What is to be said of phrases in quotes that nothing holds."""
    if not understood.intent.phrases or gathered.phrased:
        return {}
    quoted = ", ".join(f'"{phrase}"' for phrase in understood.intent.phrases)
    return {"phrases": f"nothing holds {quoted} word by word"}


# What is asked for in an order of time -------------------------------------------------


async def _in_order(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    query: queries.Query,
    understood: queries.Understood,
    settings: config.SearchTuning,
) -> results.Results | None:
    """The newest or the next of what is asked for; None where no order is asked for, or
    nothing is of then.
    """
    if not by_time.is_asked_for(understood):
        return None
    async with database.snapshot(caller) as tx:
        hits = await by_time.retrieve(tx, caller, query, understood)
        cards = await context.cards(tx, caller, [hit.record_id for hit in hits])
    if not hits:
        return None
    statuses = by_time.shown(understood)
    words = by_time.looked_for(understood)
    if not words:
        ranking = _listed(hits, cards)
        return await _shown(
            database, caller, query, understood, cards, statuses, ranking
        )
    narrow = replace(
        query, text=" ".join(words), records=tuple(hit.record_id for hit in hits)
    )
    gathered = await gather.gather(
        database, caller, embeddings, narrow, depth=settings.depth
    )
    async with database.snapshot(caller) as tx:
        _, fused = await _ranked(tx, caller, narrow, understood, gathered, settings)
    ranking = by_time.ordered(_by_record(fused, query), hits)
    if not by_time.is_meant(ranking, understood):
        return None
    statuses = {**gathered.statuses, **statuses}
    return await _shown(database, caller, query, understood, cards, statuses, ranking)


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
    fused = [
        replace(passage, boosts=_boosts_of_time(query, understood, card))
        for passages in _listed(stated.hits, cards)
        for passage in passages
        if (card := cards.get(passage.record_id))
    ]
    ranking = _by_record(fusion.ordered(fused), query)
    return await _shown(
        database, caller, query, understood, cards, stated.statuses, ranking
    )


def _listed(
    hits: Sequence[candidates.PassageHit], cards: Mapping[UUID, context.Card]
) -> list[list[fusion.Fused]]:
    """Passages found by their time alone, in their order, without what was deleted since
    the signals looked.
    """
    return [
        [
            fusion.Fused(
                record_id=hit.record_id,
                passage_id=hit.passage_id,
                evidence={"time": fusion.SignalScore(hit.score, 1.0, rank, hit.score)},
                heat=cards[hit.record_id].heat,
            )
        ]
        for rank, hit in enumerate(hits, start=1)
        if hit.record_id in cards
    ]


async def _shown(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    understood: queries.Understood,
    cards: Mapping[UUID, context.Card],
    statuses: Mapping[str, str],
    ranking: Sequence[list[fusion.Fused]],
) -> results.Results:
    """The results of a ranking by time, with what became of the other signals."""
    told = {
        "lexical": results.ONLY_TIME,
        "semantic": results.ONLY_TIME,
        "heat": "ok",
        **statuses,
    }
    answer = _Answer(query, understood, cards, told)
    async with database.snapshot(caller) as tx:
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
        rows = await tx.rows(query_features.TEXTS, (caller.user_id, ids))
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
