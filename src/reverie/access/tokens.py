"""Tokens: how a caller proves who it is. Only their SHA-256 is stored."""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from reverie import db, errors
from reverie.access import callers, users

PREFIX = "rev_"

_INSERT = "INSERT INTO token (user_id, name, kind, hash, scopes) VALUES (%s, %s, %s, %s, %s)"
_FIND = """
SELECT user_id, name, kind, scopes FROM token
WHERE hash = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
"""
_TIMEZONE = "SELECT timezone FROM users WHERE user_id = %s"


@dataclass(frozen=True, slots=True)
class _Row:
    user_id: UUID
    name: str
    kind: callers.Kind
    scopes: list[str]


async def mint(
    database: db.Database, user_id: UUID, *, name: str, kind: callers.Kind = "user", scopes: Iterable[str] = ("*:*",)
) -> str:
    """A new token of 256 random bits. It is shown here and nowhere else."""
    token = PREFIX + secrets.token_urlsafe(32)
    async with database.transaction(users.Reference(user_id)) as tx:
        await tx.run(_INSERT, (user_id, name, kind, _hash(token), list(scopes)))
    return token


async def caller(database: db.Database, token: str) -> callers.Caller:
    """Who a token speaks for. Raises Unauthorized, in the same words whatever is wrong with it."""
    digest = _hash(token)
    async with database.token_lookup(digest) as tx:
        row = await tx.one(_Row, _FIND, (digest,))
    if row is None:
        raise errors.Unauthorized("This token is not valid.", hint="Read it from the token file of your Reverie home.")
    async with database.transaction(users.Reference(row.user_id)) as tx:
        timezone = await tx.value(_TIMEZONE, (row.user_id,))
    return callers.Caller(row.user_id, row.kind, row.name, frozenset(row.scopes), str(timezone))


async def ensure_owner(database: db.Database, token_file: Path, *, timezone: str) -> callers.Caller:
    """The owner's caller; at first start, the owner and the token file (0600) are made.

    A lost token file is written anew with a new token. Raises Unauthorized when the file holds a foreign token.
    """
    kept = _kept(token_file)
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
    _keep(token_file, token)
    return await caller(database, token)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _kept(token_file: Path) -> str:
    return token_file.read_text(encoding="utf-8", errors="replace").strip() if token_file.exists() else ""


def _keep(token_file: Path, token: str) -> None:
    descriptor, half = tempfile.mkstemp(dir=token_file.parent)  # 0600, and of this process alone
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    Path(half).rename(token_file)
