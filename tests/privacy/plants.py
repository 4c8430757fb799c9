"""What the egress tests plant: critical documents in three languages, and texts full of
values that must not leave.
"""

import importlib
import random
import string
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
_spellings = importlib.import_module("sets.spellings")
_special = importlib.import_module("sets.special_categories")

_MEDICAL = (
    "The biopsy of {} was clear.",
    "{} tiene diabetes y toma insulina.",
    "{} wartet auf die Chemotherapie im Krankenhaus.",
    "Blood pressure of {}: 150 over 95, start the medication.",
    "A {} le han diagnosticado depresión.",
)
_QUIET = (
    "{} slept badly after the walk.",
    "{} no ha dormido.",
    "{} hat schlecht geschlafen.",
)
_GIVEN = (
    "Ana",
    "Bjorn",
    "Chloe",
    "Dieter",
    "Elena",
    "Farid",
    "Grace",
    "Hugo",
    "Irina",
    "Jon",
    "Kemal",
    "Lucia",
)
_SENTENCES = {
    "card": ("My card is {}.", "La tarjeta es {}.", "Meine Karte: {}."),
    "iban": (
        "Pay to {} please.",
        "Páguelo a {} por favor.",
        "Bitte auf {} überweisen.",
    ),
    "dni": ("His DNI is {}.", "con DNI {}, vecino de aquí.", "Die DNI lautet {}."),
    "nie": ("NIE {} on the form.", "Su NIE es {}.", "NIE: {}."),
    "phone": ("Call {} tonight.", "Llama al {} esta noche.", "Ruf {} heute Abend an."),
    "email": ("Write to {} about it.", "Escribe a {} mañana.", "Schreib an {} bitte."),
    "person": ("{} said so.", "Lo dijo {}.", "Das sagte {}."),
}
_KINDS = (
    "card",
    "iban",
    "dni",
    "nie",
    "phone_es",
    "phone_us",
    "phone_de",
    "phone_uk",
    "email",
    "person",
)


@dataclass(frozen=True)
class Planted:
    """A text with the values in it, and a word that no other text has."""

    text: str
    mark: str
    values: tuple[str, ...]


def critical(number: int) -> str:
    """Half of them say what they are, half are known for their record alone. Each has a
    word that nothing else has.
    """
    forms = _MEDICAL if number % 2 else _QUIET
    return forms[number // 2 % len(forms)].format(f"krit{number:04d}zzq")


def special() -> list[str]:
    """A sentence of each special category in each language."""
    first: dict[tuple[str, str], str] = {}
    for sentence in _special.sentences():
        if sentence.category != "none" and sentence.half == "tune":
            first.setdefault((sentence.language, sentence.category), sentence.text)
    return list(first.values())


def names(count: int) -> list[str]:
    """Names that no list has whole: the owner's contacts."""
    dice = random.Random(4)
    found: set[str] = set()
    while len(found) < count:
        family = "".join(
            dice.choice(("ba", "ker", "lo", "mi", "ru", "tas", "ven", "zor", "qui"))
            for _ in range(4)
        )
        found.add(f"{dice.choice(_GIVEN)} {family.capitalize()}")
    return sorted(found)


def planted(count: int, people: list[str]) -> Iterator[Planted]:
    """Texts of ten values each, no value twice, so many that there are `count` values."""
    dice = random.Random(5)
    seen: set[str] = set()
    for number in range(count // 10):
        parts: list[str] = []
        values: list[str] = []
        # The first is never a name: a name alone makes no text private.
        for kind in [
            dice.choice(_KINDS[:-1]),
            *(dice.choice(_KINDS) for _ in range(9)),
        ]:
            value = _value(kind, dice, people)
            while value in seen and kind != "person":
                value = _value(kind, dice, people)
            seen.add(value)
            values.append(value)
            parts.append(dice.choice(_SENTENCES[kind.partition("_")[0]]).format(value))
        mark = "marker" + "".join(
            string.ascii_lowercase[int(digit)] for digit in f"{number:05d}"
        )
        yield Planted(f"{mark} begins. {' '.join(parts)}", mark, tuple(values))


def _value(kind: str, dice: random.Random, people: list[str]) -> str:
    if kind == "person":
        return dice.choice(people)
    if kind == "email":
        return f"{dice.choice(_GIVEN).lower()}.{dice.randrange(10**6)}@mail{dice.randrange(50)}.example.org"
    made: dict[str, Any] = vars(_spellings)["_MAKE"]
    return _spellings.spell(
        kind, made[kind](dice), dice.choice(("plain", "spaced", "dashed"))
    )
