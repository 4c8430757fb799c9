"""fastembed from a folder: the real package, a model of five words, no network. And
what is said without it.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from reverie import config, errors
from reverie.llm import embedding
from tests.llm import tiny_onnx

installed = pytest.mark.skipif(
    importlib.util.find_spec("fastembed") is None,
    reason="the optional package fastembed is not installed",
)
WORDS = {
    "cat": (4.0, 0.0, 3.0),
    "kitten": (4.0, 1.0, 3.0),
    "car": (0.0, 5.0, 0.0),
    "query": (0, 0, 9.0),
}


def opened(model: Path | str, **more: object) -> embedding.Embeddings:
    settings = {"provider": "fastembed", "model": str(model), **more}
    return embedding.Embeddings(config.Embedding.model_validate(settings))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_onnx.embedder(tmp_path / "tiny", WORDS)
    return tmp_path / "tiny"


@installed
async def test_a_model_in_a_folder(folder: Path) -> None:
    embeddings = opened(folder)
    assert embeddings.model.startswith("tiny-")
    assert embeddings.model.endswith("@fastembed")
    passages = await embeddings.passages(["cat", "car", "a Cat, a cat"])
    assert passages.shape == (3, 3)
    assert np.allclose(np.linalg.norm(passages, axis=1), 1)
    asked = np.array((await embeddings.query("kitten")).values)
    assert (passages @ asked).argmax() == 0
    assert passages[0] @ asked > 0.98 > 0.2 > passages[1] @ asked
    embeddings.close()


@installed
async def test_shortened_and_named_so(folder: Path) -> None:
    embeddings = opened(folder, dimensions=2, version="mine", pooling="cls")
    assert embeddings.model.endswith("@fastembed-cls/mine/2d")
    assert np.allclose(await embeddings.passages(["cat car"]), [[1, 0]])
    with pytest.raises(errors.EmbedderUnavailable, match="length 3, not of 4"):
        await opened(folder, dimensions=4).passages(["cat"])


@installed
async def test_e5_gets_its_prefixes_and_other_weights_another_name(
    tmp_path: Path,
) -> None:
    tiny_onnx.embedder(tmp_path / "e5-a", WORDS)
    embeddings = opened(tmp_path / "e5-a")
    # `query: cat` holds the word query, `passage: cat` one that is not in the
    # vocabulary.
    asked, kept = (
        np.array((await embeddings.query("cat")).values),
        (await embeddings.passages(["cat"]))[0],
    )
    assert np.allclose(kept, (0.8, 0, 0.6))
    assert asked[2] > 0.9
    tiny_onnx.embedder(tmp_path / "b" / "e5-a", WORDS | {"car": (0.0, 4.0, 0.0)})
    assert opened(tmp_path / "b" / "e5-a").model != embeddings.model


@installed
async def test_a_broken_model_is_one_that_is_away(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(errors.EmbedderUnavailable, match="does not run"):
        await opened(folder).passages(["cat"])


@installed
def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(errors.Misconfigured, match="There is no model in"):
        opened(tmp_path / "nowhere")


@installed
async def test_a_cross_encoder_in_a_folder(tmp_path: Path) -> None:
    tiny_onnx.cross_encoder(tmp_path / "judge", {"cat": 2.0, "car": -3.0, "pet": 1.0})
    settings = config.RerankerModel(provider="fastembed", model=str(tmp_path / "judge"))
    embeddings = embedding.Embeddings(config.Embedding(provider="none"), settings)
    assert embeddings.reranks
    found = await embeddings.rerank("pet", ["car", "cat", "nothing"])
    assert np.allclose(found, 1 / (1 + np.exp([2.0, -3.0, -1.0])), atol=1e-6)
    embeddings.close()
    (tmp_path / "judge" / "tokenizer.json").write_text("{}")
    with pytest.raises(errors.RerankerUnavailable, match="does not run"):
        await embedding.Embeddings(config.Embedding(provider="none"), settings).rerank(
            "pet", ["cat"]
        )


def test_without_the_package_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        errors.Misconfigured, match="`fastembed` is not installed"
    ) as told:
        opened(folder)
    assert told.value.hint == "Install it: `pip install 'reverie[fastembed]'`."
    with pytest.raises(errors.Misconfigured, match="`fastembed` is not installed"):
        embedding.Embeddings(
            config.Embedding(), config.RerankerModel(provider="fastembed", model="x")
        )
