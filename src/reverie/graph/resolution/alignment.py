"""How alike two words of names are, and which word of one name is which of the other."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz.distance import OSA

from reverie.graph.resolution import name_tables as tables
from reverie.graph.resolution import transliteration
from reverie.graph.resolution.parsing import Word
from reverie.privacy import lists

_LEAST = 0.62
_SHORT_GIVEN = 4
_ENOUGH = 5
_PATRONYMIC = re.compile(r"(?:ovi?[ct]h?|evi?[ct]h?|ovy[ct]h|ovn[ay]|evn[ay]|ivna)$")
_KNOWN = 2
INITIAL = 0.8
NICKNAME = 0.85
JUMBLED = 0.8
_JOINED, _JOIN_FROM = 4, 4


@lru_cache(maxsize=50_000)
def words(a: str, b: str, person: bool, foreign: bool) -> float:
    """0..1 for two words in plain Latin letters; foreign: one is from a script whose
    vowels cannot be trusted.
    """
    if a == b:
        return 1.0
    if len(a) > len(b):
        a, b = b, a
    if len(a) == 1:
        return INITIAL if person and a[0] == b[0] else 0.0
    if not (a.isalpha() and b.isalpha()) and any(char.isdigit() for char in a + b):
        return 0.0
    best = max(_spelling(a, b), _bones(a, b) if foreign else 0.0)
    if len(a) >= _ENOUGH and len(a) == len(b) and sorted(a) == sorted(b):
        best = max(best, JUMBLED)
    if not person:
        if lists.place(a) and lists.place(b):
            return best * 0.75
        return best * 0.85 if _two_ordinary(a, b) else best
    return _of_persons(a, b, best)


def _of_persons(a: str, b: str, best: float) -> float:
    """What a given name says more than its letters; `a` is the shorter."""
    if (
        len(b) - len(a) > 2
        and a not in tables.PARTICLES
        and _PATRONYMIC.search(b)
        and not _PATRONYMIC.search(a)
    ):
        return 0.0  # Pyotr is not Petrovich
    if lists.given(a) >= _KNOWN and lists.given(b) >= _KNOWN:
        best = min(best, _two_given(a, b, best))
    return max(best, NICKNAME) if tables.nickname(a, b) else best


def _two_ordinary(a: str, b: str) -> bool:
    """Two words of the language that are more than a slip apart: furniture, fixture."""
    return (
        lists.english(a)
        and lists.english(b)
        and a[:6] != b[:6]
        and OSA.distance(a, b) > 1
    )


def _spelling(a: str, b: str) -> float:
    longest = max(len(a), len(b))
    written = OSA.distance(a, b)
    sa, sb = transliteration.sound(a), transliteration.sound(b)
    if sa and sa == sb:
        return max(0.92, 1 - written / longest / 2)
    spoken = OSA.distance(sa, sb) + 0.4
    # A slip at the first letter is rarer than a slip later.
    other = 0.0 if a[0] == b[0] or sa[:1] == sb[:1] else 0.3
    return max(0.0, 1 - (min(written, max(spoken, written / 2)) + other) / longest)


def _bones(a: str, b: str) -> float:
    """By consonants only, for words that came from a script that writes few vowels or
    other ones.
    """
    x, y = (
        transliteration.skeleton(word.replace("w", "u").replace("y", "i"))
        for word in (a, b)
    )
    x, y = (x.lstrip("a"), y.lstrip("a")) if x[:1] != y[:1] else (x, y)
    if min(len(x), len(y)) < 2:
        return 0.8 if x == y and x and max(len(a), len(b)) < 4 else 0.0
    return 0.9 * (1 - OSA.distance(x, y) / max(len(x), len(y)))


def _two_given(a: str, b: str, best: float) -> float:
    """Two known given names are two people, unless they are one name in two spellings;
    Paolo is not Paola.
    """
    sa, sb = transliteration.sound(a), transliteration.sound(b)
    if sa == sb:
        return best
    if (
        transliteration.skeleton(a) != transliteration.skeleton(b)
        or len(a) < _SHORT_GIVEN
    ):
        return best * 0.75
    ends = {_ending(sa), _ending(sb)}
    return best if len(ends) == 1 else best * (0.6 if "a" in ends else 0.9)


def _ending(spoken: str) -> str:
    return {"a": "a", "o": "o", "e": "e"}.get(spoken[-1:], "")


# ------------------------------------------------------------------------------------------------------------- pairing


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Words of one name (from, to) that are words of the other, and how alike they are."""

    a: tuple[int, int]
    b: tuple[int, int]
    score: float
    initial: bool = False


def pair(a: Sequence[Word], b: Sequence[Word], *, person: bool) -> list[AlignedPair]:
    """The best pairs first, each word once. Neighbours may be one word on the other
    side: Alex and ra.
    """
    found: list[tuple[float, float, AlignedPair]] = []
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            score = words(x.text, y.text, person, x.foreign or y.foreign)
            if score >= _LEAST:
                initial = len(x.text) == 1 or len(y.text) == 1
                weight = min(x.weight, y.weight) if initial else max(x.weight, y.weight)
                found.append(
                    (
                        score * weight,
                        -abs(i - j),
                        AlignedPair(
                            (i, i + 1), (j, j + 1), score, initial and score < 1
                        ),
                    )
                )
    found += _joins(a, b, person, turned=False) + _joins(b, a, person, turned=True)
    found.sort(
        key=lambda one: (
            -one[0],
            -one[1],
            one[2].a[0] + one[2].b[0],
            one[2].a,
            one[2].b,
        )
    )
    used_a: set[int] = set()
    used_b: set[int] = set()
    kept: list[AlignedPair] = []
    for _, _, one in found:
        here, there = range(*one.a), range(*one.b)
        if used_a.isdisjoint(here) and used_b.isdisjoint(there):
            used_a.update(here)
            used_b.update(there)
            kept.append(one)
    return kept


def _joins(
    a: Sequence[Word], b: Sequence[Word], person: bool, *, turned: bool
) -> list[tuple[float, float, AlignedPair]]:
    """Several words of `a` that are one of `b`."""
    found: list[tuple[float, float, AlignedPair]] = []
    for start in range(len(a)):
        joined = a[start].text
        for end in range(start + 2, min(len(a), start + _JOINED) + 1):
            joined += a[end - 1].text
            for j, y in enumerate(b):
                if len(y.text) < _JOIN_FROM or abs(len(joined) - len(y.text)) > 2:
                    continue
                score = words(joined, y.text, person, a[start].foreign or y.foreign)
                alone = max(
                    words(word.text, y.text, person, False) for word in a[start:end]
                )
                if score >= 0.8 and (score == 1 or score > alone + 0.1):
                    weight = max(y.weight, sum(word.weight for word in a[start:end]))
                    here, there = (start, end), (j, j + 1)
                    pair_ = (
                        AlignedPair(there, here, score)
                        if turned
                        else AlignedPair(here, there, score)
                    )
                    found.append((score * weight * 0.98, 0.0, pair_))
    return found
