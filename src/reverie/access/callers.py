"""The caller: who asks, and what for."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from reverie import errors

Kind = Literal["user", "machine", "agent"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever asks. `scopes` are `domain:action` with `*` for all, such as `notes:read` or `*:*`."""

    user_id: UUID
    kind: Kind
    name: str
    scopes: frozenset[str]
    timezone: str = "UTC"

    @property
    def label(self) -> str:
        """How the change log names this caller."""
        return f"{self.kind}:{self.name}"

    def may(self, area: str, action: str) -> bool:
        """Whether a scope covers an action on an area."""
        return not self.scopes.isdisjoint({"*:*", f"{area}:*", f"*:{action}", f"{area}:{action}"})

    def need(self, area: str, action: str) -> None:
        """Raise Forbidden unless a scope covers it."""
        if not self.may(area, action):
            raise errors.Forbidden(f"This token may not {action} {area}.", hint=f"It needs the scope {area}:{action}.")
