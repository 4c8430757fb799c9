"""Callers and their scopes (`domain:action`): checking, covering, intersecting them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from reverie import errors

Kind = Literal["user", "machine", "agent"]
Role = Literal["owner", "member"]

_SCOPE = re.compile(r"(\*|[a-z][a-z-]{0,39}):(\*|[a-z][a-z-]{0,39})")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever asks. `scopes` are `domain:action` with `*` for all, such as `notes:read`
    or `*:*`.

    `proof` is the id of the token or of the login that was shown, and `ends` when that
    ends.
    """

    user_id: UUID
    kind: Kind
    name: str
    scopes: frozenset[str]
    timezone: str = "UTC"
    role: Role = "member"
    proof: UUID | None = None
    login: bool = False
    ends: datetime | None = None

    @property
    def label(self) -> str:
        """How the change log names this caller."""
        return f"{self.kind}:{self.name}"

    def may(self, area: str, action: str) -> bool:
        """Whether a scope covers an action on an area."""
        return not self.scopes.isdisjoint(
            {"*:*", f"{area}:*", f"*:{action}", f"{area}:{action}"}
        )

    def need(self, area: str, action: str) -> None:
        """Raise Forbidden unless a scope covers it."""
        if not self.may(area, action):
            raise errors.Forbidden(
                f"This token may not {action} {area}.",
                hint=f"It needs the scope {area}:{action}.",
            )


def checked(scopes: Iterable[str], areas: Iterable[str]) -> frozenset[str]:
    """Scopes as somebody wrote them, of areas that there are. Raises Invalid."""
    existing = frozenset(areas)
    requested = frozenset(scopes)
    for scope in sorted(requested):
        if not _SCOPE.fullmatch(scope):
            raise errors.Invalid(
                f"`{scope[:60]}` is no scope.",
                hint="Write it as notes:read, notes:* or *:read.",
            )
        if (area := scope.partition(":")[0]) != "*" and area not in existing:
            raise errors.Invalid(
                f"There is no area `{area}`.",
                hint=f"There are {', '.join(sorted(existing))}.",
            )
    return requested


def beyond(requested: Iterable[str], own: Iterable[str]) -> list[str]:
    """The scopes asked for that no single one of one's own covers."""
    own_scopes = list(own)
    return sorted(
        scope
        for scope in requested
        if not any(_common(scope, other) == scope for other in own_scopes)
    )


def intersection(scopes: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """What both sets of scopes allow."""
    other_scopes = list(others)
    return frozenset(
        both
        for first in scopes
        for second in other_scopes
        if (both := _common(first, second))
    )


def _common(first: str, second: str) -> str:
    """The scope that two scopes share, or "" for none."""
    pairs = list(zip(first.split(":", 1), second.split(":", 1), strict=True))
    if any("*" not in pair and pair[0] != pair[1] for pair in pairs):
        return ""
    return ":".join(b if a == "*" else a for a, b in pairs)
