"""Gazetteer: finds the names of known nodes in a text, the longest first.

In any case and without accents; a name of one word must have its capital.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.privacy import folding, tokenizer

Kind = Literal["person", "entity", "concept"]


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A node that the owner has: what it is called, and what else it is called."""

    key: str
    kind: Kind
    name: str
    type: str = ""
    other_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownName:
    """One of the names of a node, as folded words."""

    words: tuple[str, ...]
    node: KnownNode


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Known nodes by the first word of each of their names. Made once, used for many
    texts.
    """

    by_first_word: Mapping[str, Sequence[KnownName]]


def of(nodes: Iterable[KnownNode]) -> Gazetteer:
    """The gazetteer of some nodes."""
    by_first_word: dict[str, list[KnownName]] = defaultdict(list)
    for node in nodes:
        for name in (node.name, *node.other_names):
            words = tokenizer.plain_words(folding.fold(name).text)
            if len("".join(words)) > 1:
                by_first_word[words[0]].append(KnownName(words, node))
    for names in by_first_word.values():
        names.sort(key=lambda name: -len(name.words))
    return Gazetteer(dict(by_first_word))


def find(text: str, gazetteer: Gazetteer) -> Iterator[tuple[int, int, KnownNode]]:
    """(start, end, node) wherever the name of a known node stands in a folded text,
    none overlapping.
    """
    if not gazetteer.by_first_word:
        return
    words = tokenizer.words_with_offsets(text)
    plain = [folding.plain(word.text) for word in words]
    at = 0
    while at < len(words):
        name = _longest_name(plain, at, gazetteer)
        if name is None or not _meant(words[at].text, name):
            at += 1
            continue
        last = words[at + len(name.words) - 1]
        yield words[at].start, last.end, name.node
        at += len(name.words)


def _longest_name(
    plain: Sequence[str], at: int, gazetteer: Gazetteer
) -> KnownName | None:
    """The longest name that begins at a word; its last word may carry the s of a
    genitive or of a plural.
    """
    for first in dict.fromkeys((plain[at], plain[at].removesuffix("s"))):
        for name in gazetteer.by_first_word.get(first, ()):
            *beginning, last = plain[at : at + len(name.words)]
            if tuple(beginning) != name.words[:-1]:
                continue
            if last in (name.words[-1], name.words[-1] + "s"):
                return name
    return None


def _meant(first: str, name: KnownName) -> bool:
    """A name of one word must have its capital, unless the owner writes it without:
    `Harrow`, not `to harrow`.
    """
    return (
        name.node.kind == "concept"
        or len(name.words) > 1
        or first[0].isupper()
        or not name.node.name[:1].isupper()
    )
