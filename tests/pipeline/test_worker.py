"""The worker: every change is followed once by every slot, and no illness of one is
felt by another or by a write.
"""

import asyncio
import contextlib
import json
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID

import psycopg
import pytest

from reverie import config, db, embedded, errors
from reverie.access import callers, users
from reverie.llm import embedding
from reverie.pipeline import dead_letters, heat, rebuild, slots, vector_store, worker
from reverie.records import base, catalogue, notes
from tests.pipeline import embedder
from tests.pipeline.conftest import accesses, caught_up, standing, vectors
from tests.records import bodies


async def note(
    database: db.Database, caller: callers.Caller, text: str, title: str = ""
) -> UUID:
    async with database.transaction(caller) as tx:
        return (
            await base.create(
                tx, caller, notes.NOTES, {"content": text, "title": title or None}
            )
        ).id


async def until(
    condition: Callable[[], Awaitable[bool]], what: str, seconds: float = 45
) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.02)


async def test_every_domain_is_followed(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
) -> None:
    made: dict[UUID, str] = {}
    async with worker.Worker(database, embeddings).running():
        for name, domain in catalogue.DOMAINS.items():
            for body in bodies.BODIES[name]:
                async with database.transaction(owner) as tx:
                    made[(await base.create(tx, owner, domain, body)).id] = name
        await caught_up(database, owner)
        assert await accesses(database, owner) == dict.fromkeys(made, 1.0)
        there, lacking = await vectors(database, owner)
        assert lacking == 0
        assert there == len(set(server.texts)) == len(server.texts) >= len(made)


async def test_life_of_a_vector(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
) -> None:
    async with worker.Worker(database, embeddings).running():
        first = await note(database, owner, "the cat sleeps", "Cat")
        await caught_up(database, owner)
        assert (server.texts, await vectors(database, owner)) == (
            ["Cat\nthe cat sleeps"],
            (1, 0),
        )

        async with database.transaction(owner) as tx:
            await base.update(
                tx, owner, notes.NOTES, first, {"pinned": True, "tags": ["pet"]}
            )
        second = await note(database, owner, "the cat sleeps", "Cat")
        await caught_up(database, owner)
        # Neither a change beside the text nor the same text again asks the model.
        assert (len(server.texts), await vectors(database, owner)) == (1, (1, 0))
        assert await accesses(database, owner) == {first: 2.0, second: 1.0}

        async with database.transaction(owner) as tx:
            await base.update(
                tx, owner, notes.NOTES, first, {"content": "the cat purrs"}
            )
        await caught_up(database, owner)
        assert server.texts[1:] == ["Cat\nthe cat purrs"]
        assert await vectors(database, owner) == (2, 0)

        async with database.transaction(owner) as tx:
            await base.delete(tx, owner, notes.NOTES, first)
        await caught_up(database, owner)
        # The deleted text's vector is gone; that of the text which a second record
        # still holds is not.
        assert await vectors(database, owner) == (1, 0)
        assert await accesses(database, owner) == {first: 3.0, second: 1.0}

        async with database.transaction(owner) as tx:
            await base.restore(tx, owner, notes.NOTES, first)
        await caught_up(database, owner)
        assert await vectors(database, owner) == (2, 0)
        assert server.texts[2:] == ["Cat\nthe cat purrs"]
        assert (await accesses(database, owner))[first] == 4.0


async def test_imports_start_colder_and_agents_do_not(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    agent = callers.Caller(owner.user_id, "agent", "main", frozenset({"*:*"}))
    async with worker.Worker(database, embeddings).running():
        made: list[UUID] = []
        for caller, source in (
            (owner, "local"),
            (agent, "local"),
            (owner, "import"),
            (agent, "sync:imap"),
        ):
            async with database.transaction(caller) as tx:
                body = {"content": f"{caller.name} {source}"}
                made.append(
                    (await base.create(tx, caller, notes.NOTES, body, source=source)).id
                )
        await caught_up(database, owner)
    found = await accesses(database, owner)
    assert [found[one] for one in made] == [1.0, 1.0, 0.25, 0.25]
    async with database.transaction(owner) as tx:
        rows = {
            row["record_id"]: row["source"]
            for row in await tx.rows("SELECT record_id, source FROM heat")
        }
    assert [rows[one] for one in made] == ["user", "agent", "import", "sync"]


async def test_ingestion_stands_idle_without_a_model(
    database: db.Database, owner: callers.Caller
) -> None:
    assert [one.name for one in worker.SLOTS] == [
        "embedding",
        "index",
        "heat",
        "rule_extraction",
        "model_extraction",
    ]
    idle = await standing(database, owner, "model_extraction")
    assert (idle.trouble, idle.letters, idle.waits_for) == (
        None,
        [],
        "a language model",
    )


async def test_a_new_slot_starts_at_the_beginning(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    embeddings: embedding.Embeddings,
) -> None:
    made = [await note(database, owner, f"note {i}") for i in range(150)]
    theirs = await note(database, other, "theirs")
    seen: list[UUID] = []

    async def follow(tx: db.Transaction, user: users.Reference, batch: object) -> None:
        assert isinstance(batch, list)
        seen.extend(one.record_id for one in batch)

    newcomer = slots.Slot("newcomer", within=follow)
    async with worker.Worker(database, embeddings, followers=(newcomer,)).running():
        await until(lambda: asyncio.sleep(0, len(seen) >= 151), "all are followed")
    assert sorted(seen) == sorted([*made, theirs])
    assert [one for one in seen if one != theirs] == made


def _nonsense(texts: list[str]) -> tuple[int, bytes]:
    return 200, b'{"data": [{"vector": "here"'


def _one_less(texts: list[str]) -> tuple[int, bytes]:
    return embedder.well(texts[1:])


def _not_a_number(texts: list[str]) -> tuple[int, bytes]:
    return 200, json.dumps(
        {"data": [{"embedding": [float("nan")] * embedder.LENGTH} for _ in texts]}
    ).encode()


def _other_length(texts: list[str]) -> tuple[int, bytes]:
    return 200, json.dumps(
        {"data": [{"embedding": [1.0, 2.0, 3.0]} for _ in texts]}
    ).encode()


ILLNESSES: dict[str, embedder.Answer | None] = {
    "500": lambda _: (500, b"down"),
    "closed port": None,
    "nonsense": _nonsense,
    "a list": lambda _: (200, b"[1, 2]"),
    "not HTTP": lambda _: (0, b"\x16\x03\x01 no\r\n\r\n"),
    "one vector less": _one_less,
    "not a number": _not_a_number,
    "vectors of another length": _other_length,
    "too many requests": lambda _: (429, b"slow down"),
    "wrong key": lambda _: (401, b"who are you"),
}


async def latency(database: db.Database, caller: callers.Caller, label: str) -> float:
    """The median of twenty writes, in seconds."""
    times: list[float] = []
    for i in range(20):
        started = time.perf_counter()
        await note(database, caller, f"{label} {i}: a few words about nothing much")
        times.append(time.perf_counter() - started)
    return statistics.median(times)


@pytest.mark.parametrize("illness", ILLNESSES)
async def test_a_broken_embedder_delays_nothing(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
    illness: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_LONGEST_PAUSE_S", 0.5)
    async with worker.Worker(database, embeddings).running():
        well = await latency(database, owner, "well")
        await caught_up(database, owner)
        answer = ILLNESSES[illness]
        if answer is None:
            server.close()
        else:
            server.answer = answer
        rounds = 1
        while (
            ill := await latency(database, owner, f"ill {rounds}")
        ) > 2 * well + 0.005 and rounds < 3:
            rounds += 1  # a neighbour on this machine may have had the processor
        assert ill <= 2 * well + 0.005
        await caught_up(database, owner, slots=("heat",))
        assert sum((await accesses(database, owner)).values()) == 20 + 20 * rounds

        async def named() -> bool:
            return (await standing(database, owner, "embedding")).trouble is not None

        await until(named, "the trouble is named")
        stuck = await standing(database, owner, "embedding")
        assert stuck.behind == 20 * rounds
        assert stuck.letters == []
        assert stuck.trouble
        assert stuck.trouble.endswith(".")
        assert await vectors(database, owner) == (20, 20 * rounds)
        server.answer = embedder.well
        if answer is None:
            server.open()
        await caught_up(database, owner)
        assert await vectors(database, owner) == (20 + 20 * rounds, 0)


async def test_without_an_embedder_nothing_waits_and_a_later_one_makes_up_for_it(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    none = embedding.Embeddings(config.Embedding(provider="none"))
    async with worker.Worker(database, none).running():
        await note(database, owner, "x")
        await caught_up(database, owner)
        assert (await standing(database, owner, "embedding")).trouble is None
        assert await vectors(database, owner) == (0, 1)
    none.close()
    async with worker.Worker(database, embeddings).running():

        async def complete() -> bool:
            return await vectors(database, owner) == (1, 0)

        await until(complete, "the vectors that no change tells of")


async def test_a_log_from_another_server_is_followed(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    """A restored dump holds transaction numbers far ahead of this server's own."""
    made = await note(database, owner, "followed on the old server")
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    unfollowed = await note(database, owner, "not followed yet")
    async with database.transaction(owner) as tx:
        await tx.run("UPDATE change SET xid = xid + 10::bigint ^ 12")
        await tx.run("UPDATE slot SET xid = xid + 10::bigint ^ 12 WHERE xid > 0")
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
        later = await note(database, owner, "from this server")
        await caught_up(database, owner)
    assert await accesses(database, owner) == {made: 1.0, unfollowed: 1.0, later: 1.0}


async def test_a_poisonous_record_is_put_aside(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
) -> None:
    def answer(texts: list[str]) -> tuple[int, bytes]:
        return (
            (400, b"bad input")
            if any("POISON" in text for text in texts)
            else embedder.well(texts)
        )

    server.answer = answer
    good = [await note(database, owner, f"before {i}") for i in range(5)]
    bad = await note(database, owner, "POISON")
    good += [await note(database, owner, f"after {i}") for i in range(5)]
    async with worker.Worker(database, embeddings).running():

        async def parked() -> bool:
            # The pauses between the tries are cut short: they are 15 seconds in all.
            async with database.transaction(owner) as tx:
                await tx.run("UPDATE dead_letter SET retry_at = now() WHERE NOT dead")
                letters = await dead_letters.of_slot(tx, owner, "embedding")
            return bool(letters and letters[0].dead)

        await until(parked, "it is given up")
        at = await standing(database, owner, "embedding")
        assert (at.behind, at.trouble) == (0, None)
        letter = at.letters[0]
        assert (letter.record_id, letter.attempts, letter.dead) == (
            bad,
            dead_letters.TRIES,
            True,
        )
        assert "400" in letter.reason
        assert await vectors(database, owner) == (10, 1)
        assert await accesses(database, owner) == dict.fromkeys([*good, bad], 1.0)
        calls = server.calls
        late = await note(database, owner, "late")
        await until(lambda: _has(database, owner, late), "others proceed")
        assert server.calls == calls + 1
    server.answer = embedder.well
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    assert await vectors(database, owner) == (12, 0)
    assert await accesses(database, owner) == dict.fromkeys([*good, bad, late], 1.0)


async def _has(database: db.Database, caller: callers.Caller, record_id: UUID) -> bool:
    async with database.transaction(caller) as tx:
        return bool(
            await tx.value(
                "SELECT count(*) FROM passage JOIN embedding USING (hash) WHERE record_id = %s",
                (record_id,),
            )
        )


async def test_a_poisonous_record_that_is_deleted_or_mended(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
) -> None:
    server.answer = lambda texts: (
        (422, b"") if any("POISON" in text for text in texts) else embedder.well(texts)
    )
    gone, mended = (
        await note(database, owner, "POISON 1"),
        await note(database, owner, "POISON 2"),
    )
    async with worker.Worker(database, embeddings).running():

        async def aside() -> bool:
            return len((await standing(database, owner, "embedding")).letters) == 2

        await until(aside, "both are put aside")
        async with database.transaction(owner) as tx:
            await base.delete(tx, owner, notes.NOTES, gone)
            await base.update(tx, owner, notes.NOTES, mended, {"content": "harmless"})
        await caught_up(database, owner)
    assert await vectors(database, owner) == (1, 0)


@contextlib.asynccontextmanager
async def workers(
    database: db.Database, embeddings: embedding.Embeddings, count: int
) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(
                worker.Worker(database, embeddings).running()
            )
        yield


async def test_two_workers_do_nothing_twice(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
    cluster: embedded.EmbeddedServer,
    fresh: str,
) -> None:
    """Not even when the leader's lock is lost while it goes on: the cursor moves only
    from where it was read.
    """
    made: list[UUID] = []
    async with workers(database, embeddings, 2):
        for i in range(60):
            made.append(await note(database, owner, f"note {i}"))
            if i % 15 == 7:
                with psycopg.connect(
                    cluster.place.url(embedded.OWNER_ROLE, database=fresh),
                    autocommit=True,
                ) as chief:
                    chief.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
                    )
        await caught_up(database, owner)
    assert await accesses(database, owner) == dict.fromkeys(made, 1.0)
    assert await vectors(database, owner) == (60, 0)
    assert sorted(set(server.texts)) == sorted(f"note {i}" for i in range(60))


async def test_followers_side_by_side_move_the_cursor_once(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    made = [await note(database, owner, f"note {i}") for i in range(100)]
    work = slots.Work(database, embeddings, users.Reference(owner.user_id))
    await asyncio.gather(*(worker._step(heat.HEAT, work) for _ in range(8)))
    while await worker._step(heat.HEAT, work):
        pass
    assert await accesses(database, owner) == dict.fromkeys(made, 1.0)


async def test_a_reset_is_not_undone_by_a_follower_under_way(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    server: embedder.Server,
) -> None:
    await note(database, owner, "x")

    async def reset_meanwhile(work: slots.Work, batch: object) -> None:
        async with database.transaction(owner) as tx:
            await slots.trouble(tx, owner, "probe", "so that there is a row")
            await tx.run("UPDATE slot SET xid = 0, seq = 0 WHERE name = 'probe'")
            if not steps:
                await tx.run("UPDATE slot SET seq = -1 WHERE name = 'probe'")
        steps.append(1)

    steps: list[int] = []
    probe = slots.Slot("probe", before=reset_meanwhile)
    work = slots.Work(database, embeddings, users.Reference(owner.user_id))
    assert await worker._step(probe, work)
    async with database.transaction(owner) as tx:
        assert (await slots.cursor(tx, owner, "probe")).seq == -1


async def test_a_slot_that_stumbles_in_its_transaction_goes_on(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_POLL_S", 0.05)
    stumbles = iter(range(3))

    async def within(tx: db.Transaction, user: users.Reference, batch: object) -> None:
        await heat.warm(tx, user, batch)  # pyright: ignore[reportArgumentType]
        if next(stumbles, None) is not None:
            raise ZeroDivisionError

    made = await note(database, owner, "x")
    async with worker.Worker(
        database, embeddings, followers=(slots.Slot("heat", within=within),)
    ).running():
        await caught_up(database, owner, slots=("heat",))
    assert await accesses(database, owner) == {made: 1.0}


async def test_rebuilding_gives_the_same(
    database: db.Database,
    owner: callers.Caller,
    server: embedder.Server,
    embeddings: embedding.Embeddings,
) -> None:
    async def derived() -> list[list[tuple[object, ...]]]:
        async with database.transaction(owner) as tx:
            statements = (
                "SELECT record_id, title, at, tags FROM card ORDER BY record_id",
                "SELECT record_id, ordinal, place::text, text, hash, length, terms FROM passage ORDER BY 1, 2",
                "SELECT model, hash, vector::text FROM embedding ORDER BY hash",
                "SELECT record_id, accesses FROM heat ORDER BY record_id",
            )
            return [
                [tuple(row.values()) for row in await tx.rows(one)]
                for one in statements
            ]

    async with worker.Worker(database, embeddings).running():
        for name, domain in catalogue.DOMAINS.items():
            for body in bodies.BODIES[name]:
                async with database.transaction(owner) as tx:
                    await base.create(tx, owner, domain, body)
        gone = await note(database, owner, "deleted")
        await caught_up(database, owner)
        async with database.transaction(owner) as tx:
            await base.delete(tx, owner, notes.NOTES, gone)
        await caught_up(database, owner)
        before = await derived()
        told: list[int] = []
        count = await rebuild.rebuild(database, owner, progress=told.append)
        await caught_up(database, owner)
        assert await derived() == before
    assert count == told[-1] == sum(map(len, bodies.BODIES.values()))
    assert len(server.texts) == 2 * len(set(server.texts)) - 1


async def test_coverage(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    await note(database, owner, "one")
    await note(database, owner, "two")
    async with database.transaction(owner) as tx:
        assert await vector_store.coverage(
            tx, owner, embeddings.model
        ) == vector_store.Coverage(2, 0)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    async with database.transaction(owner) as tx:
        assert await vector_store.coverage(
            tx, owner, embeddings.model
        ) == vector_store.Coverage(2, 2)
        assert await vector_store.coverage(
            tx, owner, "another"
        ) == vector_store.Coverage(2, 0)


async def test_a_refused_question_is_a_model_that_is_away(
    server: embedder.Server, embeddings: embedding.Embeddings
) -> None:
    server.answer = lambda _: (400, b"too long")
    with pytest.raises(errors.EmbedderUnavailable, match="400"):
        await embeddings.query("what was it")


async def test_rebuilding_while_somebody_writes(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    """What is created, changed, deleted or restored meanwhile is in search as it is
    now, and once.
    """
    made = [await note(database, owner, f"note {i} about nothing") for i in range(40)]
    dice = random.Random(3)
    stop = asyncio.Event()

    async def write() -> None:
        while not stop.is_set():
            one = dice.choice(made)
            try:
                async with database.transaction(owner) as tx:
                    match dice.randrange(4):
                        case 0:
                            made.append(
                                (
                                    await base.create(
                                        tx,
                                        owner,
                                        notes.NOTES,
                                        {"content": f"{one} new"},
                                    )
                                ).id
                            )
                        case 1:
                            await base.update(
                                tx,
                                owner,
                                notes.NOTES,
                                one,
                                {"content": f"changed {dice.random()}"},
                            )
                        case 2:
                            await base.delete(tx, owner, notes.NOTES, one)
                        case _:
                            await base.restore(tx, owner, notes.NOTES, one)
            except errors.NotFound:
                continue

    writers = [asyncio.create_task(write()) for _ in range(3)]
    for _ in range(5):
        await rebuild.rebuild(database, owner, progress=lambda _: None)
    stop.set()
    await asyncio.gather(*writers)
    async with database.transaction(owner) as tx:
        live = {
            one.id: one.content
            for one in (await base.find(tx, owner, notes.NOTES, limit=10_000)).items
        }
        said = [
            (row["record_id"], row["text"])
            for row in await tx.rows("SELECT record_id, text FROM passage")
        ]
        cards = [
            row["record_id"] for row in await tx.rows("SELECT record_id FROM card")
        ]
        stray = "SELECT count(*) FROM fresh WHERE NOT EXISTS (SELECT FROM passage WHERE id = passage_id)"
        assert await tx.value(stray) == 0
    assert sorted(said) == sorted(live.items())
    assert sorted(cards) == sorted(live)


async def test_rebuilding_mends_what_should_not_be(
    database: db.Database, owner: callers.Caller, embeddings: embedding.Embeddings
) -> None:
    """Passages that are lost, doubled or of a dead record, and terms made by other
    rules.
    """
    kept, lost, dead = [
        await note(database, owner, f"note {i} about nothing") for i in range(3)
    ]
    async with database.transaction(owner) as tx:
        await tx.run("DELETE FROM passage WHERE record_id = %s", (lost,))
        await tx.run("DELETE FROM card WHERE record_id = %s", (lost,))
        await tx.run("UPDATE note SET deleted_at = now() WHERE id = %s", (dead,))
        await tx.run("UPDATE passage SET terms = '\\x'")
        await tx.run(
            "INSERT INTO passage (user_id, record_id, ordinal, place, text, hash, length)"
            " SELECT user_id, record_id, 9, place, 'twice', hash, length FROM passage WHERE record_id = %s",
            (kept,),
        )
    assert await rebuild.rebuild(database, owner, progress=lambda _: None) == 2
    async with database.transaction(owner) as tx:
        rows = await tx.rows("SELECT record_id, ordinal, text FROM passage")
        assert {(row["record_id"], row["ordinal"], row["text"]) for row in rows} == {
            (kept, 1, "note 0 about nothing"),
            (lost, 1, "note 1 about nothing"),
        }
        assert {
            row["record_id"] for row in await tx.rows("SELECT record_id FROM card")
        } == {kept, lost}
        assert await tx.value("SELECT count(*) FROM passage WHERE terms = '\\x'") == 0
        assert await tx.value("SELECT count(*) FROM fresh") == 2
