"""Word and PowerPoint files of 97 to 2003 (.doc, .ppt): which of the two a compound
file is.
"""

from collections.abc import Iterator

from reverie import errors
from reverie.ingest.documents import compound, oldslides, oldword, packed, units

KIND = "an older Office file"
ENCRYPTED = b"\xdf\xc4\xd1\xf3"  # what PowerPoint writes as its user's mark


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself; then a Word file as one unit, a presentation slide by
    slide.
    """
    file = compound.Compound(given.data, KIND)
    if file.has("WordDocument"):
        fib = file.read("WordDocument")
        blocks = oldword.blocks(
            fib, file.read("1Table" if oldword.second_table(fib) else "0Table")
        )
        yield file.about()
        if given.first <= 1:
            yield units.Unit(1, 1, tuple(blocks))
    elif file.has("PowerPoint Document"):
        if file.has("EncryptedSummary") or ENCRYPTED in file.read("Current User")[:32]:
            raise errors.Locked("it is encrypted")
        slides = oldslides.slides(file.read("PowerPoint Document"))
        yield file.about()
        for number, blocks in enumerate(slides, start=1):
            if number >= given.first:
                yield units.Unit(number, len(slides), tuple(blocks), {"slide": number})
    elif file.has("EncryptedPackage"):
        raise errors.Locked("it is encrypted")
    else:
        raise errors.Unreadable("neither a Word document nor a PowerPoint presentation")
