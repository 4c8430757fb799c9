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
from datetime import UTC, datetime
from typing import cast

import feedparser

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.formats import pagetext

LARGEST = 64 * 1024 * 1024
DEEPEST = 200
ENTITY = re.compile(rb"<!ENTITY\s+(%\s+)?[^\s>]+\s+(\"[^\"]*\"|'[^']*')")
ATTRIBUTE = re.compile(r'\s*([A-Za-z_:][\w:.-]*)\s*=\s*(?:"([^"]*)"|\'([^\']*)\')')


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """The feed, then its items."""
    parsed = parse(source.data)
    feed = _mapping(parsed.get("feed"))
    entries = _list(parsed.get("entries"))
    if not (
        entries or _text(feed, "title") or parsed.get("version") or feed.get("links")
    ):
        raise errors.Unreadable(
            f"not a feed: {parsed.get('bozo_exception') or 'no title, no items'}"[:200]
        )
    link = _text(feed, "link")
    address = _self_link(feed) or link or _text(feed, "id") or f"file:{source.relative}"
    key = f"url:{address}"
    yield _feed(feed, key, address if "://" in address else None, link, parsed)
    seen: set[str] = set()
    for entry in entries:
        item = _item(_mapping(entry), key, address)
        if item.key in seen:
            yield drafts.Skip(item.key, "the same item is in the feed twice")
            continue
        seen.add(item.key)
        yield item


def parse(
    data: bytes, headers: Mapping[str, str] | None = None
) -> Mapping[str, object]:
    """The feed as feedparser sees it; headers are those it came with over HTTP, such as
    content-location.
    """
    if len(data) > LARGEST:
        raise errors.Unreadable(f"a feed larger than {LARGEST // 1024 // 1024} MB")
    if any(
        b"&" in match.group(2) and match.group(2).count(b"&") > 1
        for match in ENTITY.finditer(data[:LARGEST])
    ):
        raise errors.Unreadable(
            "the file defines entities out of other entities, as no feed does"
        )
    try:
        # A stream, never the bytes: feedparser takes those for an address or the name
        # of a file to open.
        parsed = cast(
            "object",
            feedparser.parse(
                io.BytesIO(data),
                response_headers={"content-type": "application/xml", **(headers or {})},
            ),
        )
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        AssertionError,
        RecursionError,
        OverflowError,
    ) as error:
        # Its date and markup parsers fail in many ways on values nobody foresaw.
        raise errors.Unreadable(f"not a feed: {error}") from error
    for entry in _list(_mapping(parsed).get("entries")):
        _mend_link(entry)
    return _mapping(parsed)


def _mend_link(entry: object) -> None:
    """feedparser takes an enclosure that has no href for the item's own link, although
    there is a page.
    """
    if not isinstance(entry, dict):
        return
    links = [_mapping(link) for link in _list(entry.get("links"))]
    files = {link.get("href") for link in links if link.get("rel") == "enclosure"}
    page = next(
        (
            link["href"]
            for link in links
            if link.get("rel") == "alternate" and link.get("href")
        ),
        None,
    )
    if page and entry.get("link") in files:
        entry["link"] = page


def _feed(
    feed: Mapping[str, object],
    key: str,
    url: str | None,
    link: str | None,
    parsed: Mapping[str, object],
) -> drafts.Draft:
    return drafts.Draft(
        "feed",
        key,
        {
            "title": _text(feed, "title") or url,
            "url": url,
            "site_url": link,
            "description": _text(feed, "subtitle") or _text(feed, "info"),
            "custom": {
                "language": _text(feed, "language"),
                "author": _text(feed, "author"),
                "rights": _text(feed, "rights"),
                "tags": _tags(feed),
                "updated": _moment(feed, "updated"),
                "format": parsed.get("version"),
                "broken": str(parsed.get("bozo_exception") or "")[:200],
            },
        },
    )


def _item(entry: Mapping[str, object], feed_key: str, address: str) -> drafts.Draft:
    contents = [_mapping(part) for part in _list(entry.get("content"))]
    content = next(
        (text for part in contents if (text := _text(part, "value"))), None
    ) or _text(entry, "summary")
    title, url = _text(entry, "title"), _text(entry, "link")
    guid = _text(entry, "id") or url
    if not guid:  # content is all the identity such an item has
        guid = hashlib.sha256(
            "\n".join((title or "", content or "")).encode("utf-8", "replace")
        ).hexdigest()
    enclosures = [_mapping(part) for part in _list(entry.get("enclosures"))]
    summary = _text(entry, "summary")
    return drafts.Draft(
        "feed_item",
        f"guid:{address}|{guid}",
        {
            "guid": guid,
            "title": title
            or (pagetext.text(content or "").split("\n")[0][:120] or None),
            "url": url,
            "author": _text(entry, "author"),
            "published": _moment(entry, "published")
            or _moment(entry, "updated")
            or _moment(entry, "created"),
            "content": content,
            "custom": {
                "summary": summary if summary != content else None,
                "tags": _tags(entry),
                "updated": _moment(entry, "updated"),
                "enclosures": [
                    {
                        name: part[name]
                        for name in ("href", "type", "length")
                        if part.get(name)
                    }
                    for part in enclosures[:50]
                ],
            },
        },
        {"feed_id": feed_key},
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def _text(holder: Mapping[str, object], name: str) -> str | None:
    value = holder.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _tags(holder: Mapping[str, object]) -> list[str]:
    terms = (
        _text(_mapping(tag), "label") or _text(_mapping(tag), "term")
        for tag in _list(holder.get("tags"))
    )
    return list(dict.fromkeys(term for term in terms if term))


def _self_link(feed: Mapping[str, object]) -> str | None:
    links = (_mapping(link) for link in _list(feed.get("links")))
    return next(
        (_text(link, "href") for link in links if link.get("rel") == "self"), None
    )


def _moment(holder: Mapping[str, object], name: str) -> datetime | None:
    value = holder.get(f"{name}_parsed") if f"{name}_parsed" in holder else None
    if not isinstance(value, time.struct_time):
        return None
    try:
        return datetime.fromtimestamp(calendar.timegm(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def read_opml(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """Every feed of an OPML list."""
    declared = re.match(rb"[^>]{0,200}encoding=[\"']([\w-]+)", source.data[:300])
    text, _ = charsets.decode(
        source.data, declared.group(1).decode() if declared else None
    )
    found: set[str] = set()
    outlines = 0
    folders: list[str | None] = []
    for tag in re.finditer(r"<(/?)outline\b", text, re.IGNORECASE):
        if tag.group(1):
            if folders:
                folders.pop()
            continue
        outlines += 1
        attributes, closed = _attributes(text, tag.end())
        url = attributes.get("xmlurl", "").strip()
        label = attributes.get("title") or attributes.get("text") or ""
        path = "/".join(folder for folder in folders if folder)
        if not closed:
            if len(folders) >= DEEPEST:
                raise errors.Unreadable(f"folders are nested more than {DEEPEST} deep")
            folders.append(label if not url else None)
        if url and f"url:{url}" not in found:
            found.add(f"url:{url}")
            yield _listed(url, label, path, attributes)
        elif attributes.get("htmlurl") or attributes.get("url"):
            yield drafts.Skip(
                f"url:{url or attributes.get('htmlurl') or attributes.get('url')}",
                "not a feed, or listed twice",
            )
    if not found:
        reason = (
            "the list holds no feeds"
            if outlines
            else "not an OPML list: it has no outlines"
        )
        if not outlines:
            raise errors.Unreadable(reason)
        yield drafts.Skip("", reason)


def _listed(
    url: str, label: str, path: str, attributes: Mapping[str, str]
) -> drafts.Draft:
    return drafts.Draft(
        "feed",
        f"url:{url}",
        {
            "title": label.strip() or url,
            "url": url,
            "site_url": attributes.get("htmlurl", "").strip() or None,
            "description": attributes.get("description", "").strip() or None,
            "custom": {
                "folder": path,
                "format": attributes.get("type"),
                "category": attributes.get("category"),
            },
        },
    )


def _attributes(text: str, at: int) -> tuple[dict[str, str], bool]:
    found: dict[str, str] = {}
    while (attribute := ATTRIBUTE.match(text, at)) is not None:
        found[attribute.group(1).lower()] = html.unescape(
            attribute.group(2) or attribute.group(3) or ""
        )
        at = attribute.end()
    return found, text[at : at + 50].lstrip().startswith("/")
