"""The embedding slot: queues the texts that changes bring, and makes their vectors.

After a change of model the vectors of the new one are made bit by bit, while search
goes on with those of the old one; when they are complete the old ones are dropped.
Vectors of two models are never compared.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from reverie import db, errors
from reverie.llm import embedding
from reverie.pipeline import dead_letters, embed_queue, models, slots, vector_store
from reverie.records import changes, passages

log = logging.getLogger(__name__)

_NAME = "embedding"
# A text of several records is as private as the most private of them.
_TEXTS = """
SELECT DISTINCT ON (passage.hash) passage.hash, card.title, passage.text, passage.head, card.sensitivity,
    embedding.hash IS NOT NULL AS embedded
FROM passage JOIN card USING (user_id, record_id)
LEFT JOIN embedding
    ON embedding.user_id = passage.user_id AND embedding.model = %(model)s AND embedding.hash = passage.hash
WHERE passage.user_id = %(user)s AND passage.hash = ANY(%(hashes)s)
ORDER BY passage.hash, array_position(ARRAY['critical', 'high', 'normal', 'low'], card.sensitivity)
"""
# What waits in the queue is no business of a second try.
_REFUSED = """
SELECT DISTINCT passage.hash FROM passage
WHERE passage.user_id = %(user)s AND passage.record_id = ANY(%(records)s) AND passage.hash IS NOT NULL AND NOT EXISTS (
    SELECT FROM embedding
    WHERE embedding.user_id = passage.user_id AND embedding.model = %(model)s AND embedding.hash = passage.hash
) AND NOT EXISTS (
    SELECT FROM unembedded
    WHERE unembedded.user_id = passage.user_id AND unembedded.hash = passage.hash AND unembedded.seq IS NOT NULL
)
"""
# Behind the last key of a text: all is queued; then what the new vectors replace is
# dropped.
_QUEUED = b"\xff" * 33
_REPLACED = b"\xff" * 34
# Levels that may travel together.
_APART = (
    (embedding.Level.LOW, embedding.Level.NORMAL),
    (embedding.Level.HIGH, embedding.Level.HIGH),
    (embedding.Level.CRITICAL, embedding.Level.CRITICAL),
)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text to embed: all that the model reads, and how private its record is."""

    hash: bytes
    said: str
    sensitivity: str
    seq: int | None


@dataclass(frozen=True, slots=True)
class _Task:
    """Which vectors are to be made, and how soon."""

    work: slots.Work
    model: str
    lane: embedding.Lane


async def enqueue(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Queue the texts of changed records that have no vector of the present model."""
    model = work.embeddings.model
    if not model:
        return
    for some in embed_queue.latest(batch):
        async with work.database.transaction(work.user) as tx:
            await embed_queue.add(tx, work.user, model, some)


async def retry(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Try the texts once more that the model refused. Raises EmbedderUnavailable,
    Invalid.
    """
    model = work.embeddings.model
    if not model:
        return
    values = {
        "user": work.user.user_id,
        "model": model,
        "records": [change.record_id for change in batch],
    }
    async with work.database.transaction(work.user) as tx:
        hashes = [row["hash"] for row in await tx.rows(_REFUSED, values)]
    task = _Task(work, model, "realtime")
    for start in range(0, len(hashes), work.embeddings.batch):
        some = hashes[start : start + work.embeddings.batch]
        refused = [_unqueued(digest) for digest in some]
        async with work.database.transaction(work.user) as tx:
            lacking = await _lacking(tx, work, model, refused)
        await _embed(task, lacking)


async def work_off(work: slots.Work) -> bool:
    """Make the vectors of the texts whose turn it is; says whether there were any.

    A kill costs one batch. Raises EmbedderUnavailable.
    """
    model = work.embeddings.model
    if not model:
        return False
    async with work.database.transaction(work.user) as tx:
        batch = await embed_queue.following(tx, work.user, most=work.embeddings.at_once)
        if not batch:
            return False
        used = models.used(work.embeddings, await models.of_user(tx, work.user))
        lacking = await _lacking(tx, work, model, batch)
    await models.calibrate(work, [model])
    written = batch[0].level == embed_queue.Urgency.WRITTEN
    lane: embedding.Lane = "realtime" if written else "bulk"
    if used != model:
        await _embed_besides(_Task(work, used, lane), batch)
    done = {waiting.hash for waiting in batch} - {text.hash for text in lacking}
    if done:  # gone, or embedded meanwhile
        async with work.database.transaction(work.user) as tx:
            await embed_queue.remove(tx, work.user, list(done))
    await _embed_all(_Task(work, model, lane), lacking)
    return True


async def backfill(work: slots.Work, after: bytes) -> bytes | None:
    """Queue what no change tells of, as after a change of model, and make its vectors;
    then drop those that they replace.

    `after` is the key that was reached; returns the next one, or None at the end. A
    text that the model refuses is passed over: the change that brought it has its
    letter. Raises EmbedderUnavailable.
    """
    model = work.embeddings.model
    if not model:
        return None
    if after == _REPLACED:
        async with work.database.transaction(work.user) as tx:
            more = await vector_store.drop_replaced(tx, work.user, model)
        return _REPLACED if more else None
    if after == _QUEUED:
        if await work_off(work):
            return _QUEUED
        return _REPLACED if await _replaces(work, model) else None
    if not after:
        await models.calibrate(work, work.embeddings.models)
    async with work.database.transaction(work.user) as tx:
        reached = await embed_queue.fill(tx, work.user, model, after)
    return reached or _QUEUED


async def _replaces(work: slots.Work, model: str) -> bool:
    if work.embeddings.keeps_previous:
        return False
    async with work.database.transaction(work.user) as tx:
        return await vector_store.replaces(tx, work.user, model)


async def _embed_besides(task: _Task, batch: Sequence[embed_queue.Waiting]) -> None:
    """What changes brought, for the old model, as far as it goes: it is on its way out."""
    brought = [waiting for waiting in batch if waiting.seq is not None]
    async with task.work.database.transaction(task.work.user) as tx:
        lacking = await _lacking(tx, task.work, task.model, brought)
    try:
        await _embed(task, lacking, besides=True)
    except (errors.EmbedderUnavailable, errors.Invalid) as away:
        log.warning("the model %s misses a change: %s", task.model, away.message)


async def _lacking(
    tx: db.Transaction,
    work: slots.Work,
    model: str,
    batch: Sequence[embed_queue.Waiting],
) -> list[_Text]:
    """Those of the texts that are still there, and have no vector of the model."""
    by_hash = {waiting.hash: waiting for waiting in batch}
    values = {
        "user": work.user.user_id,
        "model": model,
        "hashes": list(by_hash),
    }
    rows = await tx.rows(_TEXTS, values)
    return [
        _Text(
            row["hash"],
            passages.embedded_text(row["title"], row["text"], row["head"]),
            row["sensitivity"],
            by_hash[row["hash"]].seq,
        )
        for row in rows
        if not row["embedded"]
    ]


def _unqueued(digest: bytes) -> embed_queue.Waiting:
    return embed_queue.Waiting(digest, None, embed_queue.Urgency.WRITTEN, 0)


async def _embed_all(task: _Task, texts: Sequence[_Text]) -> None:
    """Embed a batch; of one with a bad text, all but that text."""
    if not texts:
        return
    try:
        await _embed(task, texts)
    except errors.Unavailable:
        raise
    except Exception as failure:  # noqa: BLE001 - a model may fail in any way; the change is put aside with the reason
        if len(texts) == 1:
            await _put_aside(task.work, texts[0], failure)
            return
        half = len(texts) // 2
        await _embed_all(task, texts[:half])
        await _embed_all(task, texts[half:])


async def _put_aside(work: slots.Work, text: _Text, failure: Exception) -> None:
    """A text that the model refuses waits no longer; the change that brought it has a
    letter.
    """
    log.warning("a text was refused by the model: %r", failure)
    reason = f"{type(failure).__name__}: {failure}"
    async with work.database.transaction(work.user) as tx:
        await embed_queue.remove(tx, work.user, [text.hash])
        if text.seq is not None:
            for change in await changes.by_number(tx, work.user, [text.seq]):
                await dead_letters.begin(tx, work.user, _NAME, change, reason)


async def _embed(task: _Task, texts: Sequence[_Text], *, besides: bool = False) -> None:
    """One batch, kept at once. Raises EmbedderUnavailable, Invalid.

    What is private travels apart from the rest, so that a text is sent the same way
    whatever stands beside it. What may not leave has no vector of a model elsewhere,
    and is found by its words.
    """
    work = task.work
    levels = await work.embeddings.judged(
        [text.said for text in texts],
        [text.sensitivity for text in texts],
        task.model,
    )
    for low, high in _APART:
        chosen = [i for i, level in enumerate(levels) if low <= level <= high]
        if not chosen:
            continue
        some = [texts[i] for i in chosen]
        origin = embedding.Origin(
            work.user, _NAME, level=max(levels[i] for i in chosen), lane=task.lane
        )
        await _keep(task, some, origin, queued=not besides)


async def _keep(
    task: _Task,
    texts: Sequence[_Text],
    origin: embedding.Origin,
    *,
    queued: bool,
) -> None:
    """Embed what may travel together; it leaves the queue with its vectors."""
    work = task.work
    hashes = [text.hash for text in texts]
    began = time.monotonic()
    vectors: embedding.Vectors | None = None
    try:
        vectors = await work.embeddings.passages(
            [text.said for text in texts], task.model, origin=origin
        )
    except errors.Confined as kept:
        log.info(
            "%s texts have no vector of %s: %s", len(texts), task.model, kept.message
        )
    letters = sum(len(text.said) for text in texts)
    pace = models.Pace(letters, time.monotonic() - began)
    # Vectors that are lost are still queued.
    async with work.database.transaction(work.user, durable=False) as tx:
        if vectors is not None:
            await vector_store.keep(
                tx, work.user, task.model, hashes, vectors, pace=pace
            )
        if queued:
            await embed_queue.remove(tx, work.user, hashes)


EMBEDDING = slots.Slot(
    _NAME,
    before=enqueue,
    again=retry,
    within=vector_store.sweep,
    queue=work_off,
    idle=backfill,
)
