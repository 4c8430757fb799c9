"""The binary format of PowerPoint 97 to 2003: the texts of its slides and of the notes
to them.

After [MS-PPT]: a stream of records, some of which hold others. The texts of
placeholders may stand in a list of all slides, with the shape pointing to them; all
other texts stand in the shapes of a slide.
"""

import bisect
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest.documents import spacing, units

DOCUMENT, SLIDE, NOTES = 0x03E8, 0x03EE, 0x03F0
SLIDE_LIST, SLIDE_PERSIST, NOTES_ATOM = 0x0FF0, 0x03F3, 0x03F1
HEADER, CHARS, BYTES, OUTLINE_REF = 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
DIRECTORY = 0x1772
TITLES = frozenset([0, 6])
GROUP, SHAPE, ANCHOR, OPTIONS, TABLE = (
    0xF003,
    0xF004,
    0xF00F,
    (0xF00B, 0xF121, 0xF122),
    0x039F,
)
TEXT_BOX = 0xF00D
CELLS = 100  # columns and rows of a table
DEEPEST = 40
RECORDS = 2_000_000


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

    kind: int = 4
    said: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(slots=True)
class PptSlide:
    """A slide in the list of slides: where it is kept, its number for notes, the texts
    told there.
    """

    persist: int
    identity: int
    texts: list[PptText] = field(default_factory=list[PptText])


def slides(data: bytes) -> list[list[units.Block]]:
    """The blocks of each slide in the order in which they are shown; its notes last."""
    top = list(_records(data, 0, len(data)))
    document = next((one for one in reversed(top) if one.kind == DOCUMENT), None)
    if document is None:
        raise errors.Unreadable("not a PowerPoint presentation, or cut short")
    offsets = _directory(data, top)
    lists = [
        one
        for one in _records(data, document.start, document.end)
        if one.kind == SLIDE_LIST
    ]
    listed = [
        slide for one in lists if one.instance == 0 for slide in _listed(data, one)
    ]
    notes = _notes(
        data,
        [slide for one in lists if one.instance == 2 for slide in _listed(data, one)],
        offsets,
    )
    found: list[list[units.Block]] = []
    for slide in listed:
        record = _at(data, offsets.get(slide.persist, -1))
        texts = slide.texts if record is None else _in_shapes(data, record, slide.texts)
        blocks = [block for text in texts for block in _blocks(text)]
        blocks.sort(key=lambda block: block.kind != "heading")
        found.append(blocks + notes.get(slide.identity, []))
    return found


def _records(data: bytes, start: int, end: int) -> Iterator[PptRecord]:
    """The records of a range, one beside the other; one that is cut short ends with the
    range.
    """
    at = start
    while at + 8 <= end:
        version, kind, length = struct.unpack_from("<HHI", data, at)
        stop = min(end, at + 8 + length)
        yield PptRecord(kind, version >> 4, at + 8, stop, version & 0xF == 0xF)
        at = at + 8 + length


def _inside(data: bytes, record: PptRecord) -> Iterator[PptRecord]:
    """All records inside one, in their order."""
    waiting = [_records(data, record.start, record.end)]
    count = 0
    while waiting:
        one = next(waiting[-1], None)
        if one is None:
            waiting.pop()
            continue
        count += 1
        if count > RECORDS:
            raise errors.Unreadable(f"a slide has more than {RECORDS} parts")
        yield one
        if one.holds:
            if len(waiting) > DEEPEST:
                raise errors.Unreadable("its parts are nested too deeply")
            waiting.append(_records(data, one.start, one.end))


def _at(data: bytes, offset: int) -> PptRecord | None:
    if not 0 <= offset <= len(data) - 8:
        return None
    return next(_records(data, offset, len(data)), None)


def _directory(data: bytes, top: Sequence[PptRecord]) -> dict[int, int]:
    """Where each kept object lies; later entries replace those before."""
    offsets: dict[int, int] = {}
    for record in top:
        if record.kind != DIRECTORY:
            continue
        at = record.start
        while at + 4 <= record.end:
            entry = int.from_bytes(data[at : at + 4], "little")
            first, count = entry & 0xFFFFF, entry >> 20
            for number in range(count):
                at += 4
                offsets[first + number] = int.from_bytes(data[at : at + 4], "little")
            at += 4
    return offsets


def _listed(data: bytes, record: PptRecord) -> Iterator[PptSlide]:
    slide: PptSlide | None = None
    for one in _records(data, record.start, record.end):
        if one.kind == SLIDE_PERSIST:
            if slide is not None:
                yield slide
            persist = int.from_bytes(data[one.start : one.start + 4], "little")
            slide = PptSlide(
                persist, int.from_bytes(data[one.start + 12 : one.start + 16], "little")
            )
        elif slide is not None:
            _told(data, one, slide.texts)
    if slide is not None:
        yield slide


def _told(data: bytes, record: PptRecord, texts: list[PptText]) -> None:
    """Add what a record tells: that a text of some kind begins, or what it says."""
    inside = data[record.start : record.end]
    if record.kind == HEADER:
        texts.append(PptText(int.from_bytes(inside[:4], "little")))
    elif record.kind in {CHARS, BYTES}:
        said = inside.decode(
            "utf-16-le" if record.kind == CHARS else "latin-1", "replace"
        )
        if not texts or texts[-1].said:
            texts.append(PptText())
        texts[-1].said = said


def _in_shapes(
    data: bytes, record: PptRecord, listed: Sequence[PptText]
) -> list[PptText]:
    """The texts of a slide's shapes, those that stand in the list at their place; what
    no shape shows last.
    """
    texts: list[PptText] = []
    shown: set[int] = set()
    table = record
    for one in _inside(data, record):
        if one.start < table.end and table is not record:
            continue
        if one.kind == GROUP and _is_table(data, one):
            table = one
            texts.append(PptText(rows=_grid(data, one)))
        elif one.kind == OUTLINE_REF:
            at = int.from_bytes(data[one.start : one.start + 4], "little")
            if at < len(listed) and at not in shown:
                shown.add(at)
                texts.append(listed[at])
        else:
            _told(data, one, texts)
    return texts + [text for at, text in enumerate(listed) if at not in shown]


def _is_table(data: bytes, group: PptRecord) -> bool:
    """Whether a group of shapes is a table: its first shape, which stands for the
    group, has the options of one.
    """
    first = next(
        (one for one in _records(data, group.start, group.end) if one.kind == SHAPE),
        None,
    )
    for one in () if first is None else _records(data, first.start, first.end):
        if one.kind in OPTIONS:
            for number in range(min(one.instance, (one.end - one.start) // 6)):
                at = one.start + 6 * number
                if int.from_bytes(data[at : at + 2], "little") & 0x3FFF == TABLE:
                    return True
    return False


def _grid(data: bytes, group: PptRecord) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, from where its cells stand; a merged cell's text is in all
    it covers while it is short.
    """
    cells: list[tuple[int, int, int, int, str]] = []
    for shape in _records(data, group.start, group.end):
        inside = list(_inside(data, shape)) if shape.kind == SHAPE else []
        anchor = next(
            (one for one in inside if one.kind == ANCHOR and one.end - one.start >= 16),
            None,
        )
        texts: list[PptText] = []
        for one in inside:
            _told(data, one, texts)
        if anchor is not None and (
            texts or any(one.kind == TEXT_BOX for one in inside)
        ):
            said = spacing.clean(" ".join(text.said for text in texts))
            cells.append((*struct.unpack_from("<4i", data, anchor.start), said))
    lefts, tops = (sorted({cell[at] for cell in cells})[:CELLS] for at in (0, 1))
    rows = [[""] * len(lefts) for _ in tops]
    for left, top, right, bottom, said in cells[: CELLS * CELLS]:
        if left not in lefts or top not in tops:
            continue
        for row in range(
            bisect.bisect_left(tops, top), bisect.bisect_left(tops, bottom)
        ):
            for column in range(
                bisect.bisect_left(lefts, left), bisect.bisect_left(lefts, right)
            ):
                corner = (lefts[column], tops[row]) == (left, top)
                rows[row][column] = rows[row][column] or (
                    said if corner else spacing.spanning(said)
                )
    return tuple(map(tuple, rows))


def _notes(
    data: bytes, listed: Sequence[PptSlide], offsets: dict[int, int]
) -> dict[int, list[units.Block]]:
    """The notes by the number of their slide."""
    found: dict[int, list[units.Block]] = {}
    for one in listed:
        record = _at(data, offsets.get(one.persist, -1))
        if record is None or record.kind != NOTES:
            continue
        atom = next(
            (
                part
                for part in _records(data, record.start, record.end)
                if part.kind == NOTES_ATOM
            ),
            None,
        )
        if atom is None:
            continue
        identity = int.from_bytes(data[atom.start : atom.start + 4], "little")
        texts = [text for text in _in_shapes(data, record, one.texts) if text.kind == 2]
        found[identity] = [
            units.Block(block.text, "notes")
            for text in texts
            for block in _blocks(text)
            if block.text != "*"
        ]
    return found


def _blocks(text: PptText) -> list[units.Block]:
    """A text's paragraphs; a title is one heading. A lone star stands for the number of
    the slide.
    """
    if text.rows:
        return spacing.table(text.rows, header=True)
    said = text.said.replace("\x0b", "\n" if text.kind not in TITLES else " ")
    if text.kind in TITLES:
        title = spacing.clean(said)
        return [units.Block(title, "heading", 1)] if title else []
    parts = (spacing.clean(part) for part in said.split("\r"))
    return [units.Block(part) for part in parts if part and part != "*"]
