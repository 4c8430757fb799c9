"""Links, facts and the intervals (valid time) they hold for: plain data and rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

LinkType = Literal["manual", "extracted", "inferred", "structural"]
By = Literal["user", "model", "system"]


@dataclass(frozen=True, slots=True)
class Link:
    """An edge. It holds from `valid_from` (None: since always) until `valid_to` (None:
    still).
    """

    id: UUID
    from_id: UUID
    to_id: UUID
    relation: str
    link_type: LinkType
    confidence: float
    created_by: By
    properties: dict[str, Any]
    valid_from: datetime | None
    valid_to: datetime | None
    heat: float
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Fact:
    """What somebody says about two nodes. `at` is when it was said: of an exclusive
    relation it holds from then on, unless `valid_from` tells better. `undated`: `at` is
    only when it was recorded, and nothing is known of its beginning.
    """

    from_id: UUID
    to_id: UUID
    relation: str
    link_type: LinkType = "extracted"
    confidence: float = 0.8
    by: By = "system"
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    at: datetime | None = None
    undated: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """A record that says so, and in which of its passages."""

    record_id: UUID
    ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """A valid time: from `begin` (None: since always) until `end` (None: still)."""

    begin: datetime | None
    end: datetime | None


def about(
    rows: Sequence[dict[str, Any]], interval: Interval, *, exclusive: bool
) -> dict[str, Any] | None:
    """Which of the links of a fact it is about: of an exclusive relation one that holds
    when it begins.
    """
    begin = interval.begin
    if begin is not None:
        for row in rows:
            if row["valid_from"] == begin:
                return row
    if exclusive and begin is not None:
        return next((row for row in rows if holds(row, begin)), None)
    met = [row for row in rows if _meets(row, interval)]
    return min(met, key=lambda row: bool(row["gone"]), default=None)


def holds(row: Mapping[str, Any], moment: datetime) -> bool:
    """Whether a link holds at a moment."""
    begun = row["valid_from"] is None or row["valid_from"] <= moment
    return begun and (row["valid_to"] is None or moment < row["valid_to"])


def follows(row: Mapping[str, Any], moment: datetime) -> bool:
    """Whether a link that was not deleted begins after a moment."""
    since = row["valid_from"]
    return not row["gone"] and since is not None and since > moment


def _meets(row: Mapping[str, Any], interval: Interval) -> bool:
    """Whether a fact is about a time that a link holds for, or is next to."""
    begin, end = interval.begin, interval.end
    since, until = row["valid_from"], row["valid_to"]
    if begin is not None and until is not None and begin >= until:
        return False
    return end is None or since is None or end >= since


def widened(
    kept: Mapping[str, Any], interval: Interval, *, exclusive: bool
) -> Interval:
    """The interval of a link that is said again: begun earlier or ended later; anew if
    it had been deleted.
    """
    if kept["gone"]:
        return interval
    since, until = kept["valid_from"], kept["valid_to"]
    if interval.begin is not None:
        since = interval.begin if since is None else min(since, interval.begin)
    if interval.end is not None:
        # Of an exclusive relation, another holds from the end that is known.
        latest = min if exclusive else max
        until = interval.end if until is None else latest(until, interval.end)
    return Interval(since, until)
