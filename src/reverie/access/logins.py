"""Login sessions: a name and a password become the secret of a session cookie.

Attempts are counted before anything is compared, by the name that was given, whether or
not somebody has it: an unknown name and a wrong password are one answer, after the same
work.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from reverie import db, errors
from reverie.access import callers, operations, passwords, tokens, users

PREFIX = "log_"
# In a quarter of an hour: for one name, and for all of them together.
OF_ONE, OF_ALL = 10, 100
_EVERYBODY = b""

_STALE = (
    "DELETE FROM attempt WHERE user_id = %s AND since < now() - interval '15 minutes'"
)
_COUNT = """
INSERT INTO attempt (user_id, who, count) VALUES (%s, %s, 1)
ON CONFLICT (user_id, who) DO UPDATE SET count = attempt.count + 1 RETURNING count
"""
_FORGET = "DELETE FROM attempt WHERE user_id = %s AND who = %s"
_TAKE_BACK = "UPDATE attempt SET count = count - 1 WHERE user_id = %s AND who = %s"
_START = """
INSERT INTO login (user_id, hash, expires_at) VALUES (%s, %s, now() + interval '14 days') RETURNING expires_at
"""
_FIND = "SELECT user_id, id, expires_at FROM login WHERE hash = %s AND ended_at IS NULL AND expires_at > now()"
_END = "UPDATE login SET ended_at = now() WHERE user_id = %s AND id = %s"
_END_OTHERS = "UPDATE login SET ended_at = now() WHERE user_id = %s AND id <> %s AND ended_at IS NULL"


@dataclass(frozen=True, slots=True)
class NewLogin:
    """A login that has just begun; the secret is shown here and nowhere else."""

    secret: str
    expires_at: datetime
    caller: callers.Caller


@dataclass(frozen=True, slots=True)
class _Row:
    user_id: UUID
    id: UUID
    expires_at: datetime


async def start(database: db.Database, *, name: str, password: str) -> NewLogin:
    """Log a person in. Raises Unauthorized, in the same words whatever is wrong, and
    TooMany.
    """
    everybody = await users.all_users(database)
    folded = users.folded(name)
    user_id = next(
        (user.user_id for user in everybody if users.folded(user.name) == folded), None
    )
    house, who = await _count_attempt(database, everybody, folded)
    # Somebody who is not there is looked up all the same.
    reference = users.Reference(user_id or UUID(int=0))
    async with database.transaction(reference) as tx:
        hashed = await passwords.stored(tx, reference.user_id)
    if not await passwords.verify(hashed, password) or user_id is None:
        raise errors.Unauthorized(
            "This name and password do not fit.",
            hint="`reverie user password` sets a password on this machine.",
        )
    secret = PREFIX + secrets.token_urlsafe(32)
    async with database.transaction(house) as tx:
        await tx.run(_FORGET, (house.user_id, who))
        await tx.run(_TAKE_BACK, (house.user_id, _EVERYBODY))
    async with database.transaction(reference) as tx:
        ends: datetime = await tx.value(_START, (user_id, tokens.digest(secret)))
    return NewLogin(secret, ends, await caller(database, secret))


async def caller(database: db.Database, secret: str) -> callers.Caller:
    """The person of a login. Raises Unauthorized."""
    hashed = tokens.digest(secret)
    async with database.token_lookup(hashed) as tx:
        row = await tx.one(_Row, _FIND, (hashed,))
    user: users.User | None = None
    if row is not None:
        async with database.transaction(users.Reference(row.user_id)) as tx:
            user = await users.get(tx, row.user_id)
    if row is None or user is None:
        raise errors.Unauthorized("This login has ended.", hint="Log in again.")
    return callers.Caller(
        user.user_id,
        "user",
        user.name,
        frozenset({"*:*"}),
        user.timezone,
        user.role,
        proof=row.id,
        login=True,
        ends=row.expires_at,
    )


async def end(database: db.Database, caller: callers.Caller) -> None:
    """Log out. Raises Forbidden."""
    operations.need(caller, operations.named("session.end"))
    async with database.transaction(caller) as tx:
        await tx.run(_END, (caller.user_id, caller.proof))


async def change_password(
    database: db.Database, caller: callers.Caller, *, current: str, password: str
) -> None:
    """One's own new password, for the old one; every other login of this person ends.

    Raises Forbidden, Invalid, Unauthorized, TooMany.
    """
    operations.need(caller, operations.named("session.password"))
    new = await passwords.hashed(password)
    house, who = await _count_attempt(
        database, await users.all_users(database), users.folded(caller.name)
    )
    async with database.transaction(caller) as tx:
        hashed = await passwords.stored(tx, caller.user_id)
    if not await passwords.verify(hashed, current):
        raise errors.Unauthorized("The current password is another one.")
    async with database.transaction(house) as tx:
        await tx.run(_FORGET, (house.user_id, who))
        await tx.run(_TAKE_BACK, (house.user_id, _EVERYBODY))
    async with database.transaction(caller) as tx:
        await passwords.store(tx, caller.user_id, new)
        await tx.run(_END_OTHERS, (caller.user_id, caller.proof))


async def give_password(database: db.Database, user_id: UUID, password: str) -> None:
    """Set a password without the old one and end the logins: for whoever owns this
    machine. Raises Invalid.
    """
    hashed = await passwords.hashed(password)
    async with database.transaction(users.Reference(user_id)) as tx:
        await passwords.store(tx, user_id, hashed)
        await tx.run(_END_OTHERS, (user_id, UUID(int=0)))


def csrf_token(secret: str) -> str:
    """What a page of ours shows beside its cookie (CSRF): it follows from the secret
    and does not tell it.
    """
    return hmac.new(
        secret.encode("utf-8", "surrogatepass"), b"reverie page", hashlib.sha256
    ).hexdigest()


async def _count_attempt(
    database: db.Database, everybody: list[users.User], name: str
) -> tuple[users.Reference, bytes]:
    """Count an attempt for good, in the owner's house, before anything is compared.
    Raises TooMany.
    """
    if not everybody:
        raise errors.Unauthorized("This name and password do not fit.")
    house, who = users.Reference(everybody[0].user_id), tokens.digest(name)
    async with database.transaction(house) as tx:
        await tx.run(_STALE, (house.user_id,))
        of_one = int(await tx.value(_COUNT, (house.user_id, who)))
        of_all = int(await tx.value(_COUNT, (house.user_id, _EVERYBODY)))
    if of_one > OF_ONE or of_all > OF_ALL:
        raise errors.TooMany(
            "Too many attempts to log in.", hint="Try again in a quarter of an hour."
        )
    return house, who
