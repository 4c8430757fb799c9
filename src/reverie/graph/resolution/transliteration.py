"""Transliteration to Latin letters, Unicode normalisation, phonetic keys of words."""

import re
import unicodedata
from functools import lru_cache

from anyascii import anyascii

from reverie.vocabulary import letters

_ROUNDS = 4
_ALPHABETS = (
    "LATIN", "FULLWIDTH LATIN", "MODIFIER", "FEMININE", "MASCULINE", "CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN",
)  # fmt: skip
_SCRIPTS_WITH_ACCENTS = ("LATIN", "GREEK")


@lru_cache(maxsize=50_000)
def normalised(name: str) -> str:
    """The name as it is looked up: lower case, no accents, plain letters (Łódź: lodz),
    trimmed, one space between words.
    """
    return letters.plain(identity(name))


@lru_cache(maxsize=50_000)
def identity(name: str) -> str:
    """The name as stored keys hold it, which never changes: letters with a stroke and
    ligatures are letters of their own.
    """
    text = name
    # Case and compatible forms can each make work for the other.
    for _ in range(_ROUNDS):
        folded = _fold(text)
        if folded == text:
            break
        text = folded
    return text


def _fold(text: str) -> str:
    """One round of lower case, compatible forms (NFKC) and no accents."""
    if text.isascii():
        return " ".join(text.lower().split())
    parts = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    kept: list[str] = []
    accented = False
    for char in parts:
        category = unicodedata.category(char)
        # A mark is an accent on Latin and Greek letters. Elsewhere it makes another
        # letter: й, ガ.
        if category in ("Cf", "Cc") and not char.isspace():
            continue
        if category == "Mn" and accented:
            continue
        if category != "Mn":
            accented = unicodedata.name(char, "").startswith(_SCRIPTS_WITH_ACCENTS)
        kept.append(char)
    return " ".join(unicodedata.normalize("NFKC", "".join(kept)).split())


@lru_cache(maxsize=50_000)
def latin(text: str) -> str:
    """The text in plain Latin letters, in the case it was written in: Обама -> Obama,
    奥巴马 -> AoBaMa.
    """
    if text.isascii():
        return text
    return anyascii(unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=50_000)
def few_vowels(text: str) -> bool:
    """Whether a text is in a script that leaves vowels out or has syllables, so that
    only consonants can be trusted.
    """
    if text.isascii():
        return False
    letters = (char for char in text if char.isalpha())
    return any(
        not unicodedata.name(char, "LATIN").startswith(_ALPHABETS) for char in letters
    )


# ------------------------------------------------------------------------------ sounds

# In order; each takes one of several ways to write a sound to one (docs/decisions/0015:
# Metaphone and Soundex are made for English).
_SOUNDS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[^a-z]", ""),
        (r"tsch|tch|tsh|cz", "c"),
        (r"sch|sh|zh", "s"),
        (r"dzh|dj", "j"),
        (r"^x", "s"),
        (r"x", "ks"),
        (r"ph", "f"),
        (r"ck|q|kh|gh", "k"),
        (r"th", "t"),
        (r"dh", "d"),
        (r"ch", "k"),
        (r"c(?=[eiy])", "s"),
        (r"c", "k"),
        (r"w", "v"),
        (r"ts|z", "s"),
        (r"oo|ou", "u"),
        (r"ee", "i"),
        (r"[yj]", "i"),
        (r"[ei]i", "i"),
        (r"ie", "i"),
        (r"iu", "u"),
        (r"ks$", "k"),
        (r"(?<=.)h", ""),
        (r"([a-z])\1+", r"\1"),
    )
)
_CLOSE = str.maketrans("bdgvzjl", "ptkfssr")


@lru_cache(maxsize=50_000)
def sound(word: str) -> str:
    """The phonetic key of a Latin word, the same for the usual ways to write it: Sergei,
    Sergey, Sergej.
    """
    spoken = word.lower()
    for pattern, replacement in _SOUNDS:
        spoken = pattern.sub(replacement, spoken)
    return spoken


@lru_cache(maxsize=50_000)
def skeleton(word: str) -> str:
    """The consonants of a word by their sound, and whether it begins with a vowel: for
    scripts that drop vowels.
    """
    spoken = sound(word)
    start = "a" if spoken[:1] in "aeiou" and spoken else ""
    consonants = re.sub(r"[aeiou]", "", spoken).translate(_CLOSE)
    return start + re.sub(r"(.)\1+", r"\1", consonants)
