"""Word documents (.docx, .docm, .dotx): the text in reading order with headings, lists,
tables, notes and comments.
"""

from collections.abc import Iterable, Iterator, Mapping
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
LEFT_OUT = frozenset(
    ["del", "moveFrom", "delText", "instrText", "delInstrText", "rPr", "pPr", "sdtPr", "tblPr", "trPr", "tcPr",
     "sectPr", "fldData", "Fallback"]
)  # fmt: skip
WRAPPERS = frozenset(
    ["sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "body", "Choice"]
)
BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
NOTES = (("footnotes", "footnote"), ("endnotes", "endnote"))


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
    relations: Mapping[str, officeparts.PartRelation]
    styles: Mapping[str, ParagraphStyle]
    lists: numbering.Lists


@dataclass(slots=True)
class DocxParagraph:
    """A paragraph's text in pieces, and what hangs on it: text boxes, charts, diagrams."""

    pieces: list[str] = field(default_factory=list[str])
    boxes: list[trees.Element] = field(default_factory=list[trees.Element])
    drawn: list[units.Block] = field(default_factory=list[units.Block])


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself, then one unit: headers, the body, footnotes, endnotes,
    comments and footers.
    """
    package = packed.Package(given.data, KIND)
    part = officeparts.main(package, "word/document.xml")
    root = package.tree(part)
    if officeparts.local(root) != "document":
        raise errors.Unreadable(f"not {KIND}")
    yield officeparts.about(package)
    if given.first > 1:
        return
    relations = officeparts.relations(package, part)
    document = DocxDocument(
        package,
        relations,
        _styles(_named(package, relations, "styles")),
        numbering.read(_named(package, relations, "numbering")),
    )
    body = officeparts.child(root, "body")
    blocks = _edges(document, "header")
    blocks += _blocks(document, () if body is None else body)
    for kind, note in NOTES:
        blocks += _notes(document, kind, note)
    blocks += _comments(document)
    blocks += _edges(document, "footer")
    yield units.Unit(1, 1, tuple(blocks))


def _named(
    package: packed.Package,
    relations: Mapping[str, officeparts.PartRelation],
    kind: str,
) -> trees.Element | None:
    parts = officeparts.of_kind(relations, kind, package)
    return package.maybe(parts[0]) if parts else None


def _styles(root: trees.Element | None) -> dict[str, ParagraphStyle]:
    found: dict[str, ParagraphStyle] = {}
    for one in () if root is None else root.iterchildren("{*}style"):
        name = officeparts.value(one, "name").lower()
        level = 1 if name == "title" else 0
        if name.startswith("heading ") and name[8:].isdecimal():
            level = min(6, numbering.whole(name[8:], 1))
        outline = officeparts.value(one, "pPr", "outlineLvl")
        if not level and outline:
            level = _outline(outline)
        depth = officeparts.value(one, "pPr", "numPr", "ilvl")
        found[officeparts.attribute(one, "styleId")] = ParagraphStyle(
            level,
            officeparts.value(one, "pPr", "numPr", "numId"),
            numbering.whole(depth) if depth else -1,
            officeparts.value(one, "basedOn"),
        )
    return {name: _resolved(found, name) for name in found}


def _resolved(styles: Mapping[str, ParagraphStyle], name: str) -> ParagraphStyle:
    """A style with what it takes over from those it builds on."""
    out, seen, at = ParagraphStyle(), set[str](), name
    while at in styles and at not in seen:
        seen.add(at)
        one = styles[at]
        depth = out.depth if out.depth >= 0 else one.depth
        out = ParagraphStyle(
            out.level or one.level, out.list or one.list, depth, one.base
        )
        at = one.base
    return out


def _outline(value: str) -> int:
    level = numbering.whole(value, 9)
    return level + 1 if level < 6 else 0


def _blocks(
    document: DocxDocument, elements: Iterable[trees.Element]
) -> list[units.Block]:
    """The blocks of a body, a cell, a text box or a note."""
    blocks: list[units.Block] = []
    for element in elements:
        name = officeparts.local(element)
        if name == "p":
            blocks += _paragraph(document, element)
        elif name == "tbl":
            blocks += _table(document, element)
        elif name in WRAPPERS or name == "AlternateContent":
            blocks += _blocks(document, element)
    return blocks


def _paragraph(document: DocxDocument, element: trees.Element) -> list[units.Block]:
    found = DocxParagraph()
    _collect(document, element, found)
    properties = officeparts.child(element, "pPr")
    style = document.styles.get(
        officeparts.value(properties, "pStyle"), ParagraphStyle()
    )
    outline = officeparts.value(properties, "outlineLvl")
    level = _outline(outline) if outline else style.level
    text = spacing.clean("".join(found.pieces))
    blocks: list[units.Block] = []
    if text:
        label = _label(document, properties, style)
        text = f"{label} {text}" if label else text
        blocks.append(
            units.Block(text, "heading", level) if level else units.Block(text)
        )
    for box in found.boxes:
        blocks += _blocks(document, box)
    return blocks + found.drawn


def _label(
    document: DocxDocument, properties: trees.Element | None, style: ParagraphStyle
) -> str:
    own = officeparts.child(properties, "numPr")
    number = officeparts.value(own, "numId") or style.list
    depth = officeparts.value(own, "ilvl")
    if not number or number == "0":
        return ""
    at = numbering.whole(depth) if depth else max(0, style.depth)
    return document.lists.label(number, min(numbering.LEVELS - 1, at))


def _collect(
    document: DocxDocument, element: trees.Element, found: DocxParagraph
) -> None:
    """The text of a paragraph's runs; what was deleted with tracked changes is left
    out.
    """
    for one in element:
        name = officeparts.local(one)
        if name in LEFT_OUT:
            continue
        if name == "t":
            found.pieces.append(one.text or "")
        elif name in BREAKS:
            found.pieces.append(BREAKS[name])
        elif name == "oMath":
            found.pieces.append(f" {equations.latex(one)} ")
        elif name == "txbxContent":
            found.boxes.append(one)
        elif name in {"chart", "relIds"}:
            found.drawn += _drawn(document, one, name)
        elif name == "AlternateContent":
            _collect(document, _alternative(one), found)
        elif name == "sdt":
            _control(document, one, found)
        else:
            _collect(document, one, found)


def _alternative(element: trees.Element) -> trees.Element:
    """Of the forms in which a drawing is given the first; the older one when the first
    shows nothing we read.
    """
    choice, fallback = (
        officeparts.child(element, "Choice"),
        officeparts.child(element, "Fallback"),
    )
    if choice is None:
        return element if fallback is None else fallback
    if (
        fallback is not None
        and next(choice.iter("{*}t", "{*}chart", "{*}relIds"), None) is None
    ):
        return fallback
    return choice


def _control(
    document: DocxDocument, element: trees.Element, found: DocxParagraph
) -> None:
    """A content control; a check box is [x] or [ ]."""
    box = officeparts.child(element, "sdtPr", "checkbox")
    if box is None:
        content = officeparts.child(element, "sdtContent")
        if content is not None:
            _collect(document, content, found)
        return
    found.pieces.append(
        "[x]" if officeparts.value(box, "checked") in {"1", "true", "on"} else "[ ]"
    )


def _drawn(
    document: DocxDocument, element: trees.Element, name: str
) -> list[units.Block]:
    relation = document.relations.get(
        officeparts.reference(element, "id" if name == "chart" else "dm")
    )
    if relation is None or relation.external:
        return []
    read_part = officeparts.chart if name == "chart" else officeparts.diagram
    return read_part(document.package, relation.target)


def _table(document: DocxDocument, element: trees.Element) -> list[units.Block]:
    """A table row by row. One of a single cell is a frame around text."""
    lines = [
        list(_inner(line, "tc"))
        for line in _inner(element, "tr")
        if officeparts.child(line, "trPr", "del") is None
    ]
    if sum(map(len, lines)) == 1:
        return _blocks(document, next(line[0] for line in lines if line))
    rows: list[list[str]] = []
    above: dict[int, str] = {}
    for line in lines:
        texts: list[str] = []
        for cell in line:
            _cell(document, cell, texts, above)
        rows.append(
            texts if len(line) > 1 else texts[:1]
        )  # one across the whole table says it once
    first = next(_inner(element, "tr"), None)
    look = officeparts.child(element, "tblPr", "tblLook")
    header = officeparts.child(first, "trPr", "tblHeader") is not None or (
        look is not None and _first_row(look)
    )
    return spacing.table(rows, header=header)


def _cell(
    document: DocxDocument, cell: trees.Element, texts: list[str], above: dict[int, str]
) -> None:
    """Add one cell to its row, and what stands in the further columns it covers."""
    properties = officeparts.child(cell, "tcPr")
    wide = max(1, numbering.whole(officeparts.value(properties, "gridSpan"), 1, 60))
    merged = officeparts.child(properties, "vMerge")
    at = len(texts)
    if merged is not None and officeparts.attribute(merged, "val") != "restart":
        text = above.get(at, "")
    else:
        text = " ".join(block.text for block in _blocks(document, cell))
        above[at] = spacing.spanning(text)
    texts += [text, *[spacing.spanning(text)] * (wide - 1)]


def _first_row(look: trees.Element) -> bool:
    value = officeparts.attribute(look, "firstRow")
    if value:
        return value in {"1", "true", "on"}
    mask = officeparts.attribute(look, "val")
    return bool(mask) and bool(int(mask, 16) & 0x20)


def _inner(element: trees.Element, name: str) -> Iterator[trees.Element]:
    """The rows of a table or the cells of a row, also those inside content controls and
    insertions.
    """
    for one in element:
        found = officeparts.local(one)
        if found == name:
            yield one
        elif found in WRAPPERS:
            yield from _inner(one, name)


def _notes(document: DocxDocument, kind: str, note: str) -> list[units.Block]:
    root = _named(document.package, document.relations, kind)
    blocks: list[units.Block] = []
    for one in () if root is None else root.iterchildren(f"{{*}}{note}"):
        if officeparts.attribute(one, "type") in {"", "normal"}:
            text = " ".join(block.text for block in _blocks(document, one))
            if text:
                blocks.append(
                    units.Block(f"[{officeparts.attribute(one, 'id')}] {text}")
                )
    return blocks


def _comments(document: DocxDocument) -> list[units.Block]:
    root = _named(document.package, document.relations, "comments")
    blocks: list[units.Block] = []
    for one in () if root is None else root.iterchildren("{*}comment"):
        text = " ".join(block.text for block in _blocks(document, one))
        author = spacing.clean(officeparts.attribute(one, "author"))
        if text:
            blocks.append(
                units.Block(
                    f"[Comment by {author}] {text}" if author else f"[Comment] {text}"
                )
            )
    return blocks


def _edges(document: DocxDocument, kind: str) -> list[units.Block]:
    """The headers or footers of all sections and kinds of pages, each text once."""
    found: dict[str, units.Block] = {}
    for part in officeparts.of_kind(document.relations, kind, document.package):
        root = document.package.maybe(part)
        for block in () if root is None else _blocks(document, root):
            found.setdefault(block.text, units.Block(block.text))
    return list(found.values())
