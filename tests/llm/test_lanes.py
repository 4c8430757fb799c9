"""Whose turn it is at a model that embeds: questions never wait for what is queued,
only for what is in flight.
"""

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest

from reverie import config, errors
from reverie.llm import embedding
from reverie.providers import lanes
from tests.llm import model_server


def one_place() -> lanes.Threads:
    return lanes.Threads(1, "test", errors.EmbedderUnavailable)


async def until_waiting(threads: lanes.Threads, number: int) -> None:
    while threads.turns.waiting < number:  # noqa: ASYNC110 - those who wait tell nobody
        await asyncio.sleep(0)


async def test_a_question_waits_for_the_call_in_flight_alone() -> None:
    threads, heard = one_place(), list[str]()
    go = threading.Event()

    def call(name: str) -> None:
        assert go.wait(10)
        heard.append(name)

    bulk = [
        asyncio.create_task(threads.run("bulk", lambda n=n: call(f"bulk {n}")))
        for n in range(100)
    ]
    await until_waiting(threads, 99)
    late = asyncio.create_task(threads.run("realtime", lambda: call("just now")))
    question = asyncio.create_task(threads.run("query", lambda: call("question")))
    await until_waiting(threads, 101)
    go.set()
    await asyncio.gather(question, late, *bulk)
    assert heard == [
        "bulk 0",
        "question",
        "just now",
        *(f"bulk {n}" for n in range(1, 100)),
    ]
    threads.close()


@pytest.mark.parametrize("lane", ["realtime", "bulk"])
async def test_what_is_in_the_background_leaves_a_place_free(
    lane: embedding.Lane,
) -> None:
    threads = lanes.Threads(2, "test", errors.EmbedderUnavailable)
    go = threading.Event()
    background = [
        asyncio.create_task(threads.run(lane, lambda: go.wait(10))) for _ in range(3)
    ]
    await until_waiting(threads, 2)
    async with asyncio.timeout(30):
        assert await threads.run("query", lambda: "at once") == "at once"
    go.set()
    assert await asyncio.gather(*background) == [True] * 3
    threads.close()


async def test_a_place_is_taken_until_the_thread_is_done() -> None:
    threads = one_place()
    begun, go = threading.Event(), threading.Event()

    def stubborn() -> None:
        begun.set()
        assert go.wait(10)

    first = asyncio.create_task(threads.run("query", stubborn))
    assert await asyncio.to_thread(begun.wait, 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(30):
            await first  # its caller is let go at once
    bulk = asyncio.create_task(threads.run("bulk", lambda: "bulk"))
    question = asyncio.create_task(threads.run("query", lambda: "question"))
    await asyncio.sleep(0.05)
    assert threads.turns.waiting == 2
    go.set()
    assert await asyncio.gather(question, bulk) == ["question", "bulk"]
    threads.close()


async def test_who_gives_up_waiting_takes_no_place() -> None:
    threads = one_place()
    go = threading.Event()
    first = asyncio.create_task(threads.run("query", lambda: go.wait(10)))
    waits = asyncio.create_task(
        threads.run("query", lambda: pytest.fail("nobody waits for this"))
    )
    await until_waiting(threads, 1)
    waits.cancel()
    go.set()
    assert await first
    async with asyncio.timeout(30):
        assert await threads.run("bulk", lambda: 1) == 1
    threads.close()


async def test_a_call_that_fails_gives_its_place_back() -> None:
    threads = one_place()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await threads.run("query", lambda: 1 // 0)
    threads.close()


async def test_when_it_closes_those_who_wait_are_told() -> None:
    threads = one_place()
    go = threading.Event()
    first = asyncio.create_task(threads.run("query", lambda: go.wait(10)))
    waiting = [asyncio.create_task(threads.run("bulk", lambda: 1)) for _ in range(3)]
    await until_waiting(threads, 3)
    threads.close()
    go.set()
    assert await first
    told = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one) for one in told] == [errors.EmbedderUnavailable] * 3


async def test_background_work_goes_to_a_server_of_ours_in_bits_and_in_order() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(0.02)
        return 200, {
            "data": [
                {"embedding": [float(ord(text[0])), 1.0]} for text in body["input"]
            ]
        }

    texts = [letter * 1500 for letter in "abcdefg"]
    with model_server.serving(answer) as server:
        settings = {
            "provider": "openai",
            "base_url": f"{server.url}/v1",
            "model": "m",
            "timeout_s": 5,
        }
        embeddings = embedding.Embeddings(config.Embedding.model_validate(settings))
        first = asyncio.create_task(embeddings.passages(texts[:5]))
        second = asyncio.create_task(embeddings.passages(texts[5:]))
        vectors = np.concatenate(await asyncio.gather(first, second))
        heard = ["".join(text[0] for text in one.body["input"]) for one in server.asked]
        assert heard == ["ab", "cd", "e", "fg"]  # who began goes on, though others wait
        assert np.allclose(
            vectors[:, 0] / vectors[:, 1], [ord(letter) for letter in "abcdefg"]
        )
        embeddings.close()


async def test_the_models_vectors_are_the_same_in_any_company() -> None:
    embeddings = embedding.Embeddings(config.Embedding())
    texts = [
        f"The heron stood in the river for {n} hours. " * (n % 5 + 1) for n in range(12)
    ]
    alone = np.concatenate([await embeddings.passages([text]) for text in texts])
    question = (await embeddings.query("Where did the heron stand?")).values
    together = asyncio.create_task(embeddings.passages(texts))
    asked = 0
    while not together.done():
        assert (await embeddings.query("Where did the heron stand?")).values == question
        asked += 1
    assert asked > 1
    assert np.allclose(await together, alone, atol=1e-5)
    embeddings.close()


@pytest.mark.parametrize("how", ["cancelled", "failed", "cancelled while waiting"])
async def test_a_series_that_stops_gives_its_place_back(how: str) -> None:
    threads = one_place()
    go = threading.Event()

    def second() -> None:
        if how == "failed":
            raise ZeroDivisionError
        assert go.wait(10)

    series = asyncio.create_task(
        threads.each(
            "bulk", [lambda: None, second, lambda: pytest.fail("it was stopped")]
        )
    )
    if how != "failed":
        await asyncio.sleep(0.05)  # it is in its second call
        if how == "cancelled while waiting":
            question = asyncio.create_task(threads.run("query", second))
            await until_waiting(threads, 1)
            series.cancel()
            await asyncio.sleep(0)
            go.set()
            await question
        series.cancel()
    go.set()
    with pytest.raises((asyncio.CancelledError, ZeroDivisionError)):
        await series
    for _ in range(3):
        async with asyncio.timeout(30):
            assert await threads.run("bulk", lambda: 1) == 1
    assert threads.turns.waiting == 0
    threads.close()
