"""The model extraction slot: entity and relation extraction by a language model (LLM).

The graph keeps what the text of a record bears out.

The slot is there only where a model is, begins with the first record, and waits while
the model is away or the day's tokens are spent. What a model answers can cost a record
nothing: at worst nothing is learnt.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from reverie import errors
from reverie.graph.extraction import (
    model_entities,
    model_relations,
    readable_records,
    record_entities,
    update,
)
from reverie.llm import chat
from reverie.pipeline import node_vectors, slots
from reverie.privacy import sensitivity
from reverie.records import changes

log = logging.getLogger(__name__)

# Fewer things have no relation; a model is sure of a thing by so much, set by hand.
_WORTH_RELATING, _CONFIDENCE = 2, 0.8

# What was read in this process and not yet passed by the cursor: a batch that has to
# wait is not paid for twice.
_read: set[tuple[UUID, UUID, int]] = set()


async def read(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Ask the model about each changed record. Raises ModelUnavailable and BudgetSpent:
    the slot waits.
    """
    models = work.models
    if models is None or not models.is_configured:
        return
    latest = {
        change.record_id: change
        for change in batch
        if change.domain not in record_entities.FOREIGN_DOMAINS
    }
    unread = _unread(work, latest.values())
    records = await readable_records.fetch(work.database, work.user, unread)
    for record_id, record in records.items():
        try:
            await _read_record(work, models, record)
        except errors.Confined:
            continue
        _read.add((work.user.user_id, record_id, latest[record_id].seq))
    _read.difference_update(
        {
            (work.user.user_id, change.record_id, change.seq)
            for change in latest.values()
        }
    )
    await node_vectors.make(work)


MODEL_EXTRACTION = slots.Slot("model_extraction", before=read, asks=True)


def _unread(work: slots.Work, batch: Iterable[changes.Change]) -> dict[str, list[UUID]]:
    """The records by domain that were not read in this process."""
    ids: dict[str, list[UUID]] = defaultdict(list)
    for change in batch:
        if (work.user.user_id, change.record_id, change.seq) not in _read:
            ids[change.domain].append(change.record_id)
    return ids


async def _read_record(
    work: slots.Work, models: chat.Models, record: readable_records.ReadableRecord
) -> None:
    """Entities first, then the relations between them. Raises Confined, if no model may
    read the record.
    """
    text = "\n\n".join([record.title, *(passage for _, passage in record.passages)])
    level = sensitivity.named(record.record.sensitivity)
    entities = await model_entities.ask(
        models,
        work.user,
        text,
        domain=record.domain,
        record_id=record.record.id,
        level=level,
    )
    if entities.failed:
        log.info(
            "the model's answer about %s was of no use: %s",
            record.record.id,
            entities.failed,
        )
        return
    extraction = await _apply(work, record, entities)
    await _relate(work, models, extraction, text, level)


async def _apply(
    work: slots.Work,
    record: readable_records.ReadableRecord,
    entities: model_entities.ExtractedEntities,
) -> update.Extraction:
    """Into the graph, beside what the rules say."""
    named = [
        update.NamedEntity(
            item.kind, item.name, item.type, item.description, confidence=_CONFIDENCE
        )
        for item in entities.items
    ]
    extraction = update.Extraction(
        record.domain,
        record.record.id,
        record.title,
        record.at,
        by="model",
        named=named,
        stated=record_entities.stated_facts(entities.relations),
        undated=record.undated,
    )
    async with work.database.transaction(work.user) as tx:
        await update.apply(tx, work.user, extraction)
    return extraction


async def _relate(
    work: slots.Work,
    models: chat.Models,
    extraction: update.Extraction,
    text: str,
    level: sensitivity.Level,
) -> None:
    """The third step, for models that can call tools; a toy cannot."""
    if len(extraction.named) < _WORTH_RELATING or models.states()[0].toy:
        return
    try:
        await model_relations.relate(
            work.database, models, work.user, extraction, text, level
        )
    except errors.Confined:
        return
