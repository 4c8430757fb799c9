"""The vectors of texts: kept, counted, and dropped with what they were made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from reverie import db, errors
from reverie.access import users
from reverie.llm import embedding
from reverie.pipeline import models
from reverie.records import changes, passages

# All numbers come as one array: as a text for each vector, PostgreSQL took longer to read
# them (66 ms for 256 vectors of 384, now 4) than for all else that is done to keep them.
_KEEP = """
INSERT INTO embedding (user_id, model, hash, vector, dimensions)
SELECT %(user)s, %(model)s, hash,
    (%(numbers)b::real[])[(number - 1) * %(length)s + 1 : number * %(length)s]::halfvec, %(length)s
FROM unnest(%(hashes)b::bytea[]) WITH ORDINALITY AS new (hash, number) ORDER BY hash
ON CONFLICT DO NOTHING
"""
_LENGTH = "SELECT vector_dims(vector) FROM embedding WHERE user_id = %s AND model = %s LIMIT 1"
_SWEEP = """
WITH gone AS (
    DELETE FROM embedding WHERE user_id = %(user)s AND hash = ANY(%(hashes)s) AND NOT EXISTS (
        SELECT FROM passage WHERE passage.user_id = embedding.user_id AND passage.hash = embedding.hash
    ) AND NOT EXISTS (
        SELECT FROM node WHERE node.user_id = embedding.user_id AND node.hash = embedding.hash
    ) RETURNING model
)
SELECT model, count(*) AS gone FROM gone GROUP BY model ORDER BY model
"""
_DROP = """
DELETE FROM embedding WHERE user_id = %(user)s AND model = %(model)s AND hash IN (
    SELECT hash FROM embedding WHERE user_id = %(user)s AND model = %(model)s ORDER BY hash LIMIT %(most)s
)
"""
_FORGET = "DELETE FROM embedding WHERE user_id = %s"
_COUNT = """
SELECT count(DISTINCT passage.hash) AS texts, count(DISTINCT embedding.hash) AS vectors
FROM passage LEFT JOIN embedding
    ON embedding.user_id = passage.user_id AND embedding.model = %(model)s AND embedding.hash = passage.hash
WHERE passage.user_id = %(user)s
"""
_BIT = 2000
# So much must have its vector before the old ones go: a model that refuses more than
# this is no replacement.
_ENOUGH = 0.95


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many different texts there are, and how many of them have a vector of the
    model.
    """

    texts: int
    vectors: int


async def keep(
    tx: db.Transaction,
    user: db.HasUser,
    model: str,
    hashes: Sequence[bytes],
    vectors: embedding.Vectors,
    *,
    pace: models.Pace = models.NO_PACE,
) -> None:
    """Keep the vectors of some texts. Raises EmbedderUnavailable when they are of
    another length than those that are there.
    """
    dimensions = int(vectors.shape[1])
    length = await tx.value(_LENGTH, (user.user_id, model))
    if length not in (None, dimensions):
        raise errors.EmbedderUnavailable(
            f"The model {model} gives vectors of length {dimensions}, and those here have {length}.",
            hint="Is it another model by the same name? `reverie rebuild` makes all vectors again.",
        )
    values = {
        "user": user.user_id,
        "model": model,
        "hashes": list(hashes),
        "numbers": db.Reals(vectors),
        "length": dimensions,
    }
    more = await tx.run(_KEEP, values)
    await models.count(tx, user, model, more, dimensions=dimensions, pace=pace)


async def sweep(
    tx: db.Transaction, user: users.Reference, batch: Sequence[changes.Change]
) -> None:
    """Drop the vectors of texts that are gone."""
    if any(change.action in ("delete", "update") for change in batch):
        await drop(tx, user, await passages.take_stale(tx, user))


async def drop(tx: db.Transaction, user: db.HasUser, hashes: Sequence[bytes]) -> None:
    """Drop the vectors of some texts, unless a passage or a node of the graph still has
    the same text.
    """
    if not hashes:
        return
    values = {"user": user.user_id, "hashes": list(hashes)}
    for row in await tx.rows(_SWEEP, values):
        await models.count(tx, user, row["model"], -row["gone"])


async def forget(tx: db.Transaction, user: db.HasUser) -> None:
    """Drop every vector of the user, so that they are made again."""
    await tx.run(_FORGET, (user.user_id,))
    await models.forget(tx, user)


async def replaces(tx: db.Transaction, user: db.HasUser, model: str) -> bool:
    """Whether the present model has made enough vectors for those of others to go."""
    if len(await models.of_user(tx, user)) < 2:
        return False
    covered = await coverage(tx, user, model)
    return covered.vectors >= _ENOUGH * covered.texts


async def drop_replaced(tx: db.Transaction, user: db.HasUser, model: str) -> bool:
    """Drop some of the vectors that those of the present model have replaced; says
    whether there were any.

    Only of models chosen before it: of two processes with different settings, one must
    not undo the other's work.
    """
    standing = {known.name: known for known in await models.of_user(tx, user)}
    present = standing.get(model)
    if present is None:
        return False
    earlier = [
        known for known in standing.values() if known.chosen_at < present.chosen_at
    ]
    if not earlier:
        return False
    old = earlier[0].name
    gone = await tx.run(_DROP, {"user": user.user_id, "model": old, "most": _BIT})
    if gone:
        await models.count(tx, user, old, -gone)
    else:
        await models.dismiss(tx, user, old)
    return True


async def coverage(tx: db.Transaction, user: db.HasUser, model: str) -> Coverage:
    """How much of the user's text search can find by meaning."""
    counted = await tx.one(Coverage, _COUNT, {"user": user.user_id, "model": model})
    return counted or Coverage(0, 0)
