"""Asking through the gateway: where a call goes, what it carries, when its turn is, and
its one row in the log.
"""

import asyncio
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pydantic
import pytest

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import chat, gateway
from reverie.privacy import routing
from tests.llm import model_server, vendors
from tests.llm.conftest import KEY, Opened, rows, settings_of

PLAIN = "What grows in May?"
PRIVATE = "Write to ana.lopez@example.org about the roses."
HEALTH = "The biopsy of ana.lopez@example.org was clear."


def about(text: str, **more: Any) -> chat.ChatRequest:
    return chat.ChatRequest((chat.Message("user", text),), "test", **more)


def cloud(server: model_server.Server, **more: object) -> dict[str, Any]:
    return settings_of(server.url, local=False, **more)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "_FIRST_WAIT_S", 0.01)


async def test_what_anybody_may_know_goes_as_it_is(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        answer = await chat.ask(
            opened(cloud(server)), owner, about(PLAIN, domain="note")
        )
        assert answer == chat.ChatAnswer(PLAIN, "sent_plain", "openai:m", 18)
        (row,) = await rows(database, owner)
        told = {
            name: row[name]
            for name in (
                "feature",
                "domain",
                "level",
                "action",
                "destination",
                "model",
                "outcome",
            )
        }
        assert told == {
            "feature": "test",
            "domain": "note",
            "level": "normal",
            "action": "sent_plain",
            "destination": "cloud",
            "model": "openai:m",
            "outcome": "done",
        }
        assert (row["tokens_in"], row["tokens_out"]) == (11, 7)


async def test_what_is_private_goes_masked_and_comes_back_restored(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        answer = await chat.ask(opened(cloud(server)), owner, about(PRIVATE))
        assert answer.text == PRIVATE
        assert answer.action == "sent_pseudonymised"
        assert b"ana.lopez" not in server.asked[0].raw
        assert b"about the roses" in server.asked[0].raw
        assert [row["action"] for row in await rows(database, owner)] == [
            "sent_pseudonymised"
        ]


async def test_what_is_critical_never_leaves(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        models = opened(cloud(server), cloud(server, model="other"))
        for request in (
            about(HEALTH),
            about(PLAIN, level=chat.Level.CRITICAL),
            about(PLAIN, unreadable=True),
        ):
            with pytest.raises(
                errors.Confined, match="too private to leave this machine"
            ):
                await chat.ask(models, owner, request)
        assert not server.asked
        found = await rows(database, owner)
        assert [
            (row["action"], row["destination"], row["outcome"]) for row in found
        ] == [("blocked", "", "refused")] * 3


async def test_a_model_here_gets_everything_as_it_is(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        answer = await chat.ask(opened(settings_of(server.url)), owner, about(HEALTH))
        assert (answer.text, answer.action) == (HEALTH, "local")
        assert b"ana.lopez" in server.asked[0].raw
        (row,) = await rows(database, owner)
        assert (row["action"], row["destination"], row["level"]) == (
            "local",
            "local",
            "critical",
        )


async def test_nothing_falls_back_to_where_it_must_not_go(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with (
        model_server.serving(vendors.echo) as away,
        model_server.serving(lambda _: (503, {})) as here,
    ):
        models = opened(settings_of(here.url), cloud(away), retries=1)
        with pytest.raises(errors.ModelUnavailable):
            await chat.ask(models, owner, about(HEALTH))
        assert not away.asked
        assert len(here.asked) == 2
        assert (
            await chat.ask(models, owner, about(PRIVATE))
        ).action == "sent_pseudonymised"
        assert b"ana.lopez" not in away.asked[0].raw
        found = [(row["action"], row["outcome"]) for row in await rows(database, owner)]
        assert found == [("local", "failed")] * 4 + [("sent_pseudonymised", "done")]
        assert len(found) == len(here.asked) + len(away.asked)


async def test_a_critical_call_passes_the_cloud_by(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with (
        model_server.serving(vendors.echo) as away,
        model_server.serving(vendors.echo) as here,
    ):
        answer = await chat.ask(
            opened(cloud(away), settings_of(here.url)), owner, about(HEALTH)
        )
        assert (answer.action, len(away.asked), len(here.asked)) == ("local", 0, 1)
        assert len(await rows(database, owner)) == 1


async def test_without_a_key_or_with_a_mask_that_fails_nothing_private_is_sent(
    database: db.Database,
    owner: callers.Caller,
    opened: Opened,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> list[object]:
        raise ZeroDivisionError

    with model_server.serving(vendors.echo) as server:
        with pytest.raises(errors.Confined, match="could not be pseudonymised"):
            await chat.ask(
                opened(cloud(server), rules=gateway.GatewaySettings()),
                owner,
                about(PRIVATE),
            )
        monkeypatch.setattr("reverie.privacy.detect.find", broken)
        with pytest.raises(errors.Confined, match="could not be pseudonymised"):
            await chat.ask(opened(cloud(server)), owner, about(PRIVATE))
        assert not server.asked
        assert [row["action"] for row in await rows(database, owner)] == ["blocked"] * 2


async def test_what_cannot_be_judged_is_critical(
    owner: callers.Caller, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> routing.Level:
        raise RuntimeError

    monkeypatch.setattr(routing.level_of, "__kwdefaults__", {"judge": broken})
    with model_server.serving(vendors.echo) as server:
        with pytest.raises(errors.Confined):
            await chat.ask(opened(cloud(server)), owner, about(PLAIN))
        assert not server.asked


async def test_passing_trouble_is_tried_again_and_each_try_is_a_row(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    said = iter([(429, {}), (503, {}), (200, vendors.openai("Roses."))])
    with model_server.serving(lambda _: next(said)) as server:
        assert (
            await chat.ask(opened(cloud(server)), owner, about(PLAIN))
        ).text == "Roses."
        assert [row["outcome"] for row in await rows(database, owner)] == [
            "failed",
            "failed",
            "done",
        ]
        server.answer = lambda _: (400, {})
        with pytest.raises(errors.Invalid):
            await chat.ask(opened(cloud(server)), owner, about(PLAIN))
        server.answer = lambda _: (401, {})
        with pytest.raises(errors.ModelUnavailable, match="401"):
            await chat.ask(opened(cloud(server)), owner, about(PLAIN))
        assert len(server.asked) == len(await rows(database, owner)) == 5


async def test_who_takes_too_long_is_given_up(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    def slow(_: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(1)
        return 200, vendors.openai("late")

    with (
        model_server.serving(slow) as server,
        model_server.serving(vendors.echo) as other,
    ):
        models = opened(cloud(server, timeout_s=0.2), cloud(other, model="n"))
        assert (await chat.ask(models, owner, about(PLAIN))).model == "openai:n"
        assert [
            (row["model"], row["outcome"]) for row in await rows(database, owner)
        ] == [
            ("openai:m", "failed"),
            ("openai:n", "done"),
        ]


async def test_a_call_that_is_given_up_by_its_caller_keeps_its_row(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    def slow(_: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(0.5)
        return 200, vendors.openai("late")

    with model_server.serving(slow) as server:
        task = asyncio.create_task(chat.ask(opened(cloud(server)), owner, about(PLAIN)))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [row["outcome"] for row in await rows(database, owner)] == ["stopped"]


async def test_in_pieces(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        found = [
            one
            async for one in chat.stream(opened(cloud(server)), owner, about(PRIVATE))
        ]
        assert "".join(one for one in found if isinstance(one, str)) == PRIVATE
        assert found[-1] == chat.ChatAnswer(
            PRIVATE, "sent_pseudonymised", "openai:m", 18
        )
        assert len(found) > 3
        assert b"ana.lopez" not in server.asked[0].raw
        with pytest.raises(errors.Confined):
            _ = [
                one
                async for one in chat.stream(
                    opened(cloud(server)), owner, about(HEALTH)
                )
            ]
        assert len(server.asked) == 1
        assert [row["action"] for row in await rows(database, owner)] == [
            "sent_pseudonymised",
            "blocked",
        ]


async def test_pieces_fall_back_before_the_first_one_only(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with (
        model_server.serving(lambda _: (503, {})) as ill,
        model_server.serving(vendors.echo) as well,
    ):
        models = opened(cloud(ill), cloud(well, model="n"), retries=0)
        found = [one async for one in chat.stream(models, owner, about(PLAIN))]
        assert found[-1] == chat.ChatAnswer(PLAIN, "sent_plain", "openai:n", 18)
        cut = vendors.openai_stream(["Ro", "ses"]).partition(b'"ses"')[0]
        ill.answer = lambda _: (
            200,
            cut + b'"\n\nevent: error\ndata: {"error": {"message": "x"}}\n\n',
        )
        pieces = chat.stream(models, owner, about(PLAIN))
        assert await anext(pieces) == "Ro"
        with pytest.raises(errors.ModelUnavailable):
            await anext(pieces)
        assert len(well.asked) == 1
        assert [row["outcome"] for row in await rows(database, owner)] == [
            "failed",
            "done",
            "failed",
        ]


async def test_who_stops_listening_ends_the_call(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.saying("word " * 50)) as server:
        models = opened(cloud(server))
        pieces = chat.stream(models, owner, about(PLAIN))
        assert await anext(pieces)
        await pieces.aclose()
        assert [row["outcome"] for row in await rows(database, owner)] == ["stopped"]
        assert (
            await chat.ask(models, owner, about(PLAIN))
        ).text  # its place is free again


class Person(pydantic.BaseModel):
    name: str
    age: int


async def test_items_are_checked_one_by_one(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    said = '```json\n{"items": [{"name": "Ana", "age": 31}, {"name": "Bo"}, {"name": "Cy", "age": 7},]}\n```'
    with model_server.serving(vendors.saying(said)) as server:
        found = await opened(cloud(server)).items(owner, about("Who is there?"), Person)
        assert [(one.name, one.age) for one in found.items] == [("Ana", 31), ("Cy", 7)]
        assert found.refused == 1
        assert len(server.asked) == len(await rows(database, owner)) == 1
        assert server.asked[0].body["response_format"]["json_schema"]["schema"][
            "required"
        ] == ["items"]


async def test_without_a_single_item_it_is_asked_once_more(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    said = iter(
        [
            "I would rather talk.",
            '[{"name": "Ana", "age": 31}]',
            "No.",
            "Never.",
            '{"items": []}',
        ]
    )
    with model_server.serving(lambda _: (200, vendors.openai(next(said)))) as server:
        models = opened(cloud(server))
        assert (await models.items(owner, about(PLAIN), Person)).items == (
            Person(name="Ana", age=31),
        )
        assert (await models.items(owner, about(PLAIN), Person)).items == ()
        assert len(server.asked) == 4
        assert (
            await models.items(owner, about(PLAIN), Person)
        ).refused == 0  # there is nothing, and it says so
        assert len(server.asked) == 5 == len(await rows(database, owner))


async def test_a_server_without_schemas_is_asked_without(
    owner: callers.Caller, opened: Opened
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return (
            (400, {})
            if "response_format" in body
            else (200, vendors.openai('{"name": "Ana", "age": "31"}'))
        )

    with model_server.serving(answer) as server:
        found = await opened(cloud(server)).items(owner, about(PLAIN), Person)
        assert found.items == (Person(name="Ana", age=31),)


async def test_what_comes_back_in_items_is_restored_inside_the_json(
    owner: callers.Caller, opened: Opened
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        masked = body["messages"][0]["content"].split()[2]
        return 200, vendors.openai(json.dumps({"items": [{"name": masked, "age": 3}]}))

    with model_server.serving(answer) as server:
        found = await opened(cloud(server)).items(owner, about(PRIVATE), Person)
        assert found.items == (Person(name="ana.lopez@example.org", age=3),)


async def test_a_question_waits_for_the_call_in_flight_alone(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    # The calls in flight wait until the question has its place in the lane.
    in_line = threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if "bulk" in str(body):
            in_line.wait(30)
        return vendors.echo(body)

    with model_server.serving(answer) as server:
        models = opened(settings_of(server.url))
        await chat.ask(models, owner, about("warm"))
        bulk = [
            asyncio.create_task(
                chat.ask(models, owner, about(f"bulk {number}", lane="bulk"))
            )
            for number in range(100)
        ]
        await asyncio.sleep(0.2)
        before = len(server.asked)
        late = asyncio.create_task(
            chat.ask(models, owner, about("just now", lane="realtime"))
        )
        question = asyncio.create_task(chat.ask(models, owner, about("a question")))
        await asyncio.sleep(1)
        in_line.set()
        await asyncio.gather(question, late)
        heard = [one.body["messages"][0]["content"] for one in server.asked]
        assert heard.index("a question") <= before
        assert heard.index("just now") == heard.index("a question") + 1
        await asyncio.gather(*bulk)
        assert len(await rows(database, owner)) == len(server.asked) == 103


async def test_background_work_leaves_a_place_free(
    owner: callers.Caller, opened: Opened
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(0.3 if "bulk" in str(body) else 0)
        return vendors.echo(body)

    with model_server.serving(answer) as server:
        models = opened(cloud(server))
        await chat.ask(models, owner, about("warm"))
        bulk = [
            asyncio.create_task(chat.ask(models, owner, about("bulk", lane="bulk")))
            for _ in range(8)
        ]
        await asyncio.sleep(0.15)
        assert len(server.asked) == 1 + 3  # of four places
        await chat.ask(models, owner, about("a question"))
        assert not any(one.done() for one in bulk)
        await asyncio.gather(*bulk)


async def test_background_work_ends_with_its_budget(
    database: db.Database, owner: callers.Caller, other: callers.Caller, opened: Opened
) -> None:
    with (
        model_server.serving(vendors.echo) as server,
        model_server.serving(vendors.echo) as here,
    ):
        rules = gateway.GatewaySettings(key=KEY, daily_tokens=50)
        models = opened(cloud(server), rules=rules)
        small = {"lane": "bulk", "max_tokens": 10}
        await chat.ask(models, owner, about(PLAIN, **small))
        await chat.ask(models, owner, about(PLAIN, **small))
        with pytest.raises(errors.BudgetSpent, match="it goes on tomorrow"):
            await chat.ask(models, owner, about(PLAIN, **small))
        assert len(server.asked) == 2
        await chat.ask(models, owner, about(PLAIN))  # a question is not background work
        await chat.ask(
            models, other, about(PLAIN, **small)
        )  # and another's budget is another's
        await chat.ask(
            opened(settings_of(here.url), rules=rules), owner, about(PLAIN, **small)
        )
        assert len(await rows(database, owner)) == 4
        async with database.transaction(owner) as tx:
            await tx.run("UPDATE pii_routing_log SET at = at - interval '1 day'")
        await chat.ask(models, owner, about(PLAIN, **small))


async def test_no_model_at_all(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    models = opened()
    assert not models.is_configured
    with pytest.raises(errors.ModelUnavailable, match="A model would add") as told:
        await chat.ask(models, owner, about(PLAIN))
    assert "Two lines" in told.value.hint
    with pytest.raises(errors.ModelUnavailable, match="A model would add"):
        _ = [one async for one in chat.stream(models, owner, about(PLAIN))]
    assert not await rows(database, owner)


async def test_ollama_with_its_port_closed(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    models = opened({"provider": "ollama", "base_url": url})
    begun = time.monotonic()
    with pytest.raises(
        errors.ModelUnavailable, match="ollama:qwen3:4b does not answer"
    ) as told:
        await chat.ask(models, owner, about(PLAIN, lane="bulk"))
    assert "ollama serve" in told.value.hint
    assert time.monotonic() - begun < 30
    assert [row["outcome"] for row in await rows(database, owner)] == ["failed"]


async def test_a_conversation_may_have_pseudonyms_of_its_own(
    owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        for apart in (False, True):
            models = opened(
                cloud(server),
                rules=gateway.GatewaySettings(
                    KEY, scope="conversation" if apart else "user"
                ),
            )
            server.asked.clear()
            for conversation in (uuid4(), uuid4()):
                await chat.ask(models, owner, about(PRIVATE, conversation=conversation))
            sent = {one.body["messages"][0]["content"] for one in server.asked}
            assert len(sent) == 1 + apart


async def test_a_row_before_the_call(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        with pytest.raises(errors.ReverieError):  # a feature is a word of the program's
            await chat.ask(
                opened(cloud(server)),
                owner,
                chat.ChatRequest((chat.Message("user", "x"),), "Ana López said"),
            )
        assert not server.asked


def test_a_fallback_needs_a_provider(tmp_path: Path, opened: Opened) -> None:
    del tmp_path
    with pytest.raises(errors.Misconfigured, match="fallback needs a `provider`"):
        opened({"provider": "ollama"}, {})
    assert config.Model().provider == "none"
