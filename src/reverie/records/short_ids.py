"""Short ids: a record is found by a unique beginning or ending of its UUID."""

import re
from dataclasses import dataclass
from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.records import catalogue

SHORTEST = 4
"""Hexadecimal digits; fewer are too many records'."""
_DIGITS = 32
_HEX = re.compile(r"[0-9a-f]+")
_SEVERAL = 5
# Live records have a card, deleted ones a change that says so.
_FOUND = """
WITH known AS (
    SELECT record_id, domain, title FROM card WHERE user_id = %(user)s AND {matches}
    UNION ALL
    SELECT record_id, domain, summary FROM change WHERE user_id = %(user)s AND action = 'delete' AND {matches}
)
SELECT DISTINCT ON (record_id) record_id, domain, title FROM known WHERE domain = ANY(%(domains)s)
ORDER BY record_id LIMIT %(limit)s
"""
_BEGINS = db.text("record_id BETWEEN %(first)s AND %(last)s")
_ENDS = db.text("right(replace(record_id::text, '-', ''), %(length)s) = %(digits)s")
_BY_BEGINNING = db.compose(_FOUND, matches=_BEGINS)
_BY_ENDING = db.compose(_FOUND, matches=_ENDS)


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record that an id may mean, live or deleted."""

    record_id: UUID
    domain: str
    title: str


async def resolve(tx: db.Transaction, caller: callers.Caller, text: str) -> FoundRecord:
    """The one record whose id is, begins with or ends with a text, among those that
    the caller may read. Raises NotFound, and Conflict where there are several.
    """
    digits = text.strip().lower().removeprefix("id:").replace("-", "")
    if not _HEX.fullmatch(digits) or not SHORTEST <= len(digits) <= _DIGITS:
        raise errors.NotFound(
            "There is no such record.",
            hint=f"Give an id, or {SHORTEST} or more of its first or last digits.",
        )
    found = await _matching(tx, caller, digits)
    if not found:
        raise errors.NotFound(
            "There is no such record.", hint="Search and list show the ids."
        )
    if len(found) > 1:
        raise _several(text, found)
    return found[0]


async def _matching(
    tx: db.Transaction, caller: callers.Caller, digits: str
) -> list[FoundRecord]:
    names = {
        "user": caller.user_id,
        "domains": list(catalogue.readable(caller)),
        "first": UUID(digits.ljust(_DIGITS, "0")),
        "last": UUID(digits.ljust(_DIGITS, "f")),
        "digits": digits,
        "length": len(digits),
        "limit": _SEVERAL,
    }
    found = await tx.all(FoundRecord, _BY_BEGINNING, names)
    if found:
        return found
    return await tx.all(FoundRecord, _BY_ENDING, names)


def _several(text: str, found: list[FoundRecord]) -> errors.Conflict:
    named = ", ".join(
        f"{record.record_id} ({record.domain} “{record.title[:40]}”)"
        for record in found
    )
    return errors.Conflict(
        f"`{text}` is the id of several records.",
        hint=f"Give more digits. Among them: {named}.",
        details={"ids": [str(record.record_id) for record in found]},
    )
