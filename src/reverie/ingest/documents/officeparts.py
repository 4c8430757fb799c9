"""Office Open XML packages (OPC, ECMA-376): relationships, core properties, DrawingML
charts, SmartArt diagrams.

A package is a zip of parts. The relationships of a part (`_rels/NAME.rels`) say by id
which other parts it refers to, and of which kind they are; the main part is what the
package itself refers to as its officeDocument. Elements are told by their local names,
since Strict and Transitional files have different namespaces for the same ones.
"""

import math
import posixpath
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.ingest.documents import packed, spacing, trees, units

# Namespaces of r:id and the like: Transitional (ECMA-376 part 4) and Strict (part 1).
RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
STRICT = "{http://purl.oclc.org/ooxml/officeDocument/relationships}"
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\d|$)")
# Of a chart, set by hand: a drawn curve of measured data is no text.
POINTS = 5_000
# The xsd:boolean of ECMA-376 in its spellings (ST_OnOff).
TRUE = frozenset(["1", "true", "on"])
PLOT_KINDS = [
    "bar",
    "line",
    "pie",
    "area",
    "scatter",
    "radar",
    "bubble",
    "surface",
    "doughnut",
    "stock",
]
# The elements of a plot area (ECMA-376 part 1, 21.2.2), each flat or in 3D.
PLOTS = {
    f"{kind}{form}Chart": f"{kind.capitalize()} chart"
    for kind in PLOT_KINDS
    for form in ("", "3D")
}


@dataclass(frozen=True, slots=True)
class PartRelation:
    """A reference to another part: the last word of its type, and the part's name, or
    an address outside.
    """

    kind: str
    target: str
    external: bool


Relations = Mapping[str, PartRelation]
"""What a part refers to, by the id that its elements give."""


def local(element: trees.Element) -> str:
    """An element's name without its namespace: Strict and Transitional files differ
    only in that.
    """
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: trees.Element, name: str) -> str:
    """An attribute's value by its local name, "" when absent."""
    plain = element.get(name)
    if plain is not None:
        return plain
    for key, qualified in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return qualified
    return ""


def reference(element: trees.Element, name: str) -> str:
    """The id of a relation that an attribute holds (r:id, r:dm, r:embed), in either
    namespace.
    """
    return element.get(RELATIONS + name) or element.get(STRICT + name) or ""


def child(element: trees.Element | None, *path: str) -> trees.Element | None:
    """The first descendant along a path of local names."""
    for name in path:
        if element is None:
            return None
        element = _first_child(element, name)
    return element


def _first_child(element: trees.Element, name: str) -> trees.Element | None:
    """The first child of an element that is called so."""
    for candidate in element:
        if local(candidate) == name:
            return candidate
    return None


def value(element: trees.Element | None, *path: str) -> str:
    """The `val` of the element at a path, "" when there is none."""
    holder = child(element, *path)
    return "" if holder is None else attribute(holder, "val")


def is_true(text: str) -> bool:
    """Whether an attribute says yes (ST_OnOff); "" and whatever else say no."""
    return text in TRUE


def relations(package: packed.Package, part: str) -> Relations:
    """What a part ("" for the package) refers to, by id."""
    folder, name = posixpath.split(part)
    root = package.maybe(posixpath.join(folder, "_rels", f"{name}.rels"))
    by_id: dict[str, PartRelation] = {}
    for element in trees.children(root):
        by_id[element.get("Id") or ""] = _relation(element, folder)
    return by_id


def _relation(element: trees.Element, folder: str) -> PartRelation:
    """A Relationship element; names of parts count from the root of the package."""
    target = element.get("Target") or ""
    external = (element.get("TargetMode") or "").lower() == "external"
    if not external:
        path = posixpath.join("/", folder, urllib.parse.unquote(target))
        target = posixpath.normpath(path).lstrip("/")
    kind = (element.get("Type") or "").rpartition("/")[2]
    return PartRelation(kind, target, external)


def of_kind(related: Relations, kind: str, package: packed.Package) -> list[str]:
    """The names of the related parts of one kind that are really there."""
    return [
        relation.target
        for relation in related.values()
        if relation.kind == kind and is_inside(relation, package)
    ]


def is_inside(relation: PartRelation, package: packed.Package) -> bool:
    """Whether what is referred to is a part of the package."""
    return not relation.external and relation.target in package


def first_of_kind(
    related: Relations, kind: str, package: packed.Package
) -> trees.Element | None:
    """The tree of the first related part of one kind, None without one."""
    parts = of_kind(related, kind, package)
    return package.maybe(parts[0]) if parts else None


def main(package: packed.Package, usual: str) -> str:
    """The name of the part everything else hangs on; Unreadable when there is none."""
    parts = of_kind(relations(package, ""), "officeDocument", package)
    if parts:
        return parts[0]
    if usual in package:
        return usual
    raise errors.Unreadable(f"not {package.kind}")


def about(package: packed.Package) -> units.About:
    """Title, author and time of creation of the core properties (docProps/core.xml)."""
    parts = of_kind(relations(package, ""), "core-properties", package)
    root = package.maybe(parts[0] if parts else "docProps/core.xml")
    properties: dict[str, str] = {}
    for element in trees.children(root):
        text = spacing.clean(_own_text(element))
        properties.setdefault(local(element), text)
    return units.About(
        properties.get("title", ""),
        properties.get("creator", ""),
        iso(properties.get("created", "")),
    )


def _own_text(element: trees.Element) -> str:
    """The text inside an element without what follows its inner elements."""
    return "".join(element.itertext(with_tail=False))


def iso(text: str) -> str:
    """A date and time if it looks like one in ISO 8601, else ""."""
    return text if DATE.match(text) else ""


def texts(root: trees.Element, paragraph: str = "p", word: str = "t") -> Iterator[str]:
    """The paragraphs below an element of a drawing, cleaned, empty ones left out."""
    for element in root.iter(f"{{*}}{paragraph}"):
        if text := run_text(element, word):
            yield text


def run_text(paragraph: trees.Element, word: str = "t") -> str:
    """The text of one paragraph of a drawing; a break is a space."""
    pieces: list[str] = []
    for element in paragraph.iter():
        name = local(element)
        if name == word:
            pieces.append(_own_text(element))
        elif name in {"br", "tab"}:
            pieces.append(" ")
    return spacing.clean("".join(pieces))


def diagram(package: packed.Package, part: str) -> units.Blocks:
    """The texts of a SmartArt diagram in the order of its data."""
    points = trees.descendants(package.maybe(part), "{*}pt")
    return [units.Block(text) for point in points if (text := " ".join(texts(point)))]


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """A series of a chart: its name, and its cached points by index along both axes."""

    label: str
    categories: Mapping[int, str]
    points: Mapping[int, str]


def chart(package: packed.Package, part: str) -> units.Blocks:
    """A chart: its titles, and the numbers it draws as a table with a row a category."""
    root = package.maybe(part)
    if root is None:
        return []
    blocks = _chart_titles(root)
    if plot := _plot_kind(root):
        blocks.append(units.Block(plot))
    series = [_series(element) for element in root.iter("{*}ser")]
    return blocks + (_chart_table(series) if series else [])


def _chart_titles(root: trees.Element) -> units.Blocks:
    """The titles of a chart and of its axes."""
    blocks: units.Blocks = []
    for title in root.iter("{*}title"):
        text = " ".join(texts(title)) or " ".join(_values(title).values())
        if text:
            blocks.append(units.Block(text))
    return blocks


def _plot_kind(root: trees.Element) -> str:
    """What people call the first kind of plot that is drawn, "" for none we know."""
    for area in root.iter("{*}plotArea"):
        for element in area:
            if name := PLOTS.get(local(element)):
                return name
    return ""


def _series(element: trees.Element) -> ChartSeries:
    """A series (c:ser) with what is cached of it."""
    label = " ".join(_values(child(element, "tx")).values())
    across = _axis(element, "cat", "xVal")
    up = _axis(element, "val", "yVal")
    return ChartSeries(label, _values(across), _values(up))


def _axis(series: trees.Element, name: str, scatter: str) -> trees.Element | None:
    """The data along an axis, which scatter and bubble charts call otherwise."""
    usual = child(series, name)
    return child(series, scatter) if usual is None else usual


def _chart_table(series: Sequence[ChartSeries]) -> units.Blocks:
    """A row for each category with a column for each series; the first series that has
    categories names them for all.
    """
    categories: Mapping[int, str] = {}
    indexes: set[int] = set()
    for column in series:
        categories = categories or column.categories
        indexes.update(column.points)
    indexes.update(categories)
    rows = [["", *(column.label for column in series)]]
    for index in sorted(indexes):
        shown = (column.points.get(index, "") for column in series)
        rows.append([categories.get(index, ""), *shown])
    return spacing.table(rows, header=True)


def _values(element: trees.Element | None) -> dict[int, str]:
    """The cached points below an element of a chart, by index; several levels of one
    point are joined.
    """
    if element is None:
        return {}
    levels: dict[int, list[str]] = {}
    for point in element.iter("{*}pt"):
        if len(levels) >= POINTS:
            break
        stored = child(point, "v")
        index = point.get("idx") or ""
        if stored is not None and index.isdecimal():
            text = number(stored.text or "")
            levels.setdefault(int(index), []).append(text)
    if not levels:
        return _single_value(element)
    return {index: " ".join(reversed(names)) for index, names in levels.items()}


def _single_value(element: trees.Element) -> dict[int, str]:
    """A value that stands alone, without points, as the first."""
    alone = next(element.iter("{*}v"), None)
    return {} if alone is None else {0: alone.text or ""}


def number(text: str) -> str:
    """A stored number as people write it: 2.0 is 2, 0.30000000000000004 is 0.3; other
    text as it is.
    """
    if not NUMBER.fullmatch(text):
        return text
    if "." not in text and "e" not in text.lower():
        return text
    return decimal(float(text))


def decimal(figure: float) -> str:
    """A float as people write it: at most 15 digits, no .0 at the end, no exponent
    while it is readable without.
    """
    if not math.isfinite(figure):
        return ""
    text = f"{figure:.15g}"
    if "e" in text and 1e-9 < abs(figure) < 1e21:
        text = f"{figure:.20f}".rstrip("0").rstrip(".")
    return text
