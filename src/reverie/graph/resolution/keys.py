"""Entity resolution by names: the key of an entity, and the similarity of two names."""

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from typing import NamedTuple
from uuid import UUID

from rapidfuzz.distance import OSA, JaroWinkler

from reverie.graph.resolution import alignment, parsing
from reverie.graph.resolution.parsing import Name
from reverie.graph.resolution.transliteration import identity, normalised
from reverie.privacy import lists

__all__ = ["SAME", "Features", "features", "key", "normalised", "same", "similarity"]

Words = Sequence[parsing.Word]
Pairs = Sequence[alignment.AlignedPair]
Span = alignment.Span

SAME = 0.5  # from here on a merge is suggested (docs/decisions/0015)


def key(user_id: UUID, kind: str, name: str) -> str:
    """The key of an entity: the same for the same user, kind and name (but for case,
    accents and spaces), and for nothing else.
    """
    whole = f"{user_id}\x1f{kind}\x1f{identity(name)}"
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


class Features(NamedTuple):
    """What speaks for and against two names being of one, each 0..1."""

    shorter: float = 0.0  # share of the shorter name that is found in the longer
    longer: float = 0.0
    conflict: float = 0.0  # what both have that the other has not
    extra: float = 0.0  # what only one has
    worst: float = 0.0  # how far apart the least alike pair is
    initials: float = 0.0
    bare: float = 0.0  # nothing but initials and particles agree
    added: float = 0.0  # all of one is in the other, which has more
    thin: float = 0.0  # little of a name is left to compare
    reordered: float = 0.0
    clash: float = 0.0  # an initial that is not the other's
    whole: float = 0.0  # letter by letter, spaces and order aside
    numbers: float = 0.0
    number_extra: float = 0.0
    form: float = 0.0
    acronym: float = 0.0
    given: float = 0.0


class _Model(NamedTuple):
    """A logistic model: the weight of each feature, and the score without any."""

    weights: Features
    intercept: float


# How much each feature counts: near what a logistic regression on the given pairs found;
# where the product's rules say more than the pairs do (numbers, order, legal forms, a
# given name alone), the rules. See docs/decisions/0015, measured by bench/names.py.
_PERSON = _Model(
    Features(
        shorter=1.0,
        longer=1.6,
        conflict=-2.8,
        extra=-1.6,
        worst=-1.5,
        initials=-1.0,
        added=0.7,
        thin=-1.6,
        reordered=-3.5,
        clash=-2.5,
        whole=0.5,
        numbers=-2.0,
        number_extra=-1.0,
        given=-2.2,
    ),
    intercept=0.0,
)
_THING = _Model(
    Features(
        shorter=1.0,
        longer=2.5,
        conflict=-3.2,
        extra=-0.6,
        worst=-1.8,
        added=-1.5,
        thin=0.3,
        whole=1.9,
        numbers=-2.0,
        number_extra=-3.0,
        form=-3.2,
    ),
    intercept=-2.7,
)
# Three things are rules and not weights (docs/decisions/0015): initials alone and other
# numbers stay under SAME, an acronym of the other name is over it.
_MOST_BARE, _LEAST_ACRONYM, _MOST_OTHER_NUMBERS = 0.3, 0.6, 0.45
_MOST_UNEQUAL = 1 - 1e-4  # only names that are looked up alike are 1
# What two legal forms say against each other: translations of one another, or not.
_SAME_FORM_FAMILY, _OTHER_FORM_FAMILY = 0.3, 1.0
_REORDERED_OTHERS = 0.4  # two words in another order, not both given names
_JARO_WINKLER_LOSS = 0.08  # it is that much kinder than the Levenshtein distance


def similarity(a: str, b: str, *, kind: str = "person") -> float:
    """How likely two names are of one, 0..1. From SAME on a merge may be suggested,
    never made: see `key` for that.

    A logistic model of the features of the two names, with three rules on top
    (docs/decisions/0015). The order of the names does not matter.
    """
    if a == b or normalised(a) == normalised(b):
        return 1.0
    first, second = sorted((a, b))
    return _similarity(first, second, kind.casefold() == "person")


@lru_cache(maxsize=50_000)
def _similarity(a: str, b: str, person: bool) -> float:
    """`similarity` of two names in their order, remembered."""
    values = features(a, b, person)
    score = _modelled(values, _PERSON if person else _THING)
    if person and values.bare:
        score = min(score, _MOST_BARE)
    if values.acronym:
        score = max(score, _LEAST_ACRONYM)
    if values.numbers:
        score = min(score, _MOST_OTHER_NUMBERS)
    return min(score, _MOST_UNEQUAL)


def _modelled(values: Features, model: _Model) -> float:
    """The probability that a logistic model gives."""
    weighted = map(mul, model.weights, values)
    total = model.intercept + sum(weighted)
    return 1 / (1 + math.exp(-total))


def same(a: str, b: str, *, kind: str = "person") -> bool:
    """Whether a merge of two names of one kind is worth suggesting."""
    return similarity(a, b, kind=kind) >= SAME


def features(a: str, b: str, person: bool) -> Features:
    """The features of two names."""
    parse = parsing.person if person else parsing.thing
    x = parse(a)
    y = parse(b)
    if not x.words or not y.words:
        return Features(conflict=1.0, worst=1.0)
    aligned = _align(x, y, person)
    left_weight = _total(aligned.left)
    right_weight = _total(aligned.right)
    numbers, number_extra = _numbers(x.numbers, y.numbers)
    by_kind = _person_only(aligned) if person else _thing_only(x, y)
    return Features(
        shorter=max(aligned.share_x, aligned.share_y),
        longer=min(aligned.share_x, aligned.share_y),
        conflict=min(1.0, left_weight, right_weight),
        extra=min(1.0, abs(left_weight - right_weight) / 2),
        worst=_worst(x, aligned.pairs),
        initials=_initials(aligned.pairs),
        bare=_bare(x, aligned.pairs),
        added=_added(left_weight, right_weight),
        thin=by_kind.thin,
        reordered=by_kind.reordered,
        clash=by_kind.clash,
        whole=_whole(x, y),
        numbers=numbers,
        number_extra=number_extra,
        form=_forms(x, y),
        acronym=by_kind.acronym,
        given=by_kind.given,
    )


class _Aligned(NamedTuple):
    """Two names, the pairs of their words, and the words that are in no pair."""

    x: Name
    y: Name
    pairs: Pairs
    left: Words  # of x
    right: Words  # of y
    share_x: float  # of x that is found in y, by weight
    share_y: float


def _align(x: Name, y: Name, person: bool) -> _Aligned:
    """The words of two names side by side."""
    pairs = alignment.align(x.words, y.words, person=person)
    parts_x = [pair.a for pair in pairs]
    parts_y = [pair.b for pair in pairs]
    return _Aligned(
        x,
        y,
        pairs,
        left=_unmatched(x, parts_x),
        right=_unmatched(y, parts_y),
        share_x=_matched_share(x, parts_x, pairs),
        share_y=_matched_share(y, parts_y, pairs),
    )


class _KindOnly(NamedTuple):
    """The features that only names of persons have, or only names of things, and the
    one that each kind has its own rule for.
    """

    thin: float
    reordered: float = 0.0
    clash: float = 0.0
    given: float = 0.0
    acronym: float = 0.0


def _person_only(aligned: _Aligned) -> _KindOnly:
    """What only names of persons say."""
    x, y, pairs, left, right, *_ = aligned
    return _KindOnly(
        thin=_thin_person(x, y),
        reordered=_reordered(x, y, pairs),
        clash=_clash(left, right),
        given=_given(left, right),
    )


def _thing_only(x: Name, y: Name) -> _KindOnly:
    """What only names of things say."""
    return _KindOnly(
        thin=_thin_thing(x, y),
        acronym=max(_acronym(x, y), _acronym(y, x)),
    )


def _unmatched(name: Name, parts: Sequence[Span]) -> Words:
    """The words that are in none of the parts of a name."""
    matched: set[int] = set()
    for part in parts:
        matched.update(range(*part))
    rest: list[parsing.Word] = []
    for place, word in enumerate(name.words):
        if place not in matched:
            rest.append(word)
    return rest


def _matched_share(name: Name, parts: Sequence[Span], pairs: Pairs) -> float:
    """The share of a name that its pairs have, by weight and likeness."""
    matched = [
        pair.score * _weight(name, part)
        for pair, part in zip(pairs, parts, strict=True)
    ]
    return sum(matched) / name.weight


def _total(words: Words) -> float:
    """The weight of some words."""
    return sum(word.weight for word in words)


def _words_of(name: Name, part: Span) -> Words:
    """The words of a part of a name."""
    start, stop = part
    return name.words[start:stop]


def _weight(name: Name, part: Span) -> float:
    """The weight of a part of a name."""
    return _total(_words_of(name, part))


def _worst(name: Name, pairs: Pairs) -> float:
    """How far apart the least alike pair is, particles aside: 0 to 6."""
    least = 1.0
    for pair in pairs:
        if _weight(name, pair.a) > parsing.PARTICLE:
            least = min(least, pair.score)
    return (1 - least) ** 2 * 6


def _initials(pairs: Pairs) -> float:
    """The share of pairs that are of an initial."""
    if not pairs:
        return 0.0
    initials = sum(pair.initial for pair in pairs)
    return initials / len(pairs)


def _bare(name: Name, pairs: Pairs) -> float:
    """Whether nothing but initials and particles agree."""
    for pair in pairs:
        if _tells(name, pair):
            return 0.0
    return 1.0


def _tells(name: Name, pair: alignment.AlignedPair) -> bool:
    """Whether a pair is of more than initials and particles."""
    if pair.initial:
        return False
    return any(map(_full, _words_of(name, pair.a)))


def _full(word: parsing.Word) -> bool:
    """Whether a word is more than an initial or a particle."""
    return len(word.text) > 1 and word.weight > parsing.PARTICLE


def _added(left_weight: float, right_weight: float) -> float:
    """Whether all of one name is in the other, which has more."""
    less, more = sorted((left_weight, right_weight))
    return 1.0 if less < 0.1 < more else 0.0


def _clash(left: Words, right: Words) -> float:
    """Whether an initial stands against another one, or against a name that begins with
    another letter.
    """
    a = _texts_but_particles(left)
    b = _texts_but_particles(right)
    if not a or not b:
        return 0.0
    lengths = map(len, a + b)
    return 1.0 if 1 in lengths else 0.0


def _texts_but_particles(words: Words) -> list[str]:
    """The words that are no particles, as they are written."""
    return [word.text for word in words if word.weight > parsing.PARTICLE]


def _full_words(name: Name) -> int:
    """How many words of a name are more than an initial or a particle."""
    return sum(map(_full, name.words))


def _thin_thing(x: Name, y: Name) -> float:
    """Whether one name is one word only."""
    fewest = min(_full_words(x), _full_words(y))
    return 1.0 if fewest < 2 else 0.0


def _thin_person(x: Name, y: Name) -> float:
    """Whether one name is a given name only, which many have."""
    # The word itself decides, not the order: of two single words either may be the
    # given name.
    for name in (x, y):
        if _full_words(name) < 2 and _any_given_name(name):
            return 1.0
    return 0.0


def _any_given_name(name: Name) -> bool:
    """Whether a word is a given name rather than a family name."""
    return any(lists.given(word.text) > lists.family(word.text) for word in name.words)


def _reordered(x: Name, y: Name, pairs: Pairs) -> float:
    """Two given names in another order, with no comma to say why: Oskar Emil is not
    Emil Oskar.
    """
    if x.family_first or y.family_first:
        return 0.0
    if not len(x.words) == len(y.words) == len(pairs) == 2:
        return 0.0
    for pair in pairs:
        if pair.a == pair.b:
            return 0.0
    first, second = x.words
    both = _mostly_given(first.text) and _mostly_given(second.text)
    return 1.0 if both else _REORDERED_OTHERS


def _mostly_given(word: str) -> bool:
    """Whether a word is a given name that few families have."""
    return lists.given(word) > 0 and lists.family(word) <= 3


def _whole(x: Name, y: Name) -> float:
    """Letter by letter, spaces aside, in this order or sorted."""
    a = x.texts
    b = y.texts
    as_written = _letters("".join(a), "".join(b))
    a.sort()
    b.sort()
    in_order = _letters("".join(a), "".join(b))
    return max(as_written, in_order)


def _letters(a: str, b: str) -> float:
    """The better of Levenshtein (OSA) and Jaro-Winkler similarity, 0..1."""
    longest = max(len(a), len(b))
    levenshtein = 1 - OSA.distance(a, b) / longest
    jaro_winkler = JaroWinkler.similarity(a, b) - _JARO_WINKLER_LOSS
    return max(levenshtein, jaro_winkler)


def _numbers(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[float, float]:
    """Whether both have numbers that differ; whether only one has."""
    if a == b:
        return 0.0, 0.0
    if a and b:
        return 1.0, 0.0
    return 0.0, 1.0


def _forms(x: Name, y: Name) -> float:
    """How much two legal forms contradict each other."""
    if not x.form or not y.form or x.form == y.form:
        return 0.0
    if "corporation" in (x.family, y.family):
        return 0.0
    return _SAME_FORM_FAMILY if x.family == y.family else _OTHER_FORM_FAMILY


def _acronym(x: Name, y: Name) -> float:
    """BBC, British Broadcasting Corporation."""
    if not x.capitals or len(y.words) < 2:
        return 0.0
    letters = "".join(word.text[0] for word in y.words)
    if letters == x.capitals:
        return 1.0
    if len(x.capitals) <= 2:
        return 0.0
    return 1.0 if letters.startswith(x.capitals) else 0.0


def _given(left: Words, right: Words) -> float:
    """Whether what is left over on both sides are given names: other people of the
    family.
    """
    return 1.0 if _any_given(left) and _any_given(right) else 0.0


def _any_given(words: Words) -> bool:
    """Whether a given name is among some words."""
    return any(len(word.text) > 1 and lists.given(word.text) for word in words)
