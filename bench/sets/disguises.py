"""Personal values in disguise, in texts as a hostile hand would write them. Seeded.

Two parts with other sentences, carriers and values: `tuning` may be looked at, `kept`
is only scored.
"""

import base64
import html
import itertools
import json
import random
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sets import spellings

Part = Literal["tuning", "kept"]
_MAKE: Mapping[str, Callable[[random.Random], list[str]]] = vars(spellings)["_MAKE"]


@dataclass(frozen=True, slots=True)
class Case:
    """A text and what may not leave of it; `expect` is what becomes of it: `masked`
    (held back is as good), or `critical`: nothing leaves.
    """

    kind: str
    disguise: str
    language: str
    text: str
    secrets: tuple[str, ...]
    expect: Literal["masked", "critical"] = "masked"


_CUES = {
    "email": ("email", "correo", "E-Mail"),
    "phone": ("phone", "teléfono", "Telefon"),
    "card": ("card", "tarjeta", "Karte"),
    "iban": ("IBAN", "IBAN", "IBAN"),
    "ssn": ("SSN", "número de la seguridad social (SSN)", "Sozialversicherungsnummer (SSN)"),
    "dni": ("DNI", "DNI", "DNI"),
    "nie": ("NIE", "NIE", "NIE"),
    "key": ("API key", "clave de API", "API-Schlüssel"),
    "password": ("password", "contraseña", "Passwort"),
    "passport": ("passport number", "número de pasaporte", "Reisepassnummer"),
    "birthday": ("date of birth", "fecha de nacimiento", "Geburtsdatum"),
    "address": ("address", "dirección", "Adresse"),
}  # fmt: skip
_LANGUAGES = ("en", "es", "de")
_SENTENCES: Mapping[Part, Mapping[str, Sequence[str]]] = {
    "tuning": {
        "en": ("The {cue} is {v}, please keep it.", "For the form we need the {cue}: {v}"),
        "es": ("Su {cue} es {v}, guárdalo.", "Para el formulario, {cue}: {v}"),
        "de": ("Die {cue} ist {v}, bitte merken.", "Für das Formular, {cue}: {v}"),
    },
    "kept": {
        "en": ("Remember what he gave as {cue} last week? It was {v}.", "{cue} - {v} - as agreed with the office"),
        "es": ("¿Recuerdas qué {cue} nos dio? Era {v}.", "{cue} - {v} - como acordamos con la oficina"),
        "de": ("Weißt du noch, welche {cue} er angab? Das war {v}.", "{cue} - {v} - wie mit dem Büro besprochen"),
    },
}  # fmt: skip


def _email(dice: random.Random) -> str:
    names = ("ines", "marek", "sofia", "jonas", "aiko", "pedro", "lena", "omar")
    family = "".join(
        dice.choice(("ka", "ro", "mi", "ten", "dul", "vez")) for _ in range(3)
    )
    host = dice.choice(("example", "mailhaus", "correos", "postbox"))
    return f"{dice.choice(names)}.{family}@{host}.{dice.choice(('org', 'com', 'de', 'es'))}"


def _joined(kind: str) -> Callable[[random.Random], str]:
    return lambda dice: spellings.spell(kind, _MAKE[kind](dice), "plain")


def _ssn(dice: random.Random) -> str:
    return f"{dice.randrange(100, 600)}-{dice.randrange(10, 99)}-{dice.randrange(1000, 9999)}"


def _key(dice: random.Random) -> str:
    letters = string.ascii_letters + string.digits
    tail = "".join(dice.choice(letters) for _ in range(36))
    return dice.choice(("sk-proj-", "ghp_", "sk-ant-api03-", "hf_")) + tail


def _password(dice: random.Random) -> str:
    return dice.choice(("Nube", "Garten", "Cobalt", "Fox")) + "".join(
        dice.choice(string.ascii_lowercase + string.digits + "!#") for _ in range(7)
    )


def _passport(dice: random.Random) -> str:
    return (
        "".join(dice.choice("CFGHJK") for _ in range(2))
        + f"{dice.randrange(10**6, 10**7)}"
    )


def _birthday(dice: random.Random) -> str:
    day, month, year = (
        dice.randrange(1, 29),
        dice.randrange(1, 13),
        dice.randrange(1940, 2005),
    )
    return f"{day:02}/{month:02}/{year}"


def _address(dice: random.Random) -> str:
    return dice.choice(
        (
            f"{dice.randrange(2, 99)} Alder Street",
            f"Calle Alcalá {dice.randrange(2, 99)}",
            f"Lindenstraße {dice.randrange(2, 99)}",
        )
    )


_VALUES: Mapping[str, Callable[[random.Random], str]] = {
    "email": _email,
    "phone": lambda dice: _joined(dice.choice(("phone_es", "phone_us", "phone_de")))(
        dice
    ),
    "card": _joined("card"),
    "iban": _joined("iban"),
    "ssn": _ssn,
    "dni": _joined("dni"),
    "nie": _joined("nie"),
    "key": _key,
    "password": _password,
    "passport": _passport,
    "birthday": _birthday,
    "address": _address,
}
_DIGITS = {
    "en": "zero one two three four five six seven eight nine",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun",
}
_SIGNS = {
    "en": {"@": "at", ".": "dot", "-": "dash", "+": "plus", "_": "underscore"},
    "es": {"@": "arroba", ".": "punto", "-": "guion", "+": "más", "_": "guion bajo"},
    "de": {"@": "at", ".": "Punkt", "-": "minus", "+": "plus", "_": "Unterstrich"},
}
_ALIKE = str.maketrans("aeopcxyABEHKMOPTX", "аеорсхуАВЕНКМОРТХ")


def _pieces(value: str, size: int = 4) -> list[str]:
    return [value[at : at + size] for at in range(0, len(value), size)]


def _spelled(value: str, language: str) -> str:
    words = _DIGITS[language].split()
    said: list[str] = []
    for char in value:
        if char.isdigit():
            said.append(f" {words[int(char)]} ")
        elif char in _SIGNS[language]:
            said.append(f" {_SIGNS[language][char]} ")
        else:
            said.append(char)
    return " ".join("".join(said).split())


def _wide(value: str) -> str:
    return "".join(
        chr(ord(char) + 0xFEE0) if 0x21 <= ord(char) < 0x7F else char for char in value
    )


def _rings(value: str) -> str:
    return "".join(
        "⓪①②③④⑤⑥⑦⑧⑨"[int(char)] if char.isdigit() else char for char in value
    )


_INLINE: Mapping[str, Callable[[str, str], str]] = {
    "plain": lambda v, _: v,
    "lines": lambda v, _: "\n".join(_pieces(v)),
    "quoted lines": lambda v, _: "\n> ".join(_pieces(v, 5)),
    "cells": lambda v, _: "| " + " | ".join(_pieces(v)) + " |",
    "bold": lambda v, _: "**" + "**".join(_pieces(v, 3)) + "**",
    "code": lambda v, _: "`" + "`\u200b`".join(_pieces(v, 5)) + "`",
    "zero width": lambda v, _: "\u200b".join(v),
    "soft hyphen": lambda v, _: "\u00ad".join(_pieces(v, 2)),
    "full width": lambda v, _: _wide(v),
    "rings": lambda v, _: _rings(v),
    "spaced": lambda v, _: " ".join(v),
    "no-break spaces": lambda v, _: "\u00a0".join(_pieces(v, 3)),
    "dotted letters": lambda v, _: "·".join(v),
    "spelled out": _spelled,
    "base64": lambda v, _: base64.b64encode(v.encode()).decode(),
    "base64 twice": lambda v, _: base64.b64encode(
        base64.b64encode(v.encode())
    ).decode(),
    "base64 of a sentence": lambda v, _: base64.urlsafe_b64encode(
        f"here: {v} ok".encode()
    ).decode(),
    "hex": lambda v, _: v.encode().hex(),
    "hex pairs": lambda v, _: " ".join(f"{byte:02x}" for byte in v.encode()),
    "percent": lambda v, _: "".join(f"%{byte:02X}" for byte in v.encode()),
    "entities": lambda v, _: "".join(f"&#{ord(char)};" for char in v),
    "hex entities": lambda v, _: "".join(f"&#x{ord(char):x};" for char in v),
    "unicode escapes": lambda v, _: "".join(f"\\u{ord(char):04x}" for char in v),
    "binary": lambda v, _: " ".join(f"{byte:08b}" for byte in v.encode()),
    "codes": lambda v, _: ", ".join(str(byte) for byte in v.encode()),
    "base32": lambda v, _: base64.b32encode(v.encode()).decode(),
    "lookalikes": lambda v, _: v.translate(_ALIKE),
    "tags": lambda v, _: "".join(
        f"<b>{piece}</b>" for piece in _pieces(html.escape(v), 4)
    ),
    "comment": lambda v, _: "<!-- -->".join(_pieces(v, 4)),
    "tag characters": lambda v, _: (
        "nothing" + "".join(chr(0xE0000 + ord(char)) for char in v if ord(char) < 128)
    ),
    "reversed": lambda v, _: v[::-1],
    "underscores": lambda v, _: "_".join(_pieces(v)),
    "backslashes": lambda v, _: "".join(f"\\{c}" if not c.isalnum() else c for c in v),
}
_CARRIERS: Mapping[str, Callable[[str, str], str]] = {
    "name of a file": lambda v, cue: (
        f"Attached: scan_{cue.replace(' ', '_')}_{v.replace('/', '-')}_final.pdf"
    ),
    "title": lambda v, cue: f"# {cue} {v}\n\nSee the minutes of Tuesday.",
    "tag": lambda v, cue: f"Tags: #garden #{cue.replace(' ', '')}{v} #todo",
    "section head": lambda v, cue: (
        f"Intro.\n\n## 3. {cue}: {v}\n\nThe roses are watered daily."
    ),
    "tool result": lambda v, cue: json.dumps(
        {"tool": "lookup", "result": {"label": cue, "value": v, "ok": True}}
    ),
    "nested tool result": lambda v, cue: json.dumps(
        {"content": [{"type": "text", "text": json.dumps({cue: v})}]}
    ),
    "address of a page": lambda v, cue: (
        f"open https://intranet.example/find?field={cue.replace(' ', '+')}&q={v} today"
    ),
    "table": lambda v, cue: (
        f"| item | note |\n|---|---|\n| {cue} | {v} |\n| tea | green |"
    ),
    "list": lambda v, cue: (
        f"{cue}:\n" + "\n".join(f"{n}. {p}" for n, p in enumerate(_pieces(v), 1))
    ),
    "yaml": lambda v, cue: (
        f"---\n{cue.replace(' ', '_').lower()}: {v}\n---\nShort note."
    ),
    "csv": lambda v, cue: f"name;{cue};city\nsomebody;{v};Graz\n",
    "xml": lambda v, cue: f'<field name="{cue}"><value>{v}</value></field>',
}


def cases(part: Part, each: int = 1) -> Iterator[Case]:
    """Every kind in every disguise and carrier and language, `each` times."""
    dice = random.Random(f"evasion {part}")
    for _, kind, (at, language) in itertools.product(
        range(each), _VALUES, enumerate(_LANGUAGES)
    ):
        cue = _CUES[kind][at]
        for disguise, write in _INLINE.items():
            value = _VALUES[kind](dice)
            shown = write(value, language)
            sentence = dice.choice(_SENTENCES[part][language])
            yield Case(
                kind,
                disguise,
                language,
                sentence.format(cue=cue, v=shown),
                (value,) if disguise == "tag characters" else (value, shown),
            )
        for disguise, carry in _CARRIERS.items():
            value = _VALUES[kind](dice)
            yield Case(kind, disguise, language, carry(value, cue), (value,))


_STATED: Mapping[Part, Mapping[str, Sequence[str]]] = {
    "tuning": {
        "en": ("She was diagnosed with diabetes in May.", "He is HIV positive."),
        "es": ("Le diagnosticaron cáncer en mayo.", "Toma insulina cada noche."),
        "de": ("Bei ihm wurde Krebs festgestellt.", "Sie nimmt abends Insulin."),
    },
    "kept": {
        "en": ("The oncologist began chemotherapy.", "He suffers from schizophrenia."),
        "es": ("Empieza la quimioterapia el lunes.", "Sufre de esquizofrenia."),
        "de": ("Die Chemotherapie beginnt am Montag.", "Er leidet an Schizophrenie."),
    },
}
_WHOLE = (
    "plain",
    "zero width",
    "full width",
    "spaced",
    "base64",
    "base64 twice",
    "hex",
    "percent",
    "entities",
    "unicode escapes",
    "binary",
    "codes",
    "base32",
    "lookalikes",
    "tag characters",
    "soft hyphen",
    "reversed",
    "bold",
)


def critical(part: Part) -> Iterator[Case]:
    """Sentences about somebody's health, in the disguises that hide a whole sentence."""
    for language, sentences in _STATED[part].items():
        for sentence, disguise in itertools.product(sentences, _WHOLE):
            text = f"Note 12: {_INLINE[disguise](sentence, language)}"
            yield Case("health", disguise, language, text, (sentence,), "critical")


def read(line: str) -> Case:
    """A line of a file: {kind, text, secrets, expect}; `disguise` and `language` may be
    there.
    """
    entry: dict[str, Any] = json.loads(line)
    return Case(
        kind=str(entry.get("kind", "")),
        disguise=str(entry.get("disguise", "")),
        language=str(entry.get("language", "")),
        text=str(entry["text"]),
        secrets=tuple(map(str, entry.get("secrets", ()))),
        expect=entry.get("expect", "masked"),
    )
