"""The embedding slot: one vector for each text and model, never made twice."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from reverie import db, errors, llm
from reverie.access import users
from reverie.pipeline import slots
from reverie.records import changes, passages

log = logging.getLogger(__name__)

# With `records` NULL: of any record.
_MISSING = """
SELECT DISTINCT ON (passage.hash) passage.hash, card.title, passage.text
FROM passage JOIN card USING (user_id, record_id)
WHERE passage.user_id = %(user)s AND (%(records)s::uuid[] IS NULL OR passage.record_id = ANY(%(records)s))
  AND passage.hash > %(after)s
  AND NOT EXISTS (
      SELECT FROM embedding
      WHERE embedding.user_id = passage.user_id AND embedding.model = %(model)s AND embedding.hash = passage.hash
  )
ORDER BY passage.hash LIMIT %(most)s
"""
_KEEP = """
INSERT INTO embedding (user_id, model, hash, vector, dimensions)
SELECT %s, %s, hash, vector::halfvec, vector_dims(vector::halfvec)
FROM unnest(%s::bytea[], %s::text[]) AS new (hash, vector)
ON CONFLICT DO NOTHING
"""
_LENGTH = "SELECT vector_dims(vector) FROM embedding WHERE user_id = %s AND model = %s LIMIT 1"
_SWEEP = """
DELETE FROM embedding WHERE user_id = %(user)s AND hash = ANY(%(hashes)s) AND NOT EXISTS (
    SELECT FROM passage WHERE passage.user_id = embedding.user_id AND passage.hash = embedding.hash
)
"""
_FORGET = "DELETE FROM embedding WHERE user_id = %s"
_COUNT = """
SELECT count(DISTINCT passage.hash) AS texts, count(DISTINCT embedding.hash) AS vectors
FROM passage LEFT JOIN embedding
    ON embedding.user_id = passage.user_id AND embedding.model = %(model)s AND embedding.hash = passage.hash
WHERE passage.user_id = %(user)s
"""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many different texts there are, and how many of them have a vector of the model."""

    texts: int
    vectors: int


async def embed(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Make the vectors that the changed records lack. Raises EmbedderUnavailable."""
    records = list({change.record_id for change in batch if change.action != "delete"})
    while records and work.embeddings.model:
        missing = await _lacking(work, records, b"")
        if not missing:
            return
        await _embedded(work, missing)


async def backfill(work: slots.Work, after: bytes) -> bytes | None:
    """Make the next vectors that any record lacks, as after a change of model, in the order of their keys.

    `after` is the key that was reached; returns the next one, or None at the end. A text that the model refuses is
    passed over: the change that brought it has its letter. Raises EmbedderUnavailable.
    """
    if not work.embeddings.model:
        return None
    missing = await _lacking(work, None, after)
    if not missing:
        return None
    await _keep(work, missing)
    return bytes(missing[-1]["hash"])


async def _keep(work: slots.Work, missing: Sequence[Mapping[str, Any]]) -> None:
    """Embed and keep; of a batch with a refused text, all but that text."""
    try:
        await _embedded(work, missing)
    except errors.Invalid as refused:
        if len(missing) == 1:
            log.warning("a text was refused by the model: %s", refused.message)
            return
        half = len(missing) // 2
        await _keep(work, missing[:half])
        await _keep(work, missing[half:])


async def _lacking(work: slots.Work, records: Sequence[UUID] | None, after: bytes) -> list[dict[str, Any]]:
    parameters = {
        "user": work.user.user_id,
        "records": records,
        "model": work.embeddings.model,
        "after": after,
        "most": work.embeddings.batch,
    }
    async with work.database.transaction(work.user) as tx:
        return await tx.rows(_MISSING, parameters)


async def _embedded(work: slots.Work, missing: Sequence[Mapping[str, Any]]) -> None:
    """One batch, kept at once: a kill costs one batch. Raises EmbedderUnavailable, Invalid."""
    model = work.embeddings.model
    vectors = await work.embeddings.passages([passages.embedded_text(row["title"], row["text"]) for row in missing])
    hashes = [row["hash"] for row in missing]
    async with work.database.transaction(work.user) as tx:
        length = await tx.value(_LENGTH, (work.user.user_id, model))
        if length not in (None, vectors.shape[1]):
            raise errors.EmbedderUnavailable(
                f"The model {model} gives vectors of length {vectors.shape[1]}, and those here have {length}.",
                hint="Is it another model by the same name? `reverie rebuild` makes all vectors again.",
            )
        await tx.run(_KEEP, (work.user.user_id, model, hashes, _literals(vectors)))


async def sweep(tx: db.Transaction, user: users.Reference, batch: Sequence[changes.Change]) -> None:
    """Drop the vectors of texts that are gone."""
    if any(change.action in ("delete", "update") for change in batch):
        await tx.run(_SWEEP, {"user": user.user_id, "hashes": await passages.take_stale(tx, user)})


async def forget(tx: db.Transaction, user: db.HasUser) -> None:
    """Drop every vector of the user, so that they are made again."""
    await tx.run(_FORGET, (user.user_id,))


async def coverage(tx: db.Transaction, user: db.HasUser, model: str) -> Coverage:
    """How much of the user's text search can find by meaning."""
    found = await tx.one(Coverage, _COUNT, {"user": user.user_id, "model": model})
    return found or Coverage(0, 0)


def _literals(vectors: llm.Vectors) -> list[str]:
    return ["[" + ",".join(f"{value:.6g}" for value in row) + "]" for row in vectors.tolist()]


EMBEDDING = slots.Slot("embedding", before=embed, within=sweep, idle=backfill)
