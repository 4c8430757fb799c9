"""The graph over HTTP: asking, linking, merging, deleting by hand; two people; narrow
scopes.
"""

import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
from starlette import routing

from reverie import app
from reverie.access import callers, tokens
from reverie.graph import nodes
from reverie.graph.extraction import record_fields, update
from reverie.records import base, contacts, emails, events, notes, record_types
from reverie.web import routes, server
from tests.conftest import client_of

ROOT = "/api/v1"
UNKNOWN = "01a00000-0000-7000-8000-000000000009"
ROME, OSLO = datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)


@dataclass
class Life:
    """Some records and what they are about."""

    card: UUID
    mail: UUID
    meeting: UUID
    note: UUID
    ids: dict[str, str]


async def learned(
    reverie: app.App,
    caller: callers.Caller,
    domain: record_types.Domain[Any],
    values: dict[str, Any],
    **more: Any,
) -> UUID:
    """Keep a record and let the graph read it."""
    async with reverie.database.transaction(caller) as tx:
        made = await base.create(tx, caller, domain, values)
        fields = record_fields.of(made)
        title = domain.text(made).title
        await update.apply(
            tx,
            caller,
            update.Extraction(domain.name, made.id, title, fields=fields, **more),
        )
    return made.id


async def life(reverie: app.App, caller: callers.Caller) -> Life:
    """Ana works at Palanca, moved from Rome to Oslo, writes to Bruno; Carla is known
    from a mail alone.
    """
    card = await learned(
        reverie,
        caller,
        contacts.CONTACTS,
        {
            "display_name": "Ana Ruiz",
            "emails": ["ana@example.org"],
            "company": "Palanca",
        },
        at=ROME,
    )
    mail = await learned(
        reverie,
        caller,
        emails.EMAILS,
        {
            "subject": "Secret offer",
            "from": "Ana Ruiz <ana@example.org>",
            "to": ["Carla Neri <carla@example.org>"],
            "body_text": "x",
        },
    )
    meeting = await learned(
        reverie,
        caller,
        events.EVENTS,
        {
            "title": "Planning",
            "start": "2026-05-01T10:00:00+02:00",
            "attendees": [
                {"name": "Ana Ruiz", "email": "ana@example.org"},
                {"name": "Bruno Paz", "email": "bruno@example.org"},
            ],
        },
    )
    note = await learned(
        reverie,
        caller,
        notes.NOTES,
        {"title": "Ana moves", "content": "Ana Ruiz lived in Rome and moved to Oslo."},
        named=[
            update.NamedEntity("person", "Ana Ruiz"),
            update.NamedEntity("entity", "Rome", "place"),
            update.NamedEntity("entity", "Oslo", "place", "a city in the north"),
        ],
        stated=[
            update.StatedFact("Ana Ruiz", "located_in", "Rome", valid_from=ROME),
            update.StatedFact("Ana Ruiz", "located_in", "Oslo", valid_from=OSLO),
        ],
    )
    async with reverie.database.transaction(caller) as tx:
        rows = await tx.rows(
            "SELECT id, name FROM node WHERE user_id = %s AND kind <> 'source'",
            (caller.user_id,),
        )
    return Life(
        card, mail, meeting, note, {row["name"]: str(row["id"]) for row in rows}
    )


@pytest_asyncio.fixture
async def mine(reverie: app.App, owner: callers.Caller) -> Life:
    return await life(reverie, owner)


@pytest_asyncio.fixture
async def narrow(
    reverie: app.App, owner: callers.Caller
) -> AsyncIterator[httpx.AsyncClient]:
    """A machine of the owner's that may read the graph and everything but mail."""
    scopes = ["graph:*", "notes:*", "events:*", "contacts:*"]
    token = await tokens.mint(
        reverie.database, owner.user_id, name="narrow", kind="machine", scopes=scopes
    )
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server.create(reverie)),
        base_url="http://127.0.0.1:8585",
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        yield client


async def got(client: httpx.AsyncClient, path: str, **params: Any) -> Any:
    answer = await client.get(ROOT + path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def sent(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], status: int = 201
) -> Any:
    answer = await client.post(ROOT + path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def links_of(found: Any, relation: str) -> list[str]:
    return sorted(
        one["to"]["name"] for one in found["linked"] if one["relation"] == relation
    )


def test_the_page_tells_every_address(reverie: app.App) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "graph.md").read_text(
        "utf-8"
    )
    told = {
        (method, path)
        for method, path in re.findall(r"^\| `([A-Z]+) (/\S+)` \|", page, re.MULTILINE)
    }
    offered: set[tuple[str, str]] = set()
    for route in server.create(reverie).routes:
        row = routes.operation_of(route)
        if row is not None and row.area == "graph" and isinstance(route, routing.Route):
            path = route.path.removeprefix(ROOT).replace("{record_id}", "{id}")
            offered |= {
                (method, path) for method in (route.methods or set()) - {"HEAD"}
            }
    assert told == offered


# Asking
# ---------------------------------------------------------------------------------------------------------------


async def test_nodes_are_listed_and_filtered(
    api: httpx.AsyncClient, mine: Life
) -> None:
    found = await got(api, "/graph/entities")
    assert {one["name"] for one in found["items"]} == {
        "Ana Ruiz",
        "Bruno Paz",
        "Carla Neri",
        "Palanca",
        "Rome",
        "Oslo",
    }
    assert found["items"][0]["name"] == "Ana Ruiz"
    assert found["meta"] == {"total": 6, "limit": 50, "offset": 0, "has_more": False}
    assert [
        one["name"]
        for one in (await got(api, "/graph/entities", type="place", name="OS"))["items"]
    ] == ["Oslo"]
    assert (await got(api, "/graph/entities", kind="source"))["meta"]["total"] == 4
    page = await got(api, "/graph/entities", kind="person", limit=1, offset=1)
    assert (page["meta"]["total"], page["meta"]["has_more"], len(page["items"])) == (
        3,
        True,
        1,
    )
    assert (
        await api.get(f"{ROOT}/graph/entities", params={"kind": "dragon"})
    ).status_code == 422


async def test_a_node_tells_its_links_names_and_evidence(
    api: httpx.AsyncClient, mine: Life
) -> None:
    found = await got(api, f"/graph/entities/{mine.ids['Ana Ruiz']}")
    assert (found["kind"], found["emails"], found["names"]) == (
        "person",
        ["ana@example.org"],
        ["ana ruiz"],
    )
    job = next(one for one in found["linked"] if one["relation"] == "works_at")
    assert (job["from"]["name"], job["to"]["name"], job["link_type"]) == (
        "Ana Ruiz",
        "Palanca",
        "structural",
    )
    assert [
        (one["record_id"], one["domain"], one["title"]) for one in job["evidence"]
    ] == [(str(mine.card), "contact", "Ana Ruiz")]
    sources = {
        one["from"]["record_id"]
        for one in found["linked"]
        if one["from"]["kind"] == "source"
    }
    assert sources == {
        str(mine.card),
        str(mine.mail),
        str(mine.meeting),
        str(mine.note),
    }
    few = await got(api, f"/graph/entities/{mine.ids['Ana Ruiz']}", limit=2)
    assert (len(few["linked"]), few["more_links"], found["more_links"]) == (
        2,
        True,
        False,
    )


async def test_as_of_a_time(api: httpx.AsyncClient, mine: Life) -> None:
    path = f"/graph/entities/{mine.ids['Ana Ruiz']}"
    assert links_of(await got(api, path), "located_in") == ["Oslo"]
    assert links_of(
        await got(api, path, as_of="2022-01-01T00:00:00Z"), "located_in"
    ) == ["Rome"]
    assert (
        links_of(await got(api, path, as_of="2019-01-01T00:00:00Z"), "located_in") == []
    )
    assert links_of(await got(api, path, ended="true"), "located_in") == [
        "Oslo",
        "Rome",
    ]
    way = await got(
        api,
        "/graph/path",
        **{"from": "Ana Ruiz", "to": "Rome", "as_of": "2022-01-01T00:00:00+00:00"},
    )
    assert [one["relation"] for one in way["steps"]] == ["located_in"]
    now = await got(api, "/graph/connections", name="Ana Ruiz", depth=1)
    then = await got(
        api,
        "/graph/connections",
        name="Ana Ruiz",
        depth=1,
        as_of="2022-01-01T00:00:00Z",
    )
    assert "Rome" not in {one["name"] for one in now["items"]}
    assert "Rome" in {one["name"] for one in then["items"]}
    assert (await api.get(f"{ROOT}{path}?as_of=yesterday")).status_code == 422


async def test_connections_and_paths(api: httpx.AsyncClient, mine: Life) -> None:
    near = await got(api, "/graph/connections", id=mine.ids["Bruno Paz"], depth=2)
    depths = {one["name"]: one["depth"] for one in near["items"]}
    assert depths == {"Planning": 1, "Ana Ruiz": 2}
    assert near["items"][0]["via"]["relation"] == "attended_by"
    for params in (
        {},
        {"id": mine.ids["Rome"], "name": "Rome"},
        {"name": "Rome", "depth": 4},
        {"id": "x"},
    ):
        assert (
            await api.get(f"{ROOT}/graph/connections", params=params)
        ).status_code == 422
    way = await got(
        api, "/graph/path", **{"from": "bruno@example.org", "to": "Palanca"}
    )
    assert [one["name"] for one in way["nodes"]] == [
        "Bruno Paz",
        "Planning",
        "Ana Ruiz",
        "Palanca",
    ]
    assert (way["found"], way["length"]) == (True, 3)
    assert way["steps"][2]["evidence"][0]["title"] == "Ana Ruiz"
    none = await got(
        api, "/graph/path", **{"from": "Bruno Paz", "to": "Palanca", "depth": 2}
    )
    assert none == {"found": False, "length": None, "nodes": [], "steps": []}
    same = await got(api, "/graph/path", **{"from": "Oslo", "to": mine.ids["Oslo"]})
    assert (same["length"], [one["name"] for one in same["nodes"]]) == (0, ["Oslo"])
    assert (
        await api.get(f"{ROOT}/graph/path", params={"from": "Oslo", "to": "Atlantis"})
    ).status_code == 404


async def test_a_name_of_several_lists_their_ids(
    api: httpx.AsyncClient, mine: Life
) -> None:
    second = await sent(
        api,
        "/graph/entities",
        {"kind": "person", "name": "Ana Ruiz", "emails": ["ana@other.example"]},
    )
    answer = await api.get(f"{ROOT}/graph/connections", params={"name": "Ana Ruiz"})
    assert answer.status_code == 409
    assert second["id"] in answer.json()["error"]["hint"]
    assert mine.ids["Ana Ruiz"] in answer.json()["error"]["hint"]


async def test_figures_and_a_part_to_draw(api: httpx.AsyncClient, mine: Life) -> None:
    figures = await got(api, "/graph/stats")
    assert figures["nodes"] == {"entity": 3, "person": 3, "source": 4}
    assert figures["links"]["located_in"] == 2
    part = await got(api, "/graph/subgraph", limit=3)
    assert len(part["nodes"]) == 3
    whole = await got(api, "/graph/subgraph")
    ids = {one["id"] for one in whole["nodes"]}
    assert {one["relation"] for one in whole["links"]} == {"works_at", "located_in"}
    assert all({one["from"], one["to"]} <= ids for one in whole["links"])
    # Whoever is in a record that was just opened is warm.
    assert (await api.get(f"{ROOT}/emails/{mine.mail}")).status_code == 200
    warm = {
        one["name"]: one["heat"] for one in (await got(api, "/graph/subgraph"))["nodes"]
    }
    assert warm["Carla Neri"] > 0
    assert warm["Bruno Costa" if "Bruno Costa" in warm else "Oslo"] == 0


async def test_an_empty_graph_answers(api: httpx.AsyncClient) -> None:
    assert (await got(api, "/graph/entities"))["meta"]["total"] == 0
    assert await got(api, "/graph/stats") == {"nodes": {}, "links": {}, "version": 0}
    assert await got(api, "/graph/subgraph") == {"nodes": [], "links": []}
    assert await got(api, "/graph/merge-candidates") == {"items": []}
    assert (await sent(api, "/graph/cleanup", {}, 200))["count"] == 0


# Who may see what
# -----------------------------------------------------------------------------------------------------


async def test_records_of_closed_domains_do_not_show(
    api: httpx.AsyncClient, narrow: httpx.AsyncClient, mine: Life
) -> None:
    source = next(
        one["id"]
        for one in (await got(api, "/graph/entities", kind="source"))["items"]
        if one["record_id"] == str(mine.mail)
    )
    link = await sent(
        api,
        "/links",
        {"from": str(mine.mail), "to": str(mine.note), "relation": "relates_to"},
    )
    fact = next(
        one
        for one in (await got(api, f"/graph/entities/{mine.ids['Ana Ruiz']}"))["linked"]
        if one["relation"] == "works_at"
    )
    figures = await got(narrow, "/graph/stats")
    assert figures["nodes"]["source"] == 3
    assert "relates_to" not in figures["links"]
    listed = await got(narrow, "/graph/entities", kind="source", limit=2, offset=2)
    assert (listed["meta"]["total"], len(listed["items"])) == (3, 1)
    assert (await got(narrow, "/graph/entities", kind="source", type="email"))["meta"][
        "total"
    ] == 0
    told = [
        (await narrow.get(f"{ROOT}/graph/entities/{mine.ids['Ana Ruiz']}")).text,
        (await narrow.get(f"{ROOT}/graph/entities/{mine.ids['Carla Neri']}")).text,
        (await narrow.get(f"{ROOT}/graph/entities?kind=source")).text,
        (await narrow.get(f"{ROOT}/graph/connections?name=Carla Neri&depth=3")).text,
        (await narrow.get(f"{ROOT}/graph/connections?name=Ana Ruiz&depth=3")).text,
        (await narrow.get(f"{ROOT}/graph/path?from=Ana Ruiz&to=Carla Neri")).text,
        (await narrow.get(f"{ROOT}/graph/subgraph")).text,
    ]
    assert all("Secret offer" not in one and str(mine.mail) not in one for one in told)
    # Carla is known from the mail alone.
    for number in (1, 3, 5):
        assert told[number].startswith('{"error":{"code":"not_found"'), told[number]
    assert (
        "Secret offer"
        in (await api.get(f"{ROOT}/graph/path?from=Ana Ruiz&to=Carla Neri")).text
    )
    # What is hidden is as good as unknown, whatever is done with it.
    for method, path, body in (
        ("GET", "/graph/entities/{}", None),
        ("PATCH", "/graph/entities/{}", {"type": "x"}),
        ("GET", "/graph/connections?id={}", None),
        ("GET", "/graph/path?from={}&to=Oslo", None),
    ):
        answers = [
            await narrow.request(method, ROOT + path.format(one), json=body)
            for one in (source, UNKNOWN)
        ]
        assert [one.status_code for one in answers] == [404, 404], path
        assert answers[0].text == answers[1].text
    answers = [
        await narrow.delete(f"{ROOT}/links/{one}") for one in (link["id"], UNKNOWN)
    ]
    assert answers[0].text == answers[1].text
    for end in (mine.mail, source):
        answers = [
            await narrow.post(
                f"{ROOT}/links",
                json={"from": str(one), "to": str(mine.note), "relation": "relates_to"},
            )
            for one in (end, UNKNOWN)
        ]
        assert [one.status_code for one in answers] == [404, 404]
        assert answers[0].text == answers[1].text
    assert fact["evidence_count"] == 1


async def test_evidence_of_closed_domains_is_left_out(
    reverie: app.App, api: httpx.AsyncClient, narrow: httpx.AsyncClient, mine: Life
) -> None:
    more = {
        "named": [
            update.NamedEntity("person", "Ana Ruiz"),
            update.NamedEntity("entity", "Oslo"),
        ],
        "stated": [
            update.StatedFact("Ana Ruiz", "located_in", "Oslo", valid_from=OSLO)
        ],
    }
    await learned(
        reverie,
        reverie.owner,
        emails.EMAILS,
        {"subject": "Greetings from the fjord"},
        **more,
    )
    for client, wanted in (
        (api, {"Ana moves", "Greetings from the fjord"}),
        (narrow, {"Ana moves"}),
    ):
        found = await got(client, f"/graph/entities/{mine.ids['Oslo']}")
        fact = next(one for one in found["linked"] if one["relation"] == "located_in")
        assert {one["title"] for one in fact["evidence"]} == wanted
        assert fact["evidence_count"] == len(wanted)


async def test_a_longer_way_is_found_around_what_is_hidden(
    reverie: app.App, api: httpx.AsyncClient, narrow: httpx.AsyncClient, mine: Life
) -> None:
    """The shortest leads over the mail; the one that may be shown is longer."""
    await learned(
        reverie,
        reverie.owner,
        notes.NOTES,
        {"title": "Carla", "content": "Carla Neri paints."},
        named=[update.NamedEntity("person", "Carla Neri")],
    )
    await sent(
        api,
        "/links",
        {
            "from": mine.ids["Carla Neri"],
            "to": mine.ids["Rome"],
            "relation": "relates_to",
        },
    )
    await sent(
        api,
        "/links",
        {"from": mine.ids["Rome"], "to": mine.ids["Palanca"], "relation": "relates_to"},
    )
    names = {"from": "Ana Ruiz", "to": "Carla Neri"}
    wide = await got(api, "/graph/path", **names)
    assert [one["name"] for one in wide["nodes"]] == [
        "Ana Ruiz",
        "Secret offer",
        "Carla Neri",
    ]
    way = await got(narrow, "/graph/path", **names)
    assert way["nodes"][0]["name"] == "Ana Ruiz"
    assert way["nodes"][-1]["name"] == "Carla Neri"
    assert way["length"] == 3
    depths = {
        one["name"]: one["depth"]
        for one in (await got(narrow, "/graph/connections", name="Carla Neri"))["items"]
    }
    assert depths["Palanca"] == 2


async def test_two_people_see_nothing_of_each_other(
    api: httpx.AsyncClient,
    others_api: httpx.AsyncClient,
    reverie: app.App,
    other: callers.Caller,
    mine: Life,
) -> None:
    theirs = await life(reverie, other)
    assert set(theirs.ids) == set(mine.ids)
    assert set(theirs.ids.values()).isdisjoint(mine.ids.values())
    foreign, own = theirs.ids["Ana Ruiz"], mine.ids["Ana Ruiz"]
    merge = await sent(
        others_api,
        "/graph/merge",
        {"winner": theirs.ids["Rome"], "loser": theirs.ids["Oslo"]},
    )
    detail = (await others_api.get(f"{ROOT}/graph/entities/{foreign}")).json()
    foreign_link = detail["linked"][0]["id"]

    async def asked(
        node: str, link: str, record: str, merged: str
    ) -> list[tuple[int, str]]:
        answers = [
            await api.get(f"{ROOT}/graph/entities/{node}"),
            await api.patch(f"{ROOT}/graph/entities/{node}", json={"name": "x"}),
            await api.delete(f"{ROOT}/graph/entities/{node}"),
            await api.delete(f"{ROOT}/graph/entities/{node}/forever"),
            await api.get(f"{ROOT}/graph/connections", params={"id": node}),
            await api.get(f"{ROOT}/graph/path", params={"from": node, "to": own}),
            await api.post(f"{ROOT}/graph/merge", json={"winner": own, "loser": node}),
            await api.post(f"{ROOT}/graph/apart", json={"first": own, "second": node}),
            await api.delete(f"{ROOT}/graph/merge/{merged}"),
            await api.post(
                f"{ROOT}/links",
                json={"from": own, "to": node, "relation": "relates_to"},
            ),
            await api.post(
                f"{ROOT}/links",
                json={"from": own, "to": record, "relation": "relates_to"},
            ),
            await api.post(
                f"{ROOT}/links/heat-edge",
                json={"first": str(mine.note), "second": record},
            ),
            await api.delete(f"{ROOT}/links/{link}"),
        ]
        return [(one.status_code, one.text) for one in answers]

    unknown = await asked(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    assert {status for status, _ in unknown} == {404}
    assert await asked(foreign, foreign_link, str(theirs.note), merge["id"]) == unknown
    assert (await others_api.get(f"{ROOT}/graph/entities/{foreign}")).json() == detail
    assert (await got(api, "/graph/stats"))["nodes"] == {
        "entity": 3,
        "person": 3,
        "source": 4,
    }


async def test_agents_wait_for_a_person(
    reverie: app.App, mine: Life, owner: callers.Caller
) -> None:
    token = await tokens.mint(
        reverie.database, owner.user_id, name="main", kind="agent", scopes=["*:*"]
    )
    agent = await tokens.caller(reverie.database, token)
    async with await client_of(reverie, agent) as client:
        made = await sent(
            client, "/graph/entities", {"kind": "concept", "name": "Moving house"}
        )
        assert made["created_by"] == "model"
        link = await sent(
            client,
            "/links",
            {"from": made["id"], "to": str(mine.note), "relation": "relates_to"},
        )
        assert (link["link_type"], link["created_by"]) == ("manual", "model")
        for method, path, body in (
            ("DELETE", f"/graph/entities/{made['id']}", None),
            ("DELETE", f"/graph/entities/{made['id']}/forever", None),
            ("DELETE", f"/links/{link['id']}", None),
            (
                "POST",
                "/graph/merge",
                {"winner": mine.ids["Rome"], "loser": mine.ids["Oslo"]},
            ),
            ("POST", "/graph/cleanup", {"really": True}),
        ):
            answer = await client.request(method, ROOT + path, json=body)
            assert answer.status_code == 403
            assert "waits for a person" in answer.text


# By hand
# --------------------------------------------------------------------------------------------------------------


async def test_a_node_by_hand(api: httpx.AsyncClient) -> None:
    made_of_it = await api.post(
        f"{ROOT}/graph/entities", json={"kind": "concept", "name": "bees"}
    )
    assert (await api.get(made_of_it.headers["Location"])).json()["name"] == "bees"
    version = (await got(api, "/graph/stats"))["version"]
    body = {
        "kind": "person",
        "name": "  Lía Soto ",
        "description": "a neighbour",
        "properties": {"interests": ["chess"], "notes": "keeps bees"},
        "emails": ["Lia@Example.org"],
    }
    made = await sent(api, "/graph/entities", body)
    assert (made["name"], made["created_by"], made["properties"]) == (
        "Lía Soto",
        "user",
        body["properties"],
    )
    assert (await got(api, "/graph/stats"))["version"] > version
    path = f"{ROOT}/graph/entities/{made['id']}"
    changed = (
        await api.patch(
            path,
            json={
                "name": "Lía S.",
                "properties": {"notes": None, "history": "from Cádiz"},
            },
        )
    ).json()
    assert (changed["name"], changed["key"]) == ("Lía S.", made["key"])
    assert changed["properties"] == {"interests": ["chess"], "history": "from Cádiz"}
    found = (await api.get(path)).json()
    assert (found["description"], found["emails"]) == (
        "a neighbour",
        ["lia@example.org"],
    )
    assert found["names"] == ["lia s.", "lia soto"]
    for name in ("lia soto", "LÍA S.", "lia@example.org"):
        assert (await got(api, "/graph/connections", name=name))["node"]["id"] == made[
            "id"
        ]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "x"}, "kind"),
        ({"kind": "source", "name": "x"}, "person"),
        ({"kind": "person", "name": "  "}, "name"),
        ({"kind": "person", "name": "x" * 501}, "name"),
        (
            {"kind": "concept", "name": "x", "properties": {"mood": "blue"}},
            "There are notes",
        ),
        ({"kind": "person", "name": "x", "properties": {"notes": 3}}, "a text"),
        ({"kind": "entity", "name": "x", "emails": ["a@b.example"]}, "Only a person"),
        ({"kind": "person", "name": "x", "emails": ["nobody"]}, "no email address"),
        ({"kind": "person", "name": "a\x00b"}, "NUL"),
        ({"kind": "person", "name": "x", "colour": "red"}, "colour"),
    ],
)
async def test_what_a_node_may_not_be(
    api: httpx.AsyncClient, body: dict[str, Any], said: str
) -> None:
    answer = await api.post(f"{ROOT}/graph/entities", json=body)
    assert answer.status_code == 422, answer.text
    assert said in answer.text
    assert (await got(api, "/graph/entities"))["meta"]["total"] == 0


async def test_half_a_character_is_refused(api: httpx.AsyncClient, mine: Life) -> None:
    raw = b'{"kind": "person", "name": "x", "properties": {"notes": "\\ud800"}}'
    answer = await api.post(f"{ROOT}/graph/entities", content=raw)
    assert answer.status_code == 422
    assert "surrogate" in answer.text


async def test_the_same_by_hand_again(api: httpx.AsyncClient) -> None:
    first = await sent(
        api,
        "/graph/entities",
        {"kind": "person", "name": "Tom Lee", "emails": ["tom@a.example"]},
    )
    for body in (
        {"kind": "person", "name": "tom LEE"},
        {"kind": "person", "name": "Thomas", "emails": ["TOM@a.example"]},
    ):
        refused = await sent(api, "/graph/entities", body, 409)
        assert refused["error"]["details"]["id"] == first["id"]
    second = await sent(
        api,
        "/graph/entities",
        {"kind": "person", "name": "Tom Lee", "emails": ["tom@b.example"]},
    )
    assert second["id"] != first["id"]


async def test_the_name_of_a_record_is_the_records(
    api: httpx.AsyncClient, mine: Life
) -> None:
    source = (await got(api, "/graph/entities", kind="source", type="note"))["items"][0]
    answer = await api.patch(
        f"{ROOT}/graph/entities/{source['id']}", json={"name": "x"}
    )
    assert answer.status_code == 422
    assert "Change the record" in answer.text


async def test_links_by_hand(api: httpx.AsyncClient, mine: Life) -> None:
    body = {
        "from": mine.ids["Ana Ruiz"],
        "to": mine.ids["Bruno Paz"],
        "relation": "has_relationship_with",
        "properties": {"closeness": 4, "shoe_size": 39},
        "valid_from": "2021-01-01T00:00:00Z",
        "valid_to": "2023-01-01T00:00:00Z",
    }
    made = await sent(api, "/links", body)
    assert (made["from"]["name"], made["to"]["name"], made["properties"]) == (
        "Ana Ruiz",
        "Bruno Paz",
        {"closeness": 4},
    )
    assert (made["link_type"], made["valid_to"], made["confidence"]) == (
        "manual",
        "2023-01-01T00:00:00Z",
        1,
    )
    path = f"/graph/entities/{mine.ids['Bruno Paz']}"
    assert links_of(
        await got(api, path, as_of="2022-01-01T00:00:00Z"), "has_relationship_with"
    ) == ["Bruno Paz"]
    assert links_of(await got(api, path), "has_relationship_with") == []
    # A record becomes a node of its own, and its title is told.
    with_note = await sent(
        api,
        "/links",
        {"from": str(mine.note), "to": str(mine.card), "relation": "follows_up"},
    )
    assert (with_note["from"]["name"], with_note["to"]["domain"]) == (
        "Ana moves",
        "contact",
    )
    for wrong, told in (
        ({"relation": "is_fond_of"}, "There are thinks_about"),
        ({"relation": "thinks_about"}, "These do: has_relationship_with"),
        ({"properties": {"closeness": 9}}, "from 1 to 5"),
        ({"properties": {"attitude_towards_person": "so so"}}, "hostile, cold"),
        ({"to": mine.ids["Ana Ruiz"]}, "two different ends"),
        ({"valid_to": "2020-01-01T00:00:00Z"}, "before"),
        ({"confidence": 2}, "confidence"),
        ({"from": "Ana"}, "from"),
        ({"valid_from": "2021-01-01T00:00:00"}, "valid_from"),
    ):
        answer = await api.post(f"{ROOT}/links", json=body | wrong)
        assert answer.status_code == 422, wrong
        assert told in answer.text, answer.text


async def test_links_count_and_stay_deleted(
    reverie: app.App, api: httpx.AsyncClient, mine: Life
) -> None:
    ana = f"/graph/entities/{mine.ids['Ana Ruiz']}"
    before = await got(api, ana)
    link = next(one for one in before["linked"] if one["relation"] == "works_at")
    version = (await got(api, "/graph/stats"))["version"]
    assert (await api.delete(f"{ROOT}/links/{link['id']}")).json() == {
        "deleted": link["id"]
    }
    after = await got(api, ana)
    assert (after["links"], links_of(after, "works_at")) == (before["links"] - 1, [])
    assert (await got(api, "/graph/stats"))["version"] > version
    await read_again(reverie, mine)
    assert links_of(await got(api, ana), "works_at") == []
    assert (await api.delete(f"{ROOT}/links/{link['id']}")).status_code == 404
    again = {
        "from": mine.ids["Ana Ruiz"],
        "to": mine.ids["Palanca"],
        "relation": "works_at",
    }
    await sent(api, "/links", again)
    assert links_of(await got(api, ana), "works_at") == ["Palanca"]


async def read_again(reverie: app.App, mine: Life) -> None:
    """The contact is read once more, as after a change."""
    owner = reverie.owner
    async with reverie.database.transaction(owner) as tx:
        card = await base.get(tx, owner, contacts.CONTACTS, mine.card)
        reading = update.Extraction(
            "contact", card.id, "Ana Ruiz", fields=record_fields.of(card), at=ROME
        )
        await update.apply(tx, owner, reading)


async def test_a_deleted_node_stays_deleted(
    reverie: app.App, api: httpx.AsyncClient, mine: Life
) -> None:
    palanca = f"{ROOT}/graph/entities/{mine.ids['Palanca']}"
    assert (await api.delete(palanca)).json()["deleted"]["name"] == "Palanca"
    await read_again(reverie, mine)
    assert (await api.get(palanca)).status_code == 404
    assert (await api.delete(palanca)).status_code == 404
    assert (await got(api, "/graph/entities", name="palanca"))["items"] == []
    assert (
        "Palanca"
        not in (await api.get(f"{ROOT}/graph/entities/{mine.ids['Ana Ruiz']}")).text
    )
    assert (
        await sent(api, "/graph/entities", {"kind": "entity", "name": "Palanca"}, 409)
    )["error"]["hint"]
    assert (
        await api.delete(f"{palanca}/forever")
    ).status_code == 200  # what was deleted can be erased


async def test_erased_for_good_with_vectors(
    reverie: app.App, api: httpx.AsyncClient, mine: Life
) -> None:
    oslo = mine.ids["Oslo"]
    owner = reverie.owner

    async def left(statement: LiteralString) -> int:
        async with reverie.database.transaction(owner) as tx:
            return int(
                await tx.value(
                    statement,
                    {"id": oslo, "user": owner.user_id, "hashes": [own, shared]},
                )
            )

    own = hashlib.sha256(b"Oslo: a city in the north").digest()
    async with reverie.database.transaction(owner) as tx:
        assert await tx.value("SELECT hash FROM node WHERE id = %s", (oslo,)) == own
        shared = await tx.value(
            "SELECT hash FROM passage WHERE record_id = %s LIMIT 1", (mine.note,)
        )
        await tx.run("UPDATE node SET hash = %s WHERE id = %s", (own, oslo))
        for one in (own, shared):
            await tx.run(
                "INSERT INTO embedding (user_id, model, hash, vector, dimensions)"
                " VALUES (%s, 'm', %s, '[1,2]'::halfvec, 2)",
                (owner.user_id, one),
            )
    answer = await api.delete(f"{ROOT}/graph/entities/{oslo}/forever")
    assert answer.json() == {"erased": oslo}
    columns: tuple[tuple[LiteralString, LiteralString], ...] = (
        ("node", "id"),
        ("alias", "node_id"),
        ("link", "to_id"),
        ("link", "from_id"),
    )
    for table, column in columns:
        assert await left(f"SELECT count(*) FROM {table} WHERE {column} = %(id)s") == 0
    assert (
        await left(
            "SELECT count(*) FROM evidence LEFT JOIN link ON link.id = link_id WHERE link.id IS NULL"
        )
        == 0
    )
    assert (
        await left("SELECT count(*) FROM embedding WHERE hash = ANY(%(hashes)s)") == 1
    )
    assert (
        await api.delete(f"{ROOT}/graph/entities/{oslo}/forever")
    ).status_code == 404
    await sent(api, "/graph/entities", {"kind": "entity", "name": "oslo"}, 409)
    rome = await got(api, f"/graph/entities/{mine.ids['Rome']}")
    assert rome["name"] == "Rome"


async def test_the_owners_own_node_stays(
    reverie: app.App, api: httpx.AsyncClient
) -> None:
    async with reverie.database.transaction(reverie.owner) as tx:
        own = await update.owner(tx, reverie.owner, name="Olga Owner")
    assert own is not None
    for path in ("", "/forever"):
        answer = await api.delete(f"{ROOT}/graph/entities/{own.id}{path}")
        assert answer.status_code == 422
    assert (await got(api, f"/graph/entities/{own.id}"))["is_owner"] is True


async def test_warming_what_was_opened_together(
    api: httpx.AsyncClient, mine: Life
) -> None:
    pair = {"first": str(mine.note), "second": str(mine.card)}
    assert await sent(api, "/links/heat-edge", pair, 200) == {"warmed": 0}
    link = await sent(
        api,
        "/links",
        {"from": pair["first"], "to": pair["second"], "relation": "relates_to"},
    )
    assert link["heat"] == 0
    assert await sent(api, "/links/heat-edge", pair, 200) == {"warmed": 1}
    source = next(
        one
        for one in (await got(api, "/graph/entities", kind="source", type="note"))[
            "items"
        ]
    )
    found = await got(api, f"/graph/entities/{source['id']}")
    assert next(
        one["heat"] for one in found["linked"] if one["id"] == link["id"]
    ) == pytest.approx(0.2)
    await sent(
        api, "/links/heat-edge", {"first": pair["first"], "second": pair["first"]}, 422
    )


# Who is who
# -----------------------------------------------------------------------------------------------------------


async def test_suggested_merges(api: httpx.AsyncClient, mine: Life) -> None:
    twin = await sent(
        api, "/graph/entities", {"kind": "person", "name": "Ana María Ruiz"}
    )
    items = (await got(api, "/graph/merge-candidates"))["items"]
    assert [(one["first"]["name"], one["second"]["name"]) for one in items] == [
        ("Ana Ruiz", "Ana María Ruiz")
    ]
    assert items[0]["reasons"]
    assert 0.5 <= items[0]["score"] <= 1
    pair = {"first": twin["id"], "second": mine.ids["Ana Ruiz"]}
    await sent(api, "/graph/apart", pair, 200)
    assert (await got(api, "/graph/merge-candidates"))["items"] == []
    for wrong in (twin["id"], mine.ids["Rome"]):
        await sent(api, "/graph/apart", pair | {"second": wrong}, 422)
    assert (await got(api, "/graph/merge-candidates", kind="entity"))["items"] == []


async def test_two_names_that_always_stand_together(
    reverie: app.App, api: httpx.AsyncClient, narrow: httpx.AsyncClient
) -> None:
    both = [
        update.NamedEntity("entity", "Nordlicht"),
        update.NamedEntity("entity", "Project 7"),
    ]
    for number in range(6):
        await learned(
            reverie,
            reverie.owner,
            notes.NOTES,
            {"content": f"note {number}"},
            named=both,
        )
    items = (await got(api, "/graph/merge-candidates", kind="entity"))["items"]
    assert [(one["reasons"], one["certain"]) for one in items] == [
        (["6 records in common"], False)
    ]
    hidden = [
        update.NamedEntity("entity", "Weissgold"),
        update.NamedEntity("entity", "Project 8"),
    ]
    for number in range(6):
        await learned(
            reverie,
            reverie.owner,
            emails.EMAILS,
            {"subject": f"mail {number}"},
            named=hidden,
        )
    assert len((await got(api, "/graph/merge-candidates", kind="entity"))["items"]) == 2
    assert (
        len((await got(narrow, "/graph/merge-candidates", kind="entity"))["items"]) == 1
    )


async def test_a_merge_and_its_undoing(api: httpx.AsyncClient, mine: Life) -> None:
    body = {
        "kind": "person",
        "name": "Ana R.",
        "description": "the architect",
        "emails": ["ar@work.example"],
    }
    second = await sent(api, "/graph/entities", body)
    await sent(
        api,
        "/links",
        {"from": second["id"], "to": mine.ids["Rome"], "relation": "relates_to"},
    )
    ana = f"/graph/entities/{mine.ids['Ana Ruiz']}"
    before = [await got(api, ana), await got(api, f"/graph/entities/{second['id']}")]
    merge = await sent(
        api, "/graph/merge", {"winner": mine.ids["Ana Ruiz"], "loser": second["id"]}
    )
    assert (merge["winner"], merge["loser"]) == (mine.ids["Ana Ruiz"], second["id"])
    one = await got(api, ana)
    assert links_of(one, "relates_to") == ["Rome"]
    assert one["emails"] == ["ana@example.org", "ar@work.example"]
    assert (
        one["merge_history"][0] | {"id": merge["id"], "loser_name": "Ana R."}
        == one["merge_history"][0]
    )
    assert one["merge_history"][0]["by"].startswith("user:")
    assert (await api.get(f"{ROOT}/graph/entities/{second['id']}")).status_code == 404
    undone = (await api.delete(f"{ROOT}/graph/merge/{merge['id']}")).json()
    assert {node["name"] for node in undone["nodes"]} == {"Ana Ruiz", "Ana R."}
    after = [await got(api, ana), await got(api, f"/graph/entities/{second['id']}")]
    for old, new in zip(before, after, strict=True):
        assert {one["id"] for one in new["linked"]} == {
            one["id"] for one in old["linked"]
        }
        for field in ("name", "description", "properties", "emails", "names", "links"):
            assert new[field] == old[field], field
    assert after[0]["merge_history"][0]["undone_at"]
    assert (await api.delete(f"{ROOT}/graph/merge/{merge['id']}")).status_code == 404


async def test_what_cannot_be_merged(api: httpx.AsyncClient, mine: Life) -> None:
    rome, ana = mine.ids["Rome"], mine.ids["Ana Ruiz"]
    source = (await got(api, "/graph/entities", kind="source"))["items"]
    for winner, loser, told in (
        (rome, rome, "itself"),
        (rome, ana, "cannot become"),
        (source[0]["id"], source[1]["id"], "not merged"),
    ):
        answer = await api.post(
            f"{ROOT}/graph/merge", json={"winner": winner, "loser": loser}
        )
        assert answer.status_code == 422
        assert told in answer.text


async def test_cleaning_up(
    reverie: app.App, api: httpx.AsyncClient, mine: Life
) -> None:
    async with reverie.database.transaction(reverie.owner) as tx:
        await nodes.add(tx, reverie.owner, nodes.NodeDraft("concept", "Nobody says so"))
    await sent(api, "/graph/entities", {"kind": "concept", "name": "By hand"})
    dry = await sent(api, "/graph/cleanup", {}, 200)
    assert (dry["done"], [one["name"] for one in dry["items"]]) == (
        False,
        ["Nobody says so"],
    )
    assert (await sent(api, "/graph/cleanup", {"really": True}, 200))["count"] == 1
    names = {
        one["name"]
        for one in (await got(api, "/graph/entities", kind="concept"))["items"]
    }
    assert names == {"By hand"}
    assert (await sent(api, "/graph/cleanup", {"really": True}, 200))["count"] == 0
