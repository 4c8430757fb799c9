"""A cited answer: from a model on this machine, from a cloud, and from none."""

from collections.abc import Iterator
from typing import Any

import pytest
import pytest_asyncio

from reverie import config, db
from reverie.access import callers
from reverie.chat import answers
from reverie.llm import embedding
from reverie.records import base, catalogue
from tests.llm import model_server, vendors
from tests.llm.conftest import Opened, rows, settings_of

KEPT = (
    (
        "note",
        {
            "title": "Boiler",
            "content": "The boiler was repaired by Ottokar, call 612 34 56 78 about the pump.",
        },
    ),
    (
        "note",
        {
            "title": "Boiler manual",
            "content": "The boiler wants water at one and a half bar.",
        },
    ),
    (
        "note",
        {
            "title": "Doctor",
            "content": "The boiler made the asthma worse, said the doctor.",
        },
    ),
)


@pytest.fixture
def words() -> Iterator[embedding.Embeddings]:
    made = embedding.Embeddings(config.Embedding(provider="none"))
    yield made
    made.close()


@pytest_asyncio.fixture(autouse=True)
async def kept(database: db.Database, owner: callers.Caller) -> None:
    async with database.transaction(owner) as tx:
        for domain, body in KEPT:
            await base.create(tx, owner, catalogue.domain(domain), body)


async def asked(
    database: db.Database,
    owner: callers.Caller,
    words: embedding.Embeddings,
    models: Any,
    question: str = "boiler",
) -> tuple[str, answers.CitedAnswer]:
    heard = ""
    async for piece in answers.answer(database, owner, words, models, question):
        if isinstance(piece, answers.CitedAnswer):
            return heard, piece
        heard += piece
    raise AssertionError("no end")


async def test_a_model_here_reads_everything(
    database: db.Database,
    owner: callers.Caller,
    words: embedding.Embeddings,
    opened: Opened,
) -> None:
    with model_server.serving(
        vendors.saying("One and a half bar [2], says Ottokar [1][9].")
    ) as server:
        heard, made = await asked(
            database, owner, words, opened(settings_of(server.url))
        )
        sent = server.asked[0].raw.decode()
    assert heard == made.text == "One and a half bar [2], says Ottokar [1][9]."
    assert made.cited == (2, 1)
    assert (made.action, made.kept, len(made.sources)) == ("local", 0, 3)
    assert "612 34 56 78" in sent
    assert "asthma" in sent
    assert [one.hit.title in sent for one in made.sources] == [True] * 3
    log = await rows(database, owner)
    assert [(row["feature"], row["action"], row["level"]) for row in log] == [
        ("chat.answer", "local", "critical")
    ]


async def test_a_cloud_gets_what_it_may_have(
    database: db.Database,
    owner: callers.Caller,
    words: embedding.Embeddings,
    opened: Opened,
) -> None:
    with model_server.serving(vendors.echo) as server:
        heard, made = await asked(
            database, owner, words, opened(settings_of(server.url, local=False))
        )
        sent = server.asked[0].raw.decode()
    assert "asthma" not in sent
    assert "612 34 56 78" not in sent
    assert "612 34 56 78" in heard  # an echo, restored
    assert (made.action, made.kept) == ("sent_pseudonymised", 1)
    assert [row["action"] for row in await rows(database, owner)] == [
        "blocked",
        "sent_pseudonymised",
    ]


async def test_a_critical_question_stays_here(
    database: db.Database,
    owner: callers.Caller,
    words: embedding.Embeddings,
    opened: Opened,
) -> None:
    with model_server.serving(vendors.echo) as server:
        models = opened(settings_of(server.url, local=False))
        heard, made = await asked(
            database, owner, words, models, "does the boiler worsen my asthma"
        )
        assert not server.asked
    assert (heard, made.text) == ("", "")
    assert "too private" in made.reason
    assert made.sources


@pytest.mark.parametrize("there", [False, True])
async def test_without_a_model_the_sources_speak(
    database: db.Database,
    owner: callers.Caller,
    words: embedding.Embeddings,
    opened: Opened,
    there: bool,
) -> None:
    """None is configured, or the one that is does not answer."""
    models = opened(settings_of("http://127.0.0.1:9")) if there else opened()
    _, made = await asked(database, owner, words, models)
    assert not made.text
    assert len(made.sources) == 3
    assert ("does not answer" if there else "A model would add") in made.reason


async def test_nothing_found_asks_nobody(
    database: db.Database,
    owner: callers.Caller,
    words: embedding.Embeddings,
    opened: Opened,
) -> None:
    with model_server.serving(vendors.echo) as server:
        _, made = await asked(
            database, owner, words, opened(settings_of(server.url)), "zygote"
        )
        assert not server.asked
    assert made.sources == ()
    assert made.search_results.reason
