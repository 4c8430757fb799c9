"""What a client of embedding models and rerankers offers, and its calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reverie import errors

Vectors = NDArray[np.float32]

LETTERS = 600
"""What a model in this process gets in one call: two short passages or a long one. More
at a time are no faster.
"""


@dataclass(frozen=True, slots=True)
class LanguageMeans:
    """The mean vector of each language's sentences, shape (languages, dimensions)."""

    means: Vectors

    def without(self, vectors: Vectors) -> Vectors:
        """Vectors less the mean of their language, which is the nearest one: shape (n,
        dimensions), unit length.

        What a model cannot embed (NaN) becomes a vector of zeros, which is near to
        nothing.
        """
        centre = self.means.mean(axis=0)
        directions = self.means - centre
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        directions = directions / np.where(lengths == 0, 1, lengths)
        language = np.argmax((vectors - centre) @ directions.T, axis=1)
        return unit(vectors - self.means[language])


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a model's similarities mean: below `floor`, two texts have nothing to do
    with each other.

    `scale` stretches what is above it to the range of the built-in model, so that one
    set of weights holds for every model; `spread` is how far unrelated texts scatter.
    `means`: a question loses the mean of its language first.
    """

    floor: float
    scale: float = 1.0
    spread: float = 0.0
    means: LanguageMeans | None = None


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model wants before a question and before a passage."""

    query: str = ""
    passage: str = ""


class Embedder(Protocol):
    """Text to unit vectors. Both calls block; they raise EmbedderUnavailable when the
    model is not there.
    """

    @property
    def name(self) -> str:
        """Model, provider, version and length: vectors of different names are never
        compared.
        """
        ...

    @property
    def calibration(self) -> Calibration | None:
        """What its similarities mean, if that is known beforehand."""
        ...

    @property
    def places(self) -> int:
        """How many calls it takes at a time."""
        ...

    @property
    def letters(self) -> int:
        """How many letters make a call, 0 for any number: what is in flight cannot be
        stopped, so it is kept short.
        """
        ...

    @property
    def at_once(self) -> int:
        """How many letters it embeds best together when much waits, 0 for as many texts
        as are configured.
        """
        ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), float32, unit length."""
        ...

    def queries(self, texts: Sequence[str]) -> Vectors:
        """The same for questions."""
        ...


class Reranker(Protocol):
    """How well each text answers a question. Blocks; raises RerankerUnavailable when
    the model is not there.
    """

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in their order, from 0 to 1."""
        ...


def unit(vectors: Vectors) -> Vectors:
    """Vectors at unit length; what is not a number, or nothing at all, becomes zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.nan_to_num(vectors / np.where(lengths == 0, 1, lengths)).astype(
        np.float32
    )


def shortened(vectors: Vectors, dimensions: int) -> Vectors:
    """The first `dimensions` numbers of each vector (0: all) at unit length: what
    Matryoshka models are made for.
    """
    if dimensions > vectors.shape[1]:
        raise errors.EmbedderUnavailable(
            f"The model gives vectors of length {vectors.shape[1]}, not of {dimensions}.",
            hint="Set `dimensions` to that or less.",
        )
    return unit(vectors[:, :dimensions] if dimensions else vectors)


def named(model: str, *, version: str, dimensions: int) -> str:
    """The name that vectors bear: `model@provider`, the version if it is known, the
    length if it was shortened.
    """
    return "/".join(
        [
            model,
            *([version] if version else []),
            *([f"{dimensions}d"] if dimensions else []),
        ]
    )


def prefixes(model: str) -> Prefixes:
    """What the model wants before its texts: E5 was trained with these words and is
    worse without them.
    """
    return Prefixes("query: ", "passage: ") if "e5" in model.lower() else Prefixes()


def probabilities(scores: Sequence[float]) -> list[float]:
    """Scores of any sign (logits) as shares from 0 to 1, in the same order."""
    return [
        float(share)
        for share in 0.5 * (1 + np.tanh(np.asarray(scores, np.float64) / 2))
    ]
