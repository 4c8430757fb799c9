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

from reverie import db
from reverie.access import callers
from reverie.records import postings, terms
from reverie.search import gather, signals
from reverie.search import query as queries

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

Floats = NDArray[np.float32]

_NEAR = """
WITH near AS (
    SELECT DISTINCT passage.id
    FROM passage AS found JOIN passage ON passage.user_id = %(user)s AND passage.record_id = found.record_id
        AND passage.ordinal BETWEEN found.ordinal - 24 AND found.ordinal + 24
    WHERE found.user_id = %(user)s AND found.id = ANY(%(ids)s)
)
SELECT passage.id, passage.record_id, passage.ordinal, passage.length, passage.terms,
    passage.place->>'speaker' AS speaker, right(rtrim(passage.text), 1) = '?' AS asks,
    coalesce(-(embedding.vector <#> %(vector)s::halfvec), 0)
        * power(least(1, passage.length / 20.0), 0.3)::float8 AS cosine
FROM near JOIN passage ON passage.user_id = %(user)s AND passage.id = near.id
LEFT JOIN embedding ON embedding.user_id = %(user)s AND embedding.model = %(model)s AND embedding.hash = passage.hash
ORDER BY passage.record_id, passage.ordinal
"""


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with what its words and its meaning, in their context, have to say (0..1 each) and how it is said.

    `coverage` is the share of the query's information that its own text holds, `exact` the share of the query's
    identifiers and pairs with a number.
    """

    record_id: UUID
    passage_id: int
    lexical: float
    semantic: float
    manner: float
    coverage: float
    exact: float


@dataclass(frozen=True, slots=True)
class _Place:
    """The passages around what was found, in the order of their records."""

    rows: list[dict[str, Any]]
    tf: Floats  # shape (passages, terms)
    neighbours: NDArray[np.int64]  # shape (passages, 2 * REACH + 1): rows, or -1 where there is none


async def score(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    gathered: gather.Gathered,
) -> list[Scored]:
    """The passages found and their neighbours, each in its context."""
    words, vector = gathered.words, gathered.vector
    parameters: dict[str, object] = {
        "user": caller.user_id,
        "ids": list({one.passage_id for one in gathered.found}),
        "vector": None if vector is None else signals.literal(vector),
        "model": "" if vector is None else vector.model,
    }
    (rows,) = await tx.together((_NEAR, parameters))
    if not rows:
        return []
    place = _Place(rows, postings.frequencies([row["terms"] or b"" for row in rows], words.keys), _neighbours(rows))
    lexical = _lexical(place, words)
    semantic = _semantic(place)
    manner = _manner(place, query)
    coverage, exact = _coverage(place, words), _exact(place, words)
    return [
        Scored(
            row["record_id"],
            row["id"],
            float(lexical[i]),
            float(semantic[i]),
            float(manner[i]),
            float(coverage[i]),
            float(exact[i]),
        )
        for i, row in enumerate(rows)
    ]


def _neighbours(rows: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
    at = {(row["record_id"], row["ordinal"]): i for i, row in enumerate(rows)}
    span = range(-REACH, REACH + 1)
    return np.array([[at.get((row["record_id"], row["ordinal"] + step), -1) for step in span] for row in rows])


def _window(place: _Place, values: Floats, before: int, after: int) -> Floats:
    """The sum of the values of a window's passages: shape of `values`."""
    padded = np.concatenate([values, np.zeros((1, *values.shape[1:]), np.float32)])
    return padded[place.neighbours[:, REACH - before : REACH + after + 1]].sum(axis=1)


def _semantic(place: _Place) -> Floats:
    """The mean similarity of each window, weighted; at least 0.8 of the passage's own."""
    cosine = np.array([float(row["cosine"]) for row in place.rows], np.float32)
    there = np.ones(len(cosine), np.float32)
    total = np.zeros(len(cosine), np.float32)
    for before, after, _, weight in WINDOWS:
        total += weight * _window(place, cosine, before, after) / _window(place, there, before, after)
    return np.clip(np.maximum(total, OWN * cosine), 0, 1)


def _lexical(place: _Place, words: signals.Words) -> Floats:
    """BM25 of each window and of the record, each as a share of the best, weighted."""
    total = np.zeros(len(place.rows), np.float32)
    if not words.asked:
        return total
    length = np.array([row["length"] for row in place.rows], np.float32)
    for before, after, share, _ in WINDOWS:
        tf, wide = _window(place, place.tf, before, after), _window(place, length, before, after)
        total += share * _of_best(words.score(tf, wide, words.average * (before + after + 1)))
    records = list(dict.fromkeys(row["record_id"] for row in place.rows))
    at = {record: number for number, record in enumerate(records)}
    of = np.array([at[row["record_id"]] for row in place.rows])
    tf, wide = np.zeros((len(records), len(words.keys)), np.float32), np.zeros(len(records), np.float32)
    np.add.at(tf, of, place.tf)
    np.add.at(wide, of, length)
    total += RECORD * _of_best(words.score(tf, wide, float(wide.mean())))[of]
    return total


def _of_best(score: Floats) -> Floats:
    most = max(float(score.max(initial=0.0)), 1e-9)
    return (score / most).astype(np.float32)


def _coverage(place: _Place, words: signals.Words) -> Floats:
    """The share of the query's information (idf) that each passage holds.

    A word says as much as its commonest form: that a stem of another language is nowhere says nothing. A word that
    nobody wrote in any form is the most informative of all: a passage without it covers less.
    """
    held, of_all = np.zeros(len(place.rows), np.float32), 0.0
    for group in words.groups():
        if not words.asked[group[0]].exact:
            known = [float(words.idf[number]) for number in group if words.idf[number] > 0]
            says = min(known, default=words.rarest)
            held += says * (place.tf[:, group] > 0).any(axis=1)
            of_all += says
    return held / of_all if of_all else np.ones(len(place.rows), np.float32)


def _exact(place: _Place, words: signals.Words) -> Floats:
    numbers = [number for number, one in enumerate(words.asked) if one.exact]
    if not numbers:
        return np.zeros(len(place.rows), np.float32)
    return (place.tf[:, numbers] > 0).mean(axis=1, dtype=np.float32)


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

    return np.array([of(row) for row in place.rows], np.float32)
