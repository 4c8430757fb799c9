"""PowerPoint presentations (.pptx, .pptm, .potx, .ppsx): a unit a slide: title, texts,
tables, charts, notes.
"""

import re
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

KIND = "a PowerPoint presentation"
TITLES = frozenset(["title", "ctrTitle"])
FURNITURE = frozenset(
    ["dt", "ftr", "sldNum", "hdr", "sldImg"]
)  # says the same on every slide
NUMBERS = {"arabic": "decimal", "alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman",
           "romanUc": "upperRoman"}  # fmt: skip
SAME_LINE = (
    914_400 // 4
)  # a quarter of an inch: shapes whose tops fall into one such band stand side by side


@dataclass(frozen=True, slots=True)
class Slide:
    """A slide while it is walked."""

    package: packed.Package
    relations: Mapping[str, officeparts.PartRelation]
    title: list[units.Block] = field(default_factory=list[units.Block])
    blocks: list[units.Block] = field(default_factory=list[units.Block])


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What it says of itself, then the slides in the order in which they are shown;
    hidden ones too.
    """
    package = packed.Package(given.data, KIND)
    part = officeparts.main(package, "ppt/presentation.xml")
    root = package.tree(part)
    if officeparts.local(root) != "presentation":
        raise errors.Unreadable(f"not {KIND}")
    yield officeparts.about(package)
    relations = officeparts.relations(package, part)
    authors = _authors(package, relations)
    listed = officeparts.child(root, "sldIdLst")
    slides = [
        relation.target
        for one in (() if listed is None else listed)
        if (relation := relations.get(officeparts.reference(one, "id"))) is not None
        and not relation.external
    ]
    for number, name in enumerate(slides, start=1):
        if number < given.first:
            continue
        blocks, remark = _slide(package, name, authors)
        yield units.Unit(number, len(slides), tuple(blocks), {"slide": number}, remark)


def _slide(
    package: packed.Package, name: str, authors: Mapping[str, str]
) -> tuple[list[units.Block], str]:
    root = package.maybe(name)
    tree = officeparts.child(root, "cSld", "spTree")
    if root is None:
        return [], "the slide is damaged"
    relations = officeparts.relations(package, name)
    slide = Slide(package, relations)
    if tree is not None:
        _shapes(slide, _in_order(tree, _layout(package, relations)))
    blocks = slide.title + slide.blocks
    for part in officeparts.of_kind(relations, "comments", package):
        blocks += _comments(package, part, authors)
    for part in officeparts.of_kind(relations, "notesSlide", package):
        blocks += _notes(package, part)
    return blocks, ""


def _layout(
    package: packed.Package, relations: Mapping[str, officeparts.PartRelation]
) -> dict[str, tuple[int, int]]:
    """Where the layout puts the placeholders that a slide leaves in their place, by
    index and by kind.
    """
    parts = officeparts.of_kind(relations, "slideLayout", package)
    root = package.maybe(parts[0]) if parts else None
    places: dict[str, tuple[int, int]] = {}
    for shape in () if root is None else root.iter("{*}sp"):
        found = officeparts.child(shape, "nvSpPr", "nvPr", "ph")
        if found is not None and (corner := _offset(shape)) is not None:
            places.setdefault(f"idx {officeparts.attribute(found, 'idx')}", corner)
            places.setdefault(_placeholder(shape), corner)
    return places


def _in_order(
    tree: trees.Element, places: Mapping[str, tuple[int, int]]
) -> list[trees.Element]:
    """Shapes from the top down, side by side from the left; one that stands nowhere
    follows the one before it.
    """
    corners: list[tuple[int, int]] = []
    for shape in tree:
        corner = _corner(shape, places)
        corners.append(
            corner if corner is not None else corners[-1] if corners else (0, 0)
        )
    return [
        shape
        for _, shape in sorted(zip(corners, tree, strict=True), key=lambda one: one[0])
    ]


def _corner(
    shape: trees.Element, places: Mapping[str, tuple[int, int]]
) -> tuple[int, int] | None:
    own = _offset(shape)
    if (
        own is None
        and (found := officeparts.child(shape, "nvSpPr", "nvPr", "ph")) is not None
    ):
        own = places.get(f"idx {officeparts.attribute(found, 'idx')}") or places.get(
            _placeholder(shape)
        )
    return None if own is None else (own[0] // SAME_LINE, own[1])


def _offset(shape: trees.Element) -> tuple[int, int] | None:
    at = next((one for one in shape.iter("{*}off")), None)
    if at is None:
        return None
    x, y = (re.fullmatch(r"-?\d{1,12}", at.get(name) or "") for name in "xy")
    return (int(y.group()), int(x.group())) if x and y else None


def _shapes(slide: Slide, tree: Iterable[trees.Element]) -> None:
    for shape in tree:
        name = officeparts.local(shape)
        if name == "sp":
            _shape(slide, shape)
        elif name == "graphicFrame":
            _frame(slide, shape)
        elif name == "AlternateContent":
            chosen = officeparts.child(shape, "Choice")
            fallback = officeparts.child(shape, "Fallback")
            if chosen is None or (
                fallback is not None
                and next(chosen.iter("{*}t", "{*}chart"), None) is None
            ):
                chosen = fallback
            if chosen is not None:
                _shapes(slide, chosen)
        elif name not in {"nvGrpSpPr", "grpSpPr", "pic", "cxnSp"}:
            # A group; and whatever newer versions know beside shapes may hold text as
            # well.
            _shapes(slide, shape) if officeparts.child(
                shape, "txBody"
            ) is None else _shape(slide, shape)


def _shape(slide: Slide, shape: trees.Element) -> None:
    kind = _placeholder(shape)
    body = officeparts.child(shape, "txBody")
    if kind in FURNITURE or body is None:
        return
    texts = _paragraphs(body)
    if kind in TITLES and texts:
        slide.title.append(units.Block(" ".join(texts), "heading", 1))
    elif kind == "subTitle" and texts:
        slide.blocks.append(units.Block(" ".join(texts), "heading", 2))
    else:
        slide.blocks.extend(units.Block(text) for text in texts)


def _placeholder(shape: trees.Element) -> str:
    found = officeparts.child(shape, "nvSpPr", "nvPr", "ph")
    return "" if found is None else officeparts.attribute(found, "type") or "body"


def _paragraphs(body: trees.Element) -> list[str]:
    """The paragraphs of a shape; items of numbered lists with their numbers."""
    counts = [0] * numbering.LEVELS
    texts: list[str] = []
    for paragraph in body.iterchildren("{*}p"):
        text = _text(paragraph)
        if not text:
            continue
        properties = officeparts.child(paragraph, "pPr")
        depth = 0
        if properties is not None:
            depth = numbering.whole(
                officeparts.attribute(properties, "lvl"), 0, numbering.LEVELS - 1
            )
        counted = officeparts.child(properties, "buAutoNum")
        counts[depth + 1 :] = [0] * (numbering.LEVELS - depth - 1)
        counts[depth] = 0 if counted is None else counts[depth] + 1
        if counted is not None:
            text = f"{_number(counted, counts[depth])} {text}"
        texts.append(text)
    return texts


def _number(element: trees.Element, count: int) -> str:
    start = numbering.whole(officeparts.attribute(element, "startAt"), 1)
    kind = officeparts.attribute(element, "type")
    form = next(
        (form for prefix, form in NUMBERS.items() if kind.startswith(prefix)), "decimal"
    )
    return numbering.written(start + count - 1, form) + (
        ")" if "Paren" in kind else "."
    )


def _text(paragraph: trees.Element) -> str:
    if next(paragraph.iter("{*}oMath"), None) is None:
        return officeparts.run_text(paragraph)
    pieces: list[str] = []
    for one in paragraph.iter("{*}oMath", "{*}t", "{*}br"):
        name = officeparts.local(one)
        if name == "oMath":
            pieces.append(f" {equations.latex(one)} ")
        elif next(one.iterancestors("{*}oMath"), None) is None:
            pieces.append(" " if name == "br" else one.text or "")
    return spacing.clean("".join(pieces))


def _frame(slide: Slide, frame: trees.Element) -> None:
    data = officeparts.child(frame, "graphic", "graphicData")
    for one in () if data is None else data:
        name = officeparts.local(one)
        if name == "tbl":
            slide.blocks.extend(_table(one))
        elif name in {"chart", "relIds"}:
            relation = slide.relations.get(
                officeparts.reference(one, "id" if name == "chart" else "dm")
            )
            if relation is not None and not relation.external:
                drawn = officeparts.chart if name == "chart" else officeparts.diagram
                slide.blocks.extend(drawn(slide.package, relation.target))


def _table(table: trees.Element) -> list[units.Block]:
    rows: list[list[str]] = []
    for line in table.iterchildren("{*}tr"):
        texts: list[str] = []
        for cell in line.iterchildren("{*}tc"):
            texts.append(_cell(cell, texts, rows))
        rows.append(texts)
    properties = officeparts.child(table, "tblPr")
    header = properties is not None and officeparts.attribute(
        properties, "firstRow"
    ) in {"1", "true", "on"}
    return spacing.table(rows, header=header)


def _cell(cell: trees.Element, left: list[str], above: list[list[str]]) -> str:
    """A cell's text; one that is covered by a merged cell says the same when that is
    short.
    """
    if officeparts.attribute(cell, "hMerge") in {"1", "true"}:
        return spacing.spanning(left[-1]) if left else ""
    if officeparts.attribute(cell, "vMerge") in {"1", "true"}:
        at = len(left)
        return spacing.spanning(above[-1][at]) if above and at < len(above[-1]) else ""
    return " ".join(officeparts.texts(cell))


def _notes(package: packed.Package, part: str) -> list[units.Block]:
    root = package.maybe(part)
    blocks: list[units.Block] = []
    for shape in () if root is None else root.iter("{*}sp"):
        body = officeparts.child(shape, "txBody")
        if body is not None and _placeholder(shape) not in FURNITURE:
            blocks += [units.Block(text, "notes") for text in _paragraphs(body)]
    return blocks


def _authors(
    package: packed.Package, relations: Mapping[str, officeparts.PartRelation]
) -> dict[str, str]:
    """The names of those who commented, by id."""
    found: dict[str, str] = {}
    for kind in ("commentAuthors", "authors"):
        for part in officeparts.of_kind(relations, kind, package):
            root = package.maybe(part)
            for one in () if root is None else root:
                found[officeparts.attribute(one, "id")] = spacing.clean(
                    officeparts.attribute(one, "name")
                )
    return found


def _comments(
    package: packed.Package, part: str, authors: Mapping[str, str]
) -> list[units.Block]:
    """The comments on a slide and their replies, each with who said it when."""
    root = package.maybe(part)
    blocks: list[units.Block] = []
    for one in () if root is None else root.iter("{*}cm", "{*}reply"):
        plain, body = officeparts.child(one, "text"), officeparts.child(one, "txBody")
        if plain is not None:
            text = spacing.clean("".join(plain.itertext()))
        else:
            text = "" if body is None else " ".join(_paragraphs(body))
        said = authors.get(officeparts.attribute(one, "authorId"), "")
        when = officeparts.iso(
            officeparts.attribute(one, "dt") or officeparts.attribute(one, "created")
        )
        if text:
            blocks.append(
                units.Block(
                    f"[Comment {', '.join(word for word in (said, when) if word)}] {text}"
                )
            )
    return blocks
