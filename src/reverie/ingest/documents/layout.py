"""Lines of a page with their boxes: the order they are read in, and the paragraphs they
make.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

ENDS = (".", "!", "?", ":", "。", "؟", "…", ".”", '."')
BULLET = re.compile(r"(?:[•‣◦▪●○■□–—*·➢✓]|-|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
HYPHENS = "-\u00ad\u2010\x02"
BROKEN = re.compile(rf"(\w+)[{HYPHENS}]$")
COMPOUND = re.compile(r"\w+-\w+")
# Shorter pieces on both sides of a gap are the cells of a table, which is read row by
# row.
PROSE = 18
ROWS = 4
MOST_GAPS = 300
LONGEST_WORD = 80


@dataclass(frozen=True, slots=True)
class LayoutLine:
    """A line, or a piece of one, with its box from the top left; `size` is the height
    of its type in the same unit.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool = False
    tabular: bool = False

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def in_order(pieces: Sequence[LayoutLine]) -> list[LayoutLine]:
    """Lines in reading order: column by column where there are columns, else row by
    row; pieces of a row are joined.
    """
    gutter = find_gutter(pieces)
    if gutter is None:
        return [joined_row(row) for row in rows(pieces)]
    lines: list[LayoutLine] = []
    left: list[LayoutLine] = []
    right: list[LayoutLine] = []
    for row in rows(pieces):
        if any(piece.left < gutter < piece.right for piece in row):
            # What spans the columns ends what stands above it.
            lines += in_order(left) + in_order(right) + [joined_row(row)]
            left, right = [], []
            continue
        left += [piece for piece in row if piece.right <= gutter]
        right += [piece for piece in row if piece.left >= gutter]
    return lines + in_order(left) + in_order(right)


def find_gutter(pieces: Sequence[LayoutLine]) -> float | None:
    """Where the space between two columns of prose is, or None."""
    gaps: list[tuple[float, float]] = []
    for row in rows(pieces):
        for one, other in pairwise(row):
            if (
                len(one.text) >= PROSE
                and len(other.text) >= PROSE
                and other.left > one.right
            ):
                gaps.append((one.right, other.left))
    best, votes = None, ROWS - 1
    for left, right in gaps[:MOST_GAPS]:
        place = (left + right) / 2
        count = sum(a < place < b for a, b in gaps)
        crossing = sum(piece.left < place < piece.right for piece in pieces)
        if count > votes and count >= crossing:
            best, votes = place, count
    return best


def rows(pieces: Sequence[LayoutLine]) -> list[list[LayoutLine]]:
    """Pieces that stand beside each other, from top to bottom, each row from left to
    right.
    """
    found: list[list[LayoutLine]] = []
    for piece in sorted(pieces, key=lambda each: each.middle):
        row = found[-1] if found else []
        near = row and abs(
            piece.middle - median(each.middle for each in row)
        ) < 0.5 * min(piece.bottom - piece.top, row[0].bottom - row[0].top)
        if near:
            row.append(piece)
        else:
            found.append([piece])
    return [sorted(row, key=lambda each: each.left) for row in found]


def joined_row(row: Sequence[LayoutLine], *, tabular: bool = False) -> LayoutLine:
    """One line out of pieces beside each other, given in the order of reading."""
    first = row[0]
    wide = any(other.left - one.right > 2 * one.size for one, other in pairwise(row))
    return LayoutLine(
        " ".join(piece.text for piece in row),
        min(piece.left for piece in row),
        min(piece.top for piece in row),
        max(piece.right for piece in row),
        max(piece.bottom for piece in row),
        median(piece.size for piece in row),
        all(piece.bold for piece in row),
        wide or tabular or first.tabular,
    )


def paragraphs(lines: Sequence[LayoutLine]) -> Iterator[list[LayoutLine]]:
    """Lines in reading order, grouped: what is evenly spaced, of one size, and not
    ended by a short line.
    """
    usual = _leading(lines)
    group: list[LayoutLine] = []
    for line in lines:
        if group and not _continues(group[-1], line, usual):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _leading(lines: Sequence[LayoutLine]) -> float:
    """From one line to the next, in heights of the type."""
    steps = [
        (below.bottom - above.bottom) / above.size
        for above, below in pairwise(lines)
        if above.size and 0.5 < (below.bottom - above.bottom) / above.size < 2.5
    ]
    return median(steps) if steps else 1.2


def _continues(above: LayoutLine, below: LayoutLine, usual: float) -> bool:
    if (
        above.tabular
        or below.tabular
        or not above.size
        or not 0.83 < below.size / above.size < 1.2
    ):
        return False
    if above.bold != below.bold or BULLET.match(below.text):
        return False
    ended = above.text.endswith(ENDS)
    step = below.bottom - above.bottom
    overlaps = below.left < above.right and above.left < below.right
    if step <= 0 or not overlaps:  # the top of the next column
        goes_on = below.text[:1].islower() and not ended
        return goes_on and (step <= 0 or below.left >= above.right)
    if step > 1.3 * usual * above.size:
        return False
    short = above.right < below.right - 4 * above.size
    indented = below.left > above.left + 0.8 * above.size
    return not (ended and (short or indented))


def text_of(lines: Sequence[LayoutLine], known: frozenset[str]) -> str:
    """The lines as one text; a word broken at the end of a line is whole again.

    `known` are the words of the page with a hyphen inside (`compounds`), which keep it.
    """
    text = ""
    for line in lines:
        piece = line.text.strip()
        broken = BROKEN.search(text[-LONGEST_WORD:])
        if broken is None or not piece[:1].isalpha():
            text = f"{text} {piece}" if text else piece
            continue
        rest = re.match(r"\w+", piece)
        whole = f"{broken[1]}-{rest[0] if rest else ''}".casefold()
        keeps = whole in known or not piece[0].islower() or broken[1][-1].isdigit()
        text = f"{text[:-1]}{'-' if keeps else ''}{piece}"
    return text.replace("\x02", "-").replace("\u00ad", "").strip()


def compounds(lines: Sequence[LayoutLine]) -> frozenset[str]:
    return frozenset(
        word.casefold() for line in lines for word in COMPOUND.findall(line.text)
    )
