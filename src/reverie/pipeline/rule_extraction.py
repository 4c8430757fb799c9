"""The extraction slot: what records say becomes nodes and links, by their fields and by
rules, without a model.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers, users
from reverie.graph import nodes
from reverie.graph.extraction import (
    gazetteer,
    known_values,
    mentions,
    record_fields,
    text_relations,
    update,
)
from reverie.graph.resolution import keys
from reverie.pipeline import embed, slots
from reverie.privacy import folding, lists
from reverie.records import base, catalogue, changes
from reverie.search import lexical
from reverie.search import query as queries

# Others have written it, and by the thousand: there, only what is known already is
# looked for.
OF_OTHERS = frozenset({"feed", "feed_item", "bookmark", "transaction", "health", "run"})
_MOST_PASSAGES = 60
_SURE = 0.7
# What statements in a text are called in the graph; any other is a relationship of that
# type.
_MEANS: Mapping[str, str] = {
    "lives_in": "located_in",
    "moved_to": "located_in",
    "works_at": "works_at",
}
_TEXTS = """
SELECT card.record_id, passage.ordinal, passage.text, card.title, card.at
FROM card LEFT JOIN passage ON passage.user_id = card.user_id AND passage.record_id = card.record_id
    AND passage.ordinal <= %(most)s
WHERE card.user_id = %(user)s AND card.record_id = ANY(%(records)s) ORDER BY card.record_id, passage.ordinal
"""
# What was read before something had a node could not be tied to it.
_NEW = """
SELECT name, kind FROM node
WHERE user_id = %s AND created_at >= %s AND kind IN ('person', 'entity') AND deleted_at IS NULL AND NOT is_owner
ORDER BY id LIMIT %s
"""
_LINKED_BY_TITLE = """
SELECT source.record_id FROM alias
JOIN node AS topic ON topic.user_id = alias.user_id AND topic.id = alias.node_id AND topic.kind = 'concept'
JOIN link ON link.user_id = topic.user_id AND link.to_id = topic.id
JOIN node AS source ON source.user_id = link.user_id AND source.id = link.from_id AND source.kind = 'source'
WHERE alias.user_id = %s AND alias.alias = ANY(%s)
"""
_DOMAINS = "SELECT record_id, domain FROM card WHERE user_id = %s AND record_id = ANY(%s) ORDER BY record_id"
_MOST_NEW, _MOST_NAMING, _ROUNDS = 100, 200, 4
# Whoever has a card is known by it before mails and calendars name them: those that the
# log tells of only later on.
_UNREAD_CONTACTS = """
SELECT id FROM contact WHERE user_id = %(user)s AND deleted_at IS NULL AND NOT (id = ANY(%(there)s)) AND NOT EXISTS (
    SELECT FROM node WHERE node.user_id = contact.user_id AND node.record_id = contact.id
) AND EXISTS (
    SELECT FROM change WHERE change.user_id = contact.user_id AND change.record_id = contact.id
        AND (change.xid, change.seq) > (%(xid)s, %(seq)s)
) ORDER BY id
"""
_IN_MOST_MAILS = """
SELECT person.id, count(*) AS count,
    (SELECT count(*) FROM node WHERE user_id = %s AND kind = 'source' AND domain = 'email') AS total
FROM node AS mail
JOIN link ON link.user_id = mail.user_id AND link.from_id = mail.id AND link.deleted_at IS NULL
    AND link.hidden_by IS NULL
JOIN node AS person ON person.user_id = link.user_id AND person.id = link.to_id AND person.kind = 'person'
WHERE mail.user_id = %s AND mail.kind = 'source' AND mail.domain = 'email'
GROUP BY person.id ORDER BY count(*) DESC, person.id LIMIT 1
"""
_ENOUGH_MAILS, _SHARE_OF_MAILS = 15, 0.6
_TITLED = """
SELECT DISTINCT ON (title) record_id, domain, title FROM card
WHERE user_id = %s AND title = ANY(%s) ORDER BY title, (domain <> 'note'), record_id
"""


_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,80})")


@dataclass(frozen=True, slots=True)
class ReadableRecord:
    """A record as a reader gets it: itself, its title and passages (ordinal, text), and
    when it was.
    """

    record: base.Record
    domain: str
    title: str
    at: datetime | None
    passages: Sequence[tuple[int, str]]


async def read(work: slots.Work, batch: Sequence[changes.Change]) -> None:
    """Learn what the changed records say; forget what deleted ones said. As often as
    wanted, with one result.
    """
    there: dict[str, list[UUID]] = defaultdict(list)
    for change in batch:
        if change.record_id not in there[change.domain]:
            there[change.domain].append(change.record_id)
    async with work.database.transaction(work.user) as tx:
        begun = await tx.value("SELECT now()")
        ahead = {
            "user": work.user.user_id,
            "there": there["contact"],
            "xid": batch[-1].xid,
            "seq": batch[-1].seq,
        }
        rows = await tx.rows(_UNREAD_CONTACTS, ahead)
    there["contact"] += [row["id"] for row in rows]
    found = await sources(work.database, work.user, there)
    async with work.database.transaction(work.user) as tx:
        await _the_owner(tx, work.user)
        for record_id in [
            one for some in there.values() for one in some if one not in found
        ]:
            await update.unlearn(tx, work.user, record_id)
    await _learn(work, [one for one in found.values() if one.domain == "contact"])
    await _learn(work, [one for one in found.values() if one.domain != "contact"])
    titles = [one.title for one in found.values() if one.domain == "note"]
    for _ in range(_ROUNDS):  # what is read again may name something new
        begun, again = await _named_before(work, begun, titles)
        if not again:
            break
        await _learn(work, (await sources(work.database, work.user, again)).values())
        titles = []
    async with work.database.transaction(work.user) as tx:
        await _the_owner(tx, work.user)
    await embed.nodes(work)


EXTRACTION = slots.Slot("extraction", before=read)


async def _learn(work: slots.Work, found: Collection[ReadableRecord]) -> None:
    """Read each record with what is known now: all names are looked up once, and not
    for each record.
    """
    if not found:
        return
    async with work.database.transaction(work.user) as tx:
        held = await known_values.of(tx, work.user)
    for source in found:
        reading, linked = await asyncio.to_thread(_read, source, held)
        async with work.database.transaction(work.user) as tx:
            records = await _titled(tx, work.user, linked)
            titles = {record.title for record in records}
            if source.domain == "note":
                titles.add(source.title)  # a note is no topic of its own
            named = [
                one
                for one in reading.named
                if one.kind != "concept" or one.name not in titles
            ]
            await update.learn(
                tx, work.user, replace(reading, named=named, records=records)
            )


async def _named_before(
    work: slots.Work, begun: datetime, titles: Sequence[str]
) -> tuple[datetime, dict[str, list[UUID]]]:
    """Records by domain that name what has a node only since `begun`, or that link to a
    note that was not there.

    And the time until which that is known.
    """
    who = callers.Caller(work.user.user_id, "machine", "extraction", frozenset({"*:*"}))
    async with work.database.snapshot(work.user) as tx:
        now = await tx.value("SELECT now()")
        new = await tx.rows(_NEW, (work.user.user_id, begun, _MOST_NEW))
        called = [row["name"] for row in new] + [
            row["name"].split()[0] for row in new if row["kind"] == "person"
        ]
        ids: set[UUID] = set()
        for name in dict.fromkeys(called):
            query = queries.Query(text=name)
            ids |= {
                one.record_id
                for one in await lexical.retrieve_phrases(
                    tx, who, query, [name], depth=_MOST_NAMING
                )
            }
        wanted = [keys.normalised(one) for one in titles]
        ids |= {
            row["record_id"]
            for row in await tx.rows(_LINKED_BY_TITLE, (work.user.user_id, wanted))
        }
        there: dict[str, list[UUID]] = defaultdict(list)
        for row in await tx.rows(_DOMAINS, (work.user.user_id, list(ids))):
            there[row["domain"]].append(row["record_id"])
    return now, there


async def sources(
    database: db.Database, user: users.Reference, ids: Mapping[str, Sequence[UUID]]
) -> dict[UUID, ReadableRecord]:
    """The live ones among some records, by domain, contacts first: others are then
    known by their cards.
    """
    made: dict[UUID, ReadableRecord] = {}
    async with database.snapshot(user) as tx:
        wanted = [one for some in ids.values() for one in some]
        texts: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
        for row in await tx.rows(
            _TEXTS, {"user": user.user_id, "records": wanted, "most": _MOST_PASSAGES}
        ):
            texts[row["record_id"]].append(row)
        for name in sorted(ids, key=lambda one: (one != "contact", one)):
            for record_id, record in (
                await base.fetch(tx, user, catalogue.domain(name), ids[name])
            ).items():
                held = texts.get(record_id, [])
                at = (held[0]["at"] if held else None) or base.told(record)
                passages = [
                    (row["ordinal"], row["text"]) for row in held if row["text"]
                ]
                made[record_id] = ReadableRecord(
                    record, name, held[0]["title"] if held else "", at, passages
                )
    return made


def statements(
    found: Iterable[text_relations.StatedRelation], ordinal: int | None = None
) -> list[update.StatedFact]:
    """What a text states, as the graph takes it."""
    return [
        update.StatedFact(
            _end(one.subject),
            _MEANS.get(one.relation, one.relation),
            _end(one.object),
            confidence=one.confidence,
            valid_from=_day(one.valid_from),
            ordinal=ordinal,
        )
        for one in found
    ]


async def _titled(
    tx: db.Transaction, user: users.Reference, titles: Sequence[str]
) -> list[update.LinkedRecord]:
    """The records that links in a text lead to, by their titles."""
    if not titles:
        return []
    rows = await tx.rows(_TITLED, (user.user_id, list(titles)))
    return [
        update.LinkedRecord(row["record_id"], row["domain"], row["title"])
        for row in rows
    ]


def _read(
    source: ReadableRecord, held: gazetteer.Gazetteer
) -> tuple[update.Extraction, list[str]]:
    """Fields, names and plain statements of one record; and the titles that it links
    to.
    """
    named: list[update.NamedEntity] = []
    linked: list[str] = []
    facts: list[update.StatedFact] = []
    # The title of a card is its name, which the fields tell better.
    titled = [] if source.domain == "contact" else [(0, source.title)]
    for ordinal, text in [*titled, *source.passages]:
        spotted = mentions.find(text, known=held)
        linked += [match.group(1).strip() for match in _LINK.finditer(text)]
        if source.domain in OF_OTHERS:
            chosen = [one for one in spotted if one.key]
        else:
            told = text_relations.relations(text, spotted)
            facts += statements(told, ordinal or None)
            about = text_relations.tied(told) | {
                end for one in told for end in (one.subject, one.object)
            }
            chosen = [
                one
                for one in mentions.matters(spotted, tied=about)
                if one.key or one.name in about or _believable(one)
            ]
        named += [
            update.NamedEntity(
                one.kind,
                one.name,
                _type(one),
                key=one.key,
                confidence=one.score,
                ordinal=ordinal or None,
            )
            for one in chosen
        ]
    reading = update.Extraction(
        source.domain,
        source.record.id,
        source.title,
        source.at,
        fields=record_fields.of(source.record),
        named=named,
        stated=facts,
    )
    return reading, list(dict.fromkeys(linked))


def _believable(one: mentions.Mention) -> bool:
    """Whether a new name may become a node: of a person, if its first part is a given
    name somewhere, or it is sure.
    """
    return (
        one.kind != "person"
        or one.score >= _SURE
        or lists.given(folding.plain(one.name.split()[0])) > 0
    )


def _type(one: mentions.Mention) -> str:
    """The type of a node: how it is marked in a text is none, and a person is a person."""
    return "" if one.kind == "person" or one.type in ("tag", "link") else one.type


async def _the_owner(tx: db.Transaction, user: users.Reference) -> None:
    """The owner has a node of their own from the first record on: whoever is in most
    mails, once that is plain.
    """
    mine = await nodes.owner(tx, user)
    if mine is None:
        if person := await users.get(tx, user.user_id):
            await nodes.bump(tx, user)
            await update.owner(tx, user, name=person.name)
    elif not mine.links:
        rows = await tx.rows(_IN_MOST_MAILS, (user.user_id, user.user_id))
        if (
            rows
            and rows[0]["total"] >= _ENOUGH_MAILS
            and rows[0]["count"] >= _SHARE_OF_MAILS * rows[0]["total"]
        ):
            await nodes.bump(tx, user)
            await nodes.own(tx, user, rows[0]["id"])
            await nodes.drop(tx, user, [mine.id])


def _end(name: str) -> str:
    return update.OWNER if name == text_relations.OWNER else name


def _day(text: str) -> datetime | None:
    """The beginning of `2026`, `2026-05` or `2026-05-03`."""
    if not text:
        return None
    year, month, day = [*map(int, text.split("-")), 1, 1][:3]
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
