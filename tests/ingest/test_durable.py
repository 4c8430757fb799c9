"""Durable ingestion: what is asked for comes in once, whoever dies on the way."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from reverie import app, blobs, embedded
from reverie.access import callers
from reverie.ingest import durable, ingest_file, ingestions, ledger, status
from reverie.records import base, catalogue, files, notes, record_types
from tests.conftest import WORKER_POOL


def desk_of(reverie: app.App) -> ingest_file.Context:
    return ingest_file.Context(
        reverie.database, reverie.owner, reverie.blobs, WORKER_POOL
    )


@contextlib.asynccontextmanager
async def working(
    reverie: app.App, *, version: str = durable.VERSION
) -> AsyncIterator[None]:
    owner_url = reverie.database.url.replace(embedded.APP_ROLE, embedded.OWNER_ROLE)
    async with durable.launched(
        desk_of(reverie), owner_url=owner_url, patience_s=0.2, version=version
    ):
        yield


async def ask(
    reverie: app.App,
    *paths: Path,
    caller: callers.Caller | None = None,
    **wishes: object,
) -> UUID:
    caller = caller or reverie.owner
    async with reverie.database.transaction(caller) as tx:
        return await ingestions.ask(
            tx, caller, "paths", {"paths": [str(one) for one in paths], **wishes}
        )


async def far(
    reverie: app.App, ingestion_id: UUID, caller: callers.Caller | None = None
) -> status.Status:
    caller = caller or reverie.owner
    async with reverie.database.transaction(caller) as tx:
        return await status.status(tx, caller, ingestion_id, model="")


async def until(
    condition: Callable[[], Awaitable[object]], *, within_s: float = 60.0
) -> None:
    for _ in range(round(within_s / 0.02)):
        if await condition():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError


async def ended(
    reverie: app.App,
    ingestion_id: UUID,
    *,
    caller: callers.Caller | None = None,
    within_s: float = 60.0,
) -> status.Status:
    async def over() -> bool:
        return (await far(reverie, ingestion_id, caller)).ended

    await until(over, within_s=within_s)
    return await far(reverie, ingestion_id, caller)


async def held(
    reverie: app.App,
    domain: record_types.Domain[Any],
    caller: callers.Caller | None = None,
) -> list[Any]:
    caller = caller or reverie.owner
    async with reverie.database.transaction(caller) as tx:
        return (await base.find(tx, caller, domain, limit=1000)).items


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    given = tmp_path / "given"
    given.mkdir()
    for number in range(5):
        (given / f"note{number}.md").write_text(
            f"# Note {number}\n\nabout petunias\n", encoding="utf-8"
        )
    (given / "broken.docx").write_bytes(b"PK\x03\x04 no archive")
    (given / "film.mp4").write_bytes(b"\x00\x00\x00\x18ftypmp42")
    (given / "page.html").write_text(
        "<html><head><title>Roses</title></head><body><h1>Roses</h1><p>Roses want sun.</p></body></html>"
    )
    return given


async def test_a_folder_comes_in_once_and_says_how_far_it_is(
    reverie: app.App, folder: Path
) -> None:
    first = await ask(reverie, folder)
    assert (
        await ask(reverie, folder) == first
    )  # while it is open, the same request is the same ingestion
    waiting = await far(reverie, first)
    assert [(step.name, step.state) for step in waiting.steps] == [
        ("scan", "waiting"), ("extract", "waiting"), ("save", "waiting"), ("embed", "waiting"),
    ]  # fmt: skip
    async with working(reverie):
        done = await ended(reverie, first)
        assert done.ingestion.state == "done"
        assert done.files == {"imported": 6, "skipped": 1, "failed": 1}
        assert done.records == {"imported": 6, "updated": 0, "unchanged": 0}
        assert [step.state for step in done.steps] == ["done"] * 4
        assert [one.relative for one in done.problems] == ["broken.docx"]
        assert done.problems[0].reason
        again = await ask(reverie, folder)
        assert again != first
        second = await ended(reverie, again)
        assert second.files == {
            "unchanged": 6,
            "skipped": 1,
            "failed": 1,
        }  # what failed is told again, and not read
    assert len(await held(reverie, notes.NOTES)) == 5
    [page] = await held(reverie, files.FILES)
    assert page.custom["title"] == "Roses"
    assert "Roses want sun." in page.text


async def test_a_changed_document_is_replaced_in_place(
    reverie: app.App, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<h1>Old</h1><p>The heron stands in the pond.</p>", encoding="utf-8"
    )
    async with working(reverie):
        await ended(reverie, await ask(reverie, page))
        [before] = await held(reverie, files.FILES)
        page.write_text(
            "<h1>New</h1><p>The stork stands on the roof.</p>", encoding="utf-8"
        )
        done = await ended(reverie, await ask(reverie, page))
    assert done.records == {"imported": 0, "updated": 1, "unchanged": 0}
    [after] = await held(reverie, files.FILES)
    assert after.id == before.id
    assert "stork" in after.text
    assert "heron" not in after.text
    async with reverie.database.transaction(reverie.owner) as tx:
        texts = await tx.rows(
            "SELECT text FROM passage WHERE user_id = %s", (reverie.owner.user_id,)
        )
    assert not [row for row in texts if "heron" in row["text"]]


async def test_work_that_a_dead_process_left_is_taken_over(
    reverie: app.App, folder: Path
) -> None:
    """As after a kill: the row says that somebody works on it, and nobody holds that
    name's lock.
    """
    left = await ask(reverie, folder)
    async with reverie.database.transaction(reverie.owner) as tx:
        assert await ingestions.take_next(tx, reverie.owner, "ingest:dead") == left
    async with working(reverie):
        done = await ended(reverie, left)
    assert done.ingestion.state == "done"
    assert done.files["imported"] == 6


async def test_a_process_that_ends_leaves_its_work_to_the_next(
    reverie: app.App, folder: Path
) -> None:
    for number in range(60):
        (folder / f"more{number}.md").write_text(
            f"# More {number}\n\nand more\n", encoding="utf-8"
        )
    left = await ask(reverie, folder)

    async def begun() -> bool:
        return bool((await far(reverie, left)).files.get("imported"))

    async with working(reverie):
        await until(begun)
    between = await far(reverie, left)
    assert between.ingestion.state == "running"
    async with working(reverie):
        done = await ended(reverie, left)
    assert done.files["imported"] == 66
    assert len(await held(reverie, notes.NOTES)) == 65


async def test_an_upgrade_loses_no_work_in_flight(
    reverie: app.App, tmp_path: Path
) -> None:
    """The application version that DBOS knows has changed, with twenty workflows on
    their way.
    """
    folders = [tmp_path / f"folder{number}" for number in range(20)]
    for number, one in enumerate(folders):
        one.mkdir()
        for other in range(3):
            (one / f"n{other}.md").write_text(
                f"# {number} {other}\n\ntext\n", encoding="utf-8"
            )
    asked = [await ask(reverie, one) for one in folders]

    async def flying() -> bool:
        return len(await workflows(reverie, "PENDING")) == 20

    async with reverie.database.transaction(reverie.owner) as tx:
        await ledger.turn(
            tx, reverie.owner
        )  # nobody can save, and so none of them ends, however slow the others begin
        async with working(reverie, version="old"):
            await until(flying)
    left = await workflows(reverie, "PENDING")
    assert len(left) >= 18
    assert {one["application_version"] for one in left} == {"old"}
    async with working(reverie, version="new"):
        done = [await ended(reverie, one) for one in asked]
        await until(lambda: none_left(reverie))
    assert {one.ingestion.state for one in done} == {"done"}
    assert len(await held(reverie, notes.NOTES)) == 60
    finished = await workflows(reverie, "SUCCESS")
    assert {one["id"] for one in left} <= {
        one["id"] for one in finished if one["application_version"] == "new"
    }


async def workflows(reverie: app.App, *statuses: str) -> list[dict[str, Any]]:
    """What DBOS knows of them: the ingestion (`id`) and the version of the application."""
    async with reverie.database.transaction(reverie.owner) as tx:
        return await tx.rows(
            "SELECT split_part(workflow_uuid, ':', 1) AS id, application_version FROM dbos.workflow_status"
            " WHERE status = ANY(%s)",
            (list(statuses),),
        )


async def none_left(reverie: app.App) -> bool:
    return not await workflows(reverie, "PENDING", "ENQUEUED")


async def test_a_file_at_which_the_process_dies_is_parked(
    reverie: app.App, folder: Path
) -> None:
    left = await ask(reverie, folder)
    async with working(reverie):
        await ended(reverie, left)
    async with reverie.database.transaction(reverie.owner) as tx:
        poison = await ingestions.ask(
            tx, reverie.owner, "paths", {"paths": [str(folder)], "again": True}
        )
        await ingestions.take_next(tx, reverie.owner, "ingest:dead")
        new = ingestions.NewFile(
            "/poison.pdf", "poison.pdf", {"file": "/poison.pdf", "vault": False}
        )
        await ingestions.add(tx, reverie.owner, poison, [new])
        for _ in range(ingestions.TRIES):
            assert await ingestions.begin(tx, reverie.owner, poison, [1])
    async with working(reverie):
        done = await ended(reverie, poison)
    assert done.ingestion.state == "done"
    parked = [one for one in done.problems if one.state == "parked"]
    assert [one.relative for one in parked] == ["poison.pdf"]
    assert "3 times" in parked[0].reason


async def test_what_is_stopped_stays_stopped_until_it_is_asked_for_again(
    reverie: app.App, folder: Path
) -> None:
    stopped = await ask(reverie, folder)
    async with reverie.database.transaction(reverie.owner) as tx:
        await ingestions.end(tx, reverie.owner, stopped, "stopped")
    async with working(reverie):
        await asyncio.sleep(0.6)
        assert (await far(reverie, stopped)).ingestion.state == "stopped"
        assert not await held(reverie, notes.NOTES)
        assert await ask(reverie, folder) == stopped
        done = await ended(reverie, stopped)
        while done.ingestion.state == "stopped":
            done = await ended(reverie, stopped)
    assert done.files["imported"] == 6


async def test_a_password_is_forgotten_when_it_has_served(
    reverie: app.App, folder: Path
) -> None:
    asked = await ask(reverie, folder, password="open sesame")
    async with working(reverie):
        await ended(reverie, asked)
    async with reverie.database.transaction(reverie.owner) as tx:
        rows = await tx.rows(
            "SELECT request FROM ingestion WHERE user_id = %s", (reverie.owner.user_id,)
        )
        assert "sesame" not in str(rows)
        kept = await tx.rows("SELECT inputs FROM dbos.workflow_status")
    assert kept
    assert "sesame" not in str(kept)


async def test_a_folder_that_is_gone_fails_with_a_sentence(
    reverie: app.App, tmp_path: Path
) -> None:
    asked = await ask(reverie, tmp_path / "nowhere")
    async with working(reverie):
        done = await ended(reverie, asked)
    assert done.ingestion.state == "failed"
    assert "nowhere" in done.ingestion.reason


async def test_two_people_do_not_see_each_other(
    reverie: app.App, other: callers.Caller, folder: Path
) -> None:
    theirs = await ask(reverie, folder, caller=other)
    async with working(reverie):
        await ended(reverie, theirs, caller=other)
    for domain in catalogue.DOMAINS.values():
        assert not await held(reverie, domain)
    assert len(await held(reverie, notes.NOTES, other)) == 5
    assert [one.name for one in reverie.blobs.iterdir()] == [str(other.user_id)]


async def test_workflows_that_ended_long_ago_are_forgotten(
    reverie: app.App, folder: Path
) -> None:
    async with working(reverie):
        await ended(reverie, await ask(reverie, folder))
    count = "SELECT count(*) FROM dbos.workflow_status"
    async with reverie.database.transaction(None) as tx:
        await tx.run(
            "UPDATE dbos.workflow_status SET created_at = created_at - 8 * 86400000::bigint"
        )
        assert await tx.value(count) == 1

    async def forgotten() -> bool:
        async with reverie.database.transaction(None) as tx:
            return await tx.value(count) == 0

    async with working(reverie):
        await until(forgotten)


async def test_an_upload_does_not_wait_for_a_long_import(
    reverie: app.App, folder: Path
) -> None:
    for number in range(600):
        (folder / f"more{number}.md").write_text(
            f"# More {number}\n\nand more\n", encoding="utf-8"
        )
    blob = blobs.put(
        reverie.blobs, reverie.owner.user_id, b"# Urgent\n\nsent just now\n"
    )
    async with working(reverie):
        long = await ask(reverie, folder)

        async def begun() -> bool:
            return bool((await far(reverie, long)).files.get("imported"))

        await until(begun)
        async with reverie.database.transaction(reverie.owner) as tx:
            request = {"blob": blob, "name": "urgent.md", "path": "upload:urgent"}
            sent = await ingestions.ask(tx, reverie.owner, "upload", request)
        done = await ended(reverie, sent)
        assert done.files == {"imported": 1}
        assert (await far(reverie, long)).ingestion.state == "running"
