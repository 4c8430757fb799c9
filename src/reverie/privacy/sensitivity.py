"""Sensitivity classification: a level by domain, raised by what the text holds."""

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Literal, cast

from reverie.privacy import (
    decoding,
    details,
    folding,
    pattern_scan,
    rules,
    secret_values,
)

Word = Literal["low", "normal", "high", "critical"]


class Level(enum.IntEnum):
    """The four levels, the strictest last."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def word(self) -> Word:
        """As records, logs and people have it."""
        return cast("Word", self.name.lower())


_LOW, _NORMAL, _HIGH, _CRITICAL = Level
# Characters that are looked through at once, and those that two pieces share; set by
# hand.
_WINDOW, _OVERLAP = 20_000, 1_000
# A field that is not longer is remembered, and so many of them. In a mailbox senders,
# receivers, folders and threads are a fifth of the time.
_SHORT, _MOST_REMEMBERED = 120, 4096
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
)
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]+")
_DOMAINS: Mapping[str, Level] = {
    "event": _LOW,
    "bookmark": _LOW,
    "feed": _LOW,
    "feed_item": _LOW,
    "note": _NORMAL,
    "contact": _NORMAL,
    "file": _NORMAL,
    "diary": _NORMAL,
    "task": _NORMAL,
    "chat": _NORMAL,
    "email": _HIGH,
    "transaction": _HIGH,
    "run": _HIGH,
    "health": _CRITICAL,
}
# Fields that are above or below their record. What is not named has the level of its
# domain.
_FIELDS: Mapping[str, Mapping[str, Level]] = {
    "contact": {
        "emails": _HIGH,
        "phones": _HIGH,
        "address": _HIGH,
        "birthday": _HIGH,
        "notes": _NORMAL,
    },
    "email": {"date": _NORMAL, "folder": _LOW, "read": _LOW},
    "transaction": {"date": _NORMAL, "currency": _LOW},
    "event": {"attendees": _HIGH, "location": _NORMAL},
    "run": {"started_at": _LOW, "ended_at": _LOW},
}


def of_domain(domain: str) -> Level:
    """Where records of a domain start. An unknown domain is high: the stricter side."""
    return _DOMAINS.get(domain, _HIGH)


def named(word: str) -> Level:
    """The level that a record or a log has as a word."""
    return Level[word.upper()]


def highest(levels: Iterable[Level]) -> Level:
    """The strictest of some levels; low of none."""
    return max(levels, default=_LOW)


def of_text(
    text: str, *, with_rules: rules.Rules | None = None, at_least: Level = Level.LOW
) -> Level:
    """What a text by itself asks for: critical for health, the other special
    categories and secrets, high for contact details, else low. Never below `at_least`,
    and what would not raise it is not looked for.
    """
    if not text.strip():
        return at_least
    if with_rules is None and len(text) <= _SHORT:
        return _of_short(text, at_least)
    return _of_windows(text, with_rules or rules.load(), at_least)


def _of_windows(text: str, ruleset: rules.Rules, at_least: Level) -> Level:
    level = at_least
    for window in _windows(text):
        level = max(level, _of_window(window, ruleset, at_least=level))
        if level == _CRITICAL:
            break
    return level


@lru_cache(maxsize=_MOST_REMEMBERED)
def _of_short(text: str, at_least: Level) -> Level:
    """The same for what may come again in the next record: who wrote, a folder, a
    thread.
    """
    return _of_windows(text, rules.load(), at_least)


def _windows(text: str) -> Iterator[str]:
    """A long text in overlapping pieces: one regular expression over a megabyte lets no
    other thread run until it is through. What may be encoded is not cut.
    """
    start = 0
    while len(text) - start > _WINDOW:
        run = _ENCODED.match(text, start + _WINDOW)
        end = run.end() if run else start + _WINDOW
        yield text[start:end]
        start = _start_of_run(text, end - _OVERLAP, after=start)
    yield text[start:]


def _start_of_run(text: str, position: int, *, after: int) -> int:
    """Where the run of letters that may be encoded begins in which a position lies."""
    before = position
    while before > after + 1 and _ENCODED.match(text[before - 1]):
        before -= 1
    return before if before > after + 1 else position


def _of_window(text: str, ruleset: rules.Rules, *, at_least: Level) -> Level:
    folded = folding.fold(text)
    scanned = pattern_scan.of(folded.text)
    if _is_critical(scanned, ruleset):
        return _CRITICAL
    views = decoding.views(text, folded)
    if views and _is_critical(pattern_scan.of(decoding.together(views)), ruleset):
        return _CRITICAL
    if at_least >= _HIGH:
        return at_least
    if details.has(scanned, ruleset) or details.in_views(views, ruleset):
        return _HIGH
    return _LOW


def _is_critical(scanned: pattern_scan.ScannedText, ruleset: rules.Rules) -> bool:
    if ruleset.special.category(scanned.text):
        return True
    return secret_values.has(scanned, ruleset)


def of_fields(
    domain: str, fields: Mapping[str, object], *, with_rules: rules.Rules | None = None
) -> Mapping[str, Level]:
    """The level of each field of a record: its own or its domain's, raised by its
    content.
    """
    base = of_domain(domain)
    if base == _CRITICAL:
        return dict.fromkeys(fields, _CRITICAL)
    own = _FIELDS.get(domain, {})
    return {
        name: max(own.get(name, base), of_text(_as_text(value), with_rules=with_rules))
        for name, value in fields.items()
    }


def of_record(
    domain: str, fields: Mapping[str, object], *, with_rules: rules.Rules | None = None
) -> Level:
    """The level of a whole record: its domain's, or that of its strictest field.

    A contact is normal as a domain and high as soon as it holds a phone.
    """
    own = _FIELDS.get(domain, {})
    filled = {name: value for name, value in fields.items() if value}
    level = highest([of_domain(domain), *(own.get(name, _LOW) for name in filled)])
    for value in filled.values():
        if level == _CRITICAL:
            break
        level = of_text(_as_text(value), with_rules=with_rules, at_least=level)
    return level


def decided(computed: Level, chosen: Level | None) -> Level:
    """What the owner's word makes of a level: raised at will, lowered to normal at
    most, and critical stays.
    """
    if chosen is None or computed == _CRITICAL:
        return computed
    if chosen >= computed:
        return chosen
    return highest([chosen, _NORMAL])


def followed(kept: Level, before: Level, now: Level) -> Level:
    """The level of a record whose content changed from one level to another.

    What the owner decided (`kept` is not what the content asked for) stays, unless the
    content asks for more now.
    """
    if kept == before:
        return now
    if now > before or now == _CRITICAL:
        return max(kept, now)
    return kept


def _as_text(value: object) -> str:
    """The text of a field: of lists and mappings that of their values, of numbers and
    moments nothing.
    """
    if value is None or isinstance(value, (bool, int, float, datetime)):
        return ""
    if isinstance(value, str):
        return "" if _MOMENT.fullmatch(value) else value
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        lines = [_as_text(entry) for entry in entries.values()]
        return "\n".join([secret_values.keyed(entries), *lines])
    if isinstance(value, (list, tuple, set, frozenset)):
        items = cast("Iterable[object]", value)
        return "\n".join(_as_text(item) for item in items)
    return str(value)
