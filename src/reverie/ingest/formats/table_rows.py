"""CSV parsing: the delimiter is sniffed, and cells are read by their column."""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

DELIMITERS = (",", ";", "\t", "|")
# How much of a file decides on its delimiter and its habits; set by hand.
_SNIFFED_CHARACTERS = 20_000
_SNIFFED_LINES = 40
_SAMPLED_ROWS = 2000


@dataclass(frozen=True, slots=True)
class Table:
    """The rows from the header on, and how the file writes."""

    headers: list[str]
    rows: list[list[str]]
    delimiter: str
    english: bool

    def column(self, at: int | None) -> list[str]:
        """The cells of a column, of the first rows only: a sample of its habits."""
        return [cell(row, at) for row in self.rows[:_SAMPLED_ROWS]]

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


def parse(text: str) -> tuple[list[list[str]], str, str]:
    """All rows, the delimiter, and what was wrong where reading had to end."""
    text = text.lstrip("\ufeff")
    # Excel writes its delimiter into a first line of its own: sep=;
    if declared := re.match(r"sep=(.)\r?\n", text, re.IGNORECASE):
        delimiter = declared[1]
        text = text[declared.end() :]
    else:
        delimiter = _sniff(text)
    rows: list[list[str]] = []
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows.extend(row for row in reader if any(map(str.strip, row)))
    except csv.Error as error:
        return rows, delimiter, f"reading ended at row {len(rows) + 1}: {error}"
    return rows, delimiter, ""


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
