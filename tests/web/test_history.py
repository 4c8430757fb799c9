"""Every update keeps what it replaced: the history of a record, and going back in it,
over HTTP, in every domain.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from reverie import app
from reverie.access import callers, tokens
from reverie.llm import embedding
from reverie.pipeline import worker
from reverie.records import catalogue, record_types
from tests.conftest import client_of
from tests.web import lives

ROOT = "/api/v1"
DOMAINS = list(catalogue.DOMAINS.values())
by_domain = pytest.mark.parametrize(
    "domain", DOMAINS, ids=[domain.name for domain in DOMAINS]
)


@pytest_asyncio.fixture
async def agent_api(
    reverie: app.App, owner: callers.Caller
) -> AsyncIterator[httpx.AsyncClient]:
    """An agent's client, which may do anything that agents may."""
    token = await tokens.mint(
        reverie.database, owner.user_id, name="main", kind="agent", scopes=["*:*"]
    )
    agent = await tokens.caller(reverie.database, token)
    async with await client_of(reverie, agent) as client:
        yield client


async def ok(answer: httpx.Response) -> Any:
    """The body of an answer that says yes."""
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def history_of(client: httpx.AsyncClient, path: str) -> list[dict[str, Any]]:
    """The items of a history."""
    return (await ok(await client.get(f"{path}/history")))["items"]


def without_times(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record but for when it was changed last."""
    return {name: value for name, value in record.items() if name != "updated_at"}


@by_domain
async def test_an_update_keeps_what_it_replaced_and_can_be_undone(
    api: httpx.AsyncClient, domain: record_types.Domain[Any]
) -> None:
    column, value = lives.CHANGE[domain.name]
    body = lives.bodies(domain.name, 1)[0]
    made = await ok(await api.post(f"{ROOT}/{domain.plural}", json=body))
    path = f"{ROOT}/{domain.plural}/{made['id']}"
    changed = await ok(await api.patch(path, json={column: value, "custom": {"n": 1}}))

    newest, oldest = await history_of(api, path)
    assert (newest["action"], oldest["action"]) == ("update", "create")
    assert set(newest["columns"]) == {column, "custom"}
    assert newest["replaced"] == {column: made[column], "custom": made["custom"]}
    assert newest["by"] == oldest["by"] == "user:test"
    assert newest["at"] > oldest["at"]
    assert oldest["kept"]
    assert newest["kept"]

    # What it was is shown, and the record is as it was changed.
    was = await ok(await api.get(f"{path}/history/{oldest['version']}"))
    assert without_times(was) == without_times(made)
    assert (await ok(await api.get(path))) == changed

    # Going back is an update like others: it can be undone in its turn.
    back = await ok(await api.post(f"{path}/history/{oldest['version']}/restore"))
    assert without_times(back) == without_times(made)
    undone, *_ = await history_of(api, path)
    assert undone["action"] == "update"
    assert undone["replaced"] == {column: value, "custom": {"n": 1}}
    again = await ok(await api.post(f"{path}/history/{newest['version']}/restore"))
    assert without_times(again) == without_times(changed)
    actions = [item["action"] for item in await history_of(api, path)]
    assert actions == ["update", "update", "update", "create"]
    log = await ok(await api.get(f"{ROOT}/changes", params={"domain": domain.name}))
    assert str(log).count("'update'") == 3


async def test_any_of_many_versions(api: httpx.AsyncClient) -> None:
    """Each column goes back to what it was then, whoever changed what in between."""
    made = await ok(
        await api.post(f"{ROOT}/notes", json={"content": "0", "title": "a"})
    )
    path = f"{ROOT}/notes/{made['id']}"
    for change in (
        {"content": "1"},
        {"title": "b", "tags": ["x"]},
        {"content": "2"},
        {"tags": []},
        {"content": "3", "title": None},
    ):
        await ok(await api.patch(path, json=change))
    versions = [item["version"] for item in await history_of(api, path)]
    wanted = [
        ("0", "a", []),
        ("1", "a", []),
        ("1", "b", ["x"]),
        ("2", "b", ["x"]),
        ("2", "b", []),
        ("3", None, []),
    ]
    for version, (content, title, tags) in zip(reversed(versions), wanted, strict=True):
        shown = await ok(await api.get(f"{path}/history/{version}"))
        assert (shown["content"], shown["title"], shown["tags"]) == (
            content,
            title,
            tags,
        )
    for version, (content, title, tags) in zip(reversed(versions), wanted, strict=True):
        back = await ok(await api.post(f"{path}/history/{version}/restore"))
        assert (back["content"], back["title"], back["tags"]) == (content, title, tags)
    page = await ok(
        await api.get(f"{path}/history", params={"limit": "2", "offset": "1"})
    )
    assert [len(page["items"]), page["meta"]["total"]] == [2, 12]
    assert page["meta"]["has_more"]


async def test_an_event_goes_back_to_its_own_day(api: httpx.AsyncClient) -> None:
    """What is derived follows: the local days, and the agenda."""
    body = {"title": "Zahnarzt", "start": "2026-07-14T23:30:00+02:00"}
    body["timezone"] = "Europe/Berlin"
    made = await ok(await api.post(f"{ROOT}/events", json=body))
    path = f"{ROOT}/events/{made['id']}"
    moved = {"start": "2026-08-20", "all_day": True, "timezone": "Asia/Singapore"}
    await ok(await api.patch(path, json=moved))
    first = (await history_of(api, path))[-1]["version"]
    back = await ok(await api.post(f"{path}/history/{first}/restore"))
    assert without_times(back) == without_times(made)
    day = {"from": "2026-07-14", "to": "2026-07-14"}
    agenda = await ok(await api.get(f"{ROOT}/events/agenda", params=day))
    assert made["id"] in str(agenda)


async def test_deleting_is_in_the_history_and_a_version_brings_back(
    api: httpx.AsyncClient,
) -> None:
    made = await ok(await api.post(f"{ROOT}/notes", json={"content": "eins"}))
    path = f"{ROOT}/notes/{made['id']}"
    await ok(await api.patch(path, json={"content": "zwei"}))
    await ok(await api.delete(path))
    items = await history_of(api, path)
    assert [item["action"] for item in items] == ["delete", "update", "create"]
    back = await ok(await api.post(f"{path}/history/{items[-1]['version']}/restore"))
    assert (back["content"], back["deleted_at"]) == ("eins", None)
    assert (await ok(await api.get(path)))["content"] == "eins"
    actions = [item["action"] for item in await history_of(api, path)]
    assert actions == ["update", "restore", "delete", "update", "create"]


async def test_nothing_changed_makes_no_version(api: httpx.AsyncClient) -> None:
    made = await ok(await api.post(f"{ROOT}/notes", json={"content": "eins"}))
    path = f"{ROOT}/notes/{made['id']}"
    await ok(await api.patch(path, json={"content": "eins"}))
    only = await history_of(api, path)
    assert len(only) == 1
    await ok(await api.post(f"{path}/history/{only[0]['version']}/restore"))
    assert await history_of(api, path) == only


async def test_foreign_unknown_and_malformed_look_the_same(
    api: httpx.AsyncClient, others_api: httpx.AsyncClient
) -> None:
    made = await ok(await api.post(f"{ROOT}/notes", json={"content": "mine"}))
    mine = f"{ROOT}/notes/{made['id']}"
    await ok(await api.patch(mine, json={"content": "mine, too"}))
    version = (await history_of(api, mine))[-1]["version"]
    theirs = await ok(await others_api.post(f"{ROOT}/notes", json={"content": "t"}))
    foreign = (await history_of(others_api, f"{ROOT}/notes/{theirs['id']}"))[0]
    unknown = f"{ROOT}/notes/{UUID(int=7)}"
    event = f"{ROOT}/events/{made['id']}"
    answers = {
        (await client.request(method, path + rest)).text
        for client, path in ((others_api, mine), (api, unknown), (api, event))
        if client is others_api or path != event
        for method, rest in (
            ("GET", "/history"),
            ("GET", f"/history/{version}"),
            ("POST", f"/history/{version}/restore"),
        )
    }
    assert len(answers) == 1
    assert "not_found" in answers.pop()
    # An id of another domain is unknown in this one.
    assert (await api.get(f"{event}/history")).status_code == 404
    # A version of another record is none of this one, nor is what is no number.
    for odd in (foreign["version"], 0, -1, "x", "1e3", "9" * 40, "²"):
        for method, rest in (("GET", ""), ("POST", "/restore")):
            answer = await api.request(method, f"{mine}/history/{odd}{rest}")
            assert answer.status_code == 404, odd
    assert (await ok(await api.get(mine)))["content"] == "mine, too"


async def test_scopes(reverie: app.App, owner: callers.Caller) -> None:
    """Who may read the domain sees its history; going back needs the right to write."""
    async with await client_of(reverie, owner) as all_of_it:
        made = await ok(await all_of_it.post(f"{ROOT}/notes", json={"content": "1"}))
        path = f"{ROOT}/notes/{made['id']}"
        await ok(await all_of_it.patch(path, json={"content": "2"}))
        version = (await history_of(all_of_it, path))[-1]["version"]
    for scopes, reads, writes in (
        (["notes:read"], 200, 403),
        (["notes:write"], 403, 200),
        (["tasks:*"], 403, 403),
    ):
        token = await tokens.mint(
            reverie.database,
            owner.user_id,
            name=f"scoped {scopes[0]}",
            kind="machine",
            scopes=scopes,
        )
        async with await client_of(reverie, owner) as client:
            client.headers["Authorization"] = f"Bearer {token}"
            assert (await client.get(f"{path}/history")).status_code == reads
            shown = await client.get(f"{path}/history/{version}")
            assert shown.status_code == reads
            back = await client.post(f"{path}/history/{version}/restore")
            assert back.status_code == writes


async def test_only_a_person_lowers_sensitivity_by_going_back(
    api: httpx.AsyncClient, agent_api: httpx.AsyncClient
) -> None:
    made = await ok(await api.post(f"{ROOT}/notes", json={"content": "Garten"}))
    path = f"{ROOT}/notes/{made['id']}"
    assert made["sensitivity"] == "normal"
    raised = {"sensitivity": "critical", "content": "Garten, zwei"}
    await ok(await api.patch(path, json=raised))
    first = (await history_of(api, path))[-1]["version"]
    by_agent = await ok(await agent_api.post(f"{path}/history/{first}/restore"))
    assert (by_agent["content"], by_agent["sensitivity"]) == ("Garten", "critical")
    assert (await history_of(api, path))[0]["by"] == "agent:test"
    by_person = await ok(await api.post(f"{path}/history/{first}/restore"))
    assert (by_person["content"], by_person["sensitivity"]) == ("Garten", "normal")


async def test_a_secret_that_comes_back_is_as_private_as_it_was(
    api: httpx.AsyncClient, agent_api: httpx.AsyncClient
) -> None:
    body = {"content": "Meine Diagnose: Diabetes, seit dem Frühjahr."}
    made = await ok(await api.post(f"{ROOT}/notes", json=body))
    assert made["sensitivity"] == "critical"
    path = f"{ROOT}/notes/{made['id']}"
    await ok(await api.patch(path, json={"content": "Leer."}))
    first = (await history_of(api, path))[-1]["version"]
    back = await ok(await agent_api.post(f"{path}/history/{first}/restore"))
    assert (back["content"], back["sensitivity"]) == (body["content"], "critical")


async def test_two_who_go_back_at_once(api: httpx.AsyncClient) -> None:
    made = await ok(await api.post(f"{ROOT}/notes", json={"content": "0"}))
    path = f"{ROOT}/notes/{made['id']}"
    await ok(await api.patch(path, json={"content": "1"}))
    first = (await history_of(api, path))[-1]["version"]
    answers = await asyncio.gather(
        *(api.post(f"{path}/history/{first}/restore") for _ in range(4)),
        *(api.patch(path, json={"title": str(n)}) for n in range(4)),
    )
    assert {answer.status_code for answer in answers} == {200}
    now = await ok(await api.get(path))
    assert now["content"] == "0"
    # Every state in between can be had, the first one too.
    for item in await history_of(api, path):
        assert item["kept"]
    was = await ok(await api.get(f"{path}/history/{first}"))
    assert without_times(was) == without_times(made)


async def test_what_is_too_old_goes_and_what_is_left_stays_right(
    reverie: app.App, api: httpx.AsyncClient, owner: callers.Caller
) -> None:
    """The worker drops what was replaced more than that many days ago."""
    made = await ok(await api.post(f"{ROOT}/notes", json={"content": "0"}))
    path = f"{ROOT}/notes/{made['id']}"
    for n in range(1, 5):
        await ok(await api.patch(path, json={"content": str(n)}))
    oldest_first = [item["version"] for item in await history_of(api, path)][::-1]
    async with reverie.database.transaction(owner) as tx:
        await tx.run(
            "UPDATE change SET at = at - interval '91 days' WHERE seq <= %s",
            (oldest_first[2],),
        )
    none = embedding.Embeddings(
        reverie.settings.embedding.model_copy(update={"provider": "none"})
    )
    days = reverie.settings.history.days
    assert days == 90
    async with worker.Worker(reverie.database, none, history_days=days).running():
        for _ in range(200):
            if not (await history_of(api, path))[-1]["kept"]:
                break
            await asyncio.sleep(0.1)
    items = (await history_of(api, path))[::-1]
    assert [item["kept"] for item in items] == [False, False, True, True, True]
    for version, kept, content in zip(
        oldest_first, (0, 0, 1, 1, 1), ("0", "1", "2", "3", "4"), strict=True
    ):
        shown = await api.get(f"{path}/history/{version}")
        assert shown.status_code == (200 if kept else 404)
        if kept:
            assert shown.json()["content"] == content
