"""XML and HTML trees by lxml, typed, with parsers hardened against hostile files (XXE,
billion laughs).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import lxml.etree as _etree
import lxml.html as _html

from reverie import errors

xml: Any = _etree  # it ships no types; what of it is used has those below
html: Any = _html

SyntaxFault: type[Exception] = xml.XMLSyntaxError
"""What broken XML raises."""


class Element(Protocol):
    """An element of a tree. `tag` is no text for an entity; `tail` is what follows it
    inside its parent.
    """

    tag: object
    text: str | None
    tail: str | None

    @property
    def attrib(self) -> Mapping[str, str]: ...
    def get(self, key: str, /) -> str | None: ...
    def iter(self, *tags: str) -> Iterator["Element"]: ...
    def iterchildren(self, *tags: str) -> Iterator["Element"]: ...
    def iterdescendants(self, *tags: str) -> Iterator["Element"]: ...
    def iterancestors(self, *tags: str) -> Iterator["Element"]: ...
    def itertext(self, *, with_tail: bool = True) -> Iterator[str]: ...
    def getparent(self) -> "Element | None": ...
    def getprevious(self) -> "Element | None": ...
    def remove(self, element: "Element", /) -> None: ...
    def clear(self) -> None: ...
    def __iter__(self) -> Iterator["Element"]: ...
    def __hash__(self) -> int: ...


class Walker(Protocol):
    """A walk through a tree that tells where elements start and end."""

    def skip_subtree(self) -> None: ...
    def __iter__(self) -> Iterator[tuple[str, Element]]: ...


class Readable(Protocol):
    """What can be read piece by piece."""

    def read(self, size: int = ..., /) -> bytes: ...


def parsed(data: bytes) -> Element:
    """XML without entities, network or DTD. Unreadable when it declares entities,
    SyntaxFault when it is broken.
    """
    parser = xml.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=False,
    )
    root: Any = xml.fromstring(data, parser)
    declared: Any = root.getroottree().docinfo.internalDTD
    if declared is not None and next(iter(declared.iterentities()), None) is not None:
        raise errors.Unreadable(
            "it declares entities of its own, as only an attack does"
        )
    return cast("Element", root)


def elements(stream: Readable, tags: Sequence[str]) -> Iterator[Element]:
    """The elements called `tags` (local names) as they end; each is freed after its
    turn.
    """
    walk = xml.iterparse(
        stream,
        events=("end",),
        tag=[f"{{*}}{tag}" for tag in tags],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    for _, element in cast("Iterator[tuple[str, Element]]", walk):
        yield element
        element.clear()
        _forget_before(element)


def _forget_before(element: Element) -> None:
    """Free the elements that stand before one in its parent."""
    parent = element.getparent()
    if parent is None:
        return
    while (before := element.getprevious()) is not None:
        parent.remove(before)


def page(text: str) -> Element | None:
    """HTML, however broken; None when there is nothing in it. Entities of its own mean
    nothing in it.

    Unreadable when it is nested so deeply that the parser would drop the rest without a
    word.
    """
    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser)
    except xml.ParserError:
        return None
    if any("depth" in str(entry.message).lower() for entry in parser.error_log):
        raise errors.Unreadable("its parts are nested too deeply")
    return cast("Element", root)


def children(element: Element | None, *tags: str) -> Iterator[Element]:
    """The children of an element, of those tags if any are given; none of None."""
    return iter(()) if element is None else element.iterchildren(*tags)


def descendants(element: Element | None, *tags: str) -> Iterator[Element]:
    """An element itself and all below it, of those tags if any are given; none of None."""
    return iter(()) if element is None else element.iter(*tags)


def full_text(element: Element | None) -> str:
    """All text inside an element, "" of None."""
    return "" if element is None else "".join(element.itertext())


def walk(root: Element, *events: str) -> Walker:
    """A walk through a tree without recursion; events are "start" and "end"."""
    return cast("Walker", xml.iterwalk(root, events=events))
