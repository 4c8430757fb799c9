"""The catalogue of all domains (kinds of records), by name."""

from collections.abc import Iterable, Mapping
from typing import Any

from reverie import errors
from reverie.access import callers
from reverie.records import (
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
    record_types,
    runs,
    tasks,
    transactions,
)

DOMAINS: Mapping[str, record_types.Domain[Any]] = {
    kind.name: kind
    for kind in (
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


def domain(name: str) -> record_types.Domain[Any]:
    """A domain by its name or its plural. Raises Invalid naming those there are."""
    for kind in DOMAINS.values():
        if name in (kind.name, kind.plural):
            return kind
    raise errors.Invalid(
        f"There is no domain `{name}`.", hint=f"There are {', '.join(DOMAINS)}."
    )


def readable(caller: callers.Caller) -> tuple[str, ...]:
    """The domains whose records the caller may read, by name. Raises Forbidden when
    there is none.
    """
    names = tuple(
        kind.name for kind in DOMAINS.values() if caller.may(kind.plural, "read")
    )
    if not names:
        raise errors.Forbidden(
            "This token may not read any domain.",
            hint="It needs a scope such as notes:read.",
        )
    return names


def named_or_readable(
    caller: callers.Caller, names: Iterable[str] | None
) -> tuple[str, ...]:
    """The domains to look at: those named, or all that are open to the caller. Raises
    Invalid, Forbidden.
    """
    domains = [domain(name) for name in names or ()]
    if not domains:
        return readable(caller)
    for kind in domains:
        caller.need(kind.plural, "read")
    return tuple(dict.fromkeys(kind.name for kind in domains))
