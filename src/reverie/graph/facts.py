"""Links and what somebody says of them, and the times that they hold for."""

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
    relation it holds from then on, unless `valid_from` tells better.
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """A record that says so, and in which of its passages."""

    record_id: UUID
    ordinal: int | None = None


def about(
    rows: Sequence[dict[str, Any]],
    begin: datetime | None,
    end: datetime | None,
    *,
    exclusive: bool,
) -> dict[str, Any] | None:
    """Which of the links of a fact it is about: of an exclusive relation one that holds
    when it begins.
    """
    if begin is not None and (
        exact := next((row for row in rows if row["valid_from"] == begin), None)
    ):
        return exact
    if exclusive and begin is not None:
        return next((row for row in rows if holds(row, begin)), None)
    met = [row for row in rows if _meets(row, begin, end)]
    return min(met, key=lambda row: bool(row["gone"]), default=None)


def holds(row: Mapping[str, Any], moment: datetime) -> bool:
    """Whether a link holds at a moment."""
    return (row["valid_from"] is None or row["valid_from"] <= moment) and (
        row["valid_to"] is None or moment < row["valid_to"]
    )


def _meets(
    row: Mapping[str, Any], begin: datetime | None, end: datetime | None
) -> bool:
    """Whether a fact is about a time that a link holds for, or is next to."""
    if begin is not None and row["valid_to"] is not None and begin >= row["valid_to"]:
        return False
    return not (
        end is not None and row["valid_from"] is not None and end < row["valid_from"]
    )


def widened(
    kept: Mapping[str, Any],
    begin: datetime | None,
    end: datetime | None,
    *,
    exclusive: bool,
) -> tuple[datetime | None, datetime | None]:
    """The time of a link that is said again: begun earlier or ended later; anew if it
    had been deleted.
    """
    if kept["gone"]:
        return begin, end
    since, until = kept["valid_from"], kept["valid_to"]
    if begin is not None:
        since = begin if since is None else min(since, begin)
    if end is not None:
        # Of an exclusive relation, another holds from the end that is known.
        until = end if until is None else (min if exclusive else max)(until, end)
    return since, until
