"""Web pages (HTML): main content extraction, without the boilerplate around an article."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import trafilatura

from reverie import errors
from reverie.ingest.documents import (
    markup,
    officeparts,
    packed,
    spacing,
    titles,
    trees,
    units,
)

KIND = "a web page"
# Elements, and roles (WAI-ARIA), that surround an article.
AROUND = frozenset(["nav", "aside", "dialog", "menu"])
ROLES = frozenset(
    [
        "navigation",
        "banner",
        "contentinfo",
        "complementary",
        "search",
        "dialog",
        "alertdialog",
        "menu",
    ]
)
PARTS = frozenset(["article", "main", "section"])
# What pages call their navigation and the like, in an id or a class.
CALLED = re.compile(
    r"(?i)(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|breadcrumbs?|footer|banner|share|social|related|pagination|toc)(?:[\s_-]|$)"
)
# Thresholds are set by hand; bench/extraction.py measures pages with them
# (docs/decisions/0020).
# Of a page's text at least is in what it calls its main part, or that part is not
# believed.
MAIN = 0.3
# Of the text in links: from here on a page is a frame around an article, if there is
# one.
LINKED = 0.5
# Characters: a page of no more surrounds nothing, all of it is what it says.
SHORT = 2_000
# Characters: what trafilatura chooses is taken if it is longer.
CHOSEN = 500
# Levels; trafilatura walks trees by recursion.
DEEP = 400
# Characters; trafilatura takes seconds for as many.
LARGE = 1_000_000
# More than a twentieth of these in the sample is no text.
BINARY = re.compile("[\x00-\x08\x0e-\x1f\ufffd]")
SAMPLE = 4096
# Names of metadata (Open Graph, Dublin Core, Highwire, Parse.ly), best first.
WHO = (
    "author",
    "article:author",
    "dc.creator",
    "dcterms.creator",
    "citation_author",
    "parsely-author",
)
WHEN = (
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dcterms.created",
    "dcterms.date",
    "citation_publication_date",
    "parsely-pub-date",
    "pubdate",
    "og:published_time",
)
NAMED = ("og:title", "twitter:title", "dc.title", "citation_title")


@dataclass(slots=True)
class Measure:
    """Characters of text in an element, and of those in links; whether it is titled,
    and outside every part.
    """

    text: int = 0
    links: int = 0
    titled: bool = False
    outside: bool = True


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """What the page says of itself, then its text as one unit."""
    text, encoding = markup.decoded(source.data)
    sample = text[:SAMPLE]
    binary = BINARY.findall(sample)
    if len(binary) * 20 > len(sample):
        raise errors.Unreadable(f"not {KIND}")
    root = markup.page(text)
    if root is None:
        raise errors.Unreadable("the file is empty")
    yield _about(root, encoding)
    if source.first <= 1:
        yield units.whole(article(root, text))


def article(root: trees.Element, text: str) -> units.Blocks:
    """The blocks of a page's main part.

    Recall comes first: all of the page is read but for what marks itself as navigation
    and the like. Where most of that is still links, trafilatura's choice is taken, if
    it makes one.
    """
    body = next(root.iter("body"), root)
    measures, deepest = _measured(body)
    part = _main(body, measures)
    left_out = _left_out(part, measures)
    blocks = markup.blocks(part, left_out)
    length = _length(blocks)
    if left_out and length < SHORT:
        everything = markup.blocks(body)
        if not blocks or _length(everything) < SHORT:
            return everything
    links = _links(part, left_out, measures)
    mostly_links = length >= SHORT and links > LINKED * length
    if mostly_links and len(text) < LARGE and deepest < DEEP:
        return _chosen(text) or blocks
    return blocks


def _links(
    part: trees.Element,
    left_out: Iterable[trees.Element],
    measures: Mapping[trees.Element, Measure],
) -> int:
    """Characters of a part's text in links, without the elements that are left out."""
    links = measures[part].links
    for element in left_out:
        links -= measures[element].links
    return links


def _length(blocks: Iterable[units.Block]) -> int:
    """Characters of text in blocks."""
    return sum(len(block.text) for block in blocks)


def _chosen(text: str) -> units.Blocks:
    """What trafilatura takes for the article, [] when that is next to nothing."""
    extracted = trafilatura.extract(
        text, output_format="html", include_tables=True, favor_recall=True
    )
    page = markup.page(extracted) if extracted else None
    if page is None:
        return []
    blocks = markup.blocks(page)
    return blocks if _length(blocks) > CHOSEN else []


def _measured(body: trees.Element) -> tuple[dict[trees.Element, Measure], int]:
    """The measures of all elements, and how deep they are nested; one pass, whatever
    the page is like.
    """
    measures: dict[trees.Element, Measure] = {}
    deepest = 0
    stack: list[Measure] = []
    inside = 0  # of an article or the like, whose own head and foot are part of it
    for event, element in trees.walk(body, "start", "end"):
        name = officeparts.local(element)
        if event == "start":
            stack.append(Measure(outside=not inside))
            inside += name in PARTS
            deepest = max(deepest, len(stack))
            continue
        inside -= name in PARTS
        measure = stack.pop()
        measures[element] = measure
        _add_own(measure, element, name)
        if stack:
            parent = stack[-1]
            parent.text += measure.text + _stripped_length(element.tail)
            parent.links += measure.links
            parent.titled |= measure.titled
    return measures, deepest


def _add_own(measure: Measure, element: trees.Element, name: str) -> None:
    """Add what an element holds itself to the measure of those inside it."""
    if name in markup.SILENT:
        measure.text = 0
        measure.links = 0
    else:
        measure.text += _stripped_length(element.text)
    if name == "a":
        measure.links = measure.text
    measure.titled |= name == "h1"


def _stripped_length(text: str | None) -> int:
    """Characters of a text without white space around it."""
    return len(text.strip()) if text else 0


def _main(
    body: trees.Element, measures: Mapping[trees.Element, Measure]
) -> trees.Element:
    """What the page marks as its main part, if that holds a good share of its text;
    else all of it.
    """
    marked = list(body.iter("main"))
    if not marked:
        marked = [each for each in body.iter() if each.get("role") == "main"]
    least = MAIN * measures[body].text
    for parts in (marked, list(body.iter("article"))):
        if len(parts) == 1 and measures[parts[0]].text >= least:
            return parts[0]
    return body


def _left_out(
    part: trees.Element, measures: Mapping[trees.Element, Measure]
) -> frozenset[trees.Element]:
    """The outermost elements that surround the text."""
    outside: set[trees.Element] = set()
    walker = trees.walk(part, "start")
    for _, element in walker:
        if element is not part and _surrounds(element, measures[element]):
            outside.add(element)
            walker.skip_subtree()
    return frozenset(outside)


def _surrounds(element: trees.Element, measure: Measure) -> bool:
    """Whether an element is navigation, a banner or the like by what it calls itself."""
    name = officeparts.local(element)
    if name in {"header", "footer"}:
        return measure.outside and not measure.titled
    if name in AROUND or element.get("role") in ROLES:
        return True
    if name not in {"div", "ul", "section"}:
        return False
    identity = element.get("id") or ""
    classes = element.get("class") or ""
    if not CALLED.search(f"{identity} {classes}"):
        return False
    return measure.links > LINKED * measure.text


def _about(root: trees.Element, encoding: str) -> units.About:
    """Title, author and date by the page's metadata."""
    properties = _metadata(root)
    element = next(root.iter("title"), None)
    title = titles.plain(spacing.clean(trees.full_text(element)))
    author = _first(properties, WHO)
    if re.match(r"https?://", author):
        author = ""
    created = _first(properties, WHEN) or _time(root)
    return units.About(
        title=title or titles.plain(_first(properties, NAMED)),
        author=author,
        created=officeparts.iso(created.strip().replace("/", "-")),
        encoding=encoding,
    )


def _metadata(root: trees.Element) -> dict[str, str]:
    """The contents of the meta elements by name in lower case; the first counts."""
    properties: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        content = spacing.clean(meta.get("content") or "")
        properties.setdefault(name.lower(), content)
    return properties


def _first(properties: Mapping[str, str], names: Iterable[str]) -> str:
    """The first of several properties that says something, else ""."""
    for name in names:
        if text := properties.get(name):
            return text
    return ""


def _time(root: trees.Element) -> str:
    """The first time that the page marks as one."""
    for element in root.iter("time"):
        if moment := element.get("datetime"):
            return moment
    return ""
