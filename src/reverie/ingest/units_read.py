"""Checkpoints of documents that are being read, so that no page is read twice.

Units (pages, slides, sheets) are kept as they come.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reverie import db
from reverie.access import callers
from reverie.ingest import ledger
from reverie.ingest.documents import units

_KEEP = """
INSERT INTO unit (user_id, digest, readers, number, content)
SELECT %(user)s, %(digest)s, %(readers)s, number, content
FROM unnest(%(numbers)s::int[], %(contents)s::jsonb[]) AS new (number, content)
ON CONFLICT (user_id, digest, readers, number) DO NOTHING
"""
_READ = """
SELECT number, content FROM unit WHERE user_id = %s AND digest = %s AND readers = %s ORDER BY number
"""
_NUMBERS = "SELECT number FROM unit WHERE user_id = %s AND digest = %s AND readers = %s"
_DROP = "DELETE FROM unit WHERE user_id = %s AND digest = %s"
_SWEEP = "DELETE FROM unit WHERE user_id = %s AND at < now() - interval '30 days'"


@dataclass(frozen=True, slots=True)
class UnitsRead:
    """What is there of a document: what it says of itself, and its units so far, in
    order.
    """

    about: units.About
    units: tuple[units.Unit, ...]
    numbers: frozenset[int]


async def keep(
    tx: db.Transaction,
    caller: callers.Caller,
    digest: str,
    read: Sequence[units.About | units.Unit],
) -> None:
    """Keep what was read of the document with this digest; what is there already stays
    as it is.
    """
    if not read:
        return
    rows = [_row(part) for part in read]
    values = {
        "user": caller.user_id,
        "digest": digest,
        "readers": ledger.READERS,
        "numbers": [number for number, _ in rows],
        "contents": [db.json(content) for _, content in rows],
    }
    await tx.run(_KEEP, values)


def _row(part: units.About | units.Unit) -> tuple[int, dict[str, Any]]:
    """A number and what is kept under it; 0 is what the document says of itself."""
    if isinstance(part, units.Unit):
        return part.number, _unit_json(part)
    return 0, _about_json(part)


async def numbers(tx: db.Transaction, caller: callers.Caller, digest: str) -> set[int]:
    """The numbers of the units that are there; 0 is what the document says of itself."""
    return {
        row["number"]
        for row in await tx.rows(_NUMBERS, (caller.user_id, digest, ledger.READERS))
    }


async def all_of(tx: db.Transaction, caller: callers.Caller, digest: str) -> UnitsRead:
    """Everything that is there of a document."""
    about = units.About()
    units_so_far: list[units.Unit] = []
    rows = await tx.rows(_READ, (caller.user_id, digest, ledger.READERS))
    for row in rows:
        if row["number"] == 0:
            about = units.About(**row["content"])
        else:
            units_so_far.append(_unit(row["number"], row["content"]))
    return UnitsRead(
        about, tuple(units_so_far), frozenset(row["number"] for row in rows)
    )


async def drop(tx: db.Transaction, caller: callers.Caller, digest: str) -> None:
    """The document is saved: what was read is no longer needed."""
    await tx.run(_DROP, (caller.user_id, digest))


async def sweep(tx: db.Transaction, caller: callers.Caller) -> None:
    """Forget what nobody came back for in a month."""
    await tx.run(_SWEEP, (caller.user_id,))


def _about_json(about: units.About) -> dict[str, str]:
    return {
        "title": about.title,
        "author": about.author,
        "created": about.created,
        "encoding": about.encoding,
    }


def _unit_json(unit: units.Unit) -> dict[str, Any]:
    blocks = [
        [block.text, block.kind, block.level, dict(block.place)]
        for block in unit.blocks
    ]
    return {
        "total": unit.total,
        "place": dict(unit.place),
        "remark": unit.remark,
        "blocks": blocks,
    }


def _unit(number: int, content: Mapping[str, Any]) -> units.Unit:
    blocks = tuple(
        units.Block(text, kind, level, place)
        for text, kind, level, place in content["blocks"]
    )
    return units.Unit(
        number, content["total"], blocks, content["place"], content["remark"]
    )
