"""The lists that are shipped: given and family names, places, countries, and the
ordinary words of two languages.

`bench/privacy_lists.py` writes them and says where they come from. They are read at
first use and kept.
"""

import gzip
from functools import cache, lru_cache
from importlib import resources

import snowballstemmer

from reverie.privacy import folding

_STEMMER = snowballstemmer.stemmer("spanish")


def _lines(name: str) -> list[str]:
    packed = (
        resources.files("reverie.privacy")
        .joinpath("data", f"{name}.txt.gz")
        .read_bytes()
    )
    return gzip.decompress(packed).decode().splitlines()


@cache
def _names(name: str) -> dict[str, int]:
    pairs = (line.partition("\t") for line in _lines(name))
    return {word: int(count or 1) for word, _, count in pairs}


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_lines(name))


def given(word: str) -> int:
    """In how many countries a folded word is a given name."""
    return _names("given").get(word, 0)


def family(word: str) -> int:
    """In how many countries a folded word is a family name."""
    return _names("family").get(word, 0)


def place(words: str) -> bool:
    """Whether folded words are a town of more than 15,000, a region or a country."""
    return words in _words("places") or words in _words("countries")


@cache
def _beginnings() -> frozenset[str]:
    return frozenset(
        name.partition(" ")[0]
        for name in _words("places") | _words("countries")
        if " " in name
    )


def begins_place(word: str) -> bool:
    """Whether a place of several words begins with a folded word."""
    return word in _beginnings()


def country(words: str) -> bool:
    return words in _words("countries")


@lru_cache(maxsize=50_000)
def english(word: str) -> bool:
    """Whether a folded word is an ordinary word of English."""
    return word in _words("words-en") or (
        word.endswith("'s") and word[:-2] in _words("words-en")
    )


@lru_cache(maxsize=50_000)
def spanish(word: str) -> bool:
    """Whether a lower-case word, with its accents, is an ordinary word of Spanish."""
    return folding.plain(str(_STEMMER.stemWord(word))) in _words("words-es")
