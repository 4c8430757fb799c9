"""Agents and the scopes of each: a default table that its person edits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from reverie import db, errors
from reverie.access import callers, operations

MAIN = "main"
_LONGEST_NAME, _LONGEST_ABOUT = 40, 200


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of the topology."""

    name: str
    about: str
    scopes: list[str]


# `search:read` alone reads nothing: each agent finds what it may read.
DEFAULTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            MAIN,
            "talks with you: reads everything, keeps notes, days and tasks",
            [
                "*:read", "bookmarks:write", "chats:write", "contacts:write", "diary:write", "events:write",
                "notes:write", "runs:write", "tasks:write",
            ],
        ),
        Agent(
            "infrastructure",
            "looks after machines and files",
            ["files:read", "notes:*", "runs:*", "search:read", "tasks:*"],
        ),
        Agent(
            "creative",
            "writes with you",
            ["bookmarks:*", "diary:read", "feed-items:read", "files:read", "notes:*", "search:read"],
        ),
        Agent(
            "finance",
            "reads what you pay and who writes about it",
            ["contacts:read", "emails:read", "files:read", "search:read", "tasks:*", "transactions:*"],
        ),
        Agent(
            "analytics",
            "counts and compares, and changes nothing",
            ["events:read", "health-entries:read", "runs:read", "search:read", "tasks:read", "transactions:read"],
        ),
        Agent(
            "research",
            "reads for you and keeps what it found",
            ["bookmarks:*", "feed-items:*", "feeds:*", "files:read", "notes:*", "search:read"],
        ),
    )
}  # fmt: skip

_ALL = "SELECT name, about, scopes FROM agent WHERE user_id = %s ORDER BY name"
_CHANGE = """
INSERT INTO agent (user_id, name, about, scopes) VALUES (%(user)s, %(name)s, %(about)s, %(scopes)s)
ON CONFLICT (user_id, name) DO UPDATE SET about = excluded.about, scopes = excluded.scopes, changed_at = now()
"""


async def by_name(tx: db.Transaction, user_id: UUID) -> dict[str, Agent]:
    """All agents of a person by name: the default ones, as changed, and the person's
    own.
    """
    changed = await tx.all(Agent, _ALL, (user_id,))
    return {**DEFAULTS, **{agent.name: agent for agent in changed}}


async def listed(database: db.Database, caller: callers.Caller) -> list[Agent]:
    """All agents of the caller's person. Raises Forbidden."""
    operations.need(caller, operations.named("agents.list"))
    async with database.transaction(caller) as tx:
        return list((await by_name(tx, caller.user_id)).values())


async def change(
    database: db.Database,
    caller: callers.Caller,
    *,
    name: str,
    scopes: Iterable[str],
    about: str | None = None,
) -> Agent:
    """Say anew what an agent may do; a name that is not there yet is a new agent. No
    scopes: it may do nothing.

    What runs or holds a token under this name is narrowed with its next call. Raises
    Forbidden, Invalid.
    """
    operations.need(caller, operations.named("agents.change"))
    allowed = callers.checked(scopes, operations.AREAS)
    if over := callers.beyond(allowed, caller.scopes):
        raise errors.Forbidden(
            f"You may not give what you do not have: {over[0]}.",
            hint="Leave that scope out.",
        )
    if (
        not name.isascii()
        or not name.replace("-", "").isalnum()
        or len(name) > _LONGEST_NAME
    ):
        raise errors.Invalid(
            "An agent's name is made of letters, digits and hyphens.",
            hint="Such as research.",
        )
    async with database.transaction(caller) as tx:
        agent = (await by_name(tx, caller.user_id)).get(name) or Agent(name, "", [])
        description = (
            agent.about if about is None else " ".join(about.split())[:_LONGEST_ABOUT]
        )
        changed = replace(agent, about=description, scopes=sorted(allowed))
        await tx.run(
            _CHANGE,
            {
                "user": caller.user_id,
                "name": name,
                "about": changed.about,
                "scopes": changed.scopes,
            },
        )
    return changed
