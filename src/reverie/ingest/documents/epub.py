"""EPUB books: the chapters of the spine (reading order), a unit each, with titles of the
table of contents.

META-INF/container.xml names the package file, whose manifest lists all files and whose
spine lists the chapters in order. Titles come from the table of contents: a navigation
document (EPUB 3) or an NCX (EPUB 2).
"""

import posixpath
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.ingest.documents import markup, officeparts, packed, spacing, trees, units

KIND = "an electronic book (EPUB)"
# Media types of chapters (EPUB 3.3 and OEBPS 1.2).
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

    @property
    def is_contents(self) -> bool:
        """Whether it is the table of contents of EPUB 3."""
        return "nav" in self.properties.split()


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What the book says of itself, then its chapters; a chapter's place is its title
    in the table of contents.
    """
    package = packed.Package(source.data, KIND)
    opf = _package_file(package)
    root = package.tree(opf)
    items = _items(root, opf)
    chapters = _spine(package, root, items)
    _refuse_locked(package, {item.name for item in chapters})
    yield _about(root)
    titles = _titles(package, items)
    for number, item in enumerate(chapters, start=1):
        if number < source.first:
            continue
        tree = markup.chapter(package.read(item.name))
        blocks = [] if tree is None else markup.blocks(_body(tree))
        title = titles.get(item.name) or _first_heading(blocks)
        place: units.Place = {"section": title} if title else {}
        yield units.Unit(number, len(chapters), tuple(blocks), place)


def _first_heading(blocks: Sequence[units.Block]) -> str:
    """The title of a chapter that the table of contents leaves out, else ""."""
    for block in blocks:
        if block.kind == "heading":
            return block.text
    return ""


def _package_file(package: packed.Package) -> str:
    """The name of the file that lists all others."""
    container = package.maybe("META-INF/container.xml")
    for rootfile in trees.descendants(container, "{*}rootfile"):
        name = urllib.parse.unquote(rootfile.get("full-path") or "")
        if name in package:
            return name
    for name in package.names():
        if name.lower().endswith(".opf"):
            return name
    raise errors.Unreadable(f"not {KIND}")


def _items(root: trees.Element, opf: str) -> dict[str, ManifestItem]:
    """The files of the manifest by id."""
    items: dict[str, ManifestItem] = {}
    for element in root.iter("{*}item"):
        item_id = element.get("id") or ""
        items[item_id] = ManifestItem(
            name=_inside(opf, element.get("href")),
            mime=element.get("media-type") or "",
            properties=element.get("properties") or "",
        )
    return items


def _inside(base: str, href: str | None) -> str:
    """The name in the package of what a file refers to."""
    file, _, _ = (href or "").partition("#")
    path = urllib.parse.unquote(file)
    folder = posixpath.dirname(base)
    whole = posixpath.join("/", folder, path)
    return posixpath.normpath(whole).lstrip("/")


def _spine(
    package: packed.Package, root: trees.Element, items: Mapping[str, ManifestItem]
) -> Sequence[ManifestItem]:
    """The chapters as they are read, each once; the table of contents says nothing new."""
    texts = {
        item_id: item
        for item_id, item in items.items()
        if item.mime in TEXTS and item.name in package
    }
    chapters: dict[str, ManifestItem] = {}
    for reference in root.iter("{*}itemref"):
        item = texts.get(reference.get("idref") or "")
        if item is not None and not item.is_contents:
            chapters.setdefault(item.name, item)
    if not chapters:
        chapters = {item.name: item for item in texts.values()}
    if not chapters:
        raise errors.Unreadable("the book has no chapters")
    return list(chapters.values())


def _refuse_locked(package: packed.Package, chapters: set[str]) -> None:
    """Locked when chapters are encrypted: by copy protection. Scrambled fonts are usual
    and no matter.
    """
    root = package.maybe("META-INF/encryption.xml")
    for reference in trees.descendants(root, "{*}CipherReference"):
        if _inside("", reference.get("URI")) in chapters:
            raise errors.Locked("it is copy protected")


def _about(root: trees.Element) -> units.About:
    """Title, author and date of the Dublin Core metadata."""
    properties: dict[str, str] = {}
    for element in trees.descendants(officeparts.child(root, "metadata")):
        text = spacing.clean("".join(element.itertext(with_tail=False)))
        properties.setdefault(officeparts.local(element), text)
    return units.About(
        title=properties.get("title", ""),
        author=properties.get("creator", ""),
        created=officeparts.iso(properties.get("date", "")),
    )


def _titles(
    package: packed.Package, items: Mapping[str, ManifestItem]
) -> dict[str, str]:
    """The titles of the table of contents by file, of the newer kind or the older."""
    titles: dict[str, str] = {}
    for item in items.values():
        if item.is_contents and item.name in package:
            entries = _contents(package, item)
        elif item.mime == "application/x-dtbncx+xml":
            entries = _older_contents(package, item)
        else:
            continue
        for name, title in entries:
            titles.setdefault(name, title)
    return titles


def _contents(package: packed.Package, item: ManifestItem) -> Iterator[tuple[str, str]]:
    """Files and titles in a navigation document (EPUB 3)."""
    tree = markup.chapter(package.read(item.name))
    for link in trees.descendants(tree, "{*}a", "a"):
        yield _inside(item.name, link.get("href")), markup.inline(link)


def _older_contents(
    package: packed.Package, item: ManifestItem
) -> Iterator[tuple[str, str]]:
    """Files and titles in an NCX (EPUB 2)."""
    for point in trees.descendants(package.maybe(item.name), "{*}navPoint"):
        label = officeparts.child(point, "navLabel", "text")
        target = officeparts.child(point, "content")
        if label is not None and target is not None:
            title = spacing.clean(label.text or "")
            yield _inside(item.name, target.get("src")), title


def _body(tree: trees.Element) -> trees.Element:
    """The body of a page, or all of a tree without one."""
    return next(tree.iter("{*}body", "body"), tree)
