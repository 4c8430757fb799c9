"""Normalisation of extracted text (NFC, white space, control characters); table rows."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from reverie.ingest.documents import units

# Control characters, invisible joints of layout (soft hyphen, zero-width space, byte
# order mark), lone surrogates.
UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff]"
)
SPACE = re.compile(r"\s+")
LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\u2028\u2029]")
# Characters, set by hand: a longer text stands once in the cells it covers.
SPANNED = 60


def clean(text: str) -> str:
    """One paragraph: NFC, every run of white space one space, nothing invisible."""
    text = UNWANTED.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return SPACE.sub(" ", text).strip()


def lines(text: str) -> str:
    """Several lines: each cleaned, empty ones at most one in a row."""
    cleaned = "\n".join(map(clean, LINE_ENDS.split(text)))
    return re.sub(r"\n{3,}", "\n\n", cleaned).strip()


def row(cells: Iterable[str]) -> str:
    """The cells of a row joined by " | ", without the empty ones at its end; "" when
    none says anything.
    """
    kept = [clean(cell) for cell in cells]
    while kept and not kept[-1]:
        kept.pop()
    return " | ".join(kept).strip()


def table(rows: Sequence[Sequence[str]], *, header: bool) -> units.Blocks:
    """A table as blocks. The first row is its header when `header` says so; a table of
    one column is plain text.
    """
    texts = [text for cells in rows if (text := row(cells))]
    if max((len(cells) for cells in rows), default=0) < 2:
        return [units.Block(text) for text in texts]
    first = "header" if header and len(texts) > 1 else "row"
    return [units.Block(text, "row" if at else first) for at, text in enumerate(texts)]


def spanning(text: str) -> str:
    """What stands in the further cells that a merged cell covers: its text while that
    is short, so a row says all.
    """
    return text if len(text) <= SPANNED else ""
