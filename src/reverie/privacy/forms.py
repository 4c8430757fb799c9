"""Tokens of pseudonyms: how `Person_7F3K9ABCDEFGH` is written and recognised.

A word says the kind of the value, and a core says which value. A core is 13 characters
of Crockford's base 32 (65 bits, no I, L, O or U), or 26 where 13 were taken. It always
holds a digit of 2 to 9, which no letter is mistaken for, so that no words of any
language are a core. Another spelling of the same value has the same core with `U` and a
number behind it: `Person_7F3K9ABCDEFGHU42`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTHS: Final = (13, 26)
LITERAL: Final = "literal"
"""The kind of a piece of text that was no token of ours but looked like one."""

SURE_DIGITS: Final = frozenset("23456789")
READ_AS: Final[Mapping[str, str]] = dict(
    zip(
        f"{ALPHABET}{ALPHABET.lower()}OoIiLl",
        f"{ALPHABET}{ALPHABET}001111",
        strict=True,
    )
)
"""The letter of the alphabet that a written character means."""


@dataclass(frozen=True, slots=True)
class Form:
    """What stands before and behind a core."""

    head: str
    joint: str = "_"
    tail: str = ""


FORMS: Final[Mapping[str, Form]] = {
    "person": Form("Person"),
    "organisation": Form("Org"),
    "location": Form("Location"),
    "address": Form("Address"),
    "email": Form("email", tail="@example.com"),
    "phone": Form("+00", joint="-"),
    "card": Form("Card"),
    "iban": Form("IBAN"),
    "national_id": Form("ID"),
    "secret": Form("Secret"),
    "date": Form("Date"),
    "url": Form("https://example.com/url"),
    LITERAL: Form("Text"),
}
OTHER: Final = Form("Data")
TAIL: Final = "@example.com"

# What models make of the words above when they answer in another language (en, es, de,
# fr, pt, it, nl).
_TRANSLATED = (
    "url persona personne pessoa persoon organisation organization organización organisatie organização empresa firma "
    "ubicación lugar ort standort lieu localização luogo locatie dirección adresse endereço indirizzo adres "
    "e-mail mail correo courriel tarjeta karte carte cartão carta kaart fecha datum data secreto geheimnis segredo "
    "texto texte testo tekst dato daten donnée"
)
WORDS: Final = frozenset(
    {form.head.lower() for form in FORMS.values()}
    | {OTHER.head.lower()}
    | set(_TRANSLATED.split())
)
"""Every word that may stand before a core in a reply, in lower case."""

_CORE = rf"[{ALPHABET}]"
_OURS = re.compile(
    rf"[_-]({_CORE}{{{LENGTHS[1]}}}|{_CORE}{{{LENGTHS[0]}}})(U\d{{1,3}})?(?:@example\.com)?\Z"
)
_LOOKS = re.compile(
    r"(?:"
    + "|".join(re.escape(form.head) for form in (*FORMS.values(), OTHER))
    + r"|url)"
    r"[\\*`]{0,3}[_-][\\*`]{0,3}"
    rf"(?=[A-Za-z01]*[2-9])[0-9A-Za-z]{{{LENGTHS[0]},}}(?:@example\.com)?",
    re.IGNORECASE,
)


def shown(kind: str, core: str) -> str:
    """The token of a core."""
    form = FORMS.get(kind, OTHER)
    return f"{form.head}{form.joint}{core}{form.tail}"


def core_of(token: str) -> tuple[str, str] | None:
    """The core and the spelling (`U42`, or nothing) of a token of ours; None if it is
    none.
    """
    match = _OURS.search(token)
    return (match[1], match[2] or "") if match else None


def looks(text: str) -> list[tuple[int, int]]:
    """Where a text holds what looks like a token, whoever made it."""
    return [match.span() for match in _LOOKS.finditer(text)]
