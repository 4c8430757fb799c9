"""Many small files at once: a bad one costs itself, and all others come in together."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from reverie import app, embedded
from reverie.access import callers
from reverie.ingest import durable, status
from reverie.ingest.sandbox import pool
from tests.ingest.test_durable import ask, desk_of, ended, working


@pytest.fixture
async def fragile(reverie: app.App) -> AsyncIterator[None]:
    """Ingestion whose readers can be ended by a file."""
    owner_url = reverie.database.url.replace(embedded.APP_ROLE, embedded.OWNER_ROLE)
    async with pool.WorkerPool(readers="tests.ingest.fragile_readers") as fragile_pool:
        desk = replace(desk_of(reverie), worker_pool=fragile_pool)
        async with durable.launched(desk, owner_url=owner_url, patience_s=0.2):
            yield


def some_notes(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        text = f"# Note {number:03}\n\n" + f"heron {number} on the weir. " * 40
        (folder / f"{number:03}.md").write_text(text, encoding="utf-8")


async def notes_in(reverie: app.App) -> list[str]:
    async with reverie.database.transaction(reverie.owner) as tx:
        rows = await tx.rows(
            "SELECT title FROM note WHERE user_id = %s ORDER BY title",
            (reverie.owner.user_id,),
        )
    return [row["title"] for row in rows]


async def transactions(reverie: app.App) -> int:
    async with reverie.database.transaction(reverie.owner) as tx:
        return await tx.value(
            "SELECT count(DISTINCT xid) FROM change WHERE user_id = %s",
            (reverie.owner.user_id,),
        )


def reasons(found: status.Status) -> set[str]:
    return {file.reason for file in found.problems}


async def test_a_hundred_notes_are_one_transaction(
    reverie: app.App, tmp_path: Path
) -> None:
    some_notes(tmp_path / "given", 100)
    async with working(reverie):
        done = await ended(reverie, await ask(reverie, tmp_path / "given"))
    assert done.files == {"imported": 100}
    assert await notes_in(reverie) == [f"Note {number:03}" for number in range(100)]
    assert await transactions(reverie) == 1


@pytest.mark.usefixtures("fragile")
async def test_a_file_that_ends_its_reader_costs_itself(
    reverie: app.App, tmp_path: Path
) -> None:
    some_notes(tmp_path / "given", 30)
    for number in (7, 19):
        (tmp_path / "given" / f"{number:03}.md").write_text("end this process")
    done = await ended(reverie, await ask(reverie, tmp_path / "given"))
    assert done.files == {"imported": 28, "failed": 2}
    assert reasons(done) == {"its reader broke off (exit 9)"}
    expected = [f"Note {number:03}" for number in range(30) if number not in (7, 19)]
    assert await notes_in(reverie) == expected


async def test_two_diary_entries_for_a_day_among_many_files_are_kept(
    reverie: app.App, tmp_path: Path
) -> None:
    """The database takes one a day; the other becomes a note, and no file is lost."""
    some_notes(tmp_path / "given", 20)
    for folder in ("a", "b"):
        diary = tmp_path / "given" / folder
        diary.mkdir()
        (diary / "2024-05-06.md").write_text(f"The day as {folder} saw it.\n")
    async with working(reverie):
        done = await ended(reverie, await ask(reverie, tmp_path / "given"))
    assert done.files == {"imported": 22}
    assert await _diary_entries(reverie) == 1
    assert len(await notes_in(reverie)) == 21


async def _diary_entries(reverie: app.App) -> int:
    async with reverie.database.transaction(reverie.owner) as tx:
        return await tx.value(
            "SELECT count(*) FROM diary WHERE user_id = %s", (reverie.owner.user_id,)
        )


async def test_an_agent_imports_many_with_its_own_rights(
    reverie: app.App, owner: callers.Caller, tmp_path: Path
) -> None:
    some_notes(tmp_path / "given", 40)
    (tmp_path / "given" / "call.ics").write_text(
        "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:1@x\n"
        "DTSTART:20240506T090000Z\nSUMMARY:Call\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    agent = callers.Caller(owner.user_id, "agent", "scribe", frozenset({"notes:*"}))
    async with working(reverie):
        asked = await ask(reverie, tmp_path / "given", caller=agent)
        done = await ended(reverie, asked)
    assert done.files == {"imported": 40, "skipped": 1}
    async with reverie.database.transaction(owner) as tx:
        rows = await tx.rows(
            "SELECT domain, caller, count(*) AS n FROM change WHERE user_id = %s GROUP BY 1, 2",
            (owner.user_id,),
        )
    assert rows == [{"domain": "note", "caller": "agent:scribe", "n": 40}]
