"""Word 97 to 2003 binary format (.doc, [MS-DOC]): text by the piece table, headings and
table rows by PAPX.

The file information block (FIB) at the start of the main stream tells where all else
lies in the table stream:

    Clx         the piece table: for each piece of the text its first character
                position (CP) and where its bytes lie in the main stream
    PlcfBtePapx the pages of 512 bytes that say for ranges of those bytes which style
                the paragraph has, and what differs from the style (sprms)

The text is one sequence of positions: the body, then footnotes, headers, comments,
endnotes and text boxes, whose lengths stand in the FIB.
"""

import array
import bisect
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reverie import errors
from reverie.ingest.documents import spacing, units

# FibBase: wIdent of Word, and as older versions write it; nFib of the
# first version of this format; the offset of the flags, and two of them.
MAGIC = 0xA5EC
OLDER_MAGIC = 0xA5DC
FIRST_97 = 0xC1
FLAGS = 0x0A
ENCRYPTED = 0x0100
SECOND_TABLE = 0x0200
# The first and the last byte of the text in files of Word 6 and 95 (fcMin, fcMac).
OLDER_TEXT = 0x18
# Offsets in the FIB: the lengths of the parts of the text (ccpText and
# on), where the PAPX pages are listed (fcPlcfBtePapx), and the piece table (fcClx).
COUNTS = 0x4C
PAPX = 0x102
CLX = 0x1A2
PAGE = 512
# Of a Clx: what its parts begin with.
PROPERTIES_FOLLOW = 1
PIECES_FOLLOW = 2
# Of an FcCompressed: one byte a character, and twice the offset.
NARROW = 0x40000000
OFFSET = 0x3FFFFFFF
# Properties of paragraphs: sprmPFInTable, sprmPFTtp, sprmPOutLvl,
# sprmTDefTable, sprmPChgTabs.
IN_TABLE = 0x2416
ROW_END = 0x2417
OUTLINE = 0x2640
TABLE_SPEC = 0xD608
TABS = 0xC615
# Bytes of a property's operand by the upper bits of its code; 6 says its own length.
OPERANDS = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}
# Characters around a field and between its instructions and its result.
BEGIN = "\x13"
SEPARATE = "\x14"
END = "\x15"
CELL_END = "\x07"
PARAGRAPH_ENDS = "\r\x07\x0c"
# Parts that say the same on every page, by their place among the lengths.
HEADERS = (2, 3, 7)
DAMAGED = "the file is damaged or cut short"


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


UNSTYLED = RangeStyle(0, 0)


def second_table(fib: bytes) -> bool:
    """Which of its two tables the document uses. Locked when it is encrypted,
    Unreadable when it is none.
    """
    if len(fib) < 0x60 or _number(fib, 0, 2) not in {MAGIC, OLDER_MAGIC}:
        raise errors.Unreadable("not a Word document, or cut short")
    flags = _number(fib, FLAGS, 2)
    if flags & ENCRYPTED:
        raise errors.Locked("it is encrypted")
    return bool(flags & SECOND_TABLE)


def blocks(fib: bytes, table: bytes) -> units.Blocks:
    """The text of the document, then of its footnotes, comments, endnotes and text
    boxes; headers and footers once.
    """
    if _number(fib, 2, 2) < FIRST_97 or len(fib) < CLX + 8:
        return _older(fib)
    text, pieces = _text(fib, table)
    styles = _styles(fib, table)
    document = WordText(text, pieces, styles)
    body: units.Blocks = []
    edges: dict[str, units.Block] = {}
    start = 0
    counts = struct.unpack_from("<8i", fib, COUNTS)
    for part, count in enumerate(counts):
        end = min(len(text), start + max(0, count))
        paragraphs = _paragraphs(document, start, end)
        if part in HEADERS:
            edges |= {block.text: block for block in paragraphs}
        else:
            body += paragraphs
        start = end
    return body + list(edges.values())


def _number(data: bytes, at: int, size: int) -> int:
    """An unsigned number of so many bytes, the lowest first; what is missing is 0."""
    return int.from_bytes(data[at : at + size], "little")


def _older(fib: bytes) -> units.Blocks:
    """The text of a file of Word 6 or 95, which lies in one piece."""
    start, end = struct.unpack_from("<II", fib, OLDER_TEXT)
    text = fib[start:end].decode("cp1252", "replace")
    text = text.replace(CELL_END, "\r")
    paragraphs = map(_tidy, _shown(text).split("\r"))
    return [units.Block(paragraph) for paragraph in paragraphs if paragraph]


def _text(fib: bytes, table: bytes) -> tuple[str, list[TextPiece]]:
    """All characters, one for each position, and the pieces they come from."""
    pieces: list[TextPiece] = []
    texts: list[str] = []
    length = 0
    for stored, size in _stored_pieces(_piece_table(fib, table)):
        narrow = bool(stored & NARROW)
        width = 1 if narrow else 2
        offset = stored & OFFSET
        if narrow:
            offset //= 2
        end = offset + size * width
        text = _characters(fib[offset:end], narrow=narrow)
        pieces.append(TextPiece(length, offset, width))
        texts.append(text)
        length += len(text)
        # Pieces may share bytes, but no honest text is longer than its file.
        if length > len(fib):
            raise errors.Unreadable("its text unpacks to more than the file")
    return _shown("".join(texts)), pieces


def _piece_table(fib: bytes, table: bytes) -> bytes:
    """The PlcPcd of the Clx, behind the properties of pieces, which
    change no text.
    """
    start, size = struct.unpack_from("<II", fib, CLX)
    clx = table[start : start + size]
    at = 0
    while at + 3 <= len(clx) and clx[at] == PROPERTIES_FOLLOW:
        at += 3 + _number(clx, at + 1, 2)
    if at + 5 > len(clx) or clx[at] != PIECES_FOLLOW:
        raise errors.Unreadable(DAMAGED)
    size = _number(clx, at + 1, 4)
    first = at + 5
    return clx[first : first + size]


def _stored_pieces(plc: bytes) -> Iterator[tuple[int, int]]:
    """Of each piece that is not empty where its text lies (FcCompressed) and how many
    characters it has. The positions stand before the pieces.
    """
    count = (len(plc) - 4) // 12
    if count < 0:
        raise errors.Unreadable(DAMAGED)
    positions = struct.unpack_from(f"<{count + 1}I", plc)
    first = 4 * (count + 1)
    for number, (start, end) in enumerate(pairwise(positions)):
        if end > start:
            piece = first + 8 * number
            stored = _number(plc, piece + 2, 4)
            yield stored, end - start


def _characters(data: bytes, *, narrow: bool) -> str:
    """One character for each position, halves of pairs too; they are put together when
    the text is tidied.
    """
    if narrow:
        return data.decode("cp1252", "replace")
    pairs = len(data) // 2
    numbers = array.array("H", data[: 2 * pairs])
    if sys.byteorder == "big":
        numbers.byteswap()
    return "".join(map(chr, numbers))


def _shown(text: str) -> str:
    """The text with NUL in place of what is not shown: the instructions of fields.
    Positions stay.
    """
    if BEGIN not in text:
        return text
    shown: list[str] = []
    # For each open field whether we are in its instructions.
    fields: list[bool] = []
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
        is_mark = sign in {BEGIN, SEPARATE, END}
        shown.append("\0" if hidden or is_mark else sign)
    return "".join(shown)


class WordText:
    """The whole text of a document with its pieces and the styles of its paragraphs."""

    def __init__(
        self, text: str, pieces: Sequence[TextPiece], styles: Sequence[RangeStyle]
    ) -> None:
        self.text = text
        self.styled = bool(styles)
        self._pieces = pieces
        self._piece_starts = [piece.start for piece in pieces]
        self._styles = styles
        self._style_starts = [style.start for style in styles]

    def style(self, position: int) -> RangeStyle:
        """The style of the paragraph that ends at a position."""
        number = bisect.bisect_right(self._piece_starts, position) - 1
        if number < 0:
            return UNSTYLED
        piece = self._pieces[number]
        place = position - piece.start
        byte = piece.offset + place * piece.width
        index = bisect.bisect_right(self._style_starts, byte) - 1
        if index < 0 or byte >= self._styles[index].end:
            return UNSTYLED
        return self._styles[index]

    def ends_row(self, style: RangeStyle, *, empty: bool) -> bool:
        """Whether a cell ends its row; where no styles say so, an empty one does."""
        return style.row_end or (empty and not self.styled)


def _paragraphs(document: WordText, start: int, end: int) -> Iterator[units.Block]:
    """The blocks of a range of positions; cells are collected until their row ends."""
    cells: list[str] = []
    inside: list[str] = []
    begin = start
    for position in _ends(document.text, start, end):
        text = _tidy(document.text[begin:position])
        begin = position + 1
        style = document.style(position)
        if document.text[position] == CELL_END:
            empty = not text and not inside
            if document.ends_row(style, empty=empty):
                yield from _row(cells)
                cells = []
            else:
                cells.append(" ".join([*inside, text]))
                inside = []
        elif text and style.in_table:
            inside.append(text)
        elif text:
            yield units.paragraph(text, style.level)
    last = _tidy(document.text[begin:end])
    rest = filter(None, [*cells, *inside, last])
    if text := spacing.row(rest):
        yield units.Block(text)


def _ends(text: str, start: int, end: int) -> Iterator[int]:
    """The positions in a range at which a paragraph or a cell ends."""
    for position in range(start, end):
        if text[position] in PARAGRAPH_ENDS:
            yield position


def _row(cells: Sequence[str]) -> Iterator[units.Block]:
    """A row of a table as a block; one of a single cell is plain text."""
    if text := spacing.row(cells):
        kind = "row" if len(cells) > 1 else "text"
        yield units.Block(text, kind)


def _styles(fib: bytes, table: bytes) -> list[RangeStyle]:
    """What the paragraphs are, in the order of their bytes; [] when the pages that say
    so are broken.
    """
    start, size = struct.unpack_from("<II", fib, PAPX)
    plc = table[start : start + size]
    count = (len(plc) - 4) // 8
    first = 4 * (count + 1)
    styles: list[RangeStyle] = []
    for number in range(max(0, count)):
        page = _number(plc, first + 4 * number, 4) & 0x3FFFFF
        at = page * PAGE
        styles += _page(fib[at : at + PAGE])
    return sorted(styles, key=lambda style: style.start)


def _page(page: bytes) -> Iterator[RangeStyle]:
    """The ranges of one PapxFkp page: boundaries, then where the
    properties of each range lie, in words; the last byte counts them.
    """
    if len(page) < PAGE:
        return
    count = page[PAGE - 1]
    first = 4 * (count + 1)
    if first + 13 * count > PAGE - 1:
        return
    bounds = struct.unpack_from(f"<{count + 1}I", page)
    for number, (start, end) in enumerate(pairwise(bounds)):
        words = page[first + 13 * number]
        properties = _properties(page, 2 * words) if words else b""
        yield _range_style(start, end, properties)


def _properties(page: bytes, at: int) -> bytes:
    """A PapxInFkp: its size in words less one byte, or in words in the byte after."""
    size = page[at] * 2 - 1
    if size < 0:
        at += 1
        size = page[at] * 2 if at < PAGE else 0
    return page[at + 1 : at + 1 + size]


def _range_style(start: int, end: int, properties: bytes) -> RangeStyle:
    """What the properties of a range say: the style by number, of which 1 to 9 are the
    headings, then changes to it.
    """
    if not properties:
        return RangeStyle(start, end)
    style = _number(properties, 0, 2)
    level = style if 1 <= style <= 9 else 0
    switches: set[int] = set()
    for sprm, operand in _sprms(properties[2:]):
        if sprm == OUTLINE:
            level = operand + 1 if operand < 9 else 0
        elif operand:
            switches.add(sprm)
    return RangeStyle(
        start=start,
        end=end,
        level=min(6, level),
        in_table=IN_TABLE in switches,
        row_end=ROW_END in switches,
    )


def _sprms(data: bytes) -> Iterator[tuple[int, int]]:
    """The changes to a paragraph: code and first byte of the operand."""
    at = 0
    while at + 3 <= len(data):
        sprm = _number(data, at, 2)
        operand = data[at + 2]
        yield sprm, operand
        # The length of these is not told; nothing of ours comes after them.
        if sprm == TABS and operand == 255:
            return
        at += 2 + _operand_size(data, at, sprm)


def _operand_size(data: bytes, at: int, sprm: int) -> int:
    """The bytes of an operand (spra), its own length included."""
    size = OPERANDS.get(sprm >> 13)
    if size is not None:
        return size
    if sprm == TABLE_SPEC:
        return 1 + _number(data, at + 2, 2)
    return 1 + data[at + 2]


def _tidy(text: str) -> str:
    """The text of a paragraph: hyphens and breaks as such, halves of pairs put
    together.
    """
    text = text.replace("\x1e", "-").replace("\x0b", " ").replace("\x0e", " ")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return spacing.clean(text)
