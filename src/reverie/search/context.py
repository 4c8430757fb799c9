"""Passages know their context: each is scored on its own text, on windows of its neighbours, and on its whole record.

What answers a question often stands beside the words that it is asked in: in the next turn of a chat, the next
paragraph of a note. So the words and the similarity of neighbours count too, each at its weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import db, llm
from reverie.access import callers
from reverie.records import terms
from reverie.search import query as queries
from reverie.search import signals

# Windows around a passage (how many before, how many after) with the weight of their words and of their similarity.
# Chosen on three LoCoMo conversations with the sample's questions and XQuAD as guards (docs/decisions/0009).
REACH = 4
WINDOWS = ((0, 0, 0.18, 0.19), (1, 0, 0.18, 0.23), (2, 1, 0.25, 0.23), (4, 4, 0.27, 0.35))
RECORD = 0.12
# A passage that says it all by itself is not drowned by its neighbours.
OWN = 0.8
# A turn whose speaker the question names is likelier to hold the answer, one that only asks is not.
NAMED, ASKS = 0.08, -0.3
SHORT_TURN = 40

Floats = NDArray[np.float64]

_NEAR = """
WITH near AS (
    SELECT DISTINCT passage.id
    FROM passage AS found JOIN passage ON passage.user_id = %(user)s AND passage.record_id = found.record_id
        AND passage.ordinal BETWEEN found.ordinal - 4 AND found.ordinal + 4
    WHERE found.user_id = %(user)s AND found.id = ANY(%(ids)s)
)
SELECT passage.id, passage.record_id, passage.ordinal, passage.length, passage.place->>'speaker' AS speaker,
    right(rtrim(passage.text), 1) = '?' AS asks,
    coalesce(-(embedding.vector <#> %(vector)s::halfvec), 0) * power(least(1, passage.length / 20.0), 0.3) AS cosine
FROM near JOIN passage ON passage.user_id = %(user)s AND passage.id = near.id
LEFT JOIN embedding ON embedding.user_id = %(user)s AND embedding.model = %(model)s AND embedding.hash = passage.hash
ORDER BY passage.record_id, passage.ordinal
"""
_HELD = """
SELECT passage_id, term, tf FROM posting
WHERE user_id = %(user)s AND term = ANY(%(terms)s) AND passage_id = ANY(%(ids)s)
"""
_RECORDS = """
SELECT passage.record_id, posting.term, sum(posting.tf) AS tf
FROM passage JOIN posting ON posting.user_id = %(user)s AND posting.passage_id = passage.id
WHERE passage.user_id = %(user)s AND passage.record_id = ANY(%(records)s) AND posting.term = ANY(%(terms)s)
GROUP BY passage.record_id, posting.term
"""
_LENGTHS = """
SELECT record_id, sum(length)::float8 AS length FROM passage
WHERE user_id = %(user)s AND record_id = ANY(%(records)s) GROUP BY record_id
"""
_KNOWN = "SELECT term, count(*) AS df FROM posting WHERE user_id = %(user)s AND term = ANY(%(terms)s) GROUP BY term"
_SIZE = """
SELECT count(*)::float8 AS n, greatest(avg(length), 1)::float8 AS average,
    (SELECT count(*) FROM card WHERE user_id = %(user)s)::float8 AS records
FROM passage WHERE user_id = %(user)s
"""


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with what its words and its meaning, in their context, have to say (0..1 each) and how it is said."""

    record_id: UUID
    passage_id: int
    lexical: float
    semantic: float
    manner: float


@dataclass(frozen=True, slots=True)
class _Place:
    """The passages around what was found, in the order of their records."""

    rows: list[dict[str, Any]]
    neighbours: NDArray[np.int64]  # shape (passages, 2 * REACH + 1): rows, or -1 where there is none


async def score(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    vector: llm.QueryVector | None,
    found: Sequence[signals.Found],
) -> list[Scored]:
    """The passages found and their neighbours, each in its context."""
    ids = list({one.passage_id for one in found})
    asked = [one for one in terms.of_query(query.text) if not one.exact]
    parameters: dict[str, object] = {
        "user": caller.user_id,
        "ids": ids,
        "terms": [one.term for one in asked],
        "vector": None if vector is None else signals.literal(vector),
        "model": "" if vector is None else vector.model,
    }
    rows = await tx.rows(_NEAR, parameters)
    if not rows:
        return []
    place = _Place(rows, _neighbours(rows))
    lexical = await _lexical(tx, parameters, place, asked)
    semantic = _semantic(place)
    manner = _manner(place, query)
    return [
        Scored(row["record_id"], row["id"], float(lexical[i]), float(semantic[i]), float(manner[i]))
        for i, row in enumerate(rows)
    ]


def _neighbours(rows: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
    at = {(row["record_id"], row["ordinal"]): i for i, row in enumerate(rows)}
    span = range(-REACH, REACH + 1)
    return np.array([[at.get((row["record_id"], row["ordinal"] + step), -1) for step in span] for row in rows])


def _window(place: _Place, values: Floats, before: int, after: int) -> Floats:
    """The sum of the values of a window's passages: shape of `values`."""
    padded = np.concatenate([values, np.zeros((1, *values.shape[1:]))])
    return padded[place.neighbours[:, REACH - before : REACH + after + 1]].sum(axis=1)


def _semantic(place: _Place) -> Floats:
    """The mean similarity of each window, weighted; at least 0.8 of the passage's own."""
    cosine = np.array([float(row["cosine"]) for row in place.rows])
    there = np.ones(len(cosine))
    total = np.zeros(len(cosine))
    for before, after, _, weight in WINDOWS:
        total += weight * _window(place, cosine, before, after) / _window(place, there, before, after)
    return np.clip(np.maximum(total, OWN * cosine), 0, 1)


async def _lexical(
    tx: db.Transaction, parameters: dict[str, object], place: _Place, asked: Sequence[terms.QueryTerm]
) -> Floats:
    """BM25 of each window and of the record, each as a share of the best, weighted."""
    total = np.zeros(len(place.rows))
    if not asked:
        return total
    index = {one.term: number for number, one in enumerate(asked)}
    at = {row["id"]: number for number, row in enumerate(place.rows)}
    records = list(dict.fromkeys(row["record_id"] for row in place.rows))
    parameters = parameters | {"ids": list(at), "records": records}
    (size,) = await tx.rows(_SIZE, parameters)
    df = {row["term"]: row["df"] for row in await tx.rows(_KNOWN, parameters)}
    idf = np.array([np.log(1 + (size["n"] - df.get(one.term, 0) + 0.5) / (df.get(one.term, 0) + 0.5)) for one in asked])
    weight = idf * np.array([one.weight for one in asked])
    groups = [np.flatnonzero([one.group == group for one in asked]) for group in dict.fromkeys(o.group for o in asked)]

    def bm25(tf: Floats, length: Floats, average: float) -> Floats:
        norm = signals.K1 * (1 - signals.B + signals.B * length / average)
        gain = weight * tf * (signals.K1 + 1) / (tf + norm[:, None])
        best = sum((gain[:, group].max(axis=1) for group in groups), np.zeros(len(tf)))
        return best / max(float(best.max(initial=0.0)), 1e-9)

    tf = np.zeros((len(at), len(asked)))
    for row in await tx.rows(_HELD, parameters):
        tf[at[row["passage_id"]], index[row["term"]]] = row["tf"]
    length = np.array([float(row["length"]) for row in place.rows])
    for before, after, share, _ in WINDOWS:
        width = before + after + 1
        total += share * bm25(
            _window(place, tf, before, after), _window(place, length, before, after), size["average"] * width
        )
    whole = {record: number for number, record in enumerate(records)}
    record_tf = np.zeros((len(records), len(asked)))
    for row in await tx.rows(_RECORDS, parameters):
        record_tf[whole[row["record_id"]], index[row["term"]]] = row["tf"]
    lengths = {row["record_id"]: row["length"] for row in await tx.rows(_LENGTHS, parameters)}
    average = size["average"] * size["n"] / max(size["records"], 1)
    by_record = bm25(record_tf, np.array([lengths[record] for record in records]), average)
    return total + RECORD * np.array([by_record[whole[row["record_id"]]] for row in place.rows])


def _manner(place: _Place, query: queries.Query) -> Floats:
    """What speaks for or against a turn of a chat as the place of an answer."""
    asked = set(terms.words(terms.fold(query.text)))
    speakers = {row["speaker"] for row in place.rows if row["speaker"]}
    named = {one for one in speakers if not asked.isdisjoint(terms.words(terms.fold(one)))}
    if named == speakers:
        named = set[str]()  # everybody is named: that tells nothing

    def of(row: Mapping[str, Any]) -> float:
        if not row["speaker"]:
            return 0.0
        only_asks = row["asks"] and row["length"] <= SHORT_TURN
        return (NAMED if row["speaker"] in named else 0.0) + (ASKS if only_asks else 0.0)

    return np.array([of(row) for row in place.rows])
