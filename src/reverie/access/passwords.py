"""Password hashes (argon2id), verified in the same time whether or not there is one."""

import asyncio
import functools
import secrets
import unicodedata
from collections.abc import Callable
from concurrent import futures
from typing import TypeVar
from uuid import UUID

import argon2
import argon2.exceptions

from reverie import db, errors

T = TypeVar("T")
SHORTEST, LONGEST = 10, 1000

_HASHER = argon2.PasswordHasher()  # RFC 9106, the second choice: 64 MiB, 3 passes
# Each comparison takes 64 MiB: more than two at a time would be a way to take a small
# machine down.
_TWO_AT_A_TIME = futures.ThreadPoolExecutor(2, thread_name_prefix="password")
_KEEP = """
INSERT INTO password (user_id, hash) VALUES (%s, %s)
ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = now()
"""
_KEPT = "SELECT hash FROM password WHERE user_id = %s"


def checked(password: str) -> str:
    """A password somebody chose. Raises Invalid."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise errors.Invalid(
            f"A password has from {SHORTEST} to {LONGEST} characters.",
            hint="A few words in a row are a good one.",
        )
    return password


async def hashed(password: str) -> str:
    """The hash of a new password. Raises Invalid."""
    return await _in_executor(_HASHER.hash, _bytes(checked(password)))


async def store(tx: db.Transaction, user_id: UUID, hashed: str) -> None:
    """Make a hash that of a user."""
    await tx.run(_KEEP, (user_id, hashed))


async def stored(tx: db.Transaction, user_id: UUID) -> str | None:
    """The hash of a user, or None."""
    hashed = await tx.value(_KEPT, (user_id,))
    return None if hashed is None else str(hashed)


async def verify(hashed: str | None, password: str) -> bool:
    """Whether a password is the one. Without a hash it takes as long, and the answer is
    no.
    """
    nobody = await _in_executor(_dummy_hash)
    right = await _in_executor(
        _matches, hashed or nobody, _bytes(password[: LONGEST + 1])
    )
    return right and hashed is not None


async def _in_executor(work: Callable[..., T], *arguments: object) -> T:
    return await asyncio.get_running_loop().run_in_executor(
        _TWO_AT_A_TIME, work, *arguments
    )


def _matches(hashed: str, password: bytes) -> bool:
    try:
        return _HASHER.verify(hashed, password)
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False


@functools.cache
def _dummy_hash() -> str:
    """A hash that no password fits, as costly to compare as any."""
    return _HASHER.hash(secrets.token_bytes(32))


def _bytes(password: str) -> bytes:
    """The same letters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
