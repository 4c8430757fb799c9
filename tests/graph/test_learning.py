"""Learning: what records say becomes nodes and links, as often as they are read, and
goes when nobody says it.
"""

import asyncio
from uuid import UUID, uuid4

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.graph import links, lookups, merging, nodes
from reverie.graph.extraction import record_fields, update
from tests.graph.life import Life, day, lives_in, reading

ANA = record_fields.Person("Ana Ruiz", ("ana@example.org",), role="from")


def mail(
    *people: record_fields.Person, record: UUID | None = None
) -> update.Extraction:
    return reading(*people, record=record, domain="email", title="A mail")


# ----------------------------------------------------------------------------------------------------------- who is who


async def test_contacts_attendees_and_addresses_are_one_person(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    card = record_fields.Person(
        "Ana Ruiz",
        ("ana@example.org", "ana@home.example"),
        properties={"birthday": "1980-02-29"},
    )
    await life.learn(reading(card, domain="contact"))
    await life.learn(
        mail(record_fields.Person("A. Ruiz", ("ana@home.example",), role="to"))
    )
    await life.learn(
        reading(
            record_fields.Person("ana ruiz", relation="attended_by"), domain="event"
        )
    )
    await life.learn(reading(named=[update.NamedEntity("person", "Ána  RUIZ")]))
    assert await life.people() == ["Ana Ruiz"]
    ana = await life.named("A. Ruiz")
    assert ana.properties == {"birthday": "1980-02-29"}
    assert ana.links == 4
    assert (await life.named("ana@home.example")).id == ana.id


async def test_the_address_comes_first(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    await life.learn(mail(ANA))
    await life.learn(mail(record_fields.Person("Bo Beck", ("bo@example.org",))))
    await life.learn(mail(record_fields.Person("Bo Beck", ("ana@example.org",))))
    assert await life.people() == ["Ana Ruiz", "Bo Beck"]
    assert (await life.named("ana@example.org")).name == "Ana Ruiz"


async def test_two_of_one_name_with_different_addresses_stay_two(
    database: db.Database, owner: callers.Caller
) -> None:
    life, text = Life(database, owner), uuid4()
    for _ in range(2):
        await life.learn(mail(ANA))
        await life.learn(mail(record_fields.Person("Ana Ruiz", ("ana@other.example",))))
    assert await life.people() == ["Ana Ruiz", "Ana Ruiz"]
    # And a text that names her says nothing of which.
    await life.learn(
        reading(record=text, named=[update.NamedEntity("person", "Ana Ruiz")])
    )
    await life.learn(
        reading(
            record_fields.Person("Ana Ruiz", relation="attended_by"), domain="event"
        )
    )
    assert await life.people() == ["Ana Ruiz", "Ana Ruiz"]
    with pytest.raises(errors.Conflict):
        await life.named("Ana Ruiz")
    one, two = [
        await life.named(address)
        for address in ("ana@example.org", "ana@other.example")
    ]
    assert one.id != two.id
    assert [(await life.get(node.id)).links for node in (one, two)] == [2, 2]


async def test_one_without_an_address_gets_it_later(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    await life.learn(reading(named=[update.NamedEntity("person", "Ana Ruiz")]))
    await life.learn(mail(ANA))
    assert await life.people() == ["Ana Ruiz"]
    assert (await life.named("ana@example.org")).links == 2


async def test_an_address_gets_its_name_later(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    await life.learn(
        mail(record_fields.Person("ar77@example.org", ("ar77@example.org",)))
    )
    before = await life.named("ar77@example.org")
    await life.learn(mail(record_fields.Person("Ana Ruiz", ("ar77@example.org",))))
    after = await life.named("Ana Ruiz")
    assert (after.id, after.key, after.name) == (before.id, before.key, "Ana Ruiz")
    await life.learn(
        mail(record_fields.Person("ar77@example.org", ("ar77@example.org",)))
    )
    assert await life.people() == ["Ana Ruiz"]


async def test_the_owner(database: db.Database, owner: callers.Caller) -> None:
    life = Life(database, owner)
    await life.learn(mail(record_fields.Person("Marta Solé", ("marta@example.org",))))
    async with database.transaction(owner) as tx:
        made = await update.owner(tx, owner, name="Marta", emails=["Marta@example.org"])
        again = await update.owner(
            tx, owner, name="Marta", emails=["marta@work.example"]
        )
    assert made
    assert again
    assert made.is_owner
    assert made.id == again.id
    assert (await life.named("marta@work.example")).id == made.id
    assert await life.people() == ["Marta Solé"]
    assert len(await life.rows("SELECT FROM node WHERE is_owner")) == 1


# ----------------------------------------------------------------------------------------------------------- read again


async def test_read_again_it_says_the_same(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    card = record_fields.Person(
        "Ana Ruiz", ("ana@example.org",), works_at="Palanca", job_title="Ingeniera"
    )
    known = [
        update.NamedEntity("concept", "Bees", description="Insects", ordinal=3),
        update.NamedEntity("entity", "Palanca"),
    ]
    told = [
        update.StatedFact(
            "Ana Ruiz",
            "thinks_about",
            "Bees",
            {"mood": "curious", "colour": 1},
            ordinal=2,
        )
    ]
    whole = reading(
        card,
        record=record,
        named=known,
        stated=told,
        organisations=[record_fields.Organisation("Palanca")],
    )
    await life.learn(whole)
    before = await life.snapshot()
    await life.learn(whole)
    after = await life.snapshot()
    assert {one["relation"] for one in before["link"]} == {
        "mentions",
        "works_at",
        "thinks_about",
    }
    for some in (before, after):
        for row in some["link"]:
            del row["updated_at"]
    assert before == after


async def test_two_readers_of_a_record_do_not_undo_each_other(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    rules = reading(
        ANA,
        record=record,
        named=[update.NamedEntity("concept", "Bees", confidence=0.6)],
    )
    model = reading(
        record=record,
        by="model",
        named=[
            update.NamedEntity("concept", n, confidence=0.9) for n in ("Bees", "Wax")
        ],
    )
    for one in (rules, model, rules, model, rules):
        await life.learn(one)
    assert {
        row["name"]
        for row in await life.rows("SELECT name FROM node WHERE kind = 'concept'")
    } == {"Bees", "Wax"}
    assert [
        one.confidence for one in await life.links_of(await life.named("Bees"))
    ] == [pytest.approx(0.9)]
    await life.learn(reading(record=record, by="model"))
    assert {
        row["name"]
        for row in await life.rows("SELECT name FROM node WHERE kind = 'concept'")
    } == {"Bees"}


async def test_a_changed_record_withdraws_what_it_no_longer_says(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record, second = Life(database, owner), uuid4(), uuid4()
    bo = record_fields.Person("Bo Beck", ("bo@example.org",))
    await life.learn(mail(ANA, bo, record=record))
    await life.learn(mail(bo, record=second))
    await life.learn(mail(bo, record=record))
    assert await life.people() == ["Bo Beck"]
    assert (await life.named("Bo Beck")).links == 2
    await life.learn(mail(record=record))
    assert (await life.named("Bo Beck")).links == 1
    assert len(await life.rows("SELECT FROM node WHERE kind = 'source'")) == 1


async def test_a_deleted_record_takes_what_it_alone_said(
    database: db.Database, owner: callers.Caller
) -> None:
    life, first, second = Life(database, owner), uuid4(), uuid4()
    told = [update.StatedFact("Ana Ruiz", "collaborates_with", "Bo Beck")]
    both = (ANA, record_fields.Person("Bo Beck", ("bo@example.org",)))
    await life.learn(reading(*both, record=first, stated=told))
    await life.learn(reading(*both, record=second, stated=told))
    await life.unlearn(first)
    assert [
        one.relation for one in await life.links_of(await life.named("Ana Ruiz"))
    ] == [
        "collaborates_with",
        "mentions",
    ]
    await life.unlearn(second)
    assert await life.people() == []
    assert all(rows == [] for rows in (await life.snapshot()).values())
    await life.unlearn(second)


async def test_what_a_deleted_record_had_ended_holds_on(
    database: db.Database, owner: callers.Caller
) -> None:
    life, oslo = Life(database, owner), uuid4()
    await life.learn(lives_in("Ana Ruiz", "Rome", "2026-01-01"))
    await life.learn(lives_in("Ana Ruiz", "Oslo", "2026-02-01", oslo))
    ana = await life.named("Ana Ruiz")
    await life.learn(lives_in("Ana Ruiz", "Lima", "2026-03-01"))
    await life.unlearn(oslo)
    assert await life.history(ana, "located_in") == [
        ("Rome", "2026-01-01", "2026-03-01"),
        ("Lima", "2026-03-01", ""),
    ]


async def test_a_corrected_record_has_always_said_so(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    await life.learn(lives_in("Ana Ruiz", "Rome", "2026-01-01"))
    await life.learn(lives_in("Ana Ruiz", "Oslo", "2026-02-01", record))
    await life.learn(lives_in("Ana Ruiz", "Osaka", "2026-02-01", record))
    ana = await life.named("Ana Ruiz")
    assert await life.history(ana, "located_in") == [
        ("Rome", "2026-01-01", "2026-02-01"),
        ("Osaka", "2026-02-01", ""),
    ]
    await life.learn(reading(record=record))
    assert await life.history(ana, "located_in") == [("Rome", "2026-01-01", "")]


async def test_what_a_reader_gets_wrong_costs_only_itself(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    wrong = [
        update.StatedFact("Bees", "thinks_about", "Ana Ruiz"),
        update.StatedFact("Bees", "works_at", "Ana Ruiz"),
        update.StatedFact("Ana Ruiz", "thinks_about", "Nobody"),
        update.StatedFact("Ana Ruiz", "thinks_about", "Ana Ruiz"),
        update.StatedFact(
            "Ana Ruiz",
            "thinks_about",
            "Bees",
            {"mood": 7, "frequency": "daily"},
            confidence=3,
        ),
    ]
    known = [
        update.NamedEntity("concept", n, confidence=2)
        for n in ("Bees", "  ", "", "x" * 501, "Bees")
    ]
    people = [
        ANA,
        record_fields.Person(" "),
        record_fields.Person("y" * 600, ("y@example.org",)),
    ]
    await life.learn(
        reading(
            *people,
            named=known,
            stated=wrong,
            organisations=[record_fields.Organisation("")],
        )
    )
    assert await life.people() == ["Ana Ruiz"]
    found = await life.links_of(await life.named("Ana Ruiz"))
    assert [
        (one.relation, one.properties) for one in found if one.relation != "mentions"
    ] == [("thinks_about", {"frequency": "daily"})]


# -------------------------------------------------------------------------------------------------------------- by hand


async def test_a_node_deleted_by_hand_stays_deleted(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record, second = Life(database, owner), uuid4(), uuid4()
    whole = reading(ANA, record=record, named=[update.NamedEntity("concept", "Bees")])
    by_another_name = mail(
        record_fields.Person("Anita", ("ana@example.org",)), record=second
    )
    await life.learn(whole)
    await life.learn(by_another_name)
    await life.learn(reading(named=[update.NamedEntity("person", "Anita")]))
    ana, bees = await life.named("Ana Ruiz"), await life.named("Bees")
    async with database.transaction(owner) as tx:
        await nodes.delete(tx, owner, ana.id)
        await nodes.delete(tx, owner, bees.id)
    for one in (
        whole,
        by_another_name,
        reading(named=[update.NamedEntity("person", "Anita")]),
    ):
        await life.learn(one)
    assert await life.people() == []
    assert await life.rows("SELECT FROM link WHERE deleted_at IS NULL") == []
    async with database.transaction(owner) as tx:
        assert await lookups.links_of(tx, owner, [ana.id, bees.id]) == []
        assert await nodes.add(tx, owner, nodes.NodeDraft("concept", "bees")) is None
    with pytest.raises(errors.NotFound):
        await life.get(ana.id)


async def test_the_node_of_a_record_deleted_by_hand_stays_deleted(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    await life.learn(mail(ANA, record=record))
    await life.learn(mail(ANA))
    async with database.transaction(owner) as tx:
        source = await nodes.source_of(tx, owner, record)
        assert source
        await nodes.delete(tx, owner, source)
        assert await nodes.source_of(tx, owner, record) is None
    await life.learn(mail(ANA, record=record))
    assert (await life.named("Ana Ruiz")).links == 1
    await life.unlearn(record)
    assert (await life.named("Ana Ruiz")).links == 1


async def test_a_link_deleted_by_hand_stays_deleted(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    told = reading(
        ANA,
        record=record,
        named=[update.NamedEntity("concept", "Bees")],
        stated=[update.StatedFact("Ana Ruiz", "thinks_about", "Bees")],
    )
    await life.learn(told)
    ana = await life.named("Ana Ruiz")
    async with database.transaction(owner) as tx:
        for link in await lookups.links_of(tx, owner, [ana.id]):
            await links.delete(tx, owner, link.id)
    await life.learn(told)
    assert await life.links_of(ana) == []
    assert (await life.get(ana.id)).links == 0
    await life.learn(mail(ANA))
    assert len(await life.links_of(ana)) == 1


async def test_links_by_hand_survive_everything(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    whole = reading(
        ANA,
        record=record,
        named=[update.NamedEntity("concept", "Bees", confidence=0.2)],
    )
    await life.learn(whole)
    ana, bees = await life.named("Ana Ruiz"), await life.named("Bees")
    async with database.transaction(owner) as tx:
        source = await nodes.source_of(tx, owner, record)
        assert source
        hand = links.Fact(
            source, bees.id, "mentions", "manual", 1.0, "user", {"role": "topic"}
        )
        made = await links.relate(tx, owner, hand)
    by_hand = await life.relate(
        ana, "thinks_about", bees, link_type="manual", by="user", record=record
    )
    assert made
    assert by_hand
    for one in (whole, reading(record=record), whole):
        await life.learn(one)
        found = {one.id: one for one in await life.links_of(bees)}
        assert found.keys() == {made.id, by_hand.id}
        assert (found[made.id].properties, found[made.id].confidence) == (
            {"role": "topic"},
            1,
        )
        assert found[made.id].link_type == "manual"
    await life.unlearn(record)
    async with database.transaction(owner) as tx:
        await nodes.forget(tx, owner)
    assert {one.id for one in await life.links_of(bees)} == {made.id, by_hand.id}


async def test_forgetting_leaves_what_was_done_by_hand(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    whole = [
        reading(
            ANA,
            named=[update.NamedEntity("concept", n) for n in ("Bees", "Wax", "Honey")],
        ),
        mail(ANA),
    ]
    for one in whole:
        await life.learn(one)
    wax = await life.named("Wax")
    async with database.transaction(owner) as tx:
        await nodes.delete(tx, owner, wax.id)
        await nodes.add(tx, owner, nodes.NodeDraft("concept", "Mine", by="user"))
        await nodes.forget(tx, owner)
    with pytest.raises(errors.NotFound):
        await life.named("Ana Ruiz")
    for one in whole:
        await life.learn(one)
    kept = await life.rows(
        "SELECT name FROM node WHERE kind = 'concept' AND deleted_at IS NULL ORDER BY name"
    )
    assert [row["name"] for row in kept] == ["Bees", "Honey", "Mine"]
    assert (await life.named("Ana Ruiz")).links == 2


# --------------------------------------------------------------------------------------------------------- many at once


async def test_many_at_once_make_one_person_and_lose_nothing(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    readings = [
        reading(ANA, record_fields.Person(f"Person {i % 4}", (f"p{i % 4}@example.org",)),
                named=[update.NamedEntity("concept", "Bees"), update.NamedEntity("concept", f"Topic {i}")],
                stated=[update.StatedFact("Ana Ruiz", "thinks_about", "Bees")])
        for i in range(20)
    ]  # fmt: skip
    before = await life.version()
    await asyncio.gather(*(life.learn(one) for one in readings))
    assert await life.people() == ["Ana Ruiz", *(f"Person {i}" for i in range(4))]
    ana = await life.named("Ana Ruiz")
    assert ana.links == 21
    assert len(await life.rows("SELECT FROM evidence")) == 20 * 5
    assert (await life.named("Bees")).links == 21
    assert await life.version() >= before + 20
    # Reading, forgetting and warming at once: no deadlock.

    async def warm(one: update.Extraction, two: update.Extraction) -> None:
        async with database.transaction(owner) as tx:
            await links.warm(tx, owner, one.record_id, two.record_id)
            await links.cool(tx, owner)
            await nodes.cool(tx, owner)

    work = [life.learn(one) for one in readings[:10]] + [
        life.unlearn(one.record_id) for one in readings[10:]
    ]
    await asyncio.gather(*work, *(warm(*readings[i : i + 2]) for i in range(10)))
    assert (await life.named("Ana Ruiz")).links == 11
    assert len(await life.rows("SELECT FROM evidence")) == 10 * 5


async def test_every_change_moves_the_version(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    seen = [await life.version()]

    async def moved() -> None:
        seen.append(await life.version())
        assert seen[-1] > seen[-2]

    await life.learn(mail(ANA, record=record))
    await moved()
    bees, ana = await life.node("Bees", "concept"), await life.named("Ana Ruiz")
    await moved()
    made = await life.relate(ana, "thinks_about", bees)
    await moved()
    assert made
    async with database.transaction(owner) as tx:
        await nodes.change(tx, owner, ana, description="A friend")
    await moved()
    async with database.transaction(owner) as tx:
        await nodes.also(tx, owner, ana.id, names_=["Anita"])
    await moved()
    async with database.transaction(owner) as tx:
        await merging.keep_apart(tx, owner, ana.id, bees.id)
    await moved()
    async with database.transaction(owner) as tx:
        await links.end(tx, owner, made.id, day("2026-01-01"))
    await moved()
    async with database.transaction(owner) as tx:
        await links.delete(tx, owner, made.id)
    await moved()
    async with database.transaction(owner) as tx:
        await nodes.delete(tx, owner, bees.id)
    await moved()
    await life.unlearn(record)
    await moved()
    async with database.transaction(owner) as tx:
        await nodes.erase(tx, owner, bees.id)
    await moved()


# ------------------------------------------------------------------------------------------------------------ isolation


async def test_two_users_do_not_meet(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    mine, theirs, record = Life(database, owner), Life(database, other), uuid4()
    whole = reading(
        ANA,
        record=record,
        named=[update.NamedEntity("concept", "Bees")],
        stated=[update.StatedFact("Ana Ruiz", "thinks_about", "Bees")],
    )
    await mine.learn(whole)
    await theirs.learn(whole)
    before = await theirs.snapshot()
    ana, hers = await mine.named("Ana Ruiz"), await theirs.named("Ana Ruiz")
    assert ana.id != hers.id
    assert ana.key != hers.key
    link = next(
        one for one in await mine.links_of(ana) if one.relation == "thinks_about"
    )
    async with database.transaction(other) as tx:
        assert await nodes.several(tx, other, [ana.id]) == {}
        assert await nodes.by_key(tx, other, ana.key) is None
        assert await nodes.aliases(tx, other, ana.id) == []
        assert await nodes.orphans(tx, other, [ana.id]) == []
        assert await nodes.drop(tx, other, [ana.id]) == 0
        assert await links.evidence_of(tx, other, link.id) == []
        assert await links.ends(tx, other, [link.id]) == []
        assert await links.delete_of_node(tx, other, ana.id) == []
        assert await links.warm(tx, other, record, record) == 0
        await nodes.unalias(tx, other, ana.id, ["ana ruiz"])
        await nodes.merged(tx, other, ana.id, None)
        await nodes.recount(tx, other, [ana.id])
    foreign = links.Fact(ana.id, hers.id, "collaborates_with")
    for asked in (
        lambda tx: nodes.get(tx, other, ana.id),
        lambda tx: nodes.change(tx, other, ana, description="x"),
        lambda tx: nodes.delete(tx, other, ana.id),
        lambda tx: nodes.erase(tx, other, ana.id),
        lambda tx: links.get(tx, other, link.id),
        lambda tx: links.delete(tx, other, link.id),
        lambda tx: links.end(tx, other, link.id, day("2030-01-01")),
        lambda tx: links.relate(tx, other, foreign),
        lambda tx: nodes.also(tx, other, ana.id, names_=["x"]),
    ):
        with pytest.raises((errors.NotFound, errors.Invalid)):
            async with database.transaction(other) as tx:
                await asked(tx)
    await mine.unlearn(record)
    assert await theirs.snapshot() == before
    assert all(rows == [] for rows in (await mine.snapshot()).values())
