"""Given names that stand for something else as well: words, months, places, firms.

In a text such a name alone is no evidence that its bearer is meant.
"""

from functools import cache
from importlib import resources

from reverie.privacy import folding, lists

# A given name of fewer countries is rather the word, and of fewer still, where the
# dictionary itself holds many given names (those of Spanish and German do); set by hand.
_USUAL, _KNOWN = 10, 3


@cache
def _listed() -> frozenset[str]:
    data = resources.files("reverie.graph.extraction").joinpath("data")
    text = data.joinpath("ambiguous_given_names.txt").read_text("utf-8")
    return frozenset(text.split())


def ambiguous(name: str) -> bool:
    """Whether a name of one word may mean something other than a person."""
    word = folding.plain(name)
    if word in _listed():
        return True
    countries = lists.given(word)
    if countries < _USUAL and (lists.english(word) or lists.place(word)):
        return True
    return countries < _KNOWN and (lists.spanish(word) or lists.german(word))
