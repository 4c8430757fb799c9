"""How private a record is takes time to compute: no transaction waits for it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from reverie import app, db, embedded, errors
from reverie.access import callers
from reverie.ingest import importer, ingest_file, scan
from reverie.privacy import sensitivity
from reverie.records import base, catalogue, notes

# Whoever is in a transaction, or holds back the followers of the change log by an xid.
OPEN = """
SELECT pid, state, backend_xid FROM pg_stat_activity
WHERE datname IS NOT NULL AND pid <> pg_backend_pid()
    AND (state LIKE 'idle in transaction%' OR backend_xid IS NOT NULL)
"""


@pytest.fixture
def looked(
    cluster: embedded.EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> list[list[Any]]:
    """What was open, each time that a sensitivity was computed."""
    seen: list[list[Any]] = []
    computed = sensitivity.of_record
    url = cluster.place.url(embedded.OWNER_ROLE, database="postgres")

    def slowly(domain: str, content: dict[str, object]) -> sensitivity.Level:
        with psycopg.connect(url, autocommit=True) as connection:
            seen.append(connection.execute(OPEN).fetchall())
        return computed(domain, content)

    monkeypatch.setattr(sensitivity, "of_record", slowly)
    return seen


async def test_no_transaction_is_open_while_sensitivity_is_computed(
    api: httpx.AsyncClient, looked: list[list[Any]]
) -> None:
    made = await api.post("/api/v1/notes", json={"content": "paint"})
    assert made.status_code == 201, made.text
    note = made.json()
    assert looked == [[]]
    changed = await api.patch(
        f"/api/v1/notes/{note['id']}", json={"content": "call 612 34 56 78"}
    )
    assert changed.status_code == 200, changed.text
    assert changed.json()["sensitivity"] == "high"
    assert looked == [[], [], []]  # of a change: what it becomes, and what it was


async def test_within_a_transaction_it_would_be_seen(
    database: db.Database, owner: callers.Caller, looked: list[list[Any]]
) -> None:
    """The test above looks in the right place."""
    note = catalogue.domain("note")
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, note, {"content": "paint"})
        await base.update(tx, owner, note, made.id, {"content": "more paint"})
    assert [bool(rows) for rows in looked] == [True, True, True]
    assert looked[1][0][2] is not None


async def test_a_record_that_changed_meanwhile_is_computed_again(
    database: db.Database, owner: callers.Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, notes.NOTES, {"content": "paint"})
    calls = between(monkeypatch, lambda: write(database, owner, made.id))
    revised = await base.revise(
        database, owner, notes.NOTES, made.id, {"title": "Painter"}
    )
    assert (revised.title, revised.content) == ("Painter", "call 612 34 56 78")
    assert revised.sensitivity == "high"
    assert calls == [1]
    async with database.transaction(owner) as tx:
        log = await tx.rows("SELECT action, columns FROM change ORDER BY seq")
    assert [row["columns"] for row in log[1:]] == [
        ["sensitivity", "content"],
        ["title"],
    ]


async def test_a_record_deleted_meanwhile_is_not_found(
    database: db.Database, owner: callers.Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, notes.NOTES, {"content": "paint"})
    between(monkeypatch, lambda: gone(database, owner, made.id))
    with pytest.raises(errors.NotFound):
        await base.revise(database, owner, notes.NOTES, made.id, {"title": "x"})


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> list[int]:
    """Do something once while the next sensitivity is computed."""
    computed = sensitivity.of_record
    loop = asyncio.get_running_loop()
    calls: list[int] = []

    def meanwhile(domain: str, content: dict[str, object]) -> sensitivity.Level:
        if not calls:
            calls.append(1)
            asyncio.run_coroutine_threadsafe(act(), loop).result(timeout=20)
        return computed(domain, content)

    monkeypatch.setattr(sensitivity, "of_record", meanwhile)
    return calls


async def write(database: db.Database, caller: callers.Caller, note: UUID) -> None:
    async with database.transaction(caller) as tx:
        await base.update(
            tx, caller, notes.NOTES, note, {"content": "call 612 34 56 78"}
        )


async def gone(database: db.Database, caller: callers.Caller, note: UUID) -> None:
    async with database.transaction(caller) as tx:
        await base.delete(tx, caller, notes.NOTES, note)


async def test_an_import_computes_before_its_transactions(
    reverie: app.App,
    looked: list[list[Any]],
    tmp_path: Path,
) -> None:
    """New ones and changed ones; of what is unchanged nothing is computed."""
    calendar = "BEGIN:VCALENDAR\n{}END:VCALENDAR\n"
    event = "BEGIN:VEVENT\nUID:{0}\nSUMMARY:{1}\nDTSTART:20260301T100000Z\nEND:VEVENT\n"
    folder = tmp_path / "files"
    folder.mkdir()
    notes_file, events_file = folder / "paint.md", folder / "plans.ics"
    notes_file.write_text("# Paint\n\ncall 612 34 56 78")
    both = event.format("a", "Painter") + event.format("b", "Plumber")
    events_file.write_text(calendar.format(both))
    context = ingest_file.Context(
        reverie.database, reverie.owner, reverie.blobs, reverie.worker_pool
    )
    done = await importer.run(context, list(scan.find([folder])), progress=_silent)
    assert (done.imported, done.failed) == (3, 0)
    assert looked == [[], [], []]
    looked.clear()
    notes_file.write_text("# Paint\n\nno number any more")
    both = event.format("a", "Painter") + event.format("b", "Electrician")
    events_file.write_text(calendar.format(both))
    done = await importer.run(context, list(scan.find([folder])), progress=_silent)
    assert (done.imported, done.updated, done.unchanged) == (0, 2, 1)
    assert looked == [[], [], [], []]  # of a change: what it becomes, and what it was


def _silent(number: int, file: Any) -> None:
    """No progress is shown."""
