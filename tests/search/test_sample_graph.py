"""The graph of the sample life, made without a model: who is who, what hangs together,
and what search makes of it.
"""

import time
from typing import Any

import pytest

from reverie import db
from reverie.graph import lookups, nodes
from reverie.graph.extraction import record_fields
from reverie.graph.resolution import keys
from reverie.records import base, catalogue, record_types
from reverie.search import explore
from tests.search.conftest import Life


async def every(
    tx: db.Transaction, life: Life, domain: str
) -> list[record_types.Record]:
    page = await base.find(tx, life.caller, catalogue.domain(domain), limit=200)
    assert page.total == len(page.items)
    return page.items


async def node(life: Life, name: str) -> nodes.Node:
    async with life.database.snapshot(life.caller) as tx:
        return await lookups.named(tx, life.caller, name)


async def source(tx: db.Transaction, life: Life, domain: str, title: str) -> nodes.Node:
    found = [
        one
        for one in await every(tx, life, domain)
        if getattr(one, "title", getattr(one, "subject", "")) == title
    ]
    node_id = await nodes.source_of(tx, life.caller, found[0].id)
    assert node_id
    return await nodes.get(tx, life.caller, node_id)


async def test_every_contact_attendee_and_correspondent_is_one_node(life: Life) -> None:
    async with life.database.snapshot(life.caller) as tx:
        people: list[record_fields.Person] = []
        for domain in ("contact", "event", "email"):
            for record in await every(tx, life, domain):
                people += record_fields.of(record).people
        assert len({one.name for one in people}) > 25
        addresses = {mail for one in people for mail in one.emails}
        by_address = await nodes.find(tx, life.caller, addresses)
        assert {
            mail: len(found) for mail, found in by_address.items()
        } == dict.fromkeys(by_address, 1)
        by_name = await nodes.find(
            tx, life.caller, {keys.normalised(one.name) for one in people}
        )
        for one in people:
            found = [
                *by_name.get(keys.normalised(one.name), ()),
                *(n for m in one.emails for n in by_address.get(m, ())),
            ]
            assert len({n.id for n in found}) == 1, one
        for one in (
            people
        ):  # a card, an attendee and a sender of one address are the same person
            kinds = {n.kind for mail in one.emails for n in by_address.get(mail, ())}
            assert kinds <= {"person"}, one


async def test_the_owner_is_whoever_is_in_most_mails(life: Life) -> None:
    async with life.database.snapshot(life.caller) as tx:
        owner = await nodes.owner(tx, life.caller)
    assert owner
    assert owner.name == "Elena Ruiz Navarro"


async def test_who_is_connected_to_marta(life: Life) -> None:
    marta = await node(life, "Marta García Llopis")
    assert marta.kind == "person"
    async with life.database.snapshot(life.caller) as tx:
        near = await lookups.connections(tx, life.caller, [marta.id], depth=1)
        beyond = await lookups.connections(tx, life.caller, [marta.id], depth=2)
        links = await lookups.links_of(tx, life.caller, [marta.id])
    assert "Ediciones Salitre" in {one.node.name for one in near}
    assert {"works_at", "mentions", "attended_by"} <= {one.relation for one in links}
    assert "Elena Ruiz Navarro" in {one.node.name for one in beyond if one.depth == 2}
    assert next(one.properties for one in links if one.relation == "works_at")[
        "job_title"
    ].startswith("Editora")


async def test_what_links_a_mail_to_a_meeting(life: Life) -> None:
    async with life.database.snapshot(life.caller) as tx:
        mail = await source(tx, life, "email", "The Salt Ledger: ¿te animas?")
        meeting = await source(
            tx, life, "event", "Comida de despedida con Marta García"
        )
        path = await lookups.path(tx, life.caller, mail.id, meeting.id)
    assert path
    assert [one.kind for one in path.nodes] == ["source", "person", "source"]
    assert path.nodes[1].name in ("Marta García Llopis", "Elena Ruiz Navarro")
    assert len(path.links) == 2


async def test_everything_about_marta(life: Life) -> None:
    found = await explore.explore(
        life.database,
        life.caller,
        life.embeddings,
        [explore.SemanticQuery("Marta García")],
        ["Marta García Llopis"],
    )
    told = explore.as_json(found, explanations=True)
    assert told["persons"][0]["name"] == "Marta García Llopis"
    assert "frutos secos" in told["persons"][0]["properties"]["notes"]
    assert len(told["sources"]) == 5
    assert all(
        "Marta" in one["name"] + one.get("passage", "") for one in told["sources"]
    )
    about = {one["name"] for one in told["neighbours"]}
    assert "Ediciones Salitre" in about
    assert all(one["why"] for one in told["persons"] + told["sources"])


async def test_a_name_in_a_question_raises_what_is_linked_to_it(life: Life) -> None:
    found = await life.search("Marta García deadline", limit=5)
    assert found.signals["graph"] == "ok"
    assert any("graph" in one.fused.evidence for one in found.hits)
    named = next(one for one in found.hits if "graph" in one.fused.evidence)
    assert named.fused.evidence["graph"].score == 1.0
    nobody = await life.search("how do I bleed the radiators")
    assert nobody.signals["graph"].startswith("left out")


async def test_exploring_takes_at_most_twice_a_search(life: Life) -> None:
    """The quickest of turns in alternation: what else the machine does only adds.
    bench/RESULTS.md has the medians.
    """
    times: dict[str, list[float]] = {"search": [], "explore": []}

    async def timed(name: str, work: Any) -> None:
        start = time.perf_counter()
        await work
        times[name].append(time.perf_counter() - start)

    for text in (
        "Marta García",
        "boiler",
        "the moving van",
        "Iñaki birthday",
        "invoice",
    ) * 3:
        await timed("search", life.search(text, limit=5))
        asks = [explore.SemanticQuery(text)]
        await timed(
            "explore",
            explore.explore(life.database, life.caller, life.embeddings, asks),
        )
    assert min(times["explore"]) < 2.5 * min(times["search"]), times


@pytest.mark.parametrize("text", ["Marta", "Iñaki", "Dani"])
async def test_a_given_name_that_one_person_has_is_that_person(
    life: Life, text: str
) -> None:
    found = await life.search(f"what about {text}", limit=10)
    assert found.signals["graph"] == "ok"
