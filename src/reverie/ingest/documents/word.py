"""Word documents (.docx; WordprocessingML, ECMA-376) as text in reading order, with
headings, lists, tables, notes and comments.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest.documents import (
    equations,
    numbering,
    officeparts,
    packed,
    spacing,
    trees,
    units,
)

KIND = "a Word document"
# Elements of WordprocessingML (ECMA-376 part 1, 17) that hold no text to be read: what
# was deleted or moved away, instructions of fields, properties.
LEFT_OUT = frozenset(
    [
        "del",
        "moveFrom",
        "delText",
        "instrText",
        "delInstrText",
        "rPr",
        "pPr",
        "sdtPr",
        "tblPr",
        "trPr",
        "tcPr",
        "sectPr",
        "fldData",
        "Fallback",
    ]
)
# Elements around blocks, rows or cells that add nothing themselves.
WRAPPERS = frozenset(
    ["sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "body", "Choice"]
)
# Elements of a run that stand for one character.
BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
NOTES = {"footnotes": "footnote", "endnotes": "endnote"}
# The bit of w:tblLook's mask that says that the first row is a header.
FIRST_ROW = 0x20


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What a paragraph's style decides for us: the heading level (0: none), the list it
    is in, what it builds on.
    """

    level: int = 0
    list: str = ""
    depth: int = -1
    base: str = ""


@dataclass(slots=True)
class DocxDocument:
    """What the parts of one document share while it is walked."""

    package: packed.Package
    relations: officeparts.Relations
    styles: Mapping[str, ParagraphStyle]
    lists: numbering.Lists


@dataclass(slots=True)
class DocxParagraph:
    """A paragraph's text in pieces, and what hangs on it: text boxes, charts, diagrams."""

    pieces: list[str] = field(default_factory=list[str])
    boxes: list[trees.Element] = field(default_factory=list[trees.Element])
    drawn: units.Blocks = field(default_factory=units.Blocks)


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself, then one unit: headers, the body, footnotes, endnotes,
    comments and footers.
    """
    package = packed.Package(source.data, KIND)
    part = officeparts.main(package, "word/document.xml")
    root = package.tree(part)
    if officeparts.local(root) != "document":
        raise errors.Unreadable(f"not {KIND}")
    yield officeparts.about(package)
    if source.first > 1:
        return
    relations = officeparts.relations(package, part)
    document = DocxDocument(
        package,
        relations,
        _styles(officeparts.first_of_kind(relations, "styles", package)),
        numbering.read(officeparts.first_of_kind(relations, "numbering", package)),
    )
    blocks = _edges(document, "header")
    blocks += _blocks(document, trees.children(officeparts.child(root, "body")))
    for kind, note in NOTES.items():
        blocks += _notes(document, kind, note)
    blocks += _comments(document)
    blocks += _edges(document, "footer")
    yield units.whole(blocks)


def _styles(root: trees.Element | None) -> dict[str, ParagraphStyle]:
    """The paragraph styles by id, each with what it inherits."""
    styles: dict[str, ParagraphStyle] = {}
    for element in trees.children(root, "{*}style"):
        styles[officeparts.attribute(element, "styleId")] = _style(element)
    return {name: _resolved(styles, name) for name in styles}


def _style(element: trees.Element) -> ParagraphStyle:
    """A style by itself, without what it inherits."""
    depth = officeparts.value(element, "pPr", "numPr", "ilvl")
    return ParagraphStyle(
        _style_level(element),
        officeparts.value(element, "pPr", "numPr", "numId"),
        numbering.whole(depth) if depth else -1,
        officeparts.value(element, "basedOn"),
    )


def _style_level(element: trees.Element) -> int:
    """The heading level of a style by its built-in name, else by its outline level."""
    name = officeparts.value(element, "name").lower()
    if name == "title":
        return 1
    if name.startswith("heading ") and name[8:].isdecimal():
        level = min(6, numbering.whole(name[8:], 1))
        if level:
            return level
    outline = officeparts.value(element, "pPr", "outlineLvl")
    return _outline(outline) if outline else 0


def _resolved(styles: Mapping[str, ParagraphStyle], name: str) -> ParagraphStyle:
    """A style with what it takes over from those it builds on."""
    resolved = ParagraphStyle()
    seen: set[str] = set()
    while name in styles and name not in seen:
        seen.add(name)
        base = styles[name]
        resolved = ParagraphStyle(
            resolved.level or base.level,
            resolved.list or base.list,
            resolved.depth if resolved.depth >= 0 else base.depth,
            base.base,
        )
        name = base.base
    return resolved


def _outline(value: str) -> int:
    """The heading level of an outline level (0 to 8, 9 is body text); 0 for none."""
    level = numbering.whole(value, 9)
    return level + 1 if level < 6 else 0


def _blocks(document: DocxDocument, elements: Iterable[trees.Element]) -> units.Blocks:
    """The blocks of a body, a cell, a text box or a note."""
    blocks: units.Blocks = []
    for element in elements:
        name = officeparts.local(element)
        if name == "p":
            blocks += _paragraph(document, element)
        elif name == "tbl":
            blocks += _table(document, element)
        elif name in WRAPPERS or name == "AlternateContent":
            blocks += _blocks(document, element)
    return blocks


def _joined(document: DocxDocument, elements: Iterable[trees.Element]) -> str:
    """The texts of blocks as one line: of a cell, a note, a comment."""
    return units.joined(_blocks(document, elements))


def _paragraph(document: DocxDocument, element: trees.Element) -> units.Blocks:
    """A paragraph with its list label, then the text boxes and drawings anchored in it."""
    paragraph = DocxParagraph()
    _collect(document, element, paragraph)
    text = spacing.clean("".join(paragraph.pieces))
    blocks = [_text_block(document, element, text)] if text else []
    for box in paragraph.boxes:
        blocks += _blocks(document, box)
    return blocks + paragraph.drawn


def _text_block(
    document: DocxDocument, element: trees.Element, text: str
) -> units.Block:
    """The text of a paragraph as a block, with its level and label."""
    properties = officeparts.child(element, "pPr")
    style_id = officeparts.value(properties, "pStyle")
    style = document.styles.get(style_id, ParagraphStyle())
    outline = officeparts.value(properties, "outlineLvl")
    level = _outline(outline) if outline else style.level
    label = _label(document, properties, style)
    if label:
        text = f"{label} {text}"
    return units.paragraph(text, level)


def _label(
    document: DocxDocument, properties: trees.Element | None, style: ParagraphStyle
) -> str:
    """What stands before a paragraph that is an item of a list, "" for any other."""
    own = officeparts.child(properties, "numPr")
    number = officeparts.value(own, "numId") or style.list
    # 0 takes a paragraph out of the list of its style (w:numId).
    if number in {"", "0"}:
        return ""
    stated = officeparts.value(own, "ilvl")
    depth = numbering.whole(stated) if stated else max(0, style.depth)
    return document.lists.label(number, min(numbering.LEVELS - 1, depth))


def _collect(
    document: DocxDocument, element: trees.Element, paragraph: DocxParagraph
) -> None:
    """The text of a paragraph's runs; what was deleted with tracked changes is left
    out.
    """
    for child in element:
        name = officeparts.local(child)
        if name in LEFT_OUT:
            continue
        if name == "t":
            paragraph.pieces.append(child.text or "")
        elif name in BREAKS:
            paragraph.pieces.append(BREAKS[name])
        else:
            collect = COLLECTORS.get(name, _collect)
            collect(document, child, paragraph)


def _equation(
    _document: DocxDocument, element: trees.Element, paragraph: DocxParagraph
) -> None:
    """m:oMath, as LaTeX."""
    paragraph.pieces.append(f" {equations.latex(element)} ")


def _box(
    _document: DocxDocument, element: trees.Element, paragraph: DocxParagraph
) -> None:
    """A text box, which is read after the paragraph."""
    paragraph.boxes.append(element)


def _chart(
    document: DocxDocument, element: trees.Element, paragraph: DocxParagraph
) -> None:
    """A chart, whose table follows the paragraph."""
    relation_id = officeparts.reference(element, "id")
    paragraph.drawn += _drawn(document, relation_id, officeparts.chart)


def _diagram(
    document: DocxDocument, element: trees.Element, paragraph: DocxParagraph
) -> None:
    """A SmartArt diagram, whose texts follow the paragraph."""
    relation_id = officeparts.reference(element, "dm")
    paragraph.drawn += _drawn(document, relation_id, officeparts.diagram)


def _alternatives(
    document: DocxDocument, element: trees.Element, paragraph: DocxParagraph
) -> None:
    """mc:AlternateContent: one of the forms that are given."""
    _collect(document, _alternative(element), paragraph)


def _alternative(element: trees.Element) -> trees.Element:
    """Of the forms in which a drawing is given the first; the older one when the first
    shows nothing we read.
    """
    choice = officeparts.child(element, "Choice")
    fallback = officeparts.child(element, "Fallback")
    if choice is None:
        return element if fallback is None else fallback
    shown = next(choice.iter("{*}t", "{*}chart", "{*}relIds"), None)
    if shown is None and fallback is not None:
        return fallback
    return choice


def _control(
    document: DocxDocument, element: trees.Element, paragraph: DocxParagraph
) -> None:
    """A content control; a check box is [x] or [ ]."""
    box = officeparts.child(element, "sdtPr", "checkbox")
    if box is not None:
        checked = officeparts.is_true(officeparts.value(box, "checked"))
        paragraph.pieces.append("[x]" if checked else "[ ]")
        return
    content = officeparts.child(element, "sdtContent")
    if content is not None:
        _collect(document, content, paragraph)


def _drawn(
    document: DocxDocument,
    relation_id: str,
    read_part: Callable[[packed.Package, str], units.Blocks],
) -> units.Blocks:
    """A chart or diagram that is a part of its own."""
    relation = document.relations.get(relation_id)
    if relation is None or relation.external:
        return []
    return read_part(document.package, relation.target)


# The elements of a run that are more than text.
COLLECTORS: Mapping[
    str, Callable[[DocxDocument, trees.Element, DocxParagraph], None]
] = {
    "oMath": _equation,
    "txbxContent": _box,
    "chart": _chart,
    "relIds": _diagram,
    "AlternateContent": _alternatives,
    "sdt": _control,
}


def _table(document: DocxDocument, element: trees.Element) -> units.Blocks:
    """A table row by row. One of a single cell is a frame around text."""
    rows = _table_cells(element)
    cells = [cell for row in rows for cell in row]
    if len(cells) == 1:
        return _blocks(document, cells[0])
    texts: list[list[str]] = []
    above: dict[int, str] = {}
    for row in rows:
        row_texts: list[str] = []
        for cell in row:
            _cell(document, cell, row_texts, above)
        # A cell across the whole table says its text once.
        texts.append(row_texts if len(row) > 1 else row_texts[:1])
    return spacing.table(texts, header=_has_header(element))


def _table_cells(element: trees.Element) -> list[list[trees.Element]]:
    """The cells of each row that was not deleted with tracked changes."""
    return [
        list(_inner(row, "tc"))
        for row in _inner(element, "tr")
        if officeparts.child(row, "trPr", "del") is None
    ]


def _has_header(element: trees.Element) -> bool:
    """Whether the first row repeats on each page, or looks like a header."""
    first = next(_inner(element, "tr"), None)
    if officeparts.child(first, "trPr", "tblHeader") is not None:
        return True
    look = officeparts.child(element, "tblPr", "tblLook")
    return look is not None and _first_row(look)


def _cell(
    document: DocxDocument, cell: trees.Element, texts: list[str], above: dict[int, str]
) -> None:
    """Add one cell to its row, and what stands in the further columns it covers."""
    properties = officeparts.child(cell, "tcPr")
    span = officeparts.value(properties, "gridSpan")
    columns = max(1, numbering.whole(span, 1, 60))
    merged = officeparts.child(properties, "vMerge")
    column = len(texts)
    if merged is not None and officeparts.attribute(merged, "val") != "restart":
        text = above.get(column, "")
    else:
        text = _joined(document, cell)
        above[column] = spacing.spanning(text)
    texts.append(text)
    texts += [spacing.spanning(text)] * (columns - 1)


def _first_row(look: trees.Element) -> bool:
    """Whether a table sets off its first row."""
    stated = officeparts.attribute(look, "firstRow")
    if stated:
        return officeparts.is_true(stated)
    mask = officeparts.attribute(look, "val")
    return bool(mask) and bool(int(mask, 16) & FIRST_ROW)


def _inner(element: trees.Element, name: str) -> Iterator[trees.Element]:
    """The rows of a table or the cells of a row, also those inside content controls and
    insertions.
    """
    for child in element:
        child_name = officeparts.local(child)
        if child_name == name:
            yield child
        elif child_name in WRAPPERS:
            yield from _inner(child, name)


def _notes(document: DocxDocument, kind: str, note: str) -> units.Blocks:
    """Footnotes or endnotes with their ids; separators are of another type."""
    root = officeparts.first_of_kind(document.relations, kind, document.package)
    blocks: units.Blocks = []
    for element in trees.children(root, f"{{*}}{note}"):
        if officeparts.attribute(element, "type") not in {"", "normal"}:
            continue
        if text := _joined(document, element):
            mark = officeparts.attribute(element, "id")
            blocks.append(units.Block(f"[{mark}] {text}"))
    return blocks


def _comments(document: DocxDocument) -> units.Blocks:
    """The comments with who wrote them."""
    root = officeparts.first_of_kind(document.relations, "comments", document.package)
    blocks: units.Blocks = []
    for element in trees.children(root, "{*}comment"):
        text = _joined(document, element)
        author = spacing.clean(officeparts.attribute(element, "author"))
        label = f"[Comment by {author}]" if author else "[Comment]"
        if text:
            blocks.append(units.Block(f"{label} {text}"))
    return blocks


def _edges(document: DocxDocument, kind: str) -> units.Blocks:
    """The headers or footers of all sections and kinds of pages, each text once."""
    texts: dict[str, None] = {}
    for part in officeparts.of_kind(document.relations, kind, document.package):
        root = document.package.maybe(part)
        for block in _blocks(document, trees.children(root)):
            texts.setdefault(block.text)
    return [units.Block(text) for text in texts]
