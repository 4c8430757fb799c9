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


@dataclass(frozen=True, slots=True)
class LanguageMeans:
    """The mean vector of each language's sentences, shape (languages, dimensions)."""

    means: Vectors

    def without(self, vectors: Vectors) -> Vectors:
        """Vectors less the mean of their language, which is the nearest one: shape (n, dimensions), unit length.

        What a model cannot embed (NaN) becomes a vector of zeros, which is near to nothing.
        """
        centre = self.means.mean(axis=0)
        directions = self.means - centre
        directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        language = np.argmax((vectors - centre) @ directions.T, axis=1)
        freed = vectors - self.means[language]
        lengths = np.linalg.norm(freed, axis=1, keepdims=True)
        return np.nan_to_num(freed / np.where(lengths == 0, 1, lengths)).astype(np.float32)


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
