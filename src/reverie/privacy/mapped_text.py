"""Rewritten texts with offsets back: what was decoded or joined, and where it stood."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reverie.privacy import folding

# What is read around a changed part, on both sides: a cue may stand in front of it.
_AROUND = 80


@dataclass(frozen=True, slots=True)
class MappedText:
    """A text whose character i came from `starts[i]` to `ends[i]` of the original.

    `changed[i]` is 1 where a character was rewritten, or one beside it. `strict`: only
    values with a form of their own are looked for in it.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    changed: bytes
    strict: bool = False

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The extent in the original text."""
        return min(self.starts[start:end]), max(self.ends[start:end])

    def is_changed(self, start: int, end: int) -> bool:
        """Whether an extent holds anything that the original does not say as it is."""
        return 1 in self.changed[start:end]


@dataclass(frozen=True, slots=True)
class Edit:
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
    """A text, folded."""
    folded = folding.fold(text)
    size = len(folded.text)
    if folded.starts is None or folded.ends is None:
        return MappedText(folded.text, range(size), range(1, size + 1), bytes(size))
    return MappedText(folded.text, folded.starts, folded.ends, bytes(size))


def substitute(mapped: MappedText, edits: Iterable[Edit]) -> MappedText:
    """The text with its edits made: they come in order and do not overlap."""
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    changed = bytearray()
    edges: list[int] = []
    at = 0
    for edit in edits:
        kept = slice(at, edit.start)
        size = len(edit.replacement)
        sources = _sources(mapped, edit)
        texts += (mapped.text[kept], edit.replacement)
        starts += (*mapped.starts[kept], *sources[0])
        ends += (*mapped.ends[kept], *sources[1])
        changed += mapped.changed[kept]
        edges.append(len(changed) - 1)
        changed += b"\1" * size
        edges.append(len(changed))
        at = edit.end
    if not edges:
        return mapped
    texts.append(mapped.text[at:])
    starts += mapped.starts[at:]
    ends += mapped.ends[at:]
    changed += mapped.changed[at:]
    for edge in edges:
        if 0 <= edge < len(changed):
            changed[edge] = 1
    return MappedText("".join(texts), starts, ends, bytes(changed), mapped.strict)


def _sources(mapped: MappedText, edit: Edit) -> tuple[Sequence[int], Sequence[int]]:
    """Where each character of an edit came from: its starts and its ends."""
    if edit.backwards:
        part = slice(edit.start, edit.end)
        return mapped.starts[part][::-1], mapped.ends[part][::-1]
    size = len(edit.replacement)
    start, end = mapped.back(edit.start, edit.end)
    return [start] * size, [end] * size


def windows(mapped: MappedText, *, strict: bool) -> Iterator[MappedText]:
    """The changed parts of a text with what stands around them, each for itself."""
    at = mapped.changed.find(1)
    while at >= 0:
        start = _word_start(mapped.text, max(0, at - _AROUND))
        end = at + 1
        following = at
        while following >= 0 and following - end <= 2 * _AROUND:
            end = following + 1
            following = mapped.changed.find(1, end)
        stop = _word_end(mapped.text, min(len(mapped.text), end + _AROUND))
        yield cut(mapped, start, stop, strict=strict)
        at = following


def cut(mapped: MappedText, start: int, end: int, *, strict: bool) -> MappedText:
    """A part of a text."""
    part = slice(start, end)
    return MappedText(
        mapped.text[part],
        mapped.starts[part],
        mapped.ends[part],
        mapped.changed[part],
        strict,
    )


def _word_start(text: str, at: int) -> int:
    """The beginning of the word that stands there, if it is no more than a window
    away.
    """
    least = max(0, at - _AROUND)
    while at > least and not text[at - 1].isspace():
        at -= 1
    return at


def _word_end(text: str, at: int) -> int:
    most = min(len(text), at + _AROUND)
    while at < most and not text[at].isspace():
        at += 1
    return at
