"""Gazetteers and dictionaries: given and family names, places, words of en, es, de.

`bench/privacy_lists.py` and `bench/graph_lists.py` (German) write them and say where
they come from. They are read at first use and kept.
"""

import gzip
from collections.abc import Container
from functools import cache, lru_cache
from importlib import resources

import snowballstemmer

from reverie.privacy import folding

_SPANISH = snowballstemmer.stemmer("spanish")
_GERMAN = snowballstemmer.stemmer("german")
SHORTEST_PART = 4
"""The fewest letters of the last part of a German compound."""
# What is longer is no word: a key, or a text without spaces.
_LONGEST_WORD = 100

# What German puts between the parts of a compound (Fugenelemente).
_LINKING_ELEMENTS = ("", "s", "n", "en", "es", "e", "er")
# Suffixes that make German nouns.
_GERMAN_SUFFIXES = (
    "ung",
    "ungen",
    "heit",
    "heiten",
    "keit",
    "keiten",
    "schaft",
    "schaften",
    "tionen",
    "ismus",
    "itat",
    "itaten",
)


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
    """Whether folded words are a country."""
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
    return folding.plain(str(_SPANISH.stemWord(word))) in _words("words-es")


@lru_cache(maxsize=50_000)
def german(word: str) -> bool:
    """Whether a word, with its accents, is an ordinary word of German or is a compound
    of such.
    """
    plain = folding.plain(word)
    if plain.endswith(_GERMAN_SUFFIXES) and len(plain) > 2 * SHORTEST_PART:
        return True
    if len(plain) > _LONGEST_WORD:
        return False
    stem = folding.plain(str(_GERMAN.stemWord(word.lower())))
    stems = _words("words-de")
    if stem in stems or plain in stems:
        return True
    return german_compound(stem, stems) or german_compound(plain, stems)


def german_compound(word: str, stems: Container[str], depth: int = 3) -> bool:
    """Whether a folded word is made of two to `depth` + 1 known ones, with the linking
    elements of German.
    """
    for at in range(len(word) - SHORTEST_PART, SHORTEST_PART - 1, -1):
        if not _first_part(word[:at], stems):
            continue
        rest = word[at:]
        if rest in stems or _german_stem(rest) in stems:
            # `Stonewater` is not German, although a dictionary of German has both
            # halves by now.
            return not (english(rest) and english(word[:at]))
        divisible = depth > 1 and len(rest) >= 2 * SHORTEST_PART
        if divisible and german_compound(rest, stems, depth - 1):
            return True
    return False


def _first_part(word: str, stems: Container[str]) -> bool:
    """Whether letters are a known word with a linking element after it."""
    for element in _LINKING_ELEMENTS:
        if not word.endswith(element):
            continue
        part = word.removesuffix(element)
        if len(part) < SHORTEST_PART - 1:
            continue
        if part in stems or _german_stem(part) in stems:
            return True
    return False


@lru_cache(maxsize=200_000)
def _german_stem(word: str) -> str:
    return str(_GERMAN.stemWord(word))
