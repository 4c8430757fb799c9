"""Requesters (principals) of ingestions: who asked, and what they may do by now.

An ingestion runs with the rights of whoever asked for it. A token that was revoked
meanwhile ends it, and an agent that was narrowed meanwhile narrows it.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers, tokens

GONE = (
    "the token that asked for it was revoked or has ended: ask again with a valid one"
)


def as_json(caller: callers.Caller) -> dict[str, Any]:
    """What is kept of a caller. A login is no token: it may end while what it asked for
    goes on.
    """
    token = None if caller.login or caller.proof is None else str(caller.proof)
    return {
        "kind": caller.kind,
        "name": caller.name,
        "scopes": sorted(caller.scopes),
        "token": token,
    }


def system(user_id: UUID) -> callers.Caller:
    """Whoever keeps the books of an ingestion, and whom those run as that were asked
    for before it was kept who did.
    """
    return callers.Caller(user_id, "user", "ingestion", frozenset({"*:*"}))


async def standing(
    tx: db.Transaction, user: db.HasUser, asker: Mapping[str, Any] | None
) -> callers.Caller | None:
    """The caller who asked, with what they may do by now; None when their token opens
    nothing any more.
    """
    if asker is None:
        return system(user.user_id)
    token = asker.get("token")
    caller = callers.Caller(
        user.user_id,
        asker["kind"],
        asker["name"],
        frozenset(asker["scopes"]),
        proof=UUID(token) if token else None,
    )
    return await tokens.standing(tx, caller)
