"""Reading records in bulk: some by their ids, or a whole domain batch by batch."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.records import record_types

Domain = record_types.Domain
R = TypeVar("R", bound=record_types.Record)

_FETCH = "SELECT {all} FROM {table} WHERE user_id = %(user)s AND id = ANY(%(ids)s) AND deleted_at IS NULL"
_WALK = """
SELECT {all} FROM {table} WHERE user_id = %(user)s AND deleted_at IS NULL AND id > %(after)s ORDER BY id LIMIT %(limit)s
FOR UPDATE
"""
_NOBODY = UUID(int=0)


def fetching(
    caller: db.HasUser, domain: Domain[R], ids: Sequence[UUID]
) -> tuple[db.Query, db.Params]:
    """The statement of `fetch`, to travel together with others; its rows are for
    `fetched`.
    """
    return record_types.statement(_FETCH, domain), {
        "user": caller.user_id,
        "ids": list(ids),
    }


def fetched(domain: Domain[R], rows: Sequence[Mapping[str, Any]]) -> dict[UUID, R]:
    """The records of such rows by id."""
    records = [
        domain.record(**{db.field(name): value for name, value in row.items()})
        for row in rows
    ]
    return {record.id: record for record in records}


async def fetch(
    tx: db.Transaction, caller: db.HasUser, domain: Domain[R], ids: Sequence[UUID]
) -> dict[UUID, R]:
    """Some live records by id; unknown ids are left out."""
    return fetched(domain, await tx.rows(*fetching(caller, domain, ids)))


async def walk(
    database: db.Database, caller: callers.Caller, domain: Domain[R], *, batch: int = 50
) -> AsyncIterator[tuple[db.Transaction, list[R]]]:
    """Every live record, locked, a batch and a transaction at a time."""
    after = _NOBODY
    while True:
        async with database.transaction(caller) as tx:
            parameters = {"user": caller.user_id, "after": after, "limit": batch}
            page = await tx.all(
                domain.record, record_types.statement(_WALK, domain), parameters
            )
            if not page:
                return
            yield tx, page
            after = page[-1].id
