"""Contacts of an owner who does not exist, and sentences that name them in the ways
people do. Seeded.
"""

import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_GIVEN = (
    "Ana María", "José Luis", "Zoë", "Søren", "Björn", "Chloé", "Mateusz", "Nguyen", "Oluwaseun", "Priya", "Xiomara",
    "Jean-Pierre", "Anneliese", "Giovanni", "Fátima", "Liam", "Grace", "Mark", "Rose", "Yuki", "Ioana", "Ferran",
)  # fmt: skip
_FAMILY = (
    "García López", "Núñez", "O'Brien", "Müller", "Østergård", "de la Cruz", "van den Berg", "Kowalczyk", "Adeyemi",
    "Venkatesan", "Smith", "Baker", "Ó Súilleabháin", "Desrosiers", "Weiß", "Çelik", "Popescu", "Takahashi", "Puig",
)  # fmt: skip
_SENTENCES = (
    "I saw {} at the market.", "Ask {} about it", "{} wrote again", "Mañana ceno con {}.", "Gestern war {} hier.",
    "the notes of {}, and the rest", "({})", "Thanks, {}!",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mention:
    """A sentence in which a contact stands from `start` to `end`, spelled in one
    manner.
    """

    text: str
    start: int
    end: int
    manner: str


def names(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return sorted(
        {f"{chance.choice(_GIVEN)} {chance.choice(_FAMILY)}" for _ in range(count)}
    )


def mentions(seed: int, people: list[str]) -> Iterator[Mention]:
    """Every contact in every manner."""
    chance = random.Random(seed)
    for name in people:
        for manner, made in _MANNERS.items():
            sentence = chance.choice(_SENTENCES)
            start = sentence.index("{}")
            shown = made(name)
            yield Mention(
                sentence.replace("{}", shown),
                start,
                start + len(shown.removesuffix("'s")),
                manner,
            )


def _parts(name: str) -> tuple[str, str]:
    """Given and family name: the lists hold none that begins another."""
    given = max((one for one in _GIVEN if name.startswith(one + " ")), key=len)
    return given, name[len(given) + 1 :]


def _unaccented(name: str) -> str:
    return "".join(
        c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)
    )


_MANNERS: dict[str, Callable[[str], str]] = {
    "plain": lambda name: name,
    "upper": str.upper,
    "lower": str.lower,
    "no accents": _unaccented,
    "decomposed": lambda name: unicodedata.normalize("NFD", name),
    "possessive": lambda name: name + "'s",
    "family first": lambda name: " ".join(reversed(_parts(name))),
    "with a comma": lambda name: ", ".join(reversed(_parts(name))),
    "initial": lambda name: f"{name[0]}. {_parts(name)[1]}",
    "nbsp": lambda name: name.replace(" ", "\u00a0"),
    "zero width": lambda name: name[:2] + "\u200b" + name[2:],
    "two spaces": lambda name: name.replace(" ", "  "),
    "line end": lambda name: name.replace(" ", "\n", 1),
    "given": lambda name: _parts(name)[0],
    "family": lambda name: _parts(name)[1],
}
