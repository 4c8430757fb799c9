"""OpenDocument texts and presentations (.odt, .odp, .ott): paragraphs, headings, lists,
tables, notes and comments.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest.documents import (
    numbering,
    odfsheets,
    officeparts,
    packed,
    spacing,
    trees,
    units,
)

KIND = "an OpenDocument file"
BREAKS = {"tab": "\t", "line-break": "\n"}
SKIPPED = frozenset(
    ["tracked-changes", "sequence-decls", "forms", "variable-decls", "user-field-decls", "annotation-end", "notes",
     "settings", "title", "desc", "event-listeners", "glue-point", "header-footer"]
)  # fmt: skip
SPANS = 60  # rows or columns that a cell covers
COVERED = 20_000  # cells of one table that are filled with the text of another


@dataclass(slots=True)
class OdfDocument:
    """What is shared while a document is walked: its parts, how its lists count, and
    notes found on the way.
    """

    package: packed.Package
    lists: Mapping[str, Mapping[int, numbering.ListLevel]]
    notes: list[units.Block] = field(default_factory=list[units.Block])
    continued: int = 0


@dataclass(slots=True)
class OdfParagraph:
    """A paragraph's text in pieces, and the blocks that hang on it."""

    pieces: list[str] = field(default_factory=list[str])
    anchored: list[trees.Element] = field(default_factory=list[trees.Element])


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself, then a text as one unit, a presentation slide by slide, a
    spreadsheet by its sheets.
    """
    package = packed.Package(given.data, KIND)
    manifest = (
        package.read("META-INF/manifest.xml")
        if "META-INF/manifest.xml" in package
        else b""
    )
    if b"encryption-data" in manifest:
        raise errors.Locked("it is encrypted")
    if "content.xml" not in package:
        raise errors.Unreadable(f"not {KIND}")
    yield _about(package)
    if odfsheets.is_spreadsheet(package):
        yield from odfsheets.read(package, given.first)
        return
    root = package.tree("content.xml")
    document = OdfDocument(package, _lists([root, package.maybe("styles.xml")]))
    slides = officeparts.child(root, "body", "presentation")
    text = officeparts.child(root, "body", "text")
    if slides is not None:
        yield from _slides(document, slides, given.first)
    elif text is not None and given.first <= 1:
        blocks = _blocks(document, text)
        yield units.Unit(1, 1, tuple(blocks + document.notes))
    elif text is None:
        raise errors.Unreadable("neither a text nor slides nor sheets")


def _about(package: packed.Package) -> units.About:
    root = officeparts.child(package.maybe("meta.xml"), "meta")
    said: dict[str, str] = {}
    for one in () if root is None else root:
        said.setdefault(officeparts.local(one), spacing.clean("".join(one.itertext())))
    author = said.get("initial-creator") or said.get("creator", "")
    return units.About(
        said.get("title", ""), author, officeparts.iso(said.get("creation-date", ""))
    )


def _lists(
    roots: Iterable[trees.Element | None],
) -> dict[str, dict[int, numbering.ListLevel]]:
    """How the levels of each list style count."""
    found: dict[str, dict[int, numbering.ListLevel]] = {}
    for root in roots:
        for style in () if root is None else root.iter("{*}list-style"):
            levels: dict[int, numbering.ListLevel] = {}
            for one in style:
                depth = numbering.whole(officeparts.attribute(one, "level"), 1)
                form = officeparts.attribute(one, "num-format")
                if officeparts.local(one) == "list-level-style-number" and form:
                    kind = {
                        "a": "lowerLetter",
                        "A": "upperLetter",
                        "i": "lowerRoman",
                        "I": "upperRoman",
                    }.get(form, "")
                    around = (
                        officeparts.attribute(one, "num-prefix"),
                        officeparts.attribute(one, "num-suffix"),
                    )
                    start = numbering.whole(
                        officeparts.attribute(one, "start-value") or "1"
                    )
                    levels[depth] = numbering.ListLevel(
                        kind or "decimal", "%1".join(around), start
                    )
                elif officeparts.local(one) == "list-level-style-bullet":
                    levels[depth] = numbering.ListLevel("bullet", "-")
            found.setdefault(officeparts.attribute(style, "name"), levels)
    return found


def _blocks(
    document: OdfDocument, elements: Iterable[trees.Element]
) -> list[units.Block]:
    blocks: list[units.Block] = []
    for element in elements:
        name = officeparts.local(element)
        if name in {"p", "h"}:
            blocks += _paragraph(document, element)
        elif name == "list":
            blocks += _list(document, element, "", 1)
        elif name == "table":
            blocks += _table(document, element)
        elif name == "object":
            blocks += _object(document, element)
        elif name == "annotation":
            _comment(document, element)
        elif name == "frame":
            blocks += _frame(document, element)
        elif name not in SKIPPED:
            blocks += _blocks(document, element)
    return blocks


def _paragraph(document: OdfDocument, element: trees.Element) -> list[units.Block]:
    found = OdfParagraph()
    _collect(document, element, found)
    text = spacing.clean("".join(found.pieces))
    blocks: list[units.Block] = []
    if text and officeparts.local(element) == "h":
        level = min(
            6,
            max(1, numbering.whole(officeparts.attribute(element, "outline-level"), 1)),
        )
        blocks.append(units.Block(text, "heading", level))
    elif text:
        style = officeparts.attribute(element, "style-name")
        blocks.append(
            units.Block(text, "heading", 1) if style == "Title" else units.Block(text)
        )
    return blocks + _blocks(document, found.anchored)


def _collect(
    document: OdfDocument, element: trees.Element, found: OdfParagraph
) -> None:
    """The text of a paragraph; a note leaves its mark and goes to the end, a picture or
    box follows the paragraph.
    """
    found.pieces.append(element.text or "")
    for one in element:
        name = officeparts.local(one)
        if name in BREAKS:
            found.pieces.append(BREAKS[name])
        elif name == "s":
            found.pieces.append(" ")
        elif name == "note":
            _note(document, one, found)
        elif name in {"frame", "custom-shape", "g", "annotation", "text-box", "rect"}:
            found.anchored.append(one)
        elif name not in SKIPPED and name != "ruby-text":
            _collect(document, one, found)
        found.pieces.append(one.tail or "")


def _note(document: OdfDocument, element: trees.Element, found: OdfParagraph) -> None:
    mark = officeparts.child(element, "note-citation")
    body = officeparts.child(element, "note-body")
    label = spacing.clean("".join(mark.itertext())) if mark is not None else ""
    text = " ".join(
        block.text for block in _blocks(document, () if body is None else body)
    )
    found.pieces.append(f" [{label}]")
    if text:
        document.notes.append(units.Block(f"[{label}] {text}"))


def _comment(document: OdfDocument, element: trees.Element) -> None:
    said, when = (
        officeparts.child(element, "creator"),
        officeparts.child(element, "date"),
    )
    words = [
        spacing.clean("".join(one.itertext()))
        for one in (said, when)
        if one is not None
    ]
    text = " ".join(
        block.text
        for block in _blocks(
            document, [one for one in element if one not in (said, when)]
        )
    )
    if text:
        document.notes.append(
            units.Block(f"[Comment {', '.join(word for word in words if word)}] {text}")
        )


def _list(
    document: OdfDocument, element: trees.Element, style: str, depth: int
) -> list[units.Block]:
    style = officeparts.attribute(element, "style-name") or style
    level = document.lists.get(style, {}).get(depth, numbering.ListLevel("none", ""))
    count = level.start
    if depth == 1 and officeparts.attribute(element, "continue-numbering") == "true":
        count = document.continued
    blocks: list[units.Block] = []
    for item in element:
        start = officeparts.attribute(item, "start-value")
        count = numbering.whole(start, 1) if start else count
        inner: list[units.Block] = []
        for one in item:
            if officeparts.local(one) == "list":
                inner += _list(document, one, style, depth + 1)
            else:
                inner += _blocks(document, [one])
        if (
            officeparts.local(item) == "list-item"
            and any(officeparts.local(one) == "p" for one in item)
            and inner
        ):
            inner[0] = _labelled(inner[0], level, count)
            count += 1
        blocks += inner
    document.continued = count if depth == 1 else document.continued
    return blocks


def _labelled(
    block: units.Block, level: numbering.ListLevel, count: int
) -> units.Block:
    label = (
        "-"
        if level.format == "bullet"
        else level.text.replace("%1", numbering.written(count, level.format))
    )
    return units.Block(f"{label.strip()} {block.text}".strip(), block.kind, block.level)


def _table(document: OdfDocument, element: trees.Element) -> list[units.Block]:
    rows: list[list[str]] = []
    covered: dict[tuple[int, int], str] = {}
    lines = list(_rows(element))
    for at, line in enumerate(lines):
        texts: list[str] = []
        for cell in line:
            name = officeparts.local(cell)
            repeated = min(
                SPANS,
                max(
                    1,
                    numbering.whole(
                        officeparts.attribute(cell, "number-columns-repeated"), 1
                    ),
                ),
            )
            if name == "covered-table-cell":
                texts += [
                    covered.get((at, len(texts) + more), "") for more in range(repeated)
                ]
            elif name == "table-cell":
                text = " ".join(block.text for block in _blocks(document, cell))
                _cover(covered, cell, (at, len(texts)), text)
                texts += [text, *[spacing.spanning(text)] * (repeated - 1)]
        rows.append(texts)
    return spacing.table(
        rows, header=officeparts.child(element, "table-header-rows") is not None
    )


def _cover(
    covered: dict[tuple[int, int], str],
    cell: trees.Element,
    at: tuple[int, int],
    text: str,
) -> None:
    """Remember what the cells say that a merged cell covers."""
    down = min(
        SPANS, numbering.whole(officeparts.attribute(cell, "number-rows-spanned"), 1)
    )
    across = min(
        SPANS, numbering.whole(officeparts.attribute(cell, "number-columns-spanned"), 1)
    )
    if down * across > 1 and len(covered) < COVERED:
        for row in range(down):
            for column in range(across):
                covered[at[0] + row, at[1] + column] = spacing.spanning(text)


def _rows(element: trees.Element) -> Iterator[trees.Element]:
    for one in element:
        name = officeparts.local(one)
        if name == "table-row":
            yield one
        elif name in {"table-header-rows", "table-rows", "table-row-group"}:
            yield from _rows(one)


def _frame(document: OdfDocument, element: trees.Element) -> list[units.Block]:
    """What a frame shows; of a picture its description. An object's stand-in picture is
    left out.
    """
    inner = [
        one for one in element if officeparts.local(one) not in {"image", *SKIPPED}
    ]
    blocks = _blocks(document, inner)
    if not blocks:
        said = [officeparts.child(element, name) for name in ("title", "desc")]
        texts = [
            spacing.clean("".join(one.itertext())) for one in said if one is not None
        ]
        blocks = [units.Block(text) for text in dict.fromkeys(texts) if text]
    return blocks


def _object(document: OdfDocument, element: trees.Element) -> list[units.Block]:
    """An embedded formula or chart."""
    name = officeparts.attribute(element, "href").removeprefix("./").strip("/")
    root = document.package.maybe(f"{name}/content.xml") if name else None
    if root is None:
        return []
    if officeparts.local(root) == "math":
        words = [
            one.text or "" for one in root.iter("{*}mi", "{*}mn", "{*}mo", "{*}mtext")
        ]
        text = spacing.clean(" ".join(words))
        return [units.Block(text)] if text else []
    chart = officeparts.child(root, "body", "chart")
    return [] if chart is None else _blocks(document, chart)


def _slides(
    document: OdfDocument, slides: trees.Element, first: int
) -> Iterator[units.Unit]:
    pages = [one for one in slides if officeparts.local(one) == "page"]
    for number, page in enumerate(pages, start=1):
        if number < first:
            continue
        title: list[units.Block] = []
        blocks: list[units.Block] = []
        for shape in page:
            kind = officeparts.attribute(shape, "class")
            found = _blocks(document, [shape])
            if kind in {"title", "subtitle"} and found:
                text = " ".join(block.text for block in found)
                heading = units.Block(text, "heading", 1 if kind == "title" else 2)
                (title if kind == "title" else blocks).append(heading)
            elif kind not in {"footer", "date-time", "page-number", "header"}:
                blocks += found
        notes = officeparts.child(page, "notes")
        said = _blocks(document, () if notes is None else notes) + document.notes
        document.notes.clear()
        blocks = title + blocks + [units.Block(block.text, "notes") for block in said]
        yield units.Unit(number, len(pages), tuple(blocks), {"slide": number})
