"""Rebuild: makes all derived data again from the records (reindex, backfill).

Heat, imports and what was done to the graph by hand are not derived; what a model read
is not paid for twice.
"""

from collections.abc import Callable

from reverie import db
from reverie.access import callers
from reverie.pipeline import embed, rule_extraction, slots, vector_store
from reverie.records import base, bulk, catalogue, passages, postings, record_types


async def rebuild(
    database: db.Database,
    caller: callers.Caller,
    *,
    vectors: bool = True,
    progress: Callable[[int], None],
) -> int:
    """Judge every live record anew, write its passages and let the embedding slot start over;
    returns how many records.

    `progress` is told how many are done. Everybody may read and write meanwhile: a
    record is locked while its text is written. Stopped half-way, it can simply be run
    again.
    """
    async with database.transaction(caller) as tx:
        if vectors:
            await vector_store.forget(tx, caller)
        await slots.reset(tx, caller, embed.EMBEDDING.name)
        await slots.reset(tx, caller, rule_extraction.RULE_EXTRACTION.name)
        old = [segment.id for segment in await postings.segments(tx, caller)]
    done = 0
    for domain in catalogue.DOMAINS.values():
        async for tx, records in bulk.walk(database, caller, domain):
            for kept in records:
                record = await base.reclassify(tx, caller, domain, kept)
                await passages.rewrite(
                    tx,
                    caller,
                    domain=domain.name,
                    record_id=record.id,
                    sensitivity=record.sensitivity,
                    new=record_types.text_of(domain, record),
                )
            await passages.pack(tx, caller)
            done += len(records)
            progress(done)
    async with database.transaction(caller) as tx:
        await passages.sweep(tx, caller, domains=catalogue.DOMAINS)
        await postings.drop(tx, caller, old)
        # Once more: the slot may have followed a change before its record's turn came.
        await slots.reset(tx, caller, embed.EMBEDDING.name)
    return done
