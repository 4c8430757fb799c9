"""Servers of models: what is sent to each kind, what comes of their answers and
refusals. The servers are recorded.
"""

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest

from reverie import config, errors
from reverie.llm import embedding
from tests.llm import model_server

VECTOR = [3.0, 4.0, 12.0]


def openai(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, {
        "data": [{"index": i, "embedding": VECTOR} for i, _ in enumerate(body["input"])]
    }


def ollama(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"model": body["model"], "embeddings": [VECTOR for _ in body["input"]]}


def opened(server: model_server.Server, **more: object) -> embedding.Embeddings:
    settings = {
        "provider": "openai",
        "base_url": f"{server.url}/v1",
        "model": "m",
        "timeout_s": 5,
        **more,
    }
    return embedding.Embeddings(config.Embedding.model_validate(settings))


async def test_openai() -> None:
    with model_server.serving(openai) as server:
        embeddings = opened(server, api_key="secret")
        assert embeddings.model == "m@openai"
        assert np.allclose(
            await embeddings.passages(["a", "b"]), [np.array(VECTOR) / 13] * 2
        )
        assert np.allclose((await embeddings.query("q")).values, np.array(VECTOR) / 13)
        assert [(one.path, one.authorization, one.body) for one in server.asked] == [
            ("/v1/embeddings", "Bearer secret", {"model": "m", "input": ["a", "b"]}),
            ("/v1/embeddings", "Bearer secret", {"model": "m", "input": ["q"]}),
        ]


async def test_ollama() -> None:
    with model_server.serving(ollama) as server:
        embeddings = opened(
            server, provider="ollama", base_url=server.url, dimensions=2, version="v2"
        )
        assert embeddings.model == "m@ollama/v2/2d"
        assert np.allclose(await embeddings.passages(["a"]), [[0.6, 0.8]])
        assert [(one.path, one.authorization, one.body) for one in server.asked] == [
            (
                "/api/embed",
                "",
                {"model": "m", "input": ["a"], "truncate": True, "dimensions": 2},
            )
        ]
        server.answer = lambda _: (404, {"error": "model not found"})
        with pytest.raises(errors.EmbedderUnavailable, match="answered 404") as told:
            await embeddings.passages(["a"])
        assert told.value.hint == "Try `ollama pull m`."


def test_ollama_is_on_this_machine_unless_told_otherwise() -> None:
    assert (
        embedding.Embeddings(config.Embedding(provider="ollama", model="m")).model
        == "m@ollama"
    )


@pytest.mark.parametrize("provider", ["openai", "ollama"])
async def test_e5_models_get_their_prefixes(provider: str) -> None:
    with model_server.serving(openai if provider == "openai" else ollama) as server:
        embeddings = opened(
            server, provider=provider, model="intfloat/multilingual-E5-large"
        )
        await embeddings.passages(["text"])
        await embeddings.query("question")
        assert [one.body["input"] for one in server.asked] == [
            ["passage: text"],
            ["query: question"],
        ]


async def test_a_server_that_does_not_shorten_is_asked_once() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return (
            (400, {"error": "no Matryoshka"}) if "dimensions" in body else openai(body)
        )

    with model_server.serving(answer) as server:
        embeddings = opened(server, dimensions=2)
        for _ in range(2):
            assert np.allclose(await embeddings.passages(["a"]), [[0.6, 0.8]])
        assert ["dimensions" in one.body for one in server.asked] == [
            True,
            False,
            False,
        ]


async def test_too_short_a_vector_is_told() -> None:
    with model_server.serving(openai) as server:
        with pytest.raises(
            errors.EmbedderUnavailable, match="length 3, not of 4"
        ) as told:
            await opened(server, dimensions=4).passages(["a"])
        assert told.value.hint == "Set `dimensions` to that or less."


@pytest.mark.parametrize(
    ("answer", "error", "sentence"),
    [
        ((500, {}), errors.EmbedderUnavailable, "The embedding server answered 500"),
        ((429, {}), errors.EmbedderUnavailable, "answered 429"),
        ((422, {}), errors.Invalid, "refused this text: it answered 422"),
        ((200, {"data": []}), errors.EmbedderUnavailable, "another shape"),
        (
            (200, {"data": [{"embedding": ["x"]}]}),
            errors.EmbedderUnavailable,
            "makes no sense",
        ),
        ((200, ["what"]), errors.EmbedderUnavailable, "makes no sense"),
        (
            (200, {"data": [{"embedding": [1, float("nan")]}]}),
            errors.EmbedderUnavailable,
            "another shape",
        ),
    ],
)
async def test_what_may_go_wrong(
    answer: tuple[int, Any], error: type[Exception], sentence: str
) -> None:
    with model_server.serving(lambda _: answer) as server:
        with pytest.raises(error, match=sentence):
            await opened(server).passages(["a"])
        with pytest.raises(errors.EmbedderUnavailable):
            await opened(server).query("a")


async def test_several_models_can_embed_a_question() -> None:
    with model_server.serving(openai) as one, model_server.serving(ollama) as two:
        previous = {"provider": "ollama", "base_url": two.url, "model": "old"}
        embeddings = opened(one, previous=previous)
        assert embeddings.models[:2] == ("m@openai", "old@ollama")
        assert embeddings.models[2].startswith("multilingual-e5-small/")
        assert (await embeddings.query("q", "old@ollama")).model == "old@ollama"
        assert [len(one.asked), len(two.asked)] == [0, 1]
        assert (
            await embeddings.query("q", embeddings.models[2])
        ).calibration.floor == embedding.FLOOR
        with pytest.raises(
            errors.EmbedderUnavailable, match="another is not configured"
        ):
            await embeddings.query("q", "another")
        # Most vectors first; the present one before its equals, and when only a few
        # refused texts are between them.
        new, old, builtin = embeddings.models
        assert embeddings.by_coverage({}) == [new]
        assert embeddings.by_coverage({new: 5, old: 9, builtin: 7, "gone": 99}) == [
            old,
            builtin,
            new,
        ]
        assert embeddings.by_coverage({new: 9, old: 9}) == [new, old]
        assert embeddings.by_coverage({new: 995, old: 1000}) == [new, old]
        embeddings.close()


async def test_without_a_model_there_is_none() -> None:
    none = embedding.Embeddings(config.Embedding(provider="none"))
    assert (none.models, none.model, none.reranks) == ((), "", False)
    with pytest.raises(
        errors.EmbedderUnavailable, match="No embedding model is configured"
    ):
        await none.query("q")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"provider": "openai", "model": "m"},
            "The embedding provider `openai` needs `base_url`",
        ),
        (
            {"provider": "openai", "base_url": "http://x"},
            "The embedding provider `openai` needs `model`",
        ),
        ({"provider": "ollama"}, "The embedding provider `ollama` needs `model`"),
        ({"provider": "openai", "base_url": "x", "model": "m"}, "must begin with http"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(errors.Misconfigured, match=sentence):
        embedding.Embeddings(config.Embedding.model_validate(settings))


def reranker(server: model_server.Server, **more: Any) -> embedding.Embeddings:
    settings = config.RerankerModel(
        provider="openai",
        base_url=f"{server.url}/v1",
        model="judge",
        timeout_s=5,
        **more,
    )
    return embedding.Embeddings(config.Embedding(provider="none"), settings)


async def test_reranking() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        scores = [len(text) / 100 for text in body["documents"]]
        best_first = sorted(range(len(scores)), key=lambda i: -scores[i])
        return 200, {
            "results": [{"index": i, "relevance_score": scores[i]} for i in best_first]
        }

    with model_server.serving(answer) as server:
        embeddings = reranker(server, api_key="secret")
        assert embeddings.reranks
        assert embeddings.top == 20
        assert await embeddings.rerank("q", ["aaa", "a", "aaaaa"]) == [0.03, 0.01, 0.05]
        assert await embeddings.rerank("q", []) == []
        (asked,) = server.asked
        assert (asked.path, asked.authorization) == ("/v1/rerank", "Bearer secret")
        assert asked.body == {
            "model": "judge",
            "query": "q",
            "documents": ["aaa", "a", "aaaaa"],
            "top_n": 3,
        }
        embeddings.close()


async def test_logits_become_shares_and_stay_logits() -> None:
    logits = iter([[-2.0, 3.0], [0.5, 0.25]])

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return 200, {
            "results": [
                {"index": i, "relevance_score": one}
                for i, one in enumerate(next(logits))
            ]
        }

    with model_server.serving(answer) as server:
        embeddings = reranker(server)
        assert np.allclose(
            await embeddings.rerank("q", ["a", "b"]), [0.1192029, 0.9525741]
        )
        assert np.allclose(
            await embeddings.rerank("q", ["a", "b"]), [0.6224593, 0.5621765]
        )


async def test_a_server_of_teis_kind() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if "texts" not in body:
            return 422, {"error": "missing field `texts`"}
        return 200, [{"index": 1, "score": 0.75}, {"index": 0, "score": 0.5}]

    with model_server.serving(answer) as server:
        embeddings = reranker(server)
        for _ in range(2):
            assert await embeddings.rerank("q", ["a", "b"]) == [0.5, 0.75]
        assert ["texts" in one.body for one in server.asked] == [False, True, True]


async def test_a_slow_reranker_is_not_waited_for() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(0.5)
        return 200, {"results": []}

    with model_server.serving(answer) as server:
        settings = config.RerankerModel(
            provider="openai", base_url=server.url, model="judge", timeout_s=0.1
        )
        embeddings = embedding.Embeddings(config.Embedding(provider="none"), settings)
        with pytest.raises(
            errors.RerankerUnavailable,
            match=r"takes longer than 0\.1 s|does not answer",
        ):
            await embeddings.rerank("q", ["a"])


async def test_a_question_does_not_wait_for_a_batch() -> None:
    busy, done = threading.Event(), threading.Event()

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if body["input"] == ["passage"]:
            busy.set()
            assert done.wait(10)
        return openai(body)

    with model_server.serving(answer) as server:
        embeddings = opened(server)
        batch = asyncio.create_task(embeddings.passages(["passage"]))
        assert await asyncio.to_thread(busy.wait, 10)
        await embeddings.query("q")
        done.set()
        assert len(await batch) == 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((503, {}), "The reranking server answered 503"),
        ((400, {}), "refused this text"),
        ((200, {"results": [{"index": 0, "relevance_score": 1}]}), "makes no sense"),
        ((200, {"results": [{"index": 0}, {"index": 1}]}), "makes no sense"),
        ((200, "what"), "makes no sense"),
        (
            (
                200,
                {
                    "results": [
                        {"index": i, "relevance_score": float("nan")} for i in (0, 1)
                    ]
                },
            ),
            "not a number",
        ),
    ],
)
async def test_a_reranker_that_fails(answer: tuple[int, Any], sentence: str) -> None:
    with model_server.serving(lambda _: answer) as server:
        embeddings = reranker(server)
        with pytest.raises(errors.RerankerUnavailable, match=sentence):
            await embeddings.rerank("q", ["a", "b"])
    with pytest.raises(
        errors.RerankerUnavailable, match="The reranking server does not answer"
    ):
        await embeddings.rerank("q", ["a", "b"])
    with pytest.raises(errors.RerankerUnavailable, match="No reranker is configured"):
        await embedding.Embeddings(config.Embedding(provider="none")).rerank("q", ["a"])
    with pytest.raises(
        errors.Misconfigured, match="The reranker provider `openai` needs `base_url`"
    ):
        embedding.Embeddings(
            config.Embedding(), config.RerankerModel(provider="openai", model="m")
        )
