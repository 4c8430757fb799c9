"""Parsing of names (entity resolution): words, weights, titles, legal forms."""

import re
from collections.abc import Callable, Sequence
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
_LONGEST_NUMBER = 18  # digits from which on it is a code
_FORM_ANYWHERE = 3  # words, from which on a legal form may stand inside a name
_INITIALS = re.compile(
    r"\b(?:[^\W\d_]\.[\s]?){2,}(?![^\W\d_]{2})|\b[^\W\d_](?:\.[^\W\d_])+\b\.?"
)
_WORD = re.compile(r"[a-z0-9]+(?:[&%][a-z0-9]+)*")
_TOKEN = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+")
_TWO_DIGITS = re.compile(r"\d\d")
_VOWEL_OR_DIGIT = re.compile(r"[AEIOUY0-9]")
_DOT_OR_SPACE = re.compile(r"[.\s]")
_DIGIT_OR_PERCENT = re.compile(r"[\d%]+")
_APOSTROPHE = re.compile(r"['’`´ʼ]")
_POSSESSIVE = re.compile(r"['’`´ʼ]s\b")
_LETTERS_WITH_SLASH = re.compile(r"\b([A-Za-z])/([A-Za-z])\b")
_AND_BETWEEN_WORDS = re.compile(r"(?<=\s)[&+](?=\s)")
_AND_IN_WORD = re.compile(r"(?<=[a-z])&(?=[a-z])")
_ORDINAL = re.compile(r"(?<!\d)(\d+)(?:st|nd|rd|th)\b")
_ROMAN_CAPITALS = re.compile(r"\b[IVX]+\b")
_LEET = str.maketrans("0134579", "oieastg")

LegalForm = tuple[str, ...]


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
    form: LegalForm = ()
    family: str = ""
    family_first: bool = False  # with a comma: Ruiz, Ana
    capitals: str = ""  # of a name that is one word in capitals: BBC

    @property
    def weight(self) -> float:
        """The weight of all words."""
        return sum(word.weight for word in self.words)

    @property
    def texts(self) -> list[str]:
        """The words as they are written, a new list."""
        return [word.text for word in self.words]


# -------------------------------------------------------------------------- of persons


@lru_cache(maxsize=20_000)
def person(name: str) -> Name:
    """A person's name: without titles and legal forms; initials apart; digits among
    letters read as letters.
    """
    foreign = transliteration.few_vowels(name)
    written = _APOSTROPHE.sub("", transliteration.latin(name[:_LONGEST]))
    family, comma, given = written.partition(",")
    words, generation = _split_generation(_split_person(f"{given} {family}"))
    plain = _without_form(_without_titles(words))
    digits = tuple(_DIGITS.findall(" ".join(plain)))
    return Name(
        words=_weighted(plain, _person_weight, foreign=foreign),
        numbers=generation + digits,
        family_first=bool(comma),
    )


def _weighted(
    words: Sequence[str], weigh: Callable[[str], float], *, foreign: bool
) -> tuple[Word, ...]:
    """The words with their weights, each once, as many as are compared."""
    distinct = list(dict.fromkeys(words))[:_MOST_WORDS]
    return tuple([Word(word, weigh(word), foreign) for word in distinct])


def _split_person(text: str) -> list[str]:
    """The words of a person's name in small letters."""
    shouted = text.upper() == text
    words: list[str] = []
    for token in _TOKEN.findall(text):
        words += _person_words(token, shouted=shouted)
    return words


def _split_generation(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The words without junior, senior and II, which stand after two others."""
    rest = words[:2]
    generation: list[str] = []
    for word in words[2:]:
        if word in tables.GENERATIONS:
            generation.append(tables.GENERATIONS[word])
        else:
            rest.append(word)
    return rest, tuple(generation)


def _person_words(token: str, *, shouted: bool) -> list[str]:
    """A token as words: initials apart, digits among letters as letters."""
    small = token.lower()
    if not shouted and _run_of_initials(token):
        return list(small)
    return [small.translate(_LEET)] if _has_leet(token) else [small]


def _run_of_initials(token: str) -> bool:
    """Whether a token is initials without dots: JL Picard."""
    if not token.isupper() or not 2 <= len(token) <= 3:
        return False
    return _VOWEL_OR_DIGIT.search(token) is None


def _has_leet(token: str) -> bool:
    """Whether digits of a token stand for letters: Hub3r, but not ASR1603."""
    letters = sum(map(str.isalpha, token))
    return letters >= _LEAST_LETTERS and _TWO_DIGITS.search(token) is None


def _without_titles(words: list[str]) -> list[str]:
    """Without titles before the name and degrees after it; Stephen King keeps his name."""
    while words and words[0] in tables.TITLES:
        if not _any_whole_word(words[1:]):
            break
        words = words[1:]
    while len(words) > 2 and words[-1] in tables.DEGREES:
        words = words[:-1]
    return words


def _any_whole_word(words: list[str]) -> bool:
    """Whether any of the words is more than an initial."""
    return any(len(word) > 1 for word in words)


def _without_form(words: list[str]) -> list[str]:
    """Without a legal form at the end: somebody's company, or a slip."""
    while len(words) > 2 and _only_a_form(words[-1]):
        words = words[:-1]
    return words


def _only_a_form(word: str) -> bool:
    """Whether a word is a legal form and no particle."""
    return (word,) in tables.LEGAL_FORMS and word not in tables.PARTICLES


@lru_cache(maxsize=20_000)
def _person_weight(word: str) -> float:
    """A rare name tells more than a common one; an initial or a particle tells little."""
    if word in tables.PARTICLES:
        return PARTICLE
    if len(word) == 1:
        return _PERSON_INITIAL
    bearers = lists.given(word) + lists.family(word)
    common = min(1.0, bearers / _COMMONEST)
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
    telling = _without_idle(_without_vessel(words))
    return Name(
        words=_weighted(telling, _thing_weight, foreign=foreign),
        numbers=numbers,
        form=form,
        family=family,
        capitals=_capitals(name) if len(telling) == 1 else "",
    )


def _without_vessel(words: list[str]) -> list[str]:
    """Without the kind of ship before its name: HMS."""
    if len(words) > 1 and words[0] in tables.VESSELS:
        return words[1:]
    return words


def _without_idle(words: list[str]) -> list[str]:
    """Without articles and the like, unless there is nothing else."""
    telling = [word for word in words if word not in tables.IDLE]
    return telling or words


def _roman_numerals(name: str) -> list[str]:
    """Numbers in Roman capitals: IV."""
    return _ROMAN_CAPITALS.findall(transliteration.latin(name))


def _capitals(name: str) -> str:
    """The letters of a name in capitals that may be an acronym: BBC, B.B.C."""
    first_part, _, _ = name.partition(",")
    letters = _without_dots(first_part)
    if not letters.isupper() or not letters.isascii():
        return ""
    return letters.lower() if 2 <= len(letters) <= 6 else ""


def _without_dots(text: str) -> str:
    """The text without dots and spaces."""
    return _DOT_OR_SPACE.sub("", text)


def _join_initials(match: re.Match[str]) -> str:
    """Dotted letters as one word."""
    return _without_dots(match.group()) + " "


def _spelled(name: str) -> str:
    """In Latin letters, small, with dotted letters joined: S.A.R.L. -> sarl."""
    text = _INITIALS.sub(_join_initials, transliteration.latin(name))
    text = _LETTERS_WITH_SLASH.sub(r"\1\2", text)
    text = _POSSESSIVE.sub("s", text)
    text = _APOSTROPHE.sub("", text).lower()
    text = _AND_BETWEEN_WORDS.sub(" and ", text)
    text = _AND_IN_WORD.sub(" and ", text)
    return _ORDINAL.sub(r"\1", text)


def _split_form(words: list[str]) -> tuple[list[str], LegalForm, str]:
    """The words without legal forms; the form that tells most, and its family."""
    rest = list(words)
    form: LegalForm = ()
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
    form: LegalForm


def _find_form(words: list[str]) -> _FormMatch | None:
    """The longest legal form, and the last of these; never the whole of a name."""
    longest = min(tables.LONGEST_FORM, len(words) - 1)
    for size in range(longest, 0, -1):
        for start in _form_starts(len(words), size):
            stop = start + size
            form = _as_form(tuple(words[start:stop]))
            if form is not None:
                return _FormMatch(start, stop, form)
    return None


def _form_starts(count: int, size: int) -> Sequence[int]:
    """Where a form of `size` words may start among `count` words, the last place first.
    Short forms are words elsewhere: only at an end of the name.
    """
    last = count - size
    if size < _FORM_ANYWHERE:
        return (last, 0)
    return range(last, -1, -1)


def _as_form(words: tuple[str, ...]) -> LegalForm | None:
    """The legal form that some words are, a long one also with a slip in it."""
    if words in tables.LEGAL_FORMS:
        return words
    joined = " ".join(words)
    if len(joined) < tables.LONG_FORM:
        return None
    return tables.near_form(joined)


def _spell_out(words: list[str]) -> list[str]:
    """Short words in full, which may be several: us, united states."""
    full: list[str] = []
    for word in words:
        in_full = tables.SHORTENED.get(word, word)
        full.extend(in_full.split())
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
    if not word.isdecimal():
        return None
    return int(word) if len(word) < _LONGEST_NUMBER else None


def _tens(word: str, value: int) -> int:
    """The value of a number in words that a digit may follow, else 0."""
    return value if word in tables.NUMBERS and value >= 20 else 0


def _split_code(word: str) -> tuple[str, list[str]]:
    """A code without its digits, and these without zeros before them: ASR-007."""
    runs = _DIGITS.findall(word)
    if not runs:
        return word, []
    digits = [run.lstrip("0") or "0" for run in runs]
    return _DIGIT_OR_PERCENT.sub("", word), digits


@lru_cache(maxsize=20_000)
def _thing_weight(word: str) -> float:
    """A word of the language says less than a made name."""
    if len(word) == 1:
        return _THING_LETTER
    if lists.english(word) and not lists.family(word):
        return _ORDINARY_WORD
    if lists.place(word):
        return _PLACE_NAME
    return _MADE_NAME
