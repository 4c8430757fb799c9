"""Word lists of `data`: tables of a TOML file, their words separated by spaces."""

import tomllib
from collections.abc import Mapping
from importlib import resources

WordLists = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Table -> key -> words in their order; the key is a language or a number."""


def read(name: str) -> WordLists:
    """The lists of `data/<name>.toml`."""
    folder = resources.files("reverie.vocabulary").joinpath("data")
    text = folder.joinpath(f"{name}.toml").read_text("utf-8")
    lists: dict[str, dict[str, tuple[str, ...]]] = {}
    for table, entries in tomllib.loads(text).items():
        lists[table] = {}
        for key, words in entries.items():
            lists[table][key] = tuple(words.split())
    return lists
