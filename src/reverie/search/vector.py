"""Vector retriever: nearest neighbours by HNSW (approximate) or one by one (exact)."""

import math
from typing import Any, LiteralString

from reverie import db
from reverie.access import callers
from reverie.search import candidates, query_model, scope, weights
from reverie.search import query as queries

# The nearest texts, then the passages that hold them. A text of few words says less
# than it seems.
_NEAREST = """
WITH near AS MATERIALIZED (
    SELECT embedding.hash, %(offset)s::float8 - %(scale)s::float8 * ({distance}) AS score FROM embedding
    WHERE embedding.user_id = %(user)s AND embedding.model = %(model)s AND embedding.dimensions = {dimensions}
        AND {in_scope}
    ORDER BY {distance} LIMIT %(depth)s
)
SELECT passage.record_id, passage.ordinal, passage.id AS passage_id, (SELECT count(*) FROM near) AS texts,
    near.score * power(least(1, passage.length / %(full_length)s::float8), %(short_power)s::float8) AS score
FROM near JOIN passage ON passage.user_id = %(user)s AND passage.hash = near.hash
WHERE {scope}
ORDER BY score DESC, passage.id LIMIT %(depth)s
"""
_EXACT_DISTANCE: LiteralString = "embedding.vector <#> %(vector)s::halfvec"
# Written as the partial indexes of migrations/0002_index.sql are, or they do not serve.
_INDEX_DISTANCE = (
    "embedding.vector::halfvec({dimensions}) <#> %(vector)s::halfvec({dimensions})"
)
_TEXT_IN_SCOPE = """
EXISTS (SELECT FROM passage WHERE passage.user_id = %(user)s AND passage.hash = embedding.hash AND {scope})
"""
# The index gives more when what it gave was filtered out. To be ready for that takes a
# quarter of its time: 3.8 ms against 3.1 at 20,000 vectors.
_GO_ON = "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)"
_COUNT_IN_SCOPE = """
SELECT count(*) FROM (SELECT FROM passage WHERE passage.user_id = %(user)s AND {scope} LIMIT %(wide)s)
"""


def hnsw_settings(vectors: int) -> dict[str, str]:
    """How far the HNSW index is searched: the more vectors a user has, the farther, for
    the same recall (docs/decisions/0011).

    ef_search = 280 + 200 * log10(vectors / 100,000), within 160..800.
    """
    tenfold = math.log10(max(vectors, 1) / weights.EF_SEARCH_VECTORS)
    ef_search = weights.EF_SEARCH + weights.EF_SEARCH_TENFOLD * tenfold
    within = min(max(ef_search, weights.LEAST_EF_SEARCH), weights.MOST_EF_SEARCH)
    return {
        "hnsw.ef_search": str(round(within)),
        "hnsw.iterative_scan": "off",
        "hnsw.max_scan_tuples": str(weights.MAX_SCAN_TUPLES),
    }


async def retrieve(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    model_query: query_model.ModelQuery,
    *,
    depth: int = 100,
) -> list[candidates.PassageHit]:
    """Passages that mean something like the query, nearest first, whatever their
    (calibrated) similarity.

    Few vectors, of the user or of the scope, are compared one by one; many are found
    through the HNSW index, whose recall was measured (bench/search_speed.py). The
    transaction should have `hnsw_settings`.
    """
    vector = model_query.vector
    parameters = scope.parameters(caller, query) | {
        "vector": model_query.literal,
        "model": vector.model,
        "offset": vector.offset,
        "scale": vector.calibration.scale,
        "full_length": weights.SHORT_PASSAGE,
        "short_power": weights.SHORT_PASSAGE_POWER,
        "depth": depth,
    }
    indexed = _has_index(model_query)
    if indexed and query.narrowed:
        indexed = await _is_wide(tx, query, parameters)
    statement = _statement(query, len(vector.values), indexed=indexed)
    goes_on = indexed and (query.narrowed or not _is_mostly_own(model_query))
    if goes_on:
        await tx.run(_GO_ON)
    rows = await tx.rows(statement, parameters, binary=True)
    texts = rows[0]["texts"] if rows else 0
    if indexed and not goes_on and texts < depth:
        await tx.run(_GO_ON)
        rows = await tx.rows(statement, parameters, binary=True)
    return [
        candidates.PassageHit(
            row["record_id"], row["ordinal"], row["passage_id"], row["score"]
        )
        for row in rows
    ]


def _has_index(model_query: query_model.ModelQuery) -> bool:
    """Whether the HNSW index serves: there is one of this length, and the user has many
    vectors, and no small share of all (the rows of others come out of it, too).
    """
    return (
        len(model_query.vector.values) in weights.INDEXED_LENGTHS
        and model_query.own > weights.EXACT_VECTORS
        and model_query.own >= weights.LEAST_SHARE * model_query.everybodys
    )


def _is_mostly_own(model_query: query_model.ModelQuery) -> bool:
    """Whether what the index gives is hardly ever somebody else's."""
    return model_query.own >= weights.MOSTLY_OWN * model_query.everybodys


async def _is_wide(
    tx: db.Transaction, query: queries.Query, parameters: dict[str, object]
) -> bool:
    """Whether a scope leaves more passages than are compared one by one."""
    statement = db.compose(_COUNT_IN_SCOPE, scope=scope.condition(query))
    width = await tx.value(statement, parameters | {"wide": weights.EXACT_VECTORS})
    return width == weights.EXACT_VECTORS


def _statement(query: queries.Query, length: int, *, indexed: bool) -> Any:
    """The SQL of the nearest passages, by the index or by every vector of the scope."""
    dimensions = db.number(length)
    distance: Any = db.text(_EXACT_DISTANCE)
    in_scope: Any = db.text(scope.EVERYWHERE)
    if indexed:
        distance = db.compose(_INDEX_DISTANCE, dimensions=dimensions)
    if query.narrowed or not indexed:
        in_scope = db.compose(_TEXT_IN_SCOPE, scope=scope.condition(query))
    return db.compose(
        _NEAREST,
        distance=distance,
        dimensions=dimensions,
        in_scope=in_scope,
        scope=scope.condition(query),
    )
