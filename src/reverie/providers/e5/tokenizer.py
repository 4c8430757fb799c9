"""Tokenizer of multilingual-e5-small: SentencePiece's unigram model, word by word.

No piece has the sign of a space inside, so words are independent of each other and
their pieces can be kept. Best pieces by Viterbi, as in Kudo, "Subword Regularization"
(2018), section 3.1.
"""

import functools
import math
from collections.abc import Iterator

from reverie.providers.e5 import weights

_SPACE = "\u2581"
_LONGEST_PIECE = 16
_WORDS_KEPT = 20_000
# What SentencePiece takes from the least score for a character that no piece has.
_UNKNOWN_COST = 10.0


class Tokenizer:
    """Text to the numbers of its pieces."""

    def __init__(self, vocabulary: weights.Vocabulary) -> None:
        self._numbers = {
            piece: number for number, piece in enumerate(vocabulary.pieces)
        }
        self._numbers.pop(vocabulary.pieces[vocabulary.unknown], None)
        self._scores: list[float] = vocabulary.scores.tolist()
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
        if not words:
            words = [""]
        return [number for word in words for number in self._word(_SPACE + word)]

    def _best(self, word: str) -> tuple[int, ...]:
        """The pieces of a word whose scores are the highest together."""
        size = len(word)
        best = [0.0] + [-math.inf] * size
        back: list[tuple[int, int]] = [(0, self._unknown)] * (size + 1)
        for start in range(size):
            for end, number, score in self._pieces(word, start):
                if best[start] + score > best[end]:
                    best[end] = best[start] + score
                    back[end] = (start, number)
        found: list[int] = []
        end = size
        while end:
            end, number = back[end]
            found.append(number)
        return tuple(reversed(found))

    def _pieces(self, word: str, start: int) -> Iterator[tuple[int, int, float]]:
        """Pieces that begin at a place: where each ends, its number and its score."""
        for end in range(start + 1, min(len(word), start + _LONGEST_PIECE) + 1):
            number = self._numbers.get(word[start:end])
            if number is not None:
                yield end, number, self._scores[number]
        yield start + 1, self._unknown, self._unknown_score
