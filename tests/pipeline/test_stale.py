"""Vectors of texts that are gone go too, and no other: what is kept, what is counted,
what is left to do.
"""

from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import models, worker
from reverie.records import base, notes, passages
from tests.pipeline.conftest import caught_up


async def note(
    database: db.Database, caller: callers.Caller, content: str, title: str = ""
) -> UUID:
    async with database.transaction(caller) as tx:
        return (
            await base.create(
                tx, caller, notes.NOTES, {"content": content, "title": title or None}
            )
        ).id


async def edit(
    database: db.Database, caller: callers.Caller, record_id: UUID, content: str
) -> None:
    async with database.transaction(caller) as tx:
        await base.update(tx, caller, notes.NOTES, record_id, {"content": content})


async def delete(
    database: db.Database, caller: callers.Caller, record_id: UUID
) -> None:
    async with database.transaction(caller) as tx:
        await base.delete(tx, caller, notes.NOTES, record_id)


async def kept(
    database: db.Database, caller: callers.Caller, embeddings: embedding.Embeddings
) -> set[bytes]:
    """The texts that have a vector, by their hash; the count of the model says the
    same, and nothing is left stale.
    """
    async with database.transaction(caller) as tx:
        hashes = [
            bytes(row["hash"])
            for row in await tx.rows("SELECT hash FROM embedding", binary=True)
        ]
        (known,) = await models.of_user(tx, caller)
        assert known.name == embeddings.model
        assert known.vectors == len(hashes) == len(set(hashes))
        assert await tx.value("SELECT count(*) FROM stale") == 0
    return set(hashes)


def hashes(*texts: str, title: str = "") -> set[bytes]:
    return {passages.content_hash(title, text) for text in texts}


async def test_the_vector_of_a_deleted_or_edited_text_goes(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    async with worker.Worker(database, embeddings).running():
        deleted, edited = (
            await note(database, owner, "the cat sleeps"),
            await note(database, owner, "the dog barks"),
        )
        await note(database, owner, "the bird sings")
        await caught_up(database, owner)
        every = hashes("the cat sleeps", "the dog barks", "the bird sings")
        assert await kept(database, owner, embeddings) == every

        await delete(database, owner, deleted)
        await caught_up(database, owner)
        assert await kept(database, owner, embeddings) == every - hashes(
            "the cat sleeps"
        )

        await edit(database, owner, edited, "the dog is tired")
        await caught_up(database, owner)
        assert await kept(database, owner, embeddings) == hashes(
            "the dog is tired", "the bird sings"
        )

        async with database.transaction(owner) as tx:
            await base.restore(tx, owner, notes.NOTES, deleted)
        await caught_up(database, owner)
        assert await kept(database, owner, embeddings) == hashes(
            "the cat sleeps", "the dog is tired", "the bird sings"
        )


async def test_of_a_long_text_only_the_passages_that_changed_lose_their_vectors(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    paragraphs = [
        f"Paragraph {i} speaks of {'one thing and then of another, ' * 7}again."
        for i in range(5)
    ]
    async with worker.Worker(database, embeddings).running():
        made = await note(database, owner, "\n\n".join(paragraphs), "Long")
        await caught_up(database, owner)
        assert await kept(database, owner, embeddings) == hashes(
            *paragraphs, title="Long"
        )
        changed = [
            *paragraphs[:2],
            paragraphs[2].replace("speaks", "is silent"),
            *paragraphs[3:],
        ]
        await edit(database, owner, made, "\n\n".join(changed))
        await caught_up(database, owner)
        assert await kept(database, owner, embeddings) == hashes(*changed, title="Long")


async def test_a_text_that_stands_elsewhere_keeps_its_vector_until_it_stands_nowhere(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    async with worker.Worker(database, embeddings).running():
        first, second = (
            await note(database, owner, "the same"),
            await note(database, owner, "the same"),
        )
        third = await note(database, owner, "the same", "but of another title")
        await caught_up(database, owner)
        both = hashes("the same") | hashes("the same", title="but of another title")
        assert await kept(database, owner, embeddings) == both
        await delete(database, owner, first)
        await caught_up(database, owner)
        assert await kept(database, owner, embeddings) == both
        await edit(database, owner, second, "something else")
        await caught_up(database, owner)
        only = hashes("something else") | hashes(
            "the same", title="but of another title"
        )
        assert await kept(database, owner, embeddings) == only
        await delete(database, owner, third)
        await caught_up(database, owner)
        assert await kept(database, owner, embeddings) == hashes("something else")


async def test_what_happens_while_no_worker_runs_is_made_up_for(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    async with worker.Worker(database, embeddings).running():
        made = [await note(database, owner, f"number {i}") for i in range(6)]
        await caught_up(database, owner)
    for one in made[:3]:
        await delete(database, owner, one)
    await edit(
        database, owner, made[3], "number 0"
    )  # a text that just went, in another record
    async with database.transaction(owner) as tx:
        assert await tx.value("SELECT count(*) FROM stale") == 4
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    assert await kept(database, owner, embeddings) == hashes(
        "number 0", "number 4", "number 5"
    )


async def test_ones_texts_have_nothing_to_do_with_anothers(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    embeddings: embedding.Embeddings,
) -> None:
    async with worker.Worker(database, embeddings).running():
        mine, _ = (
            await note(database, owner, "the same"),
            await note(database, other, "the same"),
        )
        await note(database, owner, "mine")
        await caught_up(database, owner, other)
        await delete(database, owner, mine)
        await caught_up(database, owner, other)
    assert await kept(database, owner, embeddings) == hashes("mine")
    assert await kept(database, other, embeddings) == hashes("the same")
