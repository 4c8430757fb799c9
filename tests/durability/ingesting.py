"""The process that gets killed while it ingests: asks for a folder and an upload, and
dies at a named point by SIGKILL.

Like `child`, it reads one job a line and forks for each. A point is `before` or `after`
the n-th statement that writes, commit, step, record of DBOS, message of a reader, or
call that makes a blob durable.
"""

import asyncio
import os
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from dbos import _sys_db

from reverie import blobs, db
from reverie.access import callers
from reverie.ingest import durable, ingest_file, ingestions, steps
from reverie.ingest.documents import units
from reverie.ingest.sandbox import pool
from tests.durability import child

UPLOAD = b"<title>Heron</title><h1>Heron</h1><p>The heron came to the pond at noon, and left with a carp.</p>"


class Tap:
    """Puts a point before and after whatever a kill could tear apart."""

    def __init__(self, points: child.Points) -> None:
        self._points = points
        self._wrote: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def around(self, owner: Any, name: str, label: Callable[..., str]) -> None:
        original = getattr(owner, name)

        def tapped(*args: Any, **kwargs: Any) -> Any:
            point = self._points.number(label(*args))
            self._points.reach(f"before {point}")
            result = original(*args, **kwargs)
            self._points.reach(f"after {point}")
            return result

        setattr(owner, name, tapped)

    def around_async(self, owner: Any, name: str, label: Callable[..., str]) -> None:
        original = getattr(owner, name)

        async def tapped(*args: Any, **kwargs: Any) -> Any:
            told = label(*args)
            if not told:
                return await original(*args, **kwargs)
            point = self._points.number(told)
            self._points.reach(f"before {point}")
            result = await original(*args, **kwargs)
            self._points.reach(f"after {point}")
            return result

        setattr(owner, name, tapped)

    def _statement(self, cursor: Any, query: Any, *_: Any) -> str:
        """Polling only reads, and would give the points other numbers each time."""
        label = child.label_of(query)
        if not label.startswith(("insert", "update", "delete")):
            return ""
        self._wrote[cursor.connection] = label
        return label

    def _commit(self, transaction: Any, *_: Any) -> str:
        if transaction.savepoint_name:
            return ""
        wrote = self._wrote.pop(transaction.connection, "")
        return f"commit of {wrote}" if wrote else ""

    def everything(self) -> None:
        self.around_async(psycopg.AsyncCursor, "execute", self._statement)
        self.around_async(psycopg.AsyncTransaction, "__aexit__", self._commit)
        for step in ("scan", "take", "finish"):
            self.around_async(steps, step, lambda *_, step=step: f"step {step}")
        self.around_async(ingest_file._Collector, "add", _message)  # pyright: ignore[reportPrivateUsage]
        self.around(
            _sys_db.SystemDatabase,
            "record_operation_result",
            lambda _, one: f"record {one['function_name']}",
        )
        self.around(_sys_db.SystemDatabase, "init_workflow", lambda *_: "workflow")
        self.around(
            _sys_db.SystemDatabase, "update_workflow_outcome", lambda *_: "outcome"
        )
        self.around(tempfile, "mkstemp", lambda *_: "half")
        self.around(blobs.Incoming, "write", lambda *_: "half written")
        self.around(os, "fsync", lambda *_: "fsync")
        self.around(Path, "rename", lambda *_: "rename")


def _message(_: object, message: object) -> str:
    """What came from a reader; pages by their number, which another life does not count
    anew.
    """
    if isinstance(message, units.Unit):
        return f"page {message.number}"
    return f"message {type(message).__name__.lower()}"


async def ask(
    database: db.Database,
    caller: callers.Caller,
    kind: ingestions.Kind,
    request: dict[str, object],
) -> UUID:
    async with database.transaction(caller) as tx:
        return await ingestions.ask(tx, caller, kind, request)


def folder_request(folder: str) -> dict[str, object]:
    return {"paths": [folder]}


def upload_request(root: Path, caller: callers.Caller) -> dict[str, object]:
    return {
        "blob": blobs.put(root, caller.user_id, UPLOAD),
        "name": "heron.html",
        "path": "upload/heron.html",
    }


async def over(database: db.Database, caller: callers.Caller) -> bool:
    """Whether nothing is left to do."""
    async with database.transaction(caller) as tx:
        return not await ingestions.unfinished(tx, caller)


async def ingest(
    database: db.Database, caller: callers.Caller, job: child.Job, points: child.Points
) -> None:
    """The folder is asked for before there is anybody to take it in, the upload while
    somebody does.
    """
    root = Path(job["blobs"])
    await ask(database, caller, "paths", folder_request(job["folder"]))
    child.acknowledge(job, points, "folder")
    async with pool.WorkerPool() as reading:
        desk = ingest_file.Context(database, caller, root, reading)
        async with durable.launched(desk, owner_url=job["owner_url"], patience_s=0.2):
            await ask(
                database,
                caller,
                "upload",
                await asyncio.to_thread(upload_request, root, caller),
            )
            child.acknowledge(job, points, "upload")
            while not await over(database, caller):  # noqa: ASYNC110 - what we wait for is in the database
                await asyncio.sleep(0.02)


async def run(job: child.Job) -> None:
    points = child.Points(job.get("point"))
    caller = callers.Caller(
        UUID(job["user"]), "user", "owner", frozenset({"*:*"}), "Europe/Madrid"
    )
    ingest_file._OFTEN_S = 0.0  # pyright: ignore[reportPrivateUsage, reportConstantRedefinition] - a page each transaction
    database = db.Database(job["url"])
    await database.open()
    Tap(points).everything()
    await ingest(database, caller, job, points)
    passed = list(points.passed)
    await database.close()
    child.finish(job, passed)


if __name__ == "__main__":
    child.main(run)
