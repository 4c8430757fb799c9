"""Sentence and word boundaries at which chunking may cut, in scripts without spaces too."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

# Whatever a sentence ends with, the quotes and brackets after it, and the space before
# the next one.
_ENDS = re.compile(r"[.!?…؟۔।]+[\"'”’»)\]]*(?=\s)|[。！？．]+[」』”’）]*|\n")
# Perhaps an abbreviation.
_SHORT = re.compile(r"\b([^\W\d_]{1,3})\.$")
_SPACE = re.compile(r"\s+")
# Letters that Thai and Lao write before or after the consonant that they belong to.
_LEADING = frozenset("เแโใไເແໂໃໄ")
_FOLLOWING = frozenset("ะาำๅๆະາຳໆ")
_JOINER = "\u200d"


class LaidText(Protocol):
    """A text, and the places in it at which its blocks begin, in their order."""

    @property
    def text(self) -> str: ...
    @property
    def starts(self) -> Sequence[int]: ...


def end(laid: LaidText, low: int, high: int) -> int:
    """Where a piece ends: after the last sentence there, else the last word, else
    anywhere.
    """
    for stop in reversed(_sentence_ends(laid.text, low, high + 1)):
        if low < stop <= high and _finished(laid, stop):
            return stop
    word_end = 0
    for space in _SPACE.finditer(laid.text, low, high + 1):
        if low < space.start() <= high:
            word_end = space.start()
    return word_end or _unbroken(laid.text, high)


def beginning(laid: LaidText, stop: int, overlap: int) -> int:
    """Where the next piece begins: with a sentence about `overlap` characters
    before the end of this one, else with a word.
    """
    text = laid.text
    target = stop - overlap
    earliest = target - overlap // 2
    latest = stop - overlap // 3
    sentences: list[int] = []
    for place in _sentence_ends(text, earliest, latest):
        start = after_space(text, place)
        if start < stop and _finished(laid, place):
            sentences.append(start)
    if sentences:
        return min(sentences, key=lambda start: abs(start - target))
    space = _SPACE.search(text, target - 1, stop)
    if space and space.end() < stop:
        return space.end()
    # One word: either it is longer than what may overlap, or its language has no
    # spaces.
    if text[stop].isspace():
        return after_space(text, stop)
    return _unbroken(text, target)


def _sentence_ends(text: str, low: int, high: int) -> list[int]:
    """Where a sentence may end in a range, from left to right."""
    return [match.end() for match in _ENDS.finditer(text, low, high)]


def _finished(laid: LaidText, stop: int) -> bool:
    """Whether a sentence ends there, and not a mere line, an abbreviation or an
    initial.
    """
    after = after_space(laid.text, stop)
    if laid.text[stop - 1] == "\n":
        return laid.text[stop] == "\n" or _begins_block(laid, after)
    following = laid.text[after : after + 1]
    if following.islower():
        return False
    short = _SHORT.search(laid.text, max(stop - 6, 0), stop)
    if short is None:
        return True
    initial = short[1].istitle()
    return not initial and not following.isdecimal()


def _begins_block(laid: LaidText, place: int) -> bool:
    """Whether a block of the text begins at a place."""
    block = bisect_right(laid.starts, place) - 1
    return laid.starts[block] == place


def before_space(text: str, stop: int) -> int:
    """The end of the text before white space."""
    while text[stop - 1].isspace():
        stop -= 1
    return stop


def after_space(text: str, start: int) -> int:
    """The first place from there on that is no white space."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _unbroken(text: str, at: int) -> int:
    """The nearest place before, at which no letter is torn from its marks."""
    for stop in range(at, at - 16, -1):
        before = text[stop - 1]
        after = text[stop]
        if _may_part(before, after):
            return stop
    return at


def _may_part(before: str, after: str) -> bool:
    """Whether a text may be cut between two characters."""
    if before in _LEADING or after in _FOLLOWING:
        return False
    if _JOINER in (before, after):
        return False
    is_mark = unicodedata.category(after)[0] == "M"
    return not is_mark
