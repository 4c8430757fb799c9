"""Lexical retriever: BM25 over packed posting lists, and phrases word by word."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reverie import db
from reverie.access import callers
from reverie.records import postings, terms
from reverie.search import candidates, query_intent, scope, weights
from reverie.search import query as queries
from reverie.vocabulary import kinship

Floats = NDArray[np.float32]
Scores = list[tuple[int, float]]
"""Passages by id, each with its score."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class LexicalMatches:
    """What the words of a query find, and what is known of its terms: their idf, by the
    user's own passages.

    `average` is the length of a passage in words; `keys` and `idf` have an entry for
    each of `query_terms`; `rarest` is the idf of a term that nothing holds.
    """

    query_terms: Sequence[terms.QueryTerm]
    keys: Sequence[int]
    idf: Floats
    rarest: float
    average: float
    hits: Sequence[candidates.PassageHit]

    def groups(self) -> list[list[int]]:
        """The terms of each word: itself and its stems, by their places in
        `query_terms`.
        """
        numbers: dict[int, list[int]] = {}
        for number, term in enumerate(self.query_terms):
            numbers.setdefault(term.group, []).append(number)
        return list(numbers.values())

    def score(self, tf: Floats, length: Floats, average: float) -> Floats:
        """BM25 of texts, shape (texts,), by how much they hold of each term, shape
        (texts, terms), and their length.
        """
        of_form = np.array([term.weight for term in self.query_terms], np.float32)
        weight = self.idf * of_form
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
SELECT passage.record_id, passage.ordinal, passage.id AS passage_id FROM passage
WHERE passage.user_id = %(user)s AND passage.id = ANY(%(ids)s::bigint[]) AND {scope}
"""
_TEXTS = """
SELECT passage.record_id, passage.ordinal, passage.id AS passage_id, passage.text, record.title
FROM passage JOIN card AS record USING (user_id, record_id)
WHERE passage.user_id = %(user)s AND passage.id = ANY(%(ids)s) AND {scope}
"""


@lru_cache(maxsize=256)  # a search asks three times
def query_terms(text: str) -> tuple[terms.QueryTerm, ...]:
    """The terms that a query looks for, with other forms of the names in it (Bob finds
    Robert) and other words for a relative (mum finds mamá).
    """
    looked_for = terms.of_query(text)
    by_term = {term.term: term for term in looked_for}
    for word in _WORD.findall(text):
        name = by_term.get(terms.fold(word))
        if name is None or name.exact:
            continue
        looked_for += [
            terms.QueryTerm(form, name.group, weights.NICKNAME_WEIGHT, exact=False)
            for form in (
                *query_intent.nicknames(word),
                *kinship.other_words(terms.fold(word)),
            )
            if form not in by_term
        ]
    return tuple(looked_for)


def statements(caller: callers.Caller, query: queries.Query) -> list[db.Statement]:
    """What `retrieve` reads first, for whoever reads more with it."""
    keys = [postings.key(term.term) for term in query_terms(query.text)]
    return postings.statements(caller, keys) if keys else []


async def retrieve(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    *,
    depth: int = 100,
    found: Sequence[db.Rows] = (),
) -> LexicalMatches:
    """Passages that hold the query's words, best first by BM25 with the user's own
    statistics.

    Of a word and its stems the best counts. The gain of a packed passage is by the
    average length of its time; the order among those found is made exact by their
    context. `found` is what `statements` gave, if that was read already.
    """
    looked_for = query_terms(query.text)
    keys = [postings.key(term.term) for term in looked_for]
    if not looked_for:
        return LexicalMatches(looked_for, keys, np.zeros(0, np.float32), 0.0, 1.0, [])
    found = found or await tx.together(*postings.statements(caller, keys))
    listed = await postings.listed(tx, caller, found)
    matches = _statistics(looked_for, keys, listed)
    if query.narrowed:
        inside = await _in_scope(tx, caller, query)
        if len(inside) <= weights.NARROW_SCOPE:
            ranked = _ranked(_scored(matches, inside))[:depth]
            hits = await _located(tx, caller, query, ranked)
            return replace(matches, hits=hits)
    most = weights.SCOPED_DEPTH if query.narrowed else 2 * depth
    ranked = _ranked(
        [*_scored(matches, listed.fresh), *_scored_lists(matches, listed, most)]
    )
    hits = await _first_in_scope(tx, caller, query, ranked, depth)
    return replace(matches, hits=hits)


async def retrieve_phrases(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    phrases: Sequence[str],
    *,
    depth: int = 100,
) -> list[candidates.PassageHit]:
    """Passages that hold a phrase word by word, in their text or their title; those
    with most phrases first.
    """
    share: dict[int, float] = {}
    hits: dict[int, candidates.PassageHit] = {}
    for phrase in phrases:
        for row in await _rows_with_phrase(tx, caller, query, phrase, depth):
            passage_id = row["passage_id"]
            share[passage_id] = share.get(passage_id, 0.0) + 1 / len(phrases)
            hits[passage_id] = candidates.PassageHit(
                row["record_id"], row["ordinal"], passage_id, share[passage_id]
            )
    return sorted(hits.values(), key=_best_first)[:depth]


async def _rows_with_phrase(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    phrase: str,
    depth: int,
) -> list[Mapping[str, Any]]:
    """Passages that hold a phrase word by word, read some at a time until there are
    enough.
    """
    keys = [postings.key(term) for term in terms.plain(phrase)]
    if not keys:
        return []
    ranked = _with_all_terms(await postings.lists(tx, caller, keys), keys)
    statement = db.compose(_TEXTS, scope=scope.condition(query))
    batch = weights.PHRASE_BATCH * depth
    matches: list[Mapping[str, Any]] = []
    for start in range(0, min(len(ranked), weights.PHRASE_TEXTS), batch):
        ids = [passage_id for passage_id, _ in ranked[start : start + batch]]
        parameters = scope.parameters(caller, query) | {"ids": ids}
        rows = await tx.rows(statement, parameters, binary=True)
        matches += [row for row in rows if _holds_phrase(row, phrase)]
        if len(matches) >= depth:
            break
    return matches


def _holds_phrase(row: Mapping[str, Any], phrase: str) -> bool:
    return query_intent.holds(row["text"], phrase) or query_intent.holds(
        row["title"], phrase
    )


def _with_all_terms(listed: postings.Listed, keys: Sequence[int]) -> Scores:
    """(id, gain) of the passages that hold every term; of terms in too many, only the
    others' passages are known.
    """
    uncommon = [
        key for key in keys if listed.document_frequencies.get(key, 0) <= postings.ALL
    ]
    needed = uncommon or list(keys)
    scored: Scores = []
    for segment in listed.segments:
        count = np.zeros(segment.size, np.int32)
        score = np.zeros(segment.size, np.float32)
        for key in needed:
            for entries in listed.entries.get((segment.id, key), ()):
                count[entries["at"]] += 1
                score[entries["at"]] += entries["gain"]
        at = np.flatnonzero(count == len(needed))
        members = listed.members[segment.id]
        scored += zip(members[at].tolist(), score[at].tolist(), strict=True)
    tf = postings.of_rows(listed.fresh, needed)
    complete = np.flatnonzero((tf > 0).all(axis=1)).tolist()
    scored += [(listed.fresh[i]["id"], float(tf[i].sum())) for i in complete]
    return _ranked(scored)


async def _in_scope(
    tx: db.Transaction, caller: callers.Caller, query: queries.Query
) -> Sequence[Mapping[str, Any]]:
    """The passages (id, terms, length) of a scope, or one more than a narrow one has."""
    return await tx.rows(
        db.compose(_IN_SCOPE, scope=scope.condition(query)),
        scope.parameters(caller, query) | {"narrow": weights.NARROW_SCOPE + 1},
        binary=True,
    )


async def _first_in_scope(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    ranked: Scores,
    depth: int,
) -> list[candidates.PassageHit]:
    """The best passages of a scope: deeper and deeper where much is out of it."""
    hits: list[candidates.PassageHit] = []
    size = depth
    while ranked and len(hits) < depth:
        hits += await _located(tx, caller, query, ranked[:size])
        ranked = ranked[size:]
        size *= weights.DEEPER
    return hits[:depth]


async def _located(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    ranked: Scores,
) -> list[candidates.PassageHit]:
    """Those of some passages that are still there and in the scope, best first."""
    scores = dict(ranked)
    parameters = scope.parameters(caller, query) | {"ids": db.array(scores)}
    statement = db.compose(_PLACES, scope=scope.condition(query))
    rows = await tx.rows(statement, parameters, binary=True)
    hits = [
        candidates.PassageHit(score=scores[row["passage_id"]], **row) for row in rows
    ]
    return sorted(hits, key=_best_first)


def _best_first(hit: candidates.PassageHit) -> tuple[float, int]:
    return -hit.score, hit.passage_id


def _ranked(scored: Scores) -> Scores:
    """Each passage once (one may be fresh and in a list), the best first."""
    by_id = dict(scored)
    ids = np.fromiter(by_id.keys(), np.int64, len(by_id))
    score = np.fromiter(by_id.values(), np.float64, len(by_id))
    order = np.lexsort((ids, -score))
    return list(zip(ids[order].tolist(), score[order].tolist(), strict=True))


def _statistics(
    looked_for: Sequence[terms.QueryTerm], keys: Sequence[int], listed: postings.Listed
) -> LexicalMatches:
    """What is known of the terms, before anything is found.

    idf = ln(1 + (n - df + 0.5) / (df + 0.5)), as Lucene has it.
    """
    tf = postings.of_rows(listed.fresh, keys)
    n = sum(segment.size for segment in listed.segments) + len(listed.fresh)
    packed_length = sum(segment.words for segment in listed.segments)
    length = packed_length + sum(row["length"] for row in listed.fresh)
    packed_df = np.array([listed.document_frequencies.get(key, 0) for key in keys])
    df = packed_df + (tf > 0).sum(axis=0)
    idf = np.log(1 + (n - np.minimum(df, n) + 0.5) / (df + 0.5)).astype(np.float32)
    idf = _at_most_word(idf, looked_for, df)
    return LexicalMatches(
        query_terms=looked_for,
        keys=keys,
        idf=np.where(df > 0, idf, 0).astype(np.float32),
        rarest=float(np.log(n + 1.5)),
        average=length / max(n, 1),
        hits=[],
    )


def _at_most_word(
    idf: Floats, looked_for: Sequence[terms.QueryTerm], df: NDArray[Any]
) -> Floats:
    """The idf of each term, at most that of its word.

    A stem stands where its word does, but for texts too short to tell their language:
    it says no more than the word.
    """
    of_word: dict[int, float] = {}
    for number, term in enumerate(looked_for):
        if term.weight == 1 and df[number]:
            of_word[term.group] = float(idf[number])
    most = [of_word.get(term.group, np.inf) for term in looked_for]
    return np.minimum(idf, np.array(most, np.float32))


def _scored(matches: LexicalMatches, rows: Sequence[Mapping[str, Any]]) -> Scores:
    """(id, score) of the passages (id, terms, length) that hold a word."""
    if not rows:
        return []
    tf = postings.of_rows(rows, matches.keys)
    length = np.array([row["length"] for row in rows], np.float32)
    score = matches.score(tf, length, matches.average)
    return [
        (rows[i]["id"], float(score[i])) for i in np.flatnonzero(score > 0).tolist()
    ]


def _scored_lists(
    matches: LexicalMatches, listed: postings.Listed, depth: int
) -> Scores:
    """(id, score) of the best `depth` passages of each segment, by the lists of the
    terms.
    """
    scored: Scores = []
    for segment in listed.segments:
        score = _segment_scores(matches, listed, segment)
        at = np.flatnonzero(score)
        if len(at) > depth:
            at = at[np.argpartition(-score[at], depth)[:depth]]
        members = listed.members[segment.id]
        scored += zip(members[at].tolist(), score[at].tolist(), strict=True)
    return scored


def _segment_scores(
    matches: LexicalMatches, listed: postings.Listed, segment: postings.Segment
) -> Floats:
    """BM25 of every passage of a segment: of each word the form that gains most."""
    score = np.zeros(segment.size, np.float32)
    best = np.zeros(segment.size, np.float32)
    for group in matches.groups():
        touched: list[NDArray[np.int64]] = []
        for number in group:
            weight = matches.idf[number] * matches.query_terms[number].weight
            for entries in listed.entries.get((segment.id, matches.keys[number]), ()):
                at = entries["at"].astype(np.int64)
                best[at] = np.maximum(best[at], entries["gain"] * weight)
                touched.append(at)
        for at in touched:
            score[at] += best[at]
            best[at] = 0
    return score
