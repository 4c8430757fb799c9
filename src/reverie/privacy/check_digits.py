"""Check digits (Luhn, mod 97, python-stdnum) and other checks of patterns' matches."""

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import stdnum.at.vnr
import stdnum.br.cpf
import stdnum.ca.sin
import stdnum.ch.ssn
import stdnum.de.idnr
import stdnum.es.cif
import stdnum.es.dni
import stdnum.es.nie
import stdnum.fr.nir
import stdnum.gb.nhs
import stdnum.iso7064.mod_97_10
import stdnum.it.codicefiscale
import stdnum.luhn
import stdnum.mx.curp
import stdnum.nl.bsn
import stdnum.pl.pesel
import stdnum.pt.nif
import stdnum.se.personnummer
from stdnum import numdb

from reverie.privacy import folding, lists, name_evidence

_SEPARATORS = re.compile(r"[\s.\-/()_:]")
# Prefixes of issuers: American Express, Diners, Visa, Mastercard, Discover, JCB.
_CARD = re.compile(r"(?:3|4|5|6|2[2-7]|2131|1800)\d+")
# British national insurance numbers: prefixes that are not issued are left out.
_NINO = re.compile(
    r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]"
)
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
_NOT_DIGITS = re.compile(r"\D")
_LATIN = re.compile(r"[A-Za-z]")
_SIGN = re.compile(r"[^\w]")
_EXTENSION = re.compile(r"x|ext")
_POSTCODE = re.compile(r"^(?:[A-Z]{1,2}-)?\d+ ")
_PARTNERS = re.compile(r"[ ,&-]+(?:and )?")
_BRACKETED_AT = re.compile(r"[\[({] ?(?:at|arroba|ät|@)", re.IGNORECASE)
_SPELLED_DOT = re.compile(r"(?: |[\[({])(?:dot|punto|punkt)(?: |[\])}])", re.IGNORECASE)
# Bits a character (Shannon) of a secret: with letters, digits or signs mixed, or of
# letters alone in a long text. Set by hand.
_INNER_SIGN = re.compile(r"[#!$%&*+=^~]")
_BITS_OF_MIXED = 3.0
_BITS_OF_LONG_LETTERS = 3.4
_LONG_LETTERS = 20
_NOT_IN_STREETS = frozenset(
    """
    the a of on in to from is by my and minutes this that at
    """.split()  # noqa: SIM905 -- a list of words reads better as a text
)
# A part of an IBAN's structure in the registry of SWIFT: `4!a` are four letters.
_IBAN_PART = re.compile(r"(\d+)!")
# In stdnum's registry, but not in the list that the figures of docs/decisions/0013 were
# measured with: Honduras.
_NO_IBAN = frozenset({"HN"})


def compact(text: str) -> str:
    """Without separators, in upper case."""
    return _SEPARATORS.sub("", text).upper()


def card(digits: str) -> bool:
    """Twelve to nineteen digits of a known issuer with a right check digit (Luhn)."""
    if not 12 <= len(digits) <= 19 or not _CARD.fullmatch(digits):
        return False
    return bool(stdnum.luhn.is_valid(digits))


@lru_cache(maxsize=1024)
def iban_length(country: str) -> int | None:
    """How many characters the IBANs of a country have (`DE`), by stdnum's copy of the
    registry of SWIFT; None for a country that has none.
    """
    if country in _NO_IBAN:
        return None
    for prefix, properties in numdb.get("iban").info(country):
        if prefix == country and "bban" in properties:
            # Two letters and two check digits stand before the account.
            return 4 + sum(map(int, _IBAN_PART.findall(properties["bban"])))
    return None


def iban(text: str) -> bool:
    """By length of the country and modulo 97; the bank's own check digits are not
    looked at.
    """
    if iban_length(text[:2]) != len(text) or not text.isascii():
        return False
    # ISO 13616: the country and the check digits go to the end.
    return stdnum.iso7064.mod_97_10.checksum(text[4:] + text[:4]) == 1


def nino(text: str) -> bool:
    """A British national insurance number; it has no check digit."""
    return bool(_NINO.fullmatch(text))


def ssn(digits: str) -> bool:
    """As they are issued, and as numbers of old programs look: areas up to 899."""
    if len(digits) != 9:
        return False
    area = digits[:3]
    serial = digits[5:]
    if area in ("000", "666") or area.startswith("9"):
        return False
    return serial != "0000"


def mixed(text: str) -> bool:
    """Letters and digits both: no word, no plain number."""
    return bool(_DIGIT.search(text)) and bool(_LATIN.search(text))


def drawn(text: str) -> bool:
    """Letters with digits or signs among them, as in a password and in no sentence."""
    inner = text.strip(".,;:!?()[]{}-_/")
    return bool(_LATIN.search(inner)) and bool(
        _DIGIT.search(inner) or _INNER_SIGN.search(inner)
    )


def entropy(text: str) -> bool:
    """Whether a text looks drawn at random: more than three bits a character, and not
    letters alone in one case.
    """
    counts = Counter(text)
    # Shannon's entropy of the characters.
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    if bits >= _BITS_OF_LONG_LETTERS and len(text) >= _LONG_LETTERS:
        return True
    return bits >= _BITS_OF_MIXED and (mixed(text) or bool(_SIGN.search(text)))


def _spelled_email(text: str) -> bool:
    """`ana at example dot com` and `ana [at] example.com`, and not
    `meet at example.com`.
    """
    return bool(_BRACKETED_AT.search(text) or _SPELLED_DOT.search(text))


def _domain(text: str) -> bool:
    """No abbreviation and no file: two letters at least before the dot, and no number."""
    head = text.partition(".")[0]
    return len(head) > 2 and not head.isdigit()


def _date(text: str) -> bool:
    """Whether three numbers can be a day, a month and a year in some order; months with
    a slip of the pen count.
    """
    parts = [int(part) for part in _DIGITS.findall(text)[:3]]
    if len(parts) < 3:
        return False
    first, second, year = parts
    day_and_month = 1 <= min(first, second) <= 12 and max(first, second) <= 31
    if year > 1800:
        return day_and_month or 1 <= first <= 31
    if not day_and_month or year >= 100:
        return False
    # `1.2.13` may be a version: with two dots, the month comes second.
    return text.count(".") != 2 or second <= 12


def _phone_shape(text: str) -> bool:
    number = _EXTENSION.split(text)[0]
    return 6 <= len(_NOT_DIGITS.sub("", number)) <= 16


def _digits(text: str) -> bool:
    return sum(map(str.isdigit, text)) >= 3


def _family(text: str) -> bool:
    """Whether the words around `-`, `&` and commas are all names, and more than two or
    one that is no ordinary word.
    """
    parts = [folding.plain(part) for part in _PARTNERS.split(text) if part]
    if not all(lists.family(part) or lists.given(part) for part in parts):
        return False
    return len(parts) > 2 or not all(lists.english(part) for part in parts)


def _place(text: str) -> bool:
    plain = folding.plain(text)
    return lists.place(plain) and not name_evidence.abbreviation(text, plain)


def _street_number(text: str) -> bool:
    """`3911 fourth avenue`, not `20 minutes by the road`: no word of grammar between
    number and street.
    """
    words = text.lower().replace(",", "").split()
    return _NOT_IN_STREETS.isdisjoint(words)


def _placelike(text: str) -> bool:
    """A place of the list, or a word that English does not have."""
    first = folding.plain(text.split(" ")[0])
    return _place(text) or not lists.english(first)


def _street_case(text: str) -> bool:
    """The street word may be written in any case, the name after it has its capital."""
    return any(word[:1].isupper() for word in text.split()[1:]) or "/" in text


def _postcode_place(text: str) -> bool:
    """A town behind five digits, and no noun: `12345 Berlin`, not `20000 Euro`."""
    name = _POSTCODE.sub("", text)
    first = name.split(" ")[0].split("-")[0]
    if text[0].isalpha() or lists.place(folding.plain(name)):
        return True
    return lists.place(folding.plain(first))


def _compacted(check: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: bool(check(compact(text)))


_NUMBERS: dict[str, Callable[[str], bool]] = {
    "ahv": stdnum.ch.ssn.is_valid,
    "bsn": stdnum.nl.bsn.is_valid,
    "card": card,
    "cif": stdnum.es.cif.is_valid,
    "codice_fiscale": stdnum.it.codicefiscale.is_valid,
    "cpf": stdnum.br.cpf.is_valid,
    "curp": stdnum.mx.curp.is_valid,
    "dni": stdnum.es.dni.is_valid,
    "iban": iban,
    "luhn": stdnum.luhn.is_valid,
    "nhs": stdnum.gb.nhs.is_valid,
    "nie": stdnum.es.nie.is_valid,
    "nif_pt": stdnum.pt.nif.is_valid,
    "nino": nino,
    "nir": stdnum.fr.nir.is_valid,
    "pesel": stdnum.pl.pesel.is_valid,
    "sin": stdnum.ca.sin.is_valid,
    "ssn": ssn,
    "steuer_id": stdnum.de.idnr.is_valid,
    "svnr": stdnum.at.vnr.is_valid,
}
# What a pattern file may name as its `check`.
CHECKS: dict[str, Callable[[str], bool]] = {
    **{name: _compacted(check) for name, check in _NUMBERS.items()},
    "date": _date,
    "digits": _digits,
    "domain": _domain,
    "drawn": drawn,
    "entropy": entropy,
    "family": _family,
    "mixed": mixed,
    "personnummer": stdnum.se.personnummer.is_valid,
    "phone_shape": _phone_shape,
    "place": _place,
    "placelike": _placelike,
    "postcode_place": _postcode_place,
    "spelled_email": _spelled_email,
    "street_case": _street_case,
    "street_number": _street_number,
}
