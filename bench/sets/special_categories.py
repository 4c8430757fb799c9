"""Labelled sentences for the special categories of personal data: in each of thirteen
languages what states one, and ordinary sentences that look like it.

The half `tune` was used while the word lists were written; the half `held` was written
before it was first scored, and is only scored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWN = Path(__file__).with_suffix(".txt")
STRANGER = OWN.with_stem("special_categories_stranger")
"""A set of the same form by somebody who had not seen the word lists."""
_HEADING = re.compile(r"\[(\w+) (\w+) (\w+)\]")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence; its category is `none` if it states nothing of the kind."""

    language: str
    half: str
    category: str
    text: str


def sentences(path: Path = OWN) -> Iterator[Labelled]:
    """All of them, in the order of the file."""
    heading: tuple[str, str, str] | None = None
    for line in path.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        found = _HEADING.fullmatch(line)
        if found:
            heading = found[1], found[2], found[3]
        elif heading:
            yield Labelled(*heading, line)
