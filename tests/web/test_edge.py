"""The edge: who comes in, what an error shows, and what happens when things break."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette import requests, responses

import reverie as package
from reverie import app, compact, db, errors
from reverie.access import callers, operations, tokens, users
from reverie.records import catalogue
from reverie.web import records, server
from tests.web import lives
from tests.web.test_records import ROOT, error_of


def bare(reverie: app.App, **more: Any) -> httpx.AsyncClient:
    """A client without a token."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server.create(reverie)),
        base_url="http://127.0.0.1",
        **more,
    )


async def token_of(
    reverie: app.App, caller: callers.Caller, *scopes: str, kind: callers.Kind = "agent"
) -> str:
    return await tokens.mint(
        reverie.database, caller.user_id, name="bot", kind=kind, scopes=scopes
    )


async def test_no_token_no_answer(reverie: app.App, owner: callers.Caller) -> None:
    good = await token_of(reverie, owner, "*:*")
    wrong: list[list[tuple[str, str]]] = [
        [],
        [("Authorization", "")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", f"Bearer  {good}")],
        [("Authorization", f"Bearer {good} x")],
        [("Authorization", f"Basic {good}")],
        [("Authorization", f"Token {good}")],
        [("Authorization", good)],
        [("Authorization", "Bearer rev_wrong")],
        [("Authorization", f"Bearer {good[:-1]}")],
        [("Authorization", f"Bearer {good.upper()}")],
        [("Authorization", f"Bearer {good}"), ("Authorization", f"Bearer {good}")],
        [("Authorization", "Bearer \xff\xfe")],
        [("Cookie", f"token={good}")],
        [("X-Api-Key", good)],
    ]
    async with bare(reverie) as client:
        for headers in wrong:
            for path in (
                f"{ROOT}/notes",
                f"{ROOT}/openapi.json",
                f"{ROOT}/search?q=x",
                "/",
                f"{ROOT}/nothing",
            ):
                sent = [
                    (name.encode(), value.encode("latin-1")) for name, value in headers
                ]
                response = await client.get(path, headers=sent)
                assert response.status_code == 401, (headers, path)
                assert error_of(response)["code"] == "unauthorized"
                assert response.headers["www-authenticate"] == "Bearer"
                assert good not in response.text
        assert (await client.get(f"{ROOT}/notes?token={good}")).status_code == 401
        for scheme in ("Bearer", "bearer", "BEARER"):
            assert (
                await client.get(
                    f"{ROOT}/notes", headers={"Authorization": f"{scheme} {good}"}
                )
            ).status_code == 200


async def test_a_revoked_token_is_refused_at_once(
    reverie: app.App, owner: callers.Caller
) -> None:
    good = await token_of(reverie, owner, "*:*")
    async with bare(reverie, headers={"Authorization": f"Bearer {good}"}) as client:
        assert (await client.get(f"{ROOT}/notes")).status_code == 200
        async with reverie.database.transaction(owner) as tx:
            await tx.run("UPDATE token SET revoked_at = now() WHERE name = 'bot'")
        assert (await client.get(f"{ROOT}/notes")).status_code == 401


async def test_every_route_wants_its_scope(
    reverie: app.App, owner: callers.Caller
) -> None:
    """Each verb of each domain, with the scope it needs and with everything but that;
    tests/access has the matrix.
    """
    nothing = await token_of(reverie, owner, "other:thing", kind="machine")
    async with bare(reverie) as client:
        for domain in catalogue.DOMAINS.values():
            read = await token_of(
                reverie, owner, f"{domain.plural}:read", kind="machine"
            )
            write = await token_of(
                reverie, owner, f"{domain.plural}:write", kind="machine"
            )
            for verb in records.VERBS:
                action = operations.named(f"{domain.plural}.{verb.name}").action
                path = f"{ROOT}/{domain.plural}{verb.path.format(record_id='x', version=1)}"
                for token, has in ((nothing, ""), (read, "read"), (write, "write")):
                    response = await client.request(
                        verb.method,
                        path,
                        headers={"Authorization": f"Bearer {token}"},
                        json={"x": 1},
                    )
                    allowed = response.status_code != 403
                    assert allowed == (has == action), (domain.name, verb.name, has)
                    if not allowed:
                        assert f"{domain.plural}:{action}" in error_of(response)["hint"]
        for path, scope in (
            ("/search?q=x", ["search:read", "tasks:read"]),
            ("/events/agenda", ["events:read"]),
        ):
            right = await token_of(reverie, owner, *scope)
            for token, status in ((nothing, 403), (right, 200)):
                found = await client.get(
                    f"{ROOT}{path}", headers={"Authorization": f"Bearer {token}"}
                )
                assert found.status_code == status


async def test_changes_show_only_what_may_be_read(
    api: httpx.AsyncClient, reverie: app.App, owner: callers.Caller
) -> None:
    for domain in catalogue.DOMAINS.values():
        await api.post(f"{ROOT}/{domain.plural}", json=lives.bodies(domain.name, 1)[0])
    some = await token_of(reverie, owner, "notes:read", "tasks:*")
    async with bare(reverie, headers={"Authorization": f"Bearer {some}"}) as client:
        for params in ({}, {"since": "2020-01-01T00:00:00Z"}):
            found = (await client.get(f"{ROOT}/changes", params=params)).json()
            assert {one["domain"] for one in found["items"]} == {"note", "task"}
            assert found["meta"]["total"] == 2
        assert (
            await client.get(f"{ROOT}/changes", params={"domain": "email"})
        ).status_code == 403
    none = await token_of(reverie, owner, "search:read")
    async with bare(reverie, headers={"Authorization": f"Bearer {none}"}) as client:
        assert (await client.get(f"{ROOT}/changes")).status_code == 403


@pytest.mark.parametrize(
    ("host", "fine"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8585", True),
        ("localhost", True),
        ("LOCALHOST:1", True),
        ("[::1]", True),
        ("[::1]:8585", True),
        ("evil.example", False),
        ("evil.example:8585", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1:8585@evil.example", False),
        ("127.0.0.1:x", False),
        ("", False),
        ("0.0.0.0", False),
        ("192.168.1.2", False),
        ("[::1].evil.example", False),
        ("[::2]", False),
        ("::1", False),
    ],
)
async def test_only_names_of_this_machine(
    api: httpx.AsyncClient, host: str, fine: bool
) -> None:
    for path in ("/health", "/notes"):
        response = await api.get(f"{ROOT}{path}", headers={"Host": host})
        assert response.status_code == (200 if fine else 403)
        if not fine:
            error_of(response)


@pytest.mark.parametrize(
    ("origin", "fine"),
    [
        ("http://127.0.0.1:8585", True),
        ("https://evil.example", False),
        ("null", False),
        ("", False),
        ("http://localhost:8585", False),
        ("http://127.0.0.1:9999", False),
        ("http://127.0.0.1", False),
        ("http://127.0.0.1:8585.evil.example", False),
        ("file://", False),
        ("http://u@127.0.0.1:8585", False),
        ("ftp://127.0.0.1:8585", False),
        ("http://[bad", False),
    ],
)
async def test_only_pages_of_our_own(
    api: httpx.AsyncClient, origin: str, fine: bool
) -> None:
    response = await api.get(f"{ROOT}/notes", headers={"Origin": origin})
    assert response.status_code == (200 if fine else 403)
    preflight = await api.options(
        f"{ROOT}/notes",
        headers={"Origin": origin, "Access-Control-Request-Method": "POST"},
    )
    assert preflight.status_code == (405 if fine else 403)
    for one in (response, preflight):
        assert not [name for name in one.headers if name.startswith("access-control")]


async def test_unknown_addresses_and_wrong_methods(api: httpx.AsyncClient) -> None:
    for path in (
        "/",
        "/api",
        ROOT,
        f"{ROOT}/",
        f"{ROOT}/dreams",
        f"{ROOT}/notes/",
        f"{ROOT}/notes/x/y",
        "/api/v2/notes",
    ):
        response = await api.get(path)
        assert response.status_code == 404, path
        assert error_of(response)["code"] == "not_found"
    for method, path, allow in (
        ("PUT", "/notes", "GET, POST"),
        ("DELETE", "/notes", "GET, POST"),
        ("POST", "/notes/x", "DELETE, GET, PATCH"),
        ("GET", "/notes/x/restore", "POST"),
        ("POST", "/health", "GET"),
        ("POST", "/search", "GET"),
    ):
        response = await api.request(method, f"{ROOT}{path}")
        assert response.status_code == 405
        assert response.headers["allow"] == allow
        assert error_of(response)["hint"] == f"It takes {allow}."


async def test_a_fault_of_ours_shows_nothing_of_the_inside(
    reverie: app.App, owner: callers.Caller, caplog: pytest.LogCaptureFixture
) -> None:
    api = server.create(reverie)

    async def broken(request: requests.Request) -> responses.Response:
        raise RuntimeError("password hunter2 in /root/secret")

    async def unnamed(request: requests.Request) -> responses.Response:
        raise errors.ReverieError("relation hunter2 does not exist")

    api.add_api_route("/broken", broken)
    api.add_api_route("/unnamed", unnamed)
    token = await token_of(reverie, owner, "*:*")
    transport = httpx.ASGITransport(app=api)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost"
    ) as client:
        for path in ("/broken", "/unnamed"):
            with caplog.at_level(logging.ERROR, "reverie.web"):
                response = await client.get(
                    path, headers={"Authorization": f"Bearer {token}"}
                )
            assert response.status_code == 500
            assert error_of(response)["code"] == "error"
            assert "hunter2" not in response.text
            assert "hunter2" in caplog.text
            assert token not in caplog.text
            caplog.clear()


async def test_a_stream_goes_as_it_comes(
    reverie: app.App, owner: callers.Caller
) -> None:
    api = server.create(reverie)

    async def lines() -> AsyncIterator[str]:
        for number in range(3):
            yield json.dumps({"n": number}) + "\n"

    async def stream(request: requests.Request) -> responses.Response:
        return responses.StreamingResponse(lines(), media_type="application/x-ndjson")

    api.add_api_route("/stream", stream)
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    token = await token_of(reverie, owner, "*:*")
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/stream",
        "raw_path": b"/stream",
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"authorization", f"Bearer {token}".encode()),
        ],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
    }
    await api(scope, receive, send)
    assert [one["type"] for one in sent] == ["http.response.start"] + [
        "http.response.body"
    ] * (len(sent) - 1)
    assert len(sent) >= 4
    assert b"x-token-count" not in dict(sent[0]["headers"])


async def test_every_answer_says_what_it_costs(api: httpx.AsyncClient) -> None:
    for path in (
        "/health",
        "/notes",
        "/notes/x",
        "/events/agenda",
        "/changes",
        "/openapi.json",
        "/nothing",
    ):
        response = await api.get(f"{ROOT}{path}")
        assert int(response.headers["x-token-count"]) == compact.tokens(response.text)
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"


async def test_health_says_how_it_is_and_nothing_else(reverie: app.App) -> None:
    async with bare(reverie) as client:
        well = await client.get(f"{ROOT}/health")
        assert (well.status_code, well.json()) == (
            200,
            {"status": "ok", "version": package.__version__},
        )
        await reverie.database.close()
        down = await client.get(f"{ROOT}/health")
        assert down.status_code == 503
        assert down.json()["status"] == "down"
        assert set(down.json()) == {"status", "version", "error"}


async def test_a_lost_client_leaves_no_user_behind(
    cluster: Any,
    fresh: str,
    reverie: app.App,
    owner: callers.Caller,
    other: callers.Caller,
) -> None:
    """One connection for everybody: whoever comes next on it sees no row of the one who
    left.
    """
    pool = db.Database(reverie.database.url, size=1)
    await pool.open()
    try:
        narrow = app.App(
            reverie.settings,
            pool,
            reverie.embeddings,
            reverie.models,
            reverie.server,
            owner,
        )
        token = await token_of(reverie, owner, "*:*")
        async with bare(narrow, headers={"Authorization": f"Bearer {token}"}) as client:
            await client.post(f"{ROOT}/notes", json={"content": "mine"})

            async def slow() -> None:
                async with pool.transaction(owner) as tx:
                    await tx.value("SELECT pg_sleep(30)")

            for wait in (0.0, 0.05, 0.2):
                for lost in (slow(), client.get(f"{ROOT}/notes")):
                    task = asyncio.ensure_future(lost)
                    await asyncio.sleep(wait)
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                    async with pool.transaction(None) as tx:
                        assert await tx.value("SELECT count(*) FROM note") == 0
                        assert await tx.value(
                            "SELECT current_setting('reverie.user_id', true)"
                        ) in (None, "")
                    async with pool.transaction(users.Reference(other.user_id)) as tx:
                        assert await tx.value("SELECT count(*) FROM note") == 0
            assert (await client.get(f"{ROOT}/notes")).json()["meta"]["total"] == 1
    finally:
        await pool.close()
