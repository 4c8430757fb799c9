"""Identifiers of records: UUIDs of version 7 (RFC 9562), which grow with time."""

import os
import threading
import time
from uuid import UUID

# Of a nanosecond clock, what 60 bits after the millisecond hold: twelve bits of the
# version's "rand_a" count fractions of a millisecond, as PostgreSQL's uuidv7() does.
_FRACTIONS = 4096
_NS_A_MS = 1_000_000
_RANDOM_BITS = 62
_RANDOM = (1 << _RANDOM_BITS) - 1

_lock = threading.Lock()
_last = 0


def new() -> UUID:
    """An identifier that is larger than all that this process made before."""
    fractions = _next_fractions()
    moment, fraction = divmod(fractions, _FRACTIONS)
    random = int.from_bytes(os.urandom(8)) & _RANDOM
    value = moment << 80 | 7 << 76 | fraction << 64 | 2 << _RANDOM_BITS | random
    return UUID(int=value)


def _next_fractions() -> int:
    """The time since 1970 in fractions of a millisecond; no two calls get the same."""
    global _last  # noqa: PLW0603 - one clock a process
    with _lock:
        _last = max(time.time_ns() * _FRACTIONS // _NS_A_MS, _last + 1)
        return _last
