"""What a tool is: a name, arguments, a scope, an approval level, and the function that does it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import pydantic

from reverie import config, db, errors, llm
from reverie.access import callers
from reverie.records import catalogue

Level = Literal[0, 1, 2, 3]
Answer = dict[str, Any] | str

# The area of a tool whose domain is known only from its arguments: some domain must be open to the caller,
# and the tool keeps to those that are.
ANY_DOMAIN = "*"


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What tools work with. Whoever opened the application hands it over."""

    database: db.Database
    embeddings: llm.Embeddings
    search: config.Search = field(default_factory=config.Search)


class Arguments(pydantic.BaseModel):
    """The arguments of a tool; unknown ones are refused."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """One thing an agent may do.

    `scope` is (area, action); `level` is 0 auto, 1 logged, 2 confirm, 3 secure.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    scope: tuple[str, str]
    level: Level
    read_only: bool
    destructive: bool
    run: Callable[[Toolbox, callers.Caller, A], Awaitable[Answer]]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, without the titles that only repeat the names."""
        found = self.arguments.model_json_schema()
        for one in (found, *found.get("properties", {}).values()):
            one.pop("title", None)
        found.pop("description", None)
        return found


def readable(caller: callers.Caller) -> frozenset[str]:
    """The domains whose records the caller may read."""
    return frozenset(one.name for one in catalogue.DOMAINS.values() if caller.may(one.plural, "read"))


def asked(caller: callers.Caller, names: list[str] | None) -> tuple[str, ...]:
    """The domains to look at: those named, or all that are open to the caller. Raises Invalid, Forbidden."""
    if not names:
        return tuple(name for name in catalogue.DOMAINS if name in readable(caller))
    domains = [catalogue.domain(name) for name in names]
    for domain in domains:
        caller.need(domain.plural, "read")
    return tuple(dict.fromkeys(domain.name for domain in domains))


def need(caller: callers.Caller, tool: Tool[Any]) -> None:
    """Raise Forbidden unless the caller's scopes cover the tool."""
    area, action = tool.scope
    if area != ANY_DOMAIN:
        caller.need(area, action)
    elif not any(caller.may(one.plural, action) for one in catalogue.DOMAINS.values()):
        raise errors.Forbidden(
            f"This token may not {action} any domain.", hint=f"It needs a scope such as notes:{action}."
        )
