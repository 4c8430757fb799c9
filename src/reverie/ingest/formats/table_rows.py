"""CSV parsing: the delimiter is sniffed, and cells are read by their column."""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reverie.ingest.formats import table_dates, table_values

# The longest cell that a file can have; the library stops at 128 kB by itself.
csv.field_size_limit(2**31 - 1)
DELIMITERS = (",", ";", "\t", "|")
# How much of a file decides on its delimiter and its habits; set by hand.
_SNIFFED_CHARACTERS = 20_000
_SNIFFED_LINES = 40
_SAMPLED_ROWS = 2000
_SAMPLED_COLUMNS = 30


@dataclass(frozen=True, slots=True)
class Table:
    """The rows from the header on, and how the file writes: the English way, or in a
    language (`local`) that has the day before the month for sure.
    """

    headers: list[str]
    rows: list[list[str]]
    delimiter: str
    english: bool
    local: bool

    def column(self, at: int | None) -> list[str]:
        """The cells of a column, of the first rows only: a sample of its habits."""
        return [cell(row, at) for row in self.rows[:_SAMPLED_ROWS]]

    def decimal_mark(self, numbers: Iterable[str]) -> str:
        """The decimal mark of the file, told by some of its cells, or else by its
        language and its delimiter.
        """
        return table_values.decimal_mark(numbers, "." if self.english else ",")

    def date_order(
        self, at: int | None, currency: str | None = None
    ) -> table_dates.DateOrder:
        """How the file writes its dates: told by a column of them, by any other date,
        or else by its language and its currency.
        """
        presumed = table_dates.is_day_first(self.english, currency)
        others = (
            cell(row, other)
            for other in range(min(len(self.headers), _SAMPLED_COLUMNS))
            for row in self.rows[:_SAMPLED_ROWS]
        )
        order = table_dates.order(self.column(at), presumed, others)
        return replace(order, guessed=order.guessed and not self.local)

    def other_cells(self, row: Sequence[str], used: Collection[int]) -> dict[str, str]:
        """Header -> cell of the columns that no field took; empty ones are left out."""
        return {
            header: cell(row, at)
            for at, header in enumerate(self.headers)
            if at not in used and header and cell(row, at)
        }


def cell(row: Sequence[str], at: int | None) -> str:
    """The cell of a column without white space around it; "" where there is none."""
    if at is None or at >= len(row):
        return ""
    return row[at].strip()


def parse(text: str) -> tuple[list[list[str]], str, list[str]]:
    """All rows, the delimiter, and what was wrong with some of them."""
    text = text.lstrip("\ufeff").replace("\x00", "")
    # Excel writes its delimiter into a first line of its own: sep=;
    if declared := re.match(r"sep=(.)\r?\n", text, re.IGNORECASE):
        delimiter = declared[1]
        text = text[declared.end() :]
    else:
        delimiter = _sniff(text)
    broken: list[str] = []
    records = _records(text, delimiter, broken)
    rows = [row for row in records if any(map(str.strip, row))]
    return rows, delimiter, broken


def _records(text: str, delimiter: str, broken: list[str]) -> Iterator[list[str]]:
    """The records (RFC 4180). A quote that nobody closes would take the rest of the
    file into its cell: its line is read without quotes instead.
    """
    lines = [*io.StringIO(text, newline="")]
    width = _usual_width(lines, delimiter)
    at = 0
    while at < len(lines):
        reader = csv.reader(_from(lines, at), delimiter=delimiter)
        begun = at
        for row in reader:
            taken = begun + reader.line_num - at
            if taken > 1 and len(row) < width:
                break
            yield row
            at += taken
        else:
            return
        broken.append(f"line {at + 1}: a quote that is not closed")
        yield lines[at].rstrip("\r\n").split(delimiter)
        at += 1


def _from(lines: Sequence[str], first: int) -> Iterator[str]:
    """The lines from one on."""
    for at in range(first, len(lines)):
        yield lines[at]


def _usual_width(lines: Sequence[str], delimiter: str) -> int:
    """How many cells most of the first lines have."""
    sample = lines[:_SNIFFED_LINES]
    widths = Counter(len(row) for row in csv.reader(sample, delimiter=delimiter))
    return widths.most_common(1)[0][0] if widths else 0


def _sniff(text: str) -> str:
    """The delimiter that cuts most of the first lines into the same number of cells, of
    two or more.
    """
    lines = text[:_SNIFFED_CHARACTERS].splitlines()
    sample = "\n".join(lines[:_SNIFFED_LINES])
    best = ","
    best_score = 0.0
    for delimiter in DELIMITERS:
        score = _delimiter_score(sample, delimiter)
        if score > best_score:
            best = delimiter
            best_score = score
    return best


def _delimiter_score(sample: str, delimiter: str) -> float:
    """The share of lines with the commonest width; the width itself decides a tie."""
    try:
        reader = csv.reader(io.StringIO(sample), delimiter=delimiter)
        widths = [len(row) for row in reader if row]
    except csv.Error:
        return 0.0
    wide = Counter(width for width in widths if width > 1)
    if not wide:
        return 0.0
    width, count = wide.most_common(1)[0]
    return count / len(widths) + width / 1000


def row_key(canonical: Sequence[str], seen: Counter[str]) -> str:
    """The identity of a row: the hash of its cells, and which of the same rows it is."""
    content = "\x1f".join(canonical).encode("utf-8", "replace")
    digest = hashlib.sha256(content).hexdigest()
    seen[digest] += 1
    return f"row:{digest}|{seen[digest]}"
