"""Similarity (Levenshtein, phonetic) of words, and alignment of two names' words."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import OSA

from reverie.graph.resolution import name_tables as tables
from reverie.graph.resolution import transliteration
from reverie.graph.resolution.parsing import Word
from reverie.privacy import lists
from reverie.vocabulary import given_names

# All set by hand with the pairs of bench/names.py in view (docs/decisions/0015).
_LEAST_SIMILAR = 0.62
_SHORTEST_GIVEN = 4  # letters; below it two given names are two people
_SHORTEST_JUMBLED = 5  # letters
_KNOWN_GIVEN = 2  # how common a given name has to be in privacy's list to be known
INITIAL = 0.8  # J. and John
NICKNAME = 0.85  # Bill and William
JUMBLED = 0.8  # the same letters in another order
_TWO_PLACES, _TWO_ORDINARY_WORDS = 0.75, 0.85  # of the similarity is left
# Up to so many neighbours are joined, and compared with a word of so many letters.
_MOST_JOINED, _SHORTEST_JOINED = 4, 4
_LEAST_JOINED, _BETTER_THAN_ALONE, _JOINED_GAIN = 0.8, 0.1, 0.98
_PATRONYMIC = re.compile(r"(?:ovi?[ct]h?|evi?[ct]h?|ovy[ct]h|ovn[ay]|evn[ay]|ivna)$")


@lru_cache(maxsize=50_000)
def word_similarity(a: str, b: str, person: bool, foreign: bool) -> float:
    """0..1 for two words in plain Latin letters; foreign: one is from a script whose
    vowels cannot be trusted.
    """
    if a == b:
        return 1.0
    if len(a) > len(b):
        a, b = b, a
    if len(a) == 1:
        return INITIAL if person and a[0] == b[0] else 0.0
    if _any_digit(a, b):
        return 0.0
    likeness = _spelling(a, b)
    if foreign:
        likeness = max(likeness, _consonants(a, b))
    if _jumbled(a, b):
        likeness = max(likeness, JUMBLED)
    return _of_persons(a, b, likeness) if person else _of_things(a, b, likeness)


def _jumbled(a: str, b: str) -> bool:
    """Whether two words are the same letters in another order."""
    if len(a) != len(b) or len(a) < _SHORTEST_JUMBLED:
        return False
    return sorted(a) == sorted(b)


def _any_digit(a: str, b: str) -> bool:
    """Whether either word has a digit in it."""
    if a.isalpha() and b.isalpha():
        return False
    return any(char.isdigit() for char in a + b)


def _of_persons(a: str, b: str, likeness: float) -> float:
    """What a given name says more than its letters; `a` is the shorter."""
    if _only_one_patronymic(a, b):
        return 0.0  # Pyotr is not Petrovich
    if lists.given(a) >= _KNOWN_GIVEN and lists.given(b) >= _KNOWN_GIVEN:
        likeness = min(likeness, _two_given(a, b, likeness))
    return max(likeness, NICKNAME) if given_names.same_name(a, b) else likeness


def _only_one_patronymic(a: str, b: str) -> bool:
    """Whether the longer name, `b`, is a patronymic, and the shorter is none."""
    if len(b) - len(a) <= 2 or a in tables.PARTICLES:
        return False
    return bool(_PATRONYMIC.search(b)) and not _PATRONYMIC.search(a)


def _of_things(a: str, b: str, likeness: float) -> float:
    """Two places, or two words of the language, are two by a few letters."""
    if lists.place(a) and lists.place(b):
        return likeness * _TWO_PLACES
    return likeness * _TWO_ORDINARY_WORDS if _two_ordinary(a, b) else likeness


def _two_ordinary(a: str, b: str) -> bool:
    """Two words of the language that are more than a slip apart: furniture, fixture."""
    if not (lists.english(a) and lists.english(b)):
        return False
    return a[:6] != b[:6] and OSA.distance(a, b) > 1


def _spelling(a: str, b: str) -> float:
    """By letters (Damerau-Levenshtein distance, OSA) and by sound (phonetic key)."""
    longest = max(len(a), len(b))
    written = OSA.distance(a, b)
    sa, sb = transliteration.sound(a), transliteration.sound(b)
    if sa and sa == sb:
        return max(0.92, 1 - written / longest / 2)
    spoken = OSA.distance(sa, sb) + 0.4
    # A slip at the first letter is rarer than a slip later.
    other_start = 0.0 if a[0] == b[0] or sa[:1] == sb[:1] else 0.3
    slips = min(written, max(spoken, written / 2))
    return max(0.0, 1 - (slips + other_start) / longest)


def _consonants(a: str, b: str) -> float:
    """By consonants only, for words that came from a script that writes few vowels or
    other ones.
    """
    x, y = (
        transliteration.skeleton(word.replace("w", "u").replace("y", "i"))
        for word in (a, b)
    )
    x, y = (x.lstrip("a"), y.lstrip("a")) if x[:1] != y[:1] else (x, y)
    if min(len(x), len(y)) < 2:
        same_short = x == y and x and max(len(a), len(b)) < 4
        return 0.8 if same_short else 0.0
    return 0.9 * (1 - OSA.distance(x, y) / max(len(x), len(y)))


def _two_given(a: str, b: str, likeness: float) -> float:
    """Two known given names are two people, unless they are one name in two spellings;
    Paolo is not Paola.
    """
    sa, sb = transliteration.sound(a), transliteration.sound(b)
    if sa == sb:
        return likeness
    other_consonants = transliteration.skeleton(a) != transliteration.skeleton(b)
    if other_consonants or len(a) < _SHORTEST_GIVEN:
        return likeness * 0.75
    ends = {_last_vowel(sa), _last_vowel(sb)}
    if len(ends) == 1:
        return likeness
    return likeness * (0.6 if "a" in ends else 0.9)


def _last_vowel(spoken: str) -> str:
    """The vowel that tells Paolo from Paola, if a name ends with one."""
    last = spoken[-1:]
    return last if last in ("a", "o", "e") else ""


# ----------------------------------------------------------------------------- pairing


class AlignedPair(NamedTuple):
    """Words of one name (from, to) that are words of the other, how alike they are, and
    what the pair is worth: the likeness times the weight of the words.
    """

    a: tuple[int, int]
    b: tuple[int, int]
    score: float
    value: float
    shift: int = 0  # how many places apart
    initial: bool = False


def align(a: Sequence[Word], b: Sequence[Word], *, person: bool) -> list[AlignedPair]:
    """The best pairs first, each word once. Neighbours may be one word on the other
    side: Alex and ra.
    """
    pairs = _single_pairs(a, b, person)
    pairs += _joined_pairs(a, b, person, swapped=False)
    pairs += _joined_pairs(b, a, person, swapped=True)
    pairs.sort(key=_rank)
    used_a: set[int] = set()
    used_b: set[int] = set()
    kept: list[AlignedPair] = []
    for pair in pairs:
        places_a, places_b = range(*pair.a), range(*pair.b)
        if used_a.isdisjoint(places_a) and used_b.isdisjoint(places_b):
            used_a.update(places_a)
            used_b.update(places_b)
            kept.append(pair)
    return kept


def _rank(
    pair: AlignedPair,
) -> tuple[float, int, int, tuple[int, int], tuple[int, int]]:
    """The order of pairs: the most worth, then the nearest, then the first."""
    return -pair.value, pair.shift, pair.a[0] + pair.b[0], pair.a, pair.b


def _single_pairs(
    a: Sequence[Word], b: Sequence[Word], person: bool
) -> list[AlignedPair]:
    """One word of `a` that is one of `b`. An initial tells as little as it weighs."""
    pairs: list[AlignedPair] = []
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            score = word_similarity(x.text, y.text, person, x.foreign or y.foreign)
            if score < _LEAST_SIMILAR:
                continue
            initial = len(x.text) == 1 or len(y.text) == 1
            weight = min(x.weight, y.weight) if initial else max(x.weight, y.weight)
            pairs.append(
                AlignedPair(
                    (i, i + 1),
                    (j, j + 1),
                    score,
                    score * weight,
                    abs(i - j),
                    initial and score < 1,
                )
            )
    return pairs


def _joined_pairs(
    a: Sequence[Word], b: Sequence[Word], person: bool, *, swapped: bool
) -> list[AlignedPair]:
    """Several words of `a` that are one of `b`. `swapped`: `a` is the second name."""
    pairs: list[AlignedPair] = []
    for start in range(len(a)):
        joined = a[start].text
        for end in range(start + 2, min(len(a), start + _MOST_JOINED) + 1):
            joined += a[end - 1].text
            for j, y in enumerate(b):
                # Joined words are one other word only if they are about as long.
                if len(y.text) < _SHORTEST_JOINED or abs(len(joined) - len(y.text)) > 2:
                    continue
                score = _joined_score(a[start:end], joined, y, person)
                if score == 0.0:
                    continue
                weight = max(y.weight, sum(word.weight for word in a[start:end]))
                value = score * weight * _JOINED_GAIN
                first, second = (start, end), (j, j + 1)
                if swapped:
                    first, second = second, first
                pairs.append(AlignedPair(first, second, score, value))
    return pairs


def _joined_score(
    parts: Sequence[Word], joined: str, whole: Word, person: bool
) -> float:
    """How alike joined words and one word are; 0 where one part alone does as well."""
    foreign = parts[0].foreign or whole.foreign
    score = word_similarity(joined, whole.text, person, foreign)
    alone = max(word_similarity(part.text, whole.text, person, False) for part in parts)
    if score == 1:
        return score
    better = score > alone + _BETTER_THAN_ALONE
    return score if score >= _LEAST_JOINED and better else 0.0
