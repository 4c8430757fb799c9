"""Two people with the same names and texts on one database: whatever either does,
nothing of the other shows.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID, uuid4

import pytest

from reverie import config, db, errors
from reverie.access import callers, tokens, users
from reverie.llm import embedding
from reverie.pipeline import vector_store, worker
from reverie.records import base, bulk, catalogue, changes, events, notes, record_types
from reverie.search import query, search
from tests.pipeline import embedder
from tests.pipeline.conftest import caught_up
from tests.records import bodies

CANARIES = {"owner": "zanzibarowl", "other": "timbuktufox"}


@dataclass
class Person:
    """One of the two, and what a model of their memory holds: id -> (domain, deleted)."""

    caller: callers.Caller
    canary: str
    records: dict[UUID, tuple[str, bool]] = field(
        default_factory=dict[UUID, tuple[str, bool]]
    )
    log: int = 0

    def some(self, dice: random.Random) -> UUID:
        return dice.choice([*self.records, uuid4()]) if self.records else uuid4()


class Walk:
    """A walk of random steps; every answer is searched for the other's canary and ids."""

    def __init__(
        self,
        database: db.Database,
        embeddings: embedding.Embeddings,
        people: list[Person],
        seed: int,
    ) -> None:
        self.database, self.embeddings, self.people = database, embeddings, people
        self.dice = random.Random(seed)
        self.steps: list[Callable[[Person, Person], Any]] = [
            self.create, self.create, self.update, self.delete, self.restore, self.get, self.foreign, self.listed,
            self.since, self.recent, self.searched, self.counts, self.agenda, self.coverage, self.slots, self.token,
        ]  # fmt: skip

    async def walk(self, count: int) -> None:
        for _ in range(count):
            me, them = self.dice.sample(self.people, 2)
            step = self.dice.choice(self.steps)
            try:
                answer = await step(me, them)
            except errors.ReverieError as refused:
                answer = (refused.message, refused.hint, refused.details)
            said = repr(answer)
            assert them.canary not in said, (step.__name__, said)
            assert str(them.caller.user_id) not in said, (step.__name__, said)
            for one in them.records:
                assert str(one) not in said, (step.__name__, said)

    def body(self, me: Person, name: str) -> dict[str, Any]:
        body = dict(self.dice.choice(bodies.BODIES[name])) | {
            "custom": {"mark": me.canary}
        }
        column = bodies.TEXT[name]
        body[column] = f"{body.get(column) or 'shared words'} {me.canary}"
        if name == "diary":
            body["date"] = (
                f"2026-{self.dice.randint(1, 12):02d}-{self.dice.randint(1, 28):02d}"
            )
        return body

    async def create(self, me: Person, them: Person) -> Any:
        name = self.dice.choice(list(catalogue.DOMAINS))
        async with self.database.transaction(me.caller) as tx:
            made = await base.create(
                tx, me.caller, catalogue.domain(name), self.body(me, name)
            )
        me.records[made.id] = (name, False)
        me.log += 1
        return record_types.as_json(catalogue.domain(name), made)

    async def update(self, me: Person, them: Person) -> Any:
        one = me.some(self.dice)
        name, deleted = me.records.get(one, ("note", True))
        async with self.database.transaction(me.caller) as tx:
            before = await changes.recent(tx, me.caller, limit=1)
            made = await base.update(
                tx,
                me.caller,
                catalogue.domain(name),
                one,
                {"custom": {"n": self.dice.random()}},
            )
            assert not deleted
            assert (await changes.recent(tx, me.caller, limit=1)) != before
        me.log += 1
        return made

    async def delete(self, me: Person, them: Person) -> Any:
        one = me.some(self.dice)
        name, _ = me.records.get(one, ("note", True))
        async with self.database.transaction(me.caller) as tx:
            made = await base.delete(tx, me.caller, catalogue.domain(name), one)
        me.records[one] = (name, True)
        me.log += 1
        return made

    async def restore(self, me: Person, them: Person) -> Any:
        one = me.some(self.dice)
        name, deleted = me.records.get(one, ("note", True))
        async with self.database.transaction(me.caller) as tx:
            made = await base.restore(tx, me.caller, catalogue.domain(name), one)
        me.records[one] = (name, False)
        me.log += deleted
        return made

    async def get(self, me: Person, them: Person) -> Any:
        one = me.some(self.dice)
        name, deleted = me.records.get(one, ("note", True))
        async with self.database.transaction(me.caller) as tx:
            found = await base.read(tx, me.caller, catalogue.domain(name), one)
        assert not deleted
        return found

    async def foreign(self, me: Person, them: Person) -> Any:
        """A foreign id and an unknown id: the same words, whatever is tried."""
        if not them.records:
            return None
        theirs = self.dice.choice(list(them.records))
        domain = catalogue.domain(them.records[theirs][0])
        told: list[list[tuple[str, str, str]]] = []
        for one in (theirs, uuid4()):
            answers: list[tuple[str, str, str]] = []
            for attempt in (
                lambda tx, one=one: base.get(tx, me.caller, domain, one),
                lambda tx, one=one: base.get(tx, me.caller, domain, one, deleted=True),
                lambda tx, one=one: base.read(tx, me.caller, domain, one),
                lambda tx, one=one: base.update(
                    tx, me.caller, domain, one, {"custom": {"x": 1}}
                ),
                lambda tx, one=one: base.delete(tx, me.caller, domain, one),
                lambda tx, one=one: base.restore(tx, me.caller, domain, one),
                lambda tx, one=one: base.create(
                    tx,
                    me.caller,
                    catalogue.domain("feed_item"),
                    {"content": "x", "feed_id": str(one)},
                ),
            ):
                try:
                    async with self.database.transaction(me.caller) as tx:
                        answers.append(("kept", str(await attempt(tx)), ""))
                except errors.ReverieError as refused:
                    answers.append(
                        (type(refused).__name__, refused.message, refused.hint)
                    )
            async with self.database.transaction(me.caller) as tx:
                assert await bulk.fetch(tx, me.caller, domain, [one]) == {}
            told.append(answers)
        assert told[0] == told[1]
        assert [one[0] for one in told[0]] == ["NotFound"] * 6 + ["Invalid"]
        return told

    async def listed(self, me: Person, them: Person) -> Any:
        name = self.dice.choice(list(catalogue.DOMAINS))
        deleted = self.dice.random() < 0.3
        async with self.database.transaction(me.caller) as tx:
            page = await base.find(
                tx, me.caller, catalogue.domain(name), deleted=deleted, limit=5
            )
        assert page.total == sum(one == (name, deleted) for one in me.records.values())
        return page

    async def since(self, me: Person, them: Person) -> Any:
        async with self.database.transaction(me.caller) as tx:
            moment = await tx.value("SELECT now() - interval '1 hour'")
            found = await changes.since(tx, me.caller, moment=moment)
        named = {
            one.record_id for one in (*found.created, *found.updated, *found.deleted)
        }
        assert named == set(me.records)
        assert {one.record_id for one in found.deleted} == {
            one for one, (_, gone) in me.records.items() if gone
        }
        return found

    async def recent(self, me: Person, them: Person) -> Any:
        async with self.database.transaction(me.caller) as tx:
            found = await changes.recent(tx, me.caller, limit=10_000)
        assert len(found) == me.log
        return found

    async def searched(self, me: Person, them: Person) -> Any:
        """For shared words, for one's own canary, and for the other's: of the last
        there is nothing to find.
        """
        answers: list[Any] = []
        for text in (
            "shared words factura",
            me.canary,
            them.canary,
            f"{them.canary} Standup",
        ):
            results = await search.search(
                self.database,
                me.caller,
                self.embeddings,
                query.Query(text=text, limit=50),
            )
            hits = [
                (hit.record_id, hit.title, hit.line, [one.text for one in hit.passages])
                for hit in results.hits
            ]
            assert {one[0] for one in hits} <= {
                one for one, (_, gone) in me.records.items() if not gone
            }
            answers.append(
                (hits, results.reason, results.hidden_cold, dict(results.signals))
            )
        return answers

    async def counts(self, me: Person, them: Person) -> Any:
        live = sum(not gone for _, gone in me.records.values())
        async with self.database.transaction(me.caller) as tx:
            assert await tx.value("SELECT count(*) FROM card") == live
            assert (
                await tx.value("SELECT count(DISTINCT record_id) FROM passage") == live
            )
            assert await tx.value("SELECT count(*) FROM users") == 1
            stray = "SELECT count(*) FROM fresh WHERE passage_id NOT IN (SELECT id FROM passage)"
            assert await tx.value(stray) == 0
            return await tx.rows("SELECT text FROM passage")

    async def agenda(self, me: Person, them: Person) -> Any:
        first, last = date(2026, 1, 1), date(2026, 12, 1)
        async with self.database.transaction(me.caller) as tx:
            return await events.agenda(tx, me.caller, first=first, last=last)

    async def coverage(self, me: Person, them: Person) -> Any:
        async with self.database.transaction(me.caller) as tx:
            found = await vector_store.coverage(tx, me.caller, self.embeddings.model)
            assert found.texts == await tx.value(
                "SELECT count(DISTINCT hash) FROM passage"
            )
        return found

    async def slots(self, me: Person, them: Person) -> Any:
        async with self.database.transaction(me.caller) as tx:
            found = await worker.standings(tx, me.caller)
        assert max(one.behind for one in found) <= me.log
        return found

    async def token(self, me: Person, them: Person) -> Any:
        async with self.database.transaction(me.caller) as tx:
            return await tx.rows("SELECT user_id, name, kind, scopes FROM token")


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 300), pytest.param(2, 5000, marks=pytest.mark.soak)]
)
async def test_a_random_walk(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    seed: int,
    count: int,
) -> None:
    people = [Person(owner, CANARIES["owner"]), Person(other, CANARIES["other"])]
    with embedder.serving() as server:
        embeddings = embedding.Embeddings(server.settings)
        async with worker.Worker(database, embeddings).running():
            await Walk(database, embeddings, people, seed).walk(count)
            await caught_up(database, owner, other)
        embeddings.close()
    assert min(one.log for one in people) > count / 20


async def test_the_same_unique_things_twice(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    """What is unique is so for one user: a day, an id, a vector, an import."""
    one = uuid4()
    for caller in (owner, other):
        async with database.transaction(caller) as tx:
            await base.create(
                tx,
                caller,
                catalogue.domain("diary"),
                {"date": "2026-01-01", "content": "x"},
            )
            await base.create(
                tx, caller, notes.NOTES, {"content": caller.name}, record_id=one
            )
            await base.read(tx, caller, notes.NOTES, one)
    async with database.transaction(other) as tx:
        await base.delete(tx, other, notes.NOTES, one)
    async with database.transaction(owner) as tx:
        assert (await base.get(tx, owner, notes.NOTES, one)).content == "owner"


async def test_a_cancelled_task_leaves_no_user_behind(
    cluster: Any, fresh: str, owner: callers.Caller, other: callers.Caller
) -> None:
    """The pool's only connection, dropped in the middle of a transaction, knows nobody
    afterwards.
    """
    database = db.Database(owner_pool_url(cluster, fresh), size=1)
    await database.open()
    try:
        for pause in ("SELECT pg_sleep(30)", None):
            reached = asyncio.Event()

            async def work(
                pause: Any = pause, reached: asyncio.Event = reached
            ) -> None:
                async with database.transaction(owner) as tx:
                    await base.create(
                        tx, owner, notes.NOTES, {"content": CANARIES["owner"]}
                    )
                    reached.set()
                    if pause:
                        await tx.value(pause)
                    await asyncio.sleep(30)

            task = asyncio.create_task(work())
            await reached.wait()
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with database.transaction(None) as tx:
                assert (
                    await tx.value(
                        "SELECT nullif(current_setting('reverie.user_id', true), '')"
                    )
                    is None
                )
                assert await tx.value("SELECT count(*) FROM note") == 0
            async with database.transaction(other) as tx:
                assert await tx.rows("SELECT content FROM note") == []
            async with database.transaction(owner) as tx:
                assert await tx.rows("SELECT content FROM note") == []
    finally:
        await database.close()


def owner_pool_url(cluster: Any, fresh: str) -> str:
    return str(cluster.place.url("reverie_app", database=fresh))


async def test_a_failed_transaction_leaves_no_user_behind(
    cluster: Any, fresh: str, owner: callers.Caller
) -> None:
    database = db.Database(owner_pool_url(cluster, fresh), size=1)
    await database.open()
    try:
        with pytest.raises(errors.ReverieError):
            async with database.transaction(owner) as tx:
                await tx.value("SELECT 1 / 0")
        for door in (
            database.transaction(None),
            database.token_lookup(b"x"),
            database.system(),
        ):
            async with door as tx:
                assert (
                    await tx.value(
                        "SELECT nullif(current_setting('reverie.user_id', true), '')"
                    )
                    is None
                )
        async with database.transaction(None) as tx:
            assert (
                await tx.value(
                    "SELECT nullif(current_setting('reverie.system', true), '')"
                )
                is None
            )
            assert (
                await tx.value(
                    "SELECT nullif(current_setting('reverie.token_hash', true), '')"
                )
                is None
            )
            assert await tx.value("SELECT count(*) FROM users") == 0
    finally:
        await database.close()


async def test_who_finds_by_hash_finds_one_token(
    database: db.Database, owner: callers.Caller
) -> None:
    token = await tokens.mint(database, owner.user_id, name="second")
    async with database.token_lookup(tokens.digest(token)) as tx:
        assert [row["name"] for row in await tx.rows("SELECT name FROM token")] == [
            "second"
        ]
        for table in ("users", "note", "change"):
            assert await tx.value(db.compose("SELECT count(*) FROM {t}", t=table)) == 0
    for change in ("UPDATE token SET scopes = ARRAY['*:*']", "DELETE FROM token"):
        with pytest.raises(errors.ReverieError, match="read-only"):
            async with database.token_lookup(tokens.digest(token)) as tx:
                await tx.run(change)
    assert (await tokens.caller(database, token)).name == "second"


async def test_no_embedder_isolates_as_well(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    none = embedding.Embeddings(config.Embedding(provider="none"))
    async with database.transaction(owner) as tx:
        await base.create(tx, owner, notes.NOTES, {"content": CANARIES["owner"]})
    results = await search.search(
        database, other, none, query.Query(text=CANARIES["owner"])
    )
    assert results.hits == []
    none.close()
    assert len(await users.all_users(database)) == 2
