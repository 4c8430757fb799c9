"""What changed since a moment: nothing is ever missed, whoever writes meanwhile."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from reverie import app
from reverie.access import callers
from reverie.records import base, catalogue, notes, record_types
from tests.web import lives
from tests.web.test_records import ROOT, by_domain, error_of, filled

LONG_AGO = "2020-01-01T00:00:00Z"


@by_domain
async def test_created_updated_deleted(
    api: httpx.AsyncClient, domain: record_types.Domain[Any]
) -> None:
    path = f"{ROOT}/{domain.plural}"
    old, gone, back, *_ = await filled(api, domain, 4)
    start = (await api.get(path, params={"since": LONG_AGO})).json()
    assert len(start["created"]) == 4
    stamp = start["meta"]["response_timestamp"]
    assert stamp.endswith("Z")

    column, value = lives.CHANGE[domain.name]
    new = (await api.post(path, json=lives.bodies(domain.name, 5)[4])).json()
    changed = (await api.patch(f"{path}/{old['id']}", json={column: value})).json()
    deleted = (await api.delete(f"{path}/{gone['id']}")).json()
    await api.delete(f"{path}/{back['id']}")
    restored = (await api.post(f"{path}/{back['id']}/restore")).json()

    found = (await api.get(path, params={"since": stamp})).json()
    assert found["created"] == [new]
    assert found["updated"] == [changed, restored]
    assert [one["id"] for one in found["deleted"]] == [deleted["id"]]
    assert (
        abs(
            datetime.fromisoformat(found["deleted"][0]["deleted_at"])
            - datetime.now(UTC)
        ).seconds
        < 60
    )
    assert found["meta"]["total_changes"] == 4

    shown = lives.SECRET[domain.name]
    few = (await api.get(path, params={"since": stamp, "fields": shown})).json()
    assert few["created"] == [{"id": new["id"], shown: new[shown]}]
    lines = (await api.get(path, params={"since": stamp, "format": "compact"})).json()
    assert lines["format"] == "compact"
    assert lines["created"]["ids"] == [new["id"]]
    assert [line[-8:] for line in lines["updated"]["lines"]] == [
        changed["id"][-8:],
        restored["id"][-8:],
    ]
    assert lines["deleted"] == found["deleted"]

    nothing = (
        await api.get(path, params={"since": found["meta"]["response_timestamp"]})
    ).json()
    assert nothing["meta"]["total_changes"] == 0


async def test_a_transaction_open_across_the_answer_is_not_missed(
    api: httpx.AsyncClient, reverie: app.App, owner: callers.Caller
) -> None:
    async with reverie.database.transaction(owner) as tx:
        late = await base.create(tx, owner, notes.NOTES, {"content": "committed late"})
        await filled(api, notes.NOTES, 1)
        first = (await api.get(f"{ROOT}/notes", params={"since": LONG_AGO})).json()
        assert str(late.id) not in [one["id"] for one in first["created"]]
    second = (
        await api.get(
            f"{ROOT}/notes", params={"since": first["meta"]["response_timestamp"]}
        )
    ).json()
    assert str(late.id) in [one["id"] for one in second["created"]]


async def test_a_follower_sees_every_change_of_concurrent_writers(
    api: httpx.AsyncClient, reverie: app.App, owner: callers.Caller
) -> None:
    """Writers that hold their transactions open for a while; one follower that asks on
    from each answer.
    """
    written: list[str] = []

    async def write(number: int) -> None:
        for i in range(8):
            async with reverie.database.transaction(owner) as tx:
                one = await base.create(
                    tx, owner, notes.NOTES, {"content": f"{number} {i}"}
                )
                await asyncio.sleep(0.002 * ((number * 7 + i * 3) % 11))
            written.append(str(one.id))

    writers = [asyncio.create_task(write(number)) for number in range(5)]
    seen: set[str] = set()
    stamp = LONG_AGO
    while True:
        over = all(one.done() for one in writers)
        answer = (await api.get(f"{ROOT}/notes", params={"since": stamp})).json()
        seen |= {one["id"] for one in answer["created"]}
        stamp = answer["meta"]["response_timestamp"]
        if over:
            break
    await asyncio.gather(*writers)
    assert len(written) == 40
    assert seen == set(written)


@pytest.mark.parametrize(
    "sent",
    [
        "2026-11-28T10:00:00Z",
        "2026-11-28T10:00:00+01:00",
        "2026-11-28T10:00:00 01:00",
        "2026-11-28T10:00:00-05:00",
    ],
)
async def test_a_plus_that_nobody_escaped_is_understood(
    api: httpx.AsyncClient, sent: str
) -> None:
    assert (await api.get(f"{ROOT}/notes?since={sent}")).status_code == 200


async def test_since_is_whole(api: httpx.AsyncClient) -> None:
    for name, value in (
        ("limit", "5"),
        ("offset", "1"),
        ("tier", "hot"),
        ("deleted", "true"),
        ("tag", "x"),
    ):
        refused = await api.get(
            f"{ROOT}/notes", params={"since": LONG_AGO, name: value}
        )
        assert refused.status_code == 422
        assert f"`{name}`" in error_of(refused)["message"]


async def test_changes_over_all_domains(api: httpx.AsyncClient) -> None:
    made = {
        name: (await filled(api, one, 1))[0] for name, one in catalogue.DOMAINS.items()
    }
    note = made["note"]["id"]
    await api.patch(f"{ROOT}/notes/{note}", json={"title": "otra"})
    await api.delete(f"{ROOT}/notes/{note}")
    newest = (await api.get(f"{ROOT}/changes", params={"limit": 3})).json()
    assert [one["action"] for one in newest["items"]] == ["delete", "update", "create"]
    assert newest["meta"]["has_more"] is True
    assert set(newest["items"][0]) == {
        "domain",
        "record_id",
        "action",
        "columns",
        "source",
        "caller",
        "summary",
        "at",
    }
    assert newest["items"][1]["columns"] == ["title"]
    assert newest["items"][1]["caller"] == "user:test"

    rows = (await api.get(f"{ROOT}/changes", params={"since": LONG_AGO})).json()
    assert {one["domain"]: one["record_id"] for one in rows["items"]} == {
        k: v["id"] for k, v in made.items()
    }
    assert [one["at"] for one in rows["items"]] == sorted(
        one["at"] for one in rows["items"]
    )
    # In small pages, asking on from each, every record comes by.
    seen: set[str] = set()
    stamp = LONG_AGO
    for _ in range(20):
        page = (
            await api.get(f"{ROOT}/changes", params={"since": stamp, "limit": 3})
        ).json()
        seen |= {one["record_id"] for one in page["items"]}
        stamp = page["meta"]["response_timestamp"]
        if not page["meta"]["has_more"]:
            break
    assert seen == {one["id"] for one in made.values()}
    for name in ("task", "tasks"):
        one = (
            await api.get(f"{ROOT}/changes", params={"since": LONG_AGO, "domain": name})
        ).json()
        assert [row["domain"] for row in one["items"]] == ["task"]
    assert (
        await api.get(f"{ROOT}/changes", params={"domain": "dreams"})
    ).status_code == 422
