"""The signals of a search: each finds passages by one kind of evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from reverie import db, llm
from reverie.access import callers
from reverie.records import terms
from reverie.search import query as queries

DEPTH = 100
K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Found:
    """One passage as a signal sees it, with the raw score (a BM25 sum, or a cosine).

    `coverage` (lexical) is the share of the query's information that the passage holds; `exact` the
    share of its identifiers and pairs with a number.
    """

    record_id: UUID
    passage_id: int
    score: float
    coverage: float = 0.0
    exact: float = 0.0


@dataclass(frozen=True, slots=True)
class Warmth:
    """How relevant a record is just now."""

    record_id: UUID
    heat: float
    accesses: float
    accessed_at: datetime


# Okapi BM25 with the user's own statistics. Of a word and its stems the best counts; `coverage` is the share of the
# query's information (idf) that the passage holds.
_LEXICAL = """
WITH asked AS (
    SELECT term COLLATE "C" AS term, grp, weight, exact
    FROM unnest(%(terms)s::text[], %(groups)s::int[], %(weights)s::real[], %(exacts)s::bool[])
        AS a (term, grp, weight, exact)
), size AS (
    SELECT count(*)::float8 AS n, greatest(avg(length), 1)::float8 AS average FROM passage WHERE user_id = %(user)s
), hit AS (
    SELECT asked.term, asked.grp, asked.weight, asked.exact, posting.passage_id, posting.tf
    FROM asked JOIN posting ON posting.term = asked.term AND posting.user_id = %(user)s
), known AS (
    SELECT term, grp, weight, ln(1 + ((SELECT n FROM size) - count(*) + 0.5) / (count(*) + 0.5)) AS idf
    FROM hit GROUP BY term, grp, weight
), info AS (
    -- A word says as much as its commonest form: that a stem of another language is nowhere says nothing. A word that
    -- nobody wrote in any form is the most informative of all: a passage without it covers less.
    SELECT asked.grp, coalesce(min(known.idf), ln(1 + (SELECT n FROM size) + 0.5)) AS idf
    FROM asked LEFT JOIN known USING (term) WHERE NOT asked.exact GROUP BY asked.grp
), scored AS (
    SELECT hit.passage_id, hit.grp, passage.record_id, bool_or(hit.exact) AS exact,
        max(known.idf * hit.weight * hit.tf * 2.2
            / (hit.tf + 1.2 * (0.25 + 0.75 * passage.length / (SELECT average FROM size)))) AS score,
        coalesce(max(info.idf), 0) AS idf
    FROM hit JOIN known USING (term) LEFT JOIN info ON info.grp = hit.grp
    JOIN passage ON passage.user_id = %(user)s AND passage.id = hit.passage_id
    WHERE {scope}
    GROUP BY hit.passage_id, hit.grp, passage.record_id
), summed AS (
    SELECT passage_id, record_id, sum(score) AS score,
        count(*) FILTER (WHERE exact)::float8 / nullif((SELECT count(*) FROM asked WHERE exact), 0) AS exact,
        least(1, sum(idf) / nullif((SELECT sum(idf) FROM info), 0)) AS coverage
    FROM scored GROUP BY passage_id, record_id
)
SELECT record_id, passage_id, score::float8, coalesce(coverage, 1)::float8 AS coverage,
    coalesce(exact, 0)::float8 AS exact
FROM summed ORDER BY score DESC, passage_id LIMIT %(depth)s
"""
# The nearest texts, then the passages and records that hold them. A text of few words says less than it seems.
_SEMANTIC = """
WITH near AS (
    SELECT embedding.hash, -(embedding.vector <#> %(vector)s::halfvec) AS score
    FROM embedding
    WHERE embedding.user_id = %(user)s AND embedding.model = %(model)s
      AND EXISTS (
          SELECT FROM passage WHERE passage.user_id = %(user)s AND passage.hash = embedding.hash AND {scope}
      )
    ORDER BY embedding.vector <#> %(vector)s::halfvec LIMIT %(wide)s
)
SELECT passage.record_id, passage.id AS passage_id,
    near.score * power(least(1, passage.length / 20.0), 0.3)::float8 AS score
FROM near JOIN passage ON passage.user_id = %(user)s AND passage.hash = near.hash
WHERE {scope}
ORDER BY score DESC, passage.id LIMIT %(depth)s
"""
_SCOPE = """
passage.record_id IN (
    SELECT card.record_id FROM card LEFT JOIN heat USING (user_id, record_id)
    WHERE card.user_id = %(user)s
      AND (%(domains)s::text[] IS NULL OR card.domain = ANY(%(domains)s))
      AND (%(tag)s::text IS NULL OR card.tags @> ARRAY[%(tag)s::text])
      AND (%(first)s::date IS NULL OR (card.at AT TIME ZONE %(zone)s)::date >= %(first)s)
      AND (%(last)s::date IS NULL OR (card.at AT TIME ZONE %(zone)s)::date <= %(last)s)
      AND (%(tier)s::text IS NULL OR CASE %(tier)s WHEN 'hot' THEN coalesce(heat.heat, 0) > 0.7
           WHEN 'warm' THEN coalesce(heat.heat, 0) > 0.2 ELSE coalesce(heat.heat, 0) <= 0.2 END)
)
"""
_EVERYWHERE: LiteralString = "true"
_WARMTH = """
SELECT record_id, heat, accesses, accessed_at FROM heat WHERE user_id = %s AND record_id = ANY(%s)
"""


async def lexical(tx: db.Transaction, caller: callers.Caller, query: queries.Query) -> list[Found]:
    """Passages that hold the query's words, best first."""
    asked = terms.of_query(query.text)
    if not asked:
        return []
    parameters = _parameters(caller, query) | {
        "terms": [one.term for one in asked],
        "groups": [one.group for one in asked],
        "weights": [one.weight for one in asked],
        "exacts": [one.exact for one in asked],
    }
    return await tx.all(Found, db.compose(_LEXICAL, scope=_scope(query)), parameters)


async def semantic(
    tx: db.Transaction, caller: callers.Caller, query: queries.Query, vector: llm.QueryVector
) -> list[Found]:
    """Passages that mean something like the query, nearest first, whatever their similarity."""
    parameters = _parameters(caller, query) | {
        "vector": literal(vector),
        "model": vector.model,
        "wide": DEPTH,
    }
    return await tx.all(Found, db.compose(_SEMANTIC, scope=_scope(query)), parameters)


async def warmth(tx: db.Transaction, caller: callers.Caller, ids: Sequence[UUID]) -> Mapping[UUID, Warmth]:
    """The heat of some records; those nobody touched are left out."""
    rows = await tx.all(Warmth, _WARMTH, (caller.user_id, list(ids)))
    return {row.record_id: row for row in rows}


def literal(vector: llm.QueryVector) -> str:
    """A query vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in vector.values) + "]"


def _scope(query: queries.Query) -> Any:
    narrowed = any((query.domains, query.tag, query.first, query.last, query.tier))
    return db.text(_SCOPE) if narrowed else db.text(_EVERYWHERE)


def _parameters(caller: callers.Caller, query: queries.Query) -> dict[str, object]:
    return {
        "user": caller.user_id,
        "depth": DEPTH,
        "domains": list(query.domains) or None,
        "tag": query.tag,
        "first": query.first,
        "last": query.last,
        "tier": query.tier,
        "zone": caller.timezone,
    }
