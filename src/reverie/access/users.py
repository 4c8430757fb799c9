"""Users: the people whose memory this is."""

import contextlib
import zoneinfo
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4

from reverie import db, errors


@dataclass(frozen=True, slots=True)
class User:
    user_id: UUID
    name: str
    timezone: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Reference:
    """A user by id alone: enough to open a transaction."""

    user_id: UUID


_INSERT = "INSERT INTO users (user_id, name, timezone) VALUES (%s, %s, %s)"
_GET = "SELECT user_id, name, timezone, created_at FROM users WHERE user_id = %s"
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('reverie.first_user', 0))"
_ALL = "SELECT user_id, name, timezone, created_at FROM users ORDER BY created_at, user_id"


async def create(database: db.Database, *, name: str, timezone: str = "UTC") -> User:
    """A new user. `timezone` is an IANA name. Raises Invalid."""
    try:
        zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise errors.Invalid(f"{timezone} is not a time zone.", hint="Use a name such as Europe/Madrid.") from None
    async with database.system() as tx:
        return await _insert(tx, name, timezone)


async def first(database: db.Database, *, name: str, timezone: str) -> User:
    """The oldest user, made if there is nobody. Two processes that start at once make one."""
    async with database.system() as tx:
        await tx.run(_ONE_AT_A_TIME)
        return await tx.one(User, _ALL) or await _insert(tx, name, timezone)


async def _insert(tx: db.Transaction, name: str, timezone: str) -> User:
    user_id = uuid4()
    await tx.run(_INSERT, (user_id, name, timezone))
    user = await tx.one(User, _GET, (user_id,))
    if user is None:
        raise errors.ReverieError("The new user is not there.")
    return user


async def all_users(database: db.Database) -> list[User]:
    """Everybody, oldest first: for the workers, who act for each in turn."""
    async with database.system() as tx:
        return await tx.all(User, _ALL)


def local_timezone(tz: str) -> str:
    """The IANA name of this machine's time zone, or UTC. `tz` is the TZ variable."""
    candidates = [tz.removeprefix(":")]
    with contextlib.suppress(OSError):
        candidates.append(Path("/etc/timezone").read_text(encoding="utf-8").strip())
    linked = str(Path("/etc/localtime").resolve())
    candidates.append(linked.partition("zoneinfo/")[2])
    return next((name for name in candidates if name and name in zoneinfo.available_timezones()), "UTC")
