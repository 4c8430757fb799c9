"""The rule extraction slot: named entities and relations of changed records, by rules.

What records say becomes nodes and links, by their fields and by rules, without a model.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from reverie import db, offload
from reverie.access import callers, users
from reverie.graph.extraction import (
    affected_records,
    known_values,
    owner_node,
    readable_records,
    record_entities,
    update,
)
from reverie.graph.resolution import keys
from reverie.pipeline import node_vectors, slots
from reverie.records import changes
from reverie.search import lexical
from reverie.search import query as queries

# So many records that name something new are read again; and so often, as what is read
# again may name something new.
_MOST_NAMING, _ROUNDS = 200, 4


async def read(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Keep what the changed records say; withdraw what deleted ones said. As often as
    wanted, with one result.
    """
    ids = _by_domain(batch)
    async with work.database.transaction(work.user) as tx:
        begun = await tx.value("SELECT now()")
        ids["contact"] += await affected_records.unread_contacts(
            tx,
            work.user,
            besides=ids["contact"],
            after=(batch[-1].xid, batch[-1].seq),
        )
    records = await readable_records.fetch(work.database, work.user, ids)
    await _withdraw_deleted(work, ids, records)
    live = records.values()
    await _extract(work, [record for record in live if record.domain == "contact"])
    await _extract(work, [record for record in live if record.domain != "contact"])
    titles = [record.title for record in live if record.domain == "note"]
    await _extract_affected(work, begun, titles)
    async with work.database.transaction(work.user) as tx:
        await owner_node.ensure(tx, work.user)
    await node_vectors.make(work)


RULE_EXTRACTION = slots.Slot("rule_extraction", before=read)


def _by_domain(batch: Sequence[changes.Change]) -> dict[str, list[UUID]]:
    """The changed records by domain, each once."""
    ids: dict[str, list[UUID]] = defaultdict(list)
    for change in batch:
        if change.record_id not in ids[change.domain]:
            ids[change.domain].append(change.record_id)
    return ids


async def _withdraw_deleted(
    work: slots.Work,
    ids: Mapping[str, Sequence[UUID]],
    live: Collection[UUID],
) -> None:
    """What records that are gone said is withdrawn."""
    async with work.database.transaction(work.user) as tx:
        await owner_node.ensure(tx, work.user)
        for record_ids in ids.values():
            for record_id in record_ids:
                if record_id not in live:
                    await update.withdraw(tx, work.user, record_id)


async def _extract(
    work: slots.Work, records: Collection[readable_records.ReadableRecord]
) -> None:
    """Read each record with what is known now: all names are looked up once, and not
    for each record.
    """
    if not records:
        return
    async with work.database.transaction(work.user) as tx:
        known_nodes = await known_values.of(tx, work.user)
    for record in records:
        size = sum(len(text) for _, text in record.passages)
        entities = await offload.to_thread(
            size, record_entities.extract, record, known_nodes
        )
        async with work.database.transaction(work.user) as tx:
            await _apply(tx, work.user, record, entities)


async def _apply(
    tx: db.Transaction,
    user: users.Reference,
    record: readable_records.ReadableRecord,
    entities: record_entities.RecordEntities,
) -> None:
    """Into the graph, with the records that this one links to: they are no topics."""
    linked = await affected_records.titled(tx, user, entities.linked_titles)
    titles = {other.title for other in linked}
    if record.domain == "note":
        titles.add(record.title)
    named = [
        entity
        for entity in entities.extraction.named
        if entity.kind != "concept" or entity.name not in titles
    ]
    extraction = replace(entities.extraction, named=named, records=linked)
    await update.apply(tx, user, extraction)


async def _extract_affected(
    work: slots.Work, since: datetime, titles: Sequence[str]
) -> None:
    """Read again what names something that has a node only now, for some rounds."""
    for _ in range(_ROUNDS):
        since, ids = await _affected(work, since, titles)
        if not ids:
            return
        records = await readable_records.fetch(work.database, work.user, ids)
        await _extract(work, records.values())
        titles = []


async def _affected(
    work: slots.Work, since: datetime, titles: Sequence[str]
) -> tuple[datetime, dict[str, list[UUID]]]:
    """Records by domain that name what has a node only since then, or that link to a
    note that was not there.

    And the time until which that is known.
    """
    user_id = work.user.user_id
    caller = callers.Caller(user_id, "machine", "extraction", frozenset({"*:*"}))
    async with work.database.snapshot(work.user) as tx:
        now = await tx.value("SELECT now()")
        ids: set[UUID] = set()
        for name in await affected_records.new_names(tx, work.user, since):
            query = queries.Query(text=name)
            hits = await lexical.retrieve_phrases(
                tx, caller, query, [name], depth=_MOST_NAMING
            )
            ids.update(hit.record_id for hit in hits)
        normalised = [keys.normalised(title) for title in titles]
        ids |= await affected_records.linking_to(tx, work.user, normalised)
        return now, await affected_records.by_domain(tx, work.user, ids)
