"""Tokenizer of multilingual-e5-small: SentencePiece's unigram model, word by word.

No piece has the sign of a space inside, so words are independent of each other and
their pieces can be kept. Best pieces by Viterbi, as in Kudo, "Subword Regularization"
(2018), section 3.1.
"""

import array
import bisect
import functools
import math
from collections.abc import Iterator

import numpy as np

from reverie.providers.e5 import weights

_SPACE = "\u2581"
_LONGEST_PIECE = 16
_WORDS_KEPT = 20_000
_SLOTS = 1 << 21
# What SentencePiece takes from the least score for a character that no piece has.
_UNKNOWN_COST = 10.0


class _Pieces:
    """The numbers of the pieces: a dictionary of a quarter of a million texts takes 60
    MB, their hashes in order take 3.
    """

    def __init__(self, vocabulary: weights.Vocabulary) -> None:
        self._vocabulary = vocabulary
        count = len(vocabulary.scores)
        pieces = map(vocabulary.piece, range(count))
        hashes = np.fromiter(map(hash, pieces), np.int64, count)
        order = np.argsort(hashes).astype(np.int32)
        ordered = hashes[order]
        self._hashes = array.array("q", ordered.tobytes())
        self._order = array.array("i", order.tobytes())
        # Nine texts in ten that are no piece are known by it at once.
        taken = np.zeros(_SLOTS, np.uint8)
        slots = hashes & (_SLOTS - 1)
        taken[slots] = 1
        self._taken = taken.tobytes()

    def number(self, text: str) -> int | None:
        """The number of a piece, or None if the text is none."""
        wanted = hash(text)
        slot = wanted & (_SLOTS - 1)
        if not self._taken[slot]:
            return None
        at = bisect.bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            number = self._order[at]
            if self._vocabulary.piece(number) == text:
                return number
            at += 1
        return None


class Tokenizer:
    """Text to the numbers of its pieces."""

    def __init__(self, vocabulary: weights.Vocabulary) -> None:
        self._numbers = _Pieces(vocabulary)
        self._scores = array.array("f", vocabulary.scores.tobytes())
        self._unknown = vocabulary.unknown
        self._unknown_score = float(vocabulary.scores.min()) - _UNKNOWN_COST
        self._normalised = vocabulary.normalised
        self._word = functools.lru_cache(_WORDS_KEPT)(self._best)

    def numbers(self, text: str) -> list[int]:
        """The pieces of a text, up to a NUL, without the signs of its start and end."""
        plain = text.partition("\0")[0].translate(self._normalised)
        words = [word for word in plain.split(" ") if word]
        if plain.endswith(" "):
            words.append("")
        numbers: list[int] = []
        for word in words or [""]:
            numbers += self._word(_SPACE + word)
        return numbers

    def _best(self, word: str) -> tuple[int, ...]:
        """The pieces of a word whose scores are the highest together."""
        size = len(word)
        best = [0.0] + [-math.inf] * size
        back: list[tuple[int, int]] = [(0, self._unknown)] * (size + 1)
        for start in range(size):
            for end, number, score in self._pieces(word, start):
                together = best[start] + score
                if together > best[end]:
                    best[end] = together
                    back[end] = (start, number)
        found: list[int] = []
        end = size
        while end:
            end, number = back[end]
            found.append(number)
        return tuple(reversed(found))

    def _pieces(self, word: str, start: int) -> Iterator[tuple[int, int, float]]:
        """Pieces that begin at a place: where each ends, its number and its score."""
        longest = min(len(word), start + _LONGEST_PIECE)
        for end in range(start + 1, longest + 1):
            piece = word[start:end]
            number = self._numbers.number(piece)
            if number is not None and number != self._unknown:
                score = self._scores[number]
                yield end, number, score
        yield start + 1, self._unknown, self._unknown_score
