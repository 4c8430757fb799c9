"""Feeds and their items: what the owner follows."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import pydantic

from reverie import compact
from reverie.records import passages, record_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed(record_types.Record):
    title: str = ""
    url: str = ""
    site_url: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedItem(record_types.Record):
    """`guid` is what the feed itself calls the item."""

    title: str = ""
    feed_id: UUID | None = None
    guid: str | None = None
    url: str | None = None
    author: str | None = None
    published: pydantic.AwareDatetime | None = None
    content: str = ""
    read: bool = False


def _feed_title(feed: Feed) -> str:
    return feed.title or feed.url or "(untitled feed)"


def _item_title(item: FeedItem) -> str:
    return item.title or compact.clip(item.content, 60) or item.url or "(untitled)"


def _feed_text(feed: Feed) -> passages.Text:
    sections = [passages.Section(feed.description)] if feed.description else []
    return passages.Text(
        _feed_title(feed), sections, keywords=f"{feed.url} {feed.site_url or ''}"
    )


def _item_text(item: FeedItem) -> passages.Text:
    sections = [passages.Section(item.content)] if item.content.strip() else []
    return passages.Text(
        _item_title(item),
        sections,
        keywords=f"{item.author or ''} {item.url or ''}",
        at=item.published,
    )


def _feed_line(feed: Feed, now: datetime) -> str:
    host = (
        feed.url.partition("://")[2].partition("/")[0].removeprefix("www.") or feed.url
    )
    return f"{compact.clip(feed.title, 48)} — {compact.clip(host, 30)}"


def _item_line(item: FeedItem, now: datetime) -> str:
    when = f" [{compact.ago(item.published, now)}]" if item.published else ""
    author = f" — {compact.clip(item.author, 30)}" if item.author else ""
    return f'"{compact.clip(_item_title(item), 60)}"{author}{"" if item.read else " unread"}{when}'


FEEDS = record_types.Domain(
    name="feed",
    plural="feeds",
    record=Feed,
    text=_feed_text,
    summary=_feed_title,
    line=_feed_line,
    order="t.title, t.id",
    filters={"url": record_types.Filter(str, "t.url = %(url)s")},
)

FEED_ITEMS = record_types.Domain(
    name="feed_item",
    plural="feed-items",
    record=FeedItem,
    text=_item_text,
    summary=_item_title,
    line=_item_line,
    order="t.published DESC NULLS LAST, t.id",
    filters={
        "feed_id": record_types.Filter(UUID, "t.feed_id = %(feed_id)s"),
        "read": record_types.Filter(bool, "t.read = %(read)s"),
    },
)
