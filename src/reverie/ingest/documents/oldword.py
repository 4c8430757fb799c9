"""The binary format of Word 97 to 2003: the pieces its text is in, and which paragraphs
are headings or rows.

After [MS-DOC]: the FIB tells where the piece table lies, the pieces where the text of
each range of character positions (CP) lies, the PAPX pages which style the paragraph
around a byte of the text has.
"""

import array
import bisect
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.ingest.documents import spacing, units

MAGIC, FIRST_97 = 0xA5EC, 0xC1
ENCRYPTED, SECOND_TABLE = 0x0100, 0x0200
COUNTS, PAPX, CLX = (
    0x4C,
    0x102,
    0x1A2,
)  # offsets in the FIB: lengths of the parts, paragraphs, pieces
PAGE = 512
IN_TABLE, ROW_END, OUTLINE, TABLE_SPEC, TABS = 0x2416, 0x2417, 0x2640, 0xD608, 0xC615
OPERANDS = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}
BEGIN, SEPARATE, END = "\x13", "\x14", "\x15"  # of a field
HEADERS = (2, 3, 7)  # parts that say the same on every page


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A run of characters that lie together: their first position, their offset in the
    stream, bytes for each.
    """

    start: int
    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class RangeStyle:
    """What a range of bytes of the text is: a heading of a level (0 is none), in a
    table, the end of its row.
    """

    start: int
    end: int
    level: int = 0
    in_table: bool = False
    row_end: bool = False


def second_table(fib: bytes) -> bool:
    """Which of its two tables the document uses. Locked when it is encrypted,
    Unreadable when it is none.
    """
    if len(fib) < 0x60 or int.from_bytes(fib[:2], "little") not in {MAGIC, 0xA5DC}:
        raise errors.Unreadable("not a Word document, or cut short")
    flags = int.from_bytes(fib[0x0A:0x0C], "little")
    if flags & ENCRYPTED:
        raise errors.Locked("it is encrypted")
    return bool(flags & SECOND_TABLE)


def blocks(fib: bytes, table: bytes) -> list[units.Block]:
    """The text of the document, then of its footnotes, comments, endnotes and text
    boxes; headers and footers once.
    """
    if int.from_bytes(fib[2:4], "little") < FIRST_97 or len(fib) < CLX + 8:
        return _older(fib)
    text, pieces = _text(fib, table)
    styles = _styles(fib, table)
    found: list[units.Block] = []
    edges: dict[str, units.Block] = {}
    start = 0
    for part, count in enumerate(struct.unpack_from("<8i", fib, COUNTS)):
        end = min(len(text), start + max(0, count))
        if part in HEADERS:
            edges |= {
                block.text: block
                for block in _paragraphs(text, start, end, pieces, styles)
            }
        else:
            found += _paragraphs(text, start, end, pieces, styles)
        start = end
    return found + list(edges.values())


def _older(fib: bytes) -> list[units.Block]:
    """The text of a file of Word 6 or 95, which lies in one piece."""
    start, end = struct.unpack_from("<II", fib, 0x18)
    text = _shown(fib[start:end].decode("cp1252", "replace").replace("\x07", "\r"))
    return [units.Block(said) for part in text.split("\r") if (said := _tidy(part))]


def _text(fib: bytes, table: bytes) -> tuple[str, list[TextPiece]]:
    """All characters, one for each position, and the pieces they come from."""
    start, size = struct.unpack_from("<II", fib, CLX)
    clx = table[start : start + size]
    at = 0
    while (
        at + 3 <= len(clx) and clx[at] == 1
    ):  # properties of pieces, which change no text
        at += 3 + int.from_bytes(clx[at + 1 : at + 3], "little")
    if at + 5 > len(clx) or clx[at] != 2:
        raise errors.Unreadable("the file is damaged or cut short")
    plc = clx[at + 5 : at + 5 + int.from_bytes(clx[at + 1 : at + 5], "little")]
    count = (len(plc) - 4) // 12
    if count < 0:
        raise errors.Unreadable("the file is damaged or cut short")
    positions = struct.unpack_from(f"<{count + 1}I", plc)
    pieces: list[TextPiece] = []
    texts: list[str] = []
    length = 0
    for number in range(count):
        stored = int.from_bytes(plc[4 * (count + 1) + 8 * number + 2 :][:4], "little")
        size = positions[number + 1] - positions[number]
        if size <= 0:
            continue
        narrow = bool(stored & 0x40000000)
        offset = (stored & 0x3FFFFFFF) // 2 if narrow else stored & 0x3FFFFFFF
        said = _characters(
            fib[offset : offset + size * (1 if narrow else 2)], narrow=narrow
        )
        pieces.append(TextPiece(length, offset, 1 if narrow else 2))
        texts.append(said)
        length += len(said)
        if length > len(
            fib
        ):  # pieces may share bytes, but no honest text is longer than its file
            raise errors.Unreadable("its text unpacks to more than the file")
    return _shown("".join(texts)), pieces


def _characters(data: bytes, *, narrow: bool) -> str:
    """One character for each position, halves of pairs too; they are put together when
    the text is tidied.
    """
    if narrow:
        return data.decode("cp1252", "replace")
    numbers = array.array("H", data[: len(data) // 2 * 2])
    if sys.byteorder == "big":
        numbers.byteswap()
    return "".join(map(chr, numbers))


def _shown(text: str) -> str:
    """The text with NUL in place of what is not shown: the instructions of fields.
    Positions stay.
    """
    if BEGIN not in text:
        return text
    out: list[str] = []
    fields: list[bool] = []  # for each open field whether we are in its instructions
    hidden = 0
    for sign in text:
        if sign == BEGIN:
            fields.append(True)
            hidden += 1
        elif sign == SEPARATE and fields:
            hidden -= fields[-1]
            fields[-1] = False
        elif sign == END and fields:
            hidden -= fields.pop()
        out.append("\0" if hidden or sign in {BEGIN, SEPARATE, END} else sign)
    return "".join(out)


def _paragraphs(
    text: str,
    start: int,
    end: int,
    pieces: Sequence[TextPiece],
    styles: Sequence[RangeStyle],
) -> Iterator[units.Block]:
    """The blocks of a range of positions; cells are collected until their row ends."""
    starts = [piece.start for piece in pieces]
    ranges = [style.start for style in styles]
    cells: list[str] = []
    inside: list[str] = []
    at = start
    for here in range(start, end):
        sign = text[here]
        if sign not in "\r\x07\x0c":
            continue
        said = _tidy(text[at:here])
        at = here + 1
        style = _style(here, pieces, starts, styles, ranges)
        if sign == "\x07" and (
            style.row_end or (not said and not inside and not styles)
        ):
            if row := spacing.row(cells):
                yield units.Block(row, "row") if len(cells) > 1 else units.Block(row)
            cells = []
        elif sign == "\x07":
            cells.append(" ".join([*inside, said]))
            inside = []
        elif said and style.in_table:
            inside.append(said)
        elif said:
            yield (
                units.Block(said, "heading", style.level)
                if style.level
                else units.Block(said)
            )
    rest = [*cells, *inside, _tidy(text[at:end])]
    if said := spacing.row(one for one in rest if one):
        yield units.Block(said)


def _style(
    here: int,
    pieces: Sequence[TextPiece],
    starts: Sequence[int],
    styles: Sequence[RangeStyle],
    ranges: Sequence[int],
) -> RangeStyle:
    """The style of the paragraph that ends at a position."""
    number = bisect.bisect_right(starts, here) - 1
    if number < 0:
        return RangeStyle(0, 0)
    piece = pieces[number]
    byte = piece.offset + (here - piece.start) * piece.width
    found = bisect.bisect_right(ranges, byte) - 1
    return (
        styles[found] if found >= 0 and byte < styles[found].end else RangeStyle(0, 0)
    )


def _styles(fib: bytes, table: bytes) -> list[RangeStyle]:
    """What the paragraphs are, in the order of their bytes; [] when the pages that say
    so are broken.
    """
    start, size = struct.unpack_from("<II", fib, PAPX)
    plc = table[start : start + size]
    count = (len(plc) - 4) // 8
    found: list[RangeStyle] = []
    for number in range(max(0, count)):
        page = (
            int.from_bytes(plc[4 * (count + 1) + 4 * number :][:4], "little") & 0x3FFFFF
        )
        found += _page(fib[page * PAGE : (page + 1) * PAGE])
    return sorted(found, key=lambda style: style.start)


def _page(page: bytes) -> Iterator[RangeStyle]:
    if len(page) < PAGE:
        return
    count = page[PAGE - 1]
    if 4 * (count + 1) + 13 * count > PAGE - 1:
        return
    bounds = struct.unpack_from(f"<{count + 1}I", page)
    for number in range(count):
        at = page[4 * (count + 1) + 13 * number] * 2
        if not at:
            yield RangeStyle(bounds[number], bounds[number + 1])
            continue
        size = page[at] * 2 - 1
        if size < 0:
            at += 1
            size = page[at] * 2 if at < PAGE else 0
        properties = page[at + 1 : at + 1 + size]
        style = int.from_bytes(properties[:2], "little")
        level, told = (style if 1 <= style <= 9 else 0), set[int]()
        for sprm, operand in _sprms(properties[2:]):
            if sprm == OUTLINE:
                level = operand + 1 if operand < 9 else 0
            elif operand:
                told.add(sprm)
        yield RangeStyle(
            bounds[number],
            bounds[number + 1],
            min(6, level),
            IN_TABLE in told,
            ROW_END in told,
        )


def _sprms(data: bytes) -> Iterator[tuple[int, int]]:
    """The changes to a paragraph: code and first byte of the operand."""
    at = 0
    while at + 3 <= len(data):
        sprm = int.from_bytes(data[at : at + 2], "little")
        yield sprm, data[at + 2]
        size = OPERANDS.get(sprm >> 13)
        if size is None:
            size = 1 + data[at + 2]
            if sprm == TABLE_SPEC:
                size = 1 + int.from_bytes(data[at + 2 : at + 4], "little")
            elif sprm == TABS and data[at + 2] == 255:
                return  # its length is not told; nothing of ours comes after it
        at += 2 + size


def _tidy(text: str) -> str:
    text = text.replace("\x1e", "-").replace("\x0b", " ").replace("\x0e", " ")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return spacing.clean(text)
