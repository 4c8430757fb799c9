"""Folding: which spellings are one value. Two that fold alike get one token, each with
its own spelling.
"""

import re
import unicodedata
from collections.abc import Sequence

import phonenumbers

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
    plain = _plain(value)
    if kind == "phone":
        folded = _phone(plain, regions)
    elif kind == "email":
        folded = "".join(plain.casefold().split())
    elif kind in _COMPACT:
        folded = _NOT_ALNUM.sub("", plain.casefold())
    elif kind == "date":
        folded = " ".join(plain.casefold().split())
    else:
        folded = " ".join(_without_accents(plain.casefold()).split())
    return folded or value


def _plain(value: str) -> str:
    """Full width made plain, and without what cannot be seen (zero width, soft hyphens,
    marks of direction).
    """
    return "".join(
        c
        for c in unicodedata.normalize("NFKC", value)
        if unicodedata.category(c) != "Cf"
    )


def _without_accents(value: str) -> str:
    # Only the marks of Latin, Greek and Cyrillic: in kana and in Indic scripts they
    # tell names apart, as in й.
    kept: list[str] = []
    for c in unicodedata.normalize("NFD", value):
        if not "\u0300" <= c <= "\u036f" or (c == _BREVE and kept and kept[-1] == "и"):
            kept.append(c)
    return unicodedata.normalize("NFC", "".join(kept))


def _phone(value: str, regions: Sequence[str]) -> str:
    for region in (None, *regions):
        try:
            number = phonenumbers.parse(value, region)
        except phonenumbers.NumberParseException:
            continue
        if region is None or phonenumbers.is_valid_number(number):
            suffix = f";{number.extension}" if number.extension else ""
            return (
                phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
                + suffix
            )
    return _NOT_DIGIT.sub("", value)
