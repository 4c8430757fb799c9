"""What is kept and where: disk usage by kind, and outbound connections."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie import db
from reverie.outbound import connections
from reverie.pipeline import embed_queue, progress

_COUNTS = """
SELECT (SELECT count(*) FROM file WHERE user_id = %(user)s AND deleted_at IS NULL) AS documents,
    (SELECT count(*) FROM card WHERE user_id = %(user)s) AS records,
    (SELECT count(*) FROM passage WHERE user_id = %(user)s) AS passages,
    (SELECT coalesce(sum(vectors), 0)::bigint FROM model WHERE user_id = %(user)s AND name = %(model)s) AS vectors,
    (SELECT coalesce(sum(size), 0)::bigint FROM file WHERE user_id = %(user)s AND deleted_at IS NULL) AS bytes
"""
_DATABASE = "SELECT pg_database_size(current_database())"


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of one kind, and where they lie."""

    what: str
    where: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Holdings:
    """`waiting` texts have no vector yet, for `seconds_left` of work. `outbound` is
    measured now; `complete` says whether the system kept nothing from us.
    """

    documents: int
    records: int
    passages: int
    vectors: int
    waiting: int
    seconds_left: int | None
    model: str
    document_bytes: int
    stored: tuple[Held, ...]
    outbound: tuple[connections.Connection, ...]
    complete: bool

    def as_json(self) -> dict[str, Any]:
        """The form that the API shows."""
        return {
            "documents": self.documents,
            "records": self.records,
            "passages": self.passages,
            "vectors": self.vectors,
            "waiting": self.waiting,
            "seconds_left": self.seconds_left,
            "model": self.model,
            "document_bytes": self.document_bytes,
            "stored": [
                {"what": kind.what, "where": kind.where, "bytes": kind.bytes}
                for kind in self.stored
            ],
            "outbound": {
                "connections": sum(connection.count for connection in self.outbound),
                "destinations": [
                    {
                        "destination": connection.destination,
                        "port": connection.port,
                        "count": connection.count,
                    }
                    for connection in self.outbound
                ],
                "complete": self.complete,
            },
        }


async def measured(
    tx: db.Transaction,
    user: db.HasUser,
    *,
    model: str,
    home: Path,
    blobs: Path,
    database: str,
) -> Holdings:
    """Count and measure. `database` says where the database lies, in words."""
    counts = (await tx.rows(_COUNTS, {"user": user.user_id, "model": model}))[0]
    waiting = await embed_queue.count(tx, user)
    left = await progress.seconds_left(tx, user, model)
    size = int(await tx.value(_DATABASE))
    own = blobs / str(user.user_id)
    kept, cache = await asyncio.to_thread(lambda: (_size(own), _size(home / "cache")))
    stored = (
        Held("database", database, size),
        Held("originals", str(own), kept),
        Held("models and lists", str(home / "cache"), cache),
    )
    seen = await asyncio.to_thread(connections.open_connections)
    return Holdings(
        counts["documents"],
        counts["records"],
        counts["passages"],
        counts["vectors"],
        waiting,
        left,
        model,
        counts["bytes"],
        stored,
        seen.connections,
        seen.complete,
    )


def _size(folder: Path) -> int:
    """The bytes of all files under a folder; 0 where there is none."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(where) / name).lstat().st_size
            except OSError:
                continue
    return total
