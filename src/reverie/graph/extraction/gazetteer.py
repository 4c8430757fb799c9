"""Finds the names of known nodes in a text, in any case and without accents, the
longest first.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.privacy import folding

Kind = Literal["person", "entity", "concept"]
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A node that the owner has: what it is called, and what else it is called."""

    key: str
    kind: Kind
    name: str
    type: str = ""
    other_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Known nodes by the first word of each of their names. Made once, used for many
    texts.
    """

    by_first: Mapping[str, Sequence[tuple[tuple[str, ...], KnownNode]]]


def of(nodes: Iterable[KnownNode]) -> Gazetteer:
    """The gazetteer of some nodes."""
    by_first: dict[str, list[tuple[tuple[str, ...], KnownNode]]] = defaultdict(list)
    for node in nodes:
        for name in (node.name, *node.other_names):
            words = tuple(
                folding.plain(word) for word in _WORD.findall(folding.fold(name).text)
            )
            if words and len("".join(words)) > 1:
                by_first[words[0]].append((words, node))
    for forms in by_first.values():
        forms.sort(key=lambda form: -len(form[0]))
    return Gazetteer(dict(by_first))


def find(text: str, known: Gazetteer) -> Iterator[tuple[int, int, KnownNode]]:
    """Where names of known nodes stand in a folded text, none overlapping."""
    if not known.by_first:
        return
    found = list(_WORD.finditer(text))
    plain = [folding.plain(word.group()) for word in found]
    at = 0
    while at < len(found):
        match = _match(plain, at, known)
        if match and _meant(found[at].group(), match[0], match[1]):
            words, node = match
            yield found[at].start(), found[at + len(words) - 1].end(), node
            at += len(words)
        else:
            at += 1


def _match(
    plain: Sequence[str], at: int, known: Gazetteer
) -> tuple[tuple[str, ...], KnownNode] | None:
    """The longest name that begins at a word; its last word may carry the s of a
    genitive or of a plural.
    """
    for first in dict.fromkeys((plain[at], plain[at].removesuffix("s"))):
        for words, node in known.by_first.get(first, ()):
            here = tuple(plain[at : at + len(words)])
            if here[:-1] == words[:-1] and here[-1] in (words[-1], words[-1] + "s"):
                return words, node
    return None


def _meant(first: str, words: Sequence[str], node: KnownNode) -> bool:
    """A name of one word must have its capital, unless the owner writes it without:
    `Harrow`, not `to harrow`.
    """
    return (
        node.kind == "concept"
        or len(words) > 1
        or first[0].isupper()
        or not node.name[:1].isupper()
    )
