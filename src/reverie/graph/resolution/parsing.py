"""A name taken apart: its words with their weights, and what stands beside them (title,
legal form, numbers).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from reverie.graph.resolution import name_tables as tables
from reverie.graph.resolution import transliteration
from reverie.privacy import lists

PARTICLE, _ORDINARY, _BBCCE, _MADE = 0.2, 0.6, 0.8, 1.0
_MOST_WORDS, _LONGEST = 14, 300
_LETTERS_ENOUGH = 3
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
    turned: bool = False  # the family name first, with a comma
    capitals: str = ""  # of a name that is one word in capitals: BBC

    @property
    def weight(self) -> float:
        return sum(word.weight for word in self.words)


# --------------------------------------------------------------------------------------------------------- of persons


@lru_cache(maxsize=20_000)
def person(name: str) -> Name:
    """A person's name: without titles and legal forms; initials apart; digits among
    letters read as letters.
    """
    foreign = transliteration.few_vowels(name)
    family, comma, given = re.sub(
        r"[ʼ'’`´]", "", transliteration.latin(name[:_LONGEST])
    ).partition(",")
    text = f"{given} {family}"
    shouted = text.upper() == text
    found = [
        part
        for token in re.findall(r"[^\W_]+", text)
        for part in _person_words(token, shouted=shouted)
    ]
    generation = tuple(
        tables.GENERATIONS[word] for word in found[2:] if word in tables.GENERATIONS
    )
    found = found[:2] + [word for word in found[2:] if word not in tables.GENERATIONS]
    plain = _without_form(_without_titles(found))
    words = tuple(
        Word(word, _person_weight(word), foreign) for word in dict.fromkeys(plain)
    )
    digits = tuple(digits for word in plain for digits in re.findall(r"\d+", word))
    return Name(words[:_MOST_WORDS], generation + digits, turned=bool(comma))


def _person_words(token: str, *, shouted: bool) -> list[str]:
    if (
        not shouted
        and token.isupper()
        and 2 <= len(token) <= 3
        and not re.search(r"[AEIOUY0-9]", token)
    ):
        return list(token.lower())  # JL Picard
    letters = sum(char.isalpha() for char in token)
    if letters >= _LETTERS_ENOUGH and not re.search(r"\d\d", token):
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
        return 0.35
    return 1.1 - 0.3 * min(1.0, (lists.given(word) + lists.family(word)) / 20)


# ---------------------------------------------------------------------------------------------------------- of things


@lru_cache(maxsize=20_000)
def thing(name: str) -> Name:
    """The name of a company, place, project or thing: legal form and numbers apart,
    short words written out.
    """
    name = name[:_LONGEST]
    foreign = transliteration.few_vowels(name)
    words, form, family = _split_form(_WORD.findall(_spelled(name)))
    words = _spell_out(words)
    romans = [
        word.upper() for word in re.findall(r"\b[IVX]+\b", transliteration.latin(name))
    ]
    words, numbers = _split_numbers(words, romans)
    if len(words) > 1 and words[0] in tables.VESSELS:
        words = words[1:]
    kept = [word for word in words if word not in tables.IDLE] or words
    made = tuple(
        Word(word, _thing_weight(word), foreign) for word in dict.fromkeys(kept)
    )
    alone = re.sub(r"[.\s]", "", name.split(",")[0]) if len(kept) == 1 else ""
    capitals = (
        alone.lower()
        if 2 <= len(alone) <= 6 and alone.isupper() and alone.isascii()
        else ""
    )
    return Name(made[:_MOST_WORDS], numbers, form, family, capitals=capitals)


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
    rest, form, family = list(words), (), ""
    while found := _find_form(rest):
        at, size, one, kind = found
        if not form or family == "corporation":
            form, family = tables.one_form(one), kind
        del rest[at : at + size]
    return rest, form, family


def _find_form(words: list[str]) -> tuple[int, int, tuple[str, ...], str] | None:
    """The longest legal form. Short ones are words elsewhere: only at an end of the
    name, and never the whole of it.
    """
    for size in range(min(tables.LONGEST_FORM, len(words) - 1), 0, -1):
        for at in range(len(words) - size, -1, -1):
            if size < 3 and at not in (0, len(words) - size):
                continue
            piece = tuple(words[at : at + size])
            if piece in tables.LEGAL_FORMS:
                return at, size, piece, tables.LEGAL_FORMS[piece]
            if len(joined := " ".join(piece)) >= tables.LONG_FORM and (
                near := tables.near_form(joined)
            ):
                return at, size, near, tables.LEGAL_FORMS[near]
    return None


def _spell_out(words: list[str]) -> list[str]:
    made: list[str] = []
    for word in words:
        made.extend(tables.SHORTENED.get(word, word).split())
    return made


def _split_numbers(
    words: list[str], romans: list[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Numbers apart: 32, thirty-two, IV, and the digits of a code, whose letters stay a
    word.
    """
    rest: list[str] = []
    numbers: list[str] = []
    tens = 0
    for at, word in enumerate(words):
        value = tables.NUMBERS.get(
            word, int(word) if word.isdecimal() and len(word) < 18 else None
        )
        if value is None and word.upper() in romans and word in tables.ROMAN and at > 0:
            value = tables.ROMAN[word]
        if value is not None:
            if tens and value < 10:
                numbers[-1] = str(tens + value)
            else:
                numbers.append(str(value))
            tens = value if word in tables.NUMBERS and value >= 20 else 0
            continue
        tens = 0
        if any(char.isdigit() for char in word):
            numbers.extend(
                digits.lstrip("0") or "0" for digits in re.findall(r"\d+", word)
            )
            word = re.sub(r"[\d%]+", "", word)
        if word:
            rest.append(word)
    return rest, tuple(numbers)


@lru_cache(maxsize=20_000)
def _thing_weight(word: str) -> float:
    """A word of the language says less than a made name."""
    if len(word) == 1:
        return 0.5
    return (
        _ORDINARY
        if lists.english(word) and not lists.family(word)
        else _BBCCE
        if lists.place(word)
        else _MADE
    )
