"""The process that gets killed: does a job with the product's own functions and dies at
a named point by SIGKILL.

Reads one job a line (JSON) and forks for each, so that a kill costs milliseconds. A
point is `before` or `after` the n-th statement of a kind, a commit, a call of the
embedder, an fsync or a rename; without a point the job runs to its end and lists the
points it passed.
"""

import asyncio
import json
import os
import re
import signal
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import psycopg.sql

from reverie import config, db, errors
from reverie.access import callers
from reverie.ingest import importer, ingest_file, scan
from reverie.ingest.sandbox import pool
from reverie.llm import embedding
from reverie.pipeline import embed, heat, models, vector_store, worker
from reverie.records import base, catalogue, record_types

_WRITES = re.compile(r'(INSERT INTO|UPDATE|DELETE FROM) "?(\w+)"?')
_READS = re.compile(
    r'(set_config|pg_notify|pg_advisory\w+|pg_try_advisory\w+|LISTEN|FROM "?\w+"?)'
)

Job = dict[str, Any]


class Points:
    """Every point passed so far, and the one to die at."""

    def __init__(self, fatal: str | None) -> None:
        self.passed: list[str] = []
        self._fatal = fatal
        self._seen: Counter[str] = Counter()

    def number(self, label: str) -> str:
        self._seen[label] += 1
        return f"{label} #{self._seen[label]}"

    def reach(self, name: str) -> None:
        if name == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed.append(name)


def label_of(query: Any) -> str:
    """What a statement does: `insert into note`, `from slot`."""
    text = (
        query.as_string() if isinstance(query, psycopg.sql.Composable) else str(query)
    )
    found = _WRITES.search(text) or _READS.search(text)
    return (
        " ".join(found.groups()).replace('"', "").lower()
        if found
        else text.split(maxsplit=1)[0].lower()
    )


def tap(points: Points) -> None:
    """Put a point before and after everything that leaves the process."""

    def around_async(owner: Any, name: str, label: Callable[..., str]) -> None:
        original = getattr(owner, name)

        async def tapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            point = points.number(label(*args))
            points.reach(f"before {point}")
            try:
                return await original(self, *args, **kwargs)
            finally:
                points.reach(f"after {point}")

        setattr(owner, name, tapped)

    def around(owner: Any, name: str, label: str) -> None:
        original = getattr(owner, name)

        def tapped(*args: Any, **kwargs: Any) -> Any:
            point = points.number(label)
            points.reach(f"before {point}")
            result = original(*args, **kwargs)
            points.reach(f"after {point}")
            return result

        setattr(owner, name, tapped)

    around_async(psycopg.AsyncCursor, "execute", lambda query, *_: label_of(query))
    around_async(psycopg.AsyncCursor, "executemany", lambda query, *_: label_of(query))
    around_async(psycopg.AsyncTransaction, "__aexit__", lambda *_: "commit")
    around(urllib.request.OpenerDirector, "open", "embedder")
    around(os, "fsync", "fsync")
    around(Path, "rename", "rename")


def acknowledge(job: Job, points: Points, what: str) -> None:
    """Tell the world that something is kept."""
    points.reach(f"before acknowledging {what}")
    descriptor = os.open(job["acks"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{what}\n".encode())
    os.close(descriptor)
    points.reach(f"after acknowledging {what}")


def acknowledged(job: Job) -> list[str]:
    """What an earlier life has told."""
    file = Path(job["acks"])
    return file.read_text().split("\n") if file.exists() else []


async def write(
    database: db.Database, caller: callers.Caller, job: Job, points: Points
) -> None:
    """Five writes, each acknowledged; what an earlier life has done already is not done
    again.
    """
    note, diary = catalogue.domain("note"), catalogue.domain("diary")
    first, second = UUID(job["ids"][0]), UUID(job["ids"][1])
    acked = acknowledged(job)

    async def create(
        tx: db.Transaction,
        domain: record_types.Domain[Any],
        record_id: UUID,
        body: dict[str, Any],
    ) -> None:
        try:
            await base.get(tx, caller, domain, record_id, deleted=True)
        except errors.NotFound:
            await base.create(tx, caller, domain, body, record_id=record_id)

    async def delete(tx: db.Transaction) -> None:
        if not (await base.get(tx, caller, diary, second, deleted=True)).deleted_at:
            await base.delete(tx, caller, diary, second)

    long = "\n\n".join(
        f"Paragraph {i} about zinnias and the weather of that day. " * 6
        for i in range(4)
    )
    steps = {
        "create note": lambda tx: create(
            tx, note, first, {"title": "Garden", "content": long}
        ),
        "create diary": lambda tx: create(
            tx, diary, second, {"date": "2026-02-18", "content": "dahlias"}
        ),
        "update note": lambda tx: base.update(
            tx, caller, note, first, {"content": f"{long}\n\nlavender"}
        ),
        "delete diary": delete,
        "restore diary": lambda tx: base.restore(tx, caller, diary, second),
    }
    for name, step in steps.items():
        if name not in acked:
            async with database.transaction(caller) as tx:
                await step(tx)
            acknowledge(job, points, name)


async def follow(
    database: db.Database, caller: callers.Caller, job: Job, points: Points
) -> None:
    """One slot until it has caught up."""
    slot = {"embedding": embed.EMBEDDING, "heat": heat.HEAT}[job["slot"]]
    embeddings = embedding.Embeddings(config.Embedding.model_validate(job["embedding"]))
    async with worker.Worker(database, embeddings, followers=(slot,)).running():
        while True:
            async with database.transaction(caller) as tx:
                if not next(
                    one
                    for one in await worker.standings(tx, caller)
                    if one.slot == slot.name
                ).behind:
                    break
            await asyncio.sleep(0.01)
    embeddings.close()


async def change_model(
    database: db.Database, caller: callers.Caller, job: Job, points: Points
) -> None:
    """The embedding slot until only vectors of the present model are left."""
    embeddings = embedding.Embeddings(config.Embedding.model_validate(job["embedding"]))
    async with worker.Worker(
        database, embeddings, followers=(embed.EMBEDDING,)
    ).running():
        while True:
            async with database.transaction(caller) as tx:
                standing = await models.of_user(tx, caller)
                covered = await vector_store.coverage(tx, caller, embeddings.model)
            if covered.texts == covered.vectors and [one.name for one in standing] == [
                embeddings.model
            ]:
                break
            await asyncio.sleep(0.01)
    embeddings.close()


async def bring_in(
    database: db.Database, caller: callers.Caller, job: Job, points: Points
) -> None:
    """Import a folder."""
    files = list(scan.find([Path(job["folder"])]))
    async with pool.WorkerPool() as reading:
        desk = ingest_file.Context(database, caller, Path(job["blobs"]), reading)
        await importer.run(desk, files, progress=lambda *_: None)


def finish(job: Job, passed: list[str]) -> None:
    """Leave the list of points behind."""
    Path(job["passed"]).write_text(json.dumps(passed))


JOBS = {
    "write": write,
    "follow": follow,
    "change model": change_model,
    "import": bring_in,
}


async def run(job: Job) -> None:
    points = Points(job.get("point"))
    caller = callers.Caller(
        UUID(job["user"]), "user", "owner", frozenset({"*:*"}), "Europe/Madrid"
    )
    database = db.Database(job["url"], size=2)
    await database.open()
    tap(points)
    await JOBS[job["do"]](database, caller, job, points)
    passed = list(points.passed)
    await database.close()
    finish(job, passed)


def main(run: Callable[[Job], Coroutine[Any, Any, None]]) -> None:
    """One fork a job; says how each ended."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(run(json.loads(line)))
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(run)
