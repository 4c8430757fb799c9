"""All domains, by name."""

from collections.abc import Mapping
from typing import Any

from reverie import errors
from reverie.records import (
    base,
    bookmarks,
    chats,
    contacts,
    diary,
    emails,
    events,
    feeds,
    files,
    health,
    notes,
    runs,
    tasks,
    transactions,
)

DOMAINS: Mapping[str, base.Domain[Any]] = {
    one.name: one
    for one in (
        notes.NOTES,
        events.EVENTS,
        contacts.CONTACTS,
        emails.EMAILS,
        files.FILES,
        diary.DIARY,
        bookmarks.BOOKMARKS,
        tasks.TASKS,
        feeds.FEEDS,
        feeds.FEED_ITEMS,
        health.HEALTH,
        transactions.TRANSACTIONS,
        runs.RUNS,
        chats.CHATS,
    )
}


AnyDomain = base.Domain[Any]


def domain(name: str) -> base.Domain[Any]:
    """A domain by its name or its plural. Raises Invalid naming those there are."""
    for one in DOMAINS.values():
        if name in (one.name, one.plural):
            return one
    raise errors.Invalid(f"There is no domain `{name}`.", hint=f"There are {', '.join(DOMAINS)}.")
