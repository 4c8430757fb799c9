"""Nicknames: which given names are short for which, in English, Spanish and German.

The English ones are those of the package `nicknames`, the others a list of our own.
Names are folded: lower case, no accents.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

import nicknames as english

from reverie.vocabulary import word_lists

_SHORT_FORMS: Mapping[str, tuple[str, ...]] = word_lists.read("given_names")["short"]


def _inverted() -> dict[str, set[str]]:
    """Short form -> its full names, in our own list."""
    full: defaultdict[str, set[str]] = defaultdict(set)
    for name, forms in _SHORT_FORMS.items():
        for form in forms:
            full[form].add(name)
    return full


_FULL_NAMES = _inverted()


@lru_cache(maxsize=1)
def _english() -> english.NickNamer:
    """The English list, loaded at its first use."""
    return english.NickNamer()


@lru_cache(maxsize=20_000)
def short_forms(name: str) -> frozenset[str]:
    """What somebody of this full name may be called."""
    ours = _SHORT_FORMS.get(name, ())
    return frozenset(_english().nicknames_of(name)).union(ours)


@lru_cache(maxsize=20_000)
def full_names(name: str) -> frozenset[str]:
    """What a short form may be short for."""
    ours = _FULL_NAMES.get(name, ())
    return frozenset(_english().canonicals_of(name)).union(ours)


@lru_cache(maxsize=50_000)
def same_name(a: str, b: str) -> bool:
    """Whether one is a short form of the other, or both of the same full name."""
    if b in short_forms(a) or a in short_forms(b):
        return True
    return bool(full_names(a) & full_names(b))


def other_forms(name: str, *, most_full_names: int) -> set[str]:
    """Everything else that somebody of this name may be called.

    The English short forms beside it are left out if it may be short for more than
    `most_full_names` names (Al, Alex): they would be a crowd.
    """
    forms = {*short_forms(name), *full_names(name)}
    for full_name in _FULL_NAMES.get(name, ()):
        forms.update(_SHORT_FORMS[full_name])
    english_names = _english().canonicals_of(name)
    if len(english_names) <= most_full_names:
        for full_name in english_names:
            forms.update(_english().nicknames_of(full_name))
    forms.discard(name)
    return forms
