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
