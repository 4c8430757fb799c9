"""Links: intervals of facts that exclude each other, facts that do not, and what is
done by hand.
"""

import itertools
import random
from typing import Any
from uuid import UUID, uuid4

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.graph import links, nodes
from tests.graph.life import Life, day


async def places(life: Life) -> tuple[nodes.Node, dict[str, nodes.Node]]:
    """Ana and three places."""
    ana = await life.node("Ana")
    return ana, {
        name: await life.node(name, "entity", type="place")
        for name in ("Rome", "Oslo", "Lima")
    }


async def moved(
    life: Life, ana: nodes.Node, place: nodes.Node, at: str, **values: object
) -> links.Link | None:
    return await life.relate(
        ana, "located_in", place, record=uuid4(), **({"at": day(at)} | values)
    )


async def test_a_fact_that_changed_closes_and_opens(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    await moved(life, ana, place["Rome"], "2026-01-10")
    await moved(life, ana, place["Oslo"], "2026-03-05")
    assert await life.history(ana, "located_in") == [
        ("Rome", "2026-01-10", "2026-03-05"),
        ("Oslo", "2026-03-05", ""),
    ]
    assert [one.to_id for one in await life.links_of(ana)] == [place["Oslo"].id]
    asked = {
        at: await life.links_of(ana, as_of=day(at))
        for at in ("2026-01-09", "2026-03-04", "2026-03-05")
    }
    assert asked["2026-01-09"] == []
    assert [one.to_id for one in asked["2026-03-04"]] == [place["Rome"].id]
    assert [one.to_id for one in asked["2026-03-05"]] == [place["Oslo"].id]


async def test_an_older_fact_learnt_later_slots_in_before(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    await moved(life, ana, place["Oslo"], "2026-03-05")
    await moved(life, ana, place["Rome"], "2026-01-10")
    await moved(life, ana, place["Lima"], "2026-02-01")
    assert await life.history(ana, "located_in") == [
        ("Rome", "2026-01-10", "2026-02-01"),
        ("Lima", "2026-02-01", "2026-03-05"),
        ("Oslo", "2026-03-05", ""),
    ]


async def test_moving_back_opens_a_third_interval(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    for name, at in (
        ("Rome", "2026-01-01"),
        ("Oslo", "2026-02-01"),
        ("Rome", "2026-03-01"),
    ):
        await moved(life, ana, place[name], at)
    assert await life.history(ana, "located_in") == [
        ("Rome", "2026-01-01", "2026-02-01"),
        ("Oslo", "2026-02-01", "2026-03-01"),
        ("Rome", "2026-03-01", ""),
    ]


async def test_what_is_said_again_later_holds_again_after_what_slots_in(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    for name, at in (
        ("Oslo", "2026-01-01"),
        ("Oslo", "2026-03-01"),
        ("Rome", "2026-02-01"),
    ):
        await moved(life, ana, place[name], at)
    assert await life.history(ana, "located_in") == [
        ("Oslo", "2026-01-01", "2026-02-01"),
        ("Rome", "2026-02-01", "2026-03-01"),
        ("Oslo", "2026-03-01", ""),
    ]
    assert len(await life.rows("SELECT FROM evidence")) == 3


def runs(said: list[tuple[int, str]]) -> list[tuple[str, int, int | None]]:
    """The intervals that points in time make."""
    grouped = [
        (name, [at for at, _ in some])
        for name, some in itertools.groupby(sorted(said), key=lambda one: one[1])
    ]
    ends = [some[0] for _, some in grouped[1:]]
    return [
        (name, some[0], end)
        for (name, some), end in zip(grouped, [*ends, None], strict=True)
    ]


@pytest.mark.parametrize("seed", range(25))
async def test_it_does_not_matter_in_which_order_facts_are_learnt(
    database: db.Database, owner: callers.Caller, seed: int
) -> None:
    life, dice = Life(database, owner), random.Random(seed)
    ana, place = await places(life)
    said = [
        (at, dice.choice(list(place)))
        for at in dice.sample(range(1, 28), dice.randint(2, 9))
    ]
    records: dict[tuple[int, str], UUID] = {one: uuid4() for one in said}
    for again in range(2):
        for at, name in dice.sample(said, len(said)):
            when = day(f"2026-01-{at:02}")
            made = await life.relate(
                ana, "located_in", place[name], record=records[at, name], at=when
            )
            assert made is not None
        wanted = [
            (n, f"2026-01-{b:02}", f"2026-01-{e:02}" if e else "")
            for n, b, e in runs(said)
        ]
        assert await life.history(ana, "located_in") == wanted, (seed, again)
    assert len(await life.rows("SELECT FROM evidence")) == len(said)


async def test_facts_of_one_moment_stay_beside_each_other(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    await moved(life, ana, place["Rome"], "2026-01-01")
    await moved(life, ana, place["Oslo"], "2026-01-01")
    assert len(await life.links_of(ana)) == 2
    await moved(life, ana, place["Lima"], "2026-02-01")
    assert [one.to_id for one in await life.links_of(ana)] == [place["Lima"].id]


async def test_an_end_that_was_told(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    told = {"valid_from": day("2020-01-01"), "valid_to": day("2022-01-01")}
    await moved(life, ana, place["Rome"], "2026-01-01", **told)
    await moved(life, ana, place["Oslo"], "2026-01-01")
    assert await life.history(ana, "located_in") == [
        ("Rome", "2020-01-01", "2022-01-01"),
        ("Oslo", "2026-01-01", ""),
    ]
    made = await moved(life, ana, place["Rome"], "2026-01-01", **told)
    assert made is not None
    assert len(await life.history(ana, "located_in")) == 2


async def test_facts_that_can_both_be_true_stay_both(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, bo, cy = [await life.node(name) for name in ("Ana", "Bo", "Cy")]
    await life.relate(ana, "collaborates_with", bo, at=day("2026-01-01"))
    await life.relate(ana, "collaborates_with", cy, at=day("2026-02-01"))
    await life.relate(ana, "has_relationship_with", bo)
    found = await life.links_of(ana)
    assert sorted(one.relation for one in found) == ["collaborates_with"] * 2 + [
        "has_relationship_with"
    ]
    assert all(one.valid_to is None for one in found)


async def test_facts_of_others_and_of_other_relations_do_not_end_it(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    bo, firm = (
        await life.node("Bo"),
        await life.node("Palanca", "entity", type="company"),
    )
    await moved(life, ana, place["Rome"], "2026-01-01")
    await moved(life, bo, place["Oslo"], "2026-02-01")
    await life.relate(ana, "works_at", firm, at=day("2026-03-01"))
    await life.relate(firm, "located_in", place["Lima"], at=day("2026-03-01"))
    assert await life.history(ana, "located_in") == [("Rome", "2026-01-01", "")]
    assert await life.history(ana, "works_at") == [("Palanca", "2026-03-01", "")]


async def test_said_again_it_is_one_link_with_more_evidence(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record, other_record = Life(database, owner), uuid4(), uuid4()
    ana, bo = await life.node("Ana"), await life.node("Bo")
    first = await life.relate(
        ana,
        "collaborates_with",
        bo,
        record=record,
        properties={"relevance": 3},
        confidence=0.6,
    )
    again = await life.relate(
        ana, "collaborates_with", bo, record=record, confidence=0.9
    )
    third = await life.relate(
        ana, "collaborates_with", bo, record=other_record, confidence=0.2
    )
    assert first
    assert again
    assert third
    assert first.id == again.id == third.id
    assert third.confidence == pytest.approx(0.9)
    assert third.properties == {"relevance": 3}
    async with database.transaction(owner) as tx:
        proof = await links.evidence_of(tx, owner, first.id)
    assert {one.record_id for one in proof} == {record, other_record}
    assert await life.relate(bo, "collaborates_with", ana) != first


async def test_a_later_mention_of_a_time_widens_it(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, bo = await life.node("Ana"), await life.node("Bo")
    await life.relate(ana, "collaborates_with", bo, valid_from=day("2022-01-01"))
    await life.relate(ana, "collaborates_with", bo, valid_from=day("2021-01-01"))
    await life.relate(ana, "collaborates_with", bo, valid_to=day("2024-01-01"))
    assert await life.history(ana, "collaborates_with") == [
        ("Bo", "2021-01-01", "2024-01-01")
    ]
    await life.relate(ana, "collaborates_with", bo, valid_from=day("2025-01-01"))
    assert await life.history(ana, "collaborates_with") == [
        ("Bo", "2021-01-01", "2024-01-01"),
        ("Bo", "2025-01-01", ""),
    ]


async def test_what_cannot_be(database: db.Database, owner: callers.Caller) -> None:
    life = Life(database, owner)
    ana, bo = await life.node("Ana"), await life.node("Bo")
    with pytest.raises(errors.Invalid):
        await life.relate(ana, "collaborates_with", ana)
    with pytest.raises(errors.Invalid):
        await life.relate(
            ana,
            "collaborates_with",
            bo,
            valid_from=day("2026-02-01"),
            valid_to=day("2026-01-01"),
        )
    made = await life.relate(
        ana, "collaborates_with", bo, valid_from=day("2026-02-01"), confidence=1.7
    )
    assert made
    assert made.confidence == 1
    with pytest.raises(errors.Invalid):
        async with database.transaction(owner) as tx:
            await links.end(tx, owner, made.id, day("2026-01-01"))
    for asked in (links.get, links.delete):
        with pytest.raises(errors.NotFound):
            async with database.transaction(owner) as tx:
                await asked(tx, owner, uuid4())


async def test_ended_by_hand(database: db.Database, owner: callers.Caller) -> None:
    life = Life(database, owner)
    ana, place = await places(life)
    made = await moved(life, ana, place["Rome"], "2026-01-01")
    assert made
    async with database.transaction(owner) as tx:
        await links.end(tx, owner, made.id, day("2026-02-01"))
    assert await life.links_of(ana) == []
    assert await life.history(ana, "located_in") == [
        ("Rome", "2026-01-01", "2026-02-01")
    ]


async def test_deleted_by_hand_it_stays_deleted_and_what_it_had_closed_opens(
    database: db.Database, owner: callers.Caller
) -> None:
    life, record = Life(database, owner), uuid4()
    ana, place = await places(life)
    await moved(life, ana, place["Rome"], "2026-01-01")
    wrong = await life.relate(
        ana, "located_in", place["Oslo"], record=record, at=day("2026-02-01")
    )
    assert wrong
    async with database.transaction(owner) as tx:
        assert set(await links.delete(tx, owner, wrong.id)) == {
            ana.id,
            place["Oslo"].id,
        }
    assert await life.history(ana, "located_in") == [("Rome", "2026-01-01", "")]
    assert (
        await life.relate(
            ana, "located_in", place["Oslo"], record=record, at=day("2026-02-01")
        )
        is None
    )
    assert (
        await life.relate(
            ana, "located_in", place["Oslo"], record=uuid4(), at=day("2026-04-01")
        )
        is None
    )
    assert await life.history(ana, "located_in") == [("Rome", "2026-01-01", "")]
    by_hand = await life.relate(
        ana,
        "located_in",
        place["Oslo"],
        link_type="manual",
        by="user",
        at=day("2026-05-01"),
    )
    assert by_hand
    assert by_hand.link_type == "manual"
    assert [one.to_id for one in await life.links_of(ana)] == [place["Oslo"].id]


async def test_of_two_intervals_the_deleted_one_stays_deleted(
    database: db.Database, owner: callers.Caller
) -> None:
    life = Life(database, owner)
    ana, bo = await life.node("Ana"), await life.node("Bo")
    told: dict[str, Any] = {
        "valid_from": day("2020-01-01"),
        "valid_to": day("2021-01-01"),
    }
    wrong = await life.relate(ana, "collaborates_with", bo, **told)
    await life.relate(ana, "collaborates_with", bo, valid_from=day("2023-01-01"))
    assert wrong
    async with database.transaction(owner) as tx:
        await links.delete(tx, owner, wrong.id)
    assert await life.relate(ana, "collaborates_with", bo, **told) is None
    assert await life.history(ana, "collaborates_with") == [("Bo", "2023-01-01", "")]


async def test_warming(database: db.Database, owner: callers.Caller) -> None:
    life, first, second = Life(database, owner), uuid4(), uuid4()
    async with database.transaction(owner) as tx:
        one = await nodes.source(tx, owner, domain="note", record_id=first, title="One")
        two = await nodes.source(
            tx, owner, domain="note", record_id=second, title="Two"
        )
        assert one
        assert two
        made = await links.relate(tx, owner, links.Fact(one, two, "follows_up"))
        assert made
        assert await links.warm(tx, owner, second, first) == 1
        assert await links.warm(tx, owner, first, uuid4()) == 0
        for _ in range(9):
            await links.warm(tx, owner, first, second)
        assert (await links.get(tx, owner, made.id)).heat == pytest.approx(1, abs=0.01)
        await tx.run("UPDATE link SET warmed_at = warmed_at - interval '7 days'")
        await links.cool(tx, owner)
        assert (await links.get(tx, owner, made.id)).heat == pytest.approx(
            0.5, abs=0.01
        )
    assert await life.version() > 0
