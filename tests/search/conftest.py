"""The sample life, imported and embedded once a worker: modules clone it, so that a
test may change what it likes.
"""

import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio

import reverie.sample
from reverie import config, db, embedded
from reverie.access import callers, tokens, users
from reverie.ingest import importer, ingest_file, scan
from reverie.llm import embedding
from reverie.pipeline import progress
from reverie.search import query as queries
from reverie.search import results as searched
from reverie.search import search as searching
from tests.conftest import WORKER_POOL

SAMPLE = Path(reverie.sample.__file__).parent
_numbers = itertools.count()


@dataclass(frozen=True)
class Life:
    """The sample life on a database of its own: searched as its owner."""

    database: db.Database
    caller: callers.Caller
    embeddings: embedding.Embeddings
    owner_url: str

    async def search(
        self, text: str, *, limit: int = 10, **filters: object
    ) -> searched.Results:
        """Search it as its owner."""
        query = queries.Query(text=text, limit=limit, **filters)  # pyright: ignore[reportArgumentType]
        return await searching.search(
            self.database, self.caller, self.embeddings, query
        )


@dataclass(frozen=True)
class _Kept:
    database: str
    token: str


@pytest.fixture(scope="session")
def embeddings() -> Iterator[embedding.Embeddings]:
    """The built-in embedder, with its lexicon."""
    cache = Path(tempfile.mkdtemp(prefix="rev-words-"))
    made = embedding.Embeddings(config.Embedding(), cache=cache)
    yield made
    made.close()
    shutil.rmtree(cache, ignore_errors=True)


@pytest.fixture(scope="session")
def words_alone() -> Iterator[embedding.Embeddings]:
    """No embedder at all."""
    made = embedding.Embeddings(config.Embedding(provider="none"))
    yield made
    made.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _kept(
    cluster: embedded.EmbeddedServer, template: str, embeddings: embedding.Embeddings
) -> AsyncIterator[_Kept]:
    """The database with the sample life and every vector of it, to be cloned; nobody
    stays connected to it.
    """
    name = "sample_life"
    _maintain(cluster, f"CREATE DATABASE {name} TEMPLATE {template}")
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database=name))
    await pool.open()
    user = await users.create(pool, name="owner", timezone="Europe/Madrid")
    token = await tokens.mint(pool, user.user_id, name="owner")
    caller = await tokens.caller(pool, token)
    blob_root = Path(tempfile.mkdtemp(prefix="rev-blobs-"))
    files = [
        one
        for one in scan.find([SAMPLE], name="sample")
        if one.file.suffix not in (".py", ".pyc")
    ]
    done = await importer.run(
        ingest_file.Context(pool, caller, blob_root, WORKER_POOL),
        files,
        progress=lambda number, file: None,
    )
    assert done.failed == 0
    async for state in progress.follow(pool, embeddings, caller):
        assert not state.trouble
    await pool.close()
    yield _Kept(name, token)
    shutil.rmtree(blob_root, ignore_errors=True)
    _maintain(cluster, f"DROP DATABASE {name} WITH (FORCE)")


@asynccontextmanager
async def _clone(
    cluster: embedded.EmbeddedServer, kept: _Kept, embeddings: embedding.Embeddings
) -> AsyncIterator[Life]:
    name = f"life_{next(_numbers)}"
    _maintain(cluster, f"CREATE DATABASE {name} TEMPLATE {kept.database}")
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database=name))
    await pool.open()
    caller = await tokens.caller(pool, kept.token)
    yield Life(
        pool, caller, embeddings, cluster.place.url(embedded.OWNER_ROLE, database=name)
    )
    await pool.close()
    _maintain(cluster, f"DROP DATABASE {name} WITH (FORCE)")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def life(
    cluster: embedded.EmbeddedServer, _kept: _Kept, embeddings: embedding.Embeddings
) -> AsyncIterator[Life]:
    """The sample life, to be read only."""
    async with _clone(cluster, _kept, embeddings) as found:
        yield found


@pytest_asyncio.fixture
async def own_life(
    cluster: embedded.EmbeddedServer, _kept: _Kept, embeddings: embedding.Embeddings
) -> AsyncIterator[Life]:
    """The sample life, the test's own."""
    async with _clone(cluster, _kept, embeddings) as found:
        yield found


def _maintain(cluster: embedded.EmbeddedServer, statement: str) -> None:
    with psycopg.connect(
        cluster.place.url(embedded.OWNER_ROLE, database="postgres"), autocommit=True
    ) as connection:
        connection.execute(statement.encode())
