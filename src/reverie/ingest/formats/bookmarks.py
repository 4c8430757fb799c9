"""Netscape bookmark files, the export of every browser."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from urllib import parse

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import titles

# Tokens instead of a tree: the format never closes DT and DD, and is no valid HTML in
# any browser's version.
TAG = re.compile(r"<(/?)(DL|DT|DD|H1|H3|A|HR|P|META|TITLE)\b", re.IGNORECASE)
ATTRIBUTE = re.compile(
    r'\s*([A-Za-z_:-]+)\s*=\s*(?:"([^"]*)"|\'([^\']*)\'|([^\s>"\']+))'
)
DECLARED = re.compile(rb"charset=[\"']?([\w-]+)", re.IGNORECASE)
LONGEST_URL = 8000  # set by hand, about what web servers take at most
_YEAR_3000 = 32_503_680_000
NO_PAGES = {
    "place": "a query of the browser, not a page",
    "javascript": "a script, not a page",
    "data": "a page written into its own address",
    "about": "a page of the browser itself",
    "chrome": "a page of the browser itself",
    "edge": "a page of the browser itself",
    "vivaldi": "a page of the browser itself",
    "moz-extension": "a page of a browser extension",
    "chrome-extension": "a page of a browser extension",
}


@dataclass(slots=True)
class Mark:
    """A bookmark while its title and description are still coming."""

    attributes: Mapping[str, str]
    folders: list[str]
    title: str = ""
    description: str = ""


@dataclass(slots=True)
class FolderWalk:
    """Where in the tree of folders the reading is."""

    folders: list[str] = field(default_factory=list[str])
    # a folder's heading, until its DL opens
    pending: str = ""
    mark: Mark | None = None
    # what the text between tags belongs to
    target: Literal["", "folder", "title", "description"] = ""

    def take_mark(self) -> Mark | None:
        """The bookmark that ends here; there is none any more."""
        mark, self.mark = self.mark, None
        return mark


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """One bookmark a link, with the folders it lies in."""
    declared = DECLARED.search(source.data[:2000])
    text, _ = charsets.decode(
        source.data, declared.group(1).decode() if declared else None
    )
    seen: set[str] = set()
    for mark in _marks(text):
        item = _bookmark(mark)
        if isinstance(item, drafts.Draft) and item.key in seen:
            folder = "/".join(mark.folders) or "the top folder"
            item = drafts.Skip(item.key, f"the same page again, in {folder}")
        seen.add(item.key)
        yield item
    if seen:
        return
    if "<DL" not in text.upper():
        raise errors.Unreadable("not a bookmark file: it has no list of links")
    yield drafts.Skip("", "the file holds no bookmarks")


def _marks(text: str) -> Iterator[Mark]:
    """The bookmarks in their order, each as soon as it ends."""
    walk = FolderWalk()
    at = 0
    while (tag := TAG.search(text, at)) is not None:
        _take_text(walk, text[at : tag.start()])
        attributes, at = _attributes(text, tag.end())
        slash, name = tag.group(1, 2)
        done = _take_tag(walk, name.upper(), bool(slash), attributes)
        if done is not None:
            yield done
    _take_text(walk, text[at:])
    if walk.mark:
        yield walk.mark


def _attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag by name in capitals, and where the text goes on."""
    attributes: dict[str, str] = {}
    while (attribute := ATTRIBUTE.match(text, at)) is not None:
        double_quoted, single_quoted, bare = attribute.groups("")[1:]
        value = double_quoted or single_quoted or bare
        attributes[attribute.group(1).upper()] = html.unescape(value)
        at = attribute.end()
    end = text.find(">", at, at + 2000)
    return attributes, end + 1 if end >= 0 else at


def _take_text(walk: FolderWalk, raw: str) -> None:
    """Add the text between two tags to what it belongs to."""
    text = html.unescape(re.sub(r"<[^<>]{0,200}>", "", raw))
    if walk.target == "folder":
        walk.pending += text
    elif walk.mark and walk.target == "title":
        walk.mark.title += text
    elif walk.mark and walk.target == "description":
        walk.mark.description += text


def _take_tag(
    walk: FolderWalk, tag: str, closing: bool, attributes: Mapping[str, str]
) -> Mark | None:
    """The bookmark that ends here, if one does."""
    if tag == "A":
        return _take_link(walk, closing, attributes)
    if tag == "DD":
        walk.target = "" if closing or walk.mark is None else "description"
        return None
    if tag == "H3":
        return _take_heading(walk, closing)
    if tag not in {"DT", "HR", "DL"}:
        return None
    if tag == "DL":
        _take_list(walk, closing)
    walk.target = ""
    return walk.take_mark()


def _take_link(
    walk: FolderWalk, closing: bool, attributes: Mapping[str, str]
) -> Mark | None:
    """The bookmark before this one: many writers never close it."""
    if closing:
        walk.target = ""
        return None
    done = walk.take_mark()
    walk.mark = Mark(attributes, [*walk.folders])
    walk.target = "title"
    return done


def _take_heading(walk: FolderWalk, closing: bool) -> Mark | None:
    """A folder begins, and the bookmark before it ends."""
    if closing:
        walk.target = ""
        return None
    walk.target = "folder"
    walk.pending = ""
    return walk.take_mark()


def _take_list(walk: FolderWalk, closing: bool) -> None:
    """Enter or leave a folder. Raises Unreadable for folders nested too deep."""
    if closing:
        if walk.folders:
            walk.folders.pop()
        return
    if len(walk.folders) > 200:
        raise errors.Unreadable("folders are nested more than 200 deep")
    walk.folders.append(titles.plain(walk.pending))
    walk.pending = ""


def _bookmark(mark: Mark) -> drafts.DraftOrSkip:
    """The record of a link, or why it makes none."""
    url = mark.attributes.get("HREF", "").strip()
    refused = _refusal(url, mark)
    if refused is not None:
        return refused
    fields: drafts.Fields = {
        "url": url,
        "title": titles.plain(mark.title) or url,
        "excerpt": mark.description.strip() or None,
        "tags": _tags(mark) or None,
        "folder": "/".join(filter(None, mark.folders)) or None,
        "custom": _custom(mark),
    }
    return drafts.Draft("bookmark", f"url:{url}", fields)


def _refusal(url: str, mark: Mark) -> drafts.Skip | None:
    """Why a link makes no bookmark; None when it does."""
    if not url:
        return drafts.Skip("url:", f"a link without an address: {mark.title[:80]}")
    try:
        scheme = parse.urlsplit(url).scheme.lower()
    except ValueError:
        return drafts.Skip(f"url:{url}", "a link with a broken address")
    if scheme in NO_PAGES:
        return drafts.Skip(f"url:{url[:200]}", NO_PAGES[scheme])
    if len(url) > LONGEST_URL:
        reason = f"an address longer than {LONGEST_URL:,} characters"
        return drafts.Skip(f"url:{url[:200]}", reason)
    return None


def _tags(mark: Mark) -> list[str]:
    """Its tags, once each."""
    tags = map(str.strip, mark.attributes.get("TAGS", "").split(","))
    return list(dict.fromkeys(filter(None, tags)))


def _custom(mark: Mark) -> drafts.Fields:
    """What the exports of single browsers tell."""
    attributes = mark.attributes
    return {
        "created": _time(attributes.get("ADD_DATE", "")),
        "modified": _time(attributes.get("LAST_MODIFIED", "")),
        "keyword": attributes.get("SHORTCUTURL"),
        "private": attributes.get("PRIVATE") == "1" or None,
        "unread": attributes.get("TOREAD") == "1" or None,
    }


def _time(raw: str) -> datetime | None:
    """Seconds since 1970, in some exports milli- or microseconds."""
    if not re.fullmatch(r"\d{1,20}", raw.strip()):
        return None
    seconds = int(raw)
    while seconds > _YEAR_3000:
        seconds //= 1000
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None
