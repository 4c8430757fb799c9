"""A folder that is kept in step: moves keep records, removals delete softly, and what
is away takes nothing with it.
"""

import asyncio
from pathlib import Path

import pytest

from reverie import app, errors
from reverie.ingest import watch
from reverie.records import base, files, notes
from tests.ingest.test_durable import ask, ended, held, working

HERONS = "<html><head><title>Herons</title></head><body><p>Herons stand in the pond all day.</p></body></html>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    given = tmp_path / "given"
    (given / "sub").mkdir(parents=True)
    (given / "one.md").write_text("# One\n\nfirst\n", encoding="utf-8")
    (given / "two.md").write_text("# Two\n\nsecond\n", encoding="utf-8")
    (given / "herons.html").write_text(HERONS, encoding="utf-8")
    return given


async def step(reverie: app.App, folder: Path) -> dict[str, int]:
    done = await ended(reverie, await ask(reverie, folder, watch=True))
    assert done.ingestion.state == "done", done.ingestion.reason
    return done.files


async def test_what_is_removed_is_deleted_and_comes_back(
    reverie: app.App, folder: Path
) -> None:
    async with working(reverie):
        assert await step(reverie, folder) == {"imported": 3}
        kept = (folder / "one.md").read_bytes()
        (folder / "one.md").unlink()
        await step(reverie, folder)
        assert {one.title for one in await held(reverie, notes.NOTES)} == {"Two"}
        async with reverie.database.transaction(reverie.owner) as tx:
            deleted = (
                await base.find(tx, reverie.owner, notes.NOTES, deleted=True)
            ).items
        assert [one.title for one in deleted] == ["One"]
        (folder / "one.md").write_bytes(kept)
        await step(reverie, folder)
        assert {one.title for one in await held(reverie, notes.NOTES)} == {"One", "Two"}


async def test_what_moves_keeps_its_record(reverie: app.App, folder: Path) -> None:
    async with working(reverie):
        await step(reverie, folder)
        [before] = await held(reverie, files.FILES)
        (folder / "herons.html").rename(folder / "sub" / "birds.html")
        assert await step(reverie, folder) == {"unchanged": 3}
        [after] = await held(reverie, files.FILES)
        assert (after.id, after.name) == (before.id, "birds.html")
        assert after.path == str(folder / "sub" / "birds.html")
        # And its next change is a change of the same record.
        (folder / "sub" / "birds.html").write_text(
            HERONS.replace("Herons stand", "Storks stand"), encoding="utf-8"
        )
        await step(reverie, folder)
        [changed] = await held(reverie, files.FILES)
        assert changed.id == before.id
        assert "Storks" in changed.text


async def test_what_was_changed_here_is_not_deleted(
    reverie: app.App, folder: Path
) -> None:
    async with working(reverie):
        await step(reverie, folder)
        [one] = [
            note for note in await held(reverie, notes.NOTES) if note.title == "One"
        ]
        async with reverie.database.transaction(reverie.owner) as tx:
            await base.update(
                tx, reverie.owner, notes.NOTES, one.id, {"content": "mine by now"}
            )
        (folder / "one.md").unlink()
        await step(reverie, folder)
        assert "mine by now" in {
            note.content for note in await held(reverie, notes.NOTES)
        }


def unplug(folder: Path) -> None:
    folder.rename(folder.with_name("unplugged"))
    folder.mkdir()


async def test_a_folder_that_is_away_takes_nothing_with_it(
    reverie: app.App, folder: Path
) -> None:
    async with working(reverie):
        await step(reverie, folder)
        unplug(folder)
        await step(reverie, folder)
        assert len(await held(reverie, notes.NOTES)) == 2
        assert len(await held(reverie, files.FILES)) == 1


async def test_an_import_without_watching_deletes_nothing(
    reverie: app.App, folder: Path
) -> None:
    async with working(reverie):
        await step(reverie, folder)
        (folder / "one.md").unlink()
        await ended(reverie, await ask(reverie, folder))
        assert len(await held(reverie, notes.NOTES)) == 2


async def test_changes_are_heard_of(folder: Path) -> None:
    stop = asyncio.Event()
    told = 0

    async def listen() -> None:
        nonlocal told
        async for _ in watch.changes([folder], stop=stop):
            told += 1

    async with asyncio.timeout(30):
        listening = asyncio.create_task(listen())
        while told < 2:
            (folder / "new.md").write_text(f"# New\n\n{told}\n", encoding="utf-8")
            await asyncio.sleep(0.5)
        stop.set()
        await listening
    with pytest.raises(errors.NotFound):
        async for _ in watch.changes([folder / "nowhere"], stop=stop):
            pass


async def test_what_changes_during_the_first_import_is_heard_of(folder: Path) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(30):
        changes = watch.changes([folder], stop=stop)
        await anext(changes)
        (folder / "new.md").write_text("# New\n", encoding="utf-8")
        await asyncio.sleep(0.2)
        await anext(changes)
        stop.set()
        with pytest.raises(StopAsyncIteration):
            await anext(changes)
