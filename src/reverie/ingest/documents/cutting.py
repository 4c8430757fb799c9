"""Cutting: a document's units become its whole text, and the passages of it that search
ranks, each with its place.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from reverie import compact
from reverie.ingest.documents import units

LIMIT = 1000
OVERLAP = 100
FRAGMENT = 100
# Of slides, sheets and tables: what is shorter joins its neighbour, and so many rows
# are a passage.
STRUCTURED_FRAGMENT = 20
ROWS = 20
MOST = 3 * LIMIT
"""A slide or a group of rows that is longer is cut like running text."""
SECTIONS = 3
"""Headings down to this level open a section."""

_TITLE, _HEADER = 120, 500
# A last piece shorter than this is no piece of its own.
_REST = 200
# Whatever a sentence ends with, the quotes and brackets after it, and the space before
# the next one.
_ENDS = re.compile(r"[.!?…؟۔।]+[\"'”’»)\]]*(?=\s)|[。！？．]+[」』”’）]*|\n")
# Perhaps an abbreviation.
_SHORT = re.compile(r"\b([^\W\d_]{1,3})\.$")
_SPACE = re.compile(r"\s+")
# Letters that Thai and Lao write before or after the consonant that they belong to.
_LEADING = frozenset("เแโใไເແໂໃໄ")
_FOLLOWING = frozenset("ะาำๅๆະາຳໆ")
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class CutPassage:
    """One passage: `text[start:end]` of the document, offsets in characters; neighbours
    may overlap.

    `head` is read before it: the headings above, the name of the sheet and the columns,
    as far as the passage does not hold them itself. It is no part of the document's
    text.
    """

    start: int
    end: int
    place: Mapping[str, int | str | list[int]]
    head: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """A document's whole text in reading order, and its passages in that order."""

    text: str
    parts: list[CutPassage]

    def as_json(self) -> list[dict[str, object]]:
        """The passages as a record of the domain `file` keeps them."""
        found: list[dict[str, object]] = []
        for one in self.parts:
            told: dict[str, object] = {
                "start": one.start,
                "end": one.end,
                "place": dict(one.place),
            }
            found.append(told | {"head": one.head} if one.head else told)
        return found


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a block stands in its unit's text, the headings above it (its own
    included), and its columns' names.
    """

    start: int
    end: int
    block: units.Block
    section: tuple[str, ...]
    header: str


@dataclass(frozen=True, slots=True)
class _Laid:
    """A unit's text and its blocks in it."""

    unit: units.Unit
    text: str
    spans: Sequence[_Span]
    starts: Sequence[int]

    def within(self, start: int, end: int) -> Sequence[_Span]:
        """The blocks of which a part lies there."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1)
        return [one for one in self.spans[max(first, 0) : last] if one.end > start]


@dataclass(slots=True)
class _Above:
    """What stands above the next block: headings, and the row that names the columns."""

    root: tuple[str, ...] = ()
    titles: list[str] = field(default_factory=list[str])
    table: object = None
    header: str = ""

    def enter(self, unit: units.Unit) -> None:
        """A section runs on over the end of a page, but into no other slide, sheet or
        chapter.
        """
        own = unit.place.get("section")
        root = (_title(str(own)),) if own else ()
        if root != self.root or _structured(unit):
            self.root, self.titles = root, []
        if unit.place.get("sheet") != self.table or self.table is None:
            self.table, self.header = unit.place.get("sheet"), ""

    def take(self, block: units.Block, text: str) -> None:
        """Go on to a block."""
        if _opens(block):
            title = _title(text)
            self.titles = [
                *self.titles[: block.level - 1],
                *[""] * (block.level - 1 - len(self.titles)),
                title,
            ]
        if block.kind == "header":
            self.header = text
        elif block.kind != "row" and self.table is None:
            self.header = ""

    def section(self, block: units.Block) -> tuple[str, ...]:
        """The headings above a block."""
        if own := block.place.get("section"):
            return (str(own),)
        return self.root + tuple(
            one for one in self.titles if one and one not in self.root
        )


def cut(read: Iterable[units.Unit]) -> Cut:
    """The text of units in their order, and its passages. Takes time in proportion to
    the text.
    """
    texts: list[str] = []
    parts: list[CutPassage] = []
    above = _Above()
    at = 0
    for unit in read:
        laid = _lay(unit, above)
        if not laid.text:
            continue
        if texts:
            texts.append("\n\n")
            at += 2
        parts += [
            replace(one, start=one.start + at, end=one.end + at) for one in _parts(laid)
        ]
        texts.append(laid.text)
        at += len(laid.text)
    return Cut("".join(texts), parts)


def _lay(unit: units.Unit, above: _Above) -> _Laid:
    """A unit's blocks as one text: rows line by line, all others with an empty line
    between.
    """
    texts: list[str] = []
    spans: list[_Span] = []
    at = 0
    above.enter(unit)
    for block in unit.blocks:
        text = block.text.strip()
        if not text:
            continue
        if spans:
            glue = "\n" if _row(block) and _row(spans[-1].block) else "\n\n"
            texts.append(glue)
            at += len(glue)
        above.take(block, text)
        header = above.header if block.kind == "row" else ""
        spans.append(_Span(at, at + len(text), block, above.section(block), header))
        texts.append(text)
        at += len(text)
    return _Laid(unit, "".join(texts), spans, [one.start for one in spans])


def _parts(laid: _Laid) -> Iterator[CutPassage]:
    if "slide" in laid.unit.place:
        ranges = [(0, len(laid.text))]
        most = MOST
    elif _table(laid):
        ranges = _rows(laid)
        most = MOST
    else:
        ranges = _sections(laid)
        most = LIMIT + _REST
    for start, end in ranges:
        for first, last in (
            _pieces(laid, start, end) if end - start > most else [(start, end)]
        ):
            yield _part(laid, first, last)


def _sections(laid: _Laid) -> list[tuple[int, int]]:
    """The sections of a unit; one that is a mere fragment joins the next one, or the
    last one before it.
    """
    ranges: list[tuple[int, int]] = []
    for _, group in groupby(laid.spans, key=lambda one: one.section):
        held = list(group)
        ranges.append((held[0].start, held[-1].end))
    return _joined(ranges, FRAGMENT)


def _rows(laid: _Laid) -> list[tuple[int, int]]:
    """Groups of rows; a row that names the columns begins a new one."""
    ranges: list[tuple[int, int]] = []
    rows = 0
    for span in laid.spans:
        full = rows >= ROWS or (rows and span.block.kind == "header")
        if not ranges or full or span.end - ranges[-1][0] > MOST:
            ranges.append((span.start, span.end))
            rows = 0
        ranges[-1] = (ranges[-1][0], span.end)
        rows += span.block.kind == "row"
    return _joined(ranges, STRUCTURED_FRAGMENT)


def _joined(ranges: Sequence[tuple[int, int]], fragment: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and joined[-1][1] - joined[-1][0] < fragment:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    if len(joined) > 1 and joined[-1][1] - joined[-1][0] < fragment:
        _, end = joined.pop()
        joined[-1] = (joined[-1][0], end)
    return joined


def _part(laid: _Laid, start: int, end: int) -> CutPassage:
    """A passage with its place: of several sections, the one that most of it is of."""
    held = laid.within(start, end)
    sizes: dict[tuple[str, ...], int] = {}
    for span in held:
        sizes[span.section] = (
            sizes.get(span.section, 0) + min(span.end, end) - max(span.start, start)
        )
    section = max(sizes, key=lambda one: sizes[one])
    place = {**laid.unit.place, **held[0].block.place}
    first, last = place.get("rows"), held[-1].block.place.get("rows")
    if isinstance(first, list) and isinstance(last, list):
        place["rows"] = [first[0], last[1]]
    if section and "slide" not in place:
        place["section"] = " > ".join(section)
    return CutPassage(start, end, place, _head(laid, start, held, section))


def _head(
    laid: _Laid, start: int, held: Sequence[_Span], section: Sequence[str]
) -> str:
    """What is said above a passage and not in it."""
    lines: list[str] = []
    if sheet := laid.unit.place.get("sheet"):
        lines.append(f"[Sheet: {sheet}]")
    inside = {
        _title(one.block.text.strip())
        for one in held
        if _opens(one.block) and one.start >= start
    }
    if missing := [one for one in section if one not in inside]:
        lines.append(" > ".join(missing))
    header = held[0].header
    if header and all(one.block.kind != "header" for one in held):
        lines.append(compact.clip(header, _HEADER))
    return "\n".join(lines)


def _pieces(laid: _Laid, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Running text in pieces that overlap, each from the beginning of a sentence or a
    word to the end of one.
    """
    while end - start > LIMIT + _REST:
        stop = _before_space(laid.text, _end(laid, start + LIMIT // 2, start + LIMIT))
        yield start, stop
        begins = _beginning(laid, stop)
        start = (
            begins if begins > start else _after_space(laid.text, stop)
        )  # a word in a desert of spaces
    yield start, end


def _end(laid: _Laid, low: int, high: int) -> int:
    """Where a piece ends: after the last sentence there, else the last word, else
    anywhere.
    """
    sentences = [
        one.end()
        for one in _ENDS.finditer(laid.text, low, high + 1)
        if low < one.end() <= high
    ]
    for stop in reversed(sentences):
        if _finished(laid, stop):
            return stop
    words = [
        one.start()
        for one in _SPACE.finditer(laid.text, low, high + 1)
        if low < one.start() <= high
    ]
    return words[-1] if words else _unbroken(laid.text, high)


def _beginning(laid: _Laid, stop: int) -> int:
    """Where the next piece begins: with a sentence about OVERLAP before the end of this
    one, else with a word.
    """
    text, wanted = laid.text, stop - OVERLAP
    ends = [
        one.end()
        for one in _ENDS.finditer(text, wanted - OVERLAP // 2, stop - OVERLAP // 3)
    ]
    begins = [_after_space(text, one) for one in ends if _finished(laid, one)]
    if begins := [one for one in begins if one < stop]:
        return min(begins, key=lambda one: abs(one - wanted))
    if (space := _SPACE.search(text, wanted - 1, stop)) and space.end() < stop:
        return space.end()
    # One word: either it is longer than what may overlap, or its language has no
    # spaces.
    return _after_space(text, stop) if text[stop].isspace() else _unbroken(text, wanted)


def _finished(laid: _Laid, stop: int) -> bool:
    """Whether a sentence ends there, and not a mere line, an abbreviation or an
    initial.
    """
    after = _after_space(laid.text, stop)
    if laid.text[stop - 1] == "\n":
        return (
            laid.text[stop] == "\n"
            or laid.starts[bisect_right(laid.starts, after) - 1] == after
        )
    following = laid.text[after : after + 1]
    if short := _SHORT.search(laid.text, max(stop - 6, 0), stop):
        return not (following.islower() or following.isdecimal() or short[1].istitle())
    return not following.islower()


def _before_space(text: str, stop: int) -> int:
    while text[stop - 1].isspace():
        stop -= 1
    return stop


def _after_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _unbroken(text: str, at: int) -> int:
    """The nearest place before, at which no letter is torn from its marks."""
    for stop in range(at, at - 16, -1):
        marks = unicodedata.category(text[stop])[0] == "M" or text[stop] in _FOLLOWING
        if (
            not marks
            and text[stop - 1] not in _LEADING
            and _JOINER not in text[stop - 1 : stop + 1]
        ):
            return stop
    return at


def _title(text: str) -> str:
    return compact.clip(" ".join(text.split()), _TITLE)


def _opens(block: units.Block) -> bool:
    return block.kind == "heading" and 1 <= block.level <= SECTIONS


def _row(block: units.Block) -> bool:
    return block.kind in ("row", "header")


def _structured(unit: units.Unit) -> bool:
    return "slide" in unit.place or "sheet" in unit.place


def _table(laid: _Laid) -> bool:
    return "sheet" in laid.unit.place or all(
        _row(one.block) and one.block.place for one in laid.spans
    )
