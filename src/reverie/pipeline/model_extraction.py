"""The ingestion slot: a language model reads records as well, and the graph keeps what
their text bears out.

It is there only where a model is, begins with the first record, and waits while the
model is away or the day's tokens are spent. What a model answers can cost a record
nothing: at worst nothing is learnt.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from reverie import errors
from reverie.graph.extraction import model_entities, model_relations, update
from reverie.llm import chat
from reverie.pipeline import embed, rule_extraction, slots
from reverie.privacy import sensitivity
from reverie.records import changes

log = logging.getLogger(__name__)

_WORTH_TYING = 2

# What was read in this process and not yet passed by the cursor: a batch that has to
# wait is not paid for twice.
_read: set[tuple[UUID, UUID, int]] = set()


async def read(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Ask the model about each changed record. Raises ModelUnavailable and BudgetSpent:
    the slot waits.
    """
    models = work.models
    if models is None or not models.there:
        return
    latest = {
        change.record_id: change
        for change in batch
        if change.domain not in rule_extraction.OF_OTHERS
    }
    there: dict[str, list[UUID]] = defaultdict(list)
    for change in latest.values():
        if (work.user.user_id, change.record_id, change.seq) not in _read:
            there[change.domain].append(change.record_id)
    for record_id, source in (
        await rule_extraction.sources(work.database, work.user, there)
    ).items():
        text = "\n\n".join([source.title, *(part for _, part in source.passages)])
        try:
            found = await model_entities.ask(
                models,
                work.user,
                text,
                domain=source.domain,
                record_id=record_id,
                level=sensitivity.named(source.record.sensitivity),
            )
        except errors.Confined:
            continue
        if found.failed:
            log.info(
                "the model's answer about %s was of no use: %s", record_id, found.failed
            )
        else:
            reading = await _learn(work, source, found)
            await _relate(
                work,
                models,
                reading,
                text,
                sensitivity.named(source.record.sensitivity),
            )
        _read.add((work.user.user_id, record_id, latest[record_id].seq))
    _read.difference_update(
        {(work.user.user_id, one.record_id, one.seq) for one in latest.values()}
    )
    await embed.nodes(work)


INGESTION = slots.Slot("ingestion", before=read, asks=True)


async def _learn(
    work: slots.Work,
    source: rule_extraction.ReadableRecord,
    found: model_entities.ExtractedEntities,
) -> update.Extraction:
    named = [
        update.NamedEntity(
            one.kind, one.name, one.type, one.description, confidence=0.8
        )
        for one in found.items
    ]
    reading = update.Extraction(
        source.domain,
        source.record.id,
        source.title,
        source.at,
        by="model",
        named=named,
        stated=rule_extraction.statements(found.relations),
    )
    async with work.database.transaction(work.user) as tx:
        await update.apply(tx, work.user, reading)
    return reading


async def _relate(
    work: slots.Work,
    models: chat.Models,
    reading: update.Extraction,
    text: str,
    level: sensitivity.Level,
) -> None:
    """The third step, for models that can call tools; a toy cannot."""
    if len(reading.named) < _WORTH_TYING or models.states()[0].toy:
        return
    try:
        await model_relations.relate(
            work.database, models, work.user, reading, text, level
        )
    except errors.Confined:
        return
