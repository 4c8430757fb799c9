"""Electronic books (.epub): the chapters in the order of reading, a unit each."""

import posixpath
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.ingest.documents import markup, officeparts, packed, spacing, trees, units

KIND = "an electronic book (EPUB)"
TEXTS = frozenset(
    [
        "application/xhtml+xml",
        "text/html",
        "application/x-dtbook+xml",
        "text/x-oeb1-document",
    ]
)


@dataclass(frozen=True, slots=True)
class ManifestItem:
    """A file of the book: its name in the package, its type, what it is for."""

    name: str
    mime: str
    properties: str


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """What the book says of itself, then its chapters; a chapter's place is its title
    in the table of contents.
    """
    package = packed.Package(given.data, KIND)
    opf = _package_file(package)
    root = package.tree(opf)
    items = _items(root, opf)
    chapters = _spine(package, root, items)
    _refuse_locked(package, {item.name for item in chapters})
    yield _about(root)
    titles = _titles(package, items)
    for number, item in enumerate(chapters, start=1):
        if number < given.first:
            continue
        tree = markup.chapter(package.read(item.name))
        blocks = [] if tree is None else markup.blocks(_body(tree))
        title = titles.get(item.name) or next(
            (one.text for one in blocks if one.kind == "heading"), ""
        )
        place: units.Place = {"section": title} if title else {}
        yield units.Unit(number, len(chapters), tuple(blocks), place)


def _package_file(package: packed.Package) -> str:
    """The name of the file that lists all others."""
    container = package.maybe("META-INF/container.xml")
    for one in () if container is None else container.iter("{*}rootfile"):
        name = urllib.parse.unquote(one.get("full-path") or "")
        if name in package:
            return name
    found = next(
        (name for name in package.names() if name.lower().endswith(".opf")), ""
    )
    if not found:
        raise errors.Unreadable(f"not {KIND}")
    return found


def _items(root: trees.Element, opf: str) -> dict[str, ManifestItem]:
    return {
        one.get("id") or "": ManifestItem(
            _inside(opf, one.get("href")),
            one.get("media-type") or "",
            one.get("properties") or "",
        )
        for one in root.iter("{*}item")
    }


def _inside(base: str, href: str | None) -> str:
    """The name in the package of what a file refers to."""
    path = urllib.parse.unquote((href or "").partition("#")[0])
    return posixpath.normpath(
        posixpath.join("/", posixpath.dirname(base), path)
    ).lstrip("/")


def _spine(
    package: packed.Package, root: trees.Element, items: Mapping[str, ManifestItem]
) -> Sequence[ManifestItem]:
    """The chapters as they are read, each once; the table of contents says nothing new."""
    found: dict[str, ManifestItem] = {}
    for one in root.iter("{*}itemref"):
        item = items.get(one.get("idref") or "")
        if (
            item is not None
            and item.name in package
            and item.mime in TEXTS
            and "nav" not in item.properties.split()
        ):
            found.setdefault(item.name, item)
    if not found:
        found = {
            item.name: item
            for item in items.values()
            if item.mime in TEXTS and item.name in package
        }
    if not found:
        raise errors.Unreadable("the book has no chapters")
    return list(found.values())


def _refuse_locked(package: packed.Package, chapters: set[str]) -> None:
    """Locked when chapters are encrypted: by copy protection. Scrambled fonts are usual
    and no matter.
    """
    root = package.maybe("META-INF/encryption.xml")
    for one in () if root is None else root.iter("{*}CipherReference"):
        if _inside("", one.get("URI")) in chapters:
            raise errors.Locked("it is copy protected")


def _about(root: trees.Element) -> units.About:
    said: dict[str, str] = {}
    metadata = officeparts.child(root, "metadata")
    for one in () if metadata is None else metadata.iter():
        said.setdefault(
            officeparts.local(one),
            spacing.clean("".join(one.itertext(with_tail=False))),
        )
    return units.About(
        said.get("title", ""),
        said.get("creator", ""),
        officeparts.iso(said.get("date", "")),
    )


def _titles(
    package: packed.Package, items: Mapping[str, ManifestItem]
) -> dict[str, str]:
    """The titles of the table of contents by file, of the newer kind or the older."""
    titles: dict[str, str] = {}
    for item in items.values():
        if "nav" in item.properties.split() and item.name in package:
            tree = markup.chapter(package.read(item.name))
            for one in () if tree is None else tree.iter("{*}a", "a"):
                titles.setdefault(
                    _inside(item.name, one.get("href")), markup.inline(one)
                )
        elif (
            item.mime == "application/x-dtbncx+xml"
            and (tree := package.maybe(item.name)) is not None
        ):
            for point in tree.iter("{*}navPoint"):
                label, target = (
                    officeparts.child(point, "navLabel", "text"),
                    officeparts.child(point, "content"),
                )
                if label is not None and target is not None:
                    titles.setdefault(
                        _inside(item.name, target.get("src")),
                        spacing.clean(label.text or ""),
                    )
    return titles


def _body(tree: trees.Element) -> trees.Element:
    return next(tree.iter("{*}body", "body"), tree)
