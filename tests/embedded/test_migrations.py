"""Migrations: each once, forward only, whoever owns the database; and schema.sql says
what they make.
"""

import asyncio
import getpass
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from reverie import app, config, db, embedded, errors
from reverie.access import tokens, users
from reverie.migrations import runner
from reverie.records import base, changes, notes
from tests.durability.conftest import environment
from tests.embedded import write_schema


def test_schema_sql_is_what_the_migrations_make(
    cluster: embedded.EmbeddedServer, template: str
) -> None:
    kept = write_schema.TARGET.read_text(encoding="utf-8")
    assert write_schema.dump(cluster, template) == kept, (
        "run `python tests/embedded/write_schema.py` and read the diff"
    )


def test_migrations_are_numbered_and_in_order() -> None:
    names = [name for name, _ in runner.migration_files()]
    assert names
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    assert all(sql.strip() for _, sql in runner.migration_files())


async def test_migrating_twice_applies_nothing(
    cluster: embedded.EmbeddedServer, fresh: str
) -> None:
    url = cluster.place.url(embedded.OWNER_ROLE, database=fresh)
    before = write_schema.dump(cluster, fresh)
    assert await runner.migrate(url) == []
    assert write_schema.dump(cluster, fresh) == before


@pytest.fixture
def empty(cluster: embedded.EmbeddedServer) -> Iterator[str]:
    """A URL of the owner to a database with nothing in it."""
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute("CREATE DATABASE nothing_yet TEMPLATE template0")
    yield cluster.place.url(embedded.OWNER_ROLE, database="nothing_yet")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute("DROP DATABASE nothing_yet WITH (FORCE)")


async def test_the_models_of_vectors_from_before_are_known(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = runner.migration_files()
    before = [one for one in every if one[0] < "0003"]
    monkeypatch.setattr(runner, "migration_files", lambda: before)
    await runner.migrate(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO users (user_id, name) SELECT uuidv7(), name FROM unnest('{a,b}'::text[]) AS name"
        )
        connection.execute(
            "INSERT INTO embedding SELECT user_id, model, model::bytea, '[1,2,3]', 3"
            " FROM users, unnest('{x,y}'::text[]) AS model WHERE name = 'a' OR model = 'x'"
        )
    monkeypatch.setattr(runner, "migration_files", lambda: every)
    await runner.migrate(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT users.name, model.name, dimensions, vectors, measured_at FROM model JOIN users USING (user_id)"
            " ORDER BY 1, 2"
        ).fetchall()
        forced = connection.execute(
            "SELECT relname FROM pg_class WHERE relname IN ('model', 'embedding') AND relforcerowsecurity ORDER BY 1"
        ).fetchall()
    assert rows == [
        ("a", "x", 3, 1, None),
        ("a", "y", 3, 1, None),
        ("b", "x", 3, 1, None),
    ]
    assert forced == [("embedding",), ("model",)]


MIGRATE = """
import asyncio, sys
from reverie.migrations import runner
print(",".join(asyncio.run(runner.migrate(sys.argv[1]))))
"""


def test_two_processes_at_once(empty: str, cluster: embedded.EmbeddedServer) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATE, empty],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    everything = ",".join(name for name, _ in runner.migration_files())
    assert sorted(said) == ["", "", everything]


async def test_two_that_make_the_same_database(
    cluster: embedded.EmbeddedServer,
) -> None:
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    try:
        await asyncio.gather(
            *(runner.ensure_database(maintenance, "made_once") for _ in range(3))
        )
        with psycopg.connect(maintenance) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_database WHERE datname = 'made_once'"
            ).fetchone()
        assert row == (1,)
    finally:
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS made_once")


async def test_a_newer_database_is_refused(
    cluster: embedded.EmbeddedServer, fresh: str
) -> None:
    url = cluster.place.url(embedded.OWNER_ROLE, database=fresh)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO migration (name) VALUES ('9999_tomorrow.sql')")
    with pytest.raises(
        errors.Misconfigured, match=r"newer Reverie \(it has 9999_tomorrow\.sql\)"
    ) as refused:
        await runner.migrate(url)
    assert refused.value.hint == "Update Reverie."


async def test_a_migration_that_fails_leaves_nothing(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = runner.migration_files()
    broken = [*good, ("9000_broken.sql", "CREATE TABLE half (); SELECT 1 / 0;")]
    monkeypatch.setattr(runner, "migration_files", lambda: broken)
    with pytest.raises(errors.ReverieError, match="division by zero"):
        await runner.migrate(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        assert connection.execute("SELECT to_regclass('half')").fetchone() == (None,)
        names = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM migration ORDER BY name"
            ).fetchall()
        ]
    assert names == [name for name, _ in good]
    monkeypatch.undo()
    assert await runner.migrate(empty) == []


async def test_a_database_that_is_not_there() -> None:
    for url in ("host=/nowhere dbname=x", "postgresql://127.0.0.1:1/x"):
        with pytest.raises(errors.DatabaseUnavailable) as refused:
            await runner.migrate(url)
        assert refused.value.message.endswith(".") or refused.value.message.endswith(
            ")."
        )


@pytest.fixture
def foreign() -> Iterator[str]:
    """A PostgreSQL of somebody's own: its URL for a role that may make roles and owns
    one database, and no more.
    """
    home = Path(tempfile.mkdtemp(prefix="rev-", dir="/tmp"))
    home.chmod(0o711)
    server = embedded.acquire(home)
    try:
        me = pwd.getpwuid(os.geteuid()).pw_name
        with (server.place.data / "pg_ident.conf").open("a") as identities:
            identities.write(f"reverie {me} elena\nreverie {me} reader\n")
        maintenance = server.place.url(embedded.OWNER_ROLE, database="postgres")
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute("CREATE ROLE elena LOGIN CREATEROLE")
            connection.execute(
                "CREATE DATABASE memories OWNER elena TEMPLATE template0"
            )
            connection.execute("SELECT pg_reload_conf()")
        # pgvector is not a trusted extension: whoever runs the server puts it there.
        with psycopg.connect(
            server.place.url(embedded.OWNER_ROLE, database="memories"), autocommit=True
        ) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield server.place.url("elena", database="memories")
    finally:
        server.release()
        shutil.rmtree(home, ignore_errors=True)


async def test_a_postgresql_of_the_owners_own(foreign: str, tmp_path: Path) -> None:
    assert getpass.getuser()
    assert await runner.migrate(foreign) == [
        name for name, _ in runner.migration_files()
    ]
    assert await runner.migrate(foreign) == []
    database = db.Database(db.as_app(foreign))
    await database.open()
    try:
        caller = await tokens.ensure_owner(database, tmp_path / "token", timezone="UTC")
        stranger = await users.create(database, name="stranger")
        async with database.transaction(caller) as tx:
            assert await tx.value("SELECT current_user::text") == db.APP_ROLE
            note = await base.create(tx, caller, notes.NOTES, {"content": "mine"})
            assert (await base.read(tx, caller, notes.NOTES, note.id)).content == "mine"
            assert (
                len((await changes.since(tx, caller, moment=note.created_at)).created)
                == 1
            )
        for nobody in (None, users.Reference(stranger.user_id)):
            async with database.transaction(nobody) as tx:
                assert await tx.value("SELECT count(*) FROM note") == 0
        with pytest.raises(errors.Forbidden):
            async with database.transaction(caller) as tx:
                await tx.run("SELECT * FROM migration")
    finally:
        await database.close()


async def test_the_whole_application_on_the_owners_own(
    foreign: str, tmp_path: Path
) -> None:
    settings = config.Config(
        home=tmp_path / "home",
        database_url=foreign,
        embedding=config.Embedding(provider="none"),
    )
    for _ in range(2):
        async with app.opened(settings) as reverie:
            assert reverie.server is None
            async with reverie.database.transaction(reverie.owner) as tx:
                await base.create(tx, reverie.owner, notes.NOTES, {"content": "kept"})
    async with (
        app.opened(settings) as reverie,
        reverie.database.transaction(reverie.owner) as tx,
    ):
        assert (await base.find(tx, reverie.owner, notes.NOTES)).total == 2


async def test_without_pgvector_there_is_a_sentence(foreign: str) -> None:
    with psycopg.connect(
        conninfo.make_conninfo(foreign, user=embedded.OWNER_ROLE), autocommit=True
    ) as chief:
        chief.execute("DROP EXTENSION vector")
    with pytest.raises(errors.Misconfigured, match="vector") as refused:
        await runner.migrate(foreign)
    assert "pgvector" in refused.value.hint
    with psycopg.connect(foreign) as connection:
        assert connection.execute("SELECT to_regclass('note')").fetchone() == (None,)


async def test_a_role_that_may_not_is_told_so(foreign: str) -> None:
    """Without the right to make roles there is a sentence, not a stack."""
    elena = conninfo.conninfo_to_dict(foreign)
    chief = conninfo.make_conninfo(foreign, user=embedded.OWNER_ROLE)
    with psycopg.connect(chief, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
    with pytest.raises(errors.ReverieError) as refused:
        await runner.migrate(conninfo.make_conninfo(foreign, user="reader"))
    assert refused.value.message
    assert elena["user"] == "elena"
