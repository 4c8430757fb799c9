"""Records by a part of their id: one, none, several, and only those one may read."""

from uuid import UUID

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.records import base, catalogue, preparing, short_ids

NOTES = catalogue.DOMAINS["note"]
A = UUID("01a229a0-b6f5-7145-a904-f2a5a1d23c49")
B = UUID("01a229a0-b6f5-7145-a904-f2a5b1d23c49")


async def _add(database: db.Database, caller: callers.Caller, record_id: UUID) -> None:
    values = {"content": "a walrus"}
    new = await preparing.prepared(caller, NOTES, values, record_id=record_id)
    async with database.transaction(caller) as tx:
        await base.insert(tx, caller, new)


async def _id(database: db.Database, caller: callers.Caller, text: str) -> UUID:
    async with database.transaction(caller) as tx:
        return (await short_ids.resolve(tx, caller, text)).record_id


async def test_an_id_is_found_by_a_part_that_is_unique(
    database: db.Database, owner: callers.Caller
) -> None:
    await _add(database, owner, A)
    for text in (
        str(A),
        A.hex,
        "01a2",
        "01A229A0-B6",
        "3c49",
        "id:a1d23c49",
        A.hex[5:],
    ):
        assert await _id(database, owner, text) == A
    for text in ("01a", "01b2", "g229", "", "%%%%", A.hex + "0", "229a"):
        with pytest.raises(errors.NotFound):
            await _id(database, owner, text)


async def test_a_part_of_several_ids_is_refused_and_names_them(
    database: db.Database, owner: callers.Caller
) -> None:
    await _add(database, owner, A)
    await _add(database, owner, B)
    with pytest.raises(errors.Conflict) as refused:
        await _id(database, owner, "3c49")
    assert refused.value.details["ids"] == [str(A), str(B)]
    assert await _id(database, owner, "b1d23c49") == B


async def test_a_deleted_record_is_found_and_a_foreign_one_is_not(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    await _add(database, owner, A)
    with pytest.raises(errors.NotFound):
        await _id(database, other, "3c49")
    async with database.transaction(owner) as tx:
        await base.delete(tx, owner, NOTES, A)
    assert await _id(database, owner, "3c49") == A
