"""Pattern scanning: the matches of a pattern in a folded text, looked for only where
there can be any.

Most patterns need some digits, one of a few words, or a long run of characters without
a space, which most of a text has not: a search for a word is a hundred times quicker
than a regular expression.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reverie.privacy import character_classes, digit_runs, folding, rules

_Extent = character_classes.Extent
# Letters that regular expressions take for i and s where case does not count, and that
# have no such small letter.
_ALIKE_LETTERS = "İıſ"
_ALIKE = str.maketrans(_ALIKE_LETTERS, "iis")


@dataclass(frozen=True, slots=True)
class ScannedText:
    """A folded text, its small letters, those among which signs are looked for, the
    long words of these, and how long the longest word and run of digits are.
    """

    text: str
    lowered: str
    signs: str
    long_words: str
    longest_word: int
    most_digits: int
    _near: dict[tuple[int, int], Sequence[_Extent]] = field(
        default_factory=dict[tuple[int, int], Sequence[_Extent]]
    )

    def near(self, digits: int, reach: int) -> Sequence[_Extent]:
        """The extents around runs of so many digits."""
        extents = self._near.get((digits, reach))
        if extents is None:
            extents = list(digit_runs.near(self.text, reach, fewest=digits))
            self._near[digits, reach] = extents
        return extents


def of(folded: str) -> ScannedText:
    """A folded text, made ready for many patterns."""
    lowered = folding.lower(folded)
    signs = lowered
    if any(map(lowered.__contains__, _ALIKE_LETTERS)):
        signs = lowered.translate(_ALIKE)
    words = [word for word in signs.split() if len(word) >= rules.LONG_WORD]
    longest = max(map(len, words), default=0)
    digits = max((end - start for start, end in digit_runs.of(folded)), default=0)
    return ScannedText(folded, lowered, signs, " ".join(words), longest, digits)


class _Group(NamedTuple):
    """Patterns, with their signs: each is looked for once, though many have it."""

    patterns: Sequence[rules.Pattern]
    signs: frozenset[str]
    long_signs: frozenset[str]


def _group(patterns: Sequence[rules.Pattern]) -> _Group:
    unbroken = [pattern.signs for pattern in patterns if pattern.unbroken]
    others = [pattern.signs for pattern in patterns if not pattern.unbroken]
    signs = frozenset(itertools.chain(*others))
    return _Group(patterns, signs, frozenset(itertools.chain(*unbroken)))


class PatternSet:
    """Some patterns, and which of them a text without digits or without long words may
    have.
    """

    def __init__(self, patterns: Iterable[rules.Pattern]) -> None:
        every = list(patterns)
        short = [pattern for pattern in every if not pattern.unbroken]
        wordy = [pattern for pattern in every if not pattern.digit]
        plain = [pattern for pattern in short if not pattern.digit]
        self._with_digits = {True: _group(every), False: _group(short)}
        self._without = {True: _group(wordy), False: _group(plain)}

    def possible(self, scanned: ScannedText) -> Iterator[rules.Pattern]:
        """Those that may have a match in a text, in their order."""
        groups = self._with_digits if scanned.most_digits else self._without
        patterns, signs, long_signs = groups[scanned.longest_word > 0]
        present = set(filter(scanned.signs.__contains__, signs))
        present_long = set(filter(scanned.long_words.__contains__, long_signs))
        for pattern in patterns:
            if _is_too_short(scanned, pattern):
                continue
            found = present_long if pattern.unbroken else present
            if not pattern.signs or not found.isdisjoint(pattern.signs):
                yield pattern


def matches(pattern: rules.Pattern, scanned: ScannedText) -> Iterator[re.Match[str]]:
    """Each match of a pattern, in order; of one with a cue, those that may have it."""
    if not _may_match(pattern, scanned):
        return
    read = scanned.lowered if pattern.lowered else scanned.text
    if not pattern.digit:
        yield from pattern.match.finditer(read)
        return
    for start, end in scanned.near(pattern.digit, pattern.reach):
        yield from pattern.match.finditer(read, start, end)


def _is_too_short(scanned: ScannedText, pattern: rules.Pattern) -> bool:
    """Whether no run of digits or no word is as long as those of each match."""
    if pattern.digit > scanned.most_digits:
        return True
    return pattern.unbroken > scanned.longest_word


def _may_match(pattern: rules.Pattern, scanned: ScannedText) -> bool:
    """Whether a text has what each match of a pattern holds."""
    if _is_too_short(scanned, pattern):
        return False
    if not pattern.signs:
        return True
    read = scanned.long_words if pattern.unbroken else scanned.signs
    return any(map(read.__contains__, pattern.signs))
