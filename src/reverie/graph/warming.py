"""Heat of links by use (recency): two records opened within a minute warm theirs."""

import time
from collections import deque
from uuid import UUID

from reverie import db
from reverie.graph import links

WITHIN_S = 60.0
_MOST_RECORDS, _MOST_USERS = 8, 1000
# What each user has opened lately in this process: (when, record), the oldest first.
_opened: dict[UUID, deque[tuple[float, UUID]]] = {}


async def opened(tx: db.Transaction, user: db.HasUser, record_id: UUID) -> None:
    """A record was opened: its links to what was opened just before warm."""
    now = time.monotonic()
    if user.user_id not in _opened and len(_opened) >= _MOST_USERS:
        _opened.pop(next(iter(_opened)))
    lately = _opened.setdefault(user.user_id, deque(maxlen=_MOST_RECORDS))
    before = dict.fromkeys(
        other for at, other in lately if now - at <= WITHIN_S and other != record_id
    )
    lately.append((now, record_id))
    for other in before:
        await links.warm(tx, user, other, record_id)
