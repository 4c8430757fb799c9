"""PII detection of known values: a gazetteer of the owner's contacts, however spelt."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from reverie.privacy import folding, lists, spans

_WORD = re.compile(r"[^\W_]+(?:['-][^\W\d_]+)*")
_NOT_DIGITS = re.compile(r"\D")
# Five digits or more in any spacing.
_NUMBER = re.compile(r"(?<!\w)\+?\(?\d(?:[ .\-/()]{0,3}\d){4,}")
_FEWEST_DIGITS = 5
# What is longer is written as it is, and in no other way.
_MOST_WORDS_OF_NAME = 20
# Numbers that differ by a country code or a trunk zero share so many digits at least.
_FEWEST_SHARED_DIGITS = 7
_MOST_DIGITS_BEFORE = 4
_MOST_DIGITS_AROUND = 6
_PARTICLES = frozenset(
    """
    de del la las los y e da do dos das van von der den di du le zu al el
    """.split()  # noqa: SIM905 -- a list of words reads better as a text
)
_SCORE = 1.0
# A given name of fewer countries than this is a word first.
_COMMON_FROM_COUNTRIES = 5
# Common given names that are words first.
_WORDS_FIRST = frozenset(
    """
    will may mark bill art pat rose grace hope faith joy dawn june april august summer rich frank jack
    rob sue drew grant chase miles max dean guy lane page penny ray skip wade gene dale glen ivy lily
    ruby pearl sol luna cruz dolores
    """.split()  # noqa: SIM905 -- a list of words reads better as a text
)


@dataclass(frozen=True, slots=True)
class ValueForm:
    """One way to write a known value, as folded words, and its kind."""

    words: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class KnownValueIndex:
    """Forms of values by their first word, the longest first; kinds by the digits of
    values that are compared without separators; and the pattern of such numbers.
    """

    by_word: dict[str, tuple[ValueForm, ...]]
    by_digits: dict[str, str]
    numbers: re.Pattern[str] | None


class _Word(NamedTuple):
    """A word of a text: where it lies, and its folded form."""

    start: int
    end: int
    plain: str


def index(values: Sequence[spans.KnownValue]) -> KnownValueIndex:
    """Known values, ready to be looked for in many texts; the last eight are kept."""
    return _index(tuple(values))


@lru_cache(maxsize=8)
def _index(values: tuple[spans.KnownValue, ...]) -> KnownValueIndex:
    forms: dict[str, dict[tuple[str, ...], str]] = {}
    by_digits: dict[str, str] = {}
    for entry in values:
        value = folding.fold(entry.value).text
        digits = _digits(value)
        if _is_number(value, digits):
            by_digits[digits] = entry.kind
            continue
        words = tuple(folding.plain(word) for word in _WORD.findall(value))
        for form in _forms(words, entry.kind):
            forms.setdefault(form[0], {}).setdefault(form, entry.kind)
    by_word = {word: _longest_first(kinds) for word, kinds in forms.items()}
    return KnownValueIndex(by_word, by_digits, _NUMBER if by_digits else None)


def _digits(text: str) -> str:
    """The digits of a text, one behind the other."""
    return _NOT_DIGITS.sub("", text)


def _is_number(value: str, digits: str) -> bool:
    """Whether at least half of a value is digits, and enough of them."""
    return len(digits) >= _FEWEST_DIGITS and len(digits) * 2 >= len(value.strip())


def _longest_first(kinds: dict[tuple[str, ...], str]) -> tuple[ValueForm, ...]:
    """Forms with more words before those with fewer, and those in the order of their
    letters.
    """
    ordered = sorted(kinds.items(), key=lambda item: (-len(item[0]), item))
    return tuple(ValueForm(words, kind) for words, kind in ordered)


def _forms(words: tuple[str, ...], kind: str) -> Iterator[tuple[str, ...]]:
    """A value as it is, and for people the ways to write their names."""
    letters = "".join(words)
    if len(letters) > 2 and (len(words) > 1 or not _is_trivial(letters)):
        yield words
    if kind == "person" and 1 < len(words) <= _MOST_WORDS_OF_NAME:
        yield from _name_forms(words)


def _name_forms(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Family name first, with initials, and the parts of a name if nobody would take
    them for a word.
    """
    for cut in range(1, len(words)):
        yield (*words[cut:], *words[:cut])
    given, *rest = words
    family = [word for word in rest if word not in _PARTICLES]
    yield (given[0], *rest)
    yield (*rest, given[0])
    yield (given, *_initials(family))
    for part in family:
        yield (given, part)
        yield (part, given)
        yield (given[0], part)
        yield (part, given[0])
    if len(words) > 2:
        middle = _initials(words[1:-1])
        yield (given, *middle, words[-1])
        yield (given[0], *middle, words[-1])
        yield words[1:]
        yield words[:-1]
    for part in (given, *family):
        if not _is_trivial(part):
            yield (part,)


def _initials(words: Sequence[str]) -> list[str]:
    return [word[0] for word in words]


def _is_trivial(word: str) -> bool:
    return len(word) < 3 or word in _PARTICLES


def find(text: str, entries: KnownValueIndex) -> Iterator[spans.FoldedSpan]:
    """Each place where a known value stands. A part that is also a word counts only
    with a capital.
    """
    if entries.by_word:
        yield from _find_words(text, entries)
    if entries.numbers is None:
        return
    for match in entries.numbers.finditer(text):
        kind = _kind_of_number(_digits(match.group()), entries)
        if kind:
            yield spans.FoldedSpan(match.start(), match.end(), kind, _SCORE)


def _find_words(text: str, entries: KnownValueIndex) -> Iterator[spans.FoldedSpan]:
    words = [
        _Word(match.start(), match.end(), folding.plain(match.group()))
        for match in _WORD.finditer(text)
    ]
    at = 0
    while at < len(words):
        form = _longest_form(text, words, at, entries)
        if form is None:
            at += 1
            continue
        first = words[at]
        at += len(form.words)
        end = _end_without_possessive(words[at - 1])
        yield spans.FoldedSpan(first.start, end, form.kind, _SCORE)


def _kind_of_number(digits: str, entries: KnownValueIndex) -> str | None:
    for value, kind in entries.by_digits.items():
        if _same_number(value, digits):
            return kind
    return None


def _end_without_possessive(word: _Word) -> int:
    return word.end - 2 if word.plain.endswith("'s") else word.end


def _same_number(value: str, digits: str) -> bool:
    """Equal but for a country code or the zero before an area code."""
    short, long = sorted((value.lstrip("0"), digits.lstrip("0")), key=len)
    if short == long:
        return True
    if len(short) < _FEWEST_SHARED_DIGITS:
        return False
    longer_by = len(long) - len(short)
    if longer_by <= _MOST_DIGITS_BEFORE and long.endswith(short):
        return True
    return longer_by <= _MOST_DIGITS_AROUND and short in long


def _longest_form(
    text: str, words: Sequence[_Word], at: int, entries: KnownValueIndex
) -> ValueForm | None:
    """The longest form of a known value that stands at this word."""
    first = words[at].plain.removesuffix("'s")
    for form in entries.by_word.get(first, ()):
        passage = words[at : at + len(form.words)]
        if not _is_written(form, passage) or not _is_adjacent(text, passage):
            continue
        if len(passage) == 1 and _is_ordinary_word(form, text[passage[0].start]):
            continue
        return form
    return None


def _is_written(form: ValueForm, passage: Sequence[_Word]) -> bool:
    """Whether the words of a text, whose first is known to fit, are those of a form."""
    if len(passage) < len(form.words):
        return False
    for word, expected in zip(passage[1:], form.words[1:], strict=True):
        if expected not in (word.plain, word.plain.removesuffix("'s")):
            return False
    return True


def _is_adjacent(text: str, passage: Sequence[_Word]) -> bool:
    """Whether only spaces, line ends and a few signs lie between words."""
    return all(
        _is_gap(text[word.end : following.start])
        for word, following in itertools.pairwise(passage)
    )


def _is_gap(gap: str) -> bool:
    return 0 < len(gap) <= 3 and not gap.strip(" ,.'\"-_\n@/")


def _is_ordinary_word(form: ValueForm, initial: str) -> bool:
    """A part of a name that is a word too, in small letters: the word, unless it is a
    common name.
    """
    if form.kind != "person" or not initial.islower():
        return False
    word = form.words[0]
    if not lists.english(word):
        return False
    return word in _WORDS_FIRST or lists.given(word) < _COMMON_FROM_COUNTRIES
