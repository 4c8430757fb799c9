"""Lexicon of named entity cues: heads, trigger nouns and verbs in en, de and es.

The cues stand in `data/*.toml`. Which words are ordinary, and which names are listed,
reverie.privacy.lists says.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from reverie.privacy import detect, folding, lists

LANGUAGES = ("en", "de", "es")

# Words in small letters: those of a sentence, not of names.
_SMALL_WORD = re.compile(r"(?<![^\W_])[a-zà-öø-ÿ]{2,}(?![^\W_])")
# So many characters tell the language of a text.
_SAMPLE = 2000
_TYPED = ("heads", "before", "after")
# Groups of English that hold in texts of every language.
_EVERYWHERE = ("companies", "starts_company", "technology")


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
    language = language if language in LANGUAGES else "en"
    english, own = _file("en"), _file(language)
    typed = {
        part: {**_types(english.get(part, {})), **_types(own.get(part, {}))}
        for part in _TYPED
    }
    words = {
        group: frozenset(_folded(entries))
        for group, entries in own.get("words", {}).items()
    }
    for group in _EVERYWHERE:
        shared = frozenset(_folded(english["words"][group]))
        words[group] = words.get(group, frozenset()) | shared
    return EntityLexicon(typed["heads"], typed["before"], typed["after"], words)


def tell_language(text: str) -> str:
    """Language identification: en, de or es by function words, and where these do not
    tell by the dictionaries; "" for what is in none.
    """
    language = detect.tell_language(text)
    if language:
        return language
    words = _SMALL_WORD.findall(text[:_SAMPLE])
    counts = {
        "en": sum(lists.english(folding.plain(word)) for word in words),
        "es": sum(lists.spanish(word) for word in words),
        "de": sum(lists.german(word) for word in words),
    }
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else ""


@cache
def _file(name: str) -> Mapping[str, Mapping[str, str]]:
    data = resources.files("reverie.graph.extraction").joinpath("data")
    return tomllib.loads(data.joinpath(f"{name}.toml").read_text("utf-8"))


def _types(table: Mapping[str, str]) -> dict[str, str]:
    """The type of each word, from the words of each type."""
    return {
        word: type_ for type_, entries in table.items() for word in _folded(entries)
    }


def _folded(entries: str) -> Iterable[str]:
    return (folding.plain(word) for word in entries.split())
