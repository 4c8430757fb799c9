"""The embedding slot: embeddings of texts, one a model, and their backfill.

After a change of model the vectors of the new one are made bit by bit, while search
goes on with those of the old one; when they are complete the old ones are dropped.
Vectors of two models are never compared.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from reverie import db, errors
from reverie.access import users
from reverie.graph import node_data
from reverie.llm import embedding
from reverie.pipeline import models, slots
from reverie.records import changes, passages

log = logging.getLogger(__name__)

# With `records` NULL: of any record. A text of several records is as private as the
# most private of them.
_MISSING = """
SELECT DISTINCT ON (passage.hash) passage.hash, card.title, passage.text, passage.head, card.sensitivity
FROM passage JOIN card USING (user_id, record_id)
WHERE passage.user_id = %(user)s AND (%(records)s::uuid[] IS NULL OR passage.record_id = ANY(%(records)s))
  AND passage.hash > %(after)s
  AND NOT EXISTS (
      SELECT FROM embedding
      WHERE embedding.user_id = passage.user_id AND embedding.model = %(model)s AND embedding.hash = passage.hash
  )
ORDER BY passage.hash, array_position(ARRAY['critical', 'high', 'normal', 'low'], card.sensitivity) LIMIT %(most)s
"""
# Nodes of the graph that say what they are, and have no vector of it.
_NODES = """
SELECT DISTINCT ON (node.hash) node.hash, node.kind, node.name, node.description, node.properties FROM node
WHERE node.user_id = %(user)s AND node.hash IS NOT NULL AND node.deleted_at IS NULL AND NOT EXISTS (
    SELECT FROM embedding
    WHERE embedding.user_id = node.user_id AND embedding.model = %(model)s AND embedding.hash = node.hash
)
ORDER BY node.hash LIMIT %(most)s
"""
_KEEP = """
INSERT INTO embedding (user_id, model, hash, vector, dimensions)
SELECT %s, %s, hash, vector::halfvec, vector_dims(vector::halfvec)
FROM unnest(%s::bytea[], %s::text[]) AS new (hash, vector)
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
# After the last key of a text: what is left to do is to drop what the new vectors
# replace.
_REPLACED = b"\xff" * 33
_BIT = 2000
# So much must have its vector before the old ones go: a model that refuses more than
# this is no replacement.
_ENOUGH = 0.95
# Levels that may travel together.
_APART = (
    (embedding.Level.LOW, embedding.Level.NORMAL),
    (embedding.Level.HIGH, embedding.Level.HIGH),
    (embedding.Level.CRITICAL, embedding.Level.CRITICAL),
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many different texts there are, and how many of them have a vector of the
    model.
    """

    texts: int
    vectors: int


async def embed(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Make the vectors that the changed records lack: of the present model, and of the
    one that search still uses.

    Raises EmbedderUnavailable, Invalid.
    """
    model = work.embeddings.model
    records = list({change.record_id for change in batch if change.action != "delete"})
    if not records or not model:
        return
    await models.calibrate(work, [model])
    after = b""
    while missing := await _lacking(work, model, records, after):
        await _embedded(work, model, missing, lane="realtime")
        after = bytes(missing[-1]["hash"])
    async with work.database.transaction(work.user) as tx:
        used = models.used(work.embeddings, await models.of_user(tx, work.user))
    if used != model:
        await _embed_besides(work, used, records)


async def nodes(work: slots.Work) -> None:
    """Make the vectors that nodes of the graph lack, as far as the model goes: what is
    left is made the next time.

    What is said of somebody is as private as a mail.
    """
    model = work.embeddings.model
    origin = embedding.Origin(
        work.user, "embedding", level=embedding.Level.HIGH, lane="bulk"
    )
    while model:
        async with work.database.transaction(work.user) as tx:
            values = {
                "user": work.user.user_id,
                "model": model,
                "most": work.embeddings.batch,
            }
            missing = await tx.rows(_NODES, values)
        if not missing:
            return
        try:
            vectors = await work.embeddings.passages(
                [_text_of_node(row) for row in missing], model, origin=origin
            )
        except (errors.Unavailable, errors.Invalid, errors.Confined) as away:
            log.info("%s nodes have no vector yet: %s", len(missing), away.message)
            return
        await _kept(work, model, [row["hash"] for row in missing], vectors)


def _text_of_node(row: Mapping[str, Any]) -> str:
    return node_data.text_of(
        row["kind"], row["name"], row["description"], row["properties"]
    )


async def _embed_besides(work: slots.Work, model: str, records: Sequence[UUID]) -> None:
    """The same for the old model, as far as it goes: it is on its way out."""
    after = b""
    try:
        while missing := await _lacking(work, model, records, after):
            await _keep(work, model, missing)
            after = bytes(missing[-1]["hash"])
    except errors.EmbedderUnavailable as away:
        log.warning("the model %s misses a change: %s", model, away.message)


async def backfill(work: slots.Work, after: bytes) -> bytes | None:
    """Make the next vectors that any record lacks, as after a change of model, in the
    order of their keys.

    `after` is the key that was reached; returns the next one, or None at the end. A
    text that the model refuses is passed over: the change that brought it has its
    letter. Raises EmbedderUnavailable.
    """
    model = work.embeddings.model
    if not model:
        return None
    if after == _REPLACED:
        return _REPLACED if await _dropped(work, model) else None
    if not after:
        await models.calibrate(work, work.embeddings.models)
    missing = await _lacking(work, model, None, after)
    if not missing:
        return _REPLACED if await _replaces(work, model) else None
    await _keep(work, model, missing)
    return bytes(missing[-1]["hash"])


async def _keep(
    work: slots.Work, model: str, missing: Sequence[Mapping[str, Any]]
) -> None:
    """Embed and keep; of a batch with a refused text, all but that text."""
    try:
        await _embedded(work, model, missing, lane="bulk")
    except errors.Invalid as refused:
        if len(missing) == 1:
            log.warning("a text was refused by the model: %s", refused.message)
            return
        half = len(missing) // 2
        await _keep(work, model, missing[:half])
        await _keep(work, model, missing[half:])


async def _replaces(work: slots.Work, model: str) -> bool:
    """Whether the present model has made enough vectors for the old ones to go."""
    if work.embeddings.keeps_previous:
        return False
    async with work.database.transaction(work.user) as tx:
        if len(await models.of_user(tx, work.user)) < 2:
            return False
        covered = await coverage(tx, work.user, model)
    return covered.vectors >= _ENOUGH * covered.texts


async def _dropped(work: slots.Work, model: str) -> bool:
    """Drop some of the vectors that those of the present model have replaced; says
    whether there were any.

    Only of models chosen before it: of two processes with different settings, one must
    not undo the other's work.
    """
    async with work.database.transaction(work.user) as tx:
        standing = await models.of_user(tx, work.user)
        present = next((model_ for model_ in standing if model_.name == model), None)
        old = next(
            (
                other
                for other in standing
                if present and other.chosen_at < present.chosen_at
            ),
            None,
        )
        if old is None:
            return False
        gone = await tx.run(
            _DROP, {"user": work.user.user_id, "model": old.name, "most": _BIT}
        )
        if gone:
            await models.count(tx, work.user, old.name, -gone)
        else:
            await models.dismiss(tx, work.user, old.name)
    return True


async def _lacking(
    work: slots.Work, model: str, records: Sequence[UUID] | None, after: bytes
) -> list[dict[str, Any]]:
    parameters = {
        "user": work.user.user_id,
        "records": records,
        "model": model,
        "after": after,
        "most": work.embeddings.batch,
    }
    async with work.database.transaction(work.user) as tx:
        return await tx.rows(_MISSING, parameters)


async def _embedded(
    work: slots.Work,
    model: str,
    missing: Sequence[Mapping[str, Any]],
    *,
    lane: embedding.Lane,
) -> None:
    """One batch, kept at once: a kill costs one batch. Raises EmbedderUnavailable,
    Invalid.

    What is private travels apart from the rest, so that a text is sent the same way
    whatever stands beside it. What may not leave has no vector of a model elsewhere,
    and is found by its words.
    """
    texts = [
        passages.embedded_text(row["title"], row["text"], row["head"])
        for row in missing
    ]
    levels = await work.embeddings.judged(
        texts, [row["sensitivity"] for row in missing], model
    )
    for low, high in _APART:
        chosen = [i for i, level in enumerate(levels) if low <= level <= high]
        if not chosen:
            continue
        origin = embedding.Origin(
            work.user, "embedding", level=max(levels[i] for i in chosen), lane=lane
        )
        try:
            vectors = await work.embeddings.passages(
                [texts[i] for i in chosen], model, origin=origin
            )
        except errors.Confined as kept:
            log.info(
                "%s texts have no vector of %s: %s", len(chosen), model, kept.message
            )
            continue
        await _kept(work, model, [missing[i]["hash"] for i in chosen], vectors)


async def _kept(
    work: slots.Work, model: str, hashes: Sequence[bytes], vectors: embedding.Vectors
) -> None:
    async with work.database.transaction(work.user) as tx:
        length = await tx.value(_LENGTH, (work.user.user_id, model))
        if length not in (None, vectors.shape[1]):
            raise errors.EmbedderUnavailable(
                f"The model {model} gives vectors of length {vectors.shape[1]}, and those here have {length}.",
                hint="Is it another model by the same name? `reverie rebuild` makes all vectors again.",
            )
        more = await tx.run(
            _KEEP, (work.user.user_id, model, list(hashes), _literals(vectors))
        )
        await models.count(tx, work.user, model, more, dimensions=int(vectors.shape[1]))


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
    for row in (
        await tx.rows(_SWEEP, {"user": user.user_id, "hashes": list(hashes)})
        if hashes
        else ()
    ):
        await models.count(tx, user, row["model"], -row["gone"])


async def forget(tx: db.Transaction, user: db.HasUser) -> None:
    """Drop every vector of the user, so that they are made again."""
    await tx.run(_FORGET, (user.user_id,))
    await models.forget(tx, user)


async def coverage(tx: db.Transaction, user: db.HasUser, model: str) -> Coverage:
    """How much of the user's text search can find by meaning."""
    counted = await tx.one(Coverage, _COUNT, {"user": user.user_id, "model": model})
    return counted or Coverage(0, 0)


def _literals(vectors: embedding.Vectors) -> list[str]:
    return [
        "[" + ",".join(f"{value:.6g}" for value in row) + "]"
        for row in vectors.tolist()
    ]


EMBEDDING = slots.Slot("embedding", before=embed, within=sweep, idle=backfill)
