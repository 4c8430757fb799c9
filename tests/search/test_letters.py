"""Letters that do not decompose (Ł, Ø, Đ, ı, Æ, Œ, Þ, ß) are found by plain ones, and
plain ones by them: in texts, titles, people, folders and the graph.
"""

import shutil
from pathlib import Path

import httpx
import pytest

from reverie import app
from reverie.access import callers
from reverie.graph import lookups
from reverie.ingest import importer, ingest_file, scan
from reverie.pipeline import progress
from tests.conftest import WORKER_POOL

ROOT = "/api/v1"
REPORTS = Path(__file__).parents[1] / "ingest" / "reports"
NAMES = REPORTS / "search-stroke-letters" / "names.md"
ASKED = [
    "lukasz", "LUKASZ", "Łukasz", "zrodlowski", "lodz", "Łódź", "bjorn", "Björn", "odegard", "Ødegård", "dorde",
    "ayse", "yilmaz", "YILMAZ", "Yılmaz", "istanbul", "İSTANBUL", "thora", "aesa", "Æsa", "arhus", "strasse",
    "STRASSE", "Straße", "oeuvre", "Œuvre", "ŒUVRE",
]  # fmt: skip


async def titles(api: httpx.AsyncClient, **params: str) -> list[str]:
    response = await api.get(f"{ROOT}/search", params=params)
    assert response.status_code == 200, response.text
    return [hit["title"] for hit in response.json()["results"]]


async def test_every_spelling_finds_the_note_that_was_imported(
    api: httpx.AsyncClient,
    reverie: app.App,
    owner: callers.Caller,
    tmp_path: Path,
) -> None:
    shutil.copy(NAMES, tmp_path / "names.md")
    context = ingest_file.Context(
        reverie.database, owner, tmp_path / "blobs", WORKER_POOL
    )
    files = list(scan.find([tmp_path / "names.md"]))
    done = await importer.run(context, files, progress=lambda number, file: None)
    assert done.failed == 0
    for number in range(5):
        note = {"title": f"Other {number}", "content": "Nobody is in this note."}
        await api.post(f"{ROOT}/notes", json=note)
    missed = [text for text in ASKED if (await titles(api, q=text))[:1] != ["names"]]
    assert missed == []


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Łukasz Wałęsa", "lukasz walesa"),
        ("Søren Ødegård", "soren odegard"),
        ("Đuro Marić", "duro maric"),
        ("Işıl Yılmaz", "isil yilmaz"),
        ("Þórður Æsuson", "thordur aesuson"),
        ("Lœtitia Ħamsa", "loetitia hamsa"),
        ("Lukasz Walesa", "Łukasz Wałęsa"),
        ("Soren Odegard", "Søren Ødegård"),
    ],
)
async def test_a_person_is_found_in_any_spelling(
    api: httpx.AsyncClient,
    reverie: app.App,
    owner: callers.Caller,
    written: str,
    asked: str,
) -> None:
    given, family = written.split()
    contact = {"display_name": written, "given": given, "family": family}
    made = await api.post(f"{ROOT}/contacts", json=contact)
    assert made.status_code == 201, made.text
    event = {
        "title": "Lunch",
        "start": "2026-03-03T12:00:00Z",
        "calendar": "Łazienki",
        "attendees": [{"name": written}],
    }
    assert (await api.post(f"{ROOT}/events", json=event)).status_code == 201
    assert written in await titles(api, q=asked)
    assert await titles(api, q="lunch", person=asked) == ["Lunch"]
    assert await titles(api, q="lunch", category="lazienki") == ["Lunch"]
    async for state in progress.follow(reverie.database, reverie.embeddings, owner):
        assert not state.trouble
    async with reverie.database.snapshot(owner) as tx:
        assert (await lookups.named(tx, owner, asked)).name == written
    # A record that spells the name the other way is about the same person.
    given, family = asked.title().split()
    other = {"display_name": asked.title(), "given": given, "family": family}
    await api.post(f"{ROOT}/contacts", json=other)
    async for state in progress.follow(reverie.database, reverie.embeddings, owner):
        assert not state.trouble
    async with reverie.database.snapshot(owner) as tx:
        nodes, total = await lookups.listed(tx, owner, kind="person", name=asked)
        assert total == 1, nodes
