"""Gibberish detection: whether enough words of a question are of some language."""

import re
from pathlib import Path

from simplemma.strategies.dictionaries import TrieDictionaryFactory

# Four known words in ten are enough (docs/decisions/0007, which names no measurement).
_SHARE = 0.4
# In the order of likelihood: the first language that knows a word ends the search.
_LANGUAGES = ("en", "es", "de", "fr", "pt", "it")
_LATIN = re.compile(r"[a-zà-öø-ÿ]{3,}")
_OTHER = re.compile(r"[^\W\d_a-zà-öø-ÿ]")


class Lexicon:
    """The word lists of simplemma, made into tries under `cache` at first use (seconds,
    once) and mapped from there.
    """

    def __init__(self, cache: Path) -> None:
        self._factory = TrieDictionaryFactory(
            cache_max_size=len(_LANGUAGES), disk_cache_dir=str(cache)
        )

    def makes_sense(self, text: str) -> bool:
        """False when most words are unknown in every language; what is not in Latin
        letters is never doubted.
        """
        lower = text.lower()
        words = _LATIN.findall(lower)
        if not words or _OTHER.search(lower):
            return True
        return sum(self._in_a_dictionary(word) for word in words) >= _SHARE * len(words)

    def _in_a_dictionary(self, word: str) -> bool:
        for language in _LANGUAGES:
            dictionary = self._factory.get_dictionary(language)
            if word in dictionary or word.capitalize() in dictionary:
                return True
        return False
