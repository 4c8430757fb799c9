"""Values of loaded JSON as what they should be, whatever they are: objects, lists,
texts, times.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

Object = Mapping[str, object]


def time(value: object) -> datetime | None:
    """Seconds since 1970 or ISO 8601, as an aware time."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str) and value:
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def mapping(value: object) -> Object:
    """The value, or an empty object in place of any other."""
    return cast("Object", value) if isinstance(value, dict) else {}


def sequence(value: object) -> Sequence[object]:
    """The value, or an empty list in place of any other."""
    return cast("Sequence[object]", value) if isinstance(value, list) else []


def string(holder: Object, name: str) -> str | None:
    """A value that is a text and not empty."""
    value = holder.get(name)
    return value if isinstance(value, str) and value else None


def first_string(holder: Object, *names: str) -> str | None:
    """The first of some fields that has a text."""
    for name in names:
        if text := string(holder, name):
            return text
    return None


def first_time(holder: Object, *names: str) -> datetime | None:
    """The first of some fields that has a time."""
    for name in names:
        if moment := time(holder.get(name)):
            return moment
    return None


def number(value: object) -> float:
    """The value, or 0 in place of any other."""
    return float(value) if isinstance(value, int | float) else 0.0
