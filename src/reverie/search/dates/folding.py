"""Unicode folding of a question: no case, no accents, places in the original kept. Pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from reverie.vocabulary import letters


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as the tables know it; `places` has for each folded character where it
    stands in the original, and the end.
    """

    original: str
    folded: str
    places: Sequence[int]

    def place_of_end(self, end: int) -> int:
        """Where the original ends of which the folded text is read up to `end`; the
        accents of the last character, which the folding dropped, belong to it.
        """
        place = self.places[end - 1] + 1
        for character in self.original[place:]:
            if not unicodedata.combining(character):
                break
            place += 1
        return place


def folded(text: str) -> FoldedText:
    """A text in small letters and without accents."""
    if text.isascii():
        return FoldedText(text, text.lower(), range(len(text) + 1))
    pieces: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        piece = _fold_character(character)
        pieces.append(piece)
        places.extend([place] * len(piece))
    places.append(len(text))
    return FoldedText(text, "".join(pieces), places)


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    """What is left of a character; of a combining accent nothing is."""
    parts = unicodedata.normalize("NFKD", character.casefold())
    bare = [part for part in parts if not unicodedata.combining(part)]
    return letters.plain("".join(bare))
