"""Whether digits and letters make a valid number of their kind: cards, IBANs, national
ids. Each takes compact text.
"""

import math
import re
from collections import Counter
from collections.abc import Callable

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
import stdnum.it.codicefiscale
import stdnum.luhn
import stdnum.mx.curp
import stdnum.nl.bsn
import stdnum.pl.pesel
import stdnum.pt.nif
import stdnum.se.personnummer

from reverie.privacy import folding, lists

_SEPARATORS = re.compile(r"[\s.\-/()_:]")
_CARD = re.compile(r"(?:3|4|5|6|2[2-7]|2131|1800)\d+")
_NINO = re.compile(
    r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]"
)
# Lengths of IBANs by country (the registry of SWIFT).
IBAN_LENGTHS = {
    pair[:2]: int(pair[2:])
    for pair in [
        "AD24",
        "AE23",
        "AL28",
        "AT20",
        "AZ28",
        "BA20",
        "BE16",
        "BG22",
        "BH22",
        "BI27",
        "BR29",
        "BY28",
        "CH21",
        "CR22",
        "CY28",
        "CZ24",
        "DE22",
        "DJ27",
        "DK18",
        "DO28",
        "EE20",
        "EG29",
        "ES24",
        "FI18",
        "FK18",
        "FO18",
        "FR27",
        "GB22",
        "GE22",
        "GI23",
        "GL18",
        "GR27",
        "GT28",
        "HR21",
        "HU28",
        "IE22",
        "IL23",
        "IQ23",
        "IS26",
        "IT27",
        "JO30",
        "KW30",
        "KZ20",
        "LB28",
        "LC32",
        "LI21",
        "LT20",
        "LU20",
        "LV21",
        "LY25",
        "MC27",
        "MD24",
        "ME22",
        "MK19",
        "MN20",
        "MR27",
        "MT31",
        "MU30",
        "NI28",
        "NL18",
        "NO15",
        "OM23",
        "PK24",
        "PL28",
        "PS29",
        "PT25",
        "QA29",
        "RO24",
        "RS22",
        "RU33",
        "SA24",
        "SC31",
        "SD18",
        "SE24",
        "SI19",
        "SK24",
        "SM27",
        "SO23",
        "ST25",
        "SV28",
        "TL23",
        "TN24",
        "TR26",
        "UA29",
        "VA22",
        "VG24",
        "XK20",
        "YE30",
    ]
}


def compact(text: str) -> str:
    """Without separators, in upper case."""
    return _SEPARATORS.sub("", text).upper()


def card(digits: str) -> bool:
    return (
        12 <= len(digits) <= 19
        and bool(_CARD.fullmatch(digits))
        and bool(stdnum.luhn.is_valid(digits))
    )


def iban(text: str) -> bool:
    """By length of the country and modulo 97; the bank's own check digits are not
    looked at.
    """
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text.isascii():
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def nino(text: str) -> bool:
    return bool(_NINO.fullmatch(text))


def ssn(digits: str) -> bool:
    """As they are issued, and as numbers of old programs look: areas up to 899."""
    return (
        len(digits) == 9
        and digits[:3] not in ("000", "666")
        and digits[0] != "9"
        and digits[5:] != "0000"
    )


def mixed(text: str) -> bool:
    """Letters and digits both: no word, no plain number."""
    return bool(re.search(r"\d", text)) and bool(re.search(r"[A-Za-z]", text))


def entropy(text: str) -> bool:
    """Whether a text looks drawn at random: more than three bits a character, and not
    letters alone in one case.
    """
    counts = Counter(text)
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    return (bits >= 3.0 and (mixed(text) or bool(re.search(r"[^\w]", text)))) or (
        bits >= 3.4 and len(text) >= 20
    )


def _spelled_email(text: str) -> bool:
    """`ana at example dot com` and `ana [at] example.com`, and not `meet at
    example.com`.
    """
    if re.search(r"[\[({] ?(?:at|arroba|ät|@)", text, re.IGNORECASE):
        return True
    return bool(
        re.search(r"(?: |[\[({])(?:dot|punto|punkt)(?: |[\])}])", text, re.IGNORECASE)
    )


def _domain(text: str) -> bool:
    """No abbreviation and no file: two letters at least before the dot, and no number."""
    head = text.partition(".")[0]
    return len(head) > 2 and not head.isdigit()


def _date(text: str) -> bool:
    """Whether three numbers can be a day, a month and a year in some order; months with
    a slip of the pen count.
    """
    parts = [int(part) for part in re.findall(r"\d+", text)[:3]]
    if (
        len(parts) < 3
        or not 1 <= min(parts[0], parts[1]) <= 12
        or max(parts[0], parts[1]) > 31
    ):
        return len(parts) == 3 and parts[2] > 1800 and 1 <= parts[0] <= 31
    return (
        parts[2] > 1800
        or (parts[2] < 100 and text.count(".") != 2)
        or (parts[2] < 100 and parts[1] <= 12)
    )


def _phone_shape(text: str) -> bool:
    digits = re.sub(r"\D", "", re.split(r"x|ext", text)[0])
    return 6 <= len(digits) <= 16


def _digits(text: str) -> bool:
    return sum(char.isdigit() for char in text) >= 3


def _family(text: str) -> bool:
    """Whether the words around `-`, `&` and commas are all names, and more than two or
    one that is no ordinary word.
    """
    parts = [
        folding.plain(part) for part in re.split(r"[ ,&-]+(?:and )?", text) if part
    ]
    known = [lists.family(part) > 0 or lists.given(part) > 0 for part in parts]
    rare = [not lists.english(part) for part in parts]
    return all(known) and (any(rare) or len(parts) > 2)


def _place(text: str) -> bool:
    return lists.place(folding.plain(text))


def _street_number(text: str) -> bool:
    """`3911 fourth avenue`, not `20 minutes by the road`: no word of grammar between
    number and street.
    """
    words = text.lower().replace(",", "").split()
    return not set(words) & {
        "the",
        "a",
        "of",
        "on",
        "in",
        "to",
        "from",
        "is",
        "by",
        "my",
        "and",
        "minutes",
        "this",
        "that",
        "at",
    }


def _placelike(text: str) -> bool:
    """A place of the list, or a word that English does not have."""
    first = folding.plain(text.split(" ")[0])
    return _place(text) or not lists.english(first)


def _street_case(text: str) -> bool:
    """The street word may be written in any case, the name after it has its capital."""
    return any(word[:1].isupper() for word in text.split()[1:]) or "/" in text


def _postcode_place(text: str) -> bool:
    """A town behind five digits, and no noun: `12345 Berlin`, not `20000 Euro`."""
    name = re.sub(r"^(?:[A-Z]{1,2}-)?\d+ ", "", text)
    first = folding.plain(name.split(" ")[0].split("-")[0])
    return lists.place(folding.plain(name)) or lists.place(first) or text[0].isalpha()


def _number(check: Callable[[str], bool]) -> Callable[[str], bool]:
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
CHECKS: dict[str, Callable[[str], bool]] = {
    **{name: _number(check) for name, check in _NUMBERS.items()},
    "date": _date,
    "digits": _digits,
    "domain": _domain,
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
