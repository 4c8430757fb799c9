"""Tokens: only their hash is kept, they end when they are told to, and the token file
heals itself.
"""

import asyncio
import hashlib
import stat
from pathlib import Path

import pytest

from reverie import db, errors
from reverie.access import callers, tokens, users


async def test_only_the_hash_is_kept(
    database: db.Database, owner: callers.Caller
) -> None:
    token = await tokens.mint(
        database, owner.user_id, name="phone", kind="agent", scopes=["notes:read"]
    )
    assert len(token) >= len(tokens.PREFIX) + 43
    async with database.transaction(owner) as tx:
        row = (
            await tx.rows(
                "SELECT token.*, token::text AS whole FROM token WHERE name = 'phone'"
            )
        )[0]
    assert bytes(row["hash"]) == hashlib.sha256(token.encode()).digest()
    assert token not in row["whole"]
    assert token.removeprefix(tokens.PREFIX) not in repr(row)
    caller = await tokens.caller(database, token)
    assert (caller.user_id, caller.kind, caller.name, caller.scopes) == (
        owner.user_id,
        "agent",
        "phone",
        frozenset({"notes:read"}),
    )
    assert caller.timezone == "Europe/Madrid"
    assert (
        len({await tokens.mint(database, owner.user_id, name="x") for _ in range(20)})
        == 20
    )


@pytest.mark.parametrize(
    "change",
    [
        "revoked_at = now()",
        "expires_at = now() - interval '1 second'",
        "expires_at = now()",
    ],
)
async def test_ended_tokens(
    database: db.Database, owner: callers.Caller, change: str
) -> None:
    token = await tokens.mint(database, owner.user_id, name="old")
    await tokens.caller(database, token)
    async with database.transaction(owner) as tx:
        await tx.run("UPDATE token SET " + change + " WHERE name = 'old'")  # pyright: ignore[reportArgumentType]
    with pytest.raises(errors.Unauthorized) as refused:
        await tokens.caller(database, token)
    with pytest.raises(errors.Unauthorized) as unknown:
        await tokens.caller(database, tokens.PREFIX + "0" * 43)
    assert (refused.value.message, refused.value.hint) == (
        unknown.value.message,
        unknown.value.hint,
    )


async def test_a_token_that_will_end(
    database: db.Database, owner: callers.Caller
) -> None:
    token = await tokens.mint(database, owner.user_id, name="new")
    async with database.transaction(owner) as tx:
        await tx.run(
            "UPDATE token SET expires_at = now() + interval '1 hour' WHERE name = 'new'"
        )
    assert (await tokens.caller(database, token)).user_id == owner.user_id


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        "rev_",
        "x" * 100_000,
        "a\x00b",
        "a\ud800b",
        "'; DROP TABLE token; --",
        "ñ",
    ],
)
async def test_what_is_no_token(
    database: db.Database, owner: callers.Caller, token: str
) -> None:
    with pytest.raises(errors.Unauthorized):
        await tokens.caller(database, token)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


async def test_first_start_makes_owner_and_file(
    database: db.Database, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    first = await tokens.ensure_owner(database, file, timezone="Europe/Madrid")
    assert mode(file) == 0o600
    assert (first.kind, first.scopes, first.timezone) == (
        "user",
        frozenset({"*:*"}),
        "Europe/Madrid",
    )
    written = file.read_text()
    again = await tokens.ensure_owner(database, file, timezone="UTC")
    assert again == first
    assert file.read_text() == written
    assert names(tmp_path) == ["token"]

    file.unlink()
    lost = await tokens.ensure_owner(database, file, timezone="UTC")
    assert lost.user_id == first.user_id
    assert file.read_text() != written
    assert mode(file) == 0o600
    assert len(await users.all_users(database)) == 1
    assert (await tokens.caller(database, written.strip())).user_id == first.user_id


async def test_an_empty_file_is_a_lost_one(
    database: db.Database, owner: callers.Caller, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("\n")
    assert (
        await tokens.ensure_owner(database, file, timezone="UTC")
    ).user_id == owner.user_id
    assert (
        await tokens.caller(database, file.read_text().strip())
    ).user_id == owner.user_id


@pytest.mark.parametrize(
    "content", [b"rev_of-another-database\n", b"\xff\xfe\x00binary", b"two\nlines\n"]
)
async def test_a_foreign_file_is_named_and_left_alone(
    database: db.Database, owner: callers.Caller, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(errors.Unauthorized, match=str(file)) as refused:
        await tokens.ensure_owner(database, file, timezone="UTC")
    assert refused.value.hint
    assert file.read_bytes() == content


async def test_two_first_starts_at_once_make_one_owner(
    database: db.Database, tmp_path: Path
) -> None:
    files = [tmp_path / str(i % 2) / "token" for i in range(6)]
    for file in files:
        file.parent.mkdir(exist_ok=True)
    found = await asyncio.gather(
        *(tokens.ensure_owner(database, file, timezone="UTC") for file in files)
    )
    assert len(await users.all_users(database)) == 1
    assert len({one.user_id for one in found}) == 1
    for file in set(files):
        assert (
            await tokens.caller(database, file.read_text().strip())
        ).user_id == found[0].user_id
        assert mode(file) == 0o600
        assert names(file.parent) == ["token"]


def test_scopes() -> None:
    agent = callers.Caller(
        users.uuid4(), "agent", "a", frozenset({"notes:read", "events:*", "*:list"})
    )
    assert agent.may("notes", "read")
    assert agent.may("events", "delete")
    assert agent.may("health", "list")
    assert not agent.may("notes", "write")
    assert not agent.may("health", "read")
    with pytest.raises(errors.Forbidden, match="may not write notes") as refused:
        agent.need("notes", "write")
    assert "notes:write" in refused.value.hint


async def test_users_need_a_zone(database: db.Database) -> None:
    for zone in ("Nowhere/Land", "", "../etc/passwd", "a\x00"):
        with pytest.raises(errors.Invalid, match="not a time zone"):
            await users.create(database, name="x", timezone=zone)
    assert await users.all_users(database) == []
