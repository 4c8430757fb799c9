"""Known values of contacts (names, addresses, numbers), for detecting personal data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reverie import db
from reverie.privacy import spans

_KINDS = {"display_name": "person", "company": "organisation", "address": "address"}
_LISTS = {"emails": "email", "phones": "phone"}
_CONTACTS = """
SELECT display_name, given, family, company, address, emails, phones FROM contact
WHERE user_id = %s AND deleted_at IS NULL ORDER BY id
"""


async def known_values(
    tx: db.Transaction, caller: db.HasUser
) -> Sequence[spans.KnownValue]:
    """Everything by which a contact could be told, each value once."""
    rows = await tx.rows(_CONTACTS, (caller.user_id,))
    return tuple(dict.fromkeys(value for row in rows for value in _values(row)))


def _values(row: Mapping[str, Any]) -> Iterator[spans.KnownValue]:
    for column, kind in _KINDS.items():
        if row[column]:
            yield spans.KnownValue(row[column], kind)
    whole = " ".join(filter(None, (row["given"], row["family"])))
    if whole and whole != row["display_name"]:
        yield spans.KnownValue(whole, "person")
    for column, kind in _LISTS.items():
        for value in row[column]:
            yield spans.KnownValue(value, kind)
