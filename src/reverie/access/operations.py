"""Authorisation (permissions) of operations: who may ask, scope, approval level.

Routes and tools take all of this from here and cannot be made without a row:
`routes.add` and `tools.base.Tool` ask for it by name. Tests compute from this table
alone what each kind of caller must be answered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reverie import errors
from reverie.access import callers

Level = Literal[0, 1, 2, 3]
# Who comes in: everybody, whoever shows a token or a login, or a person's login alone.
Authentication = Literal["open", "proof", "login"]

# The plurals of reverie.records.catalogue, which lies above; a test keeps them equal.
DOMAINS = (
    "notes", "events", "contacts", "emails", "files", "diary", "bookmarks", "tasks", "feeds", "feed-items",
    "health-entries", "transactions", "runs", "chats",
)  # fmt: skip
# From which level on somebody waits for a person's yes; a person who asks is the yes.
# Approvals come here.
_WAITS: Mapping[callers.Kind, int] = {"agent": 2, "machine": 3, "user": 4}
_ALL: frozenset[callers.Kind] = frozenset({"user", "machine", "agent"})
_NO_AGENT: frozenset[callers.Kind] = frozenset({"user", "machine"})
_PEOPLE: frozenset[callers.Kind] = frozenset({"user"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be asked for.

    Without an `area` no scope is needed. `across` says that it shows records of several
    domains: the action must be open to the caller in one of them, and the operation
    keeps to those. `owner`: the owner of the house alone. `level` is 0 auto, 1 logged,
    2 confirm, 3 secure; from 2 on an agent waits for a person, from 3 on a machine too.
    """

    name: str
    area: str = ""
    action: str = "read"
    level: Level = 0
    kinds: frozenset[callers.Kind] = _ALL
    authentication: Authentication = "proof"
    across: bool = False
    owner: bool = False

    @property
    def requirement(self) -> str:
        """What it needs, as a sentence of the API's description."""
        if self.authentication == "open":
            return "Wants no token and no login."
        needs = [f"the scope {self.area}:{self.action}"] if self.area else []
        needs += [f"a scope to {self.action} one domain"] if self.across else []
        needs += ["a login"] if self.authentication == "login" else []
        needs += ["the owner"] if self.owner else []
        sentence = f"Needs {' and '.join(needs) or 'any token or login'}."
        excluded = [kind for kind in ("machine", "agent") if kind not in self.kinds]
        if excluded:
            sentence += f" Closed to {', '.join(f'{kind}s' for kind in excluded)}."
        return sentence


def _of_domains() -> list[Operation]:
    """What can be done with the records of every domain."""
    verbs: tuple[tuple[str, str, Level], ...] = (
        ("create", "write", 1),
        ("list", "read", 0),
        ("get", "read", 0),
        ("update", "write", 1),
        ("delete", "write", 2),
        ("restore", "write", 1),
        ("original", "read", 0),
        ("history", "read", 0),
        ("version", "read", 0),
        ("revert", "write", 1),
    )
    return [
        Operation(name=f"{area}.{verb}", area=area, action=action, level=level)
        for area in DOMAINS
        for verb, action, level in verbs
    ]


def _of_the_graph() -> list[Operation]:
    """Looking at the graph, adding to it, taking away from it. Records in it show by
    the scopes of their domains.
    """
    rows: tuple[tuple[Level, tuple[str, ...]], ...] = (
        (0, ("list", "get", "connections", "path", "subgraph", "stats", "candidates")),
        (1, ("create", "update")),
        (2, ("delete", "merge", "unmerge", "apart", "cleanup")),
        (3, ("erase",)),
    )
    levels: dict[str, Level] = {
        f"graph.{verb}": level for level, verbs in rows for verb in verbs
    }
    levels |= {"links.create": 1, "links.warm": 1, "links.delete": 2}
    return [
        Operation(
            name=name, area="graph", action="write" if level else "read", level=level
        )
        for name, level in levels.items()
    ] + [
        Operation(name=name, area="graph", across=True)
        for name in ("explore", "traverse")
    ]


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        *_of_domains(),
        Operation(name="events.agenda", area="events"),
        Operation(name="records.get", across=True),
        Operation(name="changes", across=True),
        Operation(name="search", area="search", across=True),
        Operation(name="search.advanced", area="search", across=True),
        *_of_the_graph(),
        Operation(name="documents.upload", area="files", action="write", level=1),
        Operation(name="documents.ingest", area="files", action="write", level=1),
        # An address can carry words out, so an agent waits for a person.
        Operation(name="documents.fetch", area="files", action="write", level=2),
        Operation(name="documents.ingestions", area="files"),
        Operation(name="documents.status", area="files"),
        Operation(name="documents.stop", area="files", action="write", level=1),
        *(
            Operation(name=f"documents.{verb}", across=True)
            for verb in ("passages", "passage", "page")
        ),
        Operation(name="vault.stats", area="privacy", kinds=_NO_AGENT),
        Operation(name="privacy.summary", area="privacy"),
        Operation(name="health", authentication="open"),
        Operation(name="openapi"),
        Operation(name="session.start", action="write", authentication="open"),
        Operation(name="session.show"),
        Operation(
            name="session.end", action="write", kinds=_PEOPLE, authentication="login"
        ),
        Operation(
            name="session.password",
            action="write",
            kinds=_PEOPLE,
            authentication="login",
            level=2,
        ),
        Operation(name="users.list", area="users", kinds=_PEOPLE),
        Operation(
            name="users.create",
            area="users",
            action="write",
            kinds=_PEOPLE,
            level=2,
            owner=True,
        ),
        Operation(
            name="users.rename", area="users", action="write", kinds=_PEOPLE, level=1
        ),
        Operation(name="tokens.list", area="tokens", kinds=_NO_AGENT),
        Operation(
            name="tokens.mint", area="tokens", action="write", kinds=_NO_AGENT, level=2
        ),
        Operation(
            name="tokens.revoke",
            area="tokens",
            action="write",
            kinds=_NO_AGENT,
            level=1,
        ),
        Operation(name="agents.list", area="agents", kinds=_NO_AGENT),
        Operation(
            name="agents.change", area="agents", action="write", kinds=_PEOPLE, level=2
        ),
    )
}
AREAS = frozenset(operation.area for operation in OPERATIONS.values() if operation.area)


def named(name: str) -> Operation:
    """The row of an operation. Raises Misconfigured: whatever is not in the table
    cannot be offered.
    """
    if name not in OPERATIONS:
        raise errors.Misconfigured(
            f"The operation `{name}` is not in the table.",
            hint="Add it to reverie/access/operations.py.",
        )
    return OPERATIONS[name]


def need(caller: callers.Caller, operation: Operation) -> None:
    """Raise Forbidden unless this caller may ask for this operation now."""
    if caller.kind not in operation.kinds:
        raise errors.Forbidden(
            f"`{operation.name}` is closed to every {caller.kind}.",
            hint="A person can do it.",
        )
    if operation.authentication == "login" and not caller.login:
        raise errors.Forbidden(
            f"`{operation.name}` needs a login.", hint="A token is not enough here."
        )
    if operation.owner and caller.role != "owner":
        raise errors.Forbidden(
            f"`{operation.name}` is for the owner alone.",
            hint="Ask the owner of this Reverie.",
        )
    _need_scopes(caller, operation)
    if operation.level >= _WAITS[caller.kind]:
        raise errors.Forbidden(
            f"`{operation.name}` waits for a person's yes.",
            hint="A person can do it in Reverie.",
        )


def _need_scopes(caller: callers.Caller, operation: Operation) -> None:
    if operation.area:
        caller.need(operation.area, operation.action)
    if not operation.across:
        return
    if not any(caller.may(area, operation.action) for area in DOMAINS):
        raise errors.Forbidden(
            f"This token may not {operation.action} any domain.",
            hint=f"It needs a scope such as notes:{operation.action}.",
        )
