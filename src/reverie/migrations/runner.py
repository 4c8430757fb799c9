"""Schema migrations: numbered SQL files, forward only, each applied once and whole."""

import importlib.resources
from collections.abc import Sequence
from typing import LiteralString, cast

from reverie import db, errors

_LOCK = "SELECT pg_advisory_lock(hashtextextended('reverie.migrations', 0))"
_LEDGER = """
CREATE TABLE IF NOT EXISTS migration (
    name text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""
_CREATE_ROLE = """
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reverie_app') THEN
        CREATE ROLE reverie_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$
"""
_GRANT_ROLE = """
DO $$
BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
       AND NOT pg_has_role(current_user, 'reverie_app', 'SET') THEN
        EXECUTE format('GRANT reverie_app TO %I WITH SET TRUE', current_user);
    END IF;
END
$$
"""


def migration_files() -> Sequence[tuple[str, str]]:
    """Every migration as (name, SQL), in order."""
    folder = importlib.resources.files("reverie.migrations")
    names = sorted(
        file.name
        for file in folder.iterdir()
        if file.name[:4].isdigit() and file.name.endswith(".sql")
    )
    return [(name, folder.joinpath(name).read_text(encoding="utf-8")) for name in names]


async def ensure_database(maintenance_url: str, name: str) -> None:
    """Make a database on a server of ours, unless it is there."""
    connection = await db.owner_connection(maintenance_url)
    async with connection:
        await connection.execute(_LOCK)
        cursor = await connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = %s", (name,)
        )
        if await cursor.fetchone() is None:
            await connection.execute(
                db.compose("CREATE DATABASE {name} TEMPLATE template0", name=name)
            )


async def migrate(owner_url: str) -> list[str]:
    """Apply what is missing and return its names. Two processes at once wait for each
    other.

    Raises Misconfigured when the database was made by a newer Reverie, or does not let
    this role do what is needed.
    """
    with db.translated(_REFUSED):
        return await _migrate(owner_url)


_REFUSED = (
    "PostgreSQL 18 with pgvector is needed, and a role that may create tables and `reverie_app`;"
    " docs/howto/own-postgresql.md says how."
)


async def _migrate(owner_url: str) -> list[str]:
    applied: list[str] = []
    async with await db.owner_connection(owner_url) as connection:
        await connection.execute(_LOCK)
        await connection.execute(_CREATE_ROLE)
        await connection.execute(_GRANT_ROLE)
        await connection.execute(_LEDGER)
        await connection.execute("GRANT USAGE ON SCHEMA public TO reverie_app")
        cursor = await connection.execute("SELECT name FROM migration")
        done = {str(row[0]) for row in await cursor.fetchall()}
        all_files = migration_files()
        newer = done - {name for name, _ in all_files}
        if newer:
            raise errors.Misconfigured(
                f"This database was made by a newer Reverie (it has {max(newer)}).",
                hint="Update Reverie.",
            )
        for name, sql in all_files:
            if name not in done:
                async with connection.transaction():
                    await connection.execute(cast(LiteralString, sql))
                    await connection.execute(
                        "INSERT INTO migration (name) VALUES (%s)", (name,)
                    )
                applied.append(name)
    return applied
