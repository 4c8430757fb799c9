"""Query embedding: the question as a vector of the model that covers most passages.

It is one of those that can embed it now (docs/decisions/0010). A vector is compared
with vectors of its own model alone, so the answer names the model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reverie import db, errors
from reverie.access import callers
from reverie.llm import embedding

_MODELS = """
SELECT name, vectors, floor, scale, spread, means,
    (SELECT reltuples FROM pg_class WHERE oid = 'embedding'::regclass)::float8 AS everybodys
FROM model WHERE user_id = %s
"""


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """A question as a vector, how many vectors of its model the user has, and how many
    there are of all users.
    """

    vector: embedding.QueryVector
    literal: str  # as pgvector reads it
    own: int
    everybodys: float


async def embed(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    text: str,
) -> ModelQuery:
    """The question as a vector of the best model that answers. Raises
    EmbedderUnavailable if none does.
    """
    async with database.snapshot(caller) as tx:
        (rows,) = await tx.together(statement(caller))
    return await embedded(caller, embeddings, text, rows)


def statement(caller: callers.Caller) -> db.Statement:
    """What is read of a user's models."""
    return _MODELS, (caller.user_id,)


async def embedded(
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    text: str,
    rows: Sequence[Mapping[str, Any]],
) -> ModelQuery:
    """The same by the rows that `statement` gave."""
    by_name = {row["name"]: row for row in rows}
    covered = {name: row["vectors"] for name, row in by_name.items()}
    origin = embedding.Origin(caller, "search")
    failures: list[errors.EmbedderUnavailable] = []
    # Without any model, asking for none says so.
    for model in embeddings.by_coverage(covered) or [None]:
        try:
            row = by_name.get(model or "", {})
            return await _embedded(embeddings, text, model, row, origin)
        except errors.EmbedderUnavailable as failure:
            failures.append(failure)
    raise failures[0]


async def _embedded(
    embeddings: embedding.Embeddings,
    text: str,
    model: str | None,
    row: Mapping[str, Any],
    origin: embedding.Origin,
) -> ModelQuery:
    # A model reads capitals letter by letter.
    written = text.lower() if text.isupper() else text
    vector = await embeddings.query(
        written, model, measured=_calibration(row), origin=origin
    )
    literal = "[" + ",".join([f"{value:.5g}" for value in vector.values]) + "]"
    return ModelQuery(
        vector, literal, row.get("vectors", 0), row.get("everybodys", 0.0)
    )


def _calibration(row: Mapping[str, Any]) -> embedding.Calibration | None:
    """What was measured of the model of a row, if anything was."""
    if row.get("floor") is None:
        return None
    means = None
    if row["means"]:
        means = embedding.LanguageMeans(np.asarray(row["means"], np.float32))
    return embedding.Calibration(row["floor"], row["scale"], row["spread"], means)
