"""Function words (stop words) of English, Spanish and German."""

import tomllib
from collections.abc import Mapping
from importlib import resources

_FILE = resources.files("reverie.vocabulary").joinpath("data", "function_words.toml")
_LISTS: Mapping[str, Mapping[str, str]] = tomllib.loads(_FILE.read_text("utf-8"))

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(text.split())
    for language, text in _LISTS["function_words"].items()
}
"""Language -> its articles, pronouns, prepositions and the like, with their accents."""
CLITICS: Mapping[str, frozenset[str]] = {
    language: frozenset(text.split()) for language, text in _LISTS["clitics"].items()
}
"""Language -> what is left of a word that was cut at its apostrophe: `s`, `ll`."""
