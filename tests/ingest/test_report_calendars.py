"""Calendars that tripped other programs: zones, rules and lines, imported and read back
through the API.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from reverie import app
from reverie.access import callers, tokens, users
from reverie.ingest import importer, ingest_file, report, scan
from reverie.web import server
from tests.conftest import WORKER_POOL

REPORTS = Path(__file__).parent / "reports"


@dataclass
class Visitor:
    """One person's imports, and what the API says of them."""

    reverie: app.App
    client: httpx.AsyncClient
    caller: callers.Caller
    token: str
    folder: Path

    async def take(self, path: Path) -> report.FileReport:
        """Import one file."""
        context = ingest_file.Context(
            self.reverie.database, self.caller, self.reverie.blobs, WORKER_POOL
        )
        done = await importer.run(
            context, list(scan.find([path])), progress=lambda number, file: None
        )
        return done.files[0]

    async def read(self, name: str, content: str | bytes) -> report.FileReport:
        """Import a file of this content."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return await self.take(path)

    async def get(self, path: str, **params: str) -> list[dict[str, Any]]:
        """The items of an answer."""
        answer = await self.client.get(
            f"/api/v1/{path}",
            params=params or {"limit": "200"},
            headers={"Authorization": f"Bearer {self.token}"},
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]

    async def agenda(self, first: str, last: str) -> list[str]:
        """Title and start of each occurrence."""
        items = await self.get("events/agenda", **{"from": first, "to": last})
        return [f"{item['title']} {item['start']}" for item in items]


@pytest.fixture
async def visitor(reverie: app.App, tmp_path: Path) -> AsyncIterator[Visitor]:
    user = await users.create(reverie.database, name="visitor", timezone="Asia/Tokyo")
    token = await tokens.mint(reverie.database, user.user_id, name="reader")
    caller = await tokens.caller(reverie.database, token)
    transport = httpx.ASGITransport(app=server.create(reverie))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8585"
    ) as client:
        yield Visitor(reverie, client, caller, token, tmp_path)


async def test_the_files_own_definition_beats_the_name(visitor: Visitor) -> None:
    await visitor.take(REPORTS / "ics-gmt-redefined" / "talk.ics")
    (event,) = await visitor.get("events")
    assert event["start"] == "2026-07-14T10:30:00+01:00"
    assert event["end"] == "2026-07-14T11:00:00+01:00"


async def test_a_series_keeps_the_rules_of_its_zone(visitor: Visitor) -> None:
    await visitor.take(REPORTS / "ics-custom-zone-series" / "series.ics")
    assert await visitor.agenda("2026-10-01", "2026-12-31") == [
        "Glaze standup 2026-10-13T09:30:00+02:00",
        "Glaze standup 2026-10-20T09:30:00+02:00",
        "Glaze standup 2026-10-27T09:30:00+01:00",
        "Glaze standup 2026-11-03T09:30:00+01:00",
    ]


async def test_names_that_exchange_shows(visitor: Visitor) -> None:
    told = await visitor.take(REPORTS / "ics-outlook-displayname" / "summer.ics")
    events = await visitor.get("events")
    call, walk = sorted(events, key=lambda event: event["title"])
    assert walk["start"] == "2026-07-14T15:00:00+02:00"
    assert call["title"] == "Harbour call"
    assert call["start"] in {"2026-07-14T15:00:00Z", "2026-07-14T15:00:00+00:00"}
    assert (told.imported, told.skipped, told.remarks) == (2, [], [])


async def test_a_broken_part_costs_no_event(visitor: Visitor) -> None:
    told = await visitor.take(REPORTS / "ics-odd-rules" / "odd.ics")
    assert (told.imported, told.skipped) == (5, [])
    assert [item["remark"] for item in told.remarks] == [
        "Count and until: set aside, recurrence: UNTIL=20261101T000000Z",
        "Interval nought: set aside, recurrence: INTERVAL=0",
    ]
    assert await visitor.agenda("2026-10-01", "2026-11-10") == [
        "Until a plain date 2026-10-05T09:00:00+02:00",
        "Until a plain date 2026-10-12T09:00:00+02:00",
        "Until a plain date 2026-10-19T09:00:00+02:00",
        "Count and until 2026-10-24T02:30:00+02:00",
        "Interval nought 2026-10-24T08:00:00+00:00",
        "Count and until 2026-10-25T02:30:00+02:00",
        "Count and until 2026-10-26T02:30:00+01:00",
        "Until a plain date 2026-10-26T09:00:00+01:00",
        "Month end 2026-10-31T02:00:00+01:00",
        "Interval nought 2026-10-31T08:00:00+00:00",
        "Interval nought 2026-11-07T08:00:00+00:00",
    ]
