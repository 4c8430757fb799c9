"""People, logins, tokens and agents: what is kept, what is counted, and who may give
what to whom.
"""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from reverie import app, db, errors, mcp
from reverie.access import agents, callers, logins, operations, passwords, tokens, users
from reverie.web import middleware, server

PASSWORD = "vier Worte in einer Reihe"
ROOT = middleware.PREFIX


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost little: what is tested here is not argon2."""
    monkeypatch.setattr(
        passwords,
        "_HASHER",
        passwords.argon2.PasswordHasher(time_cost=1, memory_cost=1024),
    )
    passwords._dummy_hash.cache_clear()


@pytest_asyncio.fixture
async def client(reverie: app.App) -> AsyncIterator[httpx.AsyncClient]:
    await logins.give_password(reverie.database, reverie.owner.user_id, PASSWORD)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server.create(reverie)),
        base_url="http://127.0.0.1:8585",
    ) as found:
        yield found


async def entered(
    client: httpx.AsyncClient, name: str = "owner", password: str = PASSWORD
) -> dict[str, str]:
    """Log in, and give what a page of ours sends with every change."""
    answer = await client.post(
        f"{ROOT}/session", json={"name": name, "password": password}
    )
    assert answer.status_code == 200, answer.text
    return {"X-CSRF-Token": answer.json()["csrf"]}


async def test_a_login_from_beginning_to_end(
    client: httpx.AsyncClient, reverie: app.App
) -> None:
    answer = await client.post(
        f"{ROOT}/session", json={"name": "OWNER ", "password": PASSWORD}
    )
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/api/v1"):
        assert part in cookie
    assert "Secure" not in cookie
    secret = client.cookies[middleware.COOKIE]
    assert len(secret) >= 43
    assert secret not in answer.text
    page = {"X-CSRF-Token": answer.json()["csrf"]}
    who = (await client.get(f"{ROOT}/session")).json()
    assert (who["kind"], who["name"], who["role"], who["csrf"]) == (
        "user",
        "owner",
        "owner",
        page["X-CSRF-Token"],
    )
    async with reverie.database.transaction(reverie.owner) as tx:
        kept = str(
            await tx.rows(
                "SELECT login::text, password::text AS p FROM login, password"
            )
        )
    assert secret not in kept
    assert PASSWORD not in kept
    assert "$argon2id$" in kept

    for headers in (
        {},
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": "x" * 64},
        {"X-CSRF-Token": secret},
    ):
        refused = await client.post(
            f"{ROOT}/notes", json={"content": "x"}, headers=headers
        )
        assert refused.status_code == 403
        assert "X-CSRF-Token" in refused.json()["error"]["message"]
    assert (
        await client.post(f"{ROOT}/notes", json={"content": "x"}, headers=page)
    ).status_code == 201
    assert (await client.get(f"{ROOT}/notes")).json()["meta"]["total"] == 1
    assert (await client.delete(f"{ROOT}/session", headers=page)).status_code == 200
    assert middleware.COOKIE not in client.cookies
    old = {"Cookie": f"{middleware.COOKIE}={secret}"}
    assert (await client.get(f"{ROOT}/notes", headers=old)).status_code == 401


async def test_a_cookie_behind_tls_is_for_tls_alone(client: httpx.AsyncClient) -> None:
    origin = {"Origin": "https://127.0.0.1:8585"}
    answer = await client.post(
        f"{ROOT}/session", json={"name": "owner", "password": PASSWORD}, headers=origin
    )
    assert "Secure" in answer.headers["set-cookie"]


async def test_an_expired_login(client: httpx.AsyncClient, reverie: app.App) -> None:
    await entered(client)
    async with reverie.database.transaction(reverie.owner) as tx:
        await tx.run("UPDATE login SET expires_at = now()")
    assert (await client.get(f"{ROOT}/notes")).status_code == 401


async def test_unknown_names_and_wrong_passwords_look_the_same(
    client: httpx.AsyncClient, reverie: app.App
) -> None:
    await users.create(reverie.database, name="without")
    answers: set[tuple[int, str]] = set()
    times: dict[str, list[float]] = {}
    everybody = ("owner", "without", "nobody")
    for _ in range(logins.OF_ONE):
        for name in everybody:
            start = time.perf_counter()
            answer = await client.post(
                f"{ROOT}/session", json={"name": name, "password": "wrong password"}
            )
            times.setdefault(name, []).append(time.perf_counter() - start)
            answers.add((answer.status_code, answer.text))
    for name in everybody:
        late = await client.post(
            f"{ROOT}/session", json={"name": name, "password": PASSWORD}
        )
        assert late.status_code == 429, name
        assert "set-cookie" not in late.headers
    assert len(answers) == 1
    assert answers.pop()[0] == 401
    # The quickest of each: what else the machine does only adds to it.
    quickest = [min(one) for one in times.values()]
    assert max(quickest) < 3 * min(quickest), times


async def test_attempts_are_counted_before_anything_is_compared(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    async def slow(hashed: str | None, password: str) -> bool:
        nonlocal compared
        compared += 1
        await asyncio.sleep(0.2)
        return False

    monkeypatch.setattr(passwords, "verify", slow)
    answers = await asyncio.gather(
        *(
            client.post(
                f"{ROOT}/session", json={"name": "owner", "password": f"guess {i}"}
            )
            for i in range(40)
        )
    )
    assert compared == logins.OF_ONE
    assert sorted(one.status_code for one in answers) == [401] * logins.OF_ONE + [
        429
    ] * (40 - logins.OF_ONE)


async def test_all_names_together_have_a_limit_and_a_right_one_counts_nothing(
    client: httpx.AsyncClient, reverie: app.App
) -> None:
    for _ in range(logins.OF_ONE + 2):
        await entered(client)
        client.cookies.clear()
    codes = [
        (
            await client.post(
                f"{ROOT}/session", json={"name": f"n{i}", "password": "x"}
            )
        ).status_code
        for i in range(logins.OF_ALL + 1)
    ]
    assert codes == [401] * logins.OF_ALL + [429]
    async with reverie.database.transaction(reverie.owner) as tx:
        await tx.run("UPDATE attempt SET since = now() - interval '16 minutes'")
    await entered(client)


async def test_a_new_password_ends_the_other_logins(client: httpx.AsyncClient) -> None:
    await entered(client)
    first = client.cookies[middleware.COOKIE]
    client.cookies.clear()
    page = await entered(client)
    path = f"{ROOT}/session/password"
    wrong = await client.put(
        path, headers=page, json={"current": "x", "password": "another long one"}
    )
    assert wrong.status_code == 401
    short = await client.put(
        path, headers=page, json={"current": PASSWORD, "password": "short"}
    )
    assert short.status_code == 422
    assert (
        await client.put(
            path,
            headers=page,
            json={"current": PASSWORD, "password": "another long one"},
        )
    ).status_code == 200
    assert (await client.get(f"{ROOT}/session")).status_code == 200
    client.cookies.clear()
    assert (
        await client.get(
            f"{ROOT}/session", headers={"Cookie": f"{middleware.COOKIE}={first}"}
        )
    ).status_code == 401
    await entered(client, password="another long one")


async def test_a_body_that_is_wrong_repeats_no_password(
    client: httpx.AsyncClient,
) -> None:
    for body in (
        {"name": "owner", "password": [PASSWORD]},
        {"name": "owner", "password": PASSWORD, "x": PASSWORD},
    ):
        answer = await client.post(f"{ROOT}/session", json=body)
        assert answer.status_code == 422
        assert PASSWORD not in answer.text


async def test_the_household(client: httpx.AsyncClient) -> None:
    page = await entered(client)
    made = await client.post(
        f"{ROOT}/users",
        headers=page,
        json={"name": "Ana", "timezone": "Europe/Madrid", "password": PASSWORD},
    )
    assert made.status_code == 201
    for name, status in (("ANA", 409), ("", 422), ("a\x1bb", 422), ("x" * 61, 422)):
        assert (
            await client.post(f"{ROOT}/users", headers=page, json={"name": name})
        ).status_code == status
    everybody = (await client.get(f"{ROOT}/users")).json()["items"]
    assert [(one["name"], one["role"]) for one in everybody] == [
        ("owner", "owner"),
        ("Ana", "member"),
    ]
    await client.post(f"{ROOT}/notes", headers=page, json={"content": "of the owner"})

    client.cookies.clear()
    page = await entered(client, "ana")
    assert [
        one["name"] for one in (await client.get(f"{ROOT}/users")).json()["items"]
    ] == ["Ana"]
    assert (await client.get(f"{ROOT}/notes")).json()["items"] == []
    assert (
        await client.post(f"{ROOT}/users", headers=page, json={"name": "x"})
    ).status_code == 403
    owner, ana = (one["id"] for one in everybody)
    answers = [
        await client.patch(f"{ROOT}/users/{one}", headers=page, json={"name": "x"})
        for one in (owner, "01a00000-0000-7000-8000-000000000009")
    ]
    assert {(one.status_code, one.text) for one in answers} == {(404, answers[0].text)}
    renamed = await client.patch(
        f"{ROOT}/users/{ana}", headers=page, json={"name": "Anna"}
    )
    assert renamed.json()["name"] == "Anna"
    assert (
        await client.patch(f"{ROOT}/users/{ana}", headers=page, json={"name": "Owner"})
    ).status_code == 409


# Tokens
# ---------------------------------------------------------------------------------------------------------------


async def test_nobody_gives_what_they_do_not_have(
    database: db.Database, owner: callers.Caller
) -> None:
    secret, row = await tokens.grant(
        database,
        owner,
        name="sync",
        kind="machine",
        scopes=["notes:*", "tokens:write"],
        days=30,
    )
    machine = await tokens.caller(database, secret)
    assert (machine.kind, machine.proof) == ("machine", row.id)
    for scopes in (["*:*"], ["*:read"], ["emails:read"], ["notes:read", "users:write"]):
        with pytest.raises(errors.Forbidden, match="do not have"):
            await tokens.grant(
                database, machine, name="x", kind="machine", scopes=scopes
            )
    child, kept = await tokens.grant(
        database, machine, name="x", kind="agent", scopes=["notes:read"], days=None
    )
    assert kept.minted_by == row.id
    assert kept.expires_at == row.expires_at  # never longer than who minted it
    agent = await tokens.caller(database, child)
    for attempt in (
        tokens.grant(database, agent, name="y", kind="agent", scopes=["notes:read"]),
        tokens.listed(database, agent),
        tokens.revoke(database, agent, row.id),
        agents.listed(database, agent),
        agents.change(database, agent, name="main", scopes=["*:*"]),
        users.add(database, agent, name="y"),
        users.listed(database, agent),
    ):
        with pytest.raises(errors.Forbidden):
            await attempt
    all_scopes = dataclasses.replace(agent, scopes=frozenset({"*:*"}))
    with pytest.raises(errors.Forbidden, match="closed to every agent"):
        await tokens.grant(
            database, all_scopes, name="y", kind="agent", scopes=["notes:read"]
        )
    # A machine ends what is its own, and nothing else.
    other_token = (await tokens.listed(database, owner))[0]
    with pytest.raises(errors.NotFound):
        await tokens.revoke(database, machine, other_token.id)
    assert await tokens.revoke(database, machine, kept.id) == 1
    with pytest.raises(errors.Unauthorized):
        await tokens.caller(database, child)
    with pytest.raises(errors.Invalid, match="needs scopes"):
        await tokens.grant(database, owner, name="bot", kind="agent")
    shown = repr(await tokens.listed(database, owner))
    assert secret not in shown
    assert tokens.digest(secret).hex() not in shown


async def test_an_agents_token_follows_its_scopes(
    database: db.Database, owner: callers.Caller
) -> None:
    secret, _ = await tokens.grant(database, owner, name="research", kind="agent")
    assert (await tokens.caller(database, secret)).scopes == set(
        agents.DEFAULTS["research"].scopes
    )
    await agents.change(database, owner, name="research", scopes=["notes:read"])
    assert (await tokens.caller(database, secret)).scopes == {"notes:read"}
    narrow, _ = await tokens.grant(
        database, owner, name="research", kind="agent", scopes=["bookmarks:read"]
    )
    assert (await tokens.caller(database, narrow)).scopes == frozenset()
    await agents.change(database, owner, name="research", scopes=[])
    assert (await tokens.caller(database, secret)).scopes == frozenset()
    made = await agents.change(
        database, owner, name="gardener", scopes=["tasks:*"], about="waters"
    )
    assert made == agents.Agent("gardener", "waters", ["tasks:*"])
    assert [one.name for one in await agents.listed(database, owner)] == [
        *agents.DEFAULTS,
        "gardener",
    ]
    for name in ("", "a b", "ñ", "x" * 41, "-", "../x"):
        with pytest.raises(errors.Invalid):
            await agents.change(database, owner, name=name, scopes=["tasks:read"])


async def test_who_speaks_on_the_wire(reverie: app.App) -> None:
    who = mcp.caller_of(reverie, "finance")
    caller = await who()
    assert (caller.kind, caller.name, caller.label) == (
        "agent",
        "finance",
        "agent:finance",
    )
    assert caller.scopes == set(agents.DEFAULTS["finance"].scopes)
    await agents.change(
        reverie.database, reverie.owner, name="finance", scopes=["search:read"]
    )
    assert (await who()).scopes == {"search:read"}
    with pytest.raises(errors.NotFound, match="no agent `nobody`"):
        await mcp.caller_of(reverie, "nobody")()

    secret, row = await tokens.grant(
        reverie.database,
        reverie.owner,
        name="laptop",
        kind="machine",
        scopes=["notes:read"],
    )
    told = dataclasses.replace(
        reverie, settings=reverie.settings.model_copy(update={"token": secret})
    )
    by_token = mcp.caller_of(told, "main")
    assert (await by_token()).name == "laptop"
    await tokens.revoke(reverie.database, reverie.owner, row.id)
    with pytest.raises(errors.Unauthorized):
        await by_token()
    person = await tokens.mint(reverie.database, reverie.owner.user_id, name="p")
    with pytest.raises(errors.Forbidden, match="not for an agent"):
        await mcp.caller_of(
            dataclasses.replace(
                reverie, settings=reverie.settings.model_copy(update={"token": person})
            ),
            "main",
        )()
    # And with the owner's own token, what it started ends.
    assert reverie.owner.proof
    await tokens.revoke(reverie.database, reverie.owner, reverie.owner.proof)
    with pytest.raises(errors.Unauthorized):
        await who()


def test_settings_are_level_two() -> None:
    for name in ("users.create", "tokens.mint", "agents.change", "session.password"):
        assert operations.named(name).level == 2
    for row in operations.OPERATIONS.values():
        assert (row.action == "read") == (row.level == 0) or row.name.startswith(
            "session."
        ), row
        assert row.authentication == "open" or row.kinds, row


async def test_argon2id_as_it_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_HASHER", passwords.argon2.PasswordHasher())
    hashed = await passwords.hashed(PASSWORD)
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert await passwords.verify(hashed, PASSWORD)
    assert not await passwords.verify(hashed, PASSWORD + " ")
    assert not await passwords.verify(None, PASSWORD)
    assert not await passwords.verify("not a hash", PASSWORD)
    composed, apart = "contraseña secreta", "contrasen\u0303a secreta"
    assert await passwords.verify(await passwords.hashed(composed), apart)
    for wrong in ("", "short", "x" * 1001):
        with pytest.raises(errors.Invalid):
            await passwords.hashed(wrong)
