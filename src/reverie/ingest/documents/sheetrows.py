"""Table rows of a sheet as units: header row detection, rows by their numbers, memory
bounded.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest.documents import spacing, units

# Of one unit; set by hand.
ROWS = 5_000
CHARACTERS = 4_000_000
# Characters of one document, set by hand: many cells can share one long text.
MOST = 256_000_000
# Characters kept of a cell (Excel's own limit) and of a row (set by hand).
CELL = 32_767
ROW = 500_000
# A longer run of empty cells is written as one; set by hand.
GAP = 10
# Excel's own limits of a sheet.
COLUMNS = 16_384
MOST_ROWS = 1_048_576


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows. `number` is set when it holds a number or a date and so names
    no column.
    """

    column: int
    text: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """The filled cells of a row, from the left; `number` as the sheet counts, from 1.

    Rows that say the same down to `last` are one.
    """

    number: int
    cells: Sequence[Cell]
    last: int = 0


@dataclass(slots=True)
class Writer:
    """Makes units of sheets, one sheet after the other; counts them and what they hold."""

    first: int = 1
    total: int = 0
    number: int = 0
    characters: int = 0
    _offset: int = -1
    _blocks: units.Blocks = field(default_factory=units.Blocks)
    _size: int = 0
    _rows: int = 0

    def sheet(
        self, name: str, rows: Iterable[Row], rest: Sequence[units.Block] = ()
    ) -> Iterator[units.Unit]:
        """The units of one sheet: its rows, then `rest` (what charts and comments say).
        At least one, maybe empty.
        """
        begun = self.number
        for block, header in self._row_blocks(rows):
            if self._is_full():
                yield from self._unit(name)
                if header is not None:
                    self._add(header)
            self._add(block)
        for block in rest:
            self._add(block)
        if self._blocks or self.number == begun:
            yield from self._unit(name)

    def _row_blocks(
        self, rows: Iterable[Row]
    ) -> Iterator[tuple[units.Block, units.Block | None]]:
        """The rows that are not empty as blocks, each with the header above it, None
        for a header itself.
        """
        self._offset = -1
        before: Row | None = None
        header: units.Block | None = None
        filled = (row for row in rows if any(cell.text for cell in row.cells))
        for row, after in _with_next(filled):
            named = _begins_table(row, before) and _names_columns(row, after)
            block = self._block(row, named=named)
            before = row
            if named:
                header = block
            yield block, None if named else header

    def _is_full(self) -> bool:
        """Whether the next row is to be of another unit."""
        return self._rows >= ROWS or self._size >= CHARACTERS

    def _block(self, row: Row, *, named: bool) -> units.Block:
        """A row as a block; its texts are aligned with those of the header above."""
        first = row.cells[0].column
        if named:
            self._offset = first
        start = min(first, self._offset) if self._offset >= 0 else first
        text = spacing.row(_spread(row.cells, start))
        kind = "header" if named else "row"
        rows = [row.number, max(row.number, row.last)]
        return units.Block(text[:ROW], kind, place={"rows": rows})

    def _add(self, block: units.Block) -> None:
        """Add a block to the unit. Unreadable when the document grows too large."""
        self._blocks.append(block)
        self._rows += 1
        self._size += len(block.text)
        self.characters += len(block.text)
        if self.characters > MOST:
            raise errors.Unreadable(
                f"its cells unpack to more than {MOST // 1_000_000} million characters"
            )

    def _unit(self, name: str) -> Iterator[units.Unit]:
        """The unit so far, unless it is known already; begin the next one."""
        self.number += 1
        blocks = tuple(self._blocks)
        self._blocks = []
        self._rows = 0
        self._size = 0
        if self.number >= self.first:
            place = {"sheet": spacing.clean(name)}
            yield units.Unit(self.number, self.total, blocks, place)


def _spread(cells: Sequence[Cell], start: int) -> Iterator[str]:
    """The texts with an empty one for each empty cell between, so that columns stay
    where they are.
    """
    at = start
    for cell in cells:
        missing = cell.column - at
        yield from [""] * (missing if missing <= GAP else 1)
        yield cell.text[:CELL]
        at = cell.column + 1


def _begins_table(row: Row, before: Row | None) -> bool:
    """Whether a row is the first of a table: after nothing, an empty row or a title."""
    if before is None or len(before.cells) == 1:
        return True
    return row.number > max(before.number, before.last) + 1


def _names_columns(row: Row, after: Row | None) -> bool:
    """Whether a row at the start of a table is its header: texts (or years) over a row
    that is filled as well.
    """
    if after is None or after.number != row.number + 1:
        return False
    if len(row.cells) < 2 or len(after.cells) < 2:
        return False
    return all(not cell.number or _year(cell.text) for cell in row.cells)


def _year(text: str) -> bool:
    """Whether a text is a year that may name a column."""
    return len(text) == 4 and text.isdecimal() and text[:2] in {"18", "19", "20"}


def _with_next(rows: Iterable[Row]) -> Iterator[tuple[Row, Row | None]]:
    """Each row with the one after it, None after the last."""
    before: Row | None = None
    for row in rows:
        if before is not None:
            yield before, row
        before = row
    if before is not None:
        yield before, None


def moment(value: dt.datetime | dt.date | dt.time | dt.timedelta) -> str:
    """A date and time as ISO 8601 with a space; without a time at midnight, without
    seconds when there are none.
    """
    if isinstance(value, dt.datetime):
        if value.time() == dt.time():
            return value.date().isoformat()
        return f"{value.date().isoformat()} {moment(value.time())}"
    if isinstance(value, dt.timedelta):
        minutes, second = divmod(round(value.total_seconds()), 60)
        hours, minute = divmod(minutes, 60)
        return f"{hours}:{minute:02}:{second:02}"
    if isinstance(value, dt.time):
        value = value.replace(microsecond=0)
        return value.isoformat("seconds" if value.second else "minutes")
    return value.isoformat()
