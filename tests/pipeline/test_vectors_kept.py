"""Vectors as they are kept: each with its own text, in one transaction that waits for no
disk, since they stay queued until it is there.
"""

import json

import numpy as np

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import worker
from reverie.records import passages
from tests.pipeline import embedder
from tests.pipeline.conftest import caught_up
from tests.pipeline.test_worker import note

_SET_HERE = (
    "SELECT source = 'session' FROM pg_settings WHERE name = 'synchronous_commit'"
)
_KEPT = "SELECT hash, vector::text AS vector, dimensions FROM embedding"


async def test_each_text_has_the_vector_that_the_model_gave(
    database: db.Database, owner: callers.Caller, server: embedder.Server
) -> None:
    texts = [f"note {number}, and nothing more" for number in range(150)]
    for text in texts:
        await note(database, owner, text)
    embeddings = embedding.Embeddings(server.settings)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    async with database.transaction(owner) as tx:
        kept = {bytes(row["hash"]): row for row in await tx.rows(_KEPT)}
    assert len(kept) == len(texts)
    for text in texts:
        row = kept[passages.content_hash(text, text)]
        assert row["dimensions"] == embedder.LENGTH
        given = np.array(embedder.vector_of(text))
        given /= np.linalg.norm(given)
        np.testing.assert_allclose(json.loads(row["vector"]), given, rtol=1e-3)
    embeddings.close()


async def test_a_transaction_that_waits_for_no_disk_leaves_the_next_as_it_was(
    database: db.Database, owner: callers.Caller
) -> None:
    found: list[tuple[str, bool]] = []
    for durable in (True, False, True):
        async with database.transaction(owner, durable=durable) as tx:
            setting = await tx.value("SHOW synchronous_commit")
            found.append((setting, await tx.value(_SET_HERE)))
    before, within, after = found
    assert within == ("off", True)
    assert before == after
    assert not before[1]
