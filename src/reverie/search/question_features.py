"""Ranking features of question types: who is named, who said it, which kind answers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reverie.access import callers
from reverie.records import terms
from reverie.search import (
    by_time,
    candidates,
    context,
    question_frames,
    question_type,
    weights,
)
from reverie.search import query as queries
from reverie.vocabulary import kinship

Floats = NDArray[np.float32]


def typed(
    caller: callers.Caller,
    query: queries.Query,
    question: question_type.Question | None,
) -> queries.Query | None:
    """The focus of a question within the domains that answer it, to be looked for
    beside the question itself; None where no domain does.
    """
    if question is None:
        return None
    wanted = question.domains or (("contact",) if question.named else ())
    domains = by_time.allowed(caller, query, wanted)
    if not domains or not question.words:
        return None
    return replace(query, text=question.focus, domains=domains)


def answerable(
    understood: queries.Understood, typed_hits: Sequence[candidates.PassageHit]
) -> queries.Understood:
    """The same without its type, where no record of the kind that answers such is kept:
    then the whole question is looked for.
    """
    question = understood.question
    if question is None or not question.replaces or not question.domains:
        return understood
    return understood if typed_hits else replace(understood, question=None)


def text_of(query: queries.Query, question: question_type.Question | None) -> str:
    """What is looked for: the focus alone where no answer holds the words around it."""
    if question is not None and question.replaces:
        return question.focus
    return query.text


def boost(
    records: Sequence[context.Card], question: question_type.Question | None
) -> Floats:
    """The boost of each record: of a kind that answers, or by the author named."""
    each = np.ones(len(records), np.float32)
    if question is None:
        return each
    author = question_type.content(question.author)
    for at, card in enumerate(records):
        if card.domain in question.domains:
            each[at] *= weights.ANSWER_BOOST
        if author and card.domain == "email" and _has(card.author, author):
            each[at] *= weights.AUTHOR_BOOST
    return each


def bonus(
    scored: context.Scored,
    question: question_type.Question | None,
    typed_hits: Sequence[candidates.PassageHit],
) -> Floats:
    """The bonus of each passage: of a record that a question names, and of a kind that
    answers it, as much as it holds of what is asked for or by its rank in that kind.
    """
    if question is None:
        return np.zeros(len(scored.ids), np.float32)
    named = [_is_named(card, question) for card in scored.records]
    answers = [card.domain in question.domains for card in scored.records]
    of_name = weights.NAMED_CONTACT * np.array(named, np.float32)
    of_kind = weights.ANSWERED * np.array(answers, np.float32)
    if not question.replaces:
        return of_name[scored.record]
    rank = _ranks(scored, typed_hits)[scored.record]
    holds = np.maximum(scored.coverage, weights.NEAREST_ANSWERS / rank)
    return of_kind[scored.record] * holds.astype(np.float32)


def _ranks(
    scored: context.Scored, typed_hits: Sequence[candidates.PassageHit]
) -> Floats:
    """The rank of each record among those of the kind that answers, from 1; else inf."""
    order = dict.fromkeys(hit.record_id for hit in typed_hits)
    rank = {record_id: place for place, record_id in enumerate(order, start=1)}
    ranks = [rank.get(card.record_id, np.inf) for card in scored.records]
    return np.array(ranks, np.float32)


def _is_named(card: context.Card, question: question_type.Question) -> bool:
    """Whether a record is the contact, or the birthday, whom a question names."""
    if not question.named or not _has(card.title, question.words):
        return False
    if card.domain == "contact":
        return True
    if card.domain != "event" or question.type != "birthday":
        return False
    return not question_frames.BIRTHDAYS.isdisjoint(question_type.content(card.title))


def _has(text: str, words: Sequence[str]) -> bool:
    """Whether a text has all of some folded words, of a relative in any language."""
    own = set(terms.words(terms.fold(text)))
    return all(not own.isdisjoint((word, *kinship.other_words(word))) for word in words)
