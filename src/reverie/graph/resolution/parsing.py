"""Parsing of names (entity resolution): words, weights, titles, legal forms."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from reverie.graph.resolution import name_tables as tables
from reverie.graph.resolution import transliteration
from reverie.privacy import lists

# How much a word tells, set by hand with the pairs of bench/names.py in view
# (docs/decisions/0015): a rare name tells more than a common one.
PARTICLE = 0.2  # von, bin
_PERSON_INITIAL, _THING_LETTER = 0.35, 0.5
_RAREST_NAME, _COMMON_LOSS, _COMMONEST = 1.1, 0.3, 20
_ORDINARY_WORD, _PLACE_NAME, _MADE_NAME = 0.6, 0.8, 1.0
_MOST_WORDS, _LONGEST = 14, 300
_LEAST_LETTERS = 3  # for digits among them to be read as letters
_INITIALS = re.compile(
    r"\b(?:[^\W\d_]\.[\s]?){2,}(?![^\W\d_]{2})|\b[^\W\d_](?:\.[^\W\d_])+\b\.?"
)
_WORD = re.compile(r"[a-z0-9]+(?:[&%][a-z0-9]+)*")
_LEET = str.maketrans("0134579", "oieastg")


@dataclass(frozen=True, slots=True)
class Word:
    """One word in plain Latin letters, how much it tells, and whether it is all that is
    left of a foreign one.
    """

    text: str
    weight: float
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is compared."""

    words: tuple[Word, ...]
    numbers: tuple[str, ...] = ()
    form: tuple[str, ...] = ()
    family: str = ""
    family_first: bool = False  # with a comma: Ruiz, Ana
    capitals: str = ""  # of a name that is one word in capitals: BBC

    @property
    def weight(self) -> float:
        """The weight of all words."""
        return sum(word.weight for word in self.words)


# -------------------------------------------------------------------------- of persons


@lru_cache(maxsize=20_000)
def person(name: str) -> Name:
    """A person's name: without titles and legal forms; initials apart; digits among
    letters read as letters.
    """
    foreign = transliteration.few_vowels(name)
    written = re.sub(r"[ʼ'’`´]", "", transliteration.latin(name[:_LONGEST]))
    family, comma, given = written.partition(",")
    text = f"{given} {family}"
    shouted = text.upper() == text
    words = [
        word
        for token in re.findall(r"[^\W_]+", text)
        for word in _person_words(token, shouted=shouted)
    ]
    words, generation = _split_generation(words)
    plain = _without_form(_without_titles(words))
    weighted = tuple(
        Word(word, _person_weight(word), foreign) for word in dict.fromkeys(plain)
    )
    digits = tuple(digits for word in plain for digits in re.findall(r"\d+", word))
    return Name(weighted[:_MOST_WORDS], generation + digits, family_first=bool(comma))


def _split_generation(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The words without junior, senior and II, which stand after two others."""
    first, later = words[:2], words[2:]
    generation = tuple(
        tables.GENERATIONS[word] for word in later if word in tables.GENERATIONS
    )
    rest = [word for word in later if word not in tables.GENERATIONS]
    return first + rest, generation


def _person_words(token: str, *, shouted: bool) -> list[str]:
    """A token as words: initials apart, digits among letters as letters."""
    initials = not shouted and token.isupper() and 2 <= len(token) <= 3
    if initials and not re.search(r"[AEIOUY0-9]", token):
        return list(token.lower())  # JL Picard
    letters = sum(char.isalpha() for char in token)
    if letters >= _LEAST_LETTERS and not re.search(r"\d\d", token):
        return [token.lower().translate(_LEET)]  # Hub3r, but not ASR1603
    return [token.lower()]


def _without_titles(words: list[str]) -> list[str]:
    """Without titles before the name and degrees after it; Stephen King keeps his name."""
    while (
        words[:1]
        and words[0] in tables.TITLES
        and any(len(word) > 1 for word in words[1:])
    ):
        words = words[1:]
    while len(words) > 2 and words[-1] in tables.DEGREES:
        words = words[:-1]
    return words


def _without_form(words: list[str]) -> list[str]:
    """Without a legal form at the end: somebody's company, or a slip."""
    while (
        len(words) > 2
        and (words[-1],) in tables.LEGAL_FORMS
        and words[-1] not in tables.PARTICLES
    ):
        words = words[:-1]
    return words


@lru_cache(maxsize=20_000)
def _person_weight(word: str) -> float:
    """A rare name tells more than a common one; an initial or a particle tells little."""
    if word in tables.PARTICLES:
        return PARTICLE
    if len(word) == 1:
        return _PERSON_INITIAL
    common = min(1.0, (lists.given(word) + lists.family(word)) / _COMMONEST)
    return _RAREST_NAME - _COMMON_LOSS * common


# --------------------------------------------------------------------------- of things


@lru_cache(maxsize=20_000)
def thing(name: str) -> Name:
    """The name of a company, place, project or thing: legal form and numbers apart,
    short words written out.
    """
    name = name[:_LONGEST]
    foreign = transliteration.few_vowels(name)
    words, form, family = _split_form(_WORD.findall(_spelled(name)))
    words, numbers = _split_numbers(_spell_out(words), _roman_numerals(name))
    if len(words) > 1 and words[0] in tables.VESSELS:
        words = words[1:]
    telling = [word for word in words if word not in tables.IDLE] or words
    weighted = tuple(
        Word(word, _thing_weight(word), foreign) for word in dict.fromkeys(telling)
    )
    capitals = _capitals(name) if len(telling) == 1 else ""
    return Name(weighted[:_MOST_WORDS], numbers, form, family, capitals=capitals)


def _roman_numerals(name: str) -> list[str]:
    """Numbers in Roman capitals: IV."""
    return re.findall(r"\b[IVX]+\b", transliteration.latin(name))


def _capitals(name: str) -> str:
    """The letters of a name in capitals that may be an acronym: BBC, B.B.C."""
    letters = re.sub(r"[.\s]", "", name.split(",")[0])
    acronym = 2 <= len(letters) <= 6 and letters.isupper() and letters.isascii()
    return letters.lower() if acronym else ""


def _spelled(name: str) -> str:
    """In Latin letters, small, with dotted letters joined: S.A.R.L. -> sarl."""
    text = transliteration.latin(name)
    text = _INITIALS.sub(lambda match: re.sub(r"[.\s]", "", match.group()) + " ", text)
    text = re.sub(r"\b([A-Za-z])/([A-Za-z])\b", r"\1\2", text)
    text = re.sub(r"['’`´ʼ]s\b", "s", text)
    text = re.sub(r"['’`´ʼ]", "", text).lower()
    text = re.sub(r"(?<=\s)[&+](?=\s)", " and ", text)
    text = re.sub(r"(?<=[a-z])&(?=[a-z])", " and ", text)
    return re.sub(r"(\d+)(?:st|nd|rd|th)\b", r"\1", text)


def _split_form(words: list[str]) -> tuple[list[str], tuple[str, ...], str]:
    """The words without legal forms; the form that tells most, and its family."""
    rest = list(words)
    form: tuple[str, ...] = ()
    family = ""
    while match := _find_form(rest):
        # Any other form tells more than that it is a corporation.
        if not form or family == "corporation":
            form = tables.one_form(match.form)
            family = tables.LEGAL_FORMS[match.form]
        del rest[match.start : match.stop]
    return rest, form, family


class _FormMatch(NamedTuple):
    """Where a legal form stands among the words of a name, and which it is."""

    start: int
    stop: int
    form: tuple[str, ...]


def _find_form(words: list[str]) -> _FormMatch | None:
    """The longest legal form. Short ones are words elsewhere: only at an end of the
    name, and never the whole of it.
    """
    for size in range(min(tables.LONGEST_FORM, len(words) - 1), 0, -1):
        for start in range(len(words) - size, -1, -1):
            if size < 3 and start not in (0, len(words) - size):
                continue
            form = _as_form(tuple(words[start : start + size]))
            if form is not None:
                return _FormMatch(start, start + size, form)
    return None


def _as_form(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The legal form that some words are, a long one also with a slip in it."""
    if words in tables.LEGAL_FORMS:
        return words
    joined = " ".join(words)
    return tables.near_form(joined) if len(joined) >= tables.LONG_FORM else None


def _spell_out(words: list[str]) -> list[str]:
    """Short words in full, which may be several: us, united states."""
    full: list[str] = []
    for word in words:
        full.extend(tables.SHORTENED.get(word, word).split())
    return full


def _split_numbers(
    words: list[str], romans: list[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Numbers apart: 32, thirty-two, IV, and the digits of a code, whose letters stay a
    word.
    """
    rest: list[str] = []
    numbers: list[str] = []
    tens = 0  # of a number in words that a digit may follow: thirty two
    for place, word in enumerate(words):
        value = _number(word)
        if value is None and place > 0 and word.upper() in romans:
            value = tables.ROMAN.get(word)
        if value is None:
            tens = 0
            letters, digits = _split_code(word)
            numbers.extend(digits)
            if letters:
                rest.append(letters)
            continue
        if tens and value < 10:
            numbers[-1] = str(tens + value)
        else:
            numbers.append(str(value))
        tens = _tens(word, value)
    return rest, tuple(numbers)


def _number(word: str) -> int | None:
    """The value of a number in words or digits."""
    if word in tables.NUMBERS:
        return tables.NUMBERS[word]
    return int(word) if word.isdecimal() and len(word) < 18 else None


def _tens(word: str, value: int) -> int:
    """The value of a number in words that a digit may follow, else 0."""
    return value if word in tables.NUMBERS and value >= 20 else 0


def _split_code(word: str) -> tuple[str, list[str]]:
    """A code without its digits, and these without zeros before them: ASR-007."""
    if not any(char.isdigit() for char in word):
        return word, []
    digits = [run.lstrip("0") or "0" for run in re.findall(r"\d+", word)]
    return re.sub(r"[\d%]+", "", word), digits


@lru_cache(maxsize=20_000)
def _thing_weight(word: str) -> float:
    """A word of the language says less than a made name."""
    if len(word) == 1:
        return _THING_LETTER
    if lists.english(word) and not lists.family(word):
        return _ORDINARY_WORD
    return _PLACE_NAME if lists.place(word) else _MADE_NAME
