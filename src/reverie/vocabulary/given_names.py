"""Nicknames: which given names are short for which, in English, Spanish and German.

The English ones are those of the package `nicknames`, the others a list of our own.
Names are folded: lower case, no accents.
"""

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

import nicknames as english

_FILE = resources.files("reverie.vocabulary").joinpath("data", "given_names.toml")


def _lines() -> list[list[str]]:
    """The lines of our own list: a full name, then its short forms."""
    lists: Mapping[str, str] = tomllib.loads(_FILE.read_text("utf-8"))
    return [line.split() for line in lists["short_forms"].strip().splitlines()]


def _ours() -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]:
    """Full name -> short forms, and short form -> full names, of our own list."""
    short: defaultdict[str, set[str]] = defaultdict(set)
    full: defaultdict[str, set[str]] = defaultdict(set)
    for name, *forms in _lines():
        short[name].update(forms)
        for form in forms:
            full[form].add(name)
    return (
        {name: frozenset(forms) for name, forms in short.items()},
        {form: frozenset(names) for form, names in full.items()},
    )


_SHORT_FORMS, _FULL_NAMES = _ours()
_NONE: frozenset[str] = frozenset()


@lru_cache(maxsize=1)
def _english() -> english.NickNamer:
    return english.NickNamer()


@lru_cache(maxsize=20_000)
def short_forms(name: str) -> frozenset[str]:
    """What somebody of this full name may be called."""
    return frozenset(_english().nicknames_of(name)) | _SHORT_FORMS.get(name, _NONE)


@lru_cache(maxsize=20_000)
def full_names(name: str) -> frozenset[str]:
    """What a short form may be short for."""
    return frozenset(_english().canonicals_of(name)) | _FULL_NAMES.get(name, _NONE)


@lru_cache(maxsize=50_000)
def same_name(a: str, b: str) -> bool:
    """Whether one is a short form of the other, or both of the same full name."""
    if b in short_forms(a) or a in short_forms(b):
        return True
    return bool(full_names(a) & full_names(b))
