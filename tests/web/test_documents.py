"""Documents over HTTP: from the upload to the picture of the page that a passage stands
on.
"""

import asyncio
import hashlib
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio

from reverie import app, embedded
from reverie.access import callers, users
from reverie.ingest import durable, ingest_file
from reverie.pipeline import embed, embed_queue, models, slots
from reverie.records import changes
from tests.conftest import WORKER_POOL, client_of
from tests.ingest import pdfs
from tests.web.test_records import ROOT, error_of

PAGES = (
    "The harbour opens at six in the morning, and at seven on Sundays.",
    "The keys to the boathouse hang behind the blue door of the office.",
    "In case of fire, leave by the pier and wait beside the old crane.",
)
HARBOUR = pdfs.built([pdfs.drawn([text]) for text in PAGES])


@pytest_asyncio.fixture
async def working(reverie: app.App) -> AsyncIterator[None]:
    desk = ingest_file.Context(
        reverie.database, reverie.owner, reverie.blobs, WORKER_POOL
    )
    owner_url = reverie.database.url.replace(embedded.APP_ROLE, embedded.OWNER_ROLE)
    async with durable.launched(desk, owner_url=owner_url, patience_s=0.2):
        yield


async def uploaded(api: httpx.AsyncClient, data: bytes) -> str:
    answer = await api.post(f"{ROOT}/upload", content=data)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    return str(answer.json()["sha256"])


async def ended(api: httpx.AsyncClient, answer: httpx.Response) -> dict[str, Any]:
    """The last status of an ingestion that was asked for."""
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == answer.json()["status"]
    status: dict[str, Any] = {}
    for _ in range(1500):
        status = (await api.get(answer.json()["status"])).json()
        if status["state"] in ("done", "failed"):
            return status
        await asyncio.sleep(0.02)
    raise TimeoutError(status)


async def test_from_the_upload_to_the_page(
    api: httpx.AsyncClient, others_api: httpx.AsyncClient, working: None
) -> None:
    upload = await uploaded(api, HARBOUR)
    asked = {"upload": upload, "name": "harbour rules.pdf"}
    status = await ended(api, await api.post(f"{ROOT}/ingest", json=asked))
    assert status["state"] == "done"
    assert [step["name"] for step in status["steps"]] == [
        "scan",
        "extract",
        "save",
        "embed",
    ]
    assert (status["files"], status["units"], status["passages"]) == (
        {"imported": 1},
        3,
        3,
    )
    [file] = (await api.get(f"{ROOT}/files")).json()["items"]
    assert (file["name"], file["sha256"], file["mime"]) == (
        "harbour rules.pdf",
        upload,
        "application/pdf",
    )
    assert "parts" not in file

    at = f"{ROOT}/documents/{file['id']}"
    passages = (await api.get(f"{at}/passages")).json()
    assert passages["total"] == 3
    assert [one["place"]["page"] for one in passages["items"]] == [1, 2, 3]
    assert [one["where"] for one in passages["items"]] == ["page 1", "page 2", "page 3"]
    for one, text in zip(passages["items"], PAGES, strict=True):
        assert text in one["text"]
        assert file["text"][one["place"]["start"] : one["place"]["end"]] in one["text"]
    later = (await api.get(f"{at}/passages", params={"after": 1, "limit": 1})).json()
    assert [one["number"] for one in later["items"]] == [2]

    second = passages["items"][1]
    page = await api.get(second["link"])
    assert page.headers["content-type"] == "image/png"
    assert page.content.startswith(b"\x89PNG")
    around = (await api.get(f"{at}/passages/2")).json()
    assert PAGES[0] in around["before"]
    assert PAGES[2] in around["after"]
    assert (await api.get(passages["original"])).content == HARBOUR

    hits = (await api.get(f"{ROOT}/search", params={"q": "boathouse keys"})).json()[
        "results"
    ]
    assert hits[0]["passages"][0]["place"]["page"] == 2

    for path in ("passages", "passages/1", "pages/1"):
        assert (await others_api.get(f"{at}/{path}")).status_code == 404
    for path in ("passages/9", "pages/9", "pages/x", "passages/-1"):
        assert (await api.get(f"{at}/{path}")).status_code == 404


async def test_an_upload_that_comes_again_is_the_same_record(
    api: httpx.AsyncClient, working: None
) -> None:
    first = await uploaded(
        api, b"<h1>Rules</h1><p>Wipe your feet before you come in, please.</p>"
    )
    asked = {"upload": first, "name": "rules.html", "path": "rules"}
    await ended(api, await api.post(f"{ROOT}/ingest", json=asked))
    same = await ended(api, await api.post(f"{ROOT}/ingest", json=asked))
    assert same["records"] == {"imported": 0, "updated": 0, "unchanged": 1}
    second = await uploaded(
        api, b"<h1>Rules</h1><p>Keep your boots on, the floor is wet and cold.</p>"
    )
    changed = await ended(
        api, await api.post(f"{ROOT}/ingest", json=asked | {"upload": second})
    )
    assert changed["records"] == {"imported": 0, "updated": 1, "unchanged": 0}
    [file] = (await api.get(f"{ROOT}/files")).json()["items"]
    assert "boots" in file["text"]
    listed = (await api.get(f"{ROOT}/ingest")).json()["items"]
    assert [one["state"] for one in listed] == ["done"] * 3


async def test_what_is_asked_wrongly_is_refused(
    api: httpx.AsyncClient, others_api: httpx.AsyncClient
) -> None:
    assert error_of(await api.post(f"{ROOT}/upload", content=b""))["code"] == "invalid"
    upload = await uploaded(api, b"mine")
    for body in (
        {},
        {"upload": upload},
        {"upload": upload, "name": "a", "paths": ["/etc"]},
        {"upload": "../../etc"},
    ):
        assert (await api.post(f"{ROOT}/ingest", json=body)).status_code == 422
    foreign = {"upload": upload, "name": "a.txt"}
    assert (await others_api.post(f"{ROOT}/ingest", json=foreign)).status_code == 404
    assert (
        await others_api.post(f"{ROOT}/ingest", json={"paths": ["/etc/passwd"]})
    ).status_code == 403
    assert (
        await api.get(f"{ROOT}/ingest/status/{'0' * 8}-0000-0000-0000-{'0' * 12}")
    ).status_code == 404


async def test_paths_into_a_home_are_left_out(
    working: None, api: httpx.AsyncClient, tmp_path: Path
) -> None:
    home = tmp_path / "elsewhere"
    home.mkdir()
    (home / "token").write_text(f"rev_{'a' * 43}\n")
    (home / "note.md").write_text("# Note\n\nthe okapi\n")
    (tmp_path / "link").symlink_to(home)
    paths = [str(home), str(home / "note.md"), str(tmp_path / "link" / "token")]
    status = await ended(api, await api.post(f"{ROOT}/ingest", json={"paths": paths}))
    assert status["files"] == {"skipped": 3}
    found = await api.get(f"{ROOT}/search", params={"q": "okapi"})
    assert found.json()["results"] == []


async def test_an_agent_takes_in_no_files_of_the_machine_and_no_addresses(
    reverie: app.App, owner: callers.Caller
) -> None:
    agent = callers.Caller(owner.user_id, "agent", "agent:main", frozenset({"*:*"}))
    async with await client_of(reverie, agent) as client:
        assert (
            await client.post(f"{ROOT}/ingest", json={"paths": ["/etc/passwd"]})
        ).status_code == 403
        assert (
            await client.post(
                f"{ROOT}/ingest/url", json={"url": "https://example.org/?q=secret"}
            )
        ).status_code == 403
        assert (
            await client.post(f"{ROOT}/upload", content=b"words of an agent")
        ).status_code == 201


async def test_addresses_inside_are_not_fetched(
    api: httpx.AsyncClient, working: None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        came: list[object] = []
        listening.settimeout(5)

        def accept() -> None:
            try:
                came.append(listening.accept())
            except OSError:
                return

        waiting = threading.Thread(target=accept, daemon=True)
        waiting.start()
        port = listening.getsockname()[1]
        for url in (
            f"http://127.0.0.1:{port}/",
            f"http://2130706433:{port}/",
            "http://[::1]/",
            "file:///etc/passwd",
        ):
            status = await ended(
                api, await api.post(f"{ROOT}/ingest/url", json={"url": url})
            )
            assert status["state"] == "failed"
            assert status["reason"]
        listening.close()
        assert not came


async def test_an_uploaded_text_has_the_title_that_its_name_gives(
    api: httpx.AsyncClient, working: None
) -> None:
    for name, content in (
        ("shopping.txt", b"bread, salt, lamp oil\n"),
        ("trip.md", b"no heading at all\n"),
    ):
        upload = await uploaded(api, content)
        await ended(
            api,
            await api.post(f"{ROOT}/ingest", json={"upload": upload, "name": name}),
        )
    titles = {
        note["title"] for note in (await api.get(f"{ROOT}/notes")).json()["items"]
    }
    assert titles == {"shopping", "trip"}
    upload = await uploaded(api, b"walked along the pier\n")
    name = "2026-03-03.md"
    await ended(
        api, await api.post(f"{ROOT}/ingest", json={"upload": upload, "name": name})
    )
    entries = (await api.get(f"{ROOT}/diary")).json()["items"]
    assert [entry["date"] for entry in entries] == ["2026-03-03"]


async def test_an_ingestion_can_be_stopped(api: httpx.AsyncClient) -> None:
    upload = await uploaded(api, b"# One\n\ntext\n")
    asked = await api.post(f"{ROOT}/ingest", json={"upload": upload, "name": "one.md"})
    stopped = await api.post(f"{ROOT}/ingest/stop/{asked.json()['id']}")
    assert stopped.json()["state"] == "stopped"
    assert (await api.get(asked.json()["status"])).json()["state"] == "stopped"


async def test_once_its_files_are_read_the_time_left_is_that_of_vectors(
    api: httpx.AsyncClient, reverie: app.App, working: None
) -> None:
    upload = await uploaded(api, b"# One\n\nThe tide tables hang in the hall.\n")
    asked = await api.post(f"{ROOT}/ingest", json={"upload": upload, "name": "one.md"})
    status = await ended(api, asked)
    assert status["seconds_left"] is None
    # Nobody makes vectors here: the text is put into the queue, and the pace is given.
    user = users.Reference(reverie.owner.user_id)
    work = slots.Work(reverie.database, reverie.embeddings, user, reverie.models)
    async with reverie.database.transaction(reverie.owner) as tx:
        brought = await changes.after(tx, reverie.owner, xid=0, seq=0, limit=100)
    await embed.enqueue(work, brought)
    async with reverie.database.transaction(reverie.owner) as tx:
        letters = await embed_queue.letters(tx, reverie.owner)
        pace = models.Pace(letters, 30)
        model = reverie.embeddings.model
        await models.count(tx, reverie.owner, model, 0, pace=pace)
    status = (await api.get(asked.json()["status"])).json()
    assert status["seconds_left"] == 30
    assert status["steps"][-1]["state"] == "running"


async def test_the_vault_says_what_is_kept_and_who_is_connected(
    api: httpx.AsyncClient, working: None
) -> None:
    upload = await uploaded(api, HARBOUR)
    await ended(
        api,
        await api.post(
            f"{ROOT}/ingest", json={"upload": upload, "name": "harbour.pdf"}
        ),
    )
    stats = (await api.get(f"{ROOT}/vault/stats")).json()
    assert (stats["documents"], stats["records"], stats["passages"]) == (1, 1, 3)
    assert stats["document_bytes"] == len(HARBOUR)
    # Nothing waits: here there is no model.
    assert (stats["waiting"], stats["seconds_left"]) == (0, None)
    sizes = {one["what"]: one["bytes"] for one in stats["stored"]}
    assert sizes["originals"] >= len(HARBOUR)
    assert sizes["database"] > 1_000_000
    assert stats["outbound"] == {"connections": 0, "destinations": [], "complete": True}
