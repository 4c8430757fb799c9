"""All domains, by name."""

from collections.abc import Iterable, Mapping
from typing import Any

from reverie import errors
from reverie.access import callers
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
    raise errors.Invalid(
        f"There is no domain `{name}`.", hint=f"There are {', '.join(DOMAINS)}."
    )


def readable(caller: callers.Caller) -> tuple[str, ...]:
    """The domains whose records the caller may read, by name. Raises Forbidden when
    there is none.
    """
    found = tuple(
        one.name for one in DOMAINS.values() if caller.may(one.plural, "read")
    )
    if not found:
        raise errors.Forbidden(
            "This token may not read any domain.",
            hint="It needs a scope such as notes:read.",
        )
    return found


def asked(caller: callers.Caller, names: Iterable[str] | None) -> tuple[str, ...]:
    """The domains to look at: those named, or all that are open to the caller. Raises
    Invalid, Forbidden.
    """
    domains = [domain(name) for name in names or ()]
    if not domains:
        return readable(caller)
    for one in domains:
        caller.need(one.plural, "read")
    return tuple(dict.fromkeys(one.name for one in domains))
