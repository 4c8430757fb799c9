"""Bearer tokens (access tokens) of machines and agents; only a SHA-256 is stored."""

import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID

from reverie import db, errors
from reverie.access import agents, callers, operations, users

PREFIX = "rev_"
# What a token looks like wherever it should not be.
SHAPE = re.compile(re.escape(PREFIX) + r"[A-Za-z0-9_-]{43}")
DAYS = 365
_LONGEST_DAYS = 3650
_LONGEST_NAME = 60

_INSERT = """
INSERT INTO token (user_id, name, kind, hash, scopes, expires_at, minted_by) VALUES (%s, %s, %s, %s, %s, %s, %s)
RETURNING id, name, kind, scopes, created_at, expires_at, revoked_at, minted_by
"""
_FIND = """
SELECT user_id, id, name, kind, scopes, expires_at FROM token
WHERE hash = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
"""
_ALIVE = """
SELECT EXISTS (SELECT FROM token WHERE user_id = %s AND id = %s AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > now()))
"""
_ALL = """
SELECT id, name, kind, scopes, created_at, expires_at, revoked_at, minted_by FROM token
WHERE user_id = %s ORDER BY created_at, id
"""
_REVOKE = """
WITH RECURSIVE gone AS (
    SELECT id FROM token WHERE user_id = %(user)s AND id = %(id)s
    UNION
    SELECT token.id FROM token JOIN gone ON token.minted_by = gone.id WHERE token.user_id = %(user)s
)
UPDATE token SET revoked_at = now()
WHERE user_id = %(user)s AND id IN (SELECT id FROM gone) AND revoked_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What is kept of a token: all but the token."""

    id: UUID
    name: str
    kind: callers.Kind
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    minted_by: UUID | None

    @property
    def live(self) -> bool:
        """Whether it opens anything."""
        return self.revoked_at is None and (
            self.expires_at is None or self.expires_at > datetime.now(UTC)
        )


@dataclass(frozen=True, slots=True)
class _Row:
    user_id: UUID
    id: UUID
    name: str
    kind: callers.Kind
    scopes: list[str]
    expires_at: datetime | None


async def mint(
    database: db.Database,
    user_id: UUID,
    *,
    name: str,
    kind: callers.Kind = "user",
    scopes: Iterable[str] = ("*:*",),
) -> str:
    """A new token of 256 random bits, for whoever may decide that. It is shown here and
    nowhere else.
    """
    token, row = _new_row(user_id, name, kind, scopes)
    async with database.transaction(users.Reference(user_id)) as tx:
        await tx.run(_INSERT, row)
    return token


def _new_row(
    user_id: UUID,
    name: str,
    kind: callers.Kind,
    scopes: Iterable[str],
    ends: datetime | None = None,
    minted_by: UUID | None = None,
) -> tuple[str, tuple[object, ...]]:
    """A token, and its row."""
    token = PREFIX + secrets.token_urlsafe(32)
    return token, (user_id, name, kind, digest(token), sorted(scopes), ends, minted_by)


async def grant(
    database: db.Database,
    caller: callers.Caller,
    *,
    name: str,
    kind: Literal["machine", "agent"],
    scopes: Iterable[str] = (),
    days: int | None = DAYS,
) -> tuple[str, AccessToken]:
    """Mint a token for a machine or an agent: never wider than the caller, never longer
    than the caller's own.

    The token of an agent that is in the topology follows what that agent may do; others
    need scopes. Raises Forbidden, Invalid.
    """
    operations.need(caller, operations.named("tokens.mint"))
    label = _checked_label(name)
    requested = callers.checked(scopes, operations.AREAS)
    if over := callers.beyond(requested, caller.scopes):
        raise errors.Forbidden(
            f"You may not give what you do not have: {over[0]}.",
            hint="Leave that scope out.",
        )
    ends = _expiry(caller, days)
    async with database.transaction(caller) as tx:
        if not requested and not (
            kind == "agent" and label in await agents.by_name(tx, caller.user_id)
        ):
            raise errors.Invalid(
                "A token needs scopes.",
                hint="Such as notes:read; an agent by name has its own.",
            )
        minted_by = None if caller.login else caller.proof
        token, row = _new_row(
            caller.user_id, label, kind, requested or caller.scopes, ends, minted_by
        )
        access_token = await tx.one(AccessToken, _INSERT, row)
    if access_token is None:
        raise errors.ReverieError("The new token is not there.")
    return token, access_token


def _checked_label(name: str) -> str:
    """The name of a token as it is kept. Raises Invalid."""
    label = " ".join(name.split())
    if not label.isprintable() or not 1 <= len(label) <= _LONGEST_NAME:
        raise errors.Invalid(
            f"A token's name has from 1 to {_LONGEST_NAME} characters.",
            hint="Such as phone.",
        )
    return label


def _expiry(caller: callers.Caller, days: int | None) -> datetime | None:
    """When a new token ends: never later than the token that mints it. Raises Invalid."""
    if days is not None and not 1 <= days <= _LONGEST_DAYS:
        raise errors.Invalid(f"A token lasts from 1 to {_LONGEST_DAYS} days.")
    ends = None if days is None else datetime.now(UTC) + timedelta(days=days)
    if caller.ends is None or caller.login:
        return ends
    return caller.ends if ends is None else min(ends, caller.ends)


async def listed(database: db.Database, caller: callers.Caller) -> list[AccessToken]:
    """All tokens of the caller's person, oldest first. Raises Forbidden."""
    operations.need(caller, operations.named("tokens.list"))
    async with database.transaction(caller) as tx:
        return await tx.all(AccessToken, _ALL, (caller.user_id,))


async def revoke(database: db.Database, caller: callers.Caller, token_id: UUID) -> int:
    """End a token and all that it minted, from the next call on; returns how many. A
    machine: only what is its own.

    Raises Forbidden, NotFound.
    """
    operations.need(caller, operations.named("tokens.revoke"))
    async with database.transaction(caller) as tx:
        rows = {
            row.id: row for row in await tx.all(AccessToken, _ALL, (caller.user_id,))
        }
        token = rows.get(token_id)
        if token is None or (
            caller.kind != "user" and caller.proof not in (token.id, token.minted_by)
        ):
            raise errors.NotFound(
                "There is no such token.",
                hint="`reverie token list` tells those there are.",
            )
        return await tx.run(_REVOKE, {"user": caller.user_id, "id": token_id})


async def caller(database: db.Database, token: str) -> callers.Caller:
    """Who a token speaks for. Raises Unauthorized, in the same words whatever is wrong
    with it.

    An agent's token is never wider than what the agent of its name may do at this
    moment.
    """
    hashed = digest(token)
    async with database.token_lookup(hashed) as tx:
        row = await tx.one(_Row, _FIND, (hashed,))
    if row is None:
        raise _not_valid()
    async with database.snapshot(users.Reference(row.user_id)) as tx:
        user = await users.get(tx, row.user_id)
        agent = (
            (await agents.by_name(tx, row.user_id)).get(row.name)
            if row.kind == "agent"
            else None
        )
    if user is None:
        raise _not_valid()
    scopes = (
        frozenset(row.scopes)
        if agent is None
        else callers.intersection(row.scopes, agent.scopes)
    )
    return callers.Caller(
        row.user_id,
        row.kind,
        row.name,
        scopes,
        user.timezone,
        user.role,
        proof=row.id,
        ends=row.expires_at,
    )


async def standing(tx: db.Transaction, caller: callers.Caller) -> callers.Caller | None:
    """Somebody who asked earlier, as they may ask now: None when their token was
    revoked or has ended, an agent no wider than it is by now.
    """
    by_token = caller.proof is not None and not caller.login
    if by_token and not await tx.value(_ALIVE, (caller.user_id, caller.proof)):
        return None
    if caller.kind != "agent":
        return caller
    agent = (await agents.by_name(tx, caller.user_id)).get(caller.name)
    if agent is None:
        return caller
    scopes = callers.intersection(caller.scopes, agent.scopes)
    return replace(caller, scopes=scopes)


async def as_agent(
    database: db.Database, person: callers.Caller, name: str
) -> callers.Caller:
    """The caller for an agent that a person's own token has started: it ends when that
    token does.

    Raises NotFound, Unauthorized.
    """
    async with database.transaction(person) as tx:
        alive = bool(await tx.value(_ALIVE, (person.user_id, person.proof)))
        by_name = await agents.by_name(tx, person.user_id)
    if not alive:
        raise _not_valid()
    if name not in by_name:
        raise errors.NotFound(
            f"There is no agent `{name[:40]}`.", hint=f"There are {', '.join(by_name)}."
        )
    return replace(
        person,
        kind="agent",
        name=name,
        scopes=callers.intersection(person.scopes, by_name[name].scopes),
    )


async def ensure_owner(
    database: db.Database, token_file: Path, *, timezone: str
) -> callers.Caller:
    """The owner's caller; at first start, the owner and the token file (0600) are made.

    A lost token file is written anew with a new token. Raises Unauthorized when the
    file holds a foreign token.
    """
    kept = _read_token_file(token_file)
    if kept:
        try:
            return await caller(database, kept)
        except errors.Unauthorized:
            raise errors.Unauthorized(
                f"The token in {token_file} is not valid for this database.",
                hint="If the database is the right one, move that file away: a new token is made at the next start.",
            ) from None
    owner = await users.first(database, name="owner", timezone=timezone)
    token = await mint(database, owner.user_id, name="owner")
    _write_token_file(token_file, token)
    return await caller(database, token)


def digest(secret: str) -> bytes:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _not_valid() -> errors.Unauthorized:
    return errors.Unauthorized(
        "This token is not valid.",
        hint="Read it from the token file of your Reverie home.",
    )


def _read_token_file(token_file: Path) -> str:
    return (
        token_file.read_text(encoding="utf-8", errors="replace").strip()
        if token_file.exists()
        else ""
    )


def _write_token_file(token_file: Path, token: str) -> None:
    descriptor, half = tempfile.mkstemp(
        dir=token_file.parent
    )  # 0600, and of this process alone
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    Path(half).rename(token_file)
