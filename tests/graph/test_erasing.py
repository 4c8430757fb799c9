"""Erasing: nothing of a person is left anywhere, and reading again does not bring them
back.
"""

from contextlib import suppress
from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.graph import links, merging, node_data, nodes
from reverie.graph.extraction import record_fields, update
from reverie.records import base, catalogue
from tests.graph.life import Life, reading

NAME, ADDRESS = "Zenobia Quarles", "zq77@quarles.example"
MAIL: dict[str, Any] = {
    "subject": "Hello", "from": f"{NAME} <{ADDRESS}>", "to": ["me@example.org"], "body_text": f"Yours, {NAME}",
}  # fmt: skip
_TABLES: LiteralString = """
SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname = 'public' AND has_table_privilege(c.oid, 'SELECT')
"""


async def places(life: Life, *wanted: str) -> list[str]:
    """The tables that hold any of these texts anywhere in a row, whatever the type and
    the case.
    """
    found: list[str] = []
    for row in await life.rows(_TABLES):
        asked = db.compose(
            "SELECT t::text AS told FROM {table} AS t", table=row["name"]
        )
        told = [one["told"].lower() for one in await life.rows(asked)]
        found += [
            f"{row['name']}: {one}"
            for one in wanted
            if any(one.lower() in text for text in told)
        ]
    return found


async def erased(life: Life, node_id: UUID) -> list[bytes]:
    async with life.database.transaction(life.user) as tx:
        return await nodes.erase(tx, life.user, node_id)


async def purge(life: Life, record_id: UUID) -> None:
    """The record itself and what follows from it, out of all tables: it is the owner's
    to erase.
    """
    of_records: LiteralString = (
        " AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid"
    )
    of_records += (
        " AND a.attname = 'record_id') AND c.relname NOT IN ('node', 'evidence')"
    )
    tables = [row["name"] for row in await life.rows(_TABLES + of_records)]
    async with life.database.transaction(life.user) as tx:
        # Passages before cards, whichever comes first by name.
        for table in [*tables, *tables]:
            with suppress(errors.ReverieError):
                async with tx.savepoint():
                    await tx.run(
                        db.compose("DELETE FROM {t} WHERE record_id = %s", t=table),
                        (record_id,),
                    )
        await tx.run("DELETE FROM email WHERE id = %s", (record_id,))


async def test_nothing_is_left_and_nothing_comes_back(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    async with database.transaction(owner) as tx:
        record = await base.create(tx, owner, catalogue.domain("email"), MAIL)
    whole = update.Extraction("email", record.id, "Hello", record.created_at, fields=record_fields.of(record),
                             named=[update.NamedEntity("concept", "Bees")],
                             stated=[update.StatedFact(NAME, "thinks_about", "Bees", {"mood": "keen"})])  # fmt: skip
    await life.learn(whole)
    await life.learn(
        reading(
            record_fields.Person(
                "Zenobia", (ADDRESS, "zq@home.example"), works_at="Acme"
            ),
            organisations=[record_fields.Organisation("Acme")],
        )
    )
    person, bees = await life.named(NAME), await life.named("Bees")
    friend, double, deep = (
        await life.node("Bo"),
        await life.node("Zenobia Q"),
        await life.node("Z. Quarles"),
    )
    twin = await life.node("Bees too", "concept")
    await life.relate(person, "thinks_about", twin, link_type="manual", by="user")
    async with database.transaction(owner) as tx:
        await nodes.change(
            tx,
            owner,
            person,
            properties={"notes": f"{NAME} is tall"},
            description="Quarles, a friend",
        )
        await merging.merge(tx, owner, winner=double.id, loser=deep.id, by="user")
        await merging.merge(tx, owner, winner=person.id, loser=double.id, by="user")
        # The merge of two others remembers links that lead to her, one of them as a
        # double.
        merge = await merging.merge(tx, owner, winner=bees.id, loser=twin.id, by="user")
        await merging.keep_apart(tx, owner, person.id, friend.id)
    wanted = [NAME, ADDRESS, "zenobia", "quarles", "home.example", str(person.id), str(double.id), str(deep.id),
              person.key, double.key, deep.key]  # fmt: skip
    assert {one.partition(":")[0] for one in await places(life, *wanted)} >= {
        "node",
        "alias",
        "link",
        "merge",
        "apart",
    }
    before = await life.version()
    await erased(life, person.id)
    await purge(life, record.id)
    assert await life.version() > before
    kept = await places(life, *wanted)
    assert [one for one in kept if not one.startswith("erased: ")] == []
    assert {one.removeprefix("erased: ") for one in kept} == {
        person.key,
        double.key,
        deep.key,
    }
    # Her links went from the counts of others; undoing the merge of the others works.
    assert (await life.get(bees.id)).links == 1
    async with database.transaction(owner) as tx:
        await merging.undo(tx, owner, merge.id)
    again = [
        whole,
        reading(record_fields.Person("Somebody Else", ("zq@home.example",))),
        reading(record_fields.Person(ADDRESS, (ADDRESS,))),
        reading(record_fields.Person("Zenobia")),
        reading(
            named=[
                update.NamedEntity("person", name)
                for name in (NAME, "zenobia q", "Z. Quarles", "Zenobia")
            ]
        ),
    ]
    for one in again:
        await life.learn(one)
    assert await life.people() == ["Bo", "me@example.org"]
    left = [
        one for one in await places(life, *wanted) if not one.startswith("erased: ")
    ]
    assert left == []
    async with database.transaction(owner) as tx:
        assert (
            await nodes.add(tx, owner, nodes.NodeDraft("person", NAME.upper())) is None
        )
        assert (
            await nodes.add(
                tx,
                owner,
                nodes.NodeDraft("person", "New Name", emails=[ADDRESS.upper()]),
            )
            is None
        )


async def test_a_namesake_keeps_to_itself(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    await life.learn(reading(record_fields.Person("Ana Ruiz")))
    await life.learn(reading(record_fields.Person("Ana Ruiz", ("ana@one.example",))))
    await life.learn(reading(record_fields.Person("Ana Ruiz", ("ana@two.example",))))
    await erased(life, (await life.named("ana@two.example")).id)
    await life.learn(reading(record_fields.Person("Ana Ruiz", ("ana@two.example",))))
    assert await life.people() == ["Ana Ruiz"]
    assert (await life.get((await life.named("ana@one.example")).id)).links == 2
    with pytest.raises(errors.NotFound):
        await life.named("ana@two.example")


async def test_erasing_a_concept_tells_the_hash_of_its_vector(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    bees = await life.node("Bees", "concept", description="Insects")
    gone = await erased(life, bees.id)
    assert gone == [node_data.hash_of("concept", "Bees", "Insects", {})]
    assert await places(life, gone[0].hex(), "bees", "insects", str(bees.id)) == []
    for again in (bees.id, uuid4()):
        with pytest.raises(errors.NotFound):
            await erased(life, again)


async def test_what_was_deleted_can_be_erased_and_what_was_merged_only_with_its_winner(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, bo, cy = [await life.node(name) for name in ("Ana", "Bo", "Cy")]
    made = await life.relate(ana, "collaborates_with", cy)
    async with database.transaction(owner) as tx:
        await nodes.delete(tx, owner, ana.id)
        await merging.merge(tx, owner, winner=cy.id, loser=bo.id, by="user")
    await erased(life, ana.id)
    with pytest.raises(errors.NotFound):
        await erased(life, bo.id)
    await erased(life, cy.id)
    assert made
    assert await places(life, str(ana.id), str(bo.id), str(cy.id), str(made.id)) == []
    assert await life.people() == []
    assert uuid4() not in {one.id for one in await life.links_of(ana)}
    async with database.transaction(owner) as tx:
        with pytest.raises(errors.NotFound):
            await links.get(tx, owner, made.id)
