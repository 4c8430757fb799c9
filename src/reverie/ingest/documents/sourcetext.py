"""Texts of any other kind (XML, JSON, YAML, configuration, source code) as they are: a
file whose lines can be searched.
"""

from collections.abc import Iterator

from reverie import errors
from reverie.ingest import charsets
from reverie.ingest.documents import packed, units

KIND = "a text"
LARGEST = 32 * 1024 * 1024
# Characters of a block: lines stay together up to so many; set by hand.
BLOCK = 1000
LONGEST_LINE = 20_000


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """One unit of blocks of lines; empty lines end a block."""
    if len(source.data) > LARGEST:
        raise errors.Unreadable(f"a text larger than {LARGEST // 1024 // 1024} MB")
    text, encoding = charsets.decode(source.data)
    if is_binary(text):
        raise errors.Unreadable("not text: the file holds control characters")
    if not text.strip():
        raise errors.Unreadable("the file holds only white space")
    yield units.About(encoding=encoding)
    if source.first <= 1:
        yield units.whole(blocks(text))


def is_binary(text: str) -> bool:
    """Whether this looks like bytes of something else that were taken for text."""
    sample = text[:20_000]
    strange = sum(
        letter < " " and letter not in "\t\n\r\f\x1b" for letter in sample
    ) + sample.count("\ufffd")
    return strange * 20 > len(sample)


def blocks(text: str) -> units.Blocks:
    """The lines in groups."""
    grouped: units.Blocks = []
    lines: list[str] = []
    size = 0
    for line in _lines(text):
        if lines and (not line.strip() or size + len(line) > BLOCK):
            grouped.append(units.Block("\n".join(lines)))
            lines, size = [], 0
        if line.strip():
            lines.append(line.rstrip())
            size += len(line)
    if lines:
        grouped.append(units.Block("\n".join(lines)))
    return grouped


def _lines(text: str) -> Iterator[str]:
    """The lines; one that is endless, as in minified code, in pieces."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    for line in text.split("\n"):
        for start in range(0, max(1, len(line)), LONGEST_LINE):
            yield line[start : start + LONGEST_LINE]
