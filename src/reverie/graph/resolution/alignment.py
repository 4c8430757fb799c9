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

Words = Sequence[Word]
Span = tuple[int, int]  # places of words: from, to

# All set by hand with the pairs of bench/names.py in view (docs/decisions/0015).
_LEAST_SIMILAR = 0.62
_SHORTEST_GIVEN = 4  # letters; below it two given names are two people
_SHORTEST_JUMBLED = 5  # letters
_KNOWN_GIVEN = 2  # how common a given name has to be in privacy's list to be known
INITIAL = 0.8  # J. and John
NICKNAME = 0.85  # Bill and William
JUMBLED = 0.8  # the same letters in another order
_LEAST_SAME_SOUND = 0.92  # of two words that sound the same
_SOUND_LOSS = 0.4  # slips; letters that sound alike are not the same letters
_OTHER_START = 0.3  # slips
_SAME_CONSONANTS = 0.9
_SAME_SHORT_CONSONANTS, _SHORT_CONSONANTS = 0.8, 4  # of words of fewer letters
# Of the similarity of two given names is left: other ones, Paolo and Paola, other ends.
_OTHER_GIVEN, _OTHER_GENDER, _OTHER_END = 0.75, 0.6, 0.9
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
    shorter, longer = (b, a) if len(a) > len(b) else (a, b)
    if len(shorter) == 1:
        return _initial(shorter, longer) if person else 0.0
    if _any_digit(shorter, longer):
        return 0.0
    likeness = _spelling(shorter, longer)
    if foreign:
        likeness = max(likeness, _consonants(shorter, longer))
    if _jumbled(shorter, longer):
        likeness = max(likeness, JUMBLED)
    if person:
        return _of_persons(shorter, longer, likeness)
    return _of_things(shorter, longer, likeness)


def _initial(letter: str, name: str) -> float:
    """What an initial says of a name."""
    return INITIAL if name.startswith(letter) else 0.0


def _jumbled(a: str, b: str) -> bool:
    """Whether two words are the same letters in another order."""
    if len(a) != len(b) or len(a) < _SHORTEST_JUMBLED:
        return False
    return sorted(a) == sorted(b)


def _any_digit(a: str, b: str) -> bool:
    """Whether either word has a digit in it."""
    if a.isalpha() and b.isalpha():
        return False
    return any(map(str.isdigit, a + b))


def _of_persons(a: str, b: str, likeness: float) -> float:
    """What a given name says more than its letters; `a` is the shorter."""
    if _only_one_patronymic(a, b):
        return 0.0  # Pyotr is not Petrovich
    if _known_given(a) and _known_given(b):
        likeness = min(likeness, _two_given(a, b, likeness))
    if given_names.same_name(a, b):
        return max(likeness, NICKNAME)
    return likeness


def _known_given(word: str) -> bool:
    """Whether a word is a common given name."""
    return lists.given(word) >= _KNOWN_GIVEN


def _only_one_patronymic(a: str, b: str) -> bool:
    """Whether the longer name, `b`, is a patronymic, and the shorter is none."""
    if len(b) - len(a) <= 2 or a in tables.PARTICLES:
        return False
    return bool(_PATRONYMIC.search(b)) and not _PATRONYMIC.search(a)


def _of_things(a: str, b: str, likeness: float) -> float:
    """Two places, or two words of the language, are two by a few letters."""
    if lists.place(a) and lists.place(b):
        return likeness * _TWO_PLACES
    if _two_ordinary(a, b):
        return likeness * _TWO_ORDINARY_WORDS
    return likeness


def _two_ordinary(a: str, b: str) -> bool:
    """Two words of the language that are more than a slip apart: furniture, fixture."""
    if not (lists.english(a) and lists.english(b)):
        return False
    return a[:6] != b[:6] and OSA.distance(a, b) > 1


def _spelling(a: str, b: str) -> float:
    """By letters (Damerau-Levenshtein distance, OSA) and by sound (phonetic key)."""
    longest = max(len(a), len(b))
    written = OSA.distance(a, b)
    sound_a = transliteration.sound(a)
    sound_b = transliteration.sound(b)
    if sound_a and sound_a == sound_b:
        return max(_LEAST_SAME_SOUND, 1 - written / longest / 2)
    spoken = OSA.distance(sound_a, sound_b) + _SOUND_LOSS
    slips = min(written, max(spoken, written / 2))
    # A slip at the first letter is rarer than a slip later.
    if a[0] != b[0] and sound_a[:1] != sound_b[:1]:
        slips += _OTHER_START
    return max(0.0, 1 - slips / longest)


def _consonants(a: str, b: str) -> float:
    """By consonants only, for words that came from a script that writes few vowels or
    other ones.
    """
    x = _loose_skeleton(a)
    y = _loose_skeleton(b)
    if x[:1] != y[:1]:
        x = x.lstrip("a")
        y = y.lstrip("a")
    if min(len(x), len(y)) >= 2:
        slips = OSA.distance(x, y)
        return _SAME_CONSONANTS * (1 - slips / max(len(x), len(y)))
    if x and x == y and max(len(a), len(b)) < _SHORT_CONSONANTS:
        return _SAME_SHORT_CONSONANTS
    return 0.0


def _loose_skeleton(word: str) -> str:
    """The consonants of a word, with w and y as the vowels they may stand for."""
    vowels = word.replace("w", "u").replace("y", "i")
    return transliteration.skeleton(vowels)


def _two_given(a: str, b: str, likeness: float) -> float:
    """Two known given names are two people, unless they are one name in two spellings;
    Paolo is not Paola.
    """
    sound_a = transliteration.sound(a)
    sound_b = transliteration.sound(b)
    if sound_a == sound_b:
        return likeness
    if len(a) < _SHORTEST_GIVEN:
        return likeness * _OTHER_GIVEN
    if transliteration.skeleton(a) != transliteration.skeleton(b):
        return likeness * _OTHER_GIVEN
    end_a = _last_vowel(sound_a)
    end_b = _last_vowel(sound_b)
    if end_a == end_b:
        return likeness
    return likeness * (_OTHER_GENDER if "a" in (end_a, end_b) else _OTHER_END)


def _last_vowel(spoken: str) -> str:
    """The vowel that tells Paolo from Paola, if a name ends with one."""
    last = spoken[-1:]
    return last if last in ("a", "o", "e") else ""


# ----------------------------------------------------------------------------- pairing


class AlignedPair(NamedTuple):
    """Words of one name (from, to) that are words of the other, how alike they are, and
    what the pair is worth: the likeness times the weight of the words.
    """

    a: Span
    b: Span
    score: float
    value: float
    shift: int = 0  # how many places apart
    initial: bool = False


def align(a: Words, b: Words, *, person: bool) -> list[AlignedPair]:
    """The best pairs first, each word once. Neighbours may be one word on the other
    side: Alex and ra.
    """
    pairs = _single_pairs(a, b, person)
    pairs += _joined_pairs(a, b, person, swapped=False)
    pairs += _joined_pairs(b, a, person, swapped=True)
    pairs.sort(key=_rank)
    return _each_word_once(pairs)


def _each_word_once(pairs: Sequence[AlignedPair]) -> list[AlignedPair]:
    """The pairs but those with a word that a pair before them has (greedy)."""
    used_a: set[int] = set()
    used_b: set[int] = set()
    kept: list[AlignedPair] = []
    for pair in pairs:
        places_a = range(*pair.a)
        places_b = range(*pair.b)
        if used_a.isdisjoint(places_a) and used_b.isdisjoint(places_b):
            used_a.update(places_a)
            used_b.update(places_b)
            kept.append(pair)
    return kept


def _rank(pair: AlignedPair) -> tuple[float, int, int, Span, Span]:
    """The order of pairs: the most worth, then the nearest, then the first."""
    first = pair.a[0] + pair.b[0]
    return -pair.value, pair.shift, first, pair.a, pair.b


def _single_pairs(a: Words, b: Words, person: bool) -> list[AlignedPair]:
    """One word of `a` that is one of `b`."""
    pairs: list[AlignedPair] = []
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            foreign = x.foreign or y.foreign
            score = word_similarity(x.text, y.text, person, foreign)
            if score >= _LEAST_SIMILAR:
                pairs.append(_single_pair(i, x, j, y, score))
    return pairs


def _single_pair(i: int, x: Word, j: int, y: Word, score: float) -> AlignedPair:
    """A pair of two words and their places. An initial tells as little as it weighs."""
    initial = len(x.text) == 1 or len(y.text) == 1
    lighter, heavier = sorted((x.weight, y.weight))
    weight = lighter if initial else heavier
    return AlignedPair(
        a=(i, i + 1),
        b=(j, j + 1),
        score=score,
        value=score * weight,
        shift=abs(i - j),
        initial=initial and score < 1,
    )


def _joined_pairs(
    a: Words, b: Words, person: bool, *, swapped: bool
) -> list[AlignedPair]:
    """Several words of `a` that are one of `b`. `swapped`: `a` is the second name."""
    pairs: list[AlignedPair] = []
    for start, end in _neighbours(len(a)):
        parts = a[start:end]
        joined = "".join([part.text for part in parts])
        for j, y in enumerate(b):
            if not _about_as_long(joined, y.text):
                continue
            score = _joined_score(parts, joined, y, person)
            if score == 0.0:
                continue
            value = score * _joined_weight(parts, y) * _JOINED_GAIN
            whole = (j, j + 1)
            if swapped:
                pairs.append(AlignedPair(whole, (start, end), score, value))
            else:
                pairs.append(AlignedPair((start, end), whole, score, value))
    return pairs


@lru_cache(maxsize=100)
def _neighbours(count: int) -> Sequence[Span]:
    """The runs of neighbours among so many words that are joined."""
    runs: list[Span] = []
    for start in range(count - 1):
        last = min(count, start + _MOST_JOINED)
        runs.extend((start, end) for end in range(start + 2, last + 1))
    return runs


def _about_as_long(joined: str, word: str) -> bool:
    """Joined words are one other word only if they are about as long."""
    if len(word) < _SHORTEST_JOINED:
        return False
    return abs(len(joined) - len(word)) <= 2


def _joined_weight(parts: Words, whole: Word) -> float:
    """The weight of the words that are joined, or of the one word if it is more."""
    weight = sum(part.weight for part in parts)
    return max(whole.weight, weight)


def _joined_score(parts: Words, joined: str, whole: Word, person: bool) -> float:
    """How alike joined words and one word are; 0 where one part alone does as well."""
    foreign = parts[0].foreign or whole.foreign
    score = word_similarity(joined, whole.text, person, foreign)
    if score == 1:
        return score
    if score < _LEAST_JOINED:
        return 0.0
    alone = max(word_similarity(part.text, whole.text, person, False) for part in parts)
    return score if score > alone + _BETTER_THAN_ALONE else 0.0
