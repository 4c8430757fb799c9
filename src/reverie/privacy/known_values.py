"""Values that are known to be personal, the owner's contacts above all, in whatever
spelling they come.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from reverie.privacy import folding, lists, spans

_WORD = re.compile(r"[^\W_]+(?:['-][^\W\d_]+)*")
_PARTICLES = frozenset(
    [
        "de",
        "del",
        "la",
        "las",
        "los",
        "y",
        "e",
        "da",
        "do",
        "dos",
        "das",
        "van",
        "von",
        "der",
        "den",
        "di",
        "du",
        "le",
        "zu",
        "al",
        "el",
    ]
)
_SCORE = 1.0
_COMMON = 5
# Common given names that are words first.
_WORDS_FIRST = frozenset(
    """
    will may mark bill art pat rose grace hope faith joy dawn june april august summer rich frank jack
    rob sue drew grant chase miles max dean guy lane page penny ray skip wade gene dale glen ivy lily
    ruby pearl sol luna cruz dolores
    """.split()  # noqa: SIM905 -- a list of words reads better as a text
)


@dataclass(frozen=True, slots=True)
class KnownValueIndex:
    """Sequences of folded words by their first word, with the kind; and values that are
    compared without separators.
    """

    by_word: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    compact: dict[str, str]
    numbers: re.Pattern[str] | None


def index(known: Sequence[spans.KnownValue]) -> KnownValueIndex:
    return _index(tuple(known))


@lru_cache(maxsize=8)
def _index(known: tuple[spans.KnownValue, ...]) -> KnownValueIndex:
    found: dict[str, dict[tuple[str, ...], str]] = {}
    compact: dict[str, str] = {}
    for one in known:
        value = folding.fold(one.value).text
        digits = re.sub(r"\D", "", value)
        if len(digits) >= 5 and len(digits) * 2 >= len(value.strip()):
            compact[digits] = one.kind
            continue
        words = tuple(folding.plain(word) for word in _WORD.findall(value))
        for form in _forms(words, one.kind):
            found.setdefault(next(iter(form), ""), {}).setdefault(form, one.kind)
    by_word = {
        word: tuple(sorted(forms.items(), key=lambda item: (-len(item[0]), item)))
        for word, forms in found.items()
    }
    return KnownValueIndex(
        by_word,
        compact,
        re.compile(r"(?<!\w)\+?\(?\d(?:[ .\-/()]{0,3}\d){4,}") if compact else None,
    )


def _forms(words: tuple[str, ...], kind: str) -> Iterator[tuple[str, ...]]:
    """A name as it is, family name first, with initials, and its parts if nobody would
    take them for a word.
    """
    if not words:
        return
    if len("".join(words)) > 2 and (len(words) > 1 or not _trivial("".join(words))):
        yield words
    if kind != "person" or len(words) < 2:
        return
    for cut in range(1, len(words)):
        yield (*words[cut:], *words[:cut])
    given, rest = words[0], words[1:]
    family = tuple(word for word in rest if word not in _PARTICLES)
    yield (given[0], *rest)
    yield (*rest, given[0])
    yield (given, *(word[0] for word in family))
    for part in family:
        yield (given, part)
        yield (part, given)
        yield (given[0], part)
        yield (part, given[0])
    if len(words) > 2:
        yield (given, *(word[0] for word in words[1:-1]), words[-1])
        yield (given[0], *(word[0] for word in words[1:-1]), words[-1])
        yield words[1:]
        yield words[:-1]
    for part in (given, *family):
        if not _trivial(part):
            yield (part,)


def _trivial(word: str) -> bool:
    return len(word) < 3 or word in _PARTICLES


def find(text: str, entries: KnownValueIndex) -> Iterator[spans.FoldedSpan]:
    """Each place where a known value stands. A part that is also a word counts only
    with a capital.
    """
    words = (
        [(m.start(), m.end(), folding.plain(m.group())) for m in _WORD.finditer(text)]
        if entries.by_word
        else []
    )
    at = 0
    while at < len(words):
        found = _longest(text, words, at, entries)
        if found is None:
            at += 1
            continue
        count, kind = found
        yield spans.FoldedSpan(words[at][0], _stop(words[at + count - 1]), kind, _SCORE)
        at += count
    if entries.numbers is not None:
        for match in entries.numbers.finditer(text):
            digits = re.sub(r"\D", "", match.group())
            kind = next(
                (
                    kind
                    for value, kind in entries.compact.items()
                    if _same_number(value, digits)
                ),
                None,
            )
            if kind:
                yield spans.FoldedSpan(match.start(), match.end(), kind, _SCORE)


def _stop(word: tuple[int, int, str]) -> int:
    return word[1] - 2 if word[2].endswith("'s") else word[1]


def _same_number(value: str, digits: str) -> bool:
    """Equal but for a country code or the zero before an area code."""
    short, long = sorted((value.lstrip("0"), digits.lstrip("0")), key=len)
    return (
        long == short
        or (len(short) >= 7 and len(long) - len(short) <= 4 and long.endswith(short))
        or (len(short) >= 7 and short in long and len(long) - len(short) <= 6)
    )


def _longest(
    text: str, words: Sequence[tuple[int, int, str]], at: int, entries: KnownValueIndex
) -> tuple[int, str] | None:
    first = words[at][2].removesuffix("'s")
    candidates = entries.by_word.get(first, ())
    for form, kind in candidates:
        size = len(form)
        if at + size > len(words) or not all(
            words[at + n][2] == form[n]
            or words[at + n][2].removesuffix("'s") == form[n]
            for n in range(1, size)
        ):
            continue
        if not all(
            _near(text[words[at + n][1] : words[at + n + 1][0]])
            for n in range(size - 1)
        ):
            continue
        if (
            size == 1
            and kind == "person"
            and text[words[at][0]].islower()
            and _a_word(form[0])
        ):
            continue
        return size, kind
    return None


def _a_word(word: str) -> bool:
    """A part of a name that is a word too, in small letters: the word, unless it is a
    common name.
    """
    return lists.english(word) and (word in _WORDS_FIRST or lists.given(word) < _COMMON)


def _near(gap: str) -> bool:
    return len(gap) <= 3 and not gap.strip(" ,.'\"-_\n@/") and gap != ""
