"""Chunking of documents: units become one text and overlapping passages, each with its
place and headings.

A slide is one passage, a group of rows of a table is one, running text is cut by sections
and then by length, at ends of sentences, with an overlap. Fragments join a neighbour. A
passage is an extent of the whole text, so that what search finds can be shown in its
place; the headings and names of columns above it are its head, which is no part of the
text.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from reverie import compact
from reverie.ingest.documents import boundaries, units

# Lengths are in characters and were set by hand; docs/decisions/0020 says what for, and
# bench/search_quality.py measures search with them.
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

_TITLE = 120
_HEADER = 500
# A last piece shorter than this is no piece of its own.
_REST = 200


Extent = tuple[int, int]
"""Where something begins and ends in a text, in characters."""


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
        return [_passage_json(passage) for passage in self.parts]


def _passage_json(passage: CutPassage) -> dict[str, object]:
    """A passage as a record keeps it: start, end, place, and head if there is one."""
    stored: dict[str, object] = {
        "start": passage.start,
        "end": passage.end,
        "place": dict(passage.place),
    }
    if passage.head:
        stored["head"] = passage.head
    return stored


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
    starts: Sequence[int]
    spans: Sequence[_Span]

    def within(self, start: int, end: int) -> Sequence[_Span]:
        """The blocks of which a part lies there."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1)
        spans = self.spans[max(first, 0) : last]
        return [span for span in spans if span.end > start]


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
            self.root = root
            self.titles = []
        sheet = unit.place.get("sheet")
        if sheet is None or sheet != self.table:
            self.table = sheet
            self.header = ""

    def take(self, block: units.Block, text: str) -> None:
        """Go on to a block."""
        if _opens(block):
            above = self.titles[: block.level - 1]
            skipped = [""] * (block.level - 1 - len(above))
            self.titles = [*above, *skipped, _title(text)]
        if block.kind == "header":
            self.header = text
        elif block.kind != "row" and self.table is None:
            self.header = ""

    def section(self, block: units.Block) -> tuple[str, ...]:
        """The headings above a block."""
        if own := block.place.get("section"):
            return (str(own),)
        inner = (title for title in self.titles if title and title not in self.root)
        return (*self.root, *inner)


def cut(read: Iterable[units.Unit]) -> Cut:
    """The text of units in their order, and its passages. Takes time in proportion to
    the text.
    """
    texts: list[str] = []
    parts: list[CutPassage] = []
    above = _Above()
    offset = 0
    for unit in read:
        laid = _lay(unit, above)
        if not laid.text:
            continue
        if texts:
            texts.append("\n\n")
            offset += 2
        parts += [_moved(passage, offset) for passage in _parts(laid)]
        texts.append(laid.text)
        offset += len(laid.text)
    return Cut("".join(texts), parts)


def _moved(passage: CutPassage, offset: int) -> CutPassage:
    """A passage of a unit's text as one of the whole text."""
    start = passage.start + offset
    return replace(passage, start=start, end=passage.end + offset)


def _lay(unit: units.Unit, above: _Above) -> _Laid:
    """A unit's blocks as one text: rows line by line, all others with an empty line
    between.
    """
    texts: list[str] = []
    spans: list[_Span] = []
    offset = 0
    above.enter(unit)
    for block in unit.blocks:
        text = block.text.strip()
        if not text:
            continue
        if spans:
            in_table = _row(block) and _row(spans[-1].block)
            glue = "\n" if in_table else "\n\n"
            texts.append(glue)
            offset += len(glue)
        above.take(block, text)
        header = above.header if block.kind == "row" else ""
        end = offset + len(text)
        span = _Span(
            start=offset,
            end=end,
            block=block,
            section=above.section(block),
            header=header,
        )
        spans.append(span)
        texts.append(text)
        offset = end
    starts = [span.start for span in spans]
    return _Laid(unit, "".join(texts), starts, spans)


def _parts(laid: _Laid) -> Iterator[CutPassage]:
    """The passages of a unit; what is too long is cut like running text."""
    most = MOST
    if "slide" in laid.unit.place:
        ranges = [(0, len(laid.text))]
    elif _table(laid):
        ranges = _rows(laid)
    else:
        ranges = _sections(laid)
        most = LIMIT + _REST
    for start, end in ranges:
        if end - start <= most:
            yield _part(laid, start, end)
            continue
        for first, last in _pieces(laid, start, end):
            yield _part(laid, first, last)


def _sections(laid: _Laid) -> list[Extent]:
    """The sections of a unit; one that is a mere fragment joins the next one, or the
    last one before it.
    """
    ranges: list[Extent] = []
    for _, group in groupby(laid.spans, key=lambda span: span.section):
        spans = list(group)
        ranges.append((spans[0].start, spans[-1].end))
    return _joined(ranges, FRAGMENT)


def _rows(laid: _Laid) -> list[Extent]:
    """Groups of rows; a row that names the columns begins a new one."""
    ranges: list[Extent] = []
    start = end = rows = 0
    for number, span in enumerate(laid.spans):
        named = rows > 0 and span.block.kind == "header"
        too_long = span.end - start > MOST
        if number and (named or too_long or rows >= ROWS):
            ranges.append((start, end))
            rows = 0
            start = span.start
        end = span.end
        rows += span.block.kind == "row"
    ranges.append((start, end))
    return _joined(ranges, STRUCTURED_FRAGMENT)


def _joined(ranges: Sequence[Extent], fragment: int) -> list[Extent]:
    """Neighbouring ranges with those that are shorter than a fragment joined to the
    next, the last to the one before.
    """
    joined: list[Extent] = []
    for start, end in ranges:
        if joined and _length(joined[-1]) < fragment:
            start, _ = joined.pop()
        joined.append((start, end))
    if len(joined) > 1 and _length(joined[-1]) < fragment:
        _, end = joined.pop()
        start, _ = joined.pop()
        joined.append((start, end))
    return joined


def _length(extent: Extent) -> int:
    """Characters between the ends of a range."""
    start, end = extent
    return end - start


def _part(laid: _Laid, start: int, end: int) -> CutPassage:
    """A passage with its place: of several sections, the one that most of it is of."""
    spans = laid.within(start, end)
    section = _main_section(spans, start, end)
    place = {**laid.unit.place, **spans[0].block.place}
    first_rows = place.get("rows")
    last_rows = spans[-1].block.place.get("rows")
    if isinstance(first_rows, list) and isinstance(last_rows, list):
        place["rows"] = [first_rows[0], last_rows[1]]
    if section and "slide" not in place:
        place["section"] = " > ".join(section)
    head = _head(laid, start, spans, section)
    return CutPassage(start, end, place, head)


def _main_section(spans: Sequence[_Span], start: int, end: int) -> tuple[str, ...]:
    """The section that has most of the characters there, of equals the first."""
    sizes: Counter[tuple[str, ...]] = Counter()
    for span in spans:
        first = max(span.start, start)
        last = min(span.end, end)
        sizes[span.section] += last - first
    return max(sizes, key=lambda section: sizes[section])


def _head(
    laid: _Laid, start: int, spans: Sequence[_Span], section: Sequence[str]
) -> str:
    """What is said above a passage and not in it: the sheet, headings, the columns."""
    lines: list[str] = []
    if sheet := laid.unit.place.get("sheet"):
        lines.append(f"[Sheet: {sheet}]")
    inside = _titles_inside(spans, start)
    if missing := [title for title in section if title not in inside]:
        lines.append(" > ".join(missing))
    header = spans[0].header
    if header and all(span.block.kind != "header" for span in spans):
        lines.append(compact.clip(header, _HEADER))
    return "\n".join(lines)


def _titles_inside(spans: Sequence[_Span], start: int) -> set[str]:
    """The headings that begin in a passage."""
    return {
        _title(span.block.text.strip())
        for span in spans
        if span.start >= start and _opens(span.block)
    }


def _pieces(laid: _Laid, start: int, end: int) -> Iterator[Extent]:
    """Running text in pieces that overlap, each from the beginning of a sentence or a
    word to the end of one.
    """
    while end - start > LIMIT + _REST:
        sentence_end = boundaries.end(laid, start + LIMIT // 2, start + LIMIT)
        stop = boundaries.before_space(laid.text, sentence_end)
        yield start, stop
        following = boundaries.beginning(laid, stop, OVERLAP)
        # A word in a desert of spaces would begin the same piece again.
        after = boundaries.after_space(laid.text, stop)
        start = following if following > start else after
    yield start, end


def _title(text: str) -> str:
    """A heading as places and heads show it: one line of bounded length."""
    return compact.clip(" ".join(text.split()), _TITLE)


def _opens(block: units.Block) -> bool:
    """Whether a block is a heading that opens a section."""
    return block.kind == "heading" and 1 <= block.level <= SECTIONS


def _row(block: units.Block) -> bool:
    """Whether a block is a row of a table, or its header."""
    return block.kind in ("row", "header")


def _structured(unit: units.Unit) -> bool:
    """Whether a unit is a slide or a sheet, whose headings are its own."""
    return "slide" in unit.place or "sheet" in unit.place


def _table(laid: _Laid) -> bool:
    """Whether a unit is a sheet, or all of it is rows with places of their own."""
    if "sheet" in laid.unit.place:
        return True
    blocks = [span.block for span in laid.spans]
    return all(_row(block) and block.place for block in blocks)
