"""The original bytes of imported records, over HTTP."""

from pathlib import Path
from uuid import UUID

import httpx

from reverie import app
from reverie.access import callers
from reverie.ingest import importer, ingest_file, scan
from tests.conftest import WORKER_POOL
from tests.web.test_records import ROOT, error_of

NOTE = "---\ntags: [home]\n---\n# The leak\n\nUnder the sink. ¡Otra vez! <script>alert(1)</script>\n"


async def brought_in(reverie: app.App, caller: callers.Caller, folder: Path) -> None:
    found = list(scan.find([folder]))
    await importer.run(
        ingest_file.Context(reverie.database, caller, reverie.blobs, WORKER_POOL),
        found,
        progress=lambda number, file: None,
    )


async def test_the_very_bytes_come_back(
    api: httpx.AsyncClient,
    others_api: httpx.AsyncClient,
    reverie: app.App,
    owner: callers.Caller,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "leak.md").write_text(NOTE, encoding="utf-8")
    await brought_in(reverie, owner, folder)
    note = (await api.get(f"{ROOT}/notes")).json()["items"][0]["id"]
    response = await api.get(f"{ROOT}/notes/{note}/original")
    assert response.status_code == 200
    assert response.content == NOTE.encode()
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == "attachment"
    assert response.headers["x-content-type-options"] == "nosniff"

    own = (await api.post(f"{ROOT}/notes", json={"content": "typed"})).json()["id"]
    assert (
        error_of(await api.get(f"{ROOT}/notes/{own}/original"))["code"] == "not_found"
    )
    # Under another domain, to another person, and once deleted, it is as unknown as
    # any.
    for client, path in ((api, "tasks"), (others_api, "notes")):
        unknown = await client.get(f"{ROOT}/{path}/{UUID(int=5)}/original")
        foreign = await client.get(f"{ROOT}/{path}/{note}/original")
        assert (foreign.status_code, foreign.text) == (404, unknown.text)
    await api.delete(f"{ROOT}/notes/{note}")
    assert (await api.get(f"{ROOT}/notes/{note}/original")).status_code == 404


async def test_a_damaged_original_is_an_error_until_the_file_comes_again(
    api: httpx.AsyncClient, reverie: app.App, owner: callers.Caller, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "leak.md").write_text(NOTE, encoding="utf-8")
    await brought_in(reverie, owner, folder)
    note = (await api.get(f"{ROOT}/notes")).json()["items"][0]["id"]
    kept = next(path for path in reverie.blobs.rglob("*") if path.is_file())
    kept.write_bytes(NOTE.encode()[::-1])
    refused = await api.get(f"{ROOT}/notes/{note}/original")
    assert refused.status_code == 500
    told = error_of(refused)
    assert told["code"] == "damaged"
    assert "Import the same file again" in told["hint"]
    uploaded = await api.post(f"{ROOT}/upload", content=NOTE.encode())
    assert uploaded.status_code == 201
    whole = await api.get(f"{ROOT}/notes/{note}/original")
    assert (whole.status_code, whole.content) == (200, NOTE.encode())
