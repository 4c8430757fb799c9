"""The order in which texts get their vectors: what was just written, what else is new,
then the backlog; nothing is lost on the way.
"""

import asyncio
import threading
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest

from reverie import config, db, embedded
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import (
    checkup,
    dead_letters,
    embed_queue,
    models,
    progress,
    rebuild,
    slots,
    worker,
)
from reverie.records import base, catalogue, changes, notes
from tests.pipeline import embedder
from tests.pipeline.conftest import caught_up, standing, vectors
from tests.pipeline.test_worker import note, until

# Sentences of the length of a passage.
_LONG = "A long report goes on about one thing and then another, page after page. " * 3


def report(pages: int) -> str:
    """A text of so many passages."""
    return "\n\n".join(f"Passage {i}. {_LONG}" for i in range(pages))


async def imported(database: db.Database, caller: callers.Caller, text: str) -> UUID:
    async with database.transaction(caller) as tx:
        body = {"title": "Report", "content": text}
        made = await base.create(tx, caller, notes.NOTES, body, source="import:files")
    return made.id


def a_few_at_once(server: embedder.Server, batch: int = 4) -> embedding.Embeddings:
    return embedding.Embeddings(server.settings.model_copy(update={"batch": batch}))


async def waiting(database: db.Database, caller: callers.Caller) -> int:
    async with database.transaction(caller) as tx:
        return int(await tx.value("SELECT count(*) FROM unembedded"))


async def complete(database: db.Database, caller: callers.Caller) -> None:
    async def none_lacks() -> bool:
        return (await vectors(database, caller))[1] == 0

    await until(none_lacks, "every vector")


async def test_a_note_goes_before_a_long_text_that_came_first(
    database: db.Database, owner: callers.Caller, server: embedder.Server
) -> None:
    await imported(database, owner, report(100))
    written = threading.Event()

    def answer(texts: list[str]) -> tuple[int, bytes]:
        if len(server.texts) >= 20:
            written.wait(30)
        return embedder.well(texts)

    server.answer = answer
    embeddings = a_few_at_once(server)
    async with worker.Worker(database, embeddings).running():
        await until(lambda: asyncio.sleep(0, len(server.texts) >= 20), "a beginning")
        # The slot is not behind though most of the text waits: nothing holds it up.
        async with database.transaction(owner) as tx:
            at = await slots.cursor(tx, owner, "embedding")
        assert at.seq > 0
        assert (await standing(database, owner, "embedding")).behind == 1
        await note(database, owner, "just written")
        written.set()
        await caught_up(database, owner)
    assert await vectors(database, owner) == (101, 0)
    assert server.texts.index("just written") < 60
    assert await waiting(database, owner) == 0
    embeddings.close()


async def test_what_was_written_last_comes_first_then_what_was_brought_in(
    database: db.Database, owner: callers.Caller, server: embedder.Server
) -> None:
    await note(database, owner, "first")
    await imported(database, owner, report(6))
    await note(database, owner, report(40), "Much")
    await note(database, owner, "second")
    embeddings = a_few_at_once(server, 1)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    assert server.texts[:2] == ["second", "first"]
    said = [text.partition("\n")[0] for text in server.texts[2:]]
    assert said == ["Much"] * 40 + ["Report"] * 6
    embeddings.close()


async def test_the_backlog_goes_by_heat_then_from_the_newest(
    database: db.Database, owner: callers.Caller, server: embedder.Server
) -> None:
    """What no change tells of: all was followed while there was no model."""
    diary = catalogue.domain("diary")
    made: dict[int, UUID] = {}
    for day in (2, 4, 1, 5, 3):
        async with database.transaction(owner) as tx:
            body = {"date": f"2026-03-0{day}", "content": f"day {day}"}
            made[day] = (await base.create(tx, owner, diary, body)).id
    none = embedding.Embeddings(config.Embedding(provider="none"))
    async with worker.Worker(database, none).running():
        await caught_up(database, owner)
    none.close()
    async with database.transaction(owner) as tx:
        for day, accesses in ((2, 7.0), (1, 5.0)):
            await tx.run(
                "UPDATE heat SET accesses = %s, heat = %s WHERE record_id = %s",
                (accesses, accesses / 10, made[day]),
            )
    embeddings = a_few_at_once(server, 1)
    async with worker.Worker(database, embeddings).running():
        await complete(database, owner)
    assert [text[-1] for text in server.texts] == list("21543")
    embeddings.close()


async def test_texts_of_like_length_travel_together(
    database: db.Database, owner: callers.Caller, server: embedder.Server
) -> None:
    for i in range(24):
        await note(database, owner, f"short {i}")
        await note(database, owner, f"{_LONG[:210]} {i}")
    calls: list[Sequence[int]] = []

    def answer(texts: list[str]) -> tuple[int, bytes]:
        calls.append([len(text) for text in texts])
        return embedder.well(texts)

    server.answer = answer
    embeddings = a_few_at_once(server, 8)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    ours = [sizes for sizes in calls if max(sizes) < 12 or max(sizes) > 200]
    assert sum(map(len, ours)) >= 48
    mixed = [sizes for sizes in ours if max(sizes) > 3 * min(sizes)]
    assert len(mixed) <= 1
    embeddings.close()


async def test_a_refused_passage_costs_its_record_nothing_else(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
) -> None:
    """Several of one record count as one try."""
    server.answer = lambda texts: (
        (400, b"") if any("POISON" in text for text in texts) else embedder.well(texts)
    )
    parts = [f"{i} {'POISON' if i % 2 else 'harmless'} {_LONG}" for i in range(8)]
    await note(database, owner, "\n\n".join(parts))
    async with worker.Worker(database, embeddings).running():

        async def refused() -> bool:
            return (
                await waiting(database, owner) == 0
                and (await standing(database, owner, "embedding")).letters != []
            )

        await until(refused, "they are put aside")
        async with database.transaction(owner) as tx:
            (letter,) = await dead_letters.of_slot(tx, owner, "embedding")
        assert letter.attempts < dead_letters.TRIES
        assert await vectors(database, owner) == (4, 4)
        server.answer = embedder.well
        await caught_up(database, owner)
    assert await vectors(database, owner) == (8, 0)


async def test_texts_that_are_gone_leave_the_queue(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_LONGEST_PAUSE_S", 0.2)
    server.answer = lambda _: (503, b"")
    embeddings = a_few_at_once(server)
    gone = await note(database, owner, "gone soon")
    await note(database, owner, "stays")
    async with worker.Worker(database, embeddings).running():

        async def troubled() -> bool:
            return bool((await standing(database, owner, "embedding")).trouble)

        await until(troubled, "the trouble is named")
        assert await waiting(database, owner) == 2
        async with database.transaction(owner) as tx:
            await base.delete(tx, owner, notes.NOTES, gone)
        server.answer = embedder.well
        await caught_up(database, owner)
    assert server.texts == ["stays"]
    assert await waiting(database, owner) == 0
    embeddings.close()


async def test_one_users_backlog_is_not_in_the_way_of_another(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    server: embedder.Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_TURN_S", 0.0)
    for caller in (owner, other):
        await imported(database, caller, f"{caller.name}\n\n{report(60)}")
    embeddings = a_few_at_once(server)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner, other)
    # Equal texts of two users: each is asked for once more when half is done.
    seen: set[str] = set()
    again = [text in seen or seen.add(text) is not None for text in server.texts]
    assert 0 < again.index(True) < 20
    embeddings.close()


async def test_what_a_rebuild_makes_anew_is_queued_though_the_slot_was_ahead(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    cluster: embedded.EmbeddedServer,
    fresh: str,
) -> None:
    await note(database, owner, "kept as it is")
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
        url = cluster.place.url(embedded.OWNER_ROLE, database=fresh)

        def follow_at_once(done: int) -> None:
            with psycopg.connect(url, autocommit=True) as chief:
                chief.execute("UPDATE slot SET xid = 2::bigint ^ 60")

        await rebuild.rebuild(database, owner, progress=follow_at_once)
        await complete(database, owner)


async def test_the_time_left_follows_from_the_pace_of_the_last_minutes(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
) -> None:
    server.answer = lambda _: (503, b"")
    model = embeddings.model
    async with database.transaction(owner) as tx:
        assert await progress.seconds_left(tx, owner, model) is None
    await note(database, owner, "x" * 250)
    async with worker.Worker(database, embeddings).running():
        await until(lambda: _queued(database, owner), "it waits")
    async with database.transaction(owner) as tx:
        # Nothing is known of the model's pace yet.
        assert await progress.seconds_left(tx, owner, model) is None
        letters = await embed_queue.letters(tx, owner)
        assert letters == pytest.approx(250, rel=1.1)
        pace = models.Pace(letters * 2, 80)
        await models.count(tx, owner, model, 0, pace=pace)
        assert await progress.seconds_left(tx, owner, model) == 40
        # An hour at half that pace, and the old pace is forgotten.
        for _ in range(45):
            pace = models.Pace(letters, 80)
            await models.count(tx, owner, model, 0, pace=pace)
        left = await progress.seconds_left(tx, owner, model)
        assert left == pytest.approx(80, abs=1)
    found = await checkup.examine(database, embeddings, owner)
    told = next(one for one in found if one.about == "vectors")
    assert told.remedy == "`reverie up` makes the rest in about 80 s of work."
    server.answer = embedder.well
    states = [state async for state in progress.follow(database, embeddings, owner)]
    assert states[-1] == progress.Progress(1, 1, "")


async def _queued(database: db.Database, caller: callers.Caller) -> bool:
    return await waiting(database, caller) > 0


async def test_old_changes_are_backlog(
    database: db.Database, owner: callers.Caller
) -> None:
    made = await note(database, owner, "of long ago")
    async with database.transaction(owner) as tx:
        await tx.run("UPDATE change SET at = at - %s", (timedelta(hours=2),))
        batch = await changes.recent(tx, owner, limit=1)
        assert batch[0].record_id == made
        await embed_queue.add(tx, owner, "m", batch)
        (one,) = await embed_queue.following(tx, owner, most=lambda _: 4)
    assert one.level == embed_queue.Urgency.BACKLOG


async def test_the_built_in_model_gets_many_short_texts_or_few_long_ones(
    database: db.Database, owner: callers.Caller
) -> None:
    """As many as it reads in half a second, the text whose turn it is among them."""
    for i in range(70):
        await note(database, owner, f"{i} {_LONG}")
    await note(database, owner, "short and written last")
    async with database.transaction(owner) as tx:
        await embed_queue.add(
            tx, owner, "m", await changes.recent(tx, owner, limit=100)
        )
        embeddings = embedding.Embeddings(config.Embedding())
        batch = await embed_queue.following(tx, owner, most=embeddings.at_once)
        assert min(one.length for one in batch) == len("short and written last")
        assert 30 < len(batch) < 60
        assert sum(one.length for one in batch) <= 12_500
        await embed_queue.remove(tx, owner, [one.hash for one in batch])
        rest = await embed_queue.following(tx, owner, most=embeddings.at_once)
    assert len(batch) + len(rest) == 71
    embeddings.close()
