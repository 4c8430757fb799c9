"""The matrix: every operation and every kind of caller, over the real API and the real
tools, from the one table.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from starlette import routing

from reverie import app, errors
from reverie.access import agents, callers, logins, operations, tokens, users
from reverie.records import catalogue
from reverie.tools import base
from reverie.tools import catalogue as tools
from reverie.web import middleware, routes, server
from tests.web import lives

ROOT = middleware.PREFIX
NOWHERE = "01a00000-0000-7000-8000-000000000009"
PASSWORD = "vier Worte in einer Reihe"
SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass
class Asker:
    """One way to come in. `caller` is None where nobody can be made out."""

    name: str
    caller: callers.Caller | None = None
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    page: bool = (
        True  # False: a cookie without the header that only a page of ours knows
    )


async def entered(reverie: app.App, name: str, **more: Any) -> Asker:
    """A token of these properties."""
    token = await tokens.mint(
        reverie.database, reverie.owner.user_id, name=name, **more
    )
    return Asker(
        name,
        await tokens.caller(reverie.database, token),
        [("Authorization", f"Bearer {token}")],
    )


async def login(
    reverie: app.App, user: users.User | callers.Caller, name: str
) -> logins.NewLogin:
    await logins.give_password(reverie.database, user.user_id, PASSWORD)
    return await logins.start(reverie.database, name=name, password=PASSWORD)


@pytest_asyncio.fixture
async def askers(reverie: app.App, other: callers.Caller) -> dict[str, Asker]:
    """A dozen kinds of caller."""
    owner = reverie.owner
    ended = [await entered(reverie, name) for name in ("revoked", "expired")]
    async with reverie.database.transaction(owner) as tx:
        await tx.run("UPDATE token SET revoked_at = now() WHERE name = 'revoked'")
        await tx.run(
            "UPDATE token SET expires_at = now() - interval '1 second' WHERE name = 'expired'"
        )
    for one in ended:
        one.caller = None
    begun = await login(reverie, owner, "owner")
    cookie = ("Cookie", f"{middleware.COOKIE}={begun.secret}")
    foreign = await tokens.mint(reverie.database, other.user_id, name="foreign")
    found = [
        Asker("nobody"),
        Asker(
            "garbage", None, [("Authorization", "Bearer " + tokens.PREFIX + "A" * 43)]
        ),
        *ended,
        Asker(
            "login",
            begun.caller,
            [cookie, ("X-CSRF-Token", logins.csrf_token(begun.secret))],
        ),
        Asker("login without its page", begun.caller, [cookie], page=False),
        await entered(reverie, "owner"),
        Asker(
            "member",
            await tokens.caller(reverie.database, foreign),
            [("Authorization", f"Bearer {foreign}")],
        ),
        await entered(
            reverie,
            "machine",
            kind="machine",
            scopes=["notes:*", "search:read", "tokens:read"],
        ),
        await entered(reverie, "machine of all", kind="machine", scopes=["*:*"]),
        await entered(reverie, "agent of all", kind="agent", scopes=["*:*"]),
        await entered(
            reverie,
            "agent",
            kind="agent",
            scopes=["notes:read", "tasks:write", "search:read"],
        ),
        await entered(
            reverie, "agent that only searches", kind="agent", scopes=["search:read"]
        ),
        await entered(reverie, "agent without", kind="agent", scopes=[]),
        await entered(reverie, "main", kind="agent", scopes=["*:*"]),
    ]
    return {one.name: one for one in found}


def scoped(caller: callers.Caller, area: str, action: str) -> bool:
    """Written anew, on purpose: what a scope covers."""
    return any(
        one in caller.scopes
        for one in (f"{area}:{action}", f"{area}:*", f"*:{action}", "*:*")
    )


def expected(asker: Asker, row: operations.Operation, method: str) -> int:
    """What the table says: 401, 403, or 0 for let in."""
    if row.authentication == "open":
        return 0
    caller = asker.caller
    if caller is None:
        return 401
    if not asker.page and method not in SAFE:
        return 403
    waits = {"agent": 2, "machine": 3, "user": 9}[caller.kind]
    fine = (
        caller.kind in row.kinds
        and (row.authentication != "login" or caller.login)
        and (not row.owner or caller.role == "owner")
        and (not row.area or scoped(caller, row.area, row.action))
        and (
            not row.across
            or any(
                scoped(caller, one.plural, row.action)
                for one in catalogue.DOMAINS.values()
            )
        )
        and row.level < waits
    )
    return 0 if fine else 403


@pytest_asyncio.fixture
async def client(reverie: app.App) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server.create(reverie)),
        base_url="http://127.0.0.1:8585",
    ) as found:
        yield found


def offered(reverie: app.App) -> list[tuple[operations.Operation, str, str]]:
    """Each route with its row: (row, method, address)."""
    found: list[tuple[operations.Operation, str, str]] = []
    for route in server.create(reverie).routes:
        row = routes.operation_of(route)
        assert row is not None, f"{route} is not in the table"
        assert isinstance(route, routing.Route)
        path = route.path.format(record_id=NOWHERE, name="main", number=1, version=1)
        found += [(row, method, path) for method in route.methods or ()]
    return found


QUERIES = {"search": "?q=x", "search.advanced": "?q=x"}
# Bodies that are never kept: whoever is let in gets 422, or 401 for a login that does
# not fit.
BODY = {"nonsense": 1}


async def test_the_whole_matrix(
    reverie: app.App, askers: dict[str, Asker], client: httpx.AsyncClient
) -> None:
    wrong: list[str] = []
    count = 0
    # Last what ends the login.
    for row, method, path in sorted(
        offered(reverie), key=lambda one: one[0].name == "session.end"
    ):
        for asker in askers.values():
            if (
                row.name == "session.end"
                and asker.caller
                and asker.caller.login
                and asker.page
            ):
                continue  # tests/access/test_logins.py logs out
            body = BODY if method in ("POST", "PATCH", "PUT") else None
            answer = await client.request(
                method,
                path + QUERIES.get(row.name, ""),
                headers=asker.headers,
                json=body,
            )
            count += 1
            wanted = expected(asker, row, method)
            got = answer.status_code if answer.status_code in (401, 403) else 0
            if got != wanted or answer.status_code >= 500:
                wrong.append(
                    f"{row.name} by {asker.name}: {answer.status_code}, not {wanted or 'let in'}"
                )
    assert not wrong, "\n".join(wrong)
    assert count > 1500


def test_every_operation_is_offered(reverie: app.App) -> None:
    there = {row.name for row, _, _ in offered(reverie)} | {
        one.operation.name for one in tools.TOOLS.values()
    }
    assert there == set(operations.OPERATIONS)
    assert tuple(one.plural for one in catalogue.DOMAINS.values()) == operations.DOMAINS
    for agent in agents.DEFAULTS.values():
        assert callers.checked(agent.scopes, operations.AREAS) == set(agent.scopes)
    assert list(agents.DEFAULTS) == [
        "main",
        "infrastructure",
        "creative",
        "finance",
        "analytics",
        "research",
    ]


def test_what_is_not_in_the_table_does_not_start(reverie: app.App) -> None:
    api = server.create(reverie)

    async def handler(request: Any) -> Any:
        raise AssertionError

    with pytest.raises(errors.Misconfigured, match="not in the table"):
        routes.add(api, "notes.burn", "POST", "/notes/burn", handler)
    with pytest.raises(errors.Misconfigured, match="not in the table"):
        operations.named("mail.send")
    api.add_api_route(f"{ROOT}/around", handler, methods=["GET"])
    with pytest.raises(errors.Misconfigured, match="has no operation"):
        routes.check(api)


async def test_the_tools_keep_to_the_table(
    reverie: app.App, askers: dict[str, Asker]
) -> None:
    toolbox = base.Toolbox(reverie.database, reverie.embeddings)
    arguments: dict[str, dict[str, Any]] = {
        "search": {"query": "x"},
        "explore": {"text_matches": ["x"]},
        "traverse": {"cypher": "MATCH (n:Person) RETURN n.name"},
        "get_record": {"id": NOWHERE},
        "list_changes": {"since": "2026-01-01T00:00:00Z"},
        "save_note": {"content": "x"},
    }
    assert set(arguments) == set(tools.TOOLS)
    for tool in tools.TOOLS.values():
        for asker in askers.values():
            if asker.caller is None or not asker.page:
                continue
            try:
                await tools.call(toolbox, asker.caller, tool.name, arguments[tool.name])
                got = 0
            except errors.Forbidden:
                got = 403
            except errors.NotFound:
                got = 0
            assert got == expected(asker, tool.operation, "GET"), (
                tool.name,
                asker.name,
            )


# Ways around
# ----------------------------------------------------------------------------------------------------


async def test_other_spellings_of_an_address_open_nothing(
    askers: dict[str, Asker], client: httpx.AsyncClient
) -> None:
    narrow = askers["agent that only searches"]
    for asker in (askers["nobody"], askers["revoked"], narrow):
        for path in (
            "/notes/", "//notes", "/notes//", "/./notes", "/x/../notes", "/notes;a=b", "/notes%2f", "%2fnotes",
            "/notes%2F..%2fnotes", "/NOTES", "/notes%00", "/notes%5c", f"/notes%2f{NOWHERE}", "/health/../notes",
            "/health%2f..%2fnotes", "/session/../notes", "/notes?x=/api/v1/health", "/notes#/health", "/%6eotes",
        ):  # fmt: skip
            for method in ("GET", "POST", "HEAD", "OPTIONS", "TRACE", "PROPFIND"):
                answer = await client.request(
                    method, ROOT + path, headers=asker.headers
                )
                assert answer.status_code in (401, 403, 404, 405, 422), (
                    asker.name,
                    method,
                    path,
                )
                assert "items" not in answer.text
                if asker.caller is None:
                    assert answer.status_code in (401, 422)
    for path in (
        "/health/",
        "//health",
        "/health%2f",
        "/Health",
        "/health;x",
        "/session/",
        "/session%2fx",
    ):
        assert (await client.get(ROOT + path)).status_code in (401, 422), path


async def test_headers_that_promise_more_are_not_believed(
    askers: dict[str, Asker], client: httpx.AsyncClient
) -> None:
    agent, owner = askers["agent"], askers["owner"]
    forged = [
        ("X-Forwarded-For", "127.0.0.1"), ("X-Real-IP", "127.0.0.1"), ("Forwarded", "for=127.0.0.1;host=localhost"),
        ("X-Forwarded-Host", "evil.example"), ("X-Original-URL", f"{ROOT}/health"), ("X-Rewrite-URL", f"{ROOT}/health"),
        ("X-HTTP-Method-Override", "DELETE"), ("X-HTTP-Method", "DELETE"), ("X-Method-Override", "DELETE"),
        ("X-User-Id", str(owner.caller.user_id if owner.caller else "")), ("X-Scopes", "*:*"),
    ]  # fmt: skip
    for header in forged:
        assert (await client.get(f"{ROOT}/notes", headers=[header])).status_code == 401
        assert (
            await client.get(f"{ROOT}/emails", headers=[*agent.headers, header])
        ).status_code == 403
        assert (
            await client.get(f"{ROOT}/notes", headers=[*agent.headers, header])
        ).status_code == 200
    made = (
        await client.post(
            f"{ROOT}/notes", headers=owner.headers, json={"content": "stays"}
        )
    ).json()["id"]
    for name in ("X-HTTP-Method-Override", "X-Method-Override"):
        answer = await client.post(
            f"{ROOT}/notes/{made}", headers=[*owner.headers, (name, "DELETE")]
        )
        assert answer.status_code == 405
        answer = await client.get(
            f"{ROOT}/notes/{made}?_method=DELETE",
            headers=[*owner.headers, (name, "DELETE")],
        )
        assert answer.status_code == 422
    assert (
        await client.get(f"{ROOT}/notes/{made}", headers=owner.headers)
    ).status_code == 200
    for host in (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "",
    ):
        assert (
            await client.get(f"{ROOT}/notes", headers=[*owner.headers, ("Host", host)])
        ).status_code == 403
    for origin in (
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        "http://localhost",
    ):
        for asker in (owner, askers["login"]):
            assert (
                await client.get(
                    f"{ROOT}/notes", headers=[*asker.headers, ("Origin", origin)]
                )
            ).status_code == 403


async def test_two_proofs_are_none(
    askers: dict[str, Asker], client: httpx.AsyncClient
) -> None:
    owner, agent, person = askers["owner"], askers["agent"], askers["login"]
    for headers in (
        [*owner.headers, *agent.headers],
        [*agent.headers, *owner.headers],
        [*owner.headers, *owner.headers],
        [*person.headers, *owner.headers],
        [*person.headers, person.headers[0]],
        [*person.headers, ("Cookie", f"{middleware.COOKIE}=x")],
        [
            (
                "Authorization",
                person.headers[0][1].replace(f"{middleware.COOKIE}=", "Bearer "),
            )
        ],
        [("Cookie", owner.headers[0][1].replace("Bearer ", f"{middleware.COOKIE}="))],
    ):
        assert (await client.get(f"{ROOT}/notes", headers=headers)).status_code == 401


async def test_a_token_in_an_address_is_refused(
    askers: dict[str, Asker], client: httpx.AsyncClient
) -> None:
    owner = askers["owner"]
    token = owner.headers[0][1].removeprefix("Bearer ")
    for path in (
        f"/notes?token={token}",
        "/notes?access_token=x",
        f"/search?q={token}",
        f"/notes/{token}",
        "/health?token=x",
    ):
        for headers in ([], owner.headers):
            answer = await client.get(ROOT + path, headers=headers)
            assert answer.status_code == 401
            assert "never goes into an address" in answer.json()["error"]["message"]
            assert token not in answer.text


# Revocation, isolation
# ------------------------------------------------------------------------------------------------


async def test_revocation_counts_everywhere_within_a_second(
    reverie: app.App, askers: dict[str, Asker], client: httpx.AsyncClient
) -> None:
    owner = askers["owner"]
    answer = await client.post(
        f"{ROOT}/tokens",
        headers=owner.headers,
        json={"name": "sync", "kind": "machine", "scopes": ["*:*"]},
    )
    assert answer.status_code == 201
    first = answer.json()
    mine = [("Authorization", f"Bearer {first['token']}")]
    child = (
        await client.post(
            f"{ROOT}/tokens",
            headers=mine,
            json={"name": "x", "kind": "agent", "scopes": ["notes:*"]},
        )
    ).json()
    theirs = [("Authorization", f"Bearer {child['token']}")]
    elsewhere = server.create(reverie)  # another process would ask the same database
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=elsewhere), base_url="http://127.0.0.1:8585"
    ) as second:
        for one in (mine, theirs):
            assert (await second.get(f"{ROOT}/notes", headers=one)).status_code == 200
        gone = await client.delete(
            f"{ROOT}/tokens/{first['id']}", headers=owner.headers
        )
        assert gone.json() == {"revoked": 2}
        for one in (mine, theirs):
            assert (await second.get(f"{ROOT}/notes", headers=one)).status_code == 401
    assert (
        await client.delete(f"{ROOT}/tokens/{NOWHERE}", headers=owner.headers)
    ).status_code == 404
    assert (
        await client.delete(
            f"{ROOT}/tokens/{first['id']}", headers=askers["member"].headers
        )
    ).status_code == 404


async def test_search_shows_only_open_domains(
    askers: dict[str, Asker], reverie: app.App, client: httpx.AsyncClient
) -> None:
    owner = askers["owner"]
    word = "quetzalfeder"
    for domain in catalogue.DOMAINS.values():
        body = lives.bodies(domain.name, 1)[0]
        column = lives.SECRET[domain.name]
        body[column] = f"{body.get(column) or ''} {word}"
        assert (
            await client.post(
                f"{ROOT}/{domain.plural}", headers=owner.headers, json=body
            )
        ).status_code == 201
    for domain in catalogue.DOMAINS.values():
        kept = await entered(
            reverie,
            domain.name,
            kind="agent",
            scopes=[f"{domain.plural}:read", "search:read"],
        )
        for path in ("search", "search/advanced"):
            answer = await client.get(
                f"{ROOT}/{path}?q={word}&include_cold=true&limit=50",
                headers=kept.headers,
            )
            assert [one["domain"] for one in answer.json()["results"]] == [
                domain.name
            ], (path, answer.text)
            closed = "tasks" if domain.name != "task" else "notes"
            answer = await client.get(
                f"{ROOT}/{path}?q={word}&domain={closed}", headers=kept.headers
            )
            assert answer.status_code == 403
        for params in ("", "?since=2020-01-01T00:00:00Z"):
            answer = (
                await client.get(f"{ROOT}/changes{params}", headers=kept.headers)
            ).json()
            assert {one["domain"] for one in answer["items"]} == {domain.name}
            assert answer["meta"]["total"] == 1
        toolbox = base.Toolbox(reverie.database, reverie.embeddings)
        assert kept.caller
        told = str(
            await tools.call(
                toolbox, kept.caller, "search", {"query": word, "include_cold": True}
            )
        )
        assert told.count("id:") == 1
    blind = askers["agent that only searches"]
    for path in (f"search?q={word}", "changes", "events/agenda"):
        assert (
            await client.get(f"{ROOT}/{path}", headers=blind.headers)
        ).status_code == 403


class Crowd:
    """Three people on one API; every answer is searched for the words that only the two
    others have.
    """

    def __init__(
        self, client: httpx.AsyncClient, secrets: dict[str, str], seed: int
    ) -> None:
        self.client, self.secrets = client, secrets
        self.canaries = {name: f"canary{name}{uuid4().hex}" for name in secrets}
        self.ids: dict[str, list[str]] = {name: [] for name in secrets}
        self.dice = random.Random(seed)
        self.calls = self.own = self.foreign = 0

    async def walk(self, steps: int) -> None:
        for _ in range(steps):
            await self.call(self.dice.choice(list(self.secrets)))

    async def call(self, name: str) -> None:
        step = self.dice.randrange(12)
        sent = self.change(name, step) if step <= 4 else self.look(name, step)
        answer = await self.client.send(sent)
        assert answer.status_code < 500, (sent.url, answer.text)
        if step <= 1 and answer.status_code == 201:
            self.ids[name].append(answer.json()["id"])
        # A search repeats the words it was asked for in what it says of itself, never
        # in results.
        seen = str(answer.json()["results"]) if step == 5 else answer.text
        self.calls += 1
        self.own += self.canaries[name] in seen
        self.foreign += sum(
            canary in seen for one, canary in self.canaries.items() if one != name
        )

    def change(self, name: str, step: int) -> httpx.Request:
        """Make something, or try it with an id that may be somebody else's."""
        domain = self.dice.choice(list(catalogue.DOMAINS.values()))
        path, canary = f"{ROOT}/{domain.plural}", self.canaries[name]
        if step > 1:
            method, end = {
                2: ("PATCH", ""),
                3: ("DELETE", ""),
                4: ("POST", "/restore"),
            }[step]
            return self.request(
                name,
                method,
                f"{path}/{self.some_id()}{end}",
                json={"custom": {"m": canary}},
            )
        body = lives.bodies(domain.name, 1)[0] | {"custom": {"mark": canary}}
        if domain.name == "diary":
            body["date"] = (
                datetime.now(UTC).date() - timedelta(days=self.dice.randrange(30_000))
            ).isoformat()
        body[lives.SECRET[domain.name]] = f"{canary} {len(self.ids[name])}"
        return self.request(name, "POST", path, json=body)

    def look(self, name: str, step: int) -> httpx.Request:
        if step == 5:
            words = self.dice.choice([*self.canaries.values(), "shared"])
            return self.request(name, "GET", f"{ROOT}/search", params={"q": words})
        path = f"{ROOT}/{self.dice.choice(list(catalogue.DOMAINS.values())).plural}"
        one = self.some_id()
        places = (
            path, f"{path}?format=compact", f"{path}?since=2020-01-01T00:00:00Z", f"{path}/{one}",
            f"{path}/{one}/original", f"{ROOT}/changes", f"{ROOT}/users", f"{ROOT}/tokens", f"{ROOT}/session",
            f"{ROOT}/agents",
        )  # fmt: skip
        return self.request(name, "GET", self.dice.choice(places))

    def some_id(self) -> str:
        there = [one for ids in self.ids.values() for one in ids]
        return self.dice.choice(there) if there else NOWHERE

    def request(self, name: str, method: str, path: str, **more: Any) -> httpx.Request:
        headers = {"Authorization": f"Bearer {self.secrets[name]}"}
        return self.client.build_request(method, path, headers=headers, **more)


# A hundred thousand calls in twenty walks: each ends before pytest takes it for
# hanging.
_WALKS = [
    (1500, 4),
    *(pytest.param(5_000, seed, marks=pytest.mark.soak) for seed in range(20)),
]


@pytest.mark.parametrize(("count", "seed"), _WALKS)
async def test_mixed_calls_of_three_people(
    reverie: app.App, other: callers.Caller, count: int, seed: int
) -> None:
    third = await users.create(reverie.database, name="third")
    people = {
        "owner": reverie.owner.user_id,
        "other": other.user_id,
        "third": third.user_id,
    }
    secrets = {
        name: await tokens.mint(reverie.database, one, name=name)
        for name, one in people.items()
    }
    transport = httpx.ASGITransport(app=server.create(reverie))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8585", timeout=60
    ) as client:
        crowd = Crowd(client, secrets, seed)
        await asyncio.gather(*(crowd.walk(count // 10) for _ in range(10)))
    assert crowd.foreign == 0
    assert crowd.own > count / 20
    assert crowd.calls == count


async def test_a_client_that_drops_in_the_middle_leaves_nothing(
    reverie: app.App, askers: dict[str, Asker], other: callers.Caller
) -> None:
    """Calls cut off at every moment, then the next person on the same connections."""
    api = httpx.ASGITransport(app=server.create(reverie))
    mine, theirs = askers["owner"].headers, askers["member"].headers
    async with httpx.AsyncClient(
        transport=api, base_url="http://127.0.0.1:8585"
    ) as client:
        for _ in range(5):
            await client.post(
                f"{ROOT}/notes",
                headers=mine,
                json={"content": "quetzalfeder", "title": "mine"},
            )
        dice = random.Random(1)
        looks = ("notes", "search?q=quetzalfeder", "changes")
        for number in range(60):
            lost = [
                asyncio.ensure_future(client.get(f"{ROOT}/{path}", headers=mine))
                for path in ("notes", "search?q=quetzalfeder", "changes", "tokens")
            ]
            await asyncio.sleep(dice.random() * 0.02)
            for one in lost:
                one.cancel()
            answers = await asyncio.gather(
                *(client.get(f"{ROOT}/{path}", headers=theirs) for path in looks)
            )
            await asyncio.gather(*lost, return_exceptions=True)
            for answer in answers:
                assert answer.status_code == 200, (number, answer.text)
            assert answers[0].json()["items"] == [], number
            assert answers[1].json()["results"] == [], number
            assert answers[2].json()["items"] == [], number
        async with reverie.database.transaction(None) as tx:
            assert (
                await tx.value(
                    "SELECT nullif(current_setting('reverie.user_id', true), '')"
                )
                is None
            )


def test_scopes_beside_each_other() -> None:
    assert callers.beyond(["notes:read"], ["notes:*"]) == []
    assert callers.beyond(["notes:read", "tasks:write"], ["*:read"]) == ["tasks:write"]
    assert callers.beyond(["*:read"], ["notes:read"]) == ["*:read"]
    assert callers.beyond(["*:*"], ["*:read", "*:write"]) == ["*:*"]
    assert callers.intersection(
        ["*:read", "notes:write"], ["notes:*", "tasks:write"]
    ) == {
        "notes:read",
        "notes:write",
    }
    assert callers.intersection(["*:*"], ["a:b"]) == {"a:b"}
    assert callers.intersection([], ["*:*"]) == frozenset()
    for wrong in (
        "notes",
        "notes:read:x",
        "Notes:read",
        ":",
        "*",
        "notes:",
        "no tes:read",
        "notes:read\n",
        "dreams:read",
    ):
        with pytest.raises(errors.Invalid):
            callers.checked([wrong], operations.AREAS)
