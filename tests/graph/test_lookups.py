"""Lookups: lists, neighbours, shortest paths and parts of a graph, checked against a
plain walk in Python.
"""

import itertools
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.graph import links, lookups, merging, nodes
from reverie.graph.extraction import record_fields, update
from tests.graph.life import Life, day, reading

Around = Mapping[UUID, set[UUID]]


async def scattered(
    life: Life, dice: random.Random, *, size: int, count: int
) -> list[nodes.Node]:
    """A random graph: some links weak, ended, begun later, deleted or hidden by a
    merge; some nodes deleted.
    """
    made: list[nodes.Node] = []
    async with life.database.transaction(life.user) as tx:
        for i in range(size):
            node = await nodes.add(
                tx,
                life.user,
                nodes.NodeDraft(dice.choice(["person", "entity", "concept"]), f"N{i}"),
            )
            assert node
            made.append(node)
        for _ in range(count):
            begin, end = dice.sample(made, 2)
            fact = links.Fact(
                begin.id, end.id, dice.choice(["relates_to", "follows_up"]),
                confidence=dice.choice([0.3, 0.5, 0.9]),
                valid_from=dice.choice([None, day("2026-02-01")]),
                valid_to=dice.choice([None, None, day("2026-03-01")]),
            )  # fmt: skip
            link = await links.relate(tx, life.user, fact)
            if link and dice.random() < 0.1:
                await links.delete(tx, life.user, link.id)
        people = [one for one in made if one.kind == "person"]
        if len(people) > 1:
            winner, loser = dice.sample(people, 2)
            await merging.merge(
                tx, life.user, winner=winner.id, loser=loser.id, by="user"
            )
        left = [
            one
            for one in made
            if one.id in await nodes.several(tx, life.user, [one.id for one in made])
        ]
        await nodes.delete(tx, life.user, dice.choice(left).id)
        await nodes.recount(tx, life.user, [one.id for one in made])
        return list(
            (await nodes.several(tx, life.user, [one.id for one in made])).values()
        )


async def around(
    life: Life, *, confidence: float = 0.5, as_of: datetime | None = None
) -> Around:
    """Who is beside whom, out of the rows themselves."""
    rows = await life.rows(
        "SELECT * FROM link WHERE deleted_at IS NULL AND hidden_by IS NULL AND confidence >= %s::real",
        confidence,
    )
    found: dict[UUID, set[UUID]] = defaultdict(set)
    moment = as_of or datetime.now(UTC)
    for row in rows:
        begun = (
            as_of is None or row["valid_from"] is None or row["valid_from"] <= moment
        )
        if begun and (row["valid_to"] is None or row["valid_to"] > moment):
            found[row["from_id"]].add(row["to_id"])
            found[row["to_id"]].add(row["from_id"])
    return found


def walked(beside: Around, start: Sequence[UUID], depth: int) -> dict[UUID, int]:
    """How far each node is, up to a depth."""
    far = dict.fromkeys(start, 0)
    edge = list(start)
    for step in range(1, depth + 1):
        edge = [
            there
            for here in edge
            for there in beside.get(here, ())
            if far.setdefault(there, step) == step
        ]
        edge = list(dict.fromkeys(edge))
    return far


@pytest.mark.parametrize("seed", range(12))
async def test_neighbours_are_those_of_a_plain_walk(
    database: db.Database, owner: callers.Caller, seed: int
) -> None:
    life, dice = Life(database, owner), random.Random(seed)
    made = await scattered(
        life, dice, size=dice.randint(6, 25), count=dice.randint(5, 50)
    )
    for as_of in (None, day("2026-01-15"), day("2026-02-15")):
        for confidence in (0.5, 0.6, 0.0):
            beside = await around(life, confidence=confidence, as_of=as_of)
            for depth in (1, 2, 3):
                start = [one.id for one in dice.sample(made, dice.randint(1, 2))]
                async with database.transaction(owner) as tx:
                    found = await lookups.connections(
                        tx,
                        owner,
                        start,
                        depth=depth,
                        confidence=confidence,
                        as_of=as_of,
                    )
                wanted = {
                    node: far
                    for node, far in walked(beside, start, depth).items()
                    if far
                }
                assert {one.node.id: one.depth for one in found} == wanted
                assert len(found) == len(wanted)
                assert [one.depth for one in found] == sorted(
                    one.depth for one in found
                )


@pytest.mark.parametrize("seed", range(12))
async def test_paths_are_as_short_as_those_of_a_plain_walk(
    database: db.Database, owner: callers.Caller, seed: int
) -> None:
    life, dice = Life(database, owner), random.Random(seed)
    made = await scattered(
        life, dice, size=dice.randint(6, 30), count=dice.randint(6, 35)
    )
    beside = await around(life)
    for _ in range(25):
        begin, end = dice.sample(made, 2)
        depth = dice.randint(1, 4)
        async with database.transaction(owner) as tx:
            found = await lookups.path(tx, owner, begin.id, end.id, depth=depth)
        far = walked(beside, [begin.id], depth).get(end.id)
        assert (found and len(found.links)) == far
        if found:
            ids = [one.id for one in found.nodes]
            assert (ids[0], ids[-1], len(set(ids))) == (
                begin.id,
                end.id,
                len(found.links) + 1,
            )
            for here, there, link in zip(ids, ids[1:], found.links, strict=False):
                assert {here, there} == {link.from_id, link.to_id}


async def test_the_ends_of_a_path(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    life = Life(database, owner)
    chain = [await life.node(f"N{i}") for i in range(6)]
    for here, there in itertools.pairwise(chain):
        await life.relate(here, "collaborates_with", there)
    await life.relate(chain[2], "collaborates_with", chain[0])
    async with database.transaction(owner) as tx:
        same = await lookups.path(tx, owner, chain[0].id, chain[0].id)
        assert same
        assert ([one.id for one in same.nodes], same.links) == ([chain[0].id], [])
        far = await lookups.path(tx, owner, chain[5].id, chain[0].id)
        assert far
        assert [one.name for one in far.nodes] == ["N5", "N4", "N3", "N2", "N0"]
        assert await lookups.path(tx, owner, chain[5].id, chain[1].id, depth=3) is None
        for depth in (0, 5):
            with pytest.raises(errors.Invalid):
                await lookups.path(tx, owner, chain[0].id, chain[1].id, depth=depth)
        with pytest.raises(errors.NotFound):
            await lookups.path(tx, owner, chain[0].id, uuid4())
    async with database.transaction(other) as tx:
        with pytest.raises(errors.NotFound):
            await lookups.path(tx, other, chain[0].id, chain[1].id)


async def test_the_depth_and_the_number_of_neighbours_have_limits(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    hub = await life.node("Hub")
    spokes = [await life.node(f"S{i}") for i in range(8)]
    for one in spokes:
        await life.relate(hub, "collaborates_with", one)
    await life.relate(spokes[7], "collaborates_with", await life.node("Far"))
    async with database.transaction(owner) as tx:
        for depth in (0, 4):
            with pytest.raises(errors.Invalid):
                await lookups.connections(tx, owner, [hub.id], depth=depth)
        found = await lookups.connections(tx, owner, [hub.id], limit=5)
        assert [one.depth for one in found] == [1] * 5
        assert await lookups.connections(tx, owner, []) == []
        assert await lookups.connections(tx, owner, [uuid4()]) == []


async def test_lists(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    life = Life(database, owner)
    await life.learn(
        reading(
            record_fields.Person("Ana Ruiz", ("ana@example.org",)),
            record_fields.Person("Ana Pérez"),
            named=[
                update.NamedEntity("entity", "Palanca", "company"),
                update.NamedEntity("entity", "Rome", "place"),
            ],
        )
    )
    await life.learn(reading(record_fields.Person("Ana Ruiz")))
    async with database.transaction(owner) as tx:
        found, count = await lookups.listed(tx, owner)
        assert ([one.name for one in found], count) == (
            ["Ana Ruiz", "Ana Pérez", "Palanca", "Rome"],
            4,
        )
        found, count = await lookups.listed(tx, owner, limit=2, offset=1)
        assert ([one.name for one in found], count) == (["Ana Pérez", "Palanca"], 4)
        found, count = await lookups.listed(tx, owner, kind="entity", type_="place")
        assert ([one.name for one in found], count) == (["Rome"], 1)
        found, count = await lookups.listed(tx, owner, name="ÁNA")
        assert ([one.name for one in found], count) == (["Ana Ruiz", "Ana Pérez"], 2)
        assert (await lookups.listed(tx, owner, name="example.org"))[1] == 1
        for odd in ("%", "_", "\\", "100%", "'; --"):
            assert await lookups.listed(tx, owner, name=odd) == ([], 0)
        assert (await lookups.listed(tx, owner, kind="source"))[1] == 2
    async with database.transaction(other) as tx:
        assert await lookups.listed(tx, other) == ([], 0)
        assert (await lookups.stats(tx, other)) == lookups.Stats({}, {}, 0)


async def test_a_node_by_what_somebody_calls_it(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana = await life.node("Ana Ruiz", emails=["ana@example.org"])
    await life.node("Bea Ruiz")
    rome = await life.node("Rome", "entity")
    for name in (str(ana.id), ana.key, "ana  RUIZ", "Ana@Example.org", "Ana"):
        assert (await life.named(name)).id == ana.id
    assert (await life.named("rome")).id == rome.id
    with pytest.raises(errors.Conflict) as several:
        await life.named("Ruiz")
    assert str(ana.id) in (several.value.hint or "")
    for nobody in ("Cy", str(uuid4()), "", " ", "%"):
        with pytest.raises(errors.NotFound):
            await life.named(nobody)


async def test_links_of_a_node_in_time(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, bo = await life.node("Ana"), await life.node("Bo")
    soon = datetime.now(UTC) + timedelta(days=30)
    await life.relate(
        ana,
        "collaborates_with",
        bo,
        valid_from=day("2020-01-01"),
        valid_to=day("2021-01-01"),
    )
    await life.relate(ana, "has_relationship_with", bo, valid_to=soon, confidence=0.3)
    assert [one.relation for one in await life.links_of(ana)] == [
        "has_relationship_with"
    ]
    assert await life.links_of(ana, confidence=0.5) == []
    assert [one.relation for one in await life.links_of(ana, ended=True)] == [
        "collaborates_with",
        "has_relationship_with",
    ]
    assert len(await life.links_of(bo, as_of=day("2020-06-01"))) == 2
    assert await life.links_of(bo, as_of=soon + timedelta(days=1)) == []
    assert len(await life.links_of(bo, as_of=day("2020-06-01"), limit=1)) == 1
    async with database.transaction(other) as tx:
        assert (
            await lookups.links_of(tx, other, [ana.id])
            == await lookups.among(tx, other, [ana.id, bo.id])
            == []
        )


async def test_a_part_to_draw_and_counts(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    life = Life(database, owner)
    await life.learn(reading(*(record_fields.Person(f"P{i}") for i in range(5))))
    people = [await life.named(f"P{i}") for i in range(5)]
    for one in people[1:4]:
        await life.relate(people[0], "collaborates_with", one)
    await life.relate(people[3], "has_relationship_with", people[2])
    async with database.transaction(owner) as tx:
        part, heats = await lookups.subgraph(tx, owner, limit=3)
        assert [one.name for one in part.nodes] == ["P0", "P2", "P3"]
        assert len(part.links) == 3
        assert heats == {}
        assert len(await lookups.among(tx, owner, [one.id for one in people])) == 4
        found = await lookups.stats(tx, owner)
        assert found.nodes == {"person": 5, "source": 1}
        assert found.links == {
            "collaborates_with": 3,
            "has_relationship_with": 1,
            "mentions": 5,
        }
        assert found.version == await nodes.version(tx, owner) > 0
    async with database.transaction(other) as tx:
        assert await lookups.subgraph(tx, other) == (lookups.Subgraph([], []), {})
        assert await lookups.heats(tx, other, [one.id for one in people]) == {}
        with pytest.raises(errors.NotFound):
            await lookups.named(tx, other, "P0")


async def test_salience(database: db.Database, owner: callers.Caller) -> None:
    life = Life(database, owner)
    hub, lone = await life.node("Hub"), await life.node("Lone")
    for i in range(50):
        await life.relate(hub, "collaborates_with", await life.node(f"S{i}"))
    assert (await life.get(hub.id)).salience == pytest.approx(1)
    assert (await life.get(lone.id)).salience == 0
    async with database.transaction(owner) as tx:
        await tx.run("UPDATE node SET touched_at = now() - interval '90 days'")
        await nodes.cool(tx, owner)
    assert (await life.get(hub.id)).salience == pytest.approx(0.75, abs=0.001)
