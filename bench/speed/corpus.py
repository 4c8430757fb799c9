"""The generated life that search is timed on: texts by Zipf's law, a vector given for
each of them, and questions.

Everything follows from a seed and a number, so nothing has to be kept: not the texts,
not which record is which.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import config, errors
from reverie.llm import embedding
from reverie.providers import base
from reverie.records import passages

VOCABULARY = 100_000
DIMENSIONS = 384
PASSAGES_A_RECORD = 10
MODEL = "bench-given/384"
# Floor as the built-in model's.
CALIBRATION = base.Calibration(floor=0.08)
# English enough for the product to index stems, as it does of real text, and too few to
# weigh.
_FUNCTION_WORDS = "the of and to in that it with for was".split()  # noqa: SIM905
_FUNCTION_SHARE = 1 / 8
_SHORTEST, _LONGEST = 170, 285
_SPEAKERS = ("Ana", "Ben")
_KINDS = (
    "note",
    "note",
    "note",
    "note",
    "note",
    "chat",
    "chat",
    "chat",
    "file",
    "file",
)
_START = datetime(2020, 1, 1, tzinfo=UTC)

# The shape of the vectors: each is the sum of its topic's, its record's and its own,
# along axes of which the first weigh most, about a common mean. Chosen to look like
# 4,000 to 7,500 real e5 vectors of the built-in model: similarity to the nearest .80,
# the 10th .63, the 50th .48, anything .21 (sd .18), local dimension 14 (here .76, .63,
# .44, .17 (.15), 13).
TOPICS = 2_000
_TOPIC, _RECORD, _OWN, _MEAN = 0.6, 0.5, 0.62, 0.45
_DECAY = 0.9
# A question is its passage's vector plus as much noise: similarity to it about .75.
_QUESTION_NOISE = 0.9

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]
Halves = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Record:
    """One record, and its pieces: the passages that the product is to cut."""

    number: int
    id: UUID
    kind: str
    title: str
    pieces: Sequence[str]

    def values(self) -> dict[str, Any]:
        """What the product is given."""
        whole = "\n\n".join(self.pieces)
        if self.kind == "note":
            return {"title": self.title, "content": whole}
        if self.kind == "file":
            return {
                "name": self.title,
                "mime": "text/plain",
                "size": len(whole),
                "text": whole,
            }
        moment = _START + timedelta(minutes=7 * self.number)
        spoken = [piece.partition(": ") for piece in self.pieces]
        turns = [
            {"id": f"t{i}", "speaker": speaker, "at": moment.isoformat(), "text": text}
            for i, (speaker, _, text) in enumerate(spoken)
        ]
        return {"title": self.title, "started": moment, "turns": turns}

    def embedded(self) -> list[str]:
        """What the embedder reads of each passage."""
        return [passages.embedded_text(self.title, piece) for piece in self.pieces]


@dataclass(frozen=True, slots=True)
class Question:
    """Words to look for, and the vector of what is meant: near that of the passage in
    row `near`.
    """

    text: str
    near: int
    vector: NDArray[np.float32]


class Corpus:
    """So many passages of one user, the same for the same seed."""

    def __init__(self, passages_wanted: int, *, seed: int = 7) -> None:
        self.size = passages_wanted
        self.seed = seed
        random = np.random.default_rng(seed)
        sizes = random.integers(
            1, 2 * PASSAGES_A_RECORD, passages_wanted // PASSAGES_A_RECORD * 2 + 20
        )
        ends = np.cumsum(sizes)
        count = int(np.searchsorted(ends, passages_wanted)) + 1
        self._sizes = sizes[:count]
        self._sizes[-1] -= ends[count - 1] - passages_wanted
        self.records = count

    @cached_property
    def _speaker(self) -> "Speaker":
        return Speaker()

    def record(self, number: int, *, edition: int = 0) -> Record:
        """A record by its number. In another edition than 0 one of its passages says
        something else.
        """
        random = np.random.default_rng((self.seed, number))
        kind = _KINDS[int(random.integers(len(_KINDS)))]
        title = " ".join(
            self._speaker.words(random, int(random.integers(2, 5)))
        ).capitalize()
        pieces = [
            self._speaker.passage(random) for _ in range(int(self._sizes[number]))
        ]
        if edition:
            again = np.random.default_rng((self.seed, number, edition))
            pieces[int(again.integers(len(pieces)))] = self._speaker.passage(again)
        if kind == "chat":
            pieces = [f"{_SPEAKERS[i % 2]}: {piece}" for i, piece in enumerate(pieces)]
        return Record(number, self._id(number), kind, title, pieces)

    def all(self, first: int = 0) -> Iterator[Record]:
        """Every record, in order."""
        return (self.record(number) for number in range(first, self.records))

    def questions(self, count: int, rows: "Known") -> list[Question]:
        """Two to six words by the same law, so many as common as stop words, and a
        vector near some passage's.
        """
        random = np.random.default_rng((self.seed, 11))
        near = random.integers(0, self.size, count)
        texts = [
            " ".join(self._speaker.words(random, int(random.integers(2, 7))))
            for _ in range(count)
        ]
        noise = _spread(random.integers(0, 2**64, count, dtype=np.uint64))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        vectors = _unit(rows.vectors[near].astype(np.float32) + _QUESTION_NOISE * noise)
        return [
            Question(text, int(row), vector)
            for text, row, vector in zip(texts, near, vectors, strict=True)
        ]

    def _id(self, number: int) -> UUID:
        """In the order of time, as the product's own ids are (version 7)."""
        moment = int(_START.timestamp() * 1000) + 420_000 * number
        return UUID(int=moment << 80 | 7 << 76 | 2 << 62 | self.seed << 32 | number)


class Speaker:
    """Nonsense that can be pronounced: rank r of the vocabulary as often as 1 / (r + 2)
    says.
    """

    def __init__(self) -> None:
        random = np.random.default_rng(5)
        weights = 1 / (np.arange(VOCABULARY) + 2)
        self._sums = np.cumsum(weights / weights.sum())
        self._words = _vocabulary(random)

    def words(self, random: np.random.Generator, count: int) -> list[str]:
        """That many words."""
        return [
            self._words[rank]
            for rank in np.searchsorted(self._sums, random.random(count)).tolist()
        ]

    def passage(self, random: np.random.Generator) -> str:
        """Sentences of 170 to 285 characters in all, so that the product cuts here and
        nowhere else.
        """
        wanted = int(random.integers(_SHORTEST + 20, _LONGEST))
        drawn = iter(self.words(random, 80))
        function = iter((random.random(80) < _FUNCTION_SHARE).tolist())
        which = iter(random.integers(0, len(_FUNCTION_WORDS), 80).tolist())
        said: list[str] = []
        length = sentence = 0
        for word in drawn:
            spoken = [word]
            if next(function):
                spoken.insert(0, _FUNCTION_WORDS[next(which)])
            length += sum(map(len, spoken)) + len(spoken)
            if length > wanted:
                break
            if sentence == 0:
                spoken[0] = spoken[0].capitalize()
            sentence += len(spoken)
            if sentence > 10:
                spoken[-1] += "."
                length, sentence = length + 1, 0
            said += spoken
        text = " ".join(said).rstrip(".")
        return f"{text}."


class Known:
    """The key and the exact vector of every passage in the order of the corpus, in
    files: shape (passages, 384).
    """

    def __init__(self, hashes: Hashes, vectors: Halves) -> None:
        self.hashes = hashes
        self.vectors = vectors
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def rows(self, hashes: Hashes) -> Rows:
        """The row of each passage by the key of its text, -1 where there is none."""
        at = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        return np.where(self._sorted[at] == hashes, self._order[at], -1)

    def checksum(self) -> int:
        """What PostgreSQL's bit_xor gives of the same keys as signed numbers."""
        return int(np.bitwise_xor.reduce(self.hashes).astype(np.int64))

    def nearest(
        self, vectors: NDArray[np.float32], count: int, *, at_once: int = 20_000
    ) -> Rows:
        """The rows of the nearest passages of each vector, exact by the float16 kept
        here: shape (n, count).
        """
        best = np.full((len(vectors), count), -2.0, dtype=np.float32)
        found = np.full((len(vectors), count), -1, dtype=np.int64)
        for start in range(0, len(self.vectors), at_once):
            scores = (
                vectors @ self.vectors[start : start + at_once].astype(np.float32).T
            )
            rows: Rows = np.tile(
                np.arange(start, start + scores.shape[1], dtype=np.int64),
                (len(vectors), 1),
            )
            scores, rows = (
                np.concatenate([best, scores], axis=1),
                np.concatenate([found, rows], axis=1),
            )
            top = np.argpartition(-scores, count - 1, axis=1)[:, :count]
            best, found = (
                np.take_along_axis(scores, top, 1),
                np.take_along_axis(rows, top, 1),
            )
        return np.take_along_axis(found, np.argsort(-best, axis=1), 1)


def known(corpus: Corpus, folder: Path) -> Known:
    """The keys and vectors of a corpus, made once."""
    stem = f"{corpus.size}-{corpus.seed}"
    hashes, vectors = folder / f"{stem}.u64", folder / f"{stem}.f16"
    if not hashes.exists():
        made = np.empty(corpus.size, dtype=np.uint64)
        file = np.memmap(
            vectors, dtype=np.float16, mode="w+", shape=(corpus.size, DIMENSIONS)
        )
        row = 0
        for first in range(0, corpus.records, 200):
            some = [
                corpus.record(number)
                for number in range(first, min(first + 200, corpus.records))
            ]
            texts = [text for record in some for text in record.embedded()]
            keys = [
                passages.content_hash(record.title, piece)
                for record in some
                for piece in record.pieces
            ]
            made[row : row + len(texts)] = short(keys)
            file[row : row + len(texts)] = vectors_of(texts)
            row += len(texts)
        file.flush()
        made.tofile(hashes)  # last: it says that all is there
    return Known(
        np.fromfile(hashes, dtype=np.uint64),
        np.memmap(vectors, dtype=np.float16, mode="r", shape=(corpus.size, DIMENSIONS)),
    )


def short(keys: Sequence[bytes]) -> Hashes:
    """The first eight bytes of each key, as a number."""
    return np.frombuffer(b"".join(key[:8] for key in keys), dtype=">u8").astype(
        np.uint64
    )


def vectors_of(texts: Sequence[str]) -> embedding.Vectors:
    """The vector of each text, by the hashes of its first line (the record's title) and
    of the whole.
    """
    titles, wholes = _seeds([text.partition("\n")[0] for text in texts]), _seeds(texts)
    with np.errstate(over="ignore"):
        topics = _spread(titles % np.uint64(TOPICS) + np.uint64(1))
    mixed = _TOPIC * topics + _RECORD * _spread(titles) + _OWN * _spread(wholes)
    mean = _rotation()[5:20].sum(axis=0)
    return _unit(mixed + _MEAN * mean / np.linalg.norm(mean))


class Given(embedding.Embeddings):
    """An embedder at the process's edge: passages by their hash, questions out of a
    dictionary, at once.
    """

    def __init__(self) -> None:
        super().__init__(config.Embedding(provider="none", batch=256))
        self.models = (MODEL,)
        self.made = 0
        self._questions: dict[str, embedding.QueryVector] = {}

    def shipped(self, model: str) -> embedding.Calibration:
        return CALIBRATION

    def prepare(self, questions: Sequence[Question]) -> None:
        """Know the vectors of these questions."""
        self._questions = {
            q.text: embedding.QueryVector(MODEL, q.vector.tolist(), CALIBRATION)
            for q in questions
        }

    async def passages(
        self,
        texts: Sequence[str],
        model: str | None = None,
        *,
        origin: embedding.Origin | None = None,
    ) -> embedding.Vectors:
        self.made += len(texts)
        return vectors_of(texts)

    async def query(
        self,
        text: str,
        model: str | None = None,
        *,
        measured: embedding.Calibration | None = None,
        origin: embedding.Origin | None = None,
    ) -> embedding.QueryVector:
        if text not in self._questions:
            raise errors.EmbedderUnavailable(
                "The bench has no vector for this question."
            )
        return self._questions[text]

    async def makes_sense(self, text: str) -> bool:
        return True


def _seeds(texts: Sequence[str]) -> Hashes:
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(digests, dtype=np.uint64)


def _spread(seeds: Hashes) -> NDArray[np.float32]:
    """A direction for each seed, along axes of falling weight, of length about 1:
    SplitMix64, 16 bits a number.
    """
    with np.errstate(over="ignore"):
        steps = np.arange(1, DIMENSIONS // 4 + 1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        )
        x = seeds[:, None] + steps
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    even = x.view(np.uint16).astype(np.float32) / np.float32(32767.5) - np.float32(1)
    return np.asarray(even * np.float32(3**0.5) @ _rotation(), dtype=np.float32)


_ROTATION: list[NDArray[np.float32]] = []


def _rotation() -> NDArray[np.float32]:
    """A random turn of axes whose weights fall by a power: the variance of all is 1.
    Shape (384, 384).
    """
    if not _ROTATION:
        weights = np.arange(1, DIMENSIONS + 1) ** (-_DECAY / 2)
        turned = np.linalg.qr(
            np.random.default_rng(3).standard_normal((DIMENSIONS, DIMENSIONS))
        )[0]
        _ROTATION.append(
            ((weights / np.linalg.norm(weights))[:, None] * turned).astype(np.float32)
        )
    return _ROTATION[0]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _vocabulary(random: np.random.Generator) -> list[str]:
    """Frequent words are short."""
    opens, vowels, closes = (
        "b d f g k l m n p r s t v z br dr gl kr pl st tr".split(),  # noqa: SIM905
        "aeiou",
        ["", "n", "r", "l"],
    )
    syllables = [a + b + c for a in opens for b in vowels for c in closes]
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        count = 2 if len(words) < 3_000 else 3 if len(words) < 50_000 else 4
        words.setdefault(
            "".join(syllables[i] for i in random.integers(0, len(syllables), count))
        )
    return list(words)
