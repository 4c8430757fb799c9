"""The egress: a recording server is the only cloud, and every byte it got is searched for what must not be there."""

import asyncio
import base64
import importlib.util
import json
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pydantic
import pytest

from reverie import asking, config, db, door, errors, llm
from reverie.access import callers
from tests.llm import model_server, vendors
from tests.llm.conftest import KEY, rows, settings_of

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("reverie.privacy.detect") is None, reason="reverie.privacy.detect is not there yet"
)

CRITICAL = 500
PLANTED = 200


class Fact(pydantic.BaseModel):
    text: str


def critical(number: int) -> str:
    """Half of them say what they are, half are known for their record alone. Each has a word that nothing else has."""
    word = f"krit{number:04d}zzq"
    return f"The biopsy of {word} was clear." if number % 2 else f"{word} slept badly after the walk."


def planted() -> list[str]:
    return [f"person{number:04d}.zq@mail{number % 7}.example.org" for number in range(PLANTED)]


def spellings(value: str) -> Iterator[bytes]:
    """How a value could be written in what was sent."""
    for text in (value, value.lower(), value.upper(), value[::-1]):
        yield text.encode()
        yield text.encode("utf-16-le")
        yield urllib.parse.quote(text, safe="").encode()
        yield json.dumps(text)[1:-1].encode()
        for shift in range(3):  # base64, at whatever place it began
            yield base64.b64encode(b"x" * shift + text.encode())[4:-4]


@pytest.fixture
def stub() -> Iterator[model_server.Server]:
    """Ill every fifth time, and a cut answer every seventh."""
    count = iter(range(1_000_000))

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        number = next(count)
        if number % 5 == 0:
            return (429, 500, 503)[number % 3], {}
        if "input" in body:
            return 200, {"data": [{"embedding": [1.0, float(number % 3), 2.0]} for _ in body["input"]]}
        if "documents" in body:
            scores = [{"index": i, "relevance_score": 0.5} for i in range(len(body["documents"]))]
            return 200, {"results": scores}
        if number % 7 == 0:
            return 200, b"data: {]\n\n"
        return vendors.echo(body)

    with model_server.serving(answer) as one:
        yield one


@pytest.fixture
def models(database: db.Database, stub: model_server.Server) -> asking.Models:
    one = settings_of(stub.url, local=False, concurrency=8)
    settings = config.Model.model_validate({**one, "retries": 1, "fallback": [{**one, "model": "second"}]})
    return asking.Models(settings, door.Door(database, door.Rules(KEY)))


@pytest.fixture
def vectors(database: db.Database, stub: model_server.Server) -> Iterator[llm.Embeddings]:
    given = {"provider": "openai", "base_url": f"{stub.url}/v1", "model": "m", "local": False}
    made = llm.Embeddings(
        config.Embedding.model_validate(given),
        config.Reranker.model_validate(given),
        opening=door.Door(database, door.Rules(KEY)),
    )
    yield made
    made.close()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_FIRST_WAIT_S", 0.001)


def request(text: str, level: asking.Level, lane: asking.Lane = "query") -> asking.Ask:
    return asking.Ask((asking.Message("user", text),), "egress", level=level, lane=lane, conversation=uuid4())


async def tried(models: asking.Models, vectors: llm.Embeddings, owner: callers.Caller, text: str, number: int) -> str:
    """One text, by one of the ways out; what became of it."""
    level = asking.Level.CRITICAL if text.startswith("krit") else asking.Level.NORMAL
    origin = llm.Origin(owner, "egress", level=level, lane="bulk")
    try:
        match number % 5:
            case 0:
                await models.ask(owner, request(text, level))
            case 1:
                _ = [one async for one in models.stream(owner, request(text, level))]
            case 2:
                await models.items(owner, request(text, level, "bulk"), Fact)
            case 3:
                await vectors.passages(["nothing at all", text], vectors.models[0], origin=origin)
            case _:
                await vectors.rerank("who?", ["nothing at all", text], origin=origin)
    except (errors.Unavailable, errors.Confined, errors.Invalid) as failure:
        return type(failure).__name__
    return "done"


async def everything(
    models: asking.Models, vectors: llm.Embeddings, owner: callers.Caller, texts: list[str]
) -> Counter[str]:
    found: Counter[str] = Counter()
    for start in range(0, len(texts), 20):
        bit = texts[start : start + 20]
        found.update(
            await asyncio.gather(*(tried(models, vectors, owner, text, start + i) for i, text in enumerate(bit)))
        )
    return found


async def test_not_a_byte_of_what_is_critical(
    database: db.Database,
    owner: callers.Caller,
    stub: model_server.Server,
    models: asking.Models,
    vectors: llm.Embeddings,
) -> None:
    texts = [critical(number) for number in range(CRITICAL)]
    found = await everything(models, vectors, owner, texts)
    assert set(found) <= {"Confined", "RerankerUnavailable"}
    assert not stub.asked
    logged = await rows(database, owner)
    assert len(logged) == CRITICAL
    assert {(row["action"], row["outcome"]) for row in logged} == {("blocked", "refused")}


async def test_not_a_value_that_was_planted(
    database: db.Database,
    owner: callers.Caller,
    stub: model_server.Server,
    models: asking.Models,
    vectors: llm.Embeddings,
) -> None:
    values = planted()
    texts = [f"Please write to {value} about the roses, number {number}." for number, value in enumerate(values)]
    found = await everything(models, vectors, owner, texts)
    assert found["done"] > PLANTED // 3
    sent = b"\n".join(one.raw for one in stub.asked)
    assert b"about the roses" in sent
    leaked = [value for value in values if any(spelling in sent for spelling in spellings(value))]
    assert not leaked
    logged = await rows(database, owner)
    assert len(logged) == len(stub.asked)
    assert {row["action"] for row in logged} == {"sent_pseudonymised"}
    written = json.dumps(logged, default=str)
    assert "roses" not in written
    assert not [value for value in values if value in written]


async def test_vectors_elsewhere_want_to_know_who_asks(vectors: llm.Embeddings, stub: model_server.Server) -> None:
    with pytest.raises(errors.Confined):
        await vectors.passages(["roses"], vectors.models[0])
    with pytest.raises(errors.EmbedderUnavailable):
        await vectors.query("roses", vectors.models[0])
    with pytest.raises(errors.RerankerUnavailable):
        await vectors.rerank("roses", ["roses"])
    assert not stub.asked
