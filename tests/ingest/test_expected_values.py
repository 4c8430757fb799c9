"""The real files, imported and read back through the API, against what their jCal,
jCard and `Expect:` say.
"""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from reverie import app
from reverie.access import tokens, users
from reverie.ingest import importer, ingest_file, report, scan
from reverie.web import server
from tests.conftest import DATA, WORKER_POOL
from tests.ingest.test_readers_data import (
    ENTRY,
    FEED,
    SIMPLE,
    components,
    expectations,
    files,
    values,
)

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the test data is not at {DATA}"
)


class Reader:
    """Imports one file at a time, each for a person of its own, and reads the records
    as that person's client.
    """

    def __init__(self, reverie: app.App, client: httpx.AsyncClient) -> None:
        self._reverie = reverie
        self._client = client
        self._headers: dict[str, str] = {}

    async def take(self, path: Path) -> report.FileReport:
        database = self._reverie.database
        user = await users.create(database, name=path.name, timezone="Europe/Madrid")
        token = await tokens.mint(database, user.user_id, name="reader")
        self._headers = {"Authorization": f"Bearer {token}"}
        desk = ingest_file.Context(
            database,
            await tokens.caller(database, token),
            self._reverie.blobs,
            WORKER_POOL,
        )
        done = await importer.run(
            desk, list(scan.find([path])), progress=lambda number, file: None
        )
        return done.files[0]

    async def all(self, domain: str) -> list[dict[str, Any]]:
        answer = await self._client.get(
            f"/api/v1/{domain}", params={"limit": 200}, headers=self._headers
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]


@pytest.fixture
async def reader(reverie: app.App) -> AsyncIterator[Reader]:
    transport = httpx.ASGITransport(app=server.create(reverie))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8585"
    ) as client:
        yield Reader(reverie, client)


async def test_calendars(reader: Reader) -> None:
    """Every property of every event that jCal tells and that we have a field for; who
    has no start is named.
    """
    compared = left_out = calendars = 0
    for path in files("ics", ".json"):
        calendars += 1
        told = await reader.take(path.with_suffix(".ics"))
        kept = await reader.all("events")
        wanted = list(components(json.loads(path.read_text()), "vevent"))
        dated = [event for event in wanted if values(event, "dtstart")]
        assert len(kept) == len(dated), path
        assert told.imported == len(dated) + len(await reader.all("tasks"))
        if not dated:
            assert told.status == "skipped"
            assert told.reason
        for event in wanted:
            if event not in dated:
                reasons = [told.reason, *(item["reason"] for item in told.skipped)]
                assert any(
                    "no start time" in reason
                    and values(event, "summary")[0][3] in reason
                    for reason in reasons
                )
                left_out += 1
        for event, record in zip(dated, kept, strict=True):
            compared += compare_event(event, record)
    assert (calendars, left_out) == (21, 2)
    assert compared == 4


def compare_event(event: list[Any], record: dict[str, Any]) -> int:
    compared = 0
    for name, field in (
        ("summary", "title"),
        ("description", "description"),
        ("location", "location"),
    ):
        for prop in values(event, name):
            assert record[field] == prop[3]
            compared += 1
    for prop in values(event, "dtstart"):
        assert record["start"].startswith(prop[3].removesuffix("Z"))
        assert record["start_day"] == prop[3][:10]
        assert record["all_day"] is (prop[2] == "date")
        compared += 2
    for prop in values(event, "uid"):
        assert record["custom"]["uid"] == prop[3]
        compared += 1
    return compared


async def test_contacts(reader: Reader) -> None:
    compared = cards = 0
    for path in files("vcf", ".json"):
        card = json.loads(path.read_text())
        told = await reader.take(path.with_suffix(".vcf"))
        kept = await reader.all("contacts")
        if not values(
            card, "fn"
        ):  # vcard_grouped: addresses only, no name to file them under
            assert (told.status, bool(told.reason), kept) == ("skipped", True, [])
            continue
        cards += 1
        (record,) = kept
        compared += compare_card(card, record)
    assert cards == 4
    assert compared >= 40


def compare_card(card: list[Any], record: dict[str, Any]) -> int:
    custom = record["custom"]
    checks = 1
    assert record["display_name"] == values(card, "fn")[0][3]
    for prop in values(card, "n")[:1]:  # a second name has no field
        assert [record["family"] or "", record["given"] or ""] == prop[3][:2]
        assert custom.get("prefix", "") == prop[3][3]
        checks += 3
    for name, field in (("email", "emails"), ("tel", "phones")):
        wanted = {prop[3].removeprefix("tel:") for prop in values(card, name)}
        assert set(record[field]) == wanted
        checks += len(wanted)
    for prop in values(card, "org"):
        parts = prop[3] if isinstance(prop[3], list) else [prop[3]]
        assert [record["company"], *custom.get("departments", [])] == parts
        checks += 1
    for name, field in (("title", "job_title"), ("note", "notes")):
        for prop in values(card, name):
            assert record[field] == prop[3]
            checks += 1
    for prop in values(card, "bday")[:1]:
        assert (record["birthday"] or custom["birthday"]) == prop[3][:10]
        checks += 1
    addresses = [record["address"], *custom.get("addresses", [])]
    for prop, address in zip(values(card, "adr"), addresses, strict=False):
        assert all(part in address for part in prop[3] if part)
        checks += 1
    for prop in values(card, "nickname"):
        assert set(prop[3:]) <= set(custom["nicknames"])
        checks += 1
    return checks


async def test_feeds(reader: Reader) -> None:
    """The `Expect:` of each feed that speaks of a field of ours (the readers' tests
    check all 183 expressions).
    """
    checked = 0
    for path, expression, headers in expectations():
        match = SIMPLE.match(expression.removeprefix("not bozo and ").strip())
        if match is None or "Content-Location" in headers or path.parent.name == "base":
            # addresses relative to the server: a file on disk was served from nowhere
            continue
        holder, name, value = match.group(1), match.group(2), match.group(4)
        whole = holder == "feed"
        field = FEED.get(name) if whole else {"content": "content", **ENTRY}.get(name)
        if field is None or (name == "content") != bool(match.group(3)):
            continue
        await reader.take(path)
        record = (await reader.all("feeds" if whole else "feed-items"))[0]
        wanted = eval(value, {"__builtins__": {}}).strip()
        if field == "title":  # a title is shown without its markup
            wanted = re.sub("<[^<>]*>", "", wanted)
        assert (record[field] or "") == wanted or record["custom"].get(
            name
        ) == wanted, (path, record)
        checked += 1
    assert checked >= 60


async def test_every_item_of_a_feed_belongs_to_it(reader: Reader) -> None:
    for path in [one for one, _, _ in expectations()][::10]:
        await reader.take(path)
        (feed,) = await reader.all("feeds")
        assert {item["feed_id"] for item in await reader.all("feed-items")} <= {
            feed["id"]
        }
