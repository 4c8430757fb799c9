"""What a model client offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a model's similarities mean: below `floor`, two texts have nothing to do with each other."""

    floor: float


@dataclass(frozen=True, slots=True)
class Projection:
    """Takes a mean and some unit axes out of vectors: shapes (dimensions,) and (axes, dimensions)."""

    mean: NDArray[np.float32]
    axes: Vectors

    @staticmethod
    def of(numbers: Mapping[str, Sequence[float] | Sequence[Sequence[float]]]) -> "Projection":
        """From plain numbers under `mean` and `axes`."""
        return Projection(np.asarray(numbers["mean"], np.float32), np.asarray(numbers["axes"], np.float32))

    def apply(self, vectors: Vectors) -> Vectors:
        """Shape (n, dimensions) in and out, unit length; a vector with nothing left becomes zero."""
        centred = np.nan_to_num(vectors) - self.mean
        freed = centred - (centred @ self.axes.T) @ self.axes
        lengths = np.linalg.norm(freed, axis=1, keepdims=True)
        return (freed / np.where(lengths == 0, 1, lengths)).astype(np.float32)


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
