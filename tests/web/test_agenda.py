"""The agenda over HTTP: local days, clock changes, whole days, other zones."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx

from tests.web.test_records import ROOT, error_of


async def agenda(api: httpx.AsyncClient, first: str, last: str) -> list[dict[str, Any]]:
    response = await api.get(
        f"{ROOT}/events/agenda", params={"from": first, "to": last}
    )
    assert response.status_code == 200, response.text
    assert response.json()["meta"] == {
        "from": first,
        "to": last,
        "total": len(response.json()["items"]),
    }
    return response.json()["items"]


async def add(api: httpx.AsyncClient, **body: Any) -> str:
    response = await api.post(f"{ROOT}/events", json=body)
    assert response.status_code == 201, response.text
    return response.json()["id"]


async def test_nine_stays_nine_when_the_clocks_change(api: httpx.AsyncClient) -> None:
    standup = await add(
        api,
        title="Standup",
        start="2026-03-27T09:00:00",
        end="2026-03-27T09:30:00",
        timezone="Europe/Madrid",
        recurrence="RRULE:FREQ=DAILY",
        location="Discord",
    )
    found = await agenda(api, "2026-03-28", "2026-03-30")
    assert found == [
        {
            "event_id": standup,
            "title": "Standup",
            "start": f"{day}T09:00:00{offset}",
            "end": f"{day}T09:30:00{offset}",
            "day": day,
            "all_day": False,
            "timezone": "Europe/Madrid",
            "location": "Discord",
        }
        for day, offset in (
            ("2026-03-28", "+01:00"),
            ("2026-03-29", "+02:00"),
            ("2026-03-30", "+02:00"),
        )
    ]
    autumn = await agenda(api, "2026-10-24", "2026-10-26")
    assert [one["start"][10:] for one in autumn] == [
        "T09:00:00+02:00",
        "T09:00:00+01:00",
        "T09:00:00+01:00",
    ]


async def test_the_day_of_the_clock_change_is_one_day(api: httpx.AsyncClient) -> None:
    await add(api, title="Domingo", start="2026-03-29")
    await add(
        api,
        title="Noche",
        start="2026-03-29T23:30:00+02:00",
        end="2026-03-30T00:30:00+02:00",
    )
    found = await agenda(api, "2026-03-29", "2026-03-29")
    assert [(one["title"], one["all_day"]) for one in found] == [
        ("Domingo", True),
        ("Noche", False),
    ]
    assert (found[0]["start"], found[0]["end"]) == ("2026-03-29", "2026-03-30")
    assert [one["title"] for one in await agenda(api, "2026-03-30", "2026-03-30")] == [
        "Noche"
    ]
    assert await agenda(api, "2026-03-28", "2026-03-28") == []


async def test_early_in_singapore_is_that_local_day(api: httpx.AsyncClient) -> None:
    await add(
        api,
        title="Call",
        start="2026-11-20T07:10:00+08:00",
        end="2026-11-20T08:00:00+08:00",
    )
    assert (
        await agenda(api, "2026-11-19", "2026-11-19") == []
    )  # though it is the 19th in Madrid and in UTC
    found = await agenda(api, "2026-11-20", "2026-11-20")
    assert found[0]["start"] == "2026-11-20T07:10:00+08:00"
    assert (found[0]["day"], found[0]["timezone"]) == ("2026-11-20", "+08:00")
    listed = (
        await api.get(
            f"{ROOT}/events", params={"day": "2026-11-20", "format": "compact"}
        )
    ).json()["lines"]
    assert listed[0].startswith("07:10-08:00 Call")


async def test_whole_days(api: httpx.AsyncClient) -> None:
    await add(api, title="Lisbon", start="2026-04-10", end="2026-04-14")
    for day, there in (
        ("2026-04-09", 0),
        ("2026-04-10", 1),
        ("2026-04-13", 1),
        ("2026-04-14", 0),
    ):
        assert len(await agenda(api, day, day)) == there, day
    line = (await api.get(f"{ROOT}/events", params={"format": "compact"})).json()[
        "lines"
    ][0]
    assert line.startswith("📅 all-day: Lisbon")


async def test_the_coming_week_is_the_default(api: httpx.AsyncClient) -> None:
    today = datetime.now(UTC).astimezone(ZoneInfo("Europe/Madrid")).date()
    for offset in (-1, 0, 6, 7):
        await add(
            api, title=str(offset), start=(today + timedelta(days=offset)).isoformat()
        )
    found = (await api.get(f"{ROOT}/events/agenda")).json()
    assert [one["title"] for one in found["items"]] == ["0", "6"]
    assert found["meta"]["from"] == today.isoformat()


async def test_ranges_that_make_no_sense(api: httpx.AsyncClient) -> None:
    for params in (
        {"from": "2026-03-02", "to": "2026-03-01"},
        {"from": "x"},
        {"from": "2020-01-01", "to": "2026-01-01"},
        {"day": "2026-01-01"},
    ):
        response = await api.get(f"{ROOT}/events/agenda", params=params)
        assert response.status_code == 422
        error_of(response)
    edge = await api.get(f"{ROOT}/events/agenda", params={"from": "9999-12-30"})
    assert edge.status_code == 200
