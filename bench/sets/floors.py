"""The single signals that search must not lose to: BM25 by an independent library, and
the product's vectors alone.
"""

from collections.abc import Mapping, Sequence

import bm25s
import numpy as np
import snowballstemmer
from numpy.typing import NDArray

DEPTH = 50
_LANGUAGES = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "ru": "russian",
    "ro": "romanian",
}
_STOP_WORDS = {
    "en": "en_plus",
    "de": "german",
    "es": "spanish",
    "ru": "russian",
    "zh": "chinese",
}


class Words:
    """BM25 (bm25s, Lucene's form, k1 1.5, b 0.75) with the stemmer and the stop words
    of each text's own language.
    """

    def __init__(self, units: Mapping[str, tuple[str, str]]) -> None:
        self._units = list(units)
        tokens: list[list[str]] = [[] for _ in self._units]
        for language in dict.fromkeys(language for _, language in units.values()):
            places = [
                at for at, unit in enumerate(self._units) if units[unit][1] == language
            ]
            found = self._tokens([units[self._units[at]][0] for at in places], language)
            for at, one in zip(places, found, strict=True):
                tokens[at] = one
        self._known = {token for one in tokens for token in one}
        self._index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        self._index.index(tokens, show_progress=False)

    def rank(self, question: str, language: str) -> list[str]:
        """Units that hold a word of the question, best first."""
        asked = [
            token
            for token in self._tokens([question], language)[0]
            if token in self._known
        ]
        if not asked:
            return []
        scores = self._index.get_scores(asked)
        return [
            self._units[at]
            for at in np.argsort(-scores, kind="stable")[:DEPTH]
            if scores[at] > 0
        ]

    def _tokens(self, texts: list[str], language: str) -> list[list[str]]:
        stemmer = (
            snowballstemmer.stemmer(_LANGUAGES[language])
            if language in _LANGUAGES
            else None
        )
        stop = _STOP_WORDS.get(language, [])
        found: list[list[str]] = bm25s.tokenize(
            texts,
            stopwords=stop,
            stemmer=stemmer,
            return_ids=False,
            show_progress=False,
        )
        return found


class Meaning:
    """The cosine of the product's own vectors: a unit counts as its nearest passage."""

    def __init__(self, units: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._names = list(dict.fromkeys(units))
        at = {name: number for number, name in enumerate(self._names)}
        self._of = np.asarray([at[unit] for unit in units], dtype=np.intp)
        self._vectors = vectors

    def rank(self, vector: Sequence[float]) -> list[str]:
        """Units nearest first."""
        best = np.full(len(self._names), -1.0, dtype=np.float32)
        np.maximum.at(
            best, self._of, self._vectors @ np.asarray(vector, dtype=np.float32)
        )
        return [self._names[at] for at in np.argsort(-best, kind="stable")[:DEPTH]]
