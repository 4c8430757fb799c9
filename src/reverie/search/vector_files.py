"""Vector file: nearest neighbours in memory-mapped vectors, by principal components.

A scan of all vectors cut to their first principal components (PCA) finds candidates,
which are compared exactly. A file is made of the table `embedding`, holds vectors of
one user and one model, and never changes (docs/decisions/0028).
"""

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie.search import weights

T = TypeVar("T", bound=np.generic)
Floats = NDArray[np.float32]
Shorts = NDArray[np.int16]
Rows = NDArray[np.int64]

_HASH = 32  # SHA-256
# A number of a unit vector as an integer of 16 bits, which is as exact as half a float
# and read in a quarter of the time: 1.9 ms a question at 100,000 in place of 2.5.
_ONE = 32767
_KEY = np.dtype(">u8")
_BLOCK = 5_000
_SAMPLE = 20_000
_MOST_MAPPED = 32

_mapped: dict[Path, "VectorFile"] = {}


@dataclass(frozen=True, slots=True)
class VectorFile:
    """Vectors in the order of the hashes of their texts.

    `keys` are the first eight bytes of the hashes; `vectors` are in steps of 1 / 32,767;
    `reduced` are the vectors along the axes that are the columns of `components`.
    """

    hashes: NDArray[np.uint8]
    keys: NDArray[np.uint64]
    vectors: Shorts
    reduced: Floats
    components: Floats

    def nearest(self, vector: Floats, most: int) -> tuple[bytes, list[float]]:
        """The hashes of the texts nearest to a vector, one after another, and their
        inner products with it.
        """
        rough = self.reduced @ (vector @ self.components)
        rows = np.sort(_largest(rough, weights.COMPARED * most))
        exact = self._products(vector, rows)
        best = _largest(exact, most)
        return self.hashes[rows[best]].tobytes(), exact[best].tolist()

    def products(self, vector: Floats, keys: NDArray[np.uint64]) -> Floats:
        """The inner product of a vector with that of each text by its key; NaN where
        it is not here.
        """
        row = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        products = self._products(vector, row)
        return np.where(self.keys[row] == keys, products, np.float32(np.nan))

    def _products(self, vector: Floats, rows: Rows) -> Floats:
        whole: Floats = self.vectors[rows].astype(np.float32)
        return (whole @ vector / _ONE).astype(np.float32)


def keys_of(hashes: bytes) -> NDArray[np.uint64]:
    """The first eight bytes of each hash, one after another, as numbers."""
    return np.frombuffer(hashes, _KEY).astype(np.uint64)


def place_of(cache: Path, user_id: UUID, file: UUID) -> Path:
    """Where a file of a user lies: a folder with its columns."""
    return cache / "vectors" / str(user_id) / str(file)


def mapped(cache: Path | None, user_id: UUID, file: UUID | None) -> VectorFile | None:
    """A file of a user, if it is on this machine."""
    if cache is None or file is None:
        return None
    place = place_of(cache, user_id, file)
    if place not in _mapped:
        if not place.exists():
            return None
        _mapped[place] = _opened(place)
        while len(_mapped) > _MOST_MAPPED:
            _mapped.pop(next(iter(_mapped)))
    return _mapped[place]


def add(place: Path, hashes: bytes, vectors: Floats) -> None:
    """Add unit vectors to a file that is being made, in the order of their hashes."""
    shorts = np.rint(np.clip(vectors, -1, 1) * _ONE).astype(np.int16)
    for name, column in (("hashes", hashes), ("vectors", shorts.tobytes())):
        with (place / name).open("ab") as file:
            file.write(column)


def finish(place: Path, dimensions: int) -> None:
    """Find the principal components of all vectors, and cut them to these."""
    vectors = _column(place, "vectors", np.int16, dimensions)
    sample = vectors[:: len(vectors) // _SAMPLE + 1].astype(np.float32)
    axes = np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
    kept = max(weights.LEAST_COMPONENTS, dimensions // weights.DIMENSIONS_A_COMPONENT)
    components = np.ascontiguousarray(axes[:, :kept], np.float32)
    with (place / "reduced").open("wb") as file:
        for start in range(0, len(vectors), _BLOCK):
            block = vectors[start : start + _BLOCK].astype(np.float32) / _ONE
            file.write((block @ components).astype(np.float32).tobytes())
    np.save(place / "components.npy", components)


def drop_others(cache: Path, user_id: UUID, kept: Collection[UUID]) -> None:
    """Remove the files of a user but for some. Who has them mapped goes on with them."""
    names = {str(file) for file in kept}
    folder = cache / "vectors" / str(user_id)
    for place in folder.iterdir() if folder.exists() else ():
        if place.name not in names:
            _mapped.pop(place, None)
            shutil.rmtree(place, ignore_errors=True)


def _opened(place: Path) -> VectorFile:
    components: Floats = np.load(place / "components.npy")
    dimensions, kept = components.shape
    hashes = _column(place, "hashes", np.uint8, _HASH)
    return VectorFile(
        hashes,
        keys_of(hashes[:, : _KEY.itemsize].tobytes()),
        _column(place, "vectors", np.int16, dimensions),
        _column(place, "reduced", np.float32, kept),
        components,
    )


def _column(place: Path, name: str, dtype: type[T], width: int) -> NDArray[T]:
    return np.memmap(place / name, dtype, "r").reshape(-1, width).view(np.ndarray)


def _largest(values: NDArray[Any], most: int) -> Rows:
    """The places of the largest values, in any order."""
    if len(values) <= most:
        return np.arange(len(values))
    return np.argpartition(values, len(values) - most)[-most:]
