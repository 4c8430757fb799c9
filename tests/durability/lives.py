"""What the tests of killed ingestions share: what is given, a database of one kill, and
what is there in the end.
"""

import asyncio
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import docx
import psycopg

from reverie import db, embedded
from reverie.access import callers
from reverie.ingest import durable, ingest_file
from reverie.ingest.documents import units
from reverie.ingest.sandbox import pool, wire
from reverie.records import base, catalogue, notes
from tests.durability import ingesting
from tests.durability.conftest import Victim, environment
from tests.durability.test_kills import new_user, whole
from tests.ingest import pdfs
from tests.ingest.test_durable import until

SEED = 6
PAGES = 6
ROOT = Path(__file__).parents[2]


class Ingester(Victim):
    """The same, for the process that ingests."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", ingesting.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=ROOT,
        )


class Watched(pool.WorkerPool):
    """A worker pool that remembers which pages it was asked for, and which it gave."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, list[int]] = defaultdict(list)

    async def read(self, job: pool.ReadJob) -> AsyncGenerator[wire.Message, None]:
        async for message in super().read(job):
            if isinstance(message, units.Unit):
                self.given[job.relative.name].append(message.number)
            yield message


def letter(number: int) -> bytes:
    one = EmailMessage()
    one["From"], one["To"] = "ana@example.org", "me@example.org"
    one["Subject"], one["Message-ID"] = f"Letter {number}", f"<{number}@example.org>"
    one["Date"] = "Fri, 02 Oct 2026 08:15:00 +0000"
    one.set_content(f"Dear me, this is letter {number} about the petunia bed.\n")
    return b"From ana@example.org Fri Oct  2 08:15:00 2026\n" + one.as_bytes() + b"\n"


def page(number: int) -> str:
    return pdfs.drawn(
        [
            f"Page {number} of the report: lantern number {number} burns by the gate all night."
        ]
        * 3
    )


def corpus(folder: Path) -> Path:
    """A small folder of what people have."""
    for number in range(3):
        text = (
            f"# Note {number}\n\nOn petunias, {number}.\n\n## Water\n\n"
            + f"Water bed {number} at dusk. " * 30
        )
        (folder / f"note{number}.md").write_text(text, encoding="utf-8")
    (folder / "2026-02-18.md").write_text("A day with seedlings.\n")
    (folder / "letters.mbox").write_bytes(letter(1) + letter(2) + letter(3))
    inside = (
        b"<</Names[(a) 11 0 R]>>",
        b"<</Type/Filespec/F(plan.txt)/UF(plan.txt)/EF<</F 12 0 R>>>>",
        b"<</Type/EmbeddedFile/Length 33>>stream\nroses to the north, herbs to east\nendstream",
    )
    pages = [page(number + 1) for number in range(PAGES)]
    report = pdfs.built(
        pages, objects=inside, catalog="/Names<</EmbeddedFiles 10 0 R>>"
    )
    (folder / "report.pdf").write_bytes(report)
    word = docx.Document()
    word.add_heading("Contract", 1)
    word.add_paragraph(
        "The tenant waters the garden twice a week and keeps the key of the shed. " * 8
    )
    word.save(str(folder / "contract.docx"))
    rows = "".join(f"{number},kettle {number},{number * 3}\n" for number in range(45))
    (folder / "stock.csv").write_text(f"shelf,thing,count\n{rows}")
    (folder / "broken.docx").write_bytes(b"PK\x03\x04 no archive")
    return folder


class Life:
    """A database of one kill, with its owner and its blobs."""

    def __init__(
        self, database: db.Database, owner_url: str, caller: callers.Caller, blobs: Path
    ) -> None:
        self.database, self.owner_url, self.caller, self.blobs = (
            database,
            owner_url,
            caller,
            blobs,
        )

    def job(self, corpus: Path, point: str | None = None) -> dict[str, Any]:
        return {
            "url": self.database.url,
            "owner_url": self.owner_url,
            "user": str(self.caller.user_id),
            "blobs": str(self.blobs),
            "folder": str(corpus),
            "acks": str(self.blobs.with_suffix(".acks")),
            "passed": str(self.passed),
            "point": point,
        }

    @property
    def passed(self) -> Path:
        """Where the points are listed that an undisturbed job has passed."""
        return self.blobs.with_suffix(".passed")

    async def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        async with self.database.transaction(self.caller) as tx:
            return await tx.rows(db.text(query), values)  # pyright: ignore[reportArgumentType]

    @asynccontextmanager
    async def working(
        self, reading: pool.WorkerPool
    ) -> AsyncIterator[durable.Ingesting]:
        desk = ingest_file.Context(self.database, self.caller, self.blobs, reading)
        async with durable.launched(
            desk, owner_url=self.owner_url, patience_s=0.2
        ) as ingesting_now:
            yield ingesting_now

    async def quiet(self, *, within_s: float = 60.0) -> None:
        """Until nothing is left to do, for us or for DBOS."""

        async def nothing_left() -> bool:
            return (
                await ingesting.over(self.database, self.caller)
                and not await self.pending()
            )

        try:
            await until(nothing_left, within_s=within_s)
        except TimeoutError:
            left = await self.rows(
                "SELECT id, kind, state, worker, reason FROM ingestion"
            )
            raise TimeoutError(f"{left} {await self.pending()}") from None

    async def pending(self) -> list[tuple[Any, ...]]:
        """Workflows that DBOS believes to be under way."""

        def looked() -> list[tuple[Any, ...]]:
            with psycopg.connect(self.owner_url) as connection:
                return connection.execute(
                    "SELECT workflow_uuid, status, executor_id FROM dbos.workflow_status "
                    "WHERE status IN ('PENDING', 'ENQUEUED')"
                ).fetchall()

        return await asyncio.to_thread(looked)


@dataclass(frozen=True)
class Scene:
    """Where ingestions live and die: the cluster, what is given, who gets killed, and
    who reads.
    """

    cluster: embedded.EmbeddedServer
    template: str
    folder: Path
    corpus: Path
    ingester: Ingester
    reading: Watched

    @asynccontextmanager
    async def life(self) -> AsyncIterator[Life]:
        """A database of its own."""
        name = f"ingest_{uuid4().hex[:12]}"
        maintenance = self.cluster.place.url(embedded.OWNER_ROLE, database="postgres")
        clone(maintenance, name, self.template)
        pool = db.Database(self.cluster.place.url(embedded.APP_ROLE, database=name))
        await pool.open()
        try:
            owner_url = self.cluster.place.url(embedded.OWNER_ROLE, database=name)
            yield Life(pool, owner_url, await new_user(pool), self.folder / name)
        finally:
            await pool.close()
            drop(maintenance, name)


def clone(maintenance: str, name: str, template: str) -> None:
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(
            db.compose("CREATE DATABASE {name} TEMPLATE {of}", name=name, of=template)
        )


def drop(maintenance: str, name: str) -> None:
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(db.compose("DROP DATABASE {name} WITH (FORCE)", name=name))


@asynccontextmanager
async def scene(
    cluster: embedded.EmbeddedServer, template: str, folder: Path
) -> AsyncIterator[Scene]:
    """With a template that has the tables of DBOS, so that a kill does not pay for
    them.
    """
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    name = f"template_{uuid4().hex[:12]}"
    clone(maintenance, name, template)
    url = db.as_uri(cluster.place.url(embedded.OWNER_ROLE, database=name))
    await asyncio.to_thread(durable.DBOS.migrate, url, application_role=db.APP_ROLE)
    given = folder / "given"
    given.mkdir()
    ingester = Ingester()
    try:
        async with Watched() as reading:
            yield Scene(cluster, name, folder, corpus(given), ingester, reading)
    finally:
        ingester.close()
        drop(maintenance, name)


OWN = {"id", "user_id", "created_at", "updated_at", "heat", "accessed_at"}


async def notes_of(one: Life) -> int:
    """How many notes there are."""
    async with one.database.transaction(one.caller) as tx:
        return (await base.find(tx, one.caller, notes.NOTES, limit=1000)).total


def told(record: Any) -> dict[str, Any]:
    """What a record says, without what another run says otherwise: ids and the time of
    the run.
    """
    values = {
        name: value
        for name, value in asdict(record).items()
        if name not in OWN and not isinstance(value, UUID)
    }
    values["custom"] = {
        k: v for k, v in values["custom"].items() if k not in {"inside", "modified"}
    }
    return values


async def content(one: Life) -> dict[str, Any]:
    """Everything that is there after an ingestion, in an order of its own."""
    records: list[str] = []
    async with one.database.transaction(one.caller) as tx:
        for name, domain in catalogue.DOMAINS.items():
            found = (await base.find(tx, one.caller, domain, limit=1000)).items
            records += [f"{name}: {sorted(told(record).items())}" for record in found]
    passages = await one.rows(
        "SELECT path, key, ordinal, place, text FROM passage JOIN imported USING (user_id, record_id)"
        " ORDER BY path, key, ordinal"
    )
    known = await one.rows(
        "SELECT path, digest, items, state, reason FROM imported_file ORDER BY path"
    )
    keys = await one.rows("SELECT path, key, domain FROM imported ORDER BY path, key")
    made = await one.rows(
        "SELECT domain, action, count(*) FROM change GROUP BY 1, 2 ORDER BY 1, 2"
    )
    kept = sorted(
        str(file.relative_to(one.blobs / str(one.caller.user_id)))
        for file in one.blobs.rglob("??/*")
    )
    return {
        "records": sorted(records), "passages": passages, "files": known, "keys": keys, "log": made, "blobs": kept,
    }  # fmt: skip


async def files_of(one: Life) -> dict[str, tuple[str, str, int, int]]:
    """Each file of the first ingestion and the upload: what became of it, and how many
    records it gave.
    """
    rows = await one.rows(
        "SELECT path, state, reason, counts, passages FROM ingestion_file ORDER BY path"
    )
    result: dict[str, tuple[str, str, int, int]] = {}
    for row in rows:
        count = row["counts"].get("imported", 0) + row["counts"].get("unchanged", 0)
        result.setdefault(
            row["path"], (row["state"], row["reason"], count, row["passages"])
        )
    return result


async def settled(one: Life, *, pages: bool = False) -> None:
    """Nothing is left of the work itself; `pages`, unless they were read by one who
    died after another was done.
    """
    assert await one.pending() == []
    assert pages or await one.rows("SELECT number FROM unit") == []
    states = await one.rows("SELECT state, reason, worker FROM ingestion")
    assert {row["state"] for row in states} == {"done"}, states
    assert {row["reason"] for row in states} == {""}
    await whole(one.database, one.caller)
