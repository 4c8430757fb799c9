"""Gibberish detection: whether enough words of a question are of some language."""

import re
from functools import cached_property
from pathlib import Path

from reverie.providers import bloom_filter

KNOWN_WORDS = Path(__file__).parent / "data" / "known_words.bloom"
# Four known words in ten are enough (docs/decisions/0007, which names no measurement).
_SHARE = 0.4
WORD = re.compile(r"[a-zà-öø-ÿ]{3,}")
"""What is looked up: words in small Latin letters."""
_OTHER = re.compile(r"[^\W\d_a-zà-öø-ÿ]")
# What earlier versions wrote into the home's cache: 20 MB.
_TRIES = ("en", "es", "de", "fr", "pt", "it")


class Lexicon:
    """The known words of six languages, mapped at first use (docs/decisions/0025).

    `cache` is the home's folder of what can be made anew: what nobody reads there any
    more is removed at first use.
    """

    def __init__(self, cache: Path, known_words: Path = KNOWN_WORDS) -> None:
        self._cache = cache
        self._file = known_words

    @cached_property
    def _known(self) -> bloom_filter.BloomFilter:
        for language in _TRIES:
            (self._cache / f"{language}.dic").unlink(missing_ok=True)
        return bloom_filter.opened(self._file)

    def makes_sense(self, text: str) -> bool:
        """False when most words are unknown in every language; what is not in Latin
        letters is never doubted. Raises Damaged if the known words cannot be read.
        """
        lower = text.lower()
        words = WORD.findall(lower)
        if not words or _OTHER.search(lower):
            return True
        known = sum(word in self._known for word in words)
        return known >= _SHARE * len(words)
