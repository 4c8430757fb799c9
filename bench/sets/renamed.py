"""Labelled texts with other names in them: shows whether a finder knows the names of a
set or reads the text.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reverie.privacy import folding, lists

Labels = Sequence[tuple[str, str]]
# Sounds of which names are made.
_STARTS = [
    "br",
    "cr",
    "d",
    "f",
    "g",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "v",
    "w",
    "th",
    "sh",
]
_MIDDLES = ["a", "e", "i", "o", "u", "ae", "ei"]
_ENDS = ["n", "r", "l", "k", "s", "x", "nd", "m", ""]
_PLACE_ENDS = ["ford", "moor", "burg", "ville", "field", "sea", "wick"]
_GIVEN = [
    "Agneta",
    "Bartosz",
    "Caoimhe",
    "Dagny",
    "Eneko",
    "Farida",
    "Gudrun",
    "Hakim",
    "Ines",
    "Jorma",
    "Kateryna",
    "Lorenzo",
    "Malik",
    "Noor",
    "Oluwaseun",
    "Priya",
    "Quim",
    "Renata",
    "Saoirse",
    "Tomasz",
    "Ursula",
    "Viggo",
    "Wanda",
    "Ximena",
    "Yusuf",
    "Zelda",
    "Amparo",
    "Bruno",
    "Clover",
    "Daria",
    "Ember",
    "Fabian",
    "Giulia",
    "Henrik",
    "Juniper",
]


def stems(labels: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The words that make the names of a set: those of persons, and those of the rest
    that are in no dictionary.
    """
    found: dict[str, str] = {}
    for name, kind in sorted(labels):
        for word in name.split():
            plain = folding.plain(word)
            if kind == "person" or not any(
                lists.english(part) for part in plain.split("-")
            ):
                found.setdefault(word, kind)
    return found


def mapping(found: Mapping[str, str], chance: random.Random) -> dict[str, str]:
    """Another word for each: a name that people have, or an invented one."""
    made: dict[str, str] = {}
    for word, kind in found.items():
        other = word
        while other in made.values() or other in found:
            listed = kind == "person" and chance.random() < 0.5
            other = (
                chance.choice(_GIVEN)
                if listed
                else _invented(chance, kind).capitalize()
            )
        made[word] = other
    return made


def _invented(chance: random.Random, kind: str) -> str:
    sounds = "".join(chance.choice(_STARTS) + chance.choice(_MIDDLES) for _ in range(2))
    return sounds + chance.choice(_ENDS if kind == "person" else _PLACE_ENDS)


def texts(
    given: Iterable[tuple[str, Labels]], others: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each text and its labels with the other words; a genitive s stays."""
    words = "|".join(re.escape(word) for word in sorted(others, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)({words})(?=s?(?!\w))")
    for text, labels in given:
        renamed = [
            (pattern.sub(lambda match: others[match[0]], name), kind)
            for name, kind in labels
        ]
        yield pattern.sub(lambda match: others[match[0]], text), renamed
