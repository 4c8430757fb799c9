"""Feeds saved as files: RSS, Atom, RDF and CDF with their items, and OPML lists of
feeds.
"""

import calendar
import hashlib
import html
import io
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import feedparser

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import titles
from reverie.ingest.formats import pagetext

LARGEST = 64 * 1024 * 1024
DEEPEST = 200
ENCLOSURE = ("href", "type", "length")
ENTITY = re.compile(rb"<!ENTITY\s+(%\s+)?[^\s>]+\s+(\"[^\"]*\"|'[^']*')")
# feedparser's parsers of dates and markup fail in many ways on values nobody foresaw.
PARSER_FAULTS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    RecursionError,
    OverflowError,
)
DECLARED = re.compile(rb"(\s*<\?xml[^>]{0,200}encoding=[\"'])([\w.:-]{1,40})")
ATTRIBUTE = re.compile(r'\s*([A-Za-z_:][\w:.-]*)\s*=\s*(?:"([^"]*)"|\'([^\']*)\')')


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """The feed, then its items."""
    parsed = parse(source.data)
    feed = _mapping(parsed.get("feed"))
    entries = _list(parsed.get("entries"))
    if not entries and not _is_feed(parsed, feed):
        reason = parsed.get("bozo_exception") or "no title, no items"
        raise errors.Unreadable(f"not a feed: {reason}"[:200])
    link = _text(feed, "link")
    stated = _self_link(feed) or link or _text(feed, "id")
    address = stated or f"file:{source.relative}"
    url = address if "://" in address else None
    key = f"url:{address}"
    yield _feed(feed, key, url, link, parsed)
    seen: set[str] = set()
    for entry in entries:
        item = _item(_mapping(entry), key, address)
        if item.key in seen:
            yield drafts.Skip(item.key, "the same item is in the feed twice")
            continue
        seen.add(item.key)
        yield item


def _is_feed(parsed: Mapping[str, object], feed: Mapping[str, object]) -> bool:
    """Whether feedparser took more out of a file than it takes out of any markup."""
    if _text(feed, "title"):
        return True
    return bool(parsed.get("version") or feed.get("links"))


def parse(
    data: bytes, headers: Mapping[str, str] | None = None
) -> Mapping[str, object]:
    """The feed as feedparser sees it; headers are those it came with over HTTP, such as
    content-location.
    """
    if len(data) > LARGEST:
        raise errors.Unreadable(f"a feed larger than {LARGEST // 1024 // 1024} MB")
    # The billion laughs: an entity of entities of entities.
    data = _truly_labelled(data)
    if _nests_entities(data):
        raise errors.Unreadable(
            "the file defines entities out of other entities, as no feed does"
        )
    try:
        # A stream, never the bytes: feedparser takes those for an address or the name
        # of a file to open.
        stream = io.BytesIO(data)
        response_headers = {"content-type": "application/xml", **(headers or {})}
        parsed = cast(
            "object", feedparser.parse(stream, response_headers=response_headers)
        )
    except PARSER_FAULTS as error:
        raise errors.Unreadable(f"not a feed: {error}") from error
    for entry in _list(_mapping(parsed).get("entries")):
        _mend_link(entry)
    return _mapping(parsed)


def _truly_labelled(data: bytes) -> bytes:
    """The bytes with the label UTF-8 where they are UTF-8, whatever they say."""
    plain = charsets.as_utf8(data)
    label = DECLARED.match(plain)
    if label is None:
        return plain
    codec = charsets.lookup(label[2].decode("ascii", "replace"))
    if (
        codec is None
        or len(plain) < len(data) - 3
        or charsets.is_utf8_against(plain, codec)
    ):
        return b"".join((label[1], b"utf-8", plain[label.end() :]))
    return plain


def _nests_entities(data: bytes) -> bool:
    """Whether an entity is defined out of several others."""
    return any(match[2].count(b"&") > 1 for match in ENTITY.finditer(data))


def _mend_link(entry: object) -> None:
    """feedparser takes an enclosure that has no href for the item's own link, although
    there is a page.
    """
    if not isinstance(entry, dict):
        return
    links = _list(entry.get("links"))
    files = _references(links, "enclosure")
    pages = _references(links, "alternate")
    page = next(filter(None, pages), None)
    if page and entry.get("link") in files:
        entry["link"] = page


def _references(links: list[object], relation: str) -> list[object]:
    """What those of several links refer to that are of one relation."""
    related = [link for link in map(_mapping, links) if link.get("rel") == relation]
    return [link.get("href") for link in related]


def _feed(
    feed: Mapping[str, object],
    key: str,
    url: str | None,
    link: str | None,
    parsed: Mapping[str, object],
) -> drafts.Draft:
    """The feed itself as a record."""
    custom = {
        "language": _text(feed, "language"),
        "author": _text(feed, "author"),
        "rights": _text(feed, "rights"),
        "tags": _tags(feed),
        "updated": _moment(feed, "updated"),
        "format": parsed.get("version"),
        "broken": str(parsed.get("bozo_exception") or "")[:200],
    }
    fields: drafts.Fields = {
        "title": _title(feed) or url,
        "url": url,
        "site_url": link,
        "description": _text(feed, "subtitle") or _text(feed, "info"),
        "custom": custom,
    }
    return drafts.Draft("feed", key, fields)


def _item(entry: Mapping[str, object], feed_key: str, address: str) -> drafts.Draft:
    """One item; `address` is that of its feed."""
    summary = _text(entry, "summary")
    content = _content(entry) or summary
    title = _title(entry)
    url = _text(entry, "link")
    guid = _text(entry, "id") or url or _content_hash(title, content)
    custom: drafts.Fields = {
        "summary": summary if summary != content else None,
        "tags": _tags(entry),
        "updated": _moment(entry, "updated"),
        "enclosures": _enclosures(entry),
    }
    fields: drafts.Fields = {
        "guid": guid,
        "title": title or _first_line(content or "") or None,
        "url": url,
        "author": _text(entry, "author"),
        "published": _published(entry),
        "content": content,
        "custom": custom,
    }
    key = f"guid:{address}|{guid}"
    return drafts.Draft("feed_item", key, fields, {"feed_id": feed_key})


def _content(entry: Mapping[str, object]) -> str | None:
    """The first content that has a text."""
    for part in _list(entry.get("content")):
        if text := _text(_mapping(part), "value"):
            return text
    return None


def _content_hash(title: str | None, content: str | None) -> str:
    """All the identity that an item without an id and a link has."""
    text = "\n".join((title or "", content or ""))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _first_line(markup: str) -> str:
    """How a page begins, for an item without a title."""
    return pagetext.text(markup).split("\n")[0][:120]


def _published(entry: Mapping[str, object]) -> datetime | None:
    """The first time that an item tells."""
    for name in ("published", "updated", "created"):
        if moment := _moment(entry, name):
            return moment
    return None


def _enclosures(entry: Mapping[str, object]) -> list[drafts.Fields]:
    """Files that came with an item, such as a podcast."""
    return [
        {name: file[name] for name in ENCLOSURE if file.get(name)}
        for file in map(_mapping, _list(entry.get("enclosures"))[:50])
    ]


def _mapping(value: object) -> Mapping[str, object]:
    """The value, or an empty mapping in place of any other."""
    return value if isinstance(value, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]


def _list(value: object) -> list[object]:
    """The value, or an empty list in place of any other."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def _text(holder: Mapping[str, object], name: str) -> str | None:
    """A value that is a text and more than white space."""
    value = holder.get(name)
    if isinstance(value, str):
        return value.strip() or None
    return None


def _title(holder: Mapping[str, object]) -> str | None:
    """Its title in plain words, however often it was escaped."""
    return titles.plain(_text(holder, "title") or "") or None


def _tags(holder: Mapping[str, object]) -> list[str]:
    """Its categories, once each."""
    terms: dict[str, None] = {}
    for tag in map(_mapping, _list(holder.get("tags"))):
        if term := _text(tag, "label") or _text(tag, "term"):
            terms[term] = None
    return list(terms)


def _self_link(feed: Mapping[str, object]) -> str | None:
    """The address that a feed says it is at."""
    for link in map(_mapping, _list(feed.get("links"))):
        if link.get("rel") == "self":
            return _text(link, "href")
    return None


def _moment(holder: Mapping[str, object], name: str) -> datetime | None:
    """A time as feedparser read it, in UTC."""
    # feedparser answers for "updated_parsed" with another date where it is missing.
    parsed_name = f"{name}_parsed"
    value = holder.get(parsed_name) if parsed_name in holder else None
    if not isinstance(value, time.struct_time):
        return None
    try:
        return datetime.fromtimestamp(calendar.timegm(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None


@dataclass(frozen=True, slots=True)
class _Outline:
    """An element of an OPML list: a feed, a folder, or another link."""

    attributes: Mapping[str, str]
    folder: str

    @property
    def url(self) -> str:
        """The address of the feed, or "" for another outline."""
        return self.attributes.get("xmlurl", "").strip()

    @property
    def label(self) -> str:
        """Its title."""
        label = self.attributes.get("title") or self.attributes.get("text") or ""
        return titles.plain(label)

    @property
    def link(self) -> str | None:
        """A page that is no feed."""
        return self.attributes.get("htmlurl") or self.attributes.get("url")


def read_opml(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """Every feed of an OPML list."""
    declared = re.match(rb"[^>]{0,200}encoding=[\"']([\w-]+)", source.data[:300])
    charset = declared.group(1).decode() if declared else None
    text, _ = charsets.decode(source.data, charset)
    seen: set[str] = set()
    is_opml = False
    for outline in _outlines(text):
        is_opml = True
        if outline.url and outline.url not in seen:
            seen.add(outline.url)
            yield _listed(outline)
        elif outline.link:
            key = f"url:{outline.url or outline.link}"
            yield drafts.Skip(key, "not a feed, or listed twice")
    if not is_opml:
        raise errors.Unreadable("not an OPML list: it has no outlines")
    if not seen:
        yield drafts.Skip("", "the list holds no feeds")


def _outlines(text: str) -> Iterator[_Outline]:
    """Every outline with the folders around it. Raises Unreadable when they are nested
    too deep.
    """
    # None for an outline that is a feed, and no folder
    folders: list[str | None] = []
    for tag in re.finditer(r"<(/?)outline\b", text, re.IGNORECASE):
        if tag.group(1):
            del folders[-1:]
            continue
        attributes, is_empty = _attributes(text, tag.end())
        outline = _Outline(attributes, "/".join(filter(None, folders)))
        if not is_empty:
            if len(folders) >= DEEPEST:
                raise errors.Unreadable(f"folders are nested more than {DEEPEST} deep")
            folders.append(None if outline.url else outline.label)
        yield outline


def _listed(outline: _Outline) -> drafts.Draft:
    """A feed of a list as a record."""
    attributes = outline.attributes
    fields: drafts.Fields = {
        "title": outline.label.strip() or outline.url,
        "url": outline.url,
        "site_url": attributes.get("htmlurl", "").strip() or None,
        "description": attributes.get("description", "").strip() or None,
        "custom": {
            "folder": outline.folder,
            "format": attributes.get("type"),
            "category": attributes.get("category"),
        },
    }
    return drafts.Draft("feed", f"url:{outline.url}", fields)


def _attributes(text: str, at: int) -> tuple[dict[str, str], bool]:
    """The attributes by name in lower case, and whether the element is empty (`/>`)."""
    attributes: dict[str, str] = {}
    while (attribute := ATTRIBUTE.match(text, at)) is not None:
        name, double_quoted, single_quoted = attribute.groups("")
        attributes[name.lower()] = html.unescape(double_quoted or single_quoted)
        at = attribute.end()
    rest = text[at : at + 50].lstrip()
    return attributes, rest.startswith("/")
