"""Pattern scanning: the matches of a pattern in a folded text, looked for only where
there can be any.

Most patterns need some digits, one of a few words, or a long run of characters without
a space, which most of a text has not: a search for a word is a hundred times quicker
than a regular expression.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reverie.privacy import character_classes, digit_runs, folding, rules

# No match of a pattern that needs digits reaches further from the nearest of them.
_REACH = 130
LONG_WORD = 15
"""The fewest characters without a space that a pattern may ask for."""
# Letters that regular expressions take for i, s and k where case does not count, and
# that are no such small letters.
_ALIKE = str.maketrans("İıſK", "iisk")


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
    _near: dict[int, Sequence[character_classes.Extent]] = field(
        default_factory=dict[int, Sequence[character_classes.Extent]]
    )

    def near(self, digits: int) -> Sequence[character_classes.Extent]:
        """The extents around runs of so many digits."""
        if digits not in self._near:
            extents = digit_runs.near(self.text, _REACH, fewest=digits)
            self._near[digits] = list(extents)
        return self._near[digits]


def of(folded: str) -> ScannedText:
    """A folded text, made ready for many patterns."""
    lowered = folding.lower(folded)
    signs = lowered if lowered.isascii() else lowered.translate(_ALIKE)
    words = [word for word in signs.split() if len(word) >= LONG_WORD]
    longest = max(map(len, words), default=0)
    digits = max((end - start for start, end in digit_runs.of(folded)), default=0)
    return ScannedText(folded, lowered, signs, " ".join(words), longest, digits)


class PatternSet:
    """Some patterns, and which of them a text without digits or without long words may
    have.
    """

    def __init__(self, patterns: Iterable[rules.Pattern]) -> None:
        every = list(patterns)
        wordless = [pattern for pattern in every if not pattern.unbroken]
        self._with_digits = {True: every, False: wordless}
        self._without = {
            with_words: [pattern for pattern in some if not pattern.digit]
            for with_words, some in self._with_digits.items()
        }

    def possible(self, scanned: ScannedText) -> Iterator[rules.Pattern]:
        """Those that may have a match in a text, in their order."""
        some = self._with_digits if scanned.most_digits else self._without
        for pattern in some[scanned.longest_word > 0]:
            if _may_match(pattern, scanned):
                yield pattern


def matches(pattern: rules.Pattern, scanned: ScannedText) -> Iterator[re.Match[str]]:
    """Each match of a pattern, in order; of one with a cue, those that may have it."""
    if not _may_match(pattern, scanned):
        return
    read = scanned.lowered if pattern.lowered else scanned.text
    if not pattern.digit:
        yield from pattern.match.finditer(read)
        return
    for start, end in scanned.near(pattern.digit):
        yield from pattern.match.finditer(read, start, end)


def _may_match(pattern: rules.Pattern, scanned: ScannedText) -> bool:
    """Whether a text has what each match of a pattern holds."""
    if pattern.digit > scanned.most_digits or pattern.unbroken > scanned.longest_word:
        return False
    if not pattern.signs:
        return True
    read = scanned.long_words if pattern.unbroken else scanned.signs
    return any(map(read.__contains__, pattern.signs))
