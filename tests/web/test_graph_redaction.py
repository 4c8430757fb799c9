"""What the graph knows from closed domains alone shows nowhere: no name, no property, no
fact, no refusal.
"""

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from reverie import app, config, errors
from reverie.access import callers, operations, tokens
from reverie.graph import nodes
from reverie.graph.extraction import update
from reverie.llm import embedding
from reverie.records import contacts, emails, health, notes
from reverie.tools import base, catalogue
from reverie.web import server
from tests.pipeline.test_extract import following, quiet
from tests.web.test_graph import ROOT, learned

# Known from a mail, a card or health alone, and so to nobody who reads notes only.
SECRET = (
    "Quillon", "Zarathane", "Vexmoor", "quillon", "Orbeline", "orbeline", "1971-03-09", "Xylocaine", "Chief Alchemist",
    "sworn rivals", "alchemy lab", "Mirabel", "Thessaly",
)  # fmt: skip
PAGES = (
    "/graph/entities",
    "/graph/stats",
    "/graph/subgraph",
    "/graph/merge-candidates",
)


@pytest_asyncio.fixture
async def life(reverie: app.App) -> dict[str, UUID]:
    """Ada is in a note; what else is known of her, and of others, is in mail, a card and
    health.
    """
    me = reverie.owner
    await learned(
        reverie,
        me,
        contacts.CONTACTS,
        {
            "display_name": "Ada Quillon",
            "emails": ["ada@quillon.example.org"],
            "company": "Vexmoor Works",
            "job_title": "Chief Alchemist",
            "birthday": "1971-03-09",
        },
    )
    async with reverie.database.transaction(me) as tx:
        ada = (await nodes.find(tx, me, ["ada quillon"]))["ada quillon"][0]
    rivals = update.StatedFact(
        "Ada", "relates_to", "Oslo", {"notes": "sworn rivals", "relevance": 9}
    )
    plain = update.StatedFact("Ada", "relates_to", "Oslo", {"notes": "she lives there"})
    known = update.NamedEntity("person", "Ada Quillon", key=ada.key, written="Ada")
    oslo = update.NamedEntity("entity", "Oslo", "place")
    described = update.NamedEntity("entity", "Oslo", "place", "seat of the alchemy lab")
    await learned(
        reverie,
        me,
        emails.EMAILS,
        {
            "subject": "Papers",
            "from": "Bo Zarathane <bo@orbeline.example.org>",
            "to": ["ada@quillon.example.org"],
        },
        named=[
            described,
            known,
            update.NamedEntity("person", "Mirabel Stone"),
            update.NamedEntity("person", "Mirabell Stone"),
        ],
        stated=[
            update.StatedFact("Ada Quillon", *fact)
            for fact in (("relates_to", "Oslo", rivals.properties),)
        ],
    )
    await learned(
        reverie,
        me,
        health.HEALTH,
        {
            "kind": "medication",
            "at": "2026-01-01T08:00:00Z",
            "text": "Xylocaine in Thessaly",
        },
        named=[
            update.NamedEntity("entity", "Xylocaine", "medicine"),
            update.NamedEntity("entity", "Thessaly", "place"),
        ],
    )
    note = await learned(
        reverie,
        me,
        notes.NOTES,
        {"title": "Moving", "content": "Ada moves to Oslo."},
        named=[known, oslo],
        stated=[
            update.StatedFact("Ada Quillon", "relates_to", "Oslo", plain.properties)
        ],
    )
    async with reverie.database.transaction(me) as tx:
        rows = await tx.rows(
            "SELECT name, kind, id FROM node WHERE user_id = %s", (me.user_id,)
        )
    ids = {
        f"record: {row['name']}" if row["kind"] == "source" else row["name"]: row["id"]
        for row in rows
    }
    return ids | {"note": note}


@pytest_asyncio.fixture
async def reader(reverie: app.App) -> AsyncIterator[httpx.AsyncClient]:
    """An agent that may do everything with the graph, and read notes."""
    scopes = ["graph:*", "notes:*", "search:read"]
    token = await tokens.mint(
        reverie.database,
        reverie.owner.user_id,
        name="reader",
        kind="agent",
        scopes=scopes,
    )
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server.create(reverie)),
        base_url="http://127.0.0.1:8585",
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        yield client


def leaked(text: str) -> list[str]:
    return [secret for secret in SECRET if secret in text]


async def test_no_route_tells_what_only_closed_domains_say(
    reverie: app.App,
    reader: httpx.AsyncClient,
    api: httpx.AsyncClient,
    life: dict[str, UUID],
) -> None:
    ids = [str(each) for each in life.values()]
    names = ["Ada", "Oslo", *SECRET, "Ada Quillon", "ada@quillon.example.org"]
    asked = [(page, {}) for page in PAGES]
    asked += [("/graph/entities", {"name": name}) for name in names]
    asked += [
        ("/graph/entities", {"kind": kind})
        for kind in ("person", "entity", "concept", "source", "artifact")
    ]
    asked += [
        ("/graph/merge-candidates", {"kind": kind})
        for kind in ("person", "entity", "concept")
    ]
    asked += [(f"/graph/entities/{each}", {"ended": "true"}) for each in ids]
    asked += [("/graph/connections", {"id": each, "depth": "3"}) for each in ids]
    asked += [("/graph/connections", {"name": name}) for name in names]
    asked += [("/graph/path", {"from": "Ada", "to": each}) for each in (*ids, *names)]
    told: list[str] = []
    for path, params in asked:
        answer = await reader.get(ROOT + path, params=params)
        text = answer.text
        # A refusal may repeat what was asked for, and nothing else.
        for given in sorted(params.values(), key=len, reverse=True):
            text = text.replace(f"called {given}", "").replace(f"{given} may be", "")
        assert not leaked(text), (path, params, leaked(text))
        told.append(text)
    # The owner is told all of it, so this proves something.
    whole = ""
    for name in ("Ada Quillon", "Bo Zarathane", "Xylocaine", "Oslo"):
        whole += (await api.get(f"{ROOT}/graph/entities/{life[name]}")).text
    assert len(leaked(whole)) >= 9, leaked(whole)
    # And the reader what the note says.
    [ada] = (await reader.get(f"{ROOT}/graph/entities?kind=person")).json()["items"]
    assert (ada["name"], ada["properties"]) == ("Ada", {})
    page = (await reader.get(f"{ROOT}/graph/entities/{life['Oslo']}")).json()
    fact = next(link for link in page["linked"] if link["relation"] == "relates_to")
    assert (fact["from"]["name"], fact["to"]["name"]) == ("Ada", "Oslo")
    assert fact["properties"] == {"notes": "she lives there"}
    assert [proof["title"] for proof in fact["evidence"]] == ["Moving"]
    assert (page["type"], page["description"]) == ("place", "")
    stats = (await reader.get(f"{ROOT}/graph/stats")).json()
    assert (stats["nodes"]["person"], stats["nodes"]["entity"]) == (1, 1)
    assert (await reader.get(f"{ROOT}/graph/path?from=Ada&to=Oslo")).json()["found"]


async def test_no_change_tells_what_only_closed_domains_say(
    reader: httpx.AsyncClient, api: httpx.AsyncClient, life: dict[str, UUID]
) -> None:
    calls: list[tuple[str, str, Any]] = []
    for each in life.values():
        calls += [
            ("PATCH", f"/graph/entities/{each}", {"properties": {"notes": "seen"}}),
            ("DELETE", f"/graph/entities/{each}", None),
            ("DELETE", f"/graph/entities/{each}/forever", None),
            ("POST", "/links", {"from": str(life["Oslo"]), "to": str(each), "relation": "relates_to"}),
            ("POST", "/graph/merge", {"winner": str(life["Oslo"]), "loser": str(each)}),
            ("POST", "/graph/apart", {"first": str(life["Oslo"]), "second": str(each)}),
            ("POST", "/links/warm", {"first": str(life["note"]), "second": str(each)}),
            ("DELETE", f"/links/{each}", None),
        ]  # fmt: skip
    calls.append(("POST", "/graph/cleanup", {"really": False}))
    # What the agent itself says by hand it is told again, so this comes last.
    for name in ("Bo Zarathane", "Vexmoor Works", "Xylocaine", "Ada Quillon"):
        for kind in ("person", "entity", "concept"):
            new = {"kind": kind, "name": name}
            calls.append(("POST", "/graph/entities", new))
    calls += [
        ("POST", "/graph/entities", {"kind": "person", "name": "X", "emails": [mail]})
        for mail in ("bo@orbeline.example.org", "ada@quillon.example.org")
    ]
    for method, path, body in calls:
        answer = await reader.request(method, ROOT + path, json=body)
        text = answer.text
        for given in (body or {}).values():
            for part in given if isinstance(given, list) else [given]:
                text = text.replace(str(part), "")
        assert not leaked(text), (method, path, body, text)
        assert answer.status_code != 409, (method, path, body, text)
    # Nothing that the agent does not see was lost by that.
    ada = (await api.get(f"{ROOT}/graph/entities/{life['Ada Quillon']}")).json()
    assert ada["name"] == "Ada Quillon"
    assert ada["properties"]["birthday"] == "1971-03-09"
    assert ada["properties"]["notes"] == "seen"
    assert "ada@quillon.example.org" in ada["emails"]


async def test_every_graph_operation_is_walked_here(reverie: app.App) -> None:
    """A new one must be added to the two tests above."""
    walked = {
        "list", "get", "connections", "path", "subgraph", "stats", "candidates", "create", "update", "delete", "merge",
        "unmerge", "apart", "cleanup", "erase",
    }  # fmt: skip
    graph = {name for name in operations.OPERATIONS if name.startswith("graph.")}
    assert {name.removeprefix("graph.") for name in graph} == walked


@pytest.mark.parametrize(
    "scopes", [("graph:read", "notes:read", "search:read")], ids=["notes"]
)
async def test_no_tool_tells_what_only_closed_domains_say(
    reverie: app.App, life: dict[str, UUID], scopes: tuple[str, ...]
) -> None:
    toolbox = base.Toolbox(
        reverie.database, embedding.Embeddings(config.Embedding(provider="none"))
    )
    caller = callers.Caller(reverie.owner.user_id, "agent", "reader", frozenset(scopes))
    owner = callers.Caller(reverie.owner.user_id, "agent", "all", frozenset({"*:*"}))
    queries = (
        "MATCH (n) RETURN n",
        "MATCH (n) RETURN n.name, n.birthday, n.description, n.notes, n.type",
        "MATCH (a)-[r]->(b) RETURN a.name, type(r), r.notes, r.relevance, b.name",
        "MATCH (p:Person) WHERE p.name CONTAINS 'Qui' RETURN p.name",
        "MATCH (p:Nonsense) RETURN p",
    )
    try:
        for who, blind in ((caller, True), (owner, False)):
            said = ""
            for cypher in queries:
                said += await _called(toolbox, who, "traverse", {"cypher": cypher})
            for text in ("Ada", "Bo", "Oslo", "Vexmoor", "Mirabel Stone", "lab"):
                arguments = {"text_matches": [text], "return_explanations": True}
                answer = await _called(toolbox, who, "explore", arguments)
                said += answer.replace(f"“{text}”", "")
                arguments = {"queries": [{"query": text}], "return_explanations": True}
                answer = await _called(toolbox, who, "explore", arguments)
                said += answer.replace(f"“{text}”", "")
            assert bool(leaked(said)) != blind, leaked(said)
            assert "Oslo" in said
        for text in ("Quillon", "Zarathane", "Ada Quillon Oslo"):
            answer = await _called(toolbox, caller, "search", {"query": text})
            assert not leaked(answer.replace(text, "")), answer
    finally:
        await toolbox.projections.close()


async def _called(
    toolbox: base.Toolbox, caller: callers.Caller, name: str, arguments: dict[str, Any]
) -> str:
    try:
        answer = await catalogue.call(toolbox, caller, name, arguments)
    except errors.ReverieError as refused:
        return f"{refused.message} {refused.hint}"
    return json.dumps(answer, ensure_ascii=False)


async def test_a_record_that_is_gone_tells_nothing_more(
    reverie: app.App,
    reader: httpx.AsyncClient,
    api: httpx.AsyncClient,
    life: dict[str, UUID],
) -> None:
    await api.delete(f"{ROOT}/notes/{life['note']}")
    assert (await reader.get(f"{ROOT}/graph/entities")).json()["items"] == []


async def test_what_was_read_before_shows_where_all_of_it_may_be_read(
    reverie: app.App, reader: httpx.AsyncClient, life: dict[str, UUID]
) -> None:
    await learned(
        reverie,
        reverie.owner,
        notes.NOTES,
        {"title": "Bread", "content": "Rye Bakery opens at six."},
        named=[update.NamedEntity("entity", "Rye Bakery", "shop")],
    )
    async with reverie.database.transaction(reverie.owner) as tx:
        me = (reverie.owner.user_id,)
        await tx.run("DELETE FROM attestation WHERE user_id = %s", me)
        await tx.run("UPDATE evidence SET properties = NULL WHERE user_id = %s", me)
    items = (await reader.get(f"{ROOT}/graph/entities")).json()["items"]
    assert [(item["name"], item["type"]) for item in items] == [("Rye Bakery", "shop")]


async def test_rules_attest_what_stands_in_the_text(
    reverie: app.App, reader: httpx.AsyncClient, api: httpx.AsyncClient
) -> None:
    """By the real reading of records: the text says less than the card does."""
    card = {"display_name": "Wilhelmina Quillon", "emails": ["w@quillon.example.org"]}
    await api.post(f"{ROOT}/contacts", json=card)
    note = {"content": "Called Wilhelmina about the boat, and Wilhelmina agreed."}
    await api.post(f"{ROOT}/notes", json=note)
    async with following(reverie.database, reverie.embeddings):
        await quiet(reverie.database, reverie.owner)
    people = (await api.get(f"{ROOT}/graph/entities?kind=person&name=quillon")).json()
    assert [person["name"] for person in people["items"]] == ["Wilhelmina Quillon"]
    assert people["items"][0]["links"] == 2
    people = (await reader.get(f"{ROOT}/graph/entities?kind=person")).json()["items"]
    assert "Wilhelmina" in [person["name"] for person in people]
    assert not leaked(json.dumps(people))
