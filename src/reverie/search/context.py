"""Passages know their context: each is scored on its own text, on windows of its
neighbours, and on its record.

What answers a question often stands beside the words that it is asked in: in the next
turn of a chat, the next paragraph of a note. So the words and the similarity of
neighbours count too, each at its weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import db
from reverie.access import callers
from reverie.records import postings
from reverie.search import chat_turn_features, gather, lexical

# Windows around a passage (how many before, how many after) with the weight of their
# words and of their similarity. These and the weights below: chosen on three LoCoMo
# conversations, one at a time, on a plateau where a step of any one changes any@10 by a
# point at most, with XQuAD, SciFact, RepLiQA and the vault as guards
# (docs/decisions/0009).
REACH = 4
MOST = 300
WINDOWS = (
    (0, 0, 0.14, 0.19),
    (1, 0, 0.15, 0.23),
    (2, 1, 0.235, 0.23),
    (4, 4, 0.24, 0.35),
)
# The words of the record around; those of the passage before, if it asks something:
# then this one may answer it.
RECORD, ANSWERS = 0.09, 0.11
# The record's most similar passage counts for its others too: half a point of any@1 on
# SciFact lost, half a point of share@5 on XQuAD's two languages together and one of the
# sample life's 40 first places won.
BEST = 0.125
# A passage that says it all by itself is not drowned by its neighbours: a paragraph
# least of all (SciFact any@1 falls by 2 points at 0.8), a turn of a chat less so
# (LoCoMo any@1 falls by 3 at 0.9).
OWN, OWN_TURN = 1.0, 0.8

Floats = NDArray[np.float32]

# The passages around, a column each: numbers as bytes are read by numpy at once,
# however many there are. Their vectors are looked up together, which takes a third of
# the time of a look-up each.
_NEAR = """
WITH near AS MATERIALIZED (
    SELECT passage.id, span.number, passage.ordinal, passage.length, passage.hash, passage.terms,
        passage.place->>'speaker' AS speaker, (right(rtrim(passage.text), 1) = '?')::int AS asks,
        (strpos(passage.text, '?') > 0)::int AS has_question,
        coalesce(passage.place->>'speaker' IS NOT NULL AND passage.text ~* %(times)s, false)::int AS tells_when
    FROM unnest(%(records)s::uuid[], %(firsts)s::int[], %(lasts)s::int[], %(numbers)s::int[])
        AS span (record_id, first, last, number)
    JOIN passage ON passage.user_id = %(user)s AND passage.record_id = span.record_id
        AND passage.ordinal BETWEEN span.first AND span.last
), meant AS MATERIALIZED (
    SELECT hash, %(offset)s::float8 - %(scale)s::float8 * (vector <#> (SELECT %(vector)s::halfvec)) AS cosine
    FROM embedding
    WHERE user_id = %(user)s AND model = %(model)s AND hash = ANY(ARRAY(SELECT hash FROM near))
)
SELECT string_agg(int8send(id), '') AS id, string_agg(int4send(number), '') AS record,
    string_agg(int4send(ordinal), '') AS ordinal, string_agg(int4send(length), '') AS length,
    string_agg(float4send(cosine), '') AS cosine, string_agg(terms, '') AS terms,
    string_agg(int4send(octet_length(terms)), '') AS bytes, array_agg(speaker) AS speaker,
    string_agg(int4send(asks + 2 * has_question + 4 * tells_when), '') AS flags
FROM (
    SELECT id, number, ordinal, length, speaker, asks, has_question, tells_when, coalesce(terms, '') AS terms,
        (coalesce(cosine, 0) * power(least(1, length / 20.0::float8), 0.3::float8))::float4 AS cosine
    FROM near LEFT JOIN meant USING (hash) ORDER BY number, ordinal
)
"""
_CARDS = """
SELECT card.record_id, card.domain, card.title, card.at, card.tags, card.sensitivity,
    (card.at AT TIME ZONE %(zone)s)::date AS day,
    coalesce(heat.heat, 0) AS heat, coalesce(heat.accesses, 0) AS accesses, heat.accessed_at
FROM card LEFT JOIN (
    SELECT record_id, heat, accesses, accessed_at FROM heat WHERE user_id = %(user)s AND record_id = ANY(%(records)s)
) AS heat USING (record_id)
WHERE card.user_id = %(user)s AND card.record_id = ANY(%(records)s)
"""


@dataclass(frozen=True, slots=True)
class Card:
    """What results show of a record before it is read, its day, and how warm it is."""

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

    @classmethod
    def gone(cls, record_id: UUID) -> "Card":
        """The card of a record that was deleted since the signals looked."""
        return cls(record_id, "", "", None, [], None, 0.0, 0.0, None, "critical")


@dataclass(frozen=True, slots=True)
class Scored:
    """Passages with what their words and their meaning, in their context, have to say
    (0..1 each), as arrays.

    `manner` is how it is said; `coverage` the share of the query's information that the
    passage itself holds, `exact` the share of the query's identifiers and pairs with a
    number. `record` numbers the passage's record in `records`.
    """

    ids: NDArray[np.int64]
    record: NDArray[np.int64]
    records: Sequence[Card]
    lexical: Floats
    semantic: Floats
    manner: Floats
    coverage: Floats
    exact: Floats


@dataclass(frozen=True, slots=True)
class _Place:
    """The passages around what was found, in the order of their records: arrays, one
    row each.
    """

    ids: NDArray[np.int64]
    record: NDArray[np.int64]
    neighbours: NDArray[
        np.int64
    ]  # shape (passages, 2 * REACH + 1): rows, or -1 where there is none
    tf: Floats  # shape (passages, terms)
    length: Floats
    cosine: Floats
    speaker: Sequence[str | None]
    asks: Floats
    has_question: Floats
    tells_when: Floats


async def score(
    tx: db.Transaction, caller: callers.Caller, text: str, gathered: gather.Gathered
) -> Scored:
    """The passages found, best first until there are enough, and their neighbours, each
    in its context.
    """
    spans = _spans(gathered.found)
    records = list(dict.fromkeys(record_id for record_id, _, _ in spans))
    number = {record_id: i for i, record_id in enumerate(records)}
    asked = gathered.asked
    parameters: dict[str, object] = {
        "user": caller.user_id,
        "zone": caller.timezone,
        "records": [record_id for record_id, _, _ in spans],
        "firsts": [first for _, first, _ in spans],
        "lasts": [last for _, _, last in spans],
        "numbers": [number[record_id] for record_id, _, _ in spans],
        "vector": asked.literal if asked else None,
        "model": asked.vector.model if asked else "",
        "offset": asked.vector.offset if asked else 0.0,
        "scale": asked.vector.calibration.scale if asked else 0.0,
        "times": chat_turn_features.TIMES
        if chat_turn_features.asks_when(text)
        else None,
    }
    (columns,), rows = await tx.together(
        (_NEAR, parameters), (_CARDS, parameters | {"records": records})
    )
    by_id = {row["record_id"]: Card(**row) for row in rows}
    cards = [by_id.get(record_id, Card.gone(record_id)) for record_id in records]
    place = _place(columns, gathered.words.keys)
    manners = chat_turn_features.of(
        place.speaker,
        text,
        only_asks=(place.asks > 0) & (place.length <= chat_turn_features.SHORT_TURN),
        replies=_before(place, place.asks),
        tells_when=place.tells_when,
    )
    return Scored(
        place.ids,
        place.record,
        cards,
        _lexical(place, gathered.words),
        _semantic(place),
        manners,
        _coverage(place, gathered.words),
        _exact(place, gathered.words),
    )


async def cards(
    tx: db.Transaction, caller: callers.Caller, records: Sequence[UUID]
) -> dict[UUID, Card]:
    """Some records by id; those that are gone are left out."""
    parameters = {
        "user": caller.user_id,
        "zone": caller.timezone,
        "records": list(records),
    }
    (rows,) = await tx.together((_CARDS, parameters))
    return {row["record_id"]: Card(**row) for row in rows}


def _spans(found: Sequence[lexical.PassageHit]) -> list[tuple[UUID, int, int]]:
    """(record, first, last) of the neighbourhoods of what was found, best first, joined
    where they touch.

    Enough are some hundred passages: what is found far down in records of its own never
    wins.
    """
    taken: dict[UUID, set[int]] = {}
    size = 0
    for one in found:
        mine = taken.setdefault(one.record_id, set())
        before = len(mine)
        mine.update(range(max(one.ordinal - REACH, 1), one.ordinal + REACH + 1))
        size += len(mine) - before
        if size >= MOST:
            break
    spans: list[tuple[UUID, int, int]] = []
    for record_id, ordinals in taken.items():
        inside = sorted(ordinals)
        breaks = [i for i in range(1, len(inside)) if inside[i] != inside[i - 1] + 1]
        for start, end in pairwise([0, *breaks, len(inside)]):
            spans.append((record_id, inside[start], inside[end - 1]))
    return spans


def _place(columns: Mapping[str, Any], keys: Sequence[int]) -> _Place:
    def numbers(name: str, form: str) -> NDArray[Any]:
        return np.frombuffer(columns[name] or b"", form)

    record, ordinal = (
        numbers("record", ">i4").astype(np.int64),
        numbers("ordinal", ">i4").astype(np.int64),
    )
    at = record * (1 << 32) + ordinal  # ascending, as the rows are
    wanted = at[:, None] + np.arange(-REACH, REACH + 1)
    there = np.minimum(np.searchsorted(at, wanted), max(len(at) - 1, 0))
    flags = numbers("flags", ">i4")
    return _Place(
        numbers("id", ">i8").astype(np.int64),
        record,
        np.where(at[there] == wanted, there, -1) if len(at) else wanted,
        postings.frequencies(columns["terms"] or b"", numbers("bytes", ">i4"), keys),
        numbers("length", ">i4").astype(np.float32),
        numbers("cosine", ">f4").astype(np.float32),
        columns["speaker"] or [],
        (flags & 1 > 0).astype(np.float32),
        (flags & 2 > 0).astype(np.float32),
        (flags & 4 > 0).astype(np.float32),
    )


def _window(place: _Place, values: Floats, before: int, after: int) -> Floats:
    """The sum of the values of a window's passages: shape of `values`."""
    padded = np.concatenate([values, np.zeros((1, *values.shape[1:]), np.float32)])
    return padded[place.neighbours[:, REACH - before : REACH + after + 1]].sum(axis=1)


def _before(place: _Place, values: Floats) -> Floats:
    """The value of the passage before each, or 0."""
    return np.append(values, np.float32(0))[place.neighbours[:, REACH - 1]]


def _semantic(place: _Place) -> Floats:
    """The mean similarity of each window, weighted, or the passage's own; and a little
    of its record's best.
    """
    there = np.ones_like(place.cosine)
    total = np.zeros_like(place.cosine)
    for before, after, _, weight in WINDOWS:
        total += (
            weight
            * _window(place, place.cosine, before, after)
            / _window(place, there, before, after)
        )
    own = np.where([one is not None for one in place.speaker], OWN_TURN, OWN).astype(
        np.float32
    )
    best = np.zeros(int(place.record.max(initial=0)) + 1, np.float32)
    np.maximum.at(best, place.record, place.cosine)
    said = (1 - BEST) * np.maximum(total, own * place.cosine) + BEST * best[
        place.record
    ]
    return np.clip(said, 0, 1).astype(np.float32)


def _lexical(place: _Place, words: lexical.Words) -> Floats:
    """BM25 of each window, of the record around and of a question before, each as a
    share of the best, weighted.
    """
    total = np.zeros(len(place.ids), np.float32)
    if not words.asked or not len(place.ids):
        return total
    for before, after, share, _ in WINDOWS:
        tf, length = (
            _window(place, place.tf, before, after),
            _window(place, place.length, before, after),
        )
        said = _of_best(words.score(tf, length, words.average * (before + after + 1)))
        total += share * said
        if not before and not after:
            total += ANSWERS * _before(place, said * place.has_question)
    records = int(place.record.max()) + 1
    tf, length = (
        np.zeros((records, len(words.keys)), np.float32),
        np.zeros(records, np.float32),
    )
    np.add.at(tf, place.record, place.tf)
    np.add.at(length, place.record, place.length)
    total += (
        RECORD * _of_best(words.score(tf, length, float(length.mean())))[place.record]
    )
    return total


def _of_best(score: Floats) -> Floats:
    most = max(float(score.max(initial=0.0)), 1e-9)
    return (score / most).astype(np.float32)


def _coverage(place: _Place, words: lexical.Words) -> Floats:
    """The share of the query's information (idf) that each passage holds.

    A word says as much as its commonest form: that a stem of another language is
    nowhere says nothing. A word that nobody wrote in any form is the most informative
    of all: a passage without it covers less.
    """
    held, of_all = np.zeros(len(place.ids), np.float32), 0.0
    for group in words.groups():
        if not words.asked[group[0]].exact:
            # Other forms of a name do not make it say less.
            own = [
                number
                for number in group
                if words.asked[number].weight > lexical.NICKNAME_WEIGHT
            ]
            known = [
                float(words.idf[number]) for number in own if words.idf[number] > 0
            ]
            says = min(known, default=words.rarest)
            held += says * (place.tf[:, group] > 0).any(axis=1)
            of_all += says
    return (
        (held / of_all).astype(np.float32)
        if of_all
        else np.ones(len(place.ids), np.float32)
    )


def _exact(place: _Place, words: lexical.Words) -> Floats:
    numbers = [number for number, one in enumerate(words.asked) if one.exact]
    if not numbers:
        return np.zeros(len(place.ids), np.float32)
    return (place.tf[:, numbers] > 0).mean(axis=1, dtype=np.float32)
