"""Hostile texts for a regular expression, made of what its own grammar says: samples cut
short, runs of what repeats, and tails by which they match nothing.
"""

import importlib
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Text = Callable[[int], str]

# The standard library's own grammar of patterns, which is no public module.
codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_LONG = 8  # a repeat of so many may be a run
_SIGNS = "a1 -.@x_/A\n:é"
_TAILS = ("", "\n", "!", "1", "_", "é", " a\n")
_OF_CATEGORY: dict[Any, str] = {
    codes.CATEGORY_DIGIT: "1234567890",
    codes.CATEGORY_NOT_DIGIT: "ax -",
    codes.CATEGORY_SPACE: " \n\t",
    codes.CATEGORY_NOT_SPACE: "a1-.",
    codes.CATEGORY_WORD: "ab1_éxA",
    codes.CATEGORY_NOT_WORD: " -.@/:\n",
}


def texts(pattern: re.Pattern[str], seed: int = 0) -> Iterator[Text]:
    """Hostile texts of any size for a pattern, the same for the same seed."""
    chance = random.Random(f"{seed} {pattern.pattern}")
    tree: Any = parser.parse(pattern.pattern, pattern.flags)
    sample = _sample(tree, chance)
    yield _many(sample)
    yield _many(sample[: max(1, len(sample) * 2 // 3)])
    yield _many(sample[chance.randrange(len(sample) or 1) :])
    for before, repeat in _runs(tree):
        head = _sample(before, chance)
        body = _sample(repeat, chance) or "a"
        tail = chance.choice(_TAILS)
        yield _many(body, head=head, tail=tail)
        yield _many(head + body * chance.randint(2, 30) + tail)


class _InTurn(random.Random):
    """A chance that takes what a pattern chooses from in turn: all of it in a while."""

    extra = 2

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self._turns = Counter[int]()

    def next_of(self, choices: Sequence[Any]) -> Any:
        """The next one of some choices in a tree of a pattern."""
        turn = self._turns[id(choices)]
        self._turns[id(choices)] += 1
        return choices[turn % len(choices)]


class _Longest(_InTurn):
    """By this all that repeats does so as often as it may, up to a limit."""

    extra = 64

    def randint(self, a: int, b: int) -> int:
        return max(a, b)


def samples(pattern: re.Pattern[str], count: int) -> Iterator[str]:
    """Texts that a pattern matches, but for what it looks around for; every second as
    long a one as its bounded repeats allow. The same each time.
    """
    tree: Any = parser.parse(pattern.pattern, pattern.flags)
    chances = [_InTurn(pattern.pattern), _Longest(pattern.pattern)]
    for number in range(count):
        yield _sample(tree, chances[number % 2])


def _next_of(choices: Sequence[Any], chance: random.Random) -> Any:
    if isinstance(chance, _InTurn):
        return chance.next_of(choices)
    return chance.choice(choices)


def _many(piece: str, *, head: str = "", tail: str = "") -> Text:
    piece = piece or "a"
    return lambda size: head + piece * (size // len(piece) + 1) + tail


def _runs(items: Any, before: Sequence[Any] = ()) -> Iterator[tuple[list[Any], Any]]:
    """Each long repeat of a pattern, with what stands before it."""
    met = list(before)
    for item in items:
        code, value = item
        if code in _REPEATS:
            _, most, body = value
            if most is codes.MAXREPEAT or most >= _LONG:
                yield list(met), body
            yield from _runs(body, met)
        elif code is codes.SUBPATTERN:
            yield from _runs(value[-1], met)
        elif code is codes.ATOMIC_GROUP:
            yield from _runs(value, met)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _runs(branch, met)
        met.append(item)


def _sample(items: Any, chance: random.Random) -> str:
    """A text that items of a pattern match, but for what they look around for."""
    groups: dict[int, str] = {}
    return "".join(_piece(item, chance, groups) for item in items)


def _piece(item: Any, chance: random.Random, groups: dict[int, str]) -> str:
    code, value = item
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.NOT_LITERAL:
        return _other_than({chr(value)}, chance)
    if code is codes.ANY:
        return chance.choice("a1 -")
    if code is codes.IN:
        return _of_class(value, chance)
    if code is codes.BRANCH:
        return _inside(_next_of(value[1], chance), chance, groups)
    if code is codes.SUBPATTERN:
        said = _inside(value[-1], chance, groups)
        groups[value[0] or 0] = said
        return said
    if code is codes.GROUPREF:
        return groups.get(value, "")
    if code is codes.ATOMIC_GROUP:
        return _inside(value, chance, groups)
    if code in _REPEATS:
        least, most, body = value
        extra = getattr(chance, "extra", 2)
        times = chance.randint(least, min(most, least + extra))
        return "".join(_inside(body, chance, groups) for _ in range(times))
    return ""


def _inside(items: Any, chance: random.Random, groups: dict[int, str]) -> str:
    return "".join(_piece(item, chance, groups) for item in items)


def _of_class(members: Any, chance: random.Random) -> str:
    """A sign of a class."""
    if members[0][0] is codes.NEGATE:
        return _other_than(set("".join(map(_signs_of, members[1:]))), chance)
    return chance.choice(_signs_of(_next_of(members, chance)) or "a")


def _signs_of(member: Any) -> str:
    code, value = member
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.RANGE:
        first, last = value
        return "".join(map(chr, range(first, min(last, first + 60) + 1)))
    return _OF_CATEGORY.get(value, "a")


def _other_than(signs: set[str], chance: random.Random) -> str:
    return chance.choice([sign for sign in _SIGNS if sign not in signs] or ["\u4e2d"])
