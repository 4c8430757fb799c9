"""OpenDocument list styles (ODF 1.3): how the levels of a list count, and its labels."""

from collections.abc import Iterable

from reverie.ingest.documents import numbering, officeparts, trees, units

# style:num-format as a format of a list; any other counts in decimals.
NUMBER_FORMATS = {
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}


def read(
    roots: Iterable[trees.Element | None],
) -> dict[str, numbering.ListLevels]:
    """How the levels of each list style count."""
    styles: dict[str, numbering.ListLevels] = {}
    for root in roots:
        for style in trees.descendants(root, "{*}list-style"):
            name = officeparts.attribute(style, "name")
            styles.setdefault(name, _levels(style))
    return styles


def _levels(style: trees.Element) -> numbering.ListLevels:
    """The levels of a list style, by depth from 1."""
    levels: dict[int, numbering.ListLevel] = {}
    for element in style:
        depth = numbering.whole(officeparts.attribute(element, "level"), 1)
        name = officeparts.local(element)
        number_format = officeparts.attribute(element, "num-format")
        if name == "list-level-style-number" and number_format:
            levels[depth] = _numbered_level(element, number_format)
        elif name == "list-level-style-bullet":
            levels[depth] = numbering.ListLevel("bullet", "-")
    return levels


def _numbered_level(element: trees.Element, number_format: str) -> numbering.ListLevel:
    """A level of a list that counts, with what stands around its numbers."""
    prefix = officeparts.attribute(element, "num-prefix")
    suffix = officeparts.attribute(element, "num-suffix")
    start = officeparts.attribute(element, "start-value") or "1"
    return numbering.ListLevel(
        format=NUMBER_FORMATS.get(number_format, "decimal"),
        text=f"{prefix}%1{suffix}",
        start=numbering.whole(start),
    )


def labelled(block: units.Block, level: numbering.ListLevel, count: int) -> units.Block:
    """The first block of an item with its bullet or number."""
    if level.format == "bullet":
        label = "-"
    else:
        number = numbering.written(count, level.format)
        label = level.text.replace("%1", number)
    text = f"{label.strip()} {block.text}".strip()
    return units.Block(text, block.kind, block.level)
