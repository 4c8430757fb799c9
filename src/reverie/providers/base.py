"""What a model client offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a model's similarities mean: below `floor`, two texts have nothing to do with each other."""

    floor: float


class Embedder(Protocol):
    """Text to unit vectors. Both calls block; they raise EmbedderUnavailable when the model is not there."""

    @property
    def name(self) -> str:
        """Model and version: vectors of different names are never compared."""
        ...

    @property
    def calibration(self) -> Calibration: ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), float32, unit length."""
        ...

    def query(self, text: str) -> NDArray[np.float32]:
        """Shape (dimensions,), float32, unit length."""
        ...
