"""Normalisation of personal values: which spellings get one pseudonym.

Two that fold alike get one token, each with its own spelling.
"""

import re
import unicodedata
from collections.abc import Sequence

import phonenumbers

from reverie.vocabulary import letters

_EXACT = frozenset({"secret", "url", "literal"})
_COMPACT = frozenset({"card", "iban", "national_id"})
_NOT_ALNUM = re.compile(r"[\W_]+")
_NOT_DIGIT = re.compile(r"[^\d+]+")
_BREVE = "\u0306"


def fold(kind: str, value: str, *, regions: Sequence[str] = ()) -> str:
    """What makes a value the same value: case, accents, width and spaces do not count,
    of numbers only the digits.

    Secrets and addresses of pages are compared as they are. `regions` (ES, DE, …) are
    tried in order for a telephone number without its country.
    """
    if kind in _EXACT:
        return value
    visible = _visible(value)
    if kind == "phone":
        return _phone(visible, regions) or value
    return _folded(kind, visible.casefold()) or value


def _folded(kind: str, value: str) -> str:
    if kind == "email":
        return "".join(value.split())
    if kind in _COMPACT:
        return _NOT_ALNUM.sub("", value)
    if kind == "date":
        return " ".join(value.split())
    return " ".join(_without_accents(value).split())


def _visible(value: str) -> str:
    """Full width made plain, and without what cannot be seen (zero width, soft hyphens,
    marks of direction).
    """
    compatible = unicodedata.normalize("NFKC", value)
    return "".join(char for char in compatible if unicodedata.category(char) != "Cf")


def _without_accents(value: str) -> str:
    # Only the marks of Latin, Greek and Cyrillic: in kana and in Indic scripts they
    # tell names apart, as in й.
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", value):
        is_short_i = char == _BREVE and kept and kept[-1] == "и"
        if is_short_i or not _is_accent(char):
            kept.append(char)
    return letters.plain(unicodedata.normalize("NFC", "".join(kept)))


def _is_accent(char: str) -> bool:
    """Unicode's block of combining diacritical marks."""
    return "\u0300" <= char <= "\u036f"


def _phone(value: str, regions: Sequence[str]) -> str:
    for region in (None, *regions):
        try:
            number = phonenumbers.parse(value, region)
        except phonenumbers.NumberParseException:
            continue
        if region is None or phonenumbers.is_valid_number(number):
            return _international(number)
    return _NOT_DIGIT.sub("", value)


def _international(number: phonenumbers.PhoneNumber) -> str:
    """E.164, with the extension behind a semicolon."""
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return f"{written};{number.extension}" if number.extension else written
