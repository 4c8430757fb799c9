"""The words that spotting goes by: heads, cues and verbs of three languages, and which
words are German.

The cues stand in `data/*.toml`; `bench/graph_lists.py` writes the German words, of
simplemma.
"""

import gzip
import re
import tomllib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

import snowballstemmer

from reverie.privacy import detect, folding, lists

PART = 4
_SMALL = re.compile(r"(?<![^\W_])[a-zà-öø-ÿ]{2,}(?![^\W_])")
_SAMPLE = 2000
_GERMAN = snowballstemmer.stemmer("german")
_LINKS = ("", "s", "n", "en", "es", "e", "er")
_ENDINGS = (
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
_EVERYWHERE = ("companies", "starts_company", "technology")
_LANGUAGES = ("en", "de", "es")


@dataclass(frozen=True, slots=True)
class EntityLexicon:
    """Folded words by what they tell. `heads`, `before`, `after`: the type of what ends
    in them or stands there.
    """

    heads: Mapping[str, str]
    before: Mapping[str, str]
    after: Mapping[str, str]
    words: Mapping[str, frozenset[str]]

    def has(self, group: str, word: str) -> bool:
        """Whether a folded word belongs to a group such as `determiners`."""
        return word in self.words.get(group, frozenset())


@cache
def load(language: str) -> EntityLexicon:
    """What holds in a language; names in English stand in texts of all of them, so its
    heads hold everywhere.
    """
    spoken = language if language in _LANGUAGES else "en"
    files = [_file(name) for name in dict.fromkeys(("en", spoken))]
    joined = {
        part: _by_word([file.get(part, {}) for file in files])
        for part in ("heads", "before", "after")
    }
    words = {
        key: frozenset(_split(value))
        for key, value in files[-1].get("words", {}).items()
    }
    for key in _EVERYWHERE:
        words[key] = words.get(key, frozenset()) | frozenset(
            _split(files[0]["words"][key])
        )
    return EntityLexicon(joined["heads"], joined["before"], joined["after"], words)


def tell(text: str) -> str:
    """en, de or es: by function words, and where these do not tell by the dictionaries;
    "" for what is in none.
    """
    spoken = detect.tell_language(text)
    if spoken:
        return spoken
    small = _SMALL.findall(text[:_SAMPLE])
    counts = {
        "en": sum(lists.english(folding.plain(word)) for word in small),
        "es": sum(lists.spanish(word) for word in small),
        "de": sum(german(word) for word in small),
    }
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else ""


@cache
def _file(name: str) -> Mapping[str, Mapping[str, str]]:
    text = (
        resources.files("reverie.graph.extraction")
        .joinpath("data", f"{name}.toml")
        .read_text("utf-8")
    )
    return tomllib.loads(text)


def _by_word(tables: list[Mapping[str, str]]) -> dict[str, str]:
    return {
        word: kind
        for table in tables
        for kind, words in table.items()
        for word in _split(words)
    }


def _split(words: str) -> list[str]:
    return [folding.plain(word) for word in words.split()]


@cache
def _stems() -> frozenset[str]:
    packed = (
        resources.files("reverie.graph.extraction")
        .joinpath("data", "words-de.txt.gz")
        .read_bytes()
    )
    return frozenset(gzip.decompress(packed).decode().splitlines())


@lru_cache(maxsize=50_000)
def german(word: str) -> bool:
    """Whether a word, with its accents, is an ordinary word of German or is made of
    such.
    """
    stem = folding.plain(str(_GERMAN.stemWord(word.lower())))
    plain = folding.plain(word)
    if plain.endswith(_ENDINGS) and len(plain) > 2 * PART:
        return True
    return (
        stem in _stems()
        or plain in _stems()
        or compound(stem, _stems())
        or compound(plain, _stems())
    )


def compound(word: str, known: Container[str], depth: int = 3) -> bool:
    """Whether a folded word is made of two to four known ones, with what German puts
    between.
    """
    for at in range(len(word) - PART, PART - 1, -1):
        if not _left(word[:at], known):
            continue
        rest = word[at:]
        if rest in known or _stem(rest) in known:
            # `Stonewater` is not German, although a dictionary of German has both
            # halves by now.
            return not (lists.english(rest) and lists.english(word[:at]))
        if depth > 1 and len(rest) >= 2 * PART and compound(rest, known, depth - 1):
            return True
    return False


def _left(word: str, known: Container[str]) -> bool:
    lefts = (word.removesuffix(link) for link in _LINKS if word.endswith(link))
    return any(
        len(left) >= PART - 1 and (left in known or _stem(left) in known)
        for left in lefts
    )


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    return str(_GERMAN.stemWord(word))


@lru_cache(maxsize=50_000)
def ordinary(word: str, language: str) -> bool:
    """Whether a word is one of the dictionary of a language."""
    if language == "de":
        return german(word)
    plain = folding.plain(word)
    return lists.spanish(word.lower()) if language == "es" else lists.english(plain)
