"""explore, as agents call it: who and what there is, how it hangs together, and nothing
of closed domains.
"""

import dataclasses
import json
from typing import Any
from uuid import UUID

import pytest

from reverie import app, compact, config, errors
from reverie.access import callers
from reverie.graph import links, nodes
from reverie.graph.extraction import update
from reverie.llm import embedding
from reverie.records import base as records
from reverie.records import emails, notes, record_types
from reverie.tools import base, catalogue


@pytest.fixture
def toolbox(reverie: app.App) -> base.Toolbox:
    return base.Toolbox(
        reverie.database, embedding.Embeddings(config.Embedding(provider="none"))
    )


def _agent(caller: callers.Caller, *scopes: str) -> callers.Caller:
    return dataclasses.replace(
        caller, kind="agent", name="mcp", scopes=frozenset(scopes or {"*:*"})
    )


async def _explored(
    toolbox: base.Toolbox, caller: callers.Caller, **arguments: Any
) -> dict[str, Any]:
    told = await catalogue.call(toolbox, caller, "explore", arguments)
    assert isinstance(told, dict)
    return told


async def _life(toolbox: base.Toolbox, caller: callers.Caller) -> tuple[UUID, UUID]:
    """Ana is building a sauna in a note; a mail says what it costs."""
    kept: list[UUID] = []
    told: list[
        tuple[record_types.Domain[Any], dict[str, Any], list[update.StatedFact]]
    ] = [
        (
            notes.NOTES,
            {"title": "The sauna", "content": "Ana Ruiz draws the sauna at the lake."},
            [
                update.StatedFact(
                    "Ana Ruiz",
                    "relates_to",
                    "Sauna",
                    {"relevance": 8, "notes": "she draws it"},
                )
            ],
        ),
        (
            emails.EMAILS,
            {
                "subject": "Sauna offer",
                "body_text": "The sauna costs 9,000, says Ana Ruiz.",
            },
            [],
        ),
    ]
    for domain, values, stated in told:
        async with toolbox.database.transaction(caller) as tx:
            made = await records.create(tx, caller, domain, values)
            named = [
                update.NamedEntity("person", "Ana Ruiz"),
                update.NamedEntity("entity", "Sauna", "project", "at the lake"),
            ]
            title = domain.text(made).title
            await update.apply(
                tx,
                caller,
                update.Extraction(
                    domain.name, made.id, title, named=named, stated=stated
                ),
            )
        kept.append(made.id)
    return kept[0], kept[1]


async def test_explore_finds_people_things_and_records(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    note, mail = await _life(toolbox, owner)
    async with toolbox.database.transaction(owner) as tx:
        await update.owner(tx, owner, name="Olga Owner")
    found = await _explored(
        toolbox, _agent(owner), queries=[{"query": "sauna"}], text_matches=["Ana Ruiz"]
    )
    assert [one["name"] for one in found["persons"]] == ["Ana Ruiz"]
    assert [
        (one["name"], one["type"], one["description"]) for one in found["entities"]
    ] == [("Sauna", "project", "at the lake")]
    assert {one["record"] for one in found["sources"]} == {str(note), str(mail)}
    fact = next(one for one in found["links"] if one["relation"] == "relates_to")
    assert fact["properties"] == {"relevance": 8, "notes": "she draws it"}
    assert "why" not in json.dumps(found)
    why = await _explored(
        toolbox, _agent(owner), text_matches=["ana ruiz"], return_explanations=True
    )
    assert why["persons"][0]["why"] == "named in “ana ruiz”"
    assert why["persons"][0]["score"] == 1
    assert {one["name"] for one in why["neighbours"]} == {
        "Sauna",
        "The sauna",
        "Sauna offer",
    }


async def test_explore_tells_what_the_owner_has_to_do_with_it(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    await _life(toolbox, owner)
    async with toolbox.database.transaction(owner) as tx:
        own = await update.owner(tx, owner, name="Olga Owner")
        sauna = (await nodes.find(tx, owner, ["sauna"]))["sauna"][0]
        assert own is not None
        fact = links.Fact(
            own.id,
            sauna.id,
            "relates_to",
            "manual",
            by="user",
            properties={"notes": "pays for it"},
        )
        await links.relate(tx, owner, fact)
    found = await _explored(toolbox, _agent(owner), text_matches=["Sauna"])
    assert [
        one.get("properties") for one in found["links"] if one["from"] == str(own.id)
    ] == [{"notes": "pays for it"}]


async def test_explore_keeps_to_the_domains_of_its_caller(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    note, mail = await _life(toolbox, owner)
    reader = _agent(owner, "graph:read", "notes:read", "search:read")
    for asked in (
        {"queries": [{"query": "sauna"}]},
        {"text_matches": ["Ana Ruiz", "Sauna"]},
    ):
        told = json.dumps(await _explored(toolbox, reader, **asked))
        assert str(note) in told or "The sauna" in told
        assert str(mail) not in told
        assert "Sauna offer" not in told
        assert "9,000" not in told
    for scopes in (
        ("notes:read", "search:read"),
        ("graph:read",),
        ("graph:write", "notes:read"),
    ):
        with pytest.raises(errors.Forbidden):
            await _explored(toolbox, _agent(owner, *scopes), text_matches=["Ana"])


async def test_explore_is_one_persons(
    toolbox: base.Toolbox, owner: callers.Caller, other: callers.Caller
) -> None:
    await _life(toolbox, owner)
    asked = {"queries": [{"query": "sauna"}], "text_matches": ["Ana Ruiz"]}
    assert (
        not {"persons", "entities", "sources", "links"}
        & (await _explored(toolbox, _agent(other), **asked)).keys()
    )
    assert (await _explored(toolbox, _agent(owner), **asked))["persons"]


async def test_explore_says_what_it_lacks_and_costs_little(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    assert await _explored(toolbox, _agent(owner), text_matches=["Nobody"]) == {}
    for _ in range(6):
        await _life(toolbox, owner)
    told = await _explored(
        toolbox, _agent(owner), queries=[{"query": "sauna"}], text_matches=["Ana Ruiz"]
    )
    assert "no embedding model" in json.dumps(told["signals"]).lower()
    assert "ok" not in told["signals"].values()
    assert len(told["sources"]) == 5
    assert compact.tokens(json.dumps(told, separators=(",", ":"))) < 3500


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"queries": ["sauna"]}, "queries.0"),
        ({"queries": [{"query": ""}]}, "queries.0.query"),
        ({"queries": [{"query": "x", "threshold": 2}]}, "queries.0.threshold"),
        ({"queries": [{"query": "x", "depth": 2}]}, "queries.0.depth"),
        ({"text_matches": ["x"] * 6}, "text_matches"),
        ({"cypher": "MATCH (n) RETURN n"}, "cypher"),
    ],
)
async def test_wrong_arguments_are_named(
    toolbox: base.Toolbox, owner: callers.Caller, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(errors.Invalid) as refused:
        await _explored(toolbox, _agent(owner), **arguments)
    assert f"`{field}`" in refused.value.message


async def test_nothing_to_explore(toolbox: base.Toolbox, owner: callers.Caller) -> None:
    with pytest.raises(errors.Invalid, match="wants a query or a name"):
        await _explored(toolbox, _agent(owner))


async def _traversed(
    toolbox: base.Toolbox, caller: callers.Caller, cypher: str
) -> list[list[Any]]:
    told = await catalogue.call(toolbox, caller, "traverse", {"cypher": cypher})
    assert isinstance(told, dict)
    return told["rows"]


async def test_traverse_sees_the_graph_as_it_is_now_and_nobody_elses(
    toolbox: base.Toolbox, owner: callers.Caller, other: callers.Caller
) -> None:
    await _life(toolbox, owner)
    people = (
        "MATCH (p:Person)-[r:relates_to]->(e:Entity) RETURN p.name, r.relevance, e.name"
    )
    assert await _traversed(toolbox, _agent(owner), people) == [
        ["Ana Ruiz", 8, "Sauna"]
    ]
    assert await _traversed(toolbox, _agent(other), "MATCH (n) RETURN n.name") == []
    async with toolbox.database.transaction(owner) as tx:
        await nodes.add(tx, owner, nodes.NodeDraft("person", "Bea Soler", by="user"))
    names = "MATCH (p:Person) RETURN p.name ORDER BY p.name"
    assert await _traversed(toolbox, _agent(owner), names) == [
        ["Ana Ruiz"],
        ["Bea Soler"],
    ]
    await toolbox.projections.close()


async def test_traverse_hides_records_of_closed_domains(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    await _life(toolbox, owner)
    sources = "MATCH (s:Source) RETURN s.domain ORDER BY s.domain"
    assert await _traversed(toolbox, _agent(owner), sources) == [["email"], ["note"]]
    assert await _traversed(
        toolbox, _agent(owner, "graph:read", "notes:read"), sources
    ) == [["note"]]
    with pytest.raises(errors.Invalid, match="CREATE"):
        await _traversed(toolbox, _agent(owner), "CREATE (:Person)")
    with pytest.raises(errors.Forbidden):
        await _traversed(toolbox, _agent(owner, "notes:read"), sources)
    await toolbox.projections.close()


async def test_two_records_opened_one_after_the_other_warm_their_link(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    async with toolbox.database.transaction(owner) as tx:
        kept = [
            (
                await records.create(
                    tx, owner, notes.NOTES, {"title": title, "content": "x"}
                )
            ).id
            for title in ("Plan A", "Plan B")
        ]
        linked = [update.LinkedRecord(kept[1], "note", "Plan B")]
        await update.apply(
            tx, owner, update.Extraction("note", kept[0], "Plan A", records=linked)
        )
    for one in kept:
        await catalogue.call(toolbox, owner, "get_record", {"id": str(one)})
    async with toolbox.database.transaction(owner) as tx:
        assert await tx.value(
            "SELECT heat FROM link WHERE relation = 'relates_to'"
        ) == pytest.approx(0.2)
