"""The catalogue: every tool is described whole, and no call goes past its checks."""

import asyncio
import dataclasses
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reverie import app, compact, config, errors
from reverie.access import callers, operations
from reverie.llm import embedding
from reverie.records import base as records
from reverie.records import bookmarks, chats, diary, emails, events, notes, record_types
from reverie.tools import base, catalogue


@pytest.fixture
def toolbox(reverie: app.App) -> base.Toolbox:
    return base.Toolbox(reverie.database, reverie.embeddings)


def _agent(caller: callers.Caller, *scopes: str) -> callers.Caller:
    return dataclasses.replace(
        caller, kind="agent", name="mcp", scopes=frozenset(scopes or {"*:*"})
    )


async def _keep(
    toolbox: base.Toolbox,
    caller: callers.Caller,
    domain: record_types.Domain[Any],
    **values: Any,
) -> str:
    async with toolbox.database.transaction(caller) as tx:
        return str((await records.create(tx, caller, domain, values)).id)


@pytest.mark.parametrize("tool", catalogue.TOOLS.values(), ids=lambda tool: tool.name)
def test_every_tool_is_described(tool: base.Tool[Any]) -> None:
    assert operations.OPERATIONS[tool.operation.name] is tool.operation
    assert tool.read_only == (tool.operation.level == 0)
    assert not (tool.read_only and tool.destructive)
    assert "\n" not in tool.description
    assert len(tool.description) <= 110
    assert tool.schema["additionalProperties"] is False
    assert "title" not in json.dumps(
        {k: v for k, v in tool.schema["properties"].items() if k != "title"}
    )
    assert "$ref" not in json.dumps(tool.schema)
    assert catalogue.TOOLS[tool.name] is tool


def test_the_catalogue_is_small() -> None:
    """What every client pays before its first question."""
    told = [
        {"name": one.name, "description": one.description, "schema": one.schema}
        for one in catalogue.TOOLS.values()
    ]
    assert len(told) <= 10
    assert compact.tokens(json.dumps(told)) < 1000


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("search", {}, "query"),
        ("search", {"query": ""}, "query"),
        ("search", {"query": "x" * 1001}, "query"),
        ("search", {"query": "x", "limit": 21}, "limit"),
        ("search", {"query": "x", "colour": "red"}, "colour"),
        ("search", {"query": "x", "domains": [3]}, "domains.0"),
        ("get_record", {"id": "0198"}, "id"),
        ("get_record", {"id": str(uuid.uuid4()), "start": -1}, "start"),
        ("save_note", {"title": "t"}, "content"),
        ("save_note", {"content": ""}, "content"),
        ("save_note", {"content": "\ud800"}, "content"),
        ("list_changes", {"since": "yesterday"}, "since"),
        ("list_changes", {"since": "2026-07-12T10:00:00"}, "since"),
    ],
)
async def test_wrong_arguments_are_named(
    toolbox: base.Toolbox,
    owner: callers.Caller,
    name: str,
    arguments: dict[str, Any],
    field: str,
) -> None:
    with pytest.raises(errors.Invalid) as refused:
        await catalogue.call(toolbox, _agent(owner), name, arguments)
    assert f"`{field}`" in refused.value.message
    assert "Arguments: " in refused.value.hint


async def test_unknown_tools_domains_and_fields(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    agent = _agent(owner)
    with pytest.raises(errors.NotFound, match="no tool `delete_everything`"):
        await catalogue.call(toolbox, agent, "delete_everything", {})
    with pytest.raises(errors.Invalid, match="no domain `dreams`"):
        await catalogue.call(
            toolbox, agent, "search", {"query": "x", "domains": ["dreams"]}
        )
    note = await _keep(toolbox, owner, notes.NOTES, content="x")
    for fields in (["user_id"], ["password"]):
        with pytest.raises(errors.Invalid, match=fields[0]):
            await catalogue.call(
                toolbox, agent, "get_record", {"id": note, "fields": fields}
            )
    with pytest.raises(errors.Invalid, match="NUL"):
        await catalogue.call(toolbox, agent, "save_note", {"content": "a\x00b"})


async def test_scopes(toolbox: base.Toolbox, owner: callers.Caller) -> None:
    note = await _keep(toolbox, owner, notes.NOTES, content="the harbour at dawn")
    mark = await _keep(
        toolbox,
        owner,
        bookmarks.BOOKMARKS,
        url="https://example.org",
        title="the harbour guide",
    )
    long_ago = "2020-01-01T00:00:00Z"
    calls: dict[str, dict[str, Any]] = {
        "search": {"query": "harbour"},
        "explore": {"queries": [{"query": "harbour"}]},
        "traverse": {"cypher": "MATCH (n:Person) RETURN n.name"},
        "get_record": {"id": note},
        "save_note": {"content": "x"},
        "list_changes": {"since": long_ago},
    }
    assert calls.keys() == catalogue.TOOLS.keys()
    areas = {"save_note": "notes", "explore": "graph", "traverse": "graph"}
    for name, arguments in calls.items():
        for scopes in (["photos:read"], [f"{areas.get(name, 'search')}:nothing"]):
            with pytest.raises(errors.Forbidden):
                await catalogue.call(toolbox, _agent(owner, *scopes), name, arguments)

    reader = _agent(owner, "notes:read", "search:read")
    found = await catalogue.call(toolbox, reader, "search", {"query": "harbour"})
    assert note in found
    assert mark not in found
    assert mark not in await catalogue.call(
        toolbox, reader, "list_changes", {"since": long_ago}
    )
    with pytest.raises(errors.Forbidden):
        await catalogue.call(
            toolbox, reader, "search", {"query": "harbour", "domains": ["bookmark"]}
        )
    with pytest.raises(errors.Forbidden):
        await catalogue.call(
            toolbox, reader, "list_changes", {"since": long_ago, "domain": "bookmarks"}
        )
    with pytest.raises(errors.NotFound):
        await catalogue.call(toolbox, reader, "get_record", {"id": mark})
    with pytest.raises(errors.Forbidden):
        await catalogue.call(
            toolbox, reader, "get_record", {"id": mark, "domain": "bookmark"}
        )
    with pytest.raises(errors.Forbidden):
        await catalogue.call(
            toolbox, _agent(owner, "search:read"), "search", {"query": "harbour"}
        )


async def test_what_needs_a_person_waits(
    toolbox: base.Toolbox, owner: callers.Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = catalogue.TOOLS["save_note"]
    for level, waiting in ((2, ("agent",)), (3, ("agent", "machine"))):
        operation = dataclasses.replace(operations.named("notes.create"), level=level)
        risky = dataclasses.replace(save, name="purge", operation=operation)
        monkeypatch.setattr(catalogue, "TOOLS", {"purge": risky})
        for kind in waiting:
            with pytest.raises(errors.Forbidden, match="waits for a person"):
                await catalogue.call(
                    toolbox,
                    dataclasses.replace(owner, kind=kind),
                    "purge",
                    {"content": "x"},
                )
    assert await catalogue.call(toolbox, owner, "purge", {"content": "x"})


async def test_two_people_see_nothing_of_each_other(
    toolbox: base.Toolbox, owner: callers.Caller, other: callers.Caller
) -> None:
    mine, theirs = _agent(owner), _agent(other)
    saved: dict[str, str] = {}
    for who in (mine, theirs):
        told = await catalogue.call(
            toolbox,
            who,
            "save_note",
            {"title": "Holiday", "content": "Lisbon in May", "tags": ["trip"]},
        )
        assert isinstance(told, dict)
        saved[str(who.user_id)] = told["id"]
    for who, foreign in ((mine, theirs), (theirs, mine)):
        own, alien = saved[str(who.user_id)], saved[str(foreign.user_id)]
        found = await catalogue.call(toolbox, who, "search", {"query": "Lisbon in May"})
        assert own in found
        assert alien not in found
        changed = await catalogue.call(
            toolbox, who, "list_changes", {"since": "2020-01-01T00:00:00Z"}
        )
        assert own in changed
        assert alien not in changed
        refusals: set[tuple[str, str]] = set()
        for unknown in (alien, str(uuid.uuid4())):
            for domain in (None, "note"):
                with pytest.raises(errors.NotFound) as refused:
                    await catalogue.call(
                        toolbox, who, "get_record", {"id": unknown, "domain": domain}
                    )
                refusals.add((str(domain), refused.value.message + refused.value.hint))
        assert len(refusals) == 2  # a foreign id and an unknown one are answered alike


async def test_search_is_lines_for_a_model(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    agent = _agent(owner)
    long = (
        "nothing of note here. " * 9
        + "The lighthouse keeper kept goats. "
        + "and so on and on. " * 5
    )
    note = await _keep(
        toolbox,
        owner,
        notes.NOTES,
        title="Faro 灯塔 🐐\nfake — note — id:1",
        content=long,
    )
    night = await _keep(
        toolbox,
        owner,
        events.EVENTS,
        title="lighthouse night",
        start="2026-07-12T23:30:00+02:00",
        timezone="Europe/Madrid",
    )
    day = await _keep(
        toolbox, owner, diary.DIARY, date="2026-07-13", content="At the lighthouse."
    )
    found = await catalogue.call(
        toolbox, agent, "search", {"query": "lighthouse", "limit": 5}
    )
    assert isinstance(found, str)
    heads = {
        line.rsplit("id:", 1)[1]: line
        for line in found.splitlines()
        if " — " in line and "id:" in line
    }
    assert heads.keys() == {note, night, day}
    assert heads[note].startswith("Faro 灯塔 🐐 fake — note — id:1 — note — ")
    assert " — event — 2026-07-12 id:" in heads[night]
    assert " — diary — 2026-07-13 id:" in heads[day]
    assert all(len(line) <= 320 for line in found.splitlines())
    assert "lighthouse keeper kept goats" in found
    wordy = base.Toolbox(
        toolbox.database, embedding.Embeddings(config.Embedding(provider="none"))
    )
    by_words = str(
        await catalogue.call(wordy, agent, "search", {"query": "lighthouse"})
    )
    assert "Not searched by: meaning (No embedding model" in by_words
    assert by_words.count("No embedding model") == 1  # said once

    only = await catalogue.call(
        toolbox, agent, "search", {"query": "lighthouse", "domains": ["events"]}
    )
    assert night in only
    assert note not in only
    nothing = await catalogue.call(
        toolbox, agent, "search", {"query": "zyxxyz", "domains": ["task"]}
    )
    assert isinstance(nothing, str)
    assert nothing.startswith("Nothing in this scope holds these words")


async def test_search_costs_little(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    for number in range(12):
        await _keep(
            toolbox,
            owner,
            notes.NOTES,
            title=f"Harbour {number}",
            content="The harbour at dawn. " * 30,
        )
    found = await catalogue.call(
        toolbox, _agent(owner), "search", {"query": "harbour", "limit": 10}
    )
    assert compact.tokens(str(found)) < 1500


async def test_get_record_opens_and_warms(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    agent = _agent(owner)
    mail = await _keep(
        toolbox,
        owner,
        emails.EMAILS,
        subject="Hallo 你好",
        body_text="Text",
        body_html="<p>Text</p>",
        to=["a@b.example"],
    )

    async def accesses() -> float:
        async with toolbox.database.transaction(owner) as tx:
            return float(
                await tx.value(
                    "SELECT coalesce(sum(accesses), 0) FROM heat WHERE record_id = %s",
                    (mail,),
                )
            )

    before = await accesses()
    told = await catalogue.call(toolbox, agent, "get_record", {"id": mail})
    assert isinstance(told, dict)
    assert (told["domain"], told["id"], told["subject"]) == (
        "email",
        mail,
        "Hallo 你好",
    )
    assert told["read"] is False
    assert not {"user_id", "body_html", "cc", "deleted_at"} & told.keys()
    assert await accesses() == before + 1
    picked = await catalogue.call(
        toolbox, agent, "get_record", {"id": mail, "fields": ["body_html", "cc"]}
    )
    assert picked == {
        "domain": "email",
        "id": mail,
        "body_html": "<p>Text</p>",
        "cc": [],
    }
    async with toolbox.database.transaction(owner) as tx:
        await records.delete(tx, owner, emails.EMAILS, uuid.UUID(mail))
    with pytest.raises(errors.NotFound):
        await catalogue.call(toolbox, agent, "get_record", {"id": mail})


async def test_long_fields_come_in_parts(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    agent = _agent(owner)
    text = "".join(f"{number:05d} 你🙂" for number in range(4000))
    turns = [
        {"id": str(number), "speaker": "me", "text": "word " * 100}
        for number in range(60)
    ]
    note = await _keep(toolbox, owner, notes.NOTES, content=text)
    chat = await _keep(toolbox, owner, chats.CHATS, title="long", turns=turns)
    for record, name, whole in ((note, "content", text), (chat, "turns", turns)):
        arguments: dict[str, Any] = {"id": record}
        parts: list[Any] = []
        while True:
            told = await catalogue.call(toolbox, agent, "get_record", arguments)
            assert isinstance(told, dict)
            assert len(json.dumps(told, ensure_ascii=False)) < 14_000
            parts.extend(told[name])
            arguments = {"id": record, "fields": [name], "start": len(parts)}
            if "go on with" not in told.get("cut", {}).get(name, ""):
                break
            assert f"start={len(parts)}" in told["cut"][name]
        assert (("".join(parts)) if isinstance(whole, str) else parts) == whole
    with pytest.raises(errors.Invalid, match="`start`"):
        await catalogue.call(toolbox, agent, "get_record", {"id": note, "start": 5})


async def test_save_note_is_logged_as_the_agents(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    told = await catalogue.call(
        toolbox,
        _agent(owner),
        "save_note",
        {"content": "# Idea 💡\n买牛奶", "tags": ["todo"]},
    )
    assert isinstance(told, dict)
    assert told["title"] == "# Idea 💡 买牛奶"
    async with toolbox.database.transaction(owner) as tx:
        rows = await tx.rows(
            "SELECT caller, action, domain FROM change WHERE record_id = %s",
            (told["id"],),
        )
        warmth = await tx.rows(
            "SELECT source FROM heat WHERE record_id = %s", (told["id"],)
        )
    assert rows == [{"caller": "agent:mcp", "action": "create", "domain": "note"}]
    assert {row["source"] for row in warmth} <= {"agent"}


async def test_changes_page_on_without_a_gap(
    toolbox: base.Toolbox, owner: callers.Caller
) -> None:
    agent = _agent(owner)
    start = datetime.now(UTC) - timedelta(seconds=1)
    made = [
        await _keep(toolbox, owner, notes.NOTES, content=f"note {number}")
        for number in range(7)
    ]
    async with toolbox.database.transaction(owner) as tx:
        await records.delete(tx, owner, notes.NOTES, uuid.UUID(made[0]))
        await records.update(
            tx, owner, notes.NOTES, uuid.UUID(made[1]), {"content": "changed"}
        )
    seen: dict[str, str] = {}
    since = start.isoformat()
    for _ in range(20):
        told = await catalogue.call(
            toolbox, agent, "list_changes", {"since": since, "limit": 2}
        )
        assert isinstance(told, str)
        *lines, stamp = told.splitlines()
        for line in lines:
            if "id:" in line:
                seen[line.rsplit("id:", 1)[1]] = line.split()[0]
        since = stamp.removeprefix("response_timestamp: ")
        if not any("more: ask again" in line for line in lines):
            break
    assert seen.keys() == set(made)
    assert seen[made[0]] == "delete"
    assert seen[made[2]] == "create"
    await asyncio.sleep(0.01)
    quiet = await catalogue.call(
        toolbox, agent, "list_changes", {"since": datetime.now(UTC).isoformat()}
    )
    assert str(quiet).startswith("Nothing changed.")
    assert "response_timestamp: " in str(quiet)
