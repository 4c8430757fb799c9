"""The small files of `reports`, which tripped other programs, and variants of their
kinds: imported and read back through the API, against values written by hand.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio

from reverie import app
from reverie.access import tokens, users
from reverie.ingest import importer, ingest_file, report, scan
from reverie.web import server
from tests.conftest import WORKER_POOL

REPORTS = Path(__file__).parent / "reports"


class Import:
    """Imports files for the owner, and reads the records as a client."""

    def __init__(
        self, reverie: app.App, client: httpx.AsyncClient, folder: Path
    ) -> None:
        self._reverie = reverie
        self._client = client
        self._headers: dict[str, str] = {}
        self.folder = folder

    async def case(self, name: str) -> report.Report:
        return await self.paths(REPORTS / name)

    async def file(self, name: str, content: str | bytes) -> report.FileReport:
        """One file of that name and content."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return (await self.paths(path)).files[0]

    async def paths(self, *paths: Path) -> report.Report:
        database = self._reverie.database
        user = await users.create(database, name="somebody", timezone="Europe/Madrid")
        token = await tokens.mint(database, user.user_id, name="reader")
        self._headers = {"Authorization": f"Bearer {token}"}
        caller = await tokens.caller(database, token)
        context = ingest_file.Context(
            database, caller, self._reverie.blobs, WORKER_POOL
        )
        return await importer.run(
            context, list(scan.find(paths)), progress=lambda number, file: None
        )

    async def all(self, domain: str) -> list[dict[str, Any]]:
        answer = await self._client.get(
            f"/api/v1/{domain}", params={"limit": 200}, headers=self._headers
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]

    async def only(self, domain: str) -> dict[str, Any]:
        (record,) = await self.all(domain)
        return record


@pytest_asyncio.fixture
async def imported(reverie: app.App, tmp_path: Path) -> AsyncIterator[Import]:
    transport = httpx.ASGITransport(app=server.create(reverie))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8585"
    ) as client:
        yield Import(reverie, client, tmp_path / "files")


async def test_calendar_part(imported: Import) -> None:
    await imported.case("mail-calendar-part")
    mail = await imported.only("emails")
    assert mail["body_text"].count("planning round") == 1
    assert "Planning round" in mail["body_text"]
    assert "2026-03-05" in mail["body_text"]
    assert "09:00 to 10:00" in mail["body_text"]
    for source in ("BEGIN:", "DTSTART", "X-MICROSOFT", "UID"):
        assert source not in mail["body_text"]


async def test_a_plain_part_that_says_nothing(imported: Import) -> None:
    await imported.case("mail-placeholder-plain")
    mail = await imported.only("emails")
    assert "pottery fair in Oldenvik opens on 9 May" in mail["body_text"]
    assert "stalls cost 45 crowns" in mail["body_text"]


async def test_a_message_in_a_message(imported: Import) -> None:
    done = await imported.case("mail-nested-message")
    mail = await imported.only("emails")
    assert "hangs behind the crucible" in mail["body_text"]
    assert "Where the keys are" in mail["body_text"]
    assert [file["name"] for file in mail["attachments"]] == ["letter.eml", "code.txt"]
    note = await imported.only("notes")
    assert (note["title"], note["content"]) == ("code", "The alarm word is heliotrope.")
    assert [file.status for file in done.files] == ["imported", "imported"]


async def test_winmail(imported: Import) -> None:
    await imported.case("mail-winmail")
    mail = await imported.only("emails")
    assert [file["name"] for file in mail["attachments"]] == ["agreement.txt"]
    note = await imported.only("notes")
    assert note["title"] == "agreement"
    assert note["content"].strip() == "The kiln lease ends on 30 September 2026."


async def test_a_wrong_charset(imported: Import) -> None:
    await imported.case("mail-wrong-charset")
    mail = await imported.only("emails")
    assert mail["body_text"] == (
        "Die Glasurprüfung für Jörg kostet 30 €, größer als gedacht."
    )


async def test_gmail_mbox(imported: Import) -> None:
    await imported.case("mail-mbox-gmail")
    second, first = await imported.all("emails")
    assert (first["subject"], first["read"]) == ("Erste", False)
    assert first["custom"]["labels"] == ["Posteingang", "Ungelesen", "Für später"]
    assert "From my desk: the glaze is dry." in first["body_text"]
    assert "From here on it is all quiet." in first["body_text"]
    assert (second["subject"], second["body_text"]) == ("Zweite", "OK.")


async def test_tracked_changes(imported: Import) -> None:
    await imported.case("docx-tracked")
    text = (await imported.only("files"))["text"]
    assert "For Ilka Dombrowski" in text
    assert "The rent is four hundred crowns." in text
    assert "Boxed notice: no firing on Sundays." in text


async def test_chinese_and_japanese(imported: Import) -> None:
    await imported.case("txt-cjk")
    note = await imported.only("notes")
    assert note["content"] == (
        "今日はdockerで窑の温度記録を保存した。桌面后端用GitHub部署了雾凇词库。"
    )


async def test_tags_in_tags(imported: Import) -> None:
    await imported.case("md-nested-tags")
    note = await imported.only("notes")
    assert (note["title"], note["tags"]) == ("Glaze notes", ["misc", "research"])
    assert note["custom"]["properties"]["aliases"] == ["alt name"]


async def test_a_colon_in_a_title(imported: Import) -> None:
    await imported.case("md-colon-title")
    note = await imported.only("notes")
    assert note["title"] == "Kiln log: first firing"
    assert note["tags"] == ["kiln", "log"]
    assert note["content"] == "Cone 6 reached at 14:20."
    assert note["custom"]["created"] == "2026-03-04"


async def test_toml(imported: Import) -> None:
    await imported.case("md-toml-front")
    note = await imported.only("notes")
    assert (note["title"], note["tags"]) == ("Wheel throwing", ["clay", "wheel"])
    assert note["content"] == "Centre the clay first."


async def test_daily_notes_in_german(imported: Import) -> None:
    await imported.case("md-daily-german")
    assert await imported.all("notes") == []
    entries = {entry["date"]: entry["content"] for entry in await imported.all("diary")}
    assert entries == {
        "2026-03-03": "Heute im Atelier gewesen.",
        "2026-05-04": "English month.",
    }


ODD_NAMES = (
    (b"caf\xe9 latin1.txt", "café latin1"),
    (b"\xe4\xf6\xfc.md", "äöü"),
    ("grün.txt".encode(), "grün"),
    (b"plain.txt", "plain"),
)


def odd_folder(folder: Path) -> Path:
    """A folder of files whose names are in more than one encoding."""
    folder.mkdir(parents=True)
    for name, _ in ODD_NAMES:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(
            f"a note of {len(name)} bytes"
        )
    return folder


async def test_names_that_are_no_utf8(imported: Import) -> None:
    folder = odd_folder(imported.folder)
    done = await imported.paths(folder)
    assert (done.imported, done.failed) == (4, 0)
    titles = {note["title"] for note in await imported.all("notes")}
    assert titles == {title for _, title in ODD_NAMES}
    assert {file.path for file in done.files} == {
        "café latin1.txt",
        "äöü.md",
        "grün.txt",
        "plain.txt",
    }
