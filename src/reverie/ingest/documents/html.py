"""Web pages: the text of the article with its headings, lists and tables, without what
surrounds it on the page.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import trafilatura

from reverie import errors
from reverie.ingest.documents import markup, officeparts, packed, spacing, trees, units

KIND = "a web page"
AROUND = frozenset(["nav", "aside", "dialog", "menu"])
PARTS = frozenset(["article", "main", "section"])
CALLED = re.compile(
    r"(?i)(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|breadcrumbs?|footer|banner|share|social|related|pagination|toc)(?:[\s_-]|$)"
)
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
# of a page's text at least is in what it calls its main part, or that part is not
# believed
MAIN = 0.3
# of the text in links: from here on a page is a frame around an article, if there is
# one
LINKED = 0.5
SHORT = (
    2_000  # characters: a page of no more surrounds nothing, all of it is what it says
)
DEEP = 400  # levels; trafilatura walks trees by recursion
BINARY, SAMPLE = (
    re.compile("[\x00-\x08\x0e-\x1f\ufffd]"),
    4096,
)  # more than a twentieth of these is no text
LARGE = 1_000_000  # characters; trafilatura takes seconds for as many
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
def read(given: units.Given) -> Iterator[units.Read]:
    """What the page says of itself, then its text as one unit."""
    text, encoding = markup.decoded(given.data)
    if len(BINARY.findall(text[:SAMPLE])) * 20 > len(text[:SAMPLE]):
        raise errors.Unreadable(f"not {KIND}")
    root = markup.page(text)
    if root is None:
        raise errors.Unreadable("the file is empty")
    yield _about(root, encoding)
    if given.first <= 1:
        yield units.Unit(1, 1, tuple(article(root, text)))


def article(root: trees.Element, text: str) -> list[units.Block]:
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
    said = sum(len(block.text) for block in blocks)
    if left_out and said < SHORT:
        everything = markup.blocks(body)
        if not blocks or sum(len(block.text) for block in everything) < SHORT:
            return everything
    links = measures[part].links - sum(measures[one].links for one in left_out)
    if said >= SHORT and links > LINKED * said and len(text) < LARGE and deepest < DEEP:
        found = trafilatura.extract(
            text, output_format="html", include_tables=True, favor_recall=True
        )
        chosen = markup.page(found) if found else None
        small = [] if chosen is None else markup.blocks(chosen)
        if sum(len(block.text) for block in small) > 500:
            return small
    return blocks


def _measured(body: trees.Element) -> tuple[dict[trees.Element, Measure], int]:
    """The measures of all elements, and how deep they are nested; one pass, whatever
    the page is like.
    """
    found: dict[trees.Element, Measure] = {}
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
        measure = found[element] = stack.pop()
        if name in markup.SILENT:
            measure.text = measure.links = 0
        else:
            measure.text += len((element.text or "").strip())
        if name == "a":
            measure.links = measure.text
        measure.titled |= name == "h1"
        if stack:
            stack[-1].text += measure.text + len((element.tail or "").strip())
            stack[-1].links += measure.links
            stack[-1].titled |= measure.titled
    return found, deepest


def _main(
    body: trees.Element, measures: Mapping[trees.Element, Measure]
) -> trees.Element:
    """What the page marks as its main part, if that holds a good share of its text;
    else all of it.
    """
    marked = [*body.iter("main")] or [
        one for one in body.iter() if one.get("role") == "main"
    ]
    for found in (marked, [*body.iter("article")]):
        if len(found) == 1 and measures[found[0]].text >= MAIN * measures[body].text:
            return found[0]
    return body


def _left_out(
    part: trees.Element, measures: Mapping[trees.Element, Measure]
) -> frozenset[trees.Element]:
    """The outermost elements that surround the text."""
    found: set[trees.Element] = set()
    walker = trees.walk(part, "start")
    for _, element in walker:
        if element is not part and _surrounds(element, measures[element]):
            found.add(element)
            walker.skip_subtree()
    return frozenset(found)


def _surrounds(element: trees.Element, measure: Measure) -> bool:
    name = officeparts.local(element)
    if name in {"header", "footer"}:
        return measure.outside and not measure.titled
    if name in AROUND or element.get("role") in ROLES:
        return True
    named = f"{element.get('id') or ''} {element.get('class') or ''}"
    return (
        name in {"div", "ul", "section"}
        and CALLED.search(named) is not None
        and measure.links > LINKED * measure.text
    )


def _about(root: trees.Element, encoding: str) -> units.About:
    said: dict[str, str] = {}
    for one in root.iter("meta"):
        key = (
            one.get("property") or one.get("name") or one.get("itemprop") or ""
        ).lower()
        said.setdefault(key, spacing.clean(one.get("content") or ""))
    title = next(root.iter("title"), None)
    named = "" if title is None else spacing.clean("".join(title.itertext()))
    time = next(
        (one.get("datetime") or "" for one in root.iter("time") if one.get("datetime")),
        "",
    )
    when = next((said[key] for key in WHEN if said.get(key)), time)
    who = next((said[key] for key in WHO if said.get(key)), "")
    return units.About(
        named or next((said[key] for key in NAMED if said.get(key)), ""),
        "" if re.match(r"https?://", who) else who,
        officeparts.iso(when.strip().replace("/", "-")),
        encoding,
    )
