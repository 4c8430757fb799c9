"""Digit runs of a text, and the extents around them: most patterns of numbers have no
match elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from reverie.privacy import character_classes

Extent = character_classes.Extent

_RUN = re.compile(r"\d+")
_ASCII = character_classes.of("0123456789")
# Several readers ask about a text, what its marks leave, and parts of these in turn:
# so many are remembered, and fewer of those that are long.
_MOST, _LONG = 32, 25_000
_MOST_LONG, _LONGEST = 8, 200_000


def of(text: str) -> Sequence[Extent]:
    """Where the digits of a text stand, a run each, in order."""
    if len(text) <= _LONG:
        return _known(text)
    if len(text) <= _LONGEST:
        return _known_long(text)
    return _found(text)


def _found(text: str) -> Sequence[Extent]:
    if text.isascii():
        return list(character_classes.runs(character_classes.marked(text, _ASCII)))
    return [run.span() for run in _RUN.finditer(text)]


_known = lru_cache(maxsize=_MOST)(_found)
_known_long = lru_cache(maxsize=_MOST_LONG)(_found)


def matches(
    pattern: re.Pattern[str], text: str, reach: int, *, fewest: int = 1
) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, if each match holds so many digits in a row and
    reaches no further from them, looking around included.
    """
    for start, end in near(text, reach, fewest=fewest):
        yield from pattern.finditer(text, start, end)


def near(text: str, reach: int, *, fewest: int = 1) -> Iterator[Extent]:
    """The extents around the runs of at least so many digits, apart from each other."""
    start, end = -1, -1
    for first, last in of(text):
        if last - first < fewest:
            continue
        if start >= 0 and first - end <= 2 * reach:
            end = last
            continue
        if start >= 0:
            yield max(0, start - reach), end + reach
        start, end = first, last
    if start >= 0:
        yield max(0, start - reach), end + reach
