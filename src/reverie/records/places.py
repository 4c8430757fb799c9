"""Where a record's passages stand: in their order, with what lies around each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from reverie import db, errors

_DOMAIN = "SELECT domain FROM card WHERE user_id = %s AND record_id = %s"
_LIST = """
SELECT ordinal::int AS number, place, text FROM passage WHERE user_id = %s AND record_id = %s AND ordinal > %s
ORDER BY ordinal LIMIT %s
"""
_COUNT = "SELECT count(*) FROM passage WHERE user_id = %s AND record_id = %s"
_AROUND = """
SELECT ordinal::int AS number, place, text FROM passage
WHERE user_id = %(user)s AND record_id = %(record)s AND ordinal BETWEEN %(number)s - 1 AND %(number)s + 1
ORDER BY ordinal
"""


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """One passage; `number` counts from 1, `place` says where it stands (page, slide,
    sheet and rows, section, …).
    """

    number: int
    place: Mapping[str, Any]
    text: str


async def domain(tx: db.Transaction, user: db.HasUser, record_id: UUID) -> str:
    """The domain of a live record. Raises NotFound."""
    name = await tx.value(_DOMAIN, (user.user_id, record_id))
    if name is None:
        raise missing()
    return str(name)


def missing() -> errors.NotFound:
    """The same for what is unknown, foreign or closed to the caller."""
    return errors.NotFound(
        "There is no such document.", hint="It may have been deleted."
    )


async def passages(
    tx: db.Transaction, user: db.HasUser, record_id: UUID, *, after: int, limit: int
) -> tuple[list[PlacedPassage], int]:
    """Passages after a number, and how many there are in all."""
    page = await tx.all(PlacedPassage, _LIST, (user.user_id, record_id, after, limit))
    return page, int(await tx.value(_COUNT, (user.user_id, record_id)))


async def around(
    tx: db.Transaction, user: db.HasUser, record_id: UUID, number: int
) -> dict[int, PlacedPassage]:
    """A passage and its neighbours, by number. Raises NotFound."""
    values = {"user": user.user_id, "record": record_id, "number": number}
    passages_ = {
        passage.number: passage
        for passage in await tx.all(PlacedPassage, _AROUND, values)
    }
    if number not in passages_:
        raise errors.NotFound(
            "There is no such passage.", hint="The document may have changed."
        )
    return passages_


def label(place: Mapping[str, Any]) -> str:
    """A place in words: "page 3", "sheet Plan, rows 2 to 21", "slide 4" or
    "Terms > Payment".
    """
    parts = [
        f"{name} {place[name]}"
        for name in ("page", "slide", "chapter")
        if name in place
    ]
    if "sheet" in place:
        parts.append(f"sheet {place['sheet']}")
    if rows := place.get("rows"):
        first, last = rows[0], rows[-1]
        parts.append(f"row {first}" if first == last else f"rows {first} to {last}")
    if place.get("section"):
        parts.append(str(place["section"]))
    return ", ".join(parts)
