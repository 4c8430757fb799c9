"""Kinship terms: words for the same relative in English, Spanish and German."""

from collections.abc import Mapping

from reverie.vocabulary import word_lists

_RELATIVES = word_lists.read("kinship")["relatives"]


def _by_word() -> Mapping[str, tuple[str, ...]]:
    """Each word with the others for the same relative."""
    others: dict[str, tuple[str, ...]] = {}
    for first, rest in _RELATIVES.items():
        words = (first, *rest)
        for word in words:
            others[word] = tuple(other for other in words if other != word)
    return others


_BY_WORD = _by_word()


def other_words(word: str) -> tuple[str, ...]:
    """Other folded words for the relative that a folded word names: mum -> mother,
    mama, madre, ...
    """
    return _BY_WORD.get(word, ())
