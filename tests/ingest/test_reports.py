"""The small files of `reports`, which tripped other programs, and variants of their
kinds: imported and read back through the API, against values written by hand.
"""

import base64
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from msoffcrypto.format import ooxml

from reverie import app
from reverie.access import tokens, users
from reverie.ingest import ingest_file, report, scan
from reverie.web import server
from tests.conftest import WORKER_POOL
from tests.ingest import broken

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

    def written(self, name: str, content: str | bytes) -> Path:
        """A file of that name and content."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    async def paths(self, *paths: Path, password: str = "") -> report.Report:
        """Everything under some paths, for a person of its own."""
        database = self._reverie.database
        user = await users.create(database, name="somebody", timezone="Europe/Madrid")
        token = await tokens.mint(database, user.user_id, name="reader")
        self._headers = {"Authorization": f"Bearer {token}"}
        caller = await tokens.caller(database, token)
        context = ingest_file.Context(
            database, caller, self._reverie.blobs, WORKER_POOL
        )
        options = ingest_file.Options(password=password)
        done = report.Report()
        waiting = list(scan.find(paths))
        while waiting:
            outcome = await ingest_file.take(context, waiting.pop(0), options)
            waiting = [*outcome.inside, *waiting]
            done.files.append(outcome.result)
        return done

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


async def test_marks_of_an_exporter(imported: Import) -> None:
    await imported.case("chatgpt-markers")
    chat = await imported.only("chats")
    texts = [turn["text"] for turn in chat["turns"]]
    assert texts[1] == "The survey by Maren Ostholt names three sites."
    assert texts[3] == (
        "[document: Kiln checklist]\n1. Check the thermocouple\n2. Vent the flue"
    )
    assert texts[4] == "I made the checklist."
    assert not any("\ue000" <= letter <= "\uf8ff" for letter in "".join(texts))


async def test_markup_in_titles(imported: Import) -> None:
    await imported.case("rss-odd")
    titles = {item["title"] for item in await imported.all("feed-items")}
    assert titles == {"Fish & chips plate", "No guid"}
    assert (await imported.only("feeds"))["title"] == "Kiln & Clay"


async def test_a_letter_that_is_attached_as_a_file(imported: Import) -> None:
    """Not as message/rfc822: its text is found, and no second mail is made of it."""
    inner = base64.b64encode(
        b"From: Maren <maren@example.org>\nTo: ilka@example.org\nSubject: Keys\n"
        b"Message-ID: <inner-9@example.org>\n\nUnder the third flowerpot.\n"
    ).decode()
    done = await imported.paths(
        imported.written(
            "m.eml",
            "From: a@example.org\nTo: b@example.org\nSubject: Fwd\n"
            'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nSee file.\n--b\n'
            'Content-Type: application/octet-stream; name="letter.eml"\n'
            "Content-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n"
            f"{inner}\n--b--\n",
        )
    )
    assert [file.status for file in done.files] == ["imported", "imported"]
    assert (await imported.only("emails"))["subject"] == "Fwd"
    file = await imported.only("files")
    assert file["name"] == "letter.eml"
    assert "Under the third flowerpot." in file["text"]
    assert "maren@example.org" in file["text"]


SOURCES = (
    ("settings.yaml", "kiln:\n  cone: 6\n  note: heliotrope\n"),
    ("kiln.py", "def fire():\n    return 'heliotrope'\n"),
    ("data.xml", "<?xml version='1.0'?><kilns><kiln>heliotrope</kiln></kilns>"),
    ("data.json", '{"kilns": [{"name": "heliotrope"}]}'),
    ("broken.json", '{"kilns": [{"name": "heliotrope"}'),
    ("lines.jsonl", '{"name": "heliotrope"}\n{"name": "other"}\n'),
    ("main.rs", 'fn main() { println!("heliotrope"); }\n'),
    ("style.css", ".heliotrope { color: purple }\n"),
    ("query.sql", "select 'heliotrope';\n"),
    ("plan.tex", "\\section{heliotrope}\n"),
    ("app.properties", "from=a\nto=b\ncolour=heliotrope\n"),
    ("mail.yml", "from: a\nto: b\nsubject: heliotrope\n"),
    ("board.canvas", '{"nodes":[{"text":"heliotrope"}]}'),
    ("Dockerfile", "FROM scratch\nRUN heliotrope\n"),
    ("wide.ini", "[kiln]\ncolour = heliotrope\n".encode("utf-16-le")),
)


async def test_texts_of_any_kind(imported: Import) -> None:
    for name, content in SOURCES:
        imported.written(name, content)
    done = await imported.paths(imported.folder)
    assert {file.status for file in done.files} == {"imported"}, done.files
    kept = {file["name"] for file in await imported.all("files") if _says(file)}
    kept |= {note["title"] for note in await imported.all("notes") if _says(note)}
    assert kept == {name for name, _ in SOURCES}


def _says(record: dict[str, Any]) -> bool:
    return "heliotrope" in (record.get("text") or record.get("content") or "")


def encrypted_file(kind: str) -> bytes:
    """A file of today's office whose password is "cobalt"."""
    plain = io.BytesIO(broken.around(kind, "The glaze is cobalt blue."))
    locked = io.BytesIO()
    ooxml.OOXMLFile(plain).encrypt("cobalt", locked)
    return locked.getvalue()


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx"])
async def test_encrypted_office_files(imported: Import, kind: str) -> None:
    path = imported.written(f"a.{kind}", encrypted_file(kind))
    locked = (await imported.paths(path)).files[0]
    assert locked.status == "failed"
    assert locked.reason == "it is encrypted: give its password with --password"
    wrong = (await imported.paths(path, password="umber")).files[0]
    assert wrong.reason == "it is encrypted, and the password is wrong"
    opened = (await imported.paths(path, password="cobalt")).files[0]
    assert opened.status == "imported"
    assert "The glaze is cobalt blue." in (await imported.only("files"))["text"]
