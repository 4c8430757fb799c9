"""Secrets: what holds one is critical, its record keeps it, and no index does."""

import asyncio
import base64
import uuid
from typing import Any, cast

import httpx
import pytest

from reverie import app, db
from reverie.access import callers
from reverie.pipeline import rebuild, rule_extraction, worker
from reverie.privacy import sensitivity
from reverie.records import catalogue

ROOT = "/api/v1"
_PEM = """-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW

QyNTUxOQAAACB7qkzQXm1N3vQ5yWb0Zk1mHk0N2l5V0rX4wz9y3u8QAAAJgqkzQXm1N3vQ
-----END OPENSSH PRIVATE KEY-----"""
SECRETS = {
    "private key": (_PEM, "QyNTUxOQAAACB7qkzQXm1N3vQ5yWb0Zk1mHk0N2l5V0rX4wz9y3u8Q"),
    "legacy key": (
        ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0\n\n"
        "MIIEpAIBAAKCAQEA7qkzQXm1N3vQ5yWb\n-----END RSA PRIVATE KEY-----"),
        "MIIEpAIBAAKCAQEA7qkzQXm1N3vQ5yWb",
    ),
    "pgp": (
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x - y\n\nlQVYBGN0k3MBDADp7qkzQXm1\n"
        "-----END PGP PRIVATE KEY BLOCK-----"),
        "lQVYBGN0k3MBDADp7qkzQXm1",
    ),
    "putty": (
        ("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\nAAAAIB7qkzQXm1N3vQ5yWb0Zk\n"
        "Private-MAC: 0123456789abcdef0123456789abcdef"),
        "AAAAIB7qkzQXm1N3vQ5yWb0Zk",
    ),
    "ours": (f"rev_{'aB3-x_7Qz' * 5}"[:47], "aB3-x_7QzaB3-x_7Qz"),
    "aws": ("AKIAQ7RT2MZ5KXW3PLNB", "AKIAQ7RT2MZ5KXW3PLNB"),
    "github": ("ghp_" + "k3Jq9Zx7" * 4 + "aB3d", "k3Jq9Zx7k3Jq9Zx7"),
    "gitlab": ("glpat-x8Kq2Lm9Rt4Vb7Nz1Wc3", "x8Kq2Lm9Rt4Vb7Nz1Wc3"),
    "slack": ("xoxb-" + "2384756102-kQ9xZ7LmR4", "kQ9xZ7LmR4"),
    "stripe": ("sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    "openai": ("sk-proj-" + "Zx7kQ9LmR4Vb2NtW" * 2, "Zx7kQ9LmR4Vb2NtW"),
    "anthropic": ("sk-ant-api03-" + "Zx7kQ9LmR4Vb2NtW" * 2, "Zx7kQ9LmR4Vb2NtW"),
    "google": ("AIza" + "SyD4x8Kq2Lm9Rt4Vb7Nz1Wc3Pq6Xs0YtR", "SyD4x8Kq2Lm9Rt4Vb7"),
    "jwt": (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhbUJU1p1r",
        "dBjftJeZ4CVPmB92K27uhbUJU1p1r",
    ),
    "npm": ("npm_" + "k3Jq9Zx7" * 4 + "aB3d", "k3Jq9Zx7k3Jq9Zx7"),
    "pypi": ("pypi-" + "AgEIcHlwaS5vcmcC" + "k3Jq9Zx7" * 4, "k3Jq9Zx7k3Jq9Zx7"),
    "azure": (
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + "k3Jq9Zx7" * 8 + "==",
        "k3Jq9Zx7k3Jq9Zx7",
    ),
    "twilio": ("SK" + "0a1b2c3d4e5f6789" * 2, "0a1b2c3d4e5f6789"),
    "sendgrid": ("SG." + "x8Kq2Lm9Rt4Vb7Nz1Wc3Pq" + "." + "k3Jq9Zx7" * 5, "k3Jq9Zx7"),
    "password": ("password = hunter2cobalt", "hunter2cobalt"),
    "contraseña": ("contraseña: nube77verde", "nube77verde"),
    "connection": ("postgresql://bob:cobalt99tree@db.local/x", "cobalt99tree"),
    "ado": ("Server=db;User Id=sa;Password=cobalt99tree;", "cobalt99tree"),
    "encoded": (
        base64.b64encode(b"the key is sk-ant-api03-Zx7kQ9LmR4Vb2NtWZx7k").decode(),
        "dGhlIGtleSBpcyBzay1hbnQt",
    ),
}  # fmt: skip
PLACEHOLDERS = (
    "api_key = your-key-here",
    "password = ********",
    "password: <your password>",
    "token: xxxxxxxxxxxxxxxx",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "password = ${DB_PASSWORD}",
    "The password is required, and the token of our love is a song.",
    "Schlüssel: hängt hinter der blauen Tür",
    "A public key: -----BEGIN PUBLIC KEY-----",
)
# Where nothing of a record's text may be but its own row.
_TABLES = """
SELECT relname AS tablename FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND has_table_privilege(oid, 'SELECT')
"""


@pytest.mark.parametrize("form", SECRETS)
def test_a_text_with_a_secret_is_critical(form: str) -> None:
    text = f"From the meeting of Tuesday: {SECRETS[form][0]} and the rest."
    assert sensitivity.of_text(text) is sensitivity.Level.CRITICAL


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder_is_none(text: str) -> None:
    assert sensitivity.of_text(text) is not sensitivity.Level.CRITICAL


async def _holding(
    database: db.Database, owner: callers.Caller, piece: str
) -> set[str]:
    """The tables that hold a piece of text, in any column."""
    async with database.transaction(owner) as tx:
        tables = [row["tablename"] for row in await tx.rows(_TABLES, ())]
        found: set[str] = set()
        for table in tables:
            statement = db.compose(
                "SELECT count(*) FROM {table} AS t WHERE t::text LIKE %(like)s",
                table=table,
            )
            if await tx.value(statement, {"like": f"%{piece}%"}):
                found.add(table)
    return found


@pytest.mark.parametrize("form", ["private key", "github", "password", "encoded"])
async def test_a_record_keeps_its_secret_and_no_index_does(
    reverie: app.App, owner: callers.Caller, api: httpx.AsyncClient, form: str
) -> None:
    secret, piece = SECRETS[form]
    made = await api.post(
        f"{ROOT}/notes", json={"title": "Garden door", "content": f"marigold {secret}"}
    )
    assert made.status_code == 201, made.text
    assert made.json()["sensitivity"] == "critical"
    assert secret in made.json()["content"]
    assert await _holding(reverie.database, owner, piece) == {"note"}
    (found,) = (await api.get(f"{ROOT}/search", params={"q": "marigold"})).json()[
        "results"
    ]
    assert piece not in str(found)
    assert "[secret]" in str(found)
    # On a change too, and in a title.
    changed = await api.patch(
        f"{ROOT}/notes/{made.json()['id']}", json={"title": f"Door {secret}"}
    )
    assert changed.status_code == 200, changed.text
    assert await _holding(reverie.database, owner, piece) == {"note"}


DOMAINS: dict[str, dict[str, Any]] = {
    "notes": {"content": "{}"},
    "events": {"title": "{}", "start": "2026-05-05T10:00:00Z"},
    "tasks": {"title": "{}"},
    "bookmarks": {"title": "{}", "url": "https://example.org/"},
    "diary": {"content": "{}", "date": "2026-05-05"},
}


@pytest.mark.parametrize("plural", DOMAINS)
async def test_in_every_domain(
    reverie: app.App, owner: callers.Caller, api: httpx.AsyncClient, plural: str
) -> None:
    secret, piece = SECRETS["github"]
    values = {
        name: value.format(secret) if isinstance(value, str) else value
        for name, value in DOMAINS[plural].items()
    }
    made = await api.post(f"{ROOT}/{plural}", json=values)
    assert made.status_code == 201, made.text
    assert made.json()["sensitivity"] == "critical"
    domain = next(d for d in catalogue.DOMAINS.values() if d.plural == plural)
    assert await _holding(reverie.database, owner, piece) == {domain.name}


IN_GRAPH: dict[str, dict[str, Any]] = {
    "contacts": {
        "display_name": "Ana {}",
        "company": "Kiln {}",
        "emails": ["ana@example.org"],
        "notes": "Works with Ben Ruiz at Kiln {}",
    },
    "events": {
        "title": "Lunch with Ben Ruiz",
        "start": "2026-05-05T10:00:00Z",
        "attendees": [{"name": "Ana {}", "email": "ana@example.org"}],
        "location": "Kiln {}",
    },
    "emails": {
        "from": "Ben {} <ben@example.org>",
        "to": ["Ana Gil <ana@example.org>"],
        "subject": "Key {}",
        "body_text": "Ana Gil works at Kiln {} with [[{}]]",
    },
    "notes": {"title": "Ana {}", "content": "[[{}]] by Ana Gil", "tags": ["{}"]},
}


def _filled(value: Any, secret: str) -> Any:
    if isinstance(value, list):
        return [_filled(entry, secret) for entry in cast("list[Any]", value)]
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {name: _filled(entry, secret) for name, entry in entries.items()}
    return value.replace("{}", secret)


async def _read(reverie: app.App, owner: callers.Caller) -> None:
    """Let the graph read what is there."""
    followers = (rule_extraction.RULE_EXTRACTION,)
    following = worker.Worker(reverie.database, reverie.embeddings, followers=followers)
    async with following.running():
        for _ in range(1000):
            async with reverie.database.transaction(owner) as tx:
                standings = await worker.standings(tx, owner)
            behind = {standing.slot: standing.behind for standing in standings}
            if not behind["rule_extraction"]:
                return
            await asyncio.sleep(0.02)
    raise AssertionError("the graph is behind")


@pytest.mark.parametrize("plural", IN_GRAPH)
async def test_the_graph_gets_no_secret(
    reverie: app.App, owner: callers.Caller, api: httpx.AsyncClient, plural: str
) -> None:
    secret, piece = SECRETS["github"]
    values = {name: _filled(value, secret) for name, value in IN_GRAPH[plural].items()}
    made = await api.post(f"{ROOT}/{plural}", json=values)
    assert made.status_code == 201, made.text
    assert made.json()["sensitivity"] == "critical"
    await _read(reverie, owner)
    domain = next(d for d in catalogue.DOMAINS.values() if d.plural == plural)
    assert await _holding(reverie.database, owner, piece) == {domain.name}
    async with reverie.database.transaction(owner) as tx:
        assert await tx.value("SELECT count(*) FROM node")


async def test_a_field_is_read_with_its_name(api: httpx.AsyncClient) -> None:
    made = await api.post(
        f"{ROOT}/notes",
        json={"content": "Router", "custom": {"password": "cobalt99tree"}},
    )
    assert made.status_code == 201, made.text
    assert made.json()["sensitivity"] == "critical"


async def test_rebuild_raises_what_is_there_already(
    reverie: app.App, owner: callers.Caller, api: httpx.AsyncClient
) -> None:
    """A record as an earlier release kept it: normal, and its secret in the index."""
    made = await api.post(
        f"{ROOT}/notes", json={"title": "Door", "content": "marigold"}
    )
    note = uuid.UUID(made.json()["id"])
    secret, piece = SECRETS["github"]
    async with reverie.database.transaction(owner) as tx:
        await tx.run("UPDATE note SET content = %s WHERE id = %s", (secret, note))
        await tx.run(
            "UPDATE passage SET text = %s WHERE record_id = %s", (secret, note)
        )
    await rebuild.rebuild(
        reverie.database, owner, vectors=False, progress=lambda _: None
    )
    kept = (await api.get(f"{ROOT}/notes/{note}")).json()
    assert kept["sensitivity"] == "critical"
    assert kept["content"] == secret
    assert await _holding(reverie.database, owner, piece) == {"note"}
