"""PowerPoint 97 to 2003 binary format (.ppt, [MS-PPT]): the texts of slides and notes.

The stream is a sequence of records, each with a head of eight bytes:

    2 bytes  version (lower 4 bits; 0xF: the record holds records) and instance
    2 bytes  type
    4 bytes  length of what follows

A document record lists the slides with the texts of their placeholders; a directory says
where each slide lies by its persist id. A shape of a slide points to a text of the list
(outline reference), or has a text of its own: a text header, then characters in UTF-16
or bytes in Latin-1. Notes are listed like slides and name the slide they belong to.
"""

import bisect
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest.documents import spacing, units

# Types of records ([MS-PPT], RecordType): RT_Document, RT_Notes, RT_SlideListWithText,
# RT_SlidePersistAtom, RT_NotesAtom, RT_TextHeaderAtom, RT_TextCharsAtom,
# RT_TextBytesAtom, RT_OutlineTextRefAtom, RT_PersistDirectoryAtom.
DOCUMENT = 0x03E8
NOTES = 0x03F0
SLIDE_LIST = 0x0FF0
SLIDE_PERSIST = 0x03F3
NOTES_ATOM = 0x03F1
HEADER = 0x0F9F
CHARS = 0x0FA0
BYTES = 0x0FA8
OUTLINE_REF = 0x0F9E
DIRECTORY = 0x1772
# Instances of RT_SlideListWithText: the list of slides, the list of notes.
LISTED_SLIDES = 0
LISTED_NOTES = 2
# Kinds of texts (TextTypeEnum): a title and a centred title; notes; any other.
TITLES = frozenset([0, 6])
NOTES_TEXT = 2
OTHER_TEXT = 4
# Records of drawings ([MS-ODRAW]): a group of shapes, a shape, its text box, where it
# stands in its group, its options; and the option that makes a group a table.
GROUP = 0xF003
SHAPE = 0xF004
TEXT_BOX = 0xF00D
ANCHOR = 0xF00F
OPTIONS = frozenset([0xF00B, 0xF121, 0xF122])
TABLE = 0x039F
OPTION_ID = 0x3FFF
# Columns and rows of a table that are read; set by hand, like the next two.
CELLS = 100
DEEPEST = 40
RECORDS = 2_000_000
# What stands for the number of the slide.
SLIDE_NUMBER = "*"


@dataclass(frozen=True, slots=True)
class PptRecord:
    """A record of the stream: type, instance, where its inside begins and ends, whether
    that is records again.
    """

    kind: int
    instance: int
    start: int
    end: int
    holds: bool


@dataclass(slots=True)
class PptText:
    """One text: title, body, notes and the like by number, and what it says, or the
    rows of a table.
    """

    kind: int = OTHER_TEXT
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(slots=True)
class PptSlide:
    """A slide in the list of slides: where it is kept, its number for notes, its texts
    in the list.
    """

    persist: int
    identity: int
    texts: list[PptText] = field(default_factory=list[PptText])


def slides(data: bytes) -> list[units.Blocks]:
    """The blocks of each slide in the order in which they are shown; its notes last."""
    top = list(_records(data, 0, len(data)))
    # An edit appends a new document; the last one counts.
    document = _first(reversed(top), DOCUMENT)
    if document is None:
        raise errors.Unreadable("not a PowerPoint presentation, or cut short")
    offsets = _directory(data, top)
    listed_notes = _listed(data, document, LISTED_NOTES)
    notes = _notes(data, listed_notes, offsets)
    presentation: list[units.Blocks] = []
    for slide in _listed(data, document, LISTED_SLIDES):
        blocks = _slide(data, slide, offsets)
        presentation.append(blocks + notes.get(slide.identity, []))
    return presentation


def _slide(data: bytes, slide: PptSlide, offsets: Mapping[int, int]) -> units.Blocks:
    """The blocks of a slide, headings first."""
    texts: Sequence[PptText] = slide.texts
    record = _at(data, offsets.get(slide.persist, -1))
    if record is not None:
        texts = _in_shapes(data, record, slide.texts)
    blocks: units.Blocks = []
    for text in texts:
        blocks += _blocks(text)
    return sorted(blocks, key=lambda block: block.kind != "heading")


def _number(data: bytes, at: int) -> int:
    """An unsigned number of four bytes, the lowest first; what is missing is 0."""
    return int.from_bytes(data[at : at + 4], "little")


def _first(records: Iterable[PptRecord], kind: int) -> PptRecord | None:
    """The first of several records that is of a kind."""
    for record in records:
        if record.kind == kind:
            return record
    return None


def _within(data: bytes, record: PptRecord) -> Iterator[PptRecord]:
    """The records directly in one."""
    return _records(data, record.start, record.end)


def _records(data: bytes, start: int, end: int) -> Iterator[PptRecord]:
    """The records of a range, one beside the other; one that is cut short ends with the
    range.
    """
    at = start
    while at + 8 <= end:
        flags, kind, length = struct.unpack_from("<HHI", data, at)
        first = at + 8
        following = first + length
        yield PptRecord(
            kind,
            instance=flags >> 4,
            start=first,
            end=min(end, following),
            holds=flags & 0xF == 0xF,
        )
        at = following


def _inside(data: bytes, record: PptRecord) -> Iterator[PptRecord]:
    """All records inside one, in their order, however deep."""
    open_records = [_within(data, record)]
    count = 0
    while open_records:
        inner = next(open_records[-1], None)
        if inner is None:
            open_records.pop()
            continue
        count += 1
        if count > RECORDS:
            raise errors.Unreadable(f"a slide has more than {RECORDS} parts")
        yield inner
        if inner.holds:
            if len(open_records) > DEEPEST:
                raise errors.Unreadable("its parts are nested too deeply")
            open_records.append(_within(data, inner))


def _at(data: bytes, offset: int) -> PptRecord | None:
    """The record at an offset of the stream, None where none can be."""
    if not 0 <= offset <= len(data) - 8:
        return None
    return next(_records(data, offset, len(data)), None)


def _directory(data: bytes, top: Sequence[PptRecord]) -> dict[int, int]:
    """Where each kept object lies (PersistDirectoryAtom); later entries replace those
    before.
    """
    offsets: dict[int, int] = {}
    for record in top:
        if record.kind != DIRECTORY:
            continue
        at = record.start
        while at + 4 <= record.end:
            # The first number of a run in 20 bits, the length of the run in 12.
            entry = _number(data, at)
            first = entry & 0xFFFFF
            for identity in range(first, first + (entry >> 20)):
                at += 4
                offsets[identity] = _number(data, at)
            at += 4
    return offsets


def _listed(data: bytes, document: PptRecord, instance: int) -> list[PptSlide]:
    """The slides or the notes in the lists of the document."""
    slides: list[PptSlide] = []
    for record in _within(data, document):
        if record.kind == SLIDE_LIST and record.instance == instance:
            slides += _list_entries(data, record)
    return slides


def _list_entries(data: bytes, slide_list: PptRecord) -> list[PptSlide]:
    """The entries of one list; the texts after an entry are its own."""
    slides: list[PptSlide] = []
    for record in _within(data, slide_list):
        if record.kind == SLIDE_PERSIST:
            persist = _number(data, record.start)
            identity = _number(data, record.start + 12)
            slides.append(PptSlide(persist, identity))
        elif slides:
            _add_text(data, record, slides[-1].texts)
    return slides


def _add_text(data: bytes, record: PptRecord, texts: list[PptText]) -> None:
    """Add what a record says: that a text of some kind begins, or the text itself."""
    if record.kind not in {HEADER, CHARS, BYTES}:
        return
    content = data[record.start : record.end]
    if record.kind == HEADER:
        texts.append(PptText(int.from_bytes(content[:4], "little")))
    elif record.kind == CHARS:
        _fill(texts, content.decode("utf-16-le", "replace"))
    else:
        _fill(texts, content.decode("latin-1", "replace"))


def _fill(texts: list[PptText], text: str) -> None:
    """The last text says so, unless it says something already."""
    if not texts or texts[-1].text:
        texts.append(PptText())
    texts[-1].text = text


def _in_shapes(
    data: bytes, slide: PptRecord, listed: Sequence[PptText]
) -> list[PptText]:
    """The texts of a slide's shapes, those that stand in the list at their place; what
    no shape shows last.
    """
    texts: list[PptText] = []
    shown: set[int] = set()
    table_end = 0
    for record in _inside(data, slide):
        if record.start < table_end:
            continue
        if record.kind == GROUP and _is_table(data, record):
            table_end = record.end
            texts.append(PptText(rows=_grid(data, record)))
        elif record.kind == OUTLINE_REF:
            index = _number(data, record.start)
            if index < len(listed) and index not in shown:
                shown.add(index)
                texts.append(listed[index])
        else:
            _add_text(data, record, texts)
    rest = (text for index, text in enumerate(listed) if index not in shown)
    return [*texts, *rest]


def _is_table(data: bytes, group: PptRecord) -> bool:
    """Whether a group of shapes is a table: its first shape, which stands for the
    group, has the options of one.
    """
    first = _first(_within(data, group), SHAPE)
    if first is None:
        return False
    options = (part for part in _within(data, first) if part.kind in OPTIONS)
    return any(TABLE in _option_ids(data, record) for record in options)


def _option_ids(data: bytes, options: PptRecord) -> Iterator[int]:
    """The numbers of the properties, which have six bytes each; values follow them."""
    room = (options.end - options.start) // 6
    count = min(options.instance, room)
    end = options.start + 6 * count
    for at in range(options.start, end, 6):
        option = int.from_bytes(data[at : at + 2], "little")
        yield option & OPTION_ID


@dataclass(frozen=True, slots=True)
class PptCell:
    """A cell of a table: its edges in the units of its group, and its text."""

    left: int
    top: int
    right: int
    bottom: int
    text: str


def _cells(data: bytes, group: PptRecord) -> Iterator[PptCell]:
    """The shapes of a table that stand somewhere and have a text box."""
    for shape in _within(data, group):
        if shape.kind != SHAPE:
            continue
        parts = list(_inside(data, shape))
        texts: list[PptText] = []
        for part in parts:
            _add_text(data, part, texts)
        anchor = _anchor(parts)
        if anchor is None or not (texts or _first(parts, TEXT_BOX)):
            continue
        edges = struct.unpack_from("<4i", data, anchor.start)
        text = spacing.clean(" ".join(text.text for text in texts))
        yield PptCell(*edges, text)


def _anchor(parts: Iterable[PptRecord]) -> PptRecord | None:
    """The record that says where a shape stands in its group."""
    for part in parts:
        if part.kind == ANCHOR and part.end - part.start >= 16:
            return part
    return None


def _grid(data: bytes, group: PptRecord) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, from where its cells stand; a merged cell's text is in all
    it covers while it is short.
    """
    cells = list(_cells(data, group))
    lefts = sorted({cell.left for cell in cells})[:CELLS]
    tops = sorted({cell.top for cell in cells})[:CELLS]
    rows = [[""] * len(lefts) for _ in tops]
    for cell in cells[: CELLS * CELLS]:
        if cell.left not in lefts or cell.top not in tops:
            continue
        _place(rows, cell, lefts, tops)
    return tuple(map(tuple, rows))


def _place(
    rows: Sequence[list[str]],
    cell: PptCell,
    lefts: Sequence[int],
    tops: Sequence[int],
) -> None:
    """Write a cell's text where nothing stands yet: whole in its corner, and while it is
    short in the rest of what the cell covers.
    """
    first_row = bisect.bisect_left(tops, cell.top)
    first_column = bisect.bisect_left(lefts, cell.left)
    covered = spacing.spanning(cell.text)
    row_end = bisect.bisect_left(tops, cell.bottom)
    column_end = bisect.bisect_left(lefts, cell.right)
    for row in range(first_row, row_end):
        for column in range(first_column, column_end):
            if rows[row][column]:
                continue
            corner = row == first_row and column == first_column
            rows[row][column] = cell.text if corner else covered


def _notes(
    data: bytes, listed: Iterable[PptSlide], offsets: Mapping[int, int]
) -> dict[int, units.Blocks]:
    """The notes by the number of their slide."""
    notes: dict[int, units.Blocks] = {}
    for entry in listed:
        record = _at(data, offsets.get(entry.persist, -1))
        if record is None or record.kind != NOTES:
            continue
        atom = _first(_within(data, record), NOTES_ATOM)
        if atom is not None:
            identity = _number(data, atom.start)
            texts = _in_shapes(data, record, entry.texts)
            notes[identity] = _note_blocks(texts)
    return notes


def _note_blocks(texts: Iterable[PptText]) -> units.Blocks:
    """The blocks of those texts that are notes."""
    blocks: units.Blocks = []
    for text in texts:
        if text.kind != NOTES_TEXT:
            continue
        for block in _blocks(text):
            if block.text != SLIDE_NUMBER:
                blocks.append(units.Block(block.text, "notes"))
    return blocks


def _blocks(text: PptText) -> units.Blocks:
    """A text's paragraphs; a title is one heading. A lone star stands for the number of
    the slide.
    """
    if text.rows:
        return spacing.table(text.rows, header=True)
    if text.kind in TITLES:
        title = spacing.clean(text.text.replace("\x0b", " "))
        return [units.heading(title, 1)] if title else []
    lines = text.text.replace("\x0b", "\n").split("\r")
    paragraphs = map(spacing.clean, lines)
    silent = {"", SLIDE_NUMBER}
    return [units.Block(line) for line in paragraphs if line not in silent]
