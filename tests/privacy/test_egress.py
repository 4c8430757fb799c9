"""The egress: a recording server is the only cloud, and every byte it got is searched
for what must not be there.
"""

import asyncio
import base64
import json
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pydantic
import pydantic_ai
import pytest

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import agents, chat, embedding, gateway
from reverie.records import acquaintances, base, contacts
from tests.llm import model_server, vendors
from tests.llm.conftest import KEY, rows, settings_of
from tests.privacy import plants

CRITICAL = 500
VALUES = 1_000
PEOPLE = 60


class Fact(pydantic.BaseModel):
    text: str


def spellings(value: str) -> Iterator[bytes]:
    """How a value could be written in what was sent."""
    for text in {value, value.lower(), value.upper(), value[::-1], bare(value)}:
        yield text.encode()
        yield text.encode("utf-16-le")
        yield urllib.parse.quote(text, safe="").encode()
        yield json.dumps(text)[1:-1].encode()
        for shift in range(3):  # base64, at whatever place it began
            yield base64.b64encode(b"x" * shift + text.encode())[4:-4]


def bare(value: str) -> str:
    """Without what people put between digits."""
    return re.sub(r"(?<=\w)[ .\-\u00a0]+(?=\w)", "", value)


@pytest.fixture
def stub() -> Iterator[model_server.Server]:
    """Ill every fifth time, and a cut answer every seventh."""
    count = iter(range(1_000_000))

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        number = next(count)
        if number % 5 == 0:
            return (429, 500, 503)[number % 3], {}
        if "input" in body:
            return 200, {
                "data": [
                    {"embedding": [1.0, float(number % 3), 2.0]} for _ in body["input"]
                ]
            }
        if "documents" in body:
            scores = [
                {"index": i, "relevance_score": 0.5}
                for i in range(len(body["documents"]))
            ]
            return 200, {"results": scores}
        if number % 7 == 0:
            return 200, b"data: {]\n\n"
        return vendors.echo(body)

    with model_server.serving(answer) as one:
        yield one


@pytest.fixture
def models(database: db.Database, stub: model_server.Server) -> chat.Models:
    one = settings_of(stub.url, local=False, concurrency=8, timeout_s=60)
    settings = config.Model.model_validate(
        {**one, "retries": 1, "fallback": [{**one, "model": "second"}]}
    )
    return chat.Models(
        settings,
        gateway.Gateway(
            database, gateway.GatewaySettings(KEY, known=acquaintances.known_values)
        ),
    )


@pytest.fixture
def vectors(
    database: db.Database, stub: model_server.Server
) -> Iterator[embedding.Embeddings]:
    given = {
        "provider": "openai",
        "base_url": f"{stub.url}/v1",
        "model": "m",
        "local": False,
        "timeout_s": 60,
    }
    made = embedding.Embeddings(
        config.Embedding.model_validate(given),
        config.RerankerModel.model_validate(given),
        gateway=gateway.Gateway(
            database, gateway.GatewaySettings(KEY, known=acquaintances.known_values)
        ),
    )
    yield made
    made.close()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "_FIRST_WAIT_S", 0.001)


def request(
    text: str, level: chat.Level, lane: chat.Lane = "query"
) -> chat.ChatRequest:
    return chat.ChatRequest(
        (chat.Message("user", text),),
        "egress",
        level=level,
        lane=lane,
        conversation=uuid4(),
    )


async def tried(
    models: chat.Models,
    vectors: embedding.Embeddings,
    owner: callers.Caller,
    text: str,
    number: int,
) -> str:
    """One text, by one of the ways out; what became of it."""
    level = chat.Level.CRITICAL if "krit" in text else chat.Level.NORMAL
    origin = embedding.Origin(owner, "egress", level=level, lane="bulk")
    try:
        match number % 6:
            case 0:
                answer = await models.ask(owner, request(text, level))
                assert answer.text == text  # an echo, restored
            case 1:
                pieces = [
                    one async for one in models.stream(owner, request(text, level))
                ]
                assert "".join(one for one in pieces if isinstance(one, str)) == text
            case 2:
                await models.items(owner, request(text, level, "bulk"), Fact)
            case 3:
                await vectors.passages(
                    ["nothing at all", text], vectors.models[0], origin=origin
                )
            case 4:
                await agent(models, owner, request(text, level)).run(text)
            case _:
                await vectors.rerank("who?", ["nothing at all", text], origin=origin)
    except (errors.Unavailable, errors.Confined, errors.Invalid) as failure:
        return type(failure).__name__
    return "done"


def agent(
    models: chat.Models, owner: callers.Caller, asked: chat.ChatRequest
) -> pydantic_ai.Agent:
    return pydantic_ai.Agent(agents.model(models, owner, asked), instructions="Answer.")


async def everything(
    models: chat.Models,
    vectors: embedding.Embeddings,
    owner: callers.Caller,
    texts: list[str],
) -> Counter[str]:
    found: Counter[str] = Counter()
    for start in range(0, len(texts), 20):
        bit = texts[start : start + 20]
        found.update(
            await asyncio.gather(
                *(
                    tried(models, vectors, owner, text, start + i)
                    for i, text in enumerate(bit)
                )
            )
        )
    return found


async def test_not_a_byte_of_what_is_critical(
    database: db.Database,
    owner: callers.Caller,
    stub: model_server.Server,
    models: chat.Models,
    vectors: embedding.Embeddings,
) -> None:
    texts = [plants.critical(number) for number in range(CRITICAL)]
    found = await everything(models, vectors, owner, texts)
    assert set(found) <= {"Confined", "RerankerUnavailable"}
    assert not stub.asked
    logged = await rows(database, owner)
    assert len(logged) == CRITICAL
    assert {(row["action"], row["outcome"]) for row in logged} == {
        ("blocked", "refused")
    }


@pytest.mark.parametrize(
    "count", [VALUES, pytest.param(10_000, marks=pytest.mark.soak)]
)
async def test_not_a_value_that_was_planted(
    database: db.Database,
    owner: callers.Caller,
    stub: model_server.Server,
    models: chat.Models,
    vectors: embedding.Embeddings,
    count: int,
) -> None:
    """By every way out, whatever the cloud answers: no value leaves, every answer comes
    back whole.
    """
    people = plants.names(PEOPLE * count // VALUES)
    async with database.transaction(owner) as tx:
        for name in people:
            await base.create(tx, owner, contacts.CONTACTS, {"display_name": name})
    given = list(plants.planted(count, people))
    found = await everything(models, vectors, owner, [one.text for one in given])
    assert found["done"] > len(given) // 3
    sent: dict[str, bytes] = {}
    for one in stub.asked:
        marks = set(re.findall(rb"marker[a-j]{5}", one.raw))
        assert len(marks) == 1, one.raw
        mark = marks.pop().decode()
        sent[mark] = (
            sent.get(mark, b"")
            + one.raw
            + re.sub(rb"(?<=\w)[ .\-]+(?=\w)", b"", one.raw)
        )
    leaked = [
        value
        for one in given
        for value in one.values
        if any(spelling in sent.get(one.mark, b"") for spelling in spellings(value))
    ]
    assert not leaked
    logged = await rows(database, owner)
    assert len(logged) == len(stub.asked)
    assert {row["action"] for row in logged} == {"sent_pseudonymised"}
    written = json.dumps(logged, default=str)
    assert "marker" not in written
    assert not [value for one in given for value in one.values if value in written]


OTHER_LANGUAGES = (
    "Jag har fått veta att jag har sockersjuka.",
    "Cukorbeteg vagyok és inzulint kapok.",
    "Έχω διαβήτη και παίρνω ινσουλίνη.",
    "私は糖尿病です。",
    "أعاني من مرض السكري",
    "The dinner is at eight.\n\nAm o boală de inimă și iau medicamente.",
)


async def test_not_a_byte_of_the_special_categories(
    database: db.Database,
    owner: callers.Caller,
    stub: model_server.Server,
    models: chat.Models,
    vectors: embedding.Embeddings,
) -> None:
    """By every way out, in thirteen languages; and nothing in a language whose words
    are not known.
    """
    texts = [*plants.special(), *OTHER_LANGUAGES]
    for shift in range(2):
        found = await everything(models, vectors, owner, texts[shift:])
        assert set(found) <= {"Confined", "RerankerUnavailable"}
    assert not stub.asked
    assert {row["outcome"] for row in await rows(database, owner)} == {"refused"}


async def test_the_owner_lets_other_languages_go(
    database: db.Database, owner: callers.Caller, stub: model_server.Server
) -> None:
    text = OTHER_LANGUAGES[0]
    given = {**settings_of(stub.url, local=False, timeout_s=60), "retries": 5}
    settings = config.Model.model_validate(given)
    closed = chat.Models(
        settings, gateway.Gateway(database, gateway.GatewaySettings(KEY))
    )
    with pytest.raises(errors.Confined, match="language") as refused:
        await closed.ask(owner, request(text, chat.Level.NORMAL))
    assert "unknown_languages = true" in refused.value.hint
    assert not stub.asked
    allowed = gateway.GatewaySettings(KEY, unknown_languages=True)
    opened = chat.Models(settings, gateway.Gateway(database, allowed))
    answer = await opened.ask(owner, request(text, chat.Level.NORMAL))
    assert answer.text == text


async def test_a_model_here_gets_other_languages(
    database: db.Database, owner: callers.Caller, stub: model_server.Server
) -> None:
    given = {**settings_of(stub.url, local=True, timeout_s=60), "retries": 5}
    settings = config.Model.model_validate(given)
    here = chat.Models(
        settings, gateway.Gateway(database, gateway.GatewaySettings(KEY))
    )
    answer = await here.ask(owner, request(OTHER_LANGUAGES[0], chat.Level.NORMAL))
    assert answer.text == OTHER_LANGUAGES[0]


async def test_vectors_elsewhere_want_to_know_who_asks(
    vectors: embedding.Embeddings, stub: model_server.Server
) -> None:
    with pytest.raises(errors.Confined):
        await vectors.passages(["roses"], vectors.models[0])
    with pytest.raises(errors.EmbedderUnavailable):
        await vectors.query("roses", vectors.models[0])
    with pytest.raises(errors.RerankerUnavailable):
        await vectors.rerank("roses", ["roses"])
    assert not stub.asked
