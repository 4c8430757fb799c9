"""The change log: no follower skips a row and no asker misses one, however transactions
overlap.
"""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import conninfo

from reverie import db, embedded
from reverie.access import callers
from reverie.records import base, changes, notes

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


async def note(tx: db.Transaction, caller: callers.Caller, text: str) -> UUID:
    return (await base.create(tx, caller, notes.NOTES, {"content": text})).id


async def asked(
    database: db.Database, caller: callers.Caller, moment: datetime
) -> tuple[set[UUID], datetime]:
    """Whom an answer names, and the time to ask with next."""
    async with database.transaction(caller) as tx:
        found = await changes.since(tx, caller, moment=moment)
    return {
        one.record_id for one in (*found.created, *found.updated, *found.deleted)
    }, found.response_timestamp


async def test_since_sorts_by_what_became_of_a_record(
    database: db.Database, owner: callers.Caller
) -> None:
    async with database.transaction(owner) as tx:
        old, gone, short, back = [
            await note(tx, owner, text) for text in ("old", "gone", "short", "back")
        ]
        await base.delete(tx, owner, notes.NOTES, back)
    moment = (await asked(database, owner, LONG_AGO))[1]
    async with database.transaction(owner) as tx:
        await base.update(tx, owner, notes.NOTES, old, {"content": "new"})
        await base.delete(tx, owner, notes.NOTES, gone)
        await base.restore(tx, owner, notes.NOTES, back)
        fresh = await note(tx, owner, "fresh")
        await base.update(tx, owner, notes.NOTES, fresh, {"pinned": True})
        await base.delete(tx, owner, notes.NOTES, short)
    async with database.transaction(owner) as tx:
        found = await changes.since(tx, owner, moment=moment, domain="note")
        assert {one.record_id for one in found.created} == {fresh}
        assert {one.record_id for one in found.updated} == {old, back}
        assert {one.record_id for one in found.deleted} == {gone, short}
        assert (
            await changes.since(tx, owner, moment=moment, domain="event")
        ).created == []
        assert found.response_timestamp <= await tx.value("SELECT clock_timestamp()")


async def test_since_without_writers_does_not_lag(
    database: db.Database, owner: callers.Caller
) -> None:
    """The stamp is now: who asks in a loop is not told everything again."""
    async with database.transaction(owner) as tx:
        await note(tx, owner, "x")
    await asyncio.sleep(0.01)
    found, stamp = await asked(database, owner, LONG_AGO)
    assert len(found) == 1
    assert datetime.now(UTC) - stamp < timedelta(seconds=1)
    assert (await asked(database, owner, stamp))[0] == set()


@pytest.mark.parametrize(
    "as_owner", [False, True], ids=["reverie_app", "owner that became reverie_app"]
)
async def test_who_commits_after_the_answer_is_in_the_next(
    database: db.Database,
    owner: callers.Caller,
    cluster: embedded.EmbeddedServer,
    as_owner: bool,
) -> None:
    """Also through a role that may not see what other sessions do (a PostgreSQL of the
    owner's own).
    """
    name = conninfo.conninfo_to_dict(database.url)["dbname"]
    url = (
        db.as_app(cluster.place.url(embedded.OWNER_ROLE, database=str(name)))
        if as_owner
        else database.url
    )
    writers = db.Database(url, size=4)
    askers = db.Database(url, size=2)
    await writers.open()
    await askers.open()
    try:
        async with writers.transaction(owner) as early:
            first = await note(early, owner, "written before the question")
            async with writers.transaction(owner) as quick:
                second = await note(quick, owner, "committed before the question")
            found, stamp = await asked(askers, owner, LONG_AGO)
            assert found == {second}
        found, stamp = await asked(askers, owner, stamp)
        assert first in found
        assert first not in (await asked(askers, owner, stamp))[0]
    finally:
        await writers.close()
        await askers.close()


async def test_who_asks_in_a_loop_misses_nothing(
    database: db.Database, owner: callers.Caller
) -> None:
    dice = random.Random(7)
    written: set[UUID] = set()

    async def write(number: int) -> None:
        for _ in range(8):
            async with database.transaction(owner) as tx:
                await asyncio.sleep(dice.random() * 0.01)
                made = await note(tx, owner, f"by {number}")
                await asyncio.sleep(dice.random() * 0.02)
            written.add(made)

    writers = [asyncio.create_task(write(number)) for number in range(5)]
    heard: set[UUID] = set()
    moment = LONG_AGO
    while not all(writer.done() for writer in writers):
        found, moment = await asked(database, owner, moment)
        heard |= found
    await asyncio.gather(*writers)
    heard |= (await asked(database, owner, moment))[0]
    assert len(written) == 40
    assert heard == written


async def test_a_follower_waits_for_the_oldest_open_transaction(
    database: db.Database, owner: callers.Caller
) -> None:
    async def after(xid: int, seq: int) -> list[changes.Change]:
        async with database.transaction(owner) as tx:
            return await changes.after(tx, owner, xid=xid, seq=seq, limit=100)

    async with database.transaction(owner) as slow:
        first = await note(slow, owner, "slow")
        async with database.transaction(owner) as quick:
            second = await note(quick, owner, "quick")
        # The second is committed and later in order: to follow it now would skip the
        # first.
        assert await after(0, 0) == []
        async with database.transaction(owner) as tx:
            assert await changes.head(tx, owner) == (0, 0)
            assert await changes.behind(tx, owner, xid=0, seq=0) == 1
    found = await after(0, 0)
    assert [one.record_id for one in found] == [first, second]
    assert [(one.xid, one.seq) for one in found] == sorted(
        (one.xid, one.seq) for one in found
    )
    assert await after(found[-1].xid, found[-1].seq) == []
    async with database.transaction(owner) as tx:
        assert await changes.head(tx, owner) == (found[-1].xid, found[-1].seq)


async def test_a_later_number_in_an_earlier_transaction(
    database: db.Database, owner: callers.Caller
) -> None:
    """Two transactions interleave their rows: the order of reading is by transaction,
    and nothing is lost.
    """
    async with database.transaction(owner) as one:
        a = await note(one, owner, "a")
        async with database.transaction(owner) as two:
            b = await note(two, owner, "b")
            c = await note(one, owner, "c")
    async with database.transaction(owner) as tx:
        found = await changes.after(tx, owner, xid=0, seq=0, limit=2)
        assert [change.record_id for change in found] == [a, c]
        rest = await changes.after(
            tx, owner, xid=found[-1].xid, seq=found[-1].seq, limit=2
        )
        assert [change.record_id for change in rest] == [b]
        assert rest[0].seq < found[-1].seq


async def test_followers_never_skip(
    database: db.Database, owner: callers.Caller
) -> None:
    dice = random.Random(11)
    committed: set[UUID] = set()

    async def write(number: int) -> None:
        for turn in range(10):
            try:
                async with database.transaction(owner) as tx:
                    made = [
                        await note(tx, owner, f"{number}.{turn}.{i}")
                        for i in range(dice.randint(1, 3))
                    ]
                    await asyncio.sleep(dice.random() * 0.015)
                    if dice.random() < 0.2:
                        raise ZeroDivisionError
                committed.update(made)
            except ZeroDivisionError:
                pass

    writers = [asyncio.create_task(write(number)) for number in range(6)]
    followed: list[UUID] = []
    cursor = (0, 0)
    idle = 0
    while idle < 2:
        async with database.transaction(owner) as tx:
            batch = await changes.after(
                tx, owner, xid=cursor[0], seq=cursor[1], limit=5
            )
        followed += [one.record_id for one in batch]
        cursor = (batch[-1].xid, batch[-1].seq) if batch else cursor
        idle = 0 if batch or not all(writer.done() for writer in writers) else idle + 1
    await asyncio.gather(*writers)
    assert len(followed) == len(set(followed))
    assert set(followed) == committed


async def test_listeners_are_woken_at_commit(
    database: db.Database, owner: callers.Caller
) -> None:
    heard: list[str] = []

    async def listen() -> None:
        async for payload in database.listen(changes.CHANNEL):
            heard.append(payload)  # noqa: PERF401 - it never ends, and each is wanted as it comes

    task = asyncio.create_task(listen())
    try:
        deadline = asyncio.get_running_loop().time() + 10
        while not heard and asyncio.get_running_loop().time() < deadline:
            async with database.transaction(owner) as tx:
                await note(tx, owner, "x")
            await asyncio.sleep(0.05)
        assert set(heard) == {str(owner.user_id)}
        count = len(heard)
        async with database.transaction(owner) as tx:
            await note(tx, owner, "y")
            await asyncio.sleep(0.2)
            assert len(heard) <= count + 1
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_recent_is_newest_first(
    database: db.Database, owner: callers.Caller
) -> None:
    async with database.transaction(owner) as tx:
        ids = [await note(tx, owner, str(i)) for i in range(5)]
        found = await changes.recent(tx, owner, limit=3)
        assert [one.record_id for one in found] == ids[:1:-1]
        given = await changes.by_number(tx, owner, [found[0].seq, -1])
        assert given == [found[0]]
