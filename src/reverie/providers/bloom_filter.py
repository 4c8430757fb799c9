"""Bloom filter of words in a file that is mapped and not read: is a word known?

A word that was put in is always known; of others a few in a thousand are, too. The file
is a line of JSON with the parameters, spaces up to `_HEADER` bytes, and the bits.
"""

import hashlib
import json
import math
import mmap
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reverie import errors

_FORMAT = "reverie bloom filter 1: blake2b of 16 bytes, double hashing"
_HEADER = 1024
_BITS_A_WORD = 12
_WHOLE = 2**64 - 1


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """The bits of a file, mapped, and how many hashes a word has."""

    bits: mmap.mmap
    size: int
    hashes: int

    def __contains__(self, word: str) -> bool:
        first, step = _halves(word)
        for number in range(self.hashes):
            at = (first + number * step & _WHOLE) % self.size
            byte = self.bits[_HEADER + at // 8]
            if not byte >> at % 8 & 1:
                return False
        return True


def opened(path: Path) -> BloomFilter:
    """The filter of a file. Raises Damaged if the file is not what was built."""
    try:
        with path.open("rb") as file:
            bits = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header = json.loads(bits[:_HEADER])
        whole = header["format"] == _FORMAT
        whole = whole and len(bits) == _HEADER + header["bits"] // 8
        whole = whole and zlib.crc32(memoryview(bits)[_HEADER:]) == header["crc32"]
    except (OSError, ValueError, LookupError, TypeError):
        raise _damaged(path) from None
    if not whole:
        raise _damaged(path)
    return BloomFilter(bits, header["bits"], header["hashes"])


def built(words: Collection[str], about: Mapping[str, str]) -> bytes:
    """The file of some words, the same for the same words; `about` goes into its
    header.
    """
    size = math.ceil(len(words) * _BITS_A_WORD / 8) * 8
    hashes = round(_BITS_A_WORD * math.log(2))
    halves = np.array([_halves(word) for word in sorted(words)], np.uint64)
    bits = np.zeros(size, np.bool_)
    for number in range(hashes):
        bits[_positions(halves, number, size)] = True
    packed = np.packbits(bits, bitorder="little").tobytes()
    header: dict[str, Any] = {
        "format": _FORMAT,
        "words": len(words),
        "bits": size,
        "hashes": hashes,
        "crc32": zlib.crc32(packed),
        **about,
    }
    line = json.dumps(header).encode()
    return line.ljust(_HEADER - 1) + b"\n" + packed


def _positions(
    halves: NDArray[np.uint64], number: int, size: int
) -> NDArray[np.uint64]:
    """The bit that each word's hash of this number stands for."""
    with np.errstate(over="ignore"):
        mixed = halves[:, 0] + np.uint64(number) * halves[:, 1]
    return mixed % np.uint64(size)


def _halves(word: str) -> tuple[int, int]:
    """Two numbers of 64 bits that all hashes of a word are made of."""
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def _damaged(path: Path) -> errors.Damaged:
    return errors.Damaged(
        f"The list of known words ({path.name}) is missing or damaged.",
        hint="Install Reverie again.",
    )
