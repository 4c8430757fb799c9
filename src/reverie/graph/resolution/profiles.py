"""Profiles of nodes for entity resolution: names, addresses, numbers, days."""

import re
from dataclasses import dataclass

from reverie.graph.resolution import transliteration

_PHONE_END, _SHORTEST_PHONE = 9, 6  # digits


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a node.

    The first of the names is the one its key is made of. An identifier is a number of
    its bearer's own; a slip may be in it.
    """

    kind: str
    names: tuple[str, ...]
    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    birthday: str = ""
    address: str = ""
    identifiers: tuple[str, ...] = ()

    @property
    def bare(self) -> bool:
        """Whether nothing but a name is known."""
        facts = (
            self.emails,
            self.phones,
            self.birthday,
            self.address,
            self.identifiers,
        )
        return not any(facts)


def emails(profile: Profile) -> set[str]:
    """The addresses as they are compared."""
    return {transliteration.normalised(email) for email in profile.emails}


def _digits(text: str) -> str:
    """The digits of a text."""
    return re.sub(r"\D", "", text)


def birthday(profile: Profile) -> str:
    """The digits of a day, with or without a year: 19800102, 0102."""
    return _digits(profile.birthday)[:8]


def phones(profile: Profile) -> set[str]:
    """The ends of the numbers, so that a country code makes no difference."""
    numbers = map(_digits, profile.phones)
    return {
        digits[-_PHONE_END:] for digits in numbers if len(digits) >= _SHORTEST_PHONE
    }


def identifiers(profile: Profile) -> set[str]:
    """The identifiers without their punctuation."""
    return {
        re.sub(r"[\W_]", "", transliteration.normalised(number))
        for number in profile.identifiers
    } - {""}
