"""Language detection by function words (stop words), and stemming (Snowball)."""

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import snowballstemmer

from reverie.vocabulary import function_words

_ALGORITHM = {"en": "english", "es": "spanish", "de": "german"}

# A stemmer keeps its word in itself while it works, so each thread has its own.
_of_thread = threading.local()

# Words are cut at apostrophes here, so what is left behind one counts as well.
FUNCTION_WORDS = {
    language: words | function_words.CLITICS.get(language, frozenset())
    for language, words in function_words.FUNCTION_WORDS.items()
}


def detect(words: Iterable[str]) -> str:
    """The language (`en`, `es`, `de`) whose function words are most frequent among some
    words, or "" when unsure.

    Words are lower case with their accents. Two more hits than the runner-up are asked
    for, or all of the hits.
    """
    seen = list(words)
    hits = sorted(
        (
            (sum(word in function_words for word in seen), name)
            for name, function_words in FUNCTION_WORDS.items()
        ),
        reverse=True,
    )
    (best, name), (second, _) = hits[0], hits[1]
    return name if best and (best >= second + 2 or second == 0) else ""


@lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> str:
    """The stem of a lower-case word with its accents, by the Snowball algorithm of its
    language.
    """
    return str(_stemmer(language).stemWord(word))


def _stemmer(language: str) -> Any:
    """This thread's stemmer of a language."""
    stemmers: dict[str, Any] = _of_thread.__dict__
    if language not in stemmers:
        stemmers[language] = snowballstemmer.stemmer(_ALGORITHM[language])
    return stemmers[language]


LANGUAGES = tuple(_ALGORITHM)
