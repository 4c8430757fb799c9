"""Which model a question is asked with: of those that can embed it now, the one that
covers most of what is kept.

A vector is compared with vectors of its own model alone, so the answer names the model.
"""

from collections.abc import Mapping
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


async def ask(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    text: str,
) -> ModelQuery:
    """The question as a vector of the best model that answers. Raises
    EmbedderUnavailable if none does.
    """
    async with database.snapshot(caller) as tx:
        known = {
            row["name"]: row
            for row in await tx.rows(_MODELS, (caller.user_id,), binary=True)
        }
    away: list[errors.EmbedderUnavailable] = []
    # Without any model, asking for none says so.
    for model in embeddings.by_coverage(
        {name: row["vectors"] for name, row in known.items()}
    ) or [None]:
        try:
            row = known.get(model or "", {})
            origin = embedding.Origin(caller, "search")
            vector = await embeddings.query(
                text, model, measured=_measured(row), origin=origin
            )
            literal = "[" + ",".join([f"{value:.5g}" for value in vector.values]) + "]"
            return ModelQuery(
                vector, literal, row.get("vectors", 0), row.get("everybodys", 0.0)
            )
        except errors.EmbedderUnavailable as one:
            away.append(one)
    raise away[0]


def _measured(row: Mapping[str, Any]) -> embedding.Calibration | None:
    if row.get("floor") is None:
        return None
    means = (
        embedding.LanguageMeans(np.asarray(row["means"], np.float32))
        if row["means"]
        else None
    )
    return embedding.Calibration(row["floor"], row["scale"], row["spread"], means)
