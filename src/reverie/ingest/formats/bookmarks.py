"""Netscape bookmark files, the export of every browser."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib import parse

from reverie import errors
from reverie.ingest import charsets, drafts

# Tokens instead of a tree: the format never closes DT and DD, and is no valid HTML in
# any browser's version.
TAG = re.compile(r"<(/?)(DL|DT|DD|H1|H3|A|HR|P|META|TITLE)\b", re.IGNORECASE)
ATTRIBUTE = re.compile(
    r'\s*([A-Za-z_:-]+)\s*=\s*(?:"([^"]*)"|\'([^\']*)\'|([^\s>"\']+))'
)
DECLARED = re.compile(rb"charset=[\"']?([\w-]+)", re.IGNORECASE)
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
    pending: str = ""  # a folder's heading, until its DL opens
    mark: Mark | None = None
    target: str = ""  # what the text between tags belongs to


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """One bookmark a link, with the folders it lies in."""
    declared = DECLARED.search(source.data[:2000])
    text, _ = charsets.decode(
        source.data, declared.group(1).decode() if declared else None
    )
    seen: set[str] = set()
    found = False
    for mark in _marks(text):
        found = True
        item = _bookmark(mark)
        if isinstance(item, drafts.Draft) and item.key in seen:
            item = drafts.Skip(
                item.key,
                f"the same page again, in {'/'.join(mark.folders) or 'the top folder'}",
            )
        seen.add(item.key)
        yield item
    if not found:
        if "<DL" in text.upper():
            yield drafts.Skip("", "the file holds no bookmarks")
        else:
            raise errors.Unreadable("not a bookmark file: it has no list of links")


def _marks(text: str) -> Iterator[Mark]:
    walk = FolderWalk()
    at = 0
    while (tag := TAG.search(text, at)) is not None:
        _take_text(walk, text[at : tag.start()])
        attributes, at = _attributes(text, tag.end())
        done = _take_tag(walk, tag.group(2).upper(), bool(tag.group(1)), attributes)
        if done is not None:
            yield done
    _take_text(walk, text[at:])
    if walk.mark:
        yield walk.mark


def _attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    found: dict[str, str] = {}
    while (attribute := ATTRIBUTE.match(text, at)) is not None:
        value = next(
            (group for group in attribute.groups()[1:] if group is not None), ""
        )
        found[attribute.group(1).upper()] = html.unescape(value)
        at = attribute.end()
    end = text.find(">", at, at + 2000)
    return found, end + 1 if end >= 0 else at


def _take_text(walk: FolderWalk, raw: str) -> None:
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
    done = None
    if tag == "A":
        if closing:
            walk.target = ""
        else:
            done, walk.mark, walk.target = (
                walk.mark,
                Mark(attributes, [*walk.folders]),
                "title",
            )
    elif tag == "DD":
        walk.target = "" if closing or walk.mark is None else "description"
    elif tag == "H3":
        walk.target = "" if closing else "folder"
        if not closing:
            done, walk.mark, walk.pending = walk.mark, None, ""
    elif tag in {"DT", "HR", "DL"}:
        done, walk.mark, walk.target = walk.mark, None, ""
        if tag == "DL":
            _take_list(walk, closing)
    return done


def _take_list(walk: FolderWalk, closing: bool) -> None:
    if closing:
        if walk.folders:
            walk.folders.pop()
        return
    if len(walk.folders) > 200:
        raise errors.Unreadable("folders are nested more than 200 deep")
    walk.folders.append(" ".join(walk.pending.split()))
    walk.pending = ""


def _bookmark(mark: Mark) -> drafts.Draft | drafts.Skip:
    url = mark.attributes.get("HREF", "").strip()
    key = f"url:{url}"
    if not url:
        return drafts.Skip(key, f"a link without an address: {mark.title[:80]}")
    try:
        scheme = parse.urlsplit(url).scheme.lower()
    except ValueError:
        return drafts.Skip(key, "a link with a broken address")
    if scheme in NO_PAGES:
        return drafts.Skip(f"url:{url[:200]}", NO_PAGES[scheme])
    if len(url) > 8000:
        return drafts.Skip(
            f"url:{url[:200]}", "an address longer than 8,000 characters"
        )
    tags = [
        tag.strip()
        for tag in re.split(r",", mark.attributes.get("TAGS", ""))
        if tag.strip()
    ]
    return drafts.Draft(
        "bookmark",
        key,
        {
            "url": url,
            "title": " ".join(mark.title.split()) or url,
            "excerpt": mark.description.strip() or None,
            "tags": list(dict.fromkeys(tags)) or None,
            "folder": "/".join(folder for folder in mark.folders if folder) or None,
            "custom": {
                "created": _time(mark.attributes.get("ADD_DATE", "")),
                "modified": _time(mark.attributes.get("LAST_MODIFIED", "")),
                "keyword": mark.attributes.get("SHORTCUTURL"),
                "private": mark.attributes.get("PRIVATE") == "1" or None,
                "unread": mark.attributes.get("TOREAD") == "1" or None,
            },
        },
    )


def _time(raw: str) -> datetime | None:
    """Seconds since 1970, in some exports milli- or microseconds."""
    if not re.fullmatch(r"\d{1,20}", raw.strip()):
        return None
    seconds = int(raw)
    while seconds > 32_503_680_000:  # the year 3000
        seconds //= 1000
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None
