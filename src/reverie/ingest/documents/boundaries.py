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
    sentences = _ENDS.finditer(laid.text, low, high + 1)
    ends = [sentence.end() for sentence in sentences]
    for stop in reversed(ends):
        if low < stop <= high and _finished(laid, stop):
            return stop
    spaces = _SPACE.finditer(laid.text, low, high + 1)
    starts = [space.start() for space in spaces]
    words = [start for start in starts if low < start <= high]
    return words[-1] if words else _unbroken(laid.text, high)


def beginning(laid: LaidText, stop: int, overlap: int) -> int:
    """Where the next piece begins: with a sentence about `overlap` characters
    before the end of this one, else with a word.
    """
    text = laid.text
    target = stop - overlap
    earliest = target - overlap // 2
    latest = stop - overlap // 3
    ends = [match.end() for match in _ENDS.finditer(text, earliest, latest)]
    finished = [place for place in ends if _finished(laid, place)]
    sentences = [after_space(text, place) for place in finished]
    if begins := [start for start in sentences if start < stop]:
        return min(begins, key=lambda start: abs(start - target))
    space = _SPACE.search(text, target - 1, stop)
    if space and space.end() < stop:
        return space.end()
    # One word: either it is longer than what may overlap, or its language has no
    # spaces.
    return after_space(text, stop) if text[stop].isspace() else _unbroken(text, target)


def _finished(laid: LaidText, stop: int) -> bool:
    """Whether a sentence ends there, and not a mere line, an abbreviation or an
    initial.
    """
    after = after_space(laid.text, stop)
    if laid.text[stop - 1] == "\n":
        if laid.text[stop] == "\n":
            return True
        return laid.starts[bisect_right(laid.starts, after) - 1] == after
    following = laid.text[after : after + 1]
    if short := _SHORT.search(laid.text, max(stop - 6, 0), stop):
        return not (following.islower() or following.isdecimal() or short[1].istitle())
    return not following.islower()


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
        if before in _LEADING or after in _FOLLOWING:
            continue
        is_mark = unicodedata.category(after)[0] == "M"
        if not is_mark and _JOINER not in text[stop - 1 : stop + 1]:
            return stop
    return at
