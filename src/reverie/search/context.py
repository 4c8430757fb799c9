"""Context windows: BM25 and similarity of a passage with its neighbours and its record.

What answers a question often stands beside the words that it is asked in: in the next
turn of a chat, the next paragraph of a note. So the words and the similarity of
neighbours count too, each at its weight (docs/decisions/0009).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import LiteralString
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import db
from reverie.access import callers
from reverie.search import (
    candidates,
    chat_turn_features,
    gather,
    lexical,
    packed_columns,
    query_model,
    weights,
)

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

# The passages around. Their vectors are looked up together, which takes a third of the
# time of a look-up each.
_NEAR: LiteralString = """
WITH near AS MATERIALIZED (
    SELECT passage.id, span.number, passage.ordinal, passage.length, passage.hash, passage.terms,
        passage.place->>'speaker' AS speaker, (right(rtrim(passage.text), 1) = '?')::int AS asks,
        (strpos(passage.text, '?') > 0)::int AS has_question,
        coalesce(passage.place->>'speaker' IS NOT NULL AND passage.text ~* %(times)s, false)::int AS tells_when
    FROM unnest(%(records)s::uuid[], %(firsts)s::int[], %(lasts)s::int[], %(numbers)s::int[])
        AS span (record_id, first, last, number)
    JOIN passage ON passage.user_id = %(user)s AND passage.record_id = span.record_id
        AND passage.ordinal BETWEEN span.first AND span.last
), """
_MEANT: LiteralString = """meant AS MATERIALIZED (
    SELECT hash, %(offset)s::float8 - %(scale)s::float8 * (vector <#> (SELECT %(vector)s::halfvec)) AS cosine
    FROM embedding
    WHERE user_id = %(user)s AND model = %(model)s AND hash = ANY(ARRAY(SELECT hash FROM near))
)
"""
# Without a model nothing is similar.
_NOT_MEANT: LiteralString = """meant AS (SELECT NULL::bytea AS hash, NULL::float8 AS cosine)
"""
_OF_NEIGHBOURS: LiteralString = """
FROM (
    SELECT id, number, ordinal, length, speaker, asks, has_question, tells_when, coalesce(terms, '') AS terms,
        coalesce(cosine * power(least(1, length / %(full_length)s::float8), %(short_power)s::float8), 'NaN')::float4
            AS cosine
    FROM near LEFT JOIN meant USING (hash) ORDER BY number, ordinal
)
"""
_PACKED_NEIGHBOURS = f"{packed_columns.SELECT_PACKED}{_OF_NEIGHBOURS}"
_NEIGHBOURS = f"{_NEAR}{_MEANT}{_PACKED_NEIGHBOURS}"
_NEIGHBOURS_BY_WORDS = f"{_NEAR}{_NOT_MEANT}{_PACKED_NEIGHBOURS}"
_CARDS = """
SELECT card.record_id, card.domain, card.title, card.at, card.tags, card.sensitivity,
    coalesce(card.people[1], '') AS author,
    (card.at AT TIME ZONE %(zone)s)::date AS day,
    coalesce(heat.heat, 0) AS heat, coalesce(heat.accesses, 0) AS accesses, heat.accessed_at
FROM card LEFT JOIN (
    SELECT record_id, heat, accesses, accessed_at FROM heat
    WHERE user_id = %(user)s AND record_id = ANY(%(records)s::uuid[])
) AS heat USING (record_id)
WHERE card.user_id = %(user)s AND card.record_id = ANY(%(records)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Card:
    """What results show of a record before it is read, its day, and how warm it is.

    `author` is who comes first of its people, folded: of a mail the sender.
    """

    record_id: UUID
    domain: str
    title: str
    at: datetime | None
    tags: list[str]
    day: date | None
    heat: float
    accesses: float
    accessed_at: datetime | None
    sensitivity: str
    author: str

    @classmethod
    def gone(cls, record_id: UUID) -> "Card":
        """The card of a record that was deleted since the signals looked."""
        return cls(record_id, "", "", None, [], None, 0.0, 0.0, None, "critical", "")


@dataclass(frozen=True, slots=True)
class Scored:
    """Passages with what their words and their meaning, in their context, have to say
    (0..1 each), as arrays: an entry for each passage.

    `turn` is the bonus of a turn of a chat; `coverage` the share of the query's
    information that the passage itself holds, `exact` the share of the query's
    identifiers and pairs with a number. `record` numbers the passage's record in
    `records`.
    """

    ids: Integers
    record: Integers
    records: Sequence[Card]
    lexical: Floats
    semantic: Floats
    turn: Floats
    coverage: Floats
    exact: Floats


@dataclass(frozen=True, slots=True)
class _Span:
    """Neighbouring passages of a record, from an ordinal to an ordinal (inclusive)."""

    record_id: UUID
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Neighbourhood:
    """The passages around what was found, in the order of their records.

    `neighbours` has the shape (passages, 2 * REACH + 1): the rows of the passages
    before and after each, or -1 where there is none.
    """

    columns: packed_columns.Columns
    neighbours: Integers

    def window(self, values: Floats, before: int, after: int) -> Floats:
        """The sum of the values of a window's passages: shape of `values`."""
        nothing = np.zeros((1, *values.shape[1:]), np.float32)
        padded = np.concatenate([values, nothing])
        first, last = weights.REACH - before, weights.REACH + after
        return padded[self.neighbours[:, first : last + 1]].sum(axis=1)

    def previous(self, values: Floats) -> Floats:
        """The value of the passage before each, or 0."""
        padded = np.append(values, np.float32(0))
        return padded[self.neighbours[:, weights.REACH - 1]]


async def score(
    tx: db.Transaction, caller: callers.Caller, text: str, gathered: gather.Gathered
) -> Scored:
    """The passages found, best first until there are enough, and their neighbours, each
    in its context.
    """
    spans = _spans(gathered.hits)
    records = list(dict.fromkeys(span.record_id for span in spans))
    parameters = {
        "user": caller.user_id,
        "zone": caller.timezone,
        "times": chat_turn_features.times_asked_for(text),
        **_span_parameters(spans, records),
        **_model_parameters(gathered.model_query),
    }
    neighbours = _NEIGHBOURS if gathered.model_query else _NEIGHBOURS_BY_WORDS
    (row,), card_rows = await tx.together(
        (neighbours, parameters), (_CARDS, parameters | {"records": db.array(records)})
    )
    by_id = {card["record_id"]: Card(**card) for card in card_rows}
    columns = packed_columns.unpacked(row, gathered.matches.keys)
    around = _Neighbourhood(columns, _neighbours(columns))
    return Scored(
        ids=columns.ids,
        record=columns.record,
        records=[by_id.get(record, Card.gone(record)) for record in records],
        lexical=_lexical(around, gathered.matches),
        semantic=_semantic(around),
        turn=_turn_bonus(around, text),
        coverage=_coverage(columns, gathered.matches),
        exact=_exact(columns, gathered.matches),
    )


async def cards(
    tx: db.Transaction, caller: callers.Caller, records: Sequence[UUID]
) -> dict[UUID, Card]:
    """Some records by id; those that are gone are left out."""
    parameters = {
        "user": caller.user_id,
        "zone": caller.timezone,
        "records": db.array(records),
    }
    (rows,) = await tx.together((_CARDS, parameters))
    return {row["record_id"]: Card(**row) for row in rows}


def _spans(hits: Sequence[candidates.PassageHit]) -> list[_Span]:
    """The neighbourhoods of what was found, best first, joined where they touch.

    Enough are some hundred passages: what is found far down in records of its own never
    wins.
    """
    by_record: dict[UUID, set[int]] = {}
    size = 0
    for hit in hits:
        ordinals = by_record.setdefault(hit.record_id, set())
        before = len(ordinals)
        first = max(hit.ordinal - weights.REACH, 1)
        ordinals.update(range(first, hit.ordinal + weights.REACH + 1))
        size += len(ordinals) - before
        if size >= weights.CONTEXT_PASSAGES:
            break
    return [
        _Span(record_id, first, last)
        for record_id, ordinals in by_record.items()
        for first, last in _runs(sorted(ordinals))
    ]


def _runs(ordinals: list[int]) -> list[tuple[int, int]]:
    """(first, last) of each run of consecutive numbers in ascending ones."""
    breaks = [i for i in range(1, len(ordinals)) if ordinals[i] != ordinals[i - 1] + 1]
    return [
        (ordinals[start], ordinals[end - 1])
        for start, end in pairwise([0, *breaks, len(ordinals)])
    ]


def _span_parameters(
    spans: Sequence[_Span], records: Sequence[UUID]
) -> dict[str, object]:
    number = {record_id: i for i, record_id in enumerate(records)}
    return {
        "records": db.array(span.record_id for span in spans),
        "firsts": db.array(span.first for span in spans),
        "lasts": db.array(span.last for span in spans),
        "numbers": db.array(number[span.record_id] for span in spans),
    }


def _model_parameters(model_query: query_model.ModelQuery | None) -> dict[str, object]:
    """What similarities are made with; without a model all are 0."""
    return {
        "vector": model_query.literal if model_query else None,
        "model": model_query.vector.model if model_query else "",
        "offset": model_query.vector.offset if model_query else 0.0,
        "scale": model_query.vector.calibration.scale if model_query else 0.0,
        "full_length": weights.SHORT_PASSAGE,
        "short_power": weights.SHORT_PASSAGE_POWER,
    }


def _neighbours(columns: packed_columns.Columns) -> Integers:
    """The rows around each passage, or -1: shape (passages, 2 * REACH + 1)."""
    # Ascending, as the rows are.
    position = columns.record * (1 << 32) + columns.ordinal
    around = position[:, None] + np.arange(-weights.REACH, weights.REACH + 1)
    if not len(position):
        return around
    row = np.minimum(np.searchsorted(position, around), len(position) - 1)
    return np.where(position[row] == around, row, -1)


def _turn_bonus(around: _Neighbourhood, text: str) -> Floats:
    columns = around.columns
    return chat_turn_features.bonus(
        columns.speaker,
        text,
        only_asks=(columns.asks > 0) & (columns.length <= weights.SHORT_TURN),
        replies=around.previous(columns.asks),
        tells_when=columns.tells_when,
    )


def _semantic(around: _Neighbourhood) -> Floats:
    """The mean similarity of each window, weighted, or the passage's own; and a little
    of its record's best. A passage without a vector has no part in a mean.
    """
    columns = around.columns
    total = np.zeros_like(columns.cosine)
    for before, after, _, weight in weights.WINDOWS:
        similarity = around.window(columns.cosine, before, after)
        vectors = around.window(columns.has_vector, before, after)
        total += weight * similarity / np.maximum(vectors, 1)
    is_turn = [speaker is not None for speaker in columns.speaker]
    own_share = np.where(
        is_turn, weights.OWN_SIMILARITY_OF_TURN, weights.OWN_SIMILARITY
    ).astype(np.float32)
    best = np.zeros(int(columns.record.max(initial=0)) + 1, np.float32)
    np.maximum.at(best, columns.record, columns.cosine)
    of_passage = np.maximum(total, own_share * columns.cosine)
    similarity = (
        1 - weights.BEST_OF_RECORD
    ) * of_passage + weights.BEST_OF_RECORD * best[columns.record]
    return np.clip(similarity, 0, 1).astype(np.float32)


def _lexical(around: _Neighbourhood, matches: lexical.LexicalMatches) -> Floats:
    """BM25 of each window, of the record around and of a question before, each as a
    share of the best, weighted.
    """
    columns = around.columns
    total = np.zeros(len(columns.ids), np.float32)
    if not matches.query_terms or not len(columns.ids):
        return total
    for before, after, share, _ in weights.WINDOWS:
        tf = around.window(columns.tf, before, after)
        length = around.window(columns.length, before, after)
        average = matches.average * (before + after + 1)
        words = _of_best(matches.score(tf, length, average))
        total += share * words
        if not before and not after:
            question = words * columns.has_question
            total += weights.QUESTION_BEFORE * around.previous(question)
    of_record = _of_best(_record_scores(columns, matches))
    total += weights.RECORD_WORDS * of_record[columns.record]
    return total


def _record_scores(
    columns: packed_columns.Columns, matches: lexical.LexicalMatches
) -> Floats:
    """BM25 of what was found of each record, together: shape (records,)."""
    records = int(columns.record.max()) + 1
    tf = np.zeros((records, len(matches.keys)), np.float32)
    length = np.zeros(records, np.float32)
    np.add.at(tf, columns.record, columns.tf)
    np.add.at(length, columns.record, columns.length)
    return matches.score(tf, length, float(length.mean()))


def _of_best(score: Floats) -> Floats:
    most = max(float(score.max(initial=0.0)), 1e-9)
    return (score / most).astype(np.float32)


def _coverage(
    columns: packed_columns.Columns, matches: lexical.LexicalMatches
) -> Floats:
    """The share of the query's information (idf) that each passage holds."""
    covered = np.zeros(len(columns.ids), np.float32)
    information = 0.0
    for group in matches.groups():
        if matches.query_terms[group[0]].exact:
            continue
        of_word = _information(group, matches)
        covered += of_word * (columns.tf[:, group] > 0).any(axis=1)
        information += of_word
    if not information:
        return np.ones(len(columns.ids), np.float32)
    return (covered / information).astype(np.float32)


def _information(group: Sequence[int], matches: lexical.LexicalMatches) -> float:
    """How much a word says: as much as its commonest form.

    That a stem of another language is nowhere says nothing. A word that nobody wrote in
    any form is the most informative of all: a passage without it covers less. Other
    forms of a name do not make it say less.
    """
    own = [
        number
        for number in group
        if matches.query_terms[number].weight > weights.NICKNAME_WEIGHT
    ]
    idf = [float(matches.idf[number]) for number in own if matches.idf[number] > 0]
    return min(idf, default=matches.rarest)


def _exact(columns: packed_columns.Columns, matches: lexical.LexicalMatches) -> Floats:
    """The share of the query's identifiers that each passage holds."""
    numbers = [number for number, term in enumerate(matches.query_terms) if term.exact]
    if not numbers:
        return np.zeros(len(columns.ids), np.float32)
    return (columns.tf[:, numbers] > 0).mean(axis=1, dtype=np.float32)
