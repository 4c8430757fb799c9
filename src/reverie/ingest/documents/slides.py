"""PowerPoint presentations (.pptx; PresentationML, ECMA-376), a unit a slide: title,
texts, tables, charts, comments, notes.

The presentation lists its slides. Each has a tree of shapes, read from the top down and
side by side from the left; placeholders that a slide leaves in their place stand where
its layout puts them. Notes and comments are parts of their own.
"""

import re
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

KIND = "a PowerPoint presentation"
# Kinds of placeholders (ST_PlaceholderType, ECMA-376 part 1, 19.7.10).
TITLES = frozenset(["title", "ctrTitle"])
# Says the same on every slide.
FURNITURE = frozenset(["dt", "ftr", "sldNum", "hdr", "sldImg"])
# Shapes and parts of a group that hold no text of their own.
WORDLESS = frozenset(["nvGrpSpPr", "grpSpPr", "pic", "cxnSp"])
# How ST_TextAutonumberScheme begins, and the format of a list that it is.
NUMBERS = {
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
# A quarter of an inch in EMU, set by hand: shapes whose tops fall into one such band
# stand side by side.
SAME_LINE = 914_400 // 4
COORDINATE = re.compile(r"-?\d{1,12}")

Corner = tuple[int, int]
"""The top left corner of a shape in EMU: y, then x."""


@dataclass(frozen=True, slots=True)
class Slide:
    """A slide while it is walked."""

    package: packed.Package
    relations: officeparts.Relations
    title: units.Blocks = field(default_factory=units.Blocks)
    blocks: units.Blocks = field(default_factory=units.Blocks)


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What it says of itself, then the slides in the order in which they are shown;
    hidden ones too.
    """
    package = packed.Package(source.data, KIND)
    part = officeparts.main(package, "ppt/presentation.xml")
    root = package.tree(part)
    if officeparts.local(root) != "presentation":
        raise errors.Unreadable(f"not {KIND}")
    yield officeparts.about(package)
    relations = officeparts.relations(package, part)
    authors = _authors(package, relations)
    slides = _listed(root, relations)
    for number, name in enumerate(slides, start=1):
        if number < source.first:
            continue
        blocks, remark = _slide(package, name, authors)
        yield units.Unit(number, len(slides), tuple(blocks), {"slide": number}, remark)


def _listed(root: trees.Element, relations: officeparts.Relations) -> list[str]:
    """The parts that the list of slides refers to."""
    slides: list[str] = []
    for element in trees.children(officeparts.child(root, "sldIdLst")):
        relation = relations.get(officeparts.reference(element, "id"))
        if relation is not None and not relation.external:
            slides.append(relation.target)
    return slides


def _slide(
    package: packed.Package, name: str, authors: Mapping[str, str]
) -> tuple[units.Blocks, str]:
    """The blocks of a slide, and a remark when it cannot be read."""
    root = package.maybe(name)
    if root is None:
        return [], "the slide is damaged"
    tree = officeparts.child(root, "cSld", "spTree")
    relations = officeparts.relations(package, name)
    slide = Slide(package, relations)
    if tree is not None:
        corners = _layout(package, relations)
        _shapes(slide, _in_order(tree, corners))
    blocks = slide.title + slide.blocks
    for part in officeparts.of_kind(relations, "comments", package):
        blocks += _comments(package, part, authors)
    for part in officeparts.of_kind(relations, "notesSlide", package):
        blocks += _notes(package, part)
    return blocks, ""


def _layout(
    package: packed.Package, relations: officeparts.Relations
) -> dict[str, Corner]:
    """Where the layout puts the placeholders that a slide leaves in their place, by
    index and by kind.
    """
    root = officeparts.first_of_kind(relations, "slideLayout", package)
    corners: dict[str, Corner] = {}
    for shape in trees.descendants(root, "{*}sp"):
        placeholder = _placeholder(shape)
        corner = _offset(shape)
        if placeholder is not None and corner is not None:
            corners.setdefault(_index_key(placeholder), corner)
            corners.setdefault(_kind(placeholder), corner)
    return corners


def _in_order(
    tree: trees.Element, corners: Mapping[str, Corner]
) -> list[trees.Element]:
    """Shapes in reading order: from the top down, side by side from the left; one that
    stands nowhere follows the one before it.
    """
    placed: list[tuple[Corner, trees.Element]] = []
    last = (0, 0)
    for shape in tree:
        last = _corner(shape, corners) or last
        placed.append((last, shape))
    placed.sort(key=lambda pair: pair[0])
    return [shape for _, shape in placed]


def _corner(shape: trees.Element, corners: Mapping[str, Corner]) -> Corner | None:
    """The band that a shape's top is in, and its left edge; as the layout says where the
    slide does not.
    """
    corner = _offset(shape)
    if corner is None:
        placeholder = _placeholder(shape)
        if placeholder is None:
            return None
        by_index = corners.get(_index_key(placeholder))
        corner = by_index or corners.get(_kind(placeholder))
    if corner is None:
        return None
    top, left = corner
    return top // SAME_LINE, left


def _offset(shape: trees.Element) -> Corner | None:
    """Where a shape says that it stands, None if it does not."""
    offset = next(shape.iter("{*}off"), None)
    if offset is None:
        return None
    x = COORDINATE.fullmatch(offset.get("x") or "")
    y = COORDINATE.fullmatch(offset.get("y") or "")
    if x is None or y is None:
        return None
    return int(y[0]), int(x[0])


def _shapes(slide: Slide, tree: Iterable[trees.Element]) -> None:
    """Read shapes in their order into the slide."""
    for shape in tree:
        name = officeparts.local(shape)
        if name == "sp":
            _shape(slide, shape)
        elif name == "graphicFrame":
            _frame(slide, shape)
        elif name == "AlternateContent":
            _shapes(slide, trees.children(_alternative(shape)))
        elif name not in WORDLESS:
            _group(slide, shape)


def _group(slide: Slide, shape: trees.Element) -> None:
    """A group; and whatever newer versions know beside shapes may hold text as well."""
    if officeparts.child(shape, "txBody") is None:
        _shapes(slide, shape)
    else:
        _shape(slide, shape)


def _alternative(element: trees.Element) -> trees.Element | None:
    """Of the forms in which a shape is given the first, unless it shows nothing we read."""
    choice = officeparts.child(element, "Choice")
    fallback = officeparts.child(element, "Fallback")
    if choice is None or fallback is None:
        return fallback if choice is None else choice
    shown = next(choice.iter("{*}t", "{*}chart"), None)
    return fallback if shown is None else choice


def _shape(slide: Slide, shape: trees.Element) -> None:
    """Read the text of a shape; of titles it is a heading."""
    kind = _kind(_placeholder(shape))
    body = officeparts.child(shape, "txBody")
    if kind in FURNITURE or body is None:
        return
    texts = _paragraphs(body)
    if kind in TITLES and texts:
        slide.title.append(units.heading(" ".join(texts), 1))
    elif kind == "subTitle" and texts:
        slide.blocks.append(units.heading(" ".join(texts), 2))
    else:
        slide.blocks.extend(units.Block(text) for text in texts)


def _placeholder(shape: trees.Element) -> trees.Element | None:
    """The element that makes a shape a placeholder."""
    return officeparts.child(shape, "nvSpPr", "nvPr", "ph")


def _kind(placeholder: trees.Element | None) -> str:
    """The kind of a placeholder, "" for a shape that is none."""
    if placeholder is None:
        return ""
    return officeparts.attribute(placeholder, "type") or "body"


def _index_key(placeholder: trees.Element) -> str:
    """What a placeholder is found by in the layout."""
    return f"idx {officeparts.attribute(placeholder, 'idx')}"


def _paragraphs(body: trees.Element) -> list[str]:
    """The paragraphs of a shape; items of numbered lists with their numbers."""
    counts = [0] * numbering.LEVELS
    texts: list[str] = []
    for paragraph in body.iterchildren("{*}p"):
        text = _text(paragraph)
        if not text:
            continue
        properties = officeparts.child(paragraph, "pPr")
        depth = _depth(properties)
        counts[depth + 1 :] = [0] * (numbering.LEVELS - depth - 1)
        auto_number = officeparts.child(properties, "buAutoNum")
        if auto_number is None:
            counts[depth] = 0
        else:
            counts[depth] += 1
            text = f"{_number(auto_number, counts[depth])} {text}"
        texts.append(text)
    return texts


def _depth(properties: trees.Element | None) -> int:
    """The level of a paragraph from 0."""
    if properties is None:
        return 0
    level = officeparts.attribute(properties, "lvl")
    return numbering.whole(level, 0, numbering.LEVELS - 1)


def _number(auto_number: trees.Element, count: int) -> str:
    """The number of an item as its scheme writes it."""
    start = numbering.whole(officeparts.attribute(auto_number, "startAt"), 1)
    scheme = officeparts.attribute(auto_number, "type")
    number = numbering.written(start + count - 1, _number_format(scheme))
    closing = ")" if "Paren" in scheme else "."
    return number + closing


def _number_format(scheme: str) -> str:
    """The format of a list that a scheme of numbers is."""
    for prefix, number_format in NUMBERS.items():
        if scheme.startswith(prefix):
            return number_format
    return "decimal"


def _text(paragraph: trees.Element) -> str:
    """The text of a paragraph, with equations as LaTeX."""
    if next(paragraph.iter("{*}oMath"), None) is None:
        return officeparts.run_text(paragraph)
    pieces: list[str] = []
    for element in paragraph.iter("{*}oMath", "{*}t", "{*}br"):
        name = officeparts.local(element)
        if name == "oMath":
            pieces.append(f" {equations.latex(element)} ")
        elif next(element.iterancestors("{*}oMath"), None) is None:
            pieces.append(" " if name == "br" else element.text or "")
    return spacing.clean("".join(pieces))


def _frame(slide: Slide, frame: trees.Element) -> None:
    """The table, chart or diagram in a frame."""
    data = officeparts.child(frame, "graphic", "graphicData")
    for element in trees.children(data):
        name = officeparts.local(element)
        if name == "tbl":
            slide.blocks.extend(_table(element))
        elif name == "chart":
            relation_id = officeparts.reference(element, "id")
            slide.blocks.extend(_drawn(slide, relation_id, officeparts.chart))
        elif name == "relIds":
            relation_id = officeparts.reference(element, "dm")
            slide.blocks.extend(_drawn(slide, relation_id, officeparts.diagram))


def _drawn(
    slide: Slide,
    relation_id: str,
    read_part: Callable[[packed.Package, str], units.Blocks],
) -> units.Blocks:
    """A chart or diagram that is a part of its own."""
    relation = slide.relations.get(relation_id)
    if relation is None or relation.external:
        return []
    return read_part(slide.package, relation.target)


def _table(table: trees.Element) -> units.Blocks:
    """A table row by row."""
    rows: list[list[str]] = []
    for row in table.iterchildren("{*}tr"):
        texts: list[str] = []
        for cell in row.iterchildren("{*}tc"):
            texts.append(_cell(cell, texts, rows))
        rows.append(texts)
    return spacing.table(rows, header=_has_header(table))


def _has_header(table: trees.Element) -> bool:
    """Whether the first row of a table is set off."""
    properties = officeparts.child(table, "tblPr")
    if properties is None:
        return False
    return officeparts.is_true(officeparts.attribute(properties, "firstRow"))


def _cell(cell: trees.Element, left: list[str], above: list[list[str]]) -> str:
    """A cell's text; one that is covered by a merged cell says the same when that is
    short.
    """
    if officeparts.attribute(cell, "hMerge") in {"1", "true"}:
        return spacing.spanning(left[-1]) if left else ""
    if officeparts.attribute(cell, "vMerge") in {"1", "true"}:
        column = len(left)
        row_above = above[-1] if above else []
        covering = row_above[column : column + 1]
        return spacing.spanning("".join(covering))
    return " ".join(officeparts.texts(cell))


def _notes(package: packed.Package, part: str) -> units.Blocks:
    """The notes to a slide, without what is on every page of notes."""
    blocks: units.Blocks = []
    for shape in trees.descendants(package.maybe(part), "{*}sp"):
        body = officeparts.child(shape, "txBody")
        kind = _kind(_placeholder(shape))
        if body is None or kind in FURNITURE:
            continue
        blocks += [units.Block(text, "notes") for text in _paragraphs(body)]
    return blocks


def _authors(
    package: packed.Package, relations: officeparts.Relations
) -> dict[str, str]:
    """The names of those who commented, by id: of older comments, then of threaded."""
    parts = officeparts.of_kind(relations, "commentAuthors", package)
    parts += officeparts.of_kind(relations, "authors", package)
    names: dict[str, str] = {}
    for part in parts:
        for author in trees.children(package.maybe(part)):
            name = spacing.clean(officeparts.attribute(author, "name"))
            names[officeparts.attribute(author, "id")] = name
    return names


def _comments(
    package: packed.Package, part: str, authors: Mapping[str, str]
) -> units.Blocks:
    """The comments on a slide and their replies, each with who said it when."""
    blocks: units.Blocks = []
    for comment in trees.descendants(package.maybe(part), "{*}cm", "{*}reply"):
        text = _comment_text(comment)
        if not text:
            continue
        author_id = officeparts.attribute(comment, "authorId")
        author = authors.get(author_id, "")
        created = officeparts.attribute(comment, "dt")
        created = created or officeparts.attribute(comment, "created")
        label = ", ".join(filter(None, [author, officeparts.iso(created)]))
        blocks.append(units.Block(f"[Comment {label}] {text}"))
    return blocks


def _comment_text(comment: trees.Element) -> str:
    """The text of a comment, of the older kind or of a conversation."""
    plain = officeparts.child(comment, "text")
    if plain is not None:
        return spacing.clean(trees.full_text(plain))
    body = officeparts.child(comment, "txBody")
    return "" if body is None else " ".join(_paragraphs(body))
