"""Input of information extraction: records with their titles, passages and times."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.records import bulk, catalogue, record_types

# More of a long record is not read by rules.
_MOST_PASSAGES = 60
# Of these the time of the card is when they were made or imported here.
_WITHOUT_TIME = frozenset({"contact"})
_TEXTS = """
SELECT card.record_id, passage.ordinal, passage.text, card.title, card.at
FROM card LEFT JOIN passage ON passage.user_id = card.user_id AND passage.record_id = card.record_id
    AND passage.ordinal <= %(most)s
WHERE card.user_id = %(user)s AND card.record_id = ANY(%(records)s) ORDER BY card.record_id, passage.ordinal
"""


@dataclass(frozen=True, slots=True)
class ReadableRecord:
    """A record as a reader gets it: itself, its title and passages (ordinal, text), and
    when it was. `undated`: it has no time of its own, and `at` is when it was recorded.
    """

    record: record_types.Record
    domain: str
    title: str
    at: datetime | None
    passages: Sequence[tuple[int, str]]
    undated: bool = False


async def fetch(
    database: db.Database, user: db.HasUser, ids: Mapping[str, Sequence[UUID]]
) -> dict[UUID, ReadableRecord]:
    """The live ones among some records, by domain, contacts first: others are then
    known by their cards.
    """
    readable: dict[UUID, ReadableRecord] = {}
    async with database.snapshot(user) as tx:
        rows_by_record = await _texts(tx, user, ids)
        for name in sorted(ids, key=lambda domain: (domain != "contact", domain)):
            records = await bulk.fetch(tx, user, catalogue.domain(name), ids[name])
            for record_id, record in records.items():
                rows = rows_by_record.get(record_id, [])
                readable[record_id] = _readable(record, name, rows)
    return readable


async def _texts(
    tx: db.Transaction, user: db.HasUser, ids: Mapping[str, Sequence[UUID]]
) -> Mapping[UUID, Sequence[Mapping[str, Any]]]:
    """The passages of each record, in order, with its title and time."""
    records = [record_id for of_domain in ids.values() for record_id in of_domain]
    values = {"user": user.user_id, "records": records, "most": _MOST_PASSAGES}
    rows_by_record: dict[UUID, list[Mapping[str, Any]]] = defaultdict(list)
    for row in await tx.rows(_TEXTS, values):
        rows_by_record[row["record_id"]].append(row)
    return rows_by_record


def _readable(
    record: record_types.Record, domain: str, rows: Sequence[Mapping[str, Any]]
) -> ReadableRecord:
    """A record without a card has no title and no passages."""
    title = rows[0]["title"] if rows else ""
    own = rows[0]["at"] if rows else None
    at = own or record_types.created_at(record)
    undated = own is None or domain in _WITHOUT_TIME
    passages = [(row["ordinal"], row["text"]) for row in rows if row["text"]]
    return ReadableRecord(record, domain, title, at, passages, undated)
