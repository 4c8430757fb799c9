"""The extraction slot: what records say becomes nodes and links, by their fields and by rules."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import users
from reverie.graph import known, learning, said, spotting, stated
from reverie.pipeline import slots
from reverie.records import base, catalogue, changes

# Where nothing is looked for but what is known already: others have written it, and by the thousand.
_OF_OTHERS = frozenset({"feed", "feed_item", "bookmark", "transaction", "health", "run"})
_MOST_PASSAGES = 60
_TEXTS = """
SELECT passage.record_id, passage.ordinal, passage.text, card.title, card.at
FROM card LEFT JOIN passage ON passage.user_id = card.user_id AND passage.record_id = card.record_id
    AND passage.ordinal <= %(most)s
WHERE card.user_id = %(user)s AND card.record_id = ANY(%(records)s) ORDER BY passage.record_id, passage.ordinal
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A record as a reader gets it: its fields' own words, its title and passages, when it was."""

    record: base.Record
    domain: str
    title: str
    at: datetime | None
    passages: Sequence[tuple[int, str]]


async def read(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Learn what the changed records say; forget what deleted ones said. As often as wanted, with one result."""
    gone = [change.record_id for change in batch if change.action == "delete"]
    there: dict[str, list[UUID]] = defaultdict(list)
    for change in batch:
        if change.record_id not in there[change.domain]:
            there[change.domain].append(change.record_id)
    found = await sources(work.database, work.user, there)
    for record_id in gone:
        if record_id not in found:
            async with work.database.transaction(work.user) as tx:
                await learning.unlearn(tx, work.user, record_id)
    async with work.database.transaction(work.user) as tx:
        names = await known.of(tx, work.user)
    for source in found.values():
        reading = await asyncio.to_thread(_read, source, names)
        async with work.database.transaction(work.user) as tx:
            await learning.learn(tx, work.user, reading)


EXTRACTION = slots.Slot("extraction", before=read)


async def sources(
    database: db.Database, user: users.Reference, ids: Mapping[str, Sequence[UUID]]
) -> dict[UUID, Source]:
    """The live ones among some records, by domain."""
    made: dict[UUID, Source] = {}
    async with database.snapshot(user) as tx:
        wanted = [one for some in ids.values() for one in some]
        rows = await tx.rows(_TEXTS, {"user": user.user_id, "records": wanted, "most": _MOST_PASSAGES})
        texts: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            texts[row["record_id"]].append(row)
        for name, some in ids.items():
            for record_id, record in (await base.fetch(tx, user, catalogue.domain(name), some)).items():
                held = texts.get(record_id, [])
                title = held[0]["title"] if held else ""
                passages = [(row["ordinal"], row["text"]) for row in held if row["text"]]
                made[record_id] = Source(
                    record, name, title, (held[0]["at"] if held else None) or base.told(record), passages
                )
    return made


def _read(source: Source, names: Sequence[spotting.KnownNode]) -> learning.Reading:
    """Fields, names and plain statements of one record."""
    of_others = source.domain in _OF_OTHERS
    named: list[learning.Named] = []
    facts: list[learning.Stated] = []
    for ordinal, text in [(0, source.title), *source.passages]:
        mentions = spotting.find(text, known=names)
        told = [] if of_others else stated.relations(text, mentions)
        tied = [one.subject.name for one in told] + [one.object.name for one in told]
        chosen = [one for one in mentions if one.key] if of_others else spotting.matters(mentions, tied=tied)
        named += [
            learning.Named(one.kind, one.name, one.type, key=one.key, confidence=one.score, ordinal=ordinal or None)
            for one in chosen
        ]
    return learning.Reading(
        source.domain,
        source.record.id,
        source.title,
        source.at,
        fields=said.of(source.record),
        named=named,
        stated=facts,
    )
