"""Killed by SIGKILL while all vectors are made anew by another model: it goes on, and
hardly a text is made twice.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import models, vector_store, worker
from reverie.records import base, notes
from reverie.search import query, search
from tests.durability.conftest import Victim
from tests.pipeline import topics
from tests.pipeline.conftest import caught_up

NOTES = 40
BATCH = 4


async def with_old_vectors(
    database: db.Database, caller: callers.Caller, old: topics.Model
) -> None:
    for topic in range(NOTES):
        async with database.transaction(caller) as tx:
            await base.create(tx, caller, notes.NOTES, {"content": f"zettel{topic}"})
    embeddings = embedding.Embeddings(old.settings)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, caller)
    embeddings.close()


async def held(database: db.Database, caller: callers.Caller) -> dict[str, int]:
    async with database.transaction(caller) as tx:
        rows = await tx.rows(
            "SELECT model, count(*) AS n FROM embedding GROUP BY model"
        )
    return {row["model"]: row["n"] for row in rows}


@pytest.mark.parametrize(
    "point",
    [
        "before insert into embedding #5",
        "after insert into embedding #5",
        "after insert into model #6",
        "after delete from embedding #1",
        "after delete from model #1",
    ],
)
async def test_killed_while_changing_the_model(
    database: db.Database,
    owner: callers.Caller,
    victim: Victim,
    tmp_path: Path,
    point: str,
) -> None:
    old, new = (
        topics.Model("old", dimensions=384, shift=0),
        topics.Model("new", dimensions=384, shift=5),
    )
    old.open()
    new.open()
    await with_old_vectors(database, owner, old)
    settings = new.settings_with(old.settings, batch=BATCH)
    job: dict[str, Any] = {
        "do": "change model",
        "url": database.url,
        "user": str(owner.user_id),
        "embedding": settings.model_dump(),
        "passed": str(tmp_path / "passed"),
    }
    assert victim.do(job | {"point": point}) == -9
    between = await held(database, owner)
    # All old vectors are there until every new one is; at the last point they are gone,
    # and only their count is not.
    assert between.get("old@openai", 0) == (
        0 if point == "after delete from model #1" else NOTES
    )
    done = between.get("new@openai", 0)
    assert done % BATCH == 0
    assert done == NOTES if "delete" in point else 0 < done < NOTES
    embeddings = embedding.Embeddings(settings)
    for topic in range(NOTES):
        results = await search.search(
            database, owner, embeddings, query.Query(text=f"frage{topic}")
        )
        assert [hit.title for hit in results.hits[:1]] == [f"zettel{topic}"]
    asked = old.texts if done < NOTES else new.texts
    assert {f"frage{topic}" for topic in range(NOTES)} <= set(asked)
    # The next process finishes, and asks for at most the batch that was under way
    # again.
    assert victim.do(job) == 0
    json.loads((tmp_path / "passed").read_text())
    assert await held(database, owner) == {"new@openai": NOTES}
    made = Counter(text for text in new.texts if text.startswith("zettel"))
    assert set(made) == {f"zettel{topic}" for topic in range(NOTES)}
    assert sum(made.values()) <= NOTES + BATCH
    async with database.transaction(owner) as tx:
        assert [(one.name, one.vectors) for one in await models.of_user(tx, owner)] == [
            ("new@openai", NOTES)
        ]
        assert await vector_store.coverage(
            tx, owner, "new@openai"
        ) == vector_store.Coverage(NOTES, NOTES)
    embeddings.close()
    old.close()
    new.close()
