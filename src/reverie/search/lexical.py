"""The signals of a search: each finds passages by one kind of evidence."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import db
from reverie.access import callers
from reverie.records import postings, terms
from reverie.search import query as queries
from reverie.search import query_intent, query_model
from reverie.search.dates import days

# Up to so many vectors are compared one by one; more are found through their graph,
# unless the user has few of all.
EXACT = 5_000
LEAST_SHARE = 0.02
GRAPHS = frozenset({256, 384, 512, 768, 1024, 1536, 2048, 3072})
# What a scope narrows to at most so many passages is read in full.
NARROW = 2_000
# So many texts are read at most for the phrases that they may hold.
MOST_READ = 4_000
# How many packed passages a segment ranks at most.
DEEPEST = 20_000
# A form of a name counts for less than the name itself: "Robert" may be another one.
NICKNAME_WEIGHT = 0.5

Floats = NDArray[np.float32]
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class PassageHit:
    """One passage as a signal sees it, its place in its record, and the raw score (a
    BM25 sum, or a cosine).
    """

    record_id: UUID
    ordinal: int
    passage_id: int
    score: float


@dataclass(frozen=True, slots=True)
class Words:
    """What the words of a query find, and what is known of its terms: their idf, by the
    user's own passages.

    `average` is the length of a passage in words, `idf` has an entry for each of
    `asked`.
    """

    asked: Sequence[terms.QueryTerm]
    keys: Sequence[int]
    idf: Floats
    rarest: float
    average: float
    found: Sequence[PassageHit]

    def groups(self) -> list[list[int]]:
        """The terms of each word: itself and its stems, by their places in `asked`."""
        numbers: dict[int, list[int]] = {}
        for number, one in enumerate(self.asked):
            numbers.setdefault(one.group, []).append(number)
        return list(numbers.values())

    def score(self, tf: Floats, length: Floats, average: float) -> Floats:
        """BM25 of texts, shape (texts,), by how much they hold of each term, shape
        (texts, terms), and their length.
        """
        weight = self.idf * np.array([one.weight for one in self.asked], np.float32)
        gained = weight * postings.gain(tf, length[:, None], average)
        return sum(
            (gained[:, group].max(axis=1) for group in self.groups()),
            np.zeros(len(tf), np.float32),
        )


_IN_SCOPE = """
SELECT passage.id, passage.terms, passage.length FROM passage
WHERE passage.user_id = %(user)s AND {scope} LIMIT %(narrow)s
"""
_PLACES = """
SELECT passage.record_id, passage.ordinal, passage.id AS passage_id, found.score
FROM unnest(%(ids)s::bigint[], %(scores)s::float8[]) AS found (id, score)
JOIN passage ON passage.user_id = %(user)s AND passage.id = found.id
WHERE {scope}
"""
_WRITTEN = """
SELECT passage.record_id, passage.ordinal, passage.id AS passage_id, passage.text, record.title
FROM passage JOIN card AS record USING (user_id, record_id)
WHERE passage.user_id = %(user)s AND passage.id = ANY(%(ids)s) AND {scope}
"""
_WIDTH = "SELECT count(*) FROM (SELECT FROM passage WHERE passage.user_id = %(user)s AND {scope} LIMIT %(wide)s)"
# The nearest texts, then the passages that hold them. A text of few words says less
# than it seems.
_SEMANTIC = """
WITH near AS MATERIALIZED (
    SELECT embedding.hash, %(offset)s::float8 - %(scale)s::float8 * ({distance}) AS score FROM embedding
    WHERE embedding.user_id = %(user)s AND embedding.model = %(model)s AND embedding.dimensions = {dimensions}
        AND {there}
    ORDER BY {distance} LIMIT %(depth)s
)
SELECT passage.record_id, passage.ordinal, passage.id AS passage_id,
    near.score * power(least(1, passage.length / 20.0::float8), 0.3::float8) AS score
FROM near JOIN passage ON passage.user_id = %(user)s AND passage.hash = near.hash
WHERE {scope}
ORDER BY score DESC, passage.id LIMIT %(depth)s
"""
_ONE_BY_ONE: LiteralString = "embedding.vector <#> %(vector)s::halfvec"
_BY_GRAPH = (
    "embedding.vector::halfvec({dimensions}) <#> %(vector)s::halfvec({dimensions})"
)
_THERE = """
EXISTS (SELECT FROM passage WHERE passage.user_id = %(user)s AND passage.hash = embedding.hash AND {scope})
"""
# The cards of a scope, but for its days.
RECORDS: LiteralString = """
(%(domains)s::text[] IS NULL OR card.domain = ANY(%(domains)s))
AND (%(tag)s::text IS NULL OR card.tags @> ARRAY[%(tag)s::text])
AND (%(records)s::uuid[] IS NULL OR card.record_id = ANY(%(records)s))
AND (%(person)s::text IS NULL OR EXISTS (SELECT FROM unnest(card.people) AS one WHERE one LIKE %(person)s))
AND (%(category)s::text IS NULL OR card.category = %(category)s)
AND (%(file)s::text IS NULL OR card.origin LIKE %(file)s)
AND (%(tier)s::text IS NULL OR (
    SELECT CASE %(tier)s WHEN 'hot' THEN warm.th > 0.7 WHEN 'warm' THEN warm.th > 0.2 ELSE warm.th <= 0.2 END
    FROM (SELECT coalesce((
        SELECT heat FROM heat WHERE heat.user_id = card.user_id AND heat.record_id = card.record_id
    ), 0)) AS warm (th)
))
"""
_SCOPE = """
EXISTS (
    SELECT FROM card WHERE card.user_id = %(user)s AND card.record_id = passage.record_id AND {records}
      AND ((%(first)s::date IS NULL AND %(last)s::date IS NULL)
           OR {day} BETWEEN coalesce(%(first)s, '-infinity'::date) AND coalesce(%(last)s, 'infinity'::date))
)
"""
_EVERYWHERE: LiteralString = "true"


def graph_settings(own: int) -> dict[str, str]:
    """How far a graph is searched: the more vectors, the farther, for the same recall
    (docs/decisions/0011).
    """
    far = 280 + 200 * math.log10(max(own, 1) / 100_000)
    return {
        "hnsw.ef_search": str(round(min(max(far, 160), 800))),
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.max_scan_tuples": "40000",
    }


def asked_terms(text: str) -> list[terms.QueryTerm]:
    """The terms that a query asks for, with other forms of the names in it: Bob finds
    Robert.
    """
    asked = terms.of_query(text)
    known = {one.term: one for one in asked}
    for word in _WORD.findall(text):
        if (name := known.get(terms.fold(word))) and not name.exact:
            more = [form for form in query_intent.nicknames(word) if form not in known]
            asked += [
                terms.QueryTerm(form, name.group, NICKNAME_WEIGHT, exact=False)
                for form in more
            ]
    return asked


async def lexical(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    *,
    depth: int = 100,
) -> Words:
    """Passages that hold the query's words, best first by BM25 with the user's own
    statistics.

    Of a word and its stems the best counts. The gain of a packed passage is by the
    average length of its time; the order among those found is made exact by their
    context.
    """
    asked = asked_terms(query.text)
    keys = [postings.key(one.term) for one in asked]
    if not asked:
        return Words(asked, keys, np.zeros(0, np.float32), 0.0, 1.0, [])
    listed = await postings.lists(tx, caller, keys)
    words = _words(asked, keys, listed)
    if query.narrowed:
        inside = await tx.rows(
            db.compose(_IN_SCOPE, scope=scope(query)),
            parameters(caller, query),
            binary=True,
        )
        if len(inside) <= NARROW:
            return replace(
                words,
                found=await _placed(
                    tx, caller, query, _best(_read(words, inside), depth)
                ),
            )
    some, found = depth, list[PassageHit]()
    ranked = _best(
        [
            *_read(words, listed.fresh),
            *_packed(words, listed, DEEPEST if query.narrowed else 2 * depth),
        ]
    )
    while (
        ranked and len(found) < depth
    ):  # deeper and deeper where much is out of the scope
        found += await _placed(tx, caller, query, ranked[:some])
        ranked, some = ranked[some:], 4 * some
    return replace(words, found=found[:depth])


async def phrased(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    phrases: Sequence[str],
    *,
    depth: int = 100,
) -> list[PassageHit]:
    """Passages that hold a phrase word by word, in their text or their title; those
    with most phrases first.
    """
    share: dict[int, float] = {}
    found: dict[int, PassageHit] = {}
    for phrase in phrases:
        keys = [postings.key(term) for term in terms.plain(phrase)]
        ranked = (
            _holding_all(await postings.lists(tx, caller, keys), keys) if keys else []
        )
        held = 0
        for start in range(0, min(len(ranked), MOST_READ), 4 * depth):
            given = parameters(caller, query) | {
                "ids": [one for one, _ in ranked[start : start + 4 * depth]]
            }
            rows = await tx.rows(
                db.compose(_WRITTEN, scope=scope(query)), given, binary=True
            )
            for row in rows:
                if query_intent.holds(row["text"], phrase) or query_intent.holds(
                    row["title"], phrase
                ):
                    passage_id, held = row["passage_id"], held + 1
                    share[passage_id] = share.get(passage_id, 0.0) + 1 / len(phrases)
                    found[passage_id] = PassageHit(
                        row["record_id"], row["ordinal"], passage_id, share[passage_id]
                    )
            if held >= depth:
                break
    return sorted(found.values(), key=lambda one: (-one.score, one.passage_id))[:depth]


def _holding_all(
    listed: postings.Listed, keys: Sequence[int]
) -> list[tuple[int, float]]:
    """(id, gain) of the passages that hold every term; of terms in too many, only the
    others' passages are known.
    """
    needed = [
        key for key in keys if listed.held_by.get(key, 0) <= postings.ALL
    ] or list(keys)
    scored: list[tuple[int, float]] = []
    for segment in listed.segments:
        count, score = (
            np.zeros(segment.size, np.int32),
            np.zeros(segment.size, np.float32),
        )
        for key in needed:
            for entries in listed.entries.get((segment.id, key), ()):
                count[entries["at"]] += 1
                score[entries["at"]] += entries["gain"]
        at = np.flatnonzero(count == len(needed))
        scored += zip(
            listed.members[segment.id][at].tolist(), score[at].tolist(), strict=True
        )
    held = postings.of_rows(listed.fresh, needed)
    there = np.flatnonzero((held > 0).all(axis=1)).tolist()
    scored += [(listed.fresh[i]["id"], float(held[i].sum())) for i in there]
    return _best(scored)


async def _placed(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    ranked: Sequence[tuple[int, float]],
) -> list[PassageHit]:
    """Those of some passages (id, score) that are still there and in the scope, best
    first.
    """
    given = parameters(caller, query) | {
        "ids": [one[0] for one in ranked],
        "scores": [one[1] for one in ranked],
    }
    rows = await tx.rows(db.compose(_PLACES, scope=scope(query)), given, binary=True)
    return sorted(
        (PassageHit(**row) for row in rows),
        key=lambda one: (-one.score, one.passage_id),
    )


def _best(
    scored: Sequence[tuple[int, float]], most: int | None = None
) -> list[tuple[int, float]]:
    """Each passage once (one may be fresh and in a list), the best first."""
    return sorted(dict(scored).items(), key=lambda one: (-one[1], one[0]))[:most]


def _words(
    asked: Sequence[terms.QueryTerm], keys: Sequence[int], listed: postings.Listed
) -> Words:
    """What is known of the terms, before anything is found."""
    held = postings.of_rows(listed.fresh, keys)
    n = sum(one.size for one in listed.segments) + len(listed.fresh)
    length = sum(one.words for one in listed.segments) + sum(
        row["length"] for row in listed.fresh
    )
    df = np.array([listed.held_by.get(key, 0) for key in keys]) + (held > 0).sum(axis=0)
    idf = np.log(1 + (n - np.minimum(df, n) + 0.5) / (df + 0.5)).astype(np.float32)
    # A stem stands where its word does, but for texts too short to tell their language:
    # it says no more than the word.
    word: dict[int, float] = {}
    for number, one in enumerate(asked):
        if one.weight == 1 and df[number]:
            word[one.group] = float(idf[number])
    idf = np.minimum(
        idf, np.array([word.get(one.group, np.inf) for one in asked], np.float32)
    )
    return Words(
        asked,
        keys,
        np.where(df > 0, idf, 0).astype(np.float32),
        float(np.log(n + 1.5)),
        length / max(n, 1),
        [],
    )


def _read(words: Words, rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, float]]:
    """(id, score) of the passages (id, terms, length) that hold a word."""
    if not rows:
        return []
    held = postings.of_rows(rows, words.keys)
    length = np.array([row["length"] for row in rows], np.float32)
    score = words.score(held, length, words.average)
    return [
        (rows[i]["id"], float(score[i])) for i in np.flatnonzero(score > 0).tolist()
    ]


def _packed(
    words: Words, listed: postings.Listed, depth: int
) -> list[tuple[int, float]]:
    """(id, score) of the best `depth` passages of each segment, by the lists of the
    terms.
    """
    found: list[tuple[int, float]] = []
    for segment in listed.segments:
        score = np.zeros(segment.size, np.float32)
        best = np.zeros(segment.size, np.float32)
        for group in words.groups():
            touched: list[NDArray[np.int64]] = []
            for number in group:
                weight = words.idf[number] * words.asked[number].weight
                for entries in listed.entries.get((segment.id, words.keys[number]), ()):
                    at = entries["at"].astype(np.int64)
                    best[at] = np.maximum(best[at], entries["gain"] * weight)
                    touched.append(at)
            for at in touched:
                score[at] += best[at]
                best[at] = 0
        at = np.flatnonzero(score)
        if len(at) > depth:
            at = at[np.argpartition(-score[at], depth)[:depth]]
        members = listed.members[segment.id]
        found += zip(members[at].tolist(), score[at].tolist(), strict=True)
    return found


async def semantic(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    asked: query_model.ModelQuery,
    *,
    depth: int = 100,
) -> list[PassageHit]:
    """Passages that mean something like the query, nearest first, whatever their
    (calibrated) similarity.

    Few vectors, of the user or of the scope, are compared one by one; many are found
    through their graph, whose recall was measured (bench/search_speed.py). The
    transaction should have `graph_settings`.
    """
    vector, length = asked.vector, len(asked.vector.values)
    given = parameters(caller, query) | {
        "vector": asked.literal,
        "model": vector.model,
        "offset": vector.offset,
        "scale": vector.calibration.scale,
        "depth": depth,
    }
    graph = (
        length in GRAPHS
        and asked.own > EXACT
        and asked.own >= LEAST_SHARE * asked.everybodys
    )
    if graph and query.narrowed:
        width = await tx.value(
            db.compose(_WIDTH, scope=scope(query)), given | {"wide": EXACT}
        )
        graph = width == EXACT
    dimensions = db.number(length)
    distance = (
        db.compose(_BY_GRAPH, dimensions=dimensions) if graph else db.text(_ONE_BY_ONE)
    )
    there = (
        db.compose(_THERE, scope=scope(query))
        if query.narrowed or not graph
        else db.text(_EVERYWHERE)
    )
    names = {
        "distance": distance,
        "dimensions": dimensions,
        "there": there,
        "scope": scope(query),
    }
    return await tx.all(PassageHit, db.compose(_SEMANTIC, **names), given)


def scope(query: queries.Query) -> Any:
    """The condition of a query on passages, true where nothing narrows it."""
    return (
        db.compose(_SCOPE, day=db.text(days.DAY), records=db.text(RECORDS))
        if query.narrowed
        else db.text(_EVERYWHERE)
    )


def _holding(text: str | None) -> str | None:
    """A pattern for folded texts that hold this one."""
    if text is None:
        return None
    return "%" + re.sub(r"([\\%_])", r"\\\1", terms.fold(text)) + "%"


def parameters(caller: callers.Caller, query: queries.Query) -> dict[str, object]:
    """What the SQL of a scope asks for."""
    return {
        "user": caller.user_id,
        "narrow": NARROW + 1,
        "domains": list(query.domains) or None,
        "tag": query.tag,
        "first": query.first,
        "last": query.last,
        "records": list(query.records) or None,
        "person": _holding(query.person),
        "category": None if query.category is None else terms.fold(query.category),
        "file": _holding(query.file),
        "tier": query.tier,
        "zone": caller.timezone,
    }
