"""Killed by SIGKILL at named points of writing, following and importing: nothing is
lost, nothing is there twice.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from reverie import blobs, config, db, embedded
from reverie.access import callers, tokens, users
from reverie.ingest import importer, ingest_file, ledger, scan
from reverie.llm import embedding
from reverie.pipeline import worker
from reverie.records import base, catalogue, notes, postings
from reverie.search import query, search
from tests.conftest import WORKER_POOL
from tests.durability.conftest import Victim
from tests.pipeline import embedder
from tests.pipeline.conftest import accesses, caught_up, vectors

SPREAD = 16


def spread(points: Sequence[str], count: int) -> list[str]:
    """Some of the points, evenly over all of them, the first and the last among them."""
    if len(points) <= count:
        return list(points)
    return [points[round(i * (len(points) - 1) / (count - 1))] for i in range(count)]


async def new_user(database: db.Database) -> callers.Caller:
    user = await users.create(database, name="owner", timezone="Europe/Madrid")
    return await tokens.caller(
        database, await tokens.mint(database, user.user_id, name="owner")
    )


async def found(database: db.Database, caller: callers.Caller, text: str) -> set[UUID]:
    """What search finds by words."""
    none = embedding.Embeddings(config.Embedding(provider="none"))
    results = await search.search(database, caller, none, query.Query(text=text))
    none.close()
    return {hit.record_id for hit in results.hits}


async def actions(
    database: db.Database, caller: callers.Caller
) -> list[tuple[str, str]]:
    """The change log as (domain, action), oldest first."""
    async with database.transaction(caller) as tx:
        return [
            (row["domain"], row["action"])
            for row in await tx.rows("SELECT domain, action FROM change ORDER BY seq")
        ]


async def whole(database: db.Database, caller: callers.Caller) -> None:
    """Every live record has its card, its passages and their terms, as its text says,
    and nothing else has any.
    """
    async with database.transaction(caller) as tx:
        live: set[UUID] = set()
        for domain in catalogue.DOMAINS.values():
            for record in (await base.find(tx, caller, domain, limit=1000)).items:
                live.add(record.id)
                rows = await tx.rows(
                    "SELECT id, text FROM passage WHERE record_id = %s ORDER BY ordinal",
                    (record.id,),
                )
                said = "".join("".join(row["text"].split()) for row in rows)
                text = domain.text(record)
                meant = "".join(
                    "".join(one.text.split()) for one in text.sections
                ) or "".join(text.title.split())
                assert said == meant
        assert {
            row["record_id"] for row in await tx.rows("SELECT record_id FROM card")
        } == live
        assert {
            row["record_id"] for row in await tx.rows("SELECT record_id FROM passage")
        } == live
        fresh = {
            row["passage_id"] for row in await tx.rows("SELECT passage_id FROM fresh")
        }
        packed = [one.id for one in await postings.segments(tx, caller)]
        held = fresh | set(await postings.members(tx, caller, packed))
        assert {row["id"] for row in await tx.rows("SELECT id FROM passage")} <= held
        assert (
            await tx.value(
                "SELECT count(*) FROM passage WHERE terms IS NULL OR terms = '\\x'"
            )
            == 0
        )


WRITES = [
    ("note", "create"),
    ("diary", "create"),
    ("note", "update"),
    ("diary", "delete"),
    ("diary", "restore"),
]
NAMES = ["create note", "create diary", "update note", "delete diary", "restore diary"]


async def killed_writing(
    database: db.Database, victim: Victim, folder: Path, point: str
) -> None:
    caller = await new_user(database)
    ids = [uuid4(), uuid4()]
    acks = folder / f"{caller.user_id}.acks"
    job: dict[str, Any] = {
        "do": "write",
        "url": database.url,
        "user": str(caller.user_id),
        "ids": [str(one) for one in ids],
        "acks": str(acks),
        "passed": str(folder / "passed"),
    }
    assert victim.do(job | {"point": point}) == -9
    acked = acks.read_text().split("\n")[:-1] if acks.exists() else []
    done = await actions(database, caller)
    # All that was acknowledged is there, and at most the one write that was under way.
    assert acked == NAMES[: len(acked)]
    assert done in (WRITES[: len(acked)], WRITES[: len(acked) + 1])
    await whole(database, caller)
    assert victim.do(job) == 0
    assert await actions(database, caller) == WRITES
    await whole(database, caller)
    assert await found(database, caller, "zinnias lavender") == {ids[0]}
    assert await found(database, caller, "dahlias") == {ids[1]}


async def points_of(
    database: db.Database, victim: Victim, folder: Path, job: dict[str, Any]
) -> list[str]:
    """Every point that a job passes when nobody kills it."""
    job = {
        "url": database.url,
        "acks": str(folder / "dry.acks"),
        "passed": str(folder / "passed"),
    } | job
    assert victim.do(job) == 0
    return json.loads((folder / "passed").read_text())


async def test_killed_while_writing(
    database: db.Database, victim: Victim, tmp_path: Path
) -> None:
    dry = await new_user(database)
    job = {"do": "write", "user": str(dry.user_id), "ids": [str(uuid4()), str(uuid4())]}
    points = await points_of(database, victim, tmp_path, job)
    assert len(points) > 80
    named = [
        "before insert into note #1",
        "after insert into note #1",
        "after insert into card #1",
        "before insert into card #1",
        "before insert into change #1",
        "after insert into change #1",
        "before commit #1",
        "after commit #1",
        "before acknowledging create note",
        "after acknowledging create note",
        "after insert into diary #1",
        "after delete from fresh #1",
        "after update note #1",
        "after delete from card #1",
        "after update diary #2",
    ]
    assert set(named) <= set(points)
    for point in named:
        await killed_writing(database, victim, tmp_path, point)


@pytest.mark.soak
async def test_killed_at_every_point_of_writing(
    database: db.Database, victim: Victim, tmp_path: Path
) -> None:
    dry = await new_user(database)
    job = {"do": "write", "user": str(dry.user_id), "ids": [str(uuid4()), str(uuid4())]}
    for point in await points_of(database, victim, tmp_path, job):
        await killed_writing(database, victim, tmp_path, point)


@asynccontextmanager
async def another(
    cluster: embedded.EmbeddedServer, template: str
) -> AsyncIterator[db.Database]:
    """A database more than the test's own: a worker follows everybody in one."""
    name = f"kill_{uuid4().hex[:12]}"
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(
            db.compose("CREATE DATABASE {name} TEMPLATE {of}", name=name, of=template)
        )
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database=name), size=4)
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute(
                db.compose("DROP DATABASE {name} WITH (FORCE)", name=name)
            )


async def some_life(database: db.Database, caller: callers.Caller) -> dict[UUID, float]:
    """Ten changes of four notes; how often each counts as opened."""
    made: list[UUID] = []
    for i in range(4):
        async with database.transaction(caller) as tx:
            made.append(
                (
                    await base.create(
                        tx, caller, notes.NOTES, {"content": f"begonia {i} " * 90}
                    )
                ).id
            )
    async with database.transaction(caller) as tx:
        await base.update(tx, caller, notes.NOTES, made[0], {"content": "crocus"})
        await base.update(tx, caller, notes.NOTES, made[0], {"pinned": True})
        await base.delete(tx, caller, notes.NOTES, made[1])
        await base.delete(tx, caller, notes.NOTES, made[2])
        await base.restore(tx, caller, notes.NOTES, made[2])
        await base.update(tx, caller, notes.NOTES, made[3], {"title": "Begonia"})
    return dict(zip(made, (3.0, 1.0, 2.0, 2.0), strict=True))


async def killed_following(
    database: db.Database,
    victim: Victim,
    folder: Path,
    server: embedder.Server,
    slot: str,
    point: str,
) -> None:
    caller = await new_user(database)
    counts = await some_life(database, caller)
    job = {
        "do": "follow",
        "slot": slot,
        "url": database.url,
        "user": str(caller.user_id),
        "embedding": server.settings.model_dump(),
        "passed": str(folder / "passed"),
    }
    assert victim.do(job | {"point": point}) == -9, point
    embeddings = embedding.Embeddings(server.settings)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, caller)
    embeddings.close()
    assert await accesses(database, caller) == counts
    there, lacking = await vectors(database, caller)
    assert lacking == 0
    async with database.transaction(caller) as tx:
        assert there == await tx.value("SELECT count(DISTINCT hash) FROM passage")
    assert await found(database, caller, "begonia") == {
        one for i, one in enumerate(counts) if i in (2, 3)
    }


FOLLOWING = {
    "embedding": [
        "before from change #1",
        "after from change #1",
        "before insert into unembedded #1",
        "after insert into unembedded #1",
        "after from unembedded #1",
        "after from passage #1",
        "before embedder #1",
        "after embedder #1",
        "before insert into embedding #1",
        "after insert into embedding #1",
        "before delete from unembedded #1",
        "after delete from unembedded #1",
        "after insert into slot #1",
        "after delete from embedding #1",
        "before listen #1",
    ],
    "heat": [
        "after pg_try_advisory_lock #1",
        "after update heat #1",
        "after from slot #1",
        "after from change #1",
        "before insert into slot #1",
        "after insert into slot #1",
        "after insert into heat #1",
        "after insert into heat #5",
    ],
}


@pytest.mark.parametrize("slot", FOLLOWING)
async def test_killed_while_following(
    cluster: embedded.EmbeddedServer,
    template: str,
    victim: Victim,
    tmp_path: Path,
    slot: str,
) -> None:
    with embedder.serving() as server:
        for point in FOLLOWING[slot]:
            async with another(cluster, template) as database:
                await killed_following(database, victim, tmp_path, server, slot, point)


@pytest.mark.soak
@pytest.mark.parametrize("slot", FOLLOWING)
async def test_killed_at_every_point_of_following(
    cluster: embedded.EmbeddedServer,
    template: str,
    victim: Victim,
    tmp_path: Path,
    slot: str,
) -> None:
    with embedder.serving() as server:
        async with another(cluster, template) as database:
            caller = await new_user(database)
            await some_life(database, caller)
            job = {
                "do": "follow",
                "slot": slot,
                "user": str(caller.user_id),
                "embedding": server.settings.model_dump(),
            }
            points = await points_of(database, victim, tmp_path, job)
        # The polling at the end comes as often as it does.
        for point in [
            one for one in points if not one.endswith(("from slot #3", "from users #2"))
        ][:80]:
            async with another(cluster, template) as database:
                await killed_following(database, victim, tmp_path, server, slot, point)


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//x//x//EN
BEGIN:VEVENT
UID:1@example.org
DTSTAMP:20260101T000000Z
DTSTART:20260301T090000Z
SUMMARY:Dentist petunia
END:VEVENT
BEGIN:VEVENT
UID:2@example.org
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:20260302
SUMMARY:Holiday
END:VEVENT
END:VCALENDAR
"""
CARDS = """BEGIN:VCARD
VERSION:3.0
FN:Ana Petunia
EMAIL:ana@example.org
END:VCARD
"""
MAIL = """From: ana@example.org
To: me@example.org
Subject: petunia seeds
Date: Fri, 02 Oct 2026 08:15:00 +0000
Message-ID: <1@example.org>

They are in the shed.
"""


def belongings(folder: Path) -> Path:
    """A small folder of several formats."""
    folder.mkdir()
    (folder / "2026-02-18.md").write_text("A day with petunia seedlings.\n")
    (folder / "Garden.md").write_text(
        "---\ntags: [garden]\n---\n\nThe petunia bed needs shade.\n"
    )
    (folder / "calendar.ics").write_text(CALENDAR.replace("\n", "\r\n"))
    (folder / "contacts.vcf").write_text(CARDS.replace("\n", "\r\n"))
    (folder / "mail.eml").write_text(MAIL.replace("\n", "\r\n"))
    return folder


def originals(folder: Path) -> dict[str, bytes]:
    """The bytes of a folder's files, by address."""
    return {
        blobs.digest(file.read_bytes()): file.read_bytes() for file in folder.iterdir()
    }


async def content(database: db.Database, caller: callers.Caller) -> dict[str, int]:
    """How many records of each domain there are."""
    async with database.transaction(caller) as tx:
        pages = {
            name: await base.find(tx, caller, domain)
            for name, domain in catalogue.DOMAINS.items()
        }
    return {name: page.total for name, page in pages.items() if page.total}


async def killed_importing(
    database: db.Database,
    victim: Victim,
    folder: Path,
    source: Path,
    expected: dict[str, int],
    point: str,
) -> None:
    caller = await new_user(database)
    root = folder / f"blobs-{caller.user_id}"
    job = {
        "do": "import",
        "url": database.url,
        "user": str(caller.user_id),
        "folder": str(source),
        "blobs": str(root),
    }
    assert victim.do(job | {"point": point, "passed": str(folder / "passed")}) == -9, (
        point
    )
    await whole(database, caller)
    before = sum((await content(database, caller)).values())
    files = list(scan.find([source]))
    again = await importer.run(
        ingest_file.Context(database, caller, root, WORKER_POOL),
        files,
        progress=lambda *_: None,
    )
    assert again.imported == sum(expected.values()) - before, point
    once_more = await importer.run(
        ingest_file.Context(database, caller, root, WORKER_POOL),
        files,
        progress=lambda *_: None,
    )
    assert (once_more.imported, once_more.updated, once_more.failed) == (0, 0, 0)
    assert await content(database, caller) == expected
    log = await actions(database, caller)
    assert sorted(log) == sorted(
        (name, "create") for name, count in expected.items() for _ in range(count)
    )
    await whole(database, caller)
    texts = originals(source)
    async with database.transaction(caller) as tx:
        for name in expected:
            for record in (await base.find(tx, caller, catalogue.domain(name))).items:
                address = await ledger.original(tx, caller, record.id)
                assert blobs.get(root, caller.user_id, address) == texts[address]
    assert len(await found(database, caller, "petunia")) == 5


async def importing(
    database: db.Database,
    victim: Victim,
    folder: Path,
    choose: Callable[[list[str]], list[str]],
) -> int:
    """Kill an import at the chosen points; says at how many."""
    source = belongings(folder / "source")
    dry = await new_user(database)
    job = {
        "do": "import",
        "user": str(dry.user_id),
        "folder": str(source),
        "blobs": str(folder / "dry"),
    }
    points = await points_of(database, victim, folder, job)
    expected = await content(database, dry)
    assert expected == {"note": 1, "event": 2, "contact": 1, "email": 1, "diary": 1}
    chosen = choose(points)
    assert set(chosen) <= set(points)
    for point in chosen:
        await killed_importing(database, victim, folder, source, expected, point)
    return len(chosen)


async def test_killed_while_importing(
    database: db.Database, victim: Victim, tmp_path: Path
) -> None:
    def choose(points: list[str]) -> list[str]:
        assert len(points) > 140
        named = [
            "before fsync #1",
            "after fsync #1",
            "before rename #1",
            "after rename #1",
            "after fsync #2",
        ]
        named += [
            "before insert into imported #1",
            "after insert into imported #2",
            "before insert into imported_file #1",
        ]
        named += ["after insert into imported_file #3", "after insert into event #1"]
        return [*named, *(one for one in spread(points, SPREAD) if one not in named)]

    assert await importing(database, victim, tmp_path, choose) >= 24


@pytest.mark.soak
async def test_killed_at_every_point_of_importing(
    database: db.Database, victim: Victim, tmp_path: Path
) -> None:
    assert await importing(database, victim, tmp_path, list) > 140
