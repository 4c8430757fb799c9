"""Merging: two nodes become one with all that they had, and undone they are two with
all that they had.
"""

import random
from typing import Any
from uuid import UUID, uuid4

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.graph import links, merging, nodes
from reverie.graph.extraction import record_fields, update
from tests.graph.life import Life, day, reading


async def merged(
    life: Life, winner: nodes.Node, loser: nodes.Node
) -> merging.MergeEntry:
    async with life.database.transaction(life.user) as tx:
        return await merging.merge(
            tx, life.user, winner=winner.id, loser=loser.id, by="user:owner"
        )


async def undone(life: Life, merge: merging.MergeEntry) -> merging.MergeEntry:
    async with life.database.transaction(life.user) as tx:
        return await merging.undo(tx, life.user, merge.id)


def bare(snapshot: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Without the moments of change."""
    return {
        name: [
            {column: value for column, value in row.items() if column != "updated_at"}
            for row in rows
        ]
        for name, rows in snapshot.items()
    }


async def test_everything_of_the_loser_is_the_winners(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    pepe = await life.node(
        "Pepe",
        emails=["pepe@example.org"],
        properties={"birthday": "1980-01-01", "notes": "tall"},
    )
    jose = await life.node("José", description="A friend", properties={"notes": "kind"})
    bees, wax = await life.node("Bees", "concept"), await life.node("Wax", "concept")
    await life.relate(pepe, "thinks_about", bees)
    await life.relate(jose, "thinks_about", wax, record=record)
    await life.relate(bees, "involves", jose)
    before = await life.version()
    merge = await merged(life, pepe, jose)
    assert await life.version() > before
    pepe = await life.get(pepe.id)
    assert pepe.links == 3
    assert pepe.description == "A friend"
    assert pepe.properties == {"birthday": "1980-01-01", "notes": "tall"}
    assert {(one.from_id, one.to_id) for one in await life.links_of(pepe)} == {
        (pepe.id, bees.id),
        (pepe.id, wax.id),
        (bees.id, pepe.id),
    }
    assert (await life.named("jose")).id == pepe.id
    assert await life.people() == ["Pepe"]
    with pytest.raises(errors.NotFound):
        await life.get(jose.id)
    async with database.transaction(owner) as tx:
        assert await nodes.by_key(tx, owner, jose.key) == pepe
        assert [one.id for one in await merging.history(tx, owner, pepe.id)] == [
            merge.id
        ]


async def test_doubles_are_hidden_and_their_evidence_is_shared(
    database: db.Database, owner: callers.Caller
) -> None:
    life, first, second = Life(database, owner), uuid4(), uuid4()
    one, two, bees = (
        await life.node("Pepe"),
        await life.node("José"),
        await life.node("Bees", "concept"),
    )
    kept = await life.relate(
        one, "thinks_about", bees, record=first, properties={"mood": "calm"}
    )
    await life.relate(
        two, "thinks_about", bees, record=second, properties={"mood": "cross"}
    )
    await life.relate(two, "collaborates_with", one)
    before = bare(await life.snapshot())
    merge = await merged(life, one, two)
    assert kept
    assert [(found.id, found.properties) for found in await life.links_of(one)] == [
        (kept.id, {"mood": "calm"})
    ]
    assert (await life.get(one.id)).links == 1
    assert (await life.get(bees.id)).links == 1
    async with database.transaction(owner) as tx:
        assert {
            proof.record_id for proof in await links.evidence_of(tx, owner, kept.id)
        } == {
            first,
            second,
        }
    await undone(life, merge)
    assert bare(await life.snapshot()) == before


@pytest.mark.parametrize("by_loser", [True, False])
async def test_of_doubles_what_was_made_by_hand_stays(
    database: db.Database, owner: callers.Caller, *, by_loser: bool
) -> None:
    life = Life(database, owner)
    record = uuid4()
    told = reading(record=record, named=[update.NamedEntity("person", "Pepe"), update.NamedEntity("concept", "Bees")],
                   stated=[update.StatedFact("Pepe", "thinks_about", "Bees")])  # fmt: skip
    await life.learn(told)
    pepe, bees = await life.named("Pepe"), await life.named("Bees")
    jose = await life.node("José")
    hand = await life.relate(jose, "thinks_about", bees, link_type="manual", by="user")
    before = bare(await life.snapshot())
    merge = (
        await merged(life, pepe, jose) if by_loser else await merged(life, jose, pepe)
    )
    assert hand
    assert [
        one.id for one in await life.links_of(bees) if one.relation == "thinks_about"
    ] == [hand.id]
    await undone(life, merge)
    assert bare(await life.snapshot()) == before
    merge = (
        await merged(life, pepe, jose) if by_loser else await merged(life, jose, pepe)
    )
    await life.unlearn(record)
    assert [one.id for one in await life.links_of(bees)] == [hand.id]


async def test_what_was_deleted_of_one_does_not_hide_what_is_of_the_other(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    one, two, bees = (
        await life.node("Pepe"),
        await life.node("José"),
        await life.node("Bees", "concept"),
    )
    wrong = await life.relate(one, "thinks_about", bees)
    right = await life.relate(two, "thinks_about", bees)
    assert wrong
    assert right
    async with database.transaction(owner) as tx:
        await links.delete(tx, owner, wrong.id)
        await nodes.recount(tx, owner, [one.id, bees.id])
    before = bare(await life.snapshot())
    merge = await merged(life, one, two)
    assert [found.id for found in await life.links_of(one)] == [right.id]
    await undone(life, merge)
    assert bare(await life.snapshot()) == before


async def test_read_again_it_lands_on_the_winner_and_undone_it_is_as_before(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    whole = [
        reading(record_fields.Person("Pepe", ("pepe@example.org",)), named=[update.NamedEntity("concept", "Bees")],
                stated=[update.StatedFact("Pepe", "thinks_about", "Bees"), update.StatedFact("Pepe", "works_at", "X")]),
        reading(record_fields.Person("José"), named=[update.NamedEntity("concept", "Bees")],
                stated=[update.StatedFact("José", "thinks_about", "Bees")]),
        reading(record_fields.Person("José"), record_fields.Person("Pepe"),
                stated=[update.StatedFact("José", "collaborates_with", "Pepe")]),
    ]  # fmt: skip
    for one in whole:
        await life.learn(one)
    pepe, jose = await life.named("Pepe"), await life.named("José")
    before = bare(await life.snapshot())
    merge = await merged(life, pepe, jose)
    during = bare(await life.snapshot())
    for one in whole:
        await life.learn(one)
    assert await life.people() == ["Pepe"]
    assert bare(await life.snapshot())["link"] == during["link"]
    assert len(await life.links_of(pepe)) == 4
    await undone(life, merge)
    after = bare(await life.snapshot())
    assert after["link"] == before["link"]
    assert after["node"] == before["node"]
    for one in whole:
        await life.learn(one)
    assert bare(await life.snapshot()) == before
    assert {
        node.id for node in (await life.named("Pepe"), await life.named("José"))
    } == {pepe.id, jose.id}


async def test_what_a_merged_record_no_longer_says_does_not_come_back(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    pepe, jose, bees = (
        await life.node("Pepe"),
        await life.node("José"),
        await life.node("Bees", "concept"),
    )
    known = [
        update.NamedEntity("person", "José"),
        update.NamedEntity("concept", "Bees"),
    ]
    told = [update.StatedFact("José", "thinks_about", "Bees")]
    await life.learn(reading(record=record, named=known, stated=told))
    await life.relate(pepe, "thinks_about", bees, record=uuid4())
    merge = await merged(life, pepe, jose)
    await life.learn(reading(record=record, named=known))
    await undone(life, merge)
    assert [one.relation for one in await life.links_of(jose)] == ["mentions"]
    assert len(await life.links_of(pepe)) == 1


async def test_what_came_since_stays_with_the_winner(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    pepe = await life.node("Pepe")
    jose = await life.node(
        "José", description="d", properties={"notes": "n", "situation": "s"}
    )
    merge = await merged(life, pepe, jose)
    wax = await life.node("Wax", "concept")
    await life.relate(pepe, "thinks_about", wax)
    async with database.transaction(owner) as tx:
        pepe = await nodes.change(tx, owner, await nodes.get(tx, owner, pepe.id), description="e",
                                  properties={"notes": "m"})  # fmt: skip
    await undone(life, merge)
    pepe, jose = await life.get(pepe.id), await life.get(jose.id)
    assert (pepe.description, pepe.properties) == ("e", {"notes": "m"})
    assert (jose.description, jose.properties) == (
        "d",
        {"notes": "n", "situation": "s"},
    )
    assert (pepe.links, jose.links) == (1, 0)


async def test_a_later_merge_is_undone_first(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    a, b, c = [await life.node(name) for name in ("A", "B", "C")]
    x, y = await life.node("X", "concept"), await life.node("Y", "concept")
    for node in (a, b, c):
        await life.relate(node, "thinks_about", x)
    await life.relate(c, "thinks_about", y)
    before = bare(await life.snapshot())
    first = await merged(life, b, c)
    second = await merged(life, a, b)
    third = await merged(life, y, x)
    for early in (first, second):
        with pytest.raises(errors.Conflict):
            await undone(life, early)
    async with database.transaction(owner) as tx:
        assert (await nodes.by_key(tx, owner, c.key)) == await nodes.get(
            tx, owner, a.id
        )
    for one in (third, second, first):
        await undone(life, one)
        with pytest.raises(errors.NotFound):
            await undone(life, one)
    assert bare(await life.snapshot()) == before


async def test_what_is_not_merged(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, bo, bees = (
        await life.node("Ana"),
        await life.node("Bo"),
        await life.node("Bees", "concept"),
    )
    async with database.transaction(owner) as tx:
        me = await update.owner(tx, owner, name="Marta")
        sources = [
            await nodes.source(tx, owner, domain="note", record_id=uuid4(), title=t)
            for t in "xy"
        ]
    assert me
    assert sources[0]
    assert sources[1]
    for winner, loser in (
        (ana.id, ana.id),
        (ana.id, bees.id),
        (ana.id, me.id),
        (sources[0], sources[1]),
    ):
        with pytest.raises(errors.Invalid):
            async with database.transaction(owner) as tx:
                await merging.merge(
                    tx, owner, winner=winner, loser=loser, by="user:owner"
                )
    theirs = Life(database, other)
    hers = await theirs.node("Ana")
    with pytest.raises(errors.NotFound):
        await merged(life, ana, hers)
    merge = await merged(life, ana, bo)
    with pytest.raises(errors.NotFound):
        await undone(theirs, merge)
    with pytest.raises(errors.NotFound):
        await merged(life, bees, bo)
    with pytest.raises(errors.NotFound):
        async with database.transaction(other) as tx:
            await merging.keep_apart(tx, other, ana.id, hers.id)
    async with database.transaction(other) as tx:
        assert await merging.history(tx, other, ana.id) == []


async def test_kept_apart(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    life = Life(database, owner)
    one, two = (
        await life.node("ASR1603", "entity"),
        await life.node("ASR1605", "entity"),
    )
    async with database.transaction(owner) as tx:
        await merging.keep_apart(tx, owner, two.id, one.id)
        await merging.keep_apart(tx, owner, one.id, two.id)
        assert await merging.kept_apart(tx, owner) == {
            (min(one.id, two.id), max(one.id, two.id))
        }
    async with database.transaction(other) as tx:
        assert await merging.kept_apart(tx, other) == frozenset()


async def test_a_node_deleted_meanwhile_has_no_links_after_undoing(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    one, two, bees = (
        await life.node("Pepe"),
        await life.node("José"),
        await life.node("Bees", "concept"),
    )
    await life.relate(one, "thinks_about", bees)
    await life.relate(two, "thinks_about", bees)
    merge = await merged(life, one, two)
    async with database.transaction(owner) as tx:
        await nodes.delete(tx, owner, bees.id)
    await undone(life, merge)
    assert await life.links_of(one) == await life.links_of(two) == []


RELATIONS = ("collaborates_with", "has_relationship_with", "relates_to")


async def scattered(life: Life, dice: random.Random) -> list[nodes.Node]:
    """A few people with many links among them, from few records, some by hand, some
    deleted, some with a time.
    """
    people = [
        await life.node(f"P{i}", emails=[f"p{i}@example.org"])
        for i in range(dice.randint(3, 6))
    ]
    records: list[UUID | None] = [None, *(uuid4() for _ in range(4))]
    made: list[UUID] = []
    for _ in range(dice.randint(5, 30)):
        begin, end = dice.sample(people, 2)
        link = await life.relate(
            begin, dice.choice(RELATIONS), end, record=dice.choice(records),
            valid_from=dice.choice([None, None, day("2026-01-01"), day("2026-02-01")]),
            link_type=dice.choice(["manual", "extracted"]), by=dice.choice(["user", "system", "model"]),
            properties=dice.choice([{}, {"notes": "n"}]),
        )  # fmt: skip
        if link is not None:
            made.append(link.id)
    async with life.database.transaction(life.user) as tx:
        for link_id in {one for one in made if dice.random() < 0.15}:
            await links.delete(tx, life.user, link_id)
        await nodes.recount(tx, life.user, [one.id for one in people])
    return people


@pytest.mark.parametrize("seed", range(40))
async def test_undone_in_turn_everything_is_as_before(
    database: db.Database, owner: callers.Caller, seed: int
) -> None:
    life, dice = Life(database, owner), random.Random(seed)
    left = await scattered(life, dice)
    states, merges = [bare(await life.snapshot())], list[merging.MergeEntry]()
    while len(left) > 1 and dice.random() < 0.9:
        winner, loser = dice.sample(left, 2)
        merges.append(await merged(life, winner, loser))
        left.remove(loser)
        states.append(bare(await life.snapshot()))
        visible = [one for one in states[-1]["link"] if one["hidden_by"] is None]
        gone = {one["id"] for one in states[-1]["node"] if one["merged_into"]}
        assert all(
            one["from_id"] != one["to_id"] and not {one["from_id"], one["to_id"]} & gone
            for one in visible
        )
        facts = [
            (one["from_id"], one["to_id"], one["relation"], one["valid_from"])
            for one in visible
        ]
        assert len(set(facts)) == len(facts)
    for merge in reversed(merges):
        states.pop()
        await undone(life, merge)
        assert bare(await life.snapshot()) == states[-1], seed
