"""Bookmarks: pages the owner wants to find again."""

from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from reverie import compact
from reverie.records import passages, record_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark(record_types.Record):
    url: str
    title: str | None = None
    excerpt: str | None = None
    tags: list[str] = field(default_factory=list[str])
    folder: str | None = None


def _title(bookmark: Bookmark) -> str:
    return bookmark.title or bookmark.url


def _text(bookmark: Bookmark) -> passages.Text:
    sections = [passages.Section(bookmark.excerpt)] if bookmark.excerpt else []
    keywords = f"{bookmark.url} {bookmark.folder or ''}"
    return passages.Text(
        _title(bookmark),
        sections,
        keywords=keywords,
        at=record_types.created_at(bookmark),
        tags=bookmark.tags,
        category=bookmark.folder,
    )


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _line(bookmark: Bookmark, now: datetime) -> str:
    host = _host(bookmark.url).removeprefix("www.") or bookmark.url
    if not bookmark.title:
        return compact.clip(bookmark.url, 60)
    return f"{compact.clip(bookmark.title, 48)} — {compact.clip(host, 30)}"


BOOKMARKS = record_types.Domain(
    name="bookmark",
    plural="bookmarks",
    record=Bookmark,
    text=_text,
    summary=_title,
    line=_line,
    filters={
        "tag": record_types.Filter(str, "t.tags @> ARRAY[%(tag)s]"),
        "folder": record_types.Filter(str, "t.folder = %(folder)s"),
        "url": record_types.Filter(str, "t.url = %(url)s"),
    },
)
