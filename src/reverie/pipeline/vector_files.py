"""Vector files kept up: made anew from the table once enough vectors came or went."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np

from reverie.pipeline import slots, vector_store
from reverie.search import vector_files, weights

# Vectors that are not in the file are compared one by one: a hundredth of all, or so
# many. What is gone may take more room.
_LEAST_FRESH = 500
_FRESH, _GONE = 0.01, 0.05
# A scan of more takes longer than the graph (bench/RESULTS.md).
_MOST = 400_000
_PIECE = 20_000

_STANDING = """
SELECT model.vectors, model.dimensions, vector_file.id, coalesce(vector_file.vectors, 0) AS filed,
    (SELECT count(*) FROM (
        SELECT FROM fresh_vector WHERE user_id = %(user)s AND fresh_vector.model = %(model)s LIMIT %(most)s
    )) AS fresh
FROM model LEFT JOIN vector_file ON vector_file.user_id = model.user_id AND vector_file.model = model.name
WHERE model.user_id = %(user)s AND model.name = %(model)s
"""
_FRESH_HASHES = "SELECT hash FROM fresh_vector WHERE user_id = %s AND model = %s"
_VECTORS = """
SELECT string_agg(hash, '') AS hashes, string_agg(halfvec_send(vector), '') AS vectors FROM (
    SELECT hash, vector FROM embedding WHERE user_id = %(user)s AND model = %(model)s AND hash > %(after)s
        AND dimensions = %(dimensions)s AND octet_length(hash) = 32
    ORDER BY hash LIMIT %(piece)s
)
"""
_KEPT = "SELECT id FROM vector_file WHERE user_id = %s"


@dataclass(frozen=True, slots=True)
class _Standing:
    """How many vectors a model has, how many of them a file, and how many came since."""

    vectors: int
    dimensions: int | None
    id: UUID | None
    filed: int
    fresh: int

    @property
    def is_due(self) -> bool:
        """Whether a file is worth its making."""
        if not weights.EXACT_VECTORS < self.vectors <= _MOST:
            return False
        gone = self.filed + self.fresh - self.vectors
        return (
            self.id is None
            or self.fresh > max(_LEAST_FRESH, _FRESH * self.vectors)
            or gone > max(_LEAST_FRESH, _GONE * self.vectors)
        )


async def renew(work: slots.Work) -> bool:
    """Make the file of the present model anew, if that is due; says whether it was.

    Search goes on with the one before, and knows of what came since.
    """
    model, cache = work.embeddings.model, work.embeddings.cache
    if not model or cache is None:
        return False
    values = {"user": work.user.user_id, "model": model, "most": _MOST}
    async with work.database.transaction(work.user) as tx:
        standing = await tx.one(_Standing, _STANDING, values)
    if standing is None or standing.dimensions is None:
        return False
    lost = standing.id and not _place(cache, work, standing.id).exists()
    if not standing.is_due and not lost:
        return False
    await _make(work, model, cache, standing.dimensions)
    return True


def _place(cache: Path, work: slots.Work, file: UUID) -> Path:
    return vector_files.place_of(cache, work.user.user_id, file)


async def _make(work: slots.Work, model: str, cache: Path, dimensions: int) -> None:
    user = work.user.user_id
    file = uuid4()
    place = _place(cache, work, file)
    place.mkdir(parents=True, mode=0o700)
    try:
        fresh, filed = await _write(work, model, place, dimensions)
        await asyncio.to_thread(vector_files.finish, place, dimensions)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    async with work.database.transaction(work.user) as tx:
        await vector_store.file(tx, work.user, model, file, filed, fresh)
        kept = {row["id"] for row in await tx.rows(_KEPT, (user,))}
    vector_files.drop_others(cache, user, kept)


async def _write(
    work: slots.Work, model: str, place: Path, dimensions: int
) -> tuple[list[bytes], int]:
    """Write all vectors of a moment: what was fresh then, and how many there are."""
    user = work.user.user_id
    row_type = np.dtype([("head", "V4"), ("vector", ">f2", (dimensions,))])
    values = {
        "user": user,
        "model": model,
        "dimensions": dimensions,
        "piece": _PIECE,
    }
    filed, after = 0, b""
    async with work.database.snapshot(work.user) as tx:
        rows = await tx.rows(_FRESH_HASHES, (user, model), binary=True)
        while True:
            (piece,) = await tx.rows(_VECTORS, values | {"after": after}, binary=True)
            if piece["hashes"] is None:
                return [row["hash"] for row in rows], filed
            vectors = np.frombuffer(piece["vectors"], row_type)["vector"]
            floats = vectors.astype(np.float32)
            await asyncio.to_thread(vector_files.add, place, piece["hashes"], floats)
            filed += len(floats)
            after = piece["hashes"][-32:]
