"""Page layout analysis: the reading order of lines with boxes, columns, paragraphs and
hyphenation.

Lines come from the text layer of a PDF or from OCR. A page is read row by row, unless
enough rows have prose on both sides of one gap: that is the gutter between two columns,
which are then read one after the other, between whatever spans both. Lines make a
paragraph while they are evenly spaced, of one size and weight, and no short last line or
indented first line says otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

# What a paragraph ends with.
ENDS = (".", "!", "?", ":", "。", "؟", "…", ".”", '."')
BULLET = re.compile(r"(?:[•‣◦▪●○■□–—*·➢✓]|-|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
HYPHENS = "-\u00ad\u2010\x02"
BROKEN = re.compile(rf"(\w+)[{HYPHENS}]$")
COMPOUND = re.compile(r"\w+-\w+")
# All thresholds here were set by hand and kept while they held the figures of
# bench/extraction.py for PDFs and of bench/ocr.py (docs/decisions/0020).
# Characters: shorter pieces on both sides of a gap are the cells of a table, which is
# read row by row.
PROSE = 18
# So many rows at least have a gap where a gutter is.
ROWS = 4
MOST_GAPS = 300
LONGEST_WORD = 80
# Of the smaller height: pieces whose middles are nearer stand in one row.
SAME_ROW = 0.5
# From line to line, in heights of the type: what counts for the usual leading, and the
# leading of a page that has none.
LEADINGS = (0.5, 2.5)
USUAL_LEADING = 1.2
# Of the usual leading: a wider step begins a paragraph.
WIDE_STEP = 1.3
# Sizes of type of one paragraph, as a ratio.
SAME_SIZE = (0.83, 1.2)
# In heights of the type: how far a last line is shorter, a first line is indented.
SHORTER = 4
INDENTED = 0.8


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
    def height(self) -> float:
        """From its top to its bottom."""
        return self.bottom - self.top

    def crosses(self, across: float) -> bool:
        """Whether it stands on both sides of a place on the page's width."""
        return self.left < across < self.right

    @property
    def middle(self) -> float:
        """Where its middle is, from the top."""
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
        if any(piece.crosses(gutter) for piece in row):
            # What spans the columns ends what stands above it.
            lines += in_order(left)
            lines += in_order(right)
            lines.append(joined_row(row))
            left = []
            right = []
            continue
        left += [piece for piece in row if piece.right <= gutter]
        right += [piece for piece in row if piece.left >= gutter]
    return lines + in_order(left) + in_order(right)


def find_gutter(pieces: Sequence[LayoutLine]) -> float | None:
    """Where the space between two columns of prose is, or None: the middle of the gap
    that most rows share, if no more pieces cross it.
    """
    gaps: list[tuple[float, float]] = []
    for row in rows(pieces):
        gaps += _prose_gaps(row)
    best: float | None = None
    votes = ROWS - 1
    for left, right in gaps[:MOST_GAPS]:
        middle = (left + right) / 2
        count = sum(start < middle < end for start, end in gaps)
        crossing = sum(piece.crosses(middle) for piece in pieces)
        if count > votes and count >= crossing:
            best = middle
            votes = count
    return best


def _prose_gaps(row: Sequence[LayoutLine]) -> Iterator[tuple[float, float]]:
    """The gaps in a row that have prose on both sides: where each begins and ends."""
    for before, after in pairwise(row):
        shorter = min(len(before.text), len(after.text))
        if shorter >= PROSE and after.left > before.right:
            yield before.right, after.left


def rows(pieces: Sequence[LayoutLine]) -> list[list[LayoutLine]]:
    """Pieces that stand beside each other, from top to bottom, each row from left to
    right.
    """
    grouped: list[list[LayoutLine]] = []
    for piece in sorted(pieces, key=lambda each: each.middle):
        if grouped and _beside(piece, grouped[-1]):
            grouped[-1].append(piece)
        else:
            grouped.append([piece])
    return [sorted(row, key=lambda each: each.left) for row in grouped]


def _beside(piece: LayoutLine, row: Sequence[LayoutLine]) -> bool:
    """Whether a piece stands in a row: its middle is near the middle of the row."""
    first = row[0]
    height = min(piece.height, first.height)
    middle = median(each.middle for each in row)
    distance = abs(piece.middle - middle)
    return distance < SAME_ROW * height


def joined_row(row: Sequence[LayoutLine], *, tabular: bool = False) -> LayoutLine:
    """One line out of pieces beside each other, given in the order of reading."""
    return LayoutLine(
        text=" ".join(piece.text for piece in row),
        left=min(piece.left for piece in row),
        top=min(piece.top for piece in row),
        right=max(piece.right for piece in row),
        bottom=max(piece.bottom for piece in row),
        size=median(piece.size for piece in row),
        bold=all(piece.bold for piece in row),
        tabular=tabular or _is_wide(row) or row[0].tabular,
    )


def _is_wide(row: Sequence[LayoutLine]) -> bool:
    """Whether two neighbours in a row are far apart, as the cells of a table are."""
    for before, after in pairwise(row):
        gap = after.left - before.right
        if gap > 2 * before.size:
            return True
    return False


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


def paragraph_texts(lines: Sequence[LayoutLine]) -> Iterator[str]:
    """The text of each paragraph of a page, its lines given in reading order."""
    compound_words = compounds(lines)
    for group in paragraphs(lines):
        yield text_of(group, compound_words)


def _leading(lines: Sequence[LayoutLine]) -> float:
    """From one line to the next, in heights of the type: the median of a page."""
    least, most = LEADINGS
    steps: list[float] = []
    for above, below in pairwise(lines):
        if not above.size:
            continue
        step = (below.bottom - above.bottom) / above.size
        if least < step < most:
            steps.append(step)
    return median(steps) if steps else USUAL_LEADING


def _continues(above: LayoutLine, below: LayoutLine, usual: float) -> bool:
    """Whether a line belongs to the paragraph of the one before it."""
    if above.tabular or below.tabular or not _same_type(above, below):
        return False
    if BULLET.match(below.text):
        return False
    step = below.bottom - above.bottom
    if step <= 0 or not _overlap(above, below):
        return _continues_elsewhere(above, below)
    if step > WIDE_STEP * usual * above.size:
        return False
    if above.text.endswith(ENDS):
        return not _new_paragraph(above, below)
    return True


def _same_type(above: LayoutLine, below: LayoutLine) -> bool:
    """Whether two lines are set in type of one weight and about one size."""
    if not above.size or above.bold != below.bold:
        return False
    least, most = SAME_SIZE
    ratio = below.size / above.size
    return least < ratio < most


def _overlap(above: LayoutLine, below: LayoutLine) -> bool:
    """Whether one line stands above the other, at least in part."""
    return below.left < above.right and above.left < below.right


def _continues_elsewhere(above: LayoutLine, below: LayoutLine) -> bool:
    """Whether a sentence goes on at the top of the next column."""
    if above.text.endswith(ENDS) or not below.text[:1].islower():
        return False
    higher = below.bottom - above.bottom <= 0
    return higher or below.left >= above.right


def _new_paragraph(above: LayoutLine, below: LayoutLine) -> bool:
    """Whether the line above is short or the one below indented, after a full stop."""
    full_line = below.right - SHORTER * above.size
    indented = above.left + INDENTED * above.size
    return above.right < full_line or below.left > indented


def text_of(lines: Sequence[LayoutLine], compound_words: frozenset[str]) -> str:
    """The lines as one text; a word broken at the end of a line is whole again.

    `compound_words` are the words of the page with a hyphen inside (`compounds`), which keep it.
    """
    text = ""
    for line in lines:
        piece = line.text.strip()
        broken = BROKEN.search(text[-LONGEST_WORD:])
        if broken is None or not piece[:1].isalpha():
            text = f"{text} {piece}" if text else piece
            continue
        hyphen = "-" if _keeps_hyphen(broken[1], piece, compound_words) else ""
        text = f"{text[:-1]}{hyphen}{piece}"
    return text.replace("\x02", "-").replace("\u00ad", "").strip()


def _keeps_hyphen(begun: str, following: str, compound_words: frozenset[str]) -> bool:
    """Whether the hyphen at the end of a line is the word's own: before a capital,
    after a digit, or in a word that the page has with it elsewhere.
    """
    if not following[0].islower() or begun[-1].isdigit():
        return True
    word = re.match(r"\w+", following)
    rest = word[0] if word else ""
    whole = f"{begun}-{rest}"
    return whole.casefold() in compound_words


def compounds(lines: Sequence[LayoutLine]) -> frozenset[str]:
    """The words of a page with a hyphen inside, casefolded."""
    return frozenset(
        word.casefold() for line in lines for word in COMPOUND.findall(line.text)
    )
