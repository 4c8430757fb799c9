"""Whether two names may be of one: the key of an entity, and a score from which on a
merge is suggested.
"""

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from rapidfuzz.distance import OSA, JaroWinkler

from reverie.graph.resolution import alignment, parsing
from reverie.graph.resolution.parsing import Name
from reverie.graph.resolution.transliteration import normalised
from reverie.privacy import lists

__all__ = ["SAME", "Signs", "key", "normalised", "same", "signs", "similarity"]

SAME = 0.5


def key(user_id: UUID, kind: str, name: str) -> str:
    """The key of an entity: the same for the same user, kind and normalised name, and
    for nothing else.
    """
    return hashlib.sha256(
        f"{user_id}\x1f{kind}\x1f{normalised(name)}".encode()
    ).hexdigest()[:32]


class Signs(NamedTuple):
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
    turned: float = 0.0
    clash: float = 0.0  # an initial that is not the other's
    whole: float = 0.0  # letter by letter, spaces and order aside
    numbers: float = 0.0
    number_extra: float = 0.0
    form: float = 0.0
    acronym: float = 0.0
    given: float = 0.0


# How much each sign counts: near what a logistic regression on the given pairs found;
# where the product's rules say more than the pairs do (numbers, order, legal forms, a
# given name alone), the rules. See docs/decisions/0015.
_PERSON = Signs(
    shorter=1.0, longer=1.6, conflict=-2.8, extra=-1.6, worst=-1.5, initials=-1.0, added=0.7, thin=-1.6, turned=-3.5,
    clash=-2.5, whole=0.5, numbers=-2.0, number_extra=-1.0, given=-2.2,
)  # fmt: skip
_PERSON_START = 0.0
_THING = Signs(
    shorter=1.0, longer=2.5, conflict=-3.2, extra=-0.6, worst=-1.8, added=-1.5, thin=0.3, whole=1.9, numbers=-2.0,
    number_extra=-3.0, form=-3.2,
)  # fmt: skip
_THING_START = -2.7
_BARE, _ACRONYM, _NUMBERS = 0.3, 0.6, 0.45
_FREE = 1 - 1e-4


def similarity(a: str, b: str, *, kind: str = "person") -> float:
    """How likely two names are of one, 0..1. From SAME on a merge may be suggested,
    never made: see `key` for that.
    """
    if a == b or normalised(a) == normalised(b):
        return 1.0
    first, second = sorted((a, b))
    return _similarity(first, second, kind.casefold() == "person")


@lru_cache(maxsize=50_000)
def _similarity(a: str, b: str, person: bool) -> float:
    found = signs(a, b, person)
    weights, start = (_PERSON, _PERSON_START) if person else (_THING, _THING_START)
    total = start + sum(
        weight * sign for weight, sign in zip(weights, found, strict=True)
    )
    score = 1 / (1 + math.exp(-total))
    if person and found.bare:
        score = min(score, _BARE)
    if found.acronym:
        score = max(score, _ACRONYM)
    if found.numbers:
        score = min(score, _NUMBERS)
    return min(score, _FREE)


def same(a: str, b: str, *, kind: str = "person") -> bool:
    """Whether a merge of two names of one kind is worth suggesting."""
    return similarity(a, b, kind=kind) >= SAME


def signs(a: str, b: str, person: bool) -> Signs:
    """The signs of two names."""
    x, y = (
        (parsing.person(a), parsing.person(b))
        if person
        else (parsing.thing(a), parsing.thing(b))
    )
    if not x.words or not y.words:
        return Signs(conflict=1.0, worst=1.0)
    pairs = alignment.pair(x.words, y.words, person=person)
    left = [
        word
        for at, word in enumerate(x.words)
        if not any(p.a[0] <= at < p.a[1] for p in pairs)
    ]
    right = [
        word
        for at, word in enumerate(y.words)
        if not any(p.b[0] <= at < p.b[1] for p in pairs)
    ]
    matched_x = sum(p.score * _weight(x, p.a) for p in pairs)
    matched_y = sum(p.score * _weight(y, p.b) for p in pairs)
    shares = sorted((matched_x / x.weight, matched_y / y.weight))
    over_x, over_y = sum(w.weight for w in left), sum(w.weight for w in right)
    scored = [p.score for p in pairs if _weight(x, p.a) > parsing.PARTICLE]
    initials = sum(p.initial for p in pairs)
    numbers, number_extra = _numbers(x.numbers, y.numbers)
    return Signs(
        shorter=shares[1],
        longer=shares[0],
        conflict=min(1.0, over_x, over_y),
        extra=min(1.0, abs(over_x - over_y) / 2),
        worst=(1 - min(scored, default=1.0)) ** 2 * 6,
        initials=initials / len(pairs) if pairs else 0.0,
        bare=0.0 if any(_tells(x, p) for p in pairs) else 1.0,
        added=1.0 if min(over_x, over_y) < 0.1 < max(over_x, over_y) else 0.0,
        thin=_thin(x, y, person=person),
        turned=_turned(x, y, pairs) if person else 0.0,
        clash=_clash(left, right) if person else 0.0,
        whole=_whole(x, y),
        numbers=numbers,
        number_extra=number_extra,
        form=_forms(x, y),
        acronym=0.0 if person else max(_acronym(x, y), _acronym(y, x)),
        given=_given(left, right) if person else 0.0,
    )


def _weight(name: Name, part: tuple[int, int]) -> float:
    return sum(word.weight for word in name.words[part[0] : part[1]])


def _tells(name: Name, pair: alignment.AlignedPair) -> bool:
    """Whether a pair is of more than initials and particles."""
    part = name.words[pair.a[0] : pair.a[1]]
    return not pair.initial and any(
        len(word.text) > 1 and word.weight > parsing.PARTICLE for word in part
    )


def _clash(left: Sequence[parsing.Word], right: Sequence[parsing.Word]) -> float:
    """Whether an initial stands against another one, or against a name that begins with
    another letter.
    """
    a = [word.text for word in left if word.weight > parsing.PARTICLE]
    b = [word.text for word in right if word.weight > parsing.PARTICLE]
    return 1.0 if a and b and any(len(word) == 1 for word in a + b) else 0.0


def _full(name: Name) -> int:
    return sum(
        len(word.text) > 1 and word.weight > parsing.PARTICLE for word in name.words
    )


def _thin(x: Name, y: Name, *, person: bool) -> float:
    """Whether one name is one word only; for a person, whether that is a given name,
    which many have.
    """
    shorter = min(x, y, key=_full)
    if _full(shorter) > 1 or not person:
        return 1.0 if _full(shorter) < 2 else 0.0
    # The word itself decides, not the order: of two single words either may be the
    # given name.
    alone = [name for name in (x, y) if _full(name) < 2]
    return (
        1.0
        if any(
            lists.given(w.text) > lists.family(w.text)
            for name in alone
            for w in name.words
        )
        else 0.0
    )


def _turned(x: Name, y: Name, pairs: Sequence[alignment.AlignedPair]) -> float:
    """Two given names in another order, with no comma to say why: Oskar Emil is not
    Emil Oskar.
    """
    if (
        x.turned
        or y.turned
        or len(x.words) != 2
        or len(y.words) != 2
        or len(pairs) != 2
    ):
        return 0.0
    if any(p.a == p.b for p in pairs):
        return 0.0
    return (
        1.0
        if all(
            lists.given(word.text) and not lists.family(word.text) > 3
            for word in x.words
        )
        else 0.4
    )


def _whole(x: Name, y: Name) -> float:
    """Letter by letter, spaces aside, in this order or sorted."""
    a, b = ([word.text for word in name.words] for name in (x, y))
    return max(
        _letters("".join(a), "".join(b)),
        _letters("".join(sorted(a)), "".join(sorted(b))),
    )


def _letters(a: str, b: str) -> float:
    return max(
        1 - OSA.distance(a, b) / max(len(a), len(b)),
        JaroWinkler.similarity(a, b) - 0.08,
    )


def _numbers(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[float, float]:
    """Whether both have numbers that differ; whether only one has."""
    if a == b:
        return 0.0, 0.0
    return (1.0, 0.0) if a and b else (0.0, 1.0)


def _forms(x: Name, y: Name) -> float:
    """How much two legal forms contradict each other."""
    if (
        x.form == y.form
        or "corporation" in (x.family, y.family)
        or not x.form
        or not y.form
    ):
        return 0.0
    return 0.3 if x.family == y.family else 1.0


def _acronym(x: Name, y: Name) -> float:
    """BBC, British Broadcasting Corporation."""
    if not x.capitals or len(y.words) < 2:
        return 0.0
    letters = "".join(word.text[0] for word in y.words)
    return (
        1.0
        if letters == x.capitals
        or (len(x.capitals) > 2 and letters.startswith(x.capitals))
        else 0.0
    )


def _given(left: Sequence[parsing.Word], right: Sequence[parsing.Word]) -> float:
    """Whether what is left over on both sides are given names: other people of the
    family.
    """

    def known(words: Sequence[parsing.Word]) -> bool:
        return any(len(word.text) > 1 and lists.given(word.text) for word in words)

    return 1.0 if known(left) and known(right) else 0.0
