"""Word and PowerPoint files of 97 to 2003 (.doc, .ppt) in a compound file (OLE2/CFB)."""

from collections.abc import Iterator

from reverie import errors
from reverie.ingest.documents import compound, oldslides, oldword, packed, units

KIND = "an older Office file"
# The headerToken of an encrypted presentation's CurrentUserAtom ([MS-PPT]).
ENCRYPTED = b"\xdf\xc4\xd1\xf3"


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself; then a Word file as one unit, a presentation slide by
    slide.
    """
    file = compound.Compound(source.data, KIND)
    if file.has("WordDocument"):
        yield from _word(file, source.first)
    elif file.has("PowerPoint Document"):
        yield from _slides(file, source.first)
    elif file.has("EncryptedPackage"):
        raise errors.Locked("it is encrypted")
    else:
        raise errors.Unreadable("neither a Word document nor a PowerPoint presentation")


def _word(file: compound.Compound, first: int) -> Iterator[units.Read]:
    """What a Word file says of itself, then its text as one unit."""
    fib = file.read("WordDocument")
    table = "1Table" if oldword.second_table(fib) else "0Table"
    blocks = oldword.blocks(fib, file.read(table))
    yield file.about()
    if first <= 1:
        yield units.whole(blocks)


def _is_encrypted(presentation: compound.Compound) -> bool:
    """Whether a presentation is encrypted, by its summary or its CurrentUserAtom."""
    if presentation.has("EncryptedSummary"):
        return True
    user = presentation.read("Current User")
    return ENCRYPTED in user[:32]


def _slides(file: compound.Compound, first: int) -> Iterator[units.Read]:
    """What a presentation says of itself, then its slides."""
    if _is_encrypted(file):
        raise errors.Locked("it is encrypted")
    slides = oldslides.slides(file.read("PowerPoint Document"))
    yield file.about()
    for number, blocks in enumerate(slides, start=1):
        if number >= first:
            yield units.Unit(number, len(slides), tuple(blocks), {"slide": number})
