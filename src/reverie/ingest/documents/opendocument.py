"""OpenDocument texts and presentations (.odt, .odp; ODF 1.3): paragraphs, headings,
lists, tables, notes and comments.

All text stands in content.xml; styles.xml adds styles of lists. A paragraph holds its
text with notes, pictures and boxes anchored in it: a note leaves its mark in the text and
goes to the end, boxes follow the paragraph.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest.documents import (
    numbering,
    odflists,
    odfsheets,
    officeparts,
    packed,
    spacing,
    trees,
    units,
)

KIND = "an OpenDocument file"
BREAKS = {"tab": "\t", "line-break": "\n", "s": " "}
# Elements of ODF 1.3 (parts 3.5 to 3.10) that hold no text to be read.
SKIPPED = frozenset(
    [
        "tracked-changes",
        "sequence-decls",
        "forms",
        "variable-decls",
        "user-field-decls",
        "annotation-end",
        "notes",
        "settings",
        "title",
        "desc",
        "event-listeners",
        "glue-point",
        "header-footer",
    ]
)
# What hangs on a paragraph and is read after it.
ANCHORED = frozenset(["frame", "custom-shape", "g", "annotation", "text-box", "rect"])
ROW_GROUPS = frozenset(["table-header-rows", "table-rows", "table-row-group"])
# Placeholders (presentation:class) that say the same on every slide.
FURNITURE = frozenset(["footer", "date-time", "page-number", "header"])
# Rows or columns that a cell covers; set by hand, like the next.
SPANS = 60
# Cells of one table that are filled with the text of another.
COVERED = 20_000


@dataclass(slots=True)
class OdfDocument:
    """What is shared while a document is walked: its parts, how its lists count, and
    notes found on the way.
    """

    package: packed.Package
    lists: Mapping[str, Mapping[int, numbering.ListLevel]]
    notes: units.Blocks = field(default_factory=units.Blocks)
    continued: int = 0


@dataclass(slots=True)
class OdfParagraph:
    """A paragraph's text in pieces, and the blocks that hang on it."""

    pieces: list[str] = field(default_factory=list[str])
    anchored: list[trees.Element] = field(default_factory=list[trees.Element])


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself, then a text as one unit, a presentation slide by slide, a
    spreadsheet by its sheets.
    """
    package = packed.Package(source.data, KIND)
    if _is_encrypted(package):
        raise errors.Locked("it is encrypted")
    if "content.xml" not in package:
        raise errors.Unreadable(f"not {KIND}")
    yield _about(package)
    if odfsheets.is_spreadsheet(package):
        yield from odfsheets.read(package, source.first)
        return
    root = package.tree("content.xml")
    styles = package.maybe("styles.xml")
    document = OdfDocument(package, lists=odflists.read([root, styles]))
    slides = officeparts.child(root, "body", "presentation")
    text = officeparts.child(root, "body", "text")
    if slides is not None:
        yield from _slides(document, slides, source.first)
    elif text is not None and source.first <= 1:
        blocks = _blocks(document, text)
        yield units.whole(blocks + document.notes)
    elif text is None:
        raise errors.Unreadable("neither a text nor slides nor sheets")


def _is_encrypted(package: packed.Package) -> bool:
    """Whether the manifest says how parts are encrypted."""
    name = "META-INF/manifest.xml"
    return name in package and b"encryption-data" in package.read(name)


def _about(package: packed.Package) -> units.About:
    """Title, author and time of creation of meta.xml."""
    root = officeparts.child(package.maybe("meta.xml"), "meta")
    properties: dict[str, str] = {}
    for element in trees.children(root):
        text = spacing.clean(trees.full_text(element))
        properties.setdefault(officeparts.local(element), text)
    author = properties.get("initial-creator") or properties.get("creator", "")
    return units.About(
        title=properties.get("title", ""),
        author=author,
        created=officeparts.iso(properties.get("creation-date", "")),
    )


def _blocks(document: OdfDocument, elements: Iterable[trees.Element]) -> units.Blocks:
    """The blocks of a text, a cell, a shape or a note; what is unknown is what is in it."""
    blocks: units.Blocks = []
    for element in elements:
        name = officeparts.local(element)
        if name not in SKIPPED:
            read_blocks = READERS.get(name, _blocks)
            blocks += read_blocks(document, element)
    return blocks


def _joined(document: OdfDocument, elements: Iterable[trees.Element]) -> str:
    """The texts of blocks as one line."""
    return units.joined(_blocks(document, elements))


def _paragraph(document: OdfDocument, element: trees.Element) -> units.Blocks:
    """A paragraph or heading, then what hangs on it."""
    paragraph = OdfParagraph()
    _collect(document, element, paragraph)
    text = spacing.clean("".join(paragraph.pieces))
    blocks = [_text_block(element, text)] if text else []
    return blocks + _blocks(document, paragraph.anchored)


def _text_block(element: trees.Element, text: str) -> units.Block:
    """A paragraph as a block; h and the style Title are headings."""
    if officeparts.local(element) == "h":
        stated = officeparts.attribute(element, "outline-level")
        level = max(1, numbering.whole(stated, 1))
        return units.heading(text, min(6, level))
    if officeparts.attribute(element, "style-name") == "Title":
        return units.heading(text, 1)
    return units.Block(text)


def _collect(
    document: OdfDocument, element: trees.Element, paragraph: OdfParagraph
) -> None:
    """The text of a paragraph; a note leaves its mark and goes to the end, a picture or
    box follows the paragraph.
    """
    paragraph.pieces.append(element.text or "")
    for child in element:
        name = officeparts.local(child)
        if name in BREAKS:
            paragraph.pieces.append(BREAKS[name])
        elif name == "note":
            _note(document, child, paragraph)
        elif name in ANCHORED:
            paragraph.anchored.append(child)
        elif name not in SKIPPED and name != "ruby-text":
            _collect(document, child, paragraph)
        paragraph.pieces.append(child.tail or "")


def _note(
    document: OdfDocument, element: trees.Element, paragraph: OdfParagraph
) -> None:
    """A footnote or endnote."""
    citation = officeparts.child(element, "note-citation")
    label = spacing.clean(trees.full_text(citation))
    body = officeparts.child(element, "note-body")
    text = _joined(document, trees.children(body))
    paragraph.pieces.append(f" [{label}]")
    if text:
        document.notes.append(units.Block(f"[{label}] {text}"))


def _comment(document: OdfDocument, element: trees.Element) -> units.Blocks:
    """A comment goes to the notes, with who wrote it when; nothing stays in its place."""
    creator = officeparts.child(element, "creator")
    date = officeparts.child(element, "date")
    names = [spacing.clean(trees.full_text(part)) for part in (creator, date)]
    label = ", ".join(filter(None, names))
    inside = [part for part in element if part not in (creator, date)]
    if text := _joined(document, inside):
        document.notes.append(units.Block(f"[Comment {label}] {text}"))
    return []


def _outer_list(document: OdfDocument, element: trees.Element) -> units.Blocks:
    """A list that is in no other list."""
    return _list(document, element, "", 1)


def _list(
    document: OdfDocument, element: trees.Element, style: str, depth: int
) -> units.Blocks:
    """The items of a list with their labels; `style` is inherited, `depth` counts from
    1.
    """
    style = officeparts.attribute(element, "style-name") or style
    levels = document.lists.get(style, {})
    level = levels.get(depth, numbering.ListLevel("none", ""))
    count = level.start
    continues = officeparts.attribute(element, "continue-numbering") == "true"
    if depth == 1 and continues:
        count = document.continued
    blocks: units.Blocks = []
    for item in element:
        if stated := officeparts.attribute(item, "start-value"):
            count = numbering.whole(stated, 1)
        inside = _list_item(document, item, style, depth)
        if inside and _is_counted(item):
            inside[0] = odflists.labelled(inside[0], level, count)
            count += 1
        blocks += inside
    if depth == 1:
        document.continued = count
    return blocks


def _list_item(
    document: OdfDocument, item: trees.Element, style: str, depth: int
) -> units.Blocks:
    """The blocks of an item, those of lists inside it too."""
    blocks: units.Blocks = []
    for element in item:
        if officeparts.local(element) == "list":
            blocks += _list(document, element, style, depth + 1)
        else:
            blocks += _blocks(document, [element])
    return blocks


def _is_counted(item: trees.Element) -> bool:
    """Whether an item has a number: one with a paragraph of its own, no list header."""
    if officeparts.local(item) != "list-item":
        return False
    return officeparts.child(item, "p") is not None


def _table(document: OdfDocument, element: trees.Element) -> units.Blocks:
    """A table row by row, with what merged cells cover."""
    rows: list[list[str]] = []
    covered: dict[tuple[int, int], str] = {}
    # All rows first: those of a table inside a cell are its own.
    for number, row in enumerate(list(_rows(element))):
        texts: list[str] = []
        for cell in row:
            _cell(document, cell, (number, texts), covered)
        rows.append(texts)
    headed = officeparts.child(element, "table-header-rows") is not None
    return spacing.table(rows, header=headed)


def _cell(
    document: OdfDocument,
    cell: trees.Element,
    row: tuple[int, list[str]],
    covered: dict[tuple[int, int], str],
) -> None:
    """Add a cell and its copies to its row, which is its number and its texts so far."""
    number, texts = row
    stated = officeparts.attribute(cell, "number-columns-repeated")
    repeated = min(SPANS, max(1, numbering.whole(stated, 1)))
    column = len(texts)
    name = officeparts.local(cell)
    if name == "covered-table-cell":
        columns = range(column, column + repeated)
        texts += [covered.get((number, at), "") for at in columns]
    elif name == "table-cell":
        text = _joined(document, cell)
        _cover(covered, cell, (number, column), text)
        texts.append(text)
        texts += [spacing.spanning(text)] * (repeated - 1)


def _cover(
    covered: dict[tuple[int, int], str],
    cell: trees.Element,
    corner: tuple[int, int],
    text: str,
) -> None:
    """Remember what the cells say that a merged cell covers; `corner` is its row and
    column.
    """
    down = _span(cell, "number-rows-spanned")
    across = _span(cell, "number-columns-spanned")
    if down * across <= 1 or len(covered) >= COVERED:
        return
    top, left = corner
    for row in range(top, top + down):
        for column in range(left, left + across):
            covered[row, column] = spacing.spanning(text)


def _span(cell: trees.Element, name: str) -> int:
    """How many rows or columns a cell covers."""
    return min(SPANS, numbering.whole(officeparts.attribute(cell, name), 1))


def _rows(element: trees.Element) -> Iterator[trees.Element]:
    """The rows of a table, also those in groups."""
    for child in element:
        name = officeparts.local(child)
        if name == "table-row":
            yield child
        elif name in ROW_GROUPS:
            yield from _rows(child)


def _frame(document: OdfDocument, element: trees.Element) -> units.Blocks:
    """What a frame shows; of a picture its description. An object's stand-in picture is
    left out.
    """
    shown = [part for part in element if officeparts.local(part) != "image"]
    blocks = _blocks(document, shown)
    return blocks or _description(element)


def _description(element: trees.Element) -> units.Blocks:
    """The title and the description of a frame, once if they are the same."""
    parts = [officeparts.child(element, name) for name in ("title", "desc")]
    texts = [spacing.clean(trees.full_text(part)) for part in parts]
    different_texts = dict.fromkeys(filter(None, texts))
    return [units.Block(text) for text in different_texts]


def _object(document: OdfDocument, element: trees.Element) -> units.Blocks:
    """An embedded formula (MathML) or chart."""
    reference = officeparts.attribute(element, "href")
    name = reference.removeprefix("./").strip("/")
    root = document.package.maybe(f"{name}/content.xml") if name else None
    if root is None:
        return []
    if officeparts.local(root) == "math":
        return _formula(root)
    chart = officeparts.child(root, "body", "chart")
    if chart is None:
        return []
    return _blocks(document, chart)


def _formula(root: trees.Element) -> units.Blocks:
    """The signs of a formula in their order."""
    tokens = root.iter("{*}mi", "{*}mn", "{*}mo", "{*}mtext")
    text = spacing.clean(" ".join(token.text or "" for token in tokens))
    return [units.Block(text)] if text else []


# The elements of which blocks are made in a way of their own.
READERS: Mapping[str, Callable[[OdfDocument, trees.Element], units.Blocks]] = {
    "p": _paragraph,
    "h": _paragraph,
    "list": _outer_list,
    "table": _table,
    "object": _object,
    "annotation": _comment,
    "frame": _frame,
}


def _slides(
    document: OdfDocument, slides: trees.Element, first: int
) -> Iterator[units.Unit]:
    """The slides from the first one asked for on."""
    pages = [page for page in slides if officeparts.local(page) == "page"]
    for number, page in enumerate(pages, start=1):
        if number < first:
            continue
        blocks = tuple(_slide(document, page))
        yield units.Unit(number, len(pages), blocks, {"slide": number})


def _slide(document: OdfDocument, page: trees.Element) -> units.Blocks:
    """The blocks of a slide: its title, its texts, its notes and comments."""
    titles: units.Blocks = []
    texts: units.Blocks = []
    for shape in page:
        kind = officeparts.attribute(shape, "class")
        blocks = _blocks(document, [shape])
        title = units.joined(blocks)
        if kind == "title" and blocks:
            titles.append(units.heading(title, 1))
        elif kind == "subtitle" and blocks:
            texts.append(units.heading(title, 2))
        elif kind not in FURNITURE:
            texts += blocks
    page_of_notes = officeparts.child(page, "notes")
    notes = _blocks(document, trees.children(page_of_notes))
    notes += document.notes
    document.notes.clear()
    note_blocks = [units.Block(note.text, "notes") for note in notes]
    return titles + texts + note_blocks
