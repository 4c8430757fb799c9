"""One database for the tests of a module: each test has users of its own, and row-level
security keeps them apart.
"""

from collections.abc import AsyncIterator

import psycopg
import pytest
import pytest_asyncio

from reverie import db, embedded


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def database(
    cluster: embedded.EmbeddedServer, template: str, request: pytest.FixtureRequest
) -> AsyncIterator[db.Database]:
    """A pool on the module's own database, as the application's role."""
    name = request.module.__name__.rpartition(".")[2]
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(
            db.compose("CREATE DATABASE {name} TEMPLATE {of}", name=name, of=template)
        )
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database=name))
    await pool.open()
    yield pool
    await pool.close()
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(db.compose("DROP DATABASE {name} WITH (FORCE)", name=name))
