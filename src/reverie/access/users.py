"""Users: the people of the household whose memory this is, one of them the owner."""

import contextlib
import unicodedata
import zoneinfo
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4

from reverie import db, errors
from reverie.access import callers, operations

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class User:
    user_id: UUID
    name: str
    timezone: str
    created_at: datetime
    role: callers.Role


@dataclass(frozen=True, slots=True)
class Reference:
    """A user by id alone: enough to open a transaction."""

    user_id: UUID


_INSERT = "INSERT INTO users (user_id, name, timezone, role) VALUES (%s, %s, %s, %s)"
_GET = "SELECT user_id, name, timezone, created_at, role FROM users WHERE user_id = %s"
_ONE_AT_A_TIME = (
    "SELECT pg_advisory_xact_lock(hashtextextended('reverie.first_user', 0))"
)
_ALL = "SELECT user_id, name, timezone, created_at, role FROM users ORDER BY created_at, user_id"
_ACT_FOR = "SELECT set_config('reverie.user_id', %s, true)"
_RENAME = "UPDATE users SET name = %s WHERE user_id = %s"


async def create(
    database: db.Database,
    *,
    name: str,
    timezone: str = "UTC",
    role: callers.Role = "member",
) -> User:
    """A new user, for whoever may decide that. `timezone` is an IANA name. Raises
    Invalid.
    """
    _check_timezone(timezone)
    async with database.system() as tx:
        return await _insert(tx, name, timezone, role)


async def first(database: db.Database, *, name: str, timezone: str) -> User:
    """The oldest user, made if there is nobody. Two processes that start at once make
    one.
    """
    async with database.system() as tx:
        await tx.run(_ONE_AT_A_TIME)
        return await tx.one(User, _ALL) or await _insert(tx, name, timezone, "owner")


async def add(
    database: db.Database, caller: callers.Caller, *, name: str, timezone: str = "UTC"
) -> User:
    """A new member of the household, whose name nobody else has. Raises Forbidden,
    Invalid, Conflict.
    """
    operations.need(caller, operations.named("users.create"))
    _check_timezone(timezone)
    async with database.system() as tx:
        await _require_free_name(tx, name)
        return await _insert(tx, _cleaned_name(name), timezone, "member")


async def rename(
    database: db.Database, caller: callers.Caller, user_id: UUID, *, name: str
) -> User:
    """Give a person another name: oneself, or as the owner anybody. Raises Forbidden,
    NotFound, Invalid, Conflict.
    """
    operations.need(caller, operations.named("users.rename"))
    if user_id not in {user.user_id for user in await listed(database, caller)}:
        raise errors.NotFound(
            "There is no such user.", hint="`reverie user list` tells those there are."
        )
    async with database.system() as tx:
        await _require_free_name(tx, name, but=user_id)
        await tx.run(_ACT_FOR, (str(user_id),))
        await tx.run(_RENAME, (_cleaned_name(name), user_id))
        return await _existing(tx, user_id)


async def listed(database: db.Database, caller: callers.Caller) -> list[User]:
    """The people of the household as far as the caller may see them: the owner all, a
    member oneself.
    """
    operations.need(caller, operations.named("users.list"))
    if caller.role == "owner":
        return await all_users(database)
    async with database.transaction(caller) as tx:
        return await tx.all(User, _ALL)


async def all_users(database: db.Database) -> list[User]:
    """Everybody, oldest first: for the workers, who act for each in turn."""
    async with database.system() as tx:
        return await tx.all(User, _ALL)


async def get(tx: db.Transaction, user_id: UUID) -> User | None:
    """A user, in a transaction of their own."""
    return await tx.one(User, _GET, (user_id,))


def folded(name: str) -> str:
    """A name as names are compared: case and composition do not matter."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def local_timezone(tz: str) -> str:
    """The IANA name of this machine's time zone, or UTC. `tz` is the TZ variable."""
    candidates = [tz.removeprefix(":")]
    with contextlib.suppress(OSError):
        candidates.append(Path("/etc/timezone").read_text(encoding="utf-8").strip())
    linked = str(Path("/etc/localtime").resolve())
    candidates.append(linked.partition("zoneinfo/")[2])
    return next(
        (
            name
            for name in candidates
            if name and name in zoneinfo.available_timezones()
        ),
        "UTC",
    )


async def _require_free_name(
    tx: db.Transaction, name: str, *, but: UUID | None = None
) -> None:
    """Hold the door until this transaction ends, and see that nobody else has the name.
    Raises Conflict.
    """
    await tx.run(_ONE_AT_A_TIME)
    folded_name = folded(name)
    if any(
        folded(user.name) == folded_name and user.user_id != but
        for user in await tx.all(User, _ALL)
    ):
        raise errors.Conflict(
            f"Somebody is called {_cleaned_name(name)} already.",
            hint="Choose another name.",
        )


def _check_timezone(timezone: str) -> None:
    try:
        zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise errors.Invalid(
            f"{timezone} is not a time zone.", hint="Use a name such as Europe/Madrid."
        ) from None


def _cleaned_name(name: str) -> str:
    """A name as it is kept. Raises Invalid."""
    cleaned = " ".join(unicodedata.normalize("NFC", name).split())
    if (
        not cleaned
        or len(cleaned) > _LONGEST_NAME
        or any(
            unicodedata.category(character) in ("Cc", "Cf", "Cs")
            for character in cleaned
        )
    ):
        raise errors.Invalid(
            f"A name has from 1 to {_LONGEST_NAME} letters and no control characters."
        )
    return cleaned


async def _insert(
    tx: db.Transaction, name: str, timezone: str, role: callers.Role
) -> User:
    user_id = uuid4()
    await tx.run(_INSERT, (user_id, name, timezone, role))
    return await _existing(tx, user_id)


async def _existing(tx: db.Transaction, user_id: UUID) -> User:
    user = await get(tx, user_id)
    if user is None:
        raise errors.ReverieError("The new user is not there.")
    return user
