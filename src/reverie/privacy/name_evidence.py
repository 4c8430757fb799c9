"""Lexical evidence for names: name lists, dictionaries, acronyms, CamelCase.

How much a token by itself speaks for a name. The weights were set by hand.
"""

import re
from collections.abc import Set
from dataclasses import dataclass

from reverie.privacy import lists, terms, tokenizer

# A given name of so many countries is usual.
_USUAL = 3
# A word that is ordinary, too, counts as a name if it is one in so many countries.
_WELL_KNOWN = 5
# Acronyms are shorter than this; `BARBARA` is a name in capitals.
_ACRONYM_BELOW = 6
_ENGLISH_ENDINGS = ("s", "es", "ed", "ing", "ly")
# `Xi` and `Vi` are names.
_ROMAN_NUMBER = re.compile(r"[ivx]{3,}")
# `US`, `McD`: too short to tell a name from an abbreviation.
_ABBREVIATION_BELOW = 4


@dataclass(frozen=True, slots=True)
class NameEvidence:
    """How much a token speaks for a name."""

    listed: float = 2
    # In no list and in no dictionary.
    unknown: float = 1
    # A usual name that is an ordinary word as well.
    ambiguous: float = 1
    # A rare name that is an ordinary word as well.
    rare: float = 0.5
    none: float = 0


EVIDENCE = NameEvidence()


def ordinary(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """Whether a token is a word of the dictionary and so, by itself, nobody's name."""
    plain = token.plain
    function_words = tokenized.words["function"]
    if len(plain) < 2 or plain in function_words:
        return True
    english = tokenized.language != "es" and lists.english(plain)
    if english and not _only_a_name(plain):
        return True
    spanish = _maybe_spanish(tokenized, token) and not lists.given(plain)
    if spanish and lists.spanish(token.text.lower()):
        return True
    return _ordinary_parts(plain, function_words)


def _ordinary_parts(plain: str, function_words: Set[str]) -> bool:
    """Whether the parts of a word with hyphens or apostrophes are all ordinary."""
    if "-" not in plain and "'" not in plain:
        return False
    parts = [part for part in re.split(r"[-']", plain) if len(part) > 1]
    return bool(parts) and all(
        lists.english(part) or part in function_words for part in parts
    )


def _maybe_spanish(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """Whether the dictionary of Spanish holds for a token."""
    if tokenized.language == "":
        return tokenized.lower or token.first
    return tokenized.language == "es"


def _only_a_name(plain: str) -> bool:
    """A given name that dictionaries list as a word although it has no forms: `dexter`,
    and not `mark`.
    """
    return lists.given(plain) > 0 and not any(
        lists.english(plain + ending) for ending in _ENGLISH_ENDINGS
    )


def evidence(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> float:
    """How much a token by itself speaks for a name: 2 listed, 1 unknown or listed and
    ordinary, 0.5 listed by few and ordinary, 0 an ordinary word.
    """
    plain = token.plain.removesuffix("'s")
    if _excluded(tokenized, plain) or abbreviation(token.text, plain):
        return EVIDENCE.none
    listed = _listed(plain)
    german = tokenized.language == "de"
    if german and token.capital and not lists.given(plain):
        return _german_evidence(listed)
    common = ordinary(tokenized, token)
    if listed:
        return _listed_evidence(plain, common=common)
    if common or german or not _name_like(token.text, plain):
        return EVIDENCE.none
    if terms.derived(tokenized, plain):
        return EVIDENCE.none
    return EVIDENCE.unknown


def _german_evidence(listed: int) -> float:
    """Every noun has its capital there: only the lists tell."""
    return EVIDENCE.rare if listed else EVIDENCE.none


def _acronym(text: str, plain: str) -> bool:
    return text.isupper() and len(plain) < _ACRONYM_BELOW


def abbreviation(text: str, plain: str) -> bool:
    """Whether a word is too short to tell a name: `US`, `IgA`, `McD`."""
    if len(plain) >= _ABBREVIATION_BELOW:
        return False
    return _acronym(text, plain) or _camel_case(text)


def _name_like(text: str, plain: str) -> bool:
    """Whether a word in no list is spelled as a name may be: not `IgG`, `C-reactiva`."""
    if len(plain) < tokenizer.LOWERCASE_FROM or _acronym(text, plain):
        return False
    if "-" not in plain:
        return not _camel_case(text)
    return plain.index("-") > 1


def _excluded(tokenized: tokenizer.TokenizedText, plain: str) -> bool:
    """Whether a folded word is in a list of words that are nobody's name."""
    words = tokenized.words
    return (
        not plain[:1].isalpha()
        or _ROMAN_NUMBER.fullmatch(plain) is not None
        or plain in words["not_names"]
        or plain in words["function"]
        or plain in words["allowed"]
    )


def _camel_case(text: str) -> bool:
    """Whether there is a capital inside: `iPhone`, `McDonald`, `Anne-Marie`."""
    return not text.isupper() and text[1:] != text[1:].lower()


def _listed(plain: str) -> int:
    """In how many lists of countries a folded word is a name; of a double name, its
    rarest part.
    """
    listed = lists.given(plain) + lists.family(plain)
    if listed or "-" not in plain:
        return listed
    return min(lists.given(part) + lists.family(part) for part in plain.split("-"))


def _listed_evidence(plain: str, *, common: bool) -> float:
    if not common:
        return EVIDENCE.listed
    countries = lists.given(plain)
    if countries >= _USUAL or countries + lists.family(plain) >= _WELL_KNOWN:
        return EVIDENCE.ambiguous
    return EVIDENCE.rare
