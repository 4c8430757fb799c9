"""The parts of an Office Open XML package: their relations, what it says of itself,
charts and diagrams.
"""

import posixpath
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reverie import errors
from reverie.ingest.documents import packed, spacing, trees, units

RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
STRICT = "{http://purl.oclc.org/ooxml/officeDocument/relationships}"
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
POINTS = 5_000  # of a chart; a drawn curve of measured data is no text

PLOTS = {
    f"{name}{form}Chart": f"{name.capitalize()} chart"
    for name in (
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
    )
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


def local(element: trees.Element) -> str:
    """An element's name without its namespace: Strict and Transitional files differ
    only in that.
    """
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: trees.Element, name: str) -> str:
    """An attribute's value by its local name, "" when absent."""
    value = element.get(name)
    if value is not None:
        return value
    return next(
        (
            value
            for key, value in element.attrib.items()
            if key.rpartition("}")[2] == name
        ),
        "",
    )


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
        element = next((one for one in element if local(one) == name), None)
    return element


def value(element: trees.Element | None, *path: str) -> str:
    """The `val` of the element at a path, "" when there is none."""
    found = child(element, *path)
    return "" if found is None else attribute(found, "val")


def relations(package: packed.Package, part: str) -> Mapping[str, PartRelation]:
    """What a part ("" for the package) refers to, by id."""
    folder, name = posixpath.split(part)
    root = package.maybe(posixpath.join(folder, "_rels", f"{name}.rels"))
    found: dict[str, PartRelation] = {}
    for one in () if root is None else root:
        target = one.get("Target") or ""
        external = (one.get("TargetMode") or "").lower() == "external"
        if not external:
            target = posixpath.normpath(
                posixpath.join("/", folder, urllib.parse.unquote(target))
            ).lstrip("/")
        found[one.get("Id") or ""] = PartRelation(
            (one.get("Type") or "").rpartition("/")[2], target, external
        )
    return found


def of_kind(
    found: Mapping[str, PartRelation], kind: str, package: packed.Package
) -> list[str]:
    """The parts of one kind that are really there."""
    return [
        one.target
        for one in found.values()
        if one.kind == kind and not one.external and one.target in package
    ]


def main(package: packed.Package, usual: str) -> str:
    """The name of the part everything else hangs on; Unreadable when there is none."""
    parts = of_kind(relations(package, ""), "officeDocument", package)
    if parts:
        return parts[0]
    if usual in package:
        return usual
    raise errors.Unreadable(f"not {package.kind}")


def about(package: packed.Package) -> units.About:
    """Title, author and time of creation, as the package says."""
    parts = of_kind(relations(package, ""), "core-properties", package) or [
        "docProps/core.xml"
    ]
    root = package.maybe(parts[0])
    said: dict[str, str] = {}
    for one in () if root is None else root:
        said.setdefault(
            local(one), spacing.clean("".join(one.itertext(with_tail=False)))
        )
    return units.About(
        said.get("title", ""), said.get("creator", ""), iso(said.get("created", ""))
    )


def iso(text: str) -> str:
    """A date and time if it looks like one in ISO 8601, else ""."""
    return text if re.match(r"\d{4}-\d{2}-\d{2}(T\d|$)", text) else ""


def texts(root: trees.Element, paragraph: str = "p", word: str = "t") -> Iterator[str]:
    """The paragraphs below an element of a drawing, cleaned, empty ones left out."""
    for one in root.iter(f"{{*}}{paragraph}"):
        if text := run_text(one, word):
            yield text


def run_text(paragraph: trees.Element, word: str = "t") -> str:
    """The text of one paragraph of a drawing; a break is a space."""
    pieces: list[str] = []
    for one in paragraph.iter():
        name = local(one)
        if name == word:
            pieces.append("".join(one.itertext(with_tail=False)))
        elif name in {"br", "tab"}:
            pieces.append(" ")
    return spacing.clean("".join(pieces))


def diagram(package: packed.Package, part: str) -> list[units.Block]:
    """The texts of a SmartArt diagram in the order of its data."""
    root = package.maybe(part)
    if root is None:
        return []
    points = root.iter("{*}pt")
    return [units.Block(text) for point in points if (text := " ".join(texts(point)))]


def chart(package: packed.Package, part: str) -> list[units.Block]:
    """A chart: its titles, and the numbers it draws as a table with a row a category."""
    root = package.maybe(part)
    if root is None:
        return []
    blocks: list[units.Block] = []
    for title in root.iter("{*}title"):
        text = " ".join(texts(title)) or " ".join(_values(title).values())
        if text:
            blocks.append(units.Block(text))
    plot = next(
        (
            name
            for one in root.iter("{*}plotArea")
            for kind in one
            if (name := PLOTS.get(local(kind)))
        ),
        "",
    )
    blocks += [units.Block(plot)] if plot else []
    columns: list[tuple[str, dict[int, str]]] = []
    categories: dict[int, str] = {}
    for series in root.iter("{*}ser"):
        named = child(series, "tx")
        label = " ".join(_values(named).values()) if named is not None else ""
        across, up = child(series, "cat"), child(series, "val")
        across = child(series, "xVal") if across is None else across
        up = child(series, "yVal") if up is None else up
        categories = categories or ({} if across is None else _values(across))
        columns.append((label, {} if up is None else _values(up)))
    width = sorted({*categories, *(at for _, points in columns for at in points)})
    rows = [["", *(label for label, _ in columns)]]
    rows += [
        [categories.get(at, ""), *(points.get(at, "") for _, points in columns)]
        for at in width
    ]
    return blocks + (spacing.table(rows, header=True) if columns else [])


def _values(element: trees.Element) -> dict[int, str]:
    """The cached points below an element of a chart, by index; several levels of one
    point are joined.
    """
    found: dict[int, list[str]] = {}
    for point in element.iter("{*}pt"):
        if len(found) >= POINTS:
            break
        stored = child(point, "v")
        at = point.get("idx") or ""
        if stored is not None and at.isdecimal():
            found.setdefault(int(at), []).append(number(stored.text or ""))
    if not found and (alone := next(element.iter("{*}v"), None)) is not None:
        found[0] = [alone.text or ""]
    return {at: " ".join(reversed(levels)) for at, levels in found.items()}


def number(text: str) -> str:
    """A stored number as people write it: 2.0 is 2, 0.30000000000000004 is 0.3; other
    text as it is.
    """
    if not NUMBER.fullmatch(text):
        return text
    if "." not in text and "e" not in text.lower():
        return text
    return decimal(float(text))


def decimal(given: float) -> str:
    """A float as people write it: at most 15 digits, no .0 at the end, no exponent
    while it is readable without.
    """
    if given != given or given in (float("inf"), float("-inf")):
        return ""
    text = f"{given:.15g}"
    if "e" in text and 1e-9 < abs(given) < 1e21:
        text = f"{given:.20f}".rstrip("0").rstrip(".")
    return text
