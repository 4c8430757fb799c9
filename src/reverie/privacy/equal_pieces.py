"""Equal pieces: a value that was cut into pieces of one length, with the same between
any two, put together again (`ghp_|ikVO|RIut`). The last piece may be shorter.
"""

import bisect
import itertools
import operator
import re
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from reverie.privacy import digit_runs, mapped_text

Edit = mapped_text.Edit

# A piece of one letter is none.
_SIZES = range(2, 9)
_MOST_BETWEEN = 6
# With digits in the first, two are enough.
_FEWEST, _FEWEST_WITH_DIGITS = 3, 2
# Words of a sentence that are as long as each other: small letters, but for the first
# of a word, with one space between.
_PROSE = re.compile(r"[^\W\d_][a-zß-öø-ÿ'’.]*(?: [^\W\d_][a-zß-öø-ÿ'’.]*)*")
_EVEN = re.compile(rb"\x01\x01*")


class _Piece(NamedTuple):
    """Where a piece stands."""

    start: int
    end: int


class _Pieces:
    """The pieces of a text by their numbers, in order."""

    def __init__(self, text: str, piece: re.Pattern[str]) -> None:
        # What is between the pieces, and they, in turn.
        parts = piece.split(text)
        self.text = text
        self.texts = parts[1::2]
        self._ends = list(itertools.accumulate(map(len, parts)))

    def between(self, first: int, last: int) -> list[_Piece]:
        """From one of them to another."""
        edges = self._ends[2 * first : 2 * last + 2]
        return list(map(_Piece, edges[::2], edges[1::2]))

    def is_prose(self, first: int, last: int) -> bool:
        """Whether all from one to another are words of a sentence."""
        start = self._ends[2 * first]
        end = self._ends[2 * last + 1]
        return _PROSE.fullmatch(self.text, start, end) is not None

    def with_digits(self) -> set[int]:
        """Those that hold a digit."""
        runs = digit_runs.of(self.text)
        numbers = {bisect.bisect(self._ends, start) // 2 for start, _ in runs}
        if not self.text.isascii():
            numbers.update(filter(self._has_strange_digit, range(len(self.texts))))
        return numbers

    def _has_strange_digit(self, number: int) -> bool:
        """Whether a piece holds `²` or the like."""
        text = self.texts[number]
        return not text.isascii() and _has_digit(text)


def joined(text: str, piece: re.Pattern[str]) -> Iterator[Edit]:
    """What stands between the pieces of a value, left out; `piece` is a group that
    matches all that has no gap in it.
    """
    pieces = _Pieces(text, piece)
    for first, last in _stretches(pieces.texts, pieces.with_digits()):
        if not pieces.is_prose(first, last):
            yield from _of_stretch(text, pieces.between(first, last))


def _stretches(
    texts: Sequence[str], with_digits: Set[int]
) -> Iterator[tuple[int, int]]:
    """Where pieces of one length follow each other, and a shorter one may follow: the
    numbers of the first and the last of these. A piece of another length than the one
    before it belongs to no run that began earlier.
    """
    sizes = list(map(len, texts))
    evenly = bytes(map(operator.eq, sizes, sizes[1:]))
    lasts = {even.start(): even.end() for even in _EVEN.finditer(evenly)}
    for number in with_digits:
        around = evenly[max(0, number - 1) : number + 1]
        if 1 not in around:
            lasts |= {number: number}
    for first, last in sorted(lasts.items()):
        size = sizes[first]
        following = sizes[last + 1 : last + 2]
        if following and following[0] < size:
            last += 1
        fewest = _FEWEST
        if first in with_digits:
            fewest = _FEWEST_WITH_DIGITS
        if size in _SIZES and last - first + 1 >= fewest:
            yield first, last


def _of_stretch(text: str, pieces: Sequence[_Piece]) -> Iterator[Edit]:
    """The runs of a stretch: with the same between any two pieces."""
    run = [pieces[0]]
    between = ""
    for piece in pieces[1:]:
        gap = text[run[-1].end : piece.start]
        if _goes_on(text, run, gap) and (len(run) == 1 or gap == between):
            run.append(piece)
            between = gap
            continue
        yield from _without_gaps(text, run)
        run = [piece]
    yield from _without_gaps(text, run)


def _goes_on(text: str, run: Sequence[_Piece], gap: str) -> bool:
    """Whether a value may go on behind a gap: not behind the full stop that ends a
    line.
    """
    if len(gap) > _MOST_BETWEEN:
        return False
    return "\n" not in gap or text[run[-1].end - 1] != "."


def _without_gaps(text: str, run: Sequence[_Piece]) -> Iterator[Edit]:
    """The edits of a run; none of too few pieces, or of words of a sentence."""
    first = run[0]
    has_digit = _has_digit(text[first.start : first.end])
    fewest = _FEWEST
    if has_digit:
        fewest = _FEWEST_WITH_DIGITS
    if len(run) < fewest:
        return
    if _PROSE.fullmatch(text, first.start, run[-1].end):
        return
    for piece, following in itertools.pairwise(run):
        yield Edit(piece.end, following.start, "")


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
