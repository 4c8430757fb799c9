"""Exception hierarchy with HTTP status codes: all that can go wrong, as users read it.

ReverieError
├── Invalid               422  what was sent cannot be kept
├── Unauthorized          401  no token, or one that is not valid
├── Forbidden             403  the token's scopes do not cover this
│   └── Confined               too private for every model that could be asked
├── NotFound              404  unknown id, or another user's
├── Conflict              409  it exists already
├── TooMany               429  asked too often
├── Unreadable            422  a file that cannot be read
│   └── Locked                 ... until its password is given
├── Unavailable           503  a part that is not there just now; trying again can help
│   ├── DatabaseUnavailable
│   ├── EmbedderUnavailable
│   ├── RerankerUnavailable
│   ├── ModelUnavailable
│   │   └── ModelBusy          a moment's trouble: asking again soon can help
│   └── BudgetSpent            background work waits for another day
├── DiskFull              507  no space left
├── AlreadyRunning        409  a second process wants what the first one holds
├── KeyLost               500  the key of the pseudonyms is gone or not usable
└── Misconfigured         500  a setting that makes no sense
"""

from collections.abc import Mapping
from typing import ClassVar


class ReverieError(Exception):
    """Root of the tree: a message for people, a hint on what to do, details for
    programs.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, object] = details or {}


class Invalid(ReverieError):
    code = "invalid"
    status = 422


class Unauthorized(ReverieError):
    code = "unauthorized"
    status = 401


class Forbidden(ReverieError):
    code = "forbidden"
    status = 403


class Confined(Forbidden):
    code = "confined"


class NotFound(ReverieError):
    code = "not_found"
    status = 404


class Conflict(ReverieError):
    code = "conflict"
    status = 409


class TooMany(ReverieError):
    code = "too_many"
    status = 429


class Unreadable(ReverieError):
    code = "unreadable"
    status = 422


class Locked(Unreadable):
    code = "locked"


class Unavailable(ReverieError):
    code = "unavailable"
    status = 503


class DatabaseUnavailable(Unavailable):
    code = "database_unavailable"


class EmbedderUnavailable(Unavailable):
    code = "embedder_unavailable"


class RerankerUnavailable(Unavailable):
    code = "reranker_unavailable"


class ModelUnavailable(Unavailable):
    code = "model_unavailable"


class ModelBusy(ModelUnavailable):
    code = "model_busy"


class BudgetSpent(Unavailable):
    code = "budget_spent"


class DiskFull(ReverieError):
    code = "disk_full"
    status = 507


class AlreadyRunning(ReverieError):
    code = "already_running"
    status = 409


class Damaged(ReverieError):
    code = "damaged"
    status = 500


class KeyLost(ReverieError):
    code = "key_lost"
    status = 500


class Misconfigured(ReverieError):
    code = "misconfigured"
    status = 500
