"""Rewritten texts with offsets back: what was decoded or joined, and where it stood."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

# What is read around a changed part, on both sides: a cue may stand in front of it.
_AROUND = 80
# Changed characters with so few others between them that they share what is around.
_CHANGED = re.compile(rb"\x01(?:\x00{0,%d}+\x01)*" % (2 * _AROUND))


class Offsets(NamedTuple):
    """Where each character of a text began in the original, and where it ended."""

    starts: Sequence[int]
    ends: Sequence[int]


Origin = Offsets | Callable[[], Offsets]
"""Where characters came from, or what computes it."""


class MappedText:
    """A text, and where its characters came from: that is computed when it is asked
    for, as most rewritten texts hold nothing.

    `changed[i]` is 1 where a character was rewritten, or one beside it. `strict`: only
    values with a form of their own are looked for in it.
    """

    __slots__ = ("_origin", "changed", "strict", "text")

    def __init__(
        self, text: str, changed: bytes, origin: Origin, *, strict: bool = False
    ) -> None:
        self.text = text
        self.changed = changed
        self.strict = strict
        self._origin = origin

    @property
    def offsets(self) -> Offsets:
        """Where each character came from."""
        if not isinstance(self._origin, Offsets):
            self._origin = self._origin()
        return self._origin

    @property
    def starts(self) -> Sequence[int]:
        """Where each character began in the original."""
        return self.offsets.starts

    @property
    def ends(self) -> Sequence[int]:
        """Where each character ended in the original."""
        return self.offsets.ends

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The extent in the original text."""
        return min(self.starts[start:end]), max(self.ends[start:end])

    def is_changed(self, start: int, end: int) -> bool:
        """Whether an extent holds anything that the original does not say as it is."""
        return self.changed.find(1, start, end) >= 0


class Edit(NamedTuple):
    """What stands in place of an extent: each of its characters stands for all of it,
    or, `backwards`, for the one that is as far from the end.
    """

    start: int
    end: int
    replacement: str
    backwards: bool = False


def of_match(match: re.Match[str], text: str) -> Edit:
    """The edit that puts a text in the place of all that matched."""
    return Edit(match.start(), match.end(), text)


def reversal(text: str, start: int, end: int) -> Edit:
    """The edit that puts an extent of a text from its last character to its first."""
    return Edit(start, end, text[start:end][::-1], backwards=True)


def of(text: str) -> MappedText:
    """A text as it stands."""
    size = len(text)
    return MappedText(text, bytes(size), Offsets(range(size), range(1, size + 1)))


def substitute(mapped: MappedText, edits: Iterable[Edit]) -> MappedText:
    """The text with its edits made: they come in order and do not overlap."""
    made = list(edits)
    return _substituted(mapped, made) if made else mapped


def _substituted(mapped: MappedText, made: Sequence[Edit]) -> MappedText:
    texts: list[str] = []
    changed = bytearray()
    edges: list[int] = []
    at = 0
    for start, end, replacement, _ in made:
        texts += (mapped.text[at:start], replacement)
        changed += mapped.changed[at:start]
        edges.append(len(changed) - 1)
        changed += b"\1" * len(replacement)
        edges.append(len(changed))
        at = end
    texts.append(mapped.text[at:])
    changed += mapped.changed[at:]
    for edge in edges:
        if 0 <= edge < len(changed):
            changed[edge] = 1
    origin = partial(_edited, mapped, made)
    return MappedText("".join(texts), bytes(changed), origin, strict=mapped.strict)


def _edited(mapped: MappedText, edits: Iterable[Edit]) -> Offsets:
    """Where the characters of an edited text came from."""
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for edit in edits:
        sources = _sources(mapped, edit)
        starts += (*mapped.starts[at : edit.start], *sources.starts)
        ends += (*mapped.ends[at : edit.start], *sources.ends)
        at = edit.end
    starts += mapped.starts[at:]
    ends += mapped.ends[at:]
    return Offsets(starts, ends)


def _sources(mapped: MappedText, edit: Edit) -> Offsets:
    """Where each character of an edit came from."""
    if edit.backwards:
        part = slice(edit.start, edit.end)
        return Offsets(mapped.starts[part][::-1], mapped.ends[part][::-1])
    size = len(edit.replacement)
    start, end = mapped.back(edit.start, edit.end)
    return Offsets([start] * size, [end] * size)


def windows(mapped: MappedText, *, strict: bool) -> Iterator[MappedText]:
    """The changed parts of a text with what stands around them, each for itself."""
    size = len(mapped.text)
    for part in _CHANGED.finditer(mapped.changed):
        start = _word_start(mapped.text, max(0, part.start() - _AROUND))
        stop = _word_end(mapped.text, min(size, part.end() + _AROUND))
        yield cut(mapped, start, stop, strict=strict)


def cut(mapped: MappedText, start: int, end: int, *, strict: bool) -> MappedText:
    """A part of a text."""
    part = slice(start, end)
    origin = partial(_cut, mapped, part)
    return MappedText(mapped.text[part], mapped.changed[part], origin, strict=strict)


def _cut(mapped: MappedText, part: slice) -> Offsets:
    return Offsets(mapped.starts[part], mapped.ends[part])


def _word_start(text: str, at: int) -> int:
    """The beginning of the word that stands there, if it is no more than a window
    away.
    """
    before = text[max(0, at - _AROUND) : at]
    if not before or before[-1].isspace():
        return at
    return at - len(before.rsplit(maxsplit=1)[-1])


def _word_end(text: str, at: int) -> int:
    behind = text[at : at + _AROUND]
    if not behind or behind[0].isspace():
        return at
    return at + len(behind.split(maxsplit=1)[0])
