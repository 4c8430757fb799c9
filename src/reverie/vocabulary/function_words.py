"""Function words (stop words) of English, Spanish and German."""

from collections.abc import Mapping

from reverie.vocabulary import word_lists

_LISTS = word_lists.read("function_words")


def _sets(table: str) -> dict[str, frozenset[str]]:
    sets: dict[str, frozenset[str]] = {}
    for language, words in _LISTS[table].items():
        sets[language] = frozenset(words)
    return sets


FUNCTION_WORDS: Mapping[str, frozenset[str]] = _sets("function_words")
"""Language -> its articles, pronouns, prepositions and the like, with their accents."""
CLITICS: Mapping[str, frozenset[str]] = _sets("clitics")
"""Language -> what is left of a word that was cut at its apostrophe: `s`, `ll`."""
