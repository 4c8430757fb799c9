"""Every domain: create, get, list, update, delete and restore, each with its change row
and its passages.
"""

from typing import Any
from uuid import UUID, uuid4

import pytest

from reverie import db, errors
from reverie.access import callers
from reverie.privacy import sensitivity
from reverie.records import base, bulk, catalogue, changes, diary, notes, record_types
from tests.records import bodies

by_domain = pytest.mark.parametrize(
    "domain", catalogue.DOMAINS.values(), ids=catalogue.DOMAINS
)
UNKNOWN = UUID("01a00000-0000-7000-8000-000000000009")


async def log_of(
    database: db.Database, caller: callers.Caller, record_id: UUID
) -> list[changes.Change]:
    """The change rows of one record, oldest first."""
    async with database.transaction(caller) as tx:
        return [
            one
            for one in reversed(await changes.recent(tx, caller, limit=1000))
            if one.record_id == record_id
        ]


async def counted(
    database: db.Database, caller: callers.Caller, *tables: str
) -> dict[str, int]:
    """How many rows of the caller's each table holds."""
    async with database.transaction(caller) as tx:
        return {
            one: int(await tx.value(db.compose("SELECT count(*) FROM {t}", t=one)))
            for one in tables
        }


async def passages_of(
    database: db.Database, caller: callers.Caller, record_id: UUID
) -> list[str]:
    """The texts that search ranks of one record, in order."""
    async with database.transaction(caller) as tx:
        rows = await tx.rows(
            "SELECT text FROM passage WHERE record_id = %s ORDER BY ordinal",
            (record_id,),
        )
    return [row["text"] for row in rows]


def test_no_domain_is_without_bodies() -> None:
    assert (
        set(catalogue.DOMAINS)
        == set(bodies.BODIES)
        == set(bodies.CHANGE)
        == set(bodies.SUMMARY)
    )


@by_domain
async def test_life_of_a_record(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    body = bodies.BODIES[domain.name][0]
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, domain, body)
    assert (made.user_id, made.source, made.deleted_at) == (
        owner.user_id,
        "local",
        None,
    )
    assert made.id.version == 7
    assert made.created_at == made.updated_at
    assert sensitivity.named(made.sensitivity) >= sensitivity.of_domain(domain.name)
    form = record_types.as_json(domain, made)
    assert {
        k: form[k]
        for k in body
        if k not in ("start", "end", "at", "date", "started", "published")
    } == {
        k: v
        for k, v in body.items()
        if k not in ("start", "end", "at", "date", "started", "published")
    } or domain.name in ("transaction", "chat", "run")
    assert "user_id" not in form

    async with database.transaction(owner) as tx:
        assert await base.get(tx, owner, domain, made.id) == made
        listed = await base.find(tx, owner, domain)
        assert (listed.items, listed.total) == ([made], 1)
        assert await bulk.fetch(tx, owner, domain, [made.id, UNKNOWN]) == {
            made.id: made
        }

    change, columns = bodies.CHANGE[domain.name]
    async with database.transaction(owner) as tx:
        changed = await base.update(tx, owner, domain, made.id, change)
    assert changed.updated_at > made.updated_at
    assert changed.created_at == made.created_at
    for name in domain.own:
        same = getattr(changed, db.field(name)) == getattr(made, db.field(name))
        assert same == (name not in columns), name

    async with database.transaction(owner) as tx:
        gone = await base.delete(tx, owner, domain, made.id)
        assert gone.deleted_at is not None
        assert (await base.find(tx, owner, domain)).items == []
        assert (await base.find(tx, owner, domain, deleted=True)).items == [gone]
        assert await bulk.fetch(tx, owner, domain, [made.id]) == {}
        for refused in (base.get, base.delete):
            with pytest.raises(errors.NotFound):
                await refused(tx, owner, domain, made.id)
        with pytest.raises(errors.NotFound):
            await base.update(tx, owner, domain, made.id, change)
        assert await base.get(tx, owner, domain, made.id, deleted=True) == gone
    assert await passages_of(database, owner, made.id) == []
    assert await counted(database, owner, "card", "passage", "fresh") == {
        "card": 0,
        "passage": 0,
        "fresh": 0,
    }

    async with database.transaction(owner) as tx:
        back = await base.restore(tx, owner, domain, made.id)
        assert await base.restore(tx, owner, domain, made.id) == back
    assert record_types.as_json(domain, back) | {
        "updated_at": 0
    } == record_types.as_json(domain, changed) | {"updated_at": 0}
    assert await passages_of(database, owner, made.id) != []

    log = await log_of(database, owner, made.id)
    assert [one.action for one in log] == ["create", "update", "delete", "restore"]
    assert {(one.user_id, one.domain, one.source, one.caller) for one in log} == {
        (owner.user_id, domain.name, "local", "user:owner")
    }
    assert set(log[0].columns) == set(domain.own)
    assert set(log[1].columns) == columns
    assert log[2].columns == log[3].columns == []
    assert log[0].summary == bodies.SUMMARY[domain.name]
    assert [one.seq for one in log] == sorted(one.seq for one in log)


@by_domain
async def test_the_smallest_body_is_enough(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    for body in bodies.BODIES[domain.name]:
        async with database.transaction(owner) as tx:
            made = await base.create(tx, owner, domain, body)
        assert await passages_of(database, owner, made.id)
        log = await log_of(database, owner, made.id)
        assert log[0].summary
        assert "\n" not in domain.line(made, made.created_at)


@by_domain
async def test_what_stays_the_same_writes_nothing(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    body = bodies.BODIES[domain.name][0]
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, domain, body)
    before = await counted(database, owner, "change", "passage", "fresh")
    for same in ({}, body):
        async with database.transaction(owner) as tx:
            assert await base.update(tx, owner, domain, made.id, same) == made
    assert await counted(database, owner, "change", "passage", "fresh") == before


@by_domain
async def test_rollback_leaves_nothing(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    tables = (domain.name, "change", "card", "passage", "fresh")
    async with database.transaction(owner) as tx:
        kept = await base.create(tx, owner, domain, bodies.BODIES[domain.name][1])
    before = await counted(database, owner, *tables)

    async def broken() -> None:
        async with database.transaction(owner) as tx:
            await base.create(tx, owner, domain, bodies.BODIES[domain.name][0])
            await base.delete(tx, owner, domain, kept.id)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await broken()
    assert await counted(database, owner, *tables) == before
    async with database.transaction(owner) as tx:
        assert await base.get(tx, owner, domain, kept.id) == kept


@by_domain
async def test_record_and_change_are_of_one_transaction(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, domain, bodies.BODIES[domain.name][0])
        await base.update(tx, owner, domain, made.id, bodies.CHANGE[domain.name][0])
        statement = db.compose(
            "SELECT xmin::text::bigint AS x FROM {t} WHERE id = %s", t=domain.name
        )
        record_xid = await tx.value(statement, (made.id,))
        current = await tx.value("SELECT pg_current_xact_id()::text::bigint")
    async with database.transaction(owner) as tx:
        xids = {row["xid"] for row in await tx.rows("SELECT xid FROM change")}
    assert xids == {current}
    # A savepoint (a domain with a unique index) has an id of its own, of the same
    # transaction.
    assert record_xid >= current


@by_domain
async def test_unknown_ids(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    change, _ = bodies.CHANGE[domain.name]
    async with database.transaction(owner) as tx:
        for call in (
            base.get(tx, owner, domain, UNKNOWN),
            base.read(tx, owner, domain, UNKNOWN),
            base.update(tx, owner, domain, UNKNOWN, change),
            base.delete(tx, owner, domain, UNKNOWN),
            base.restore(tx, owner, domain, UNKNOWN),
        ):
            with pytest.raises(errors.NotFound, match="There is no such"):
                await call
    assert await counted(database, owner, "change", "heat") == {"change": 0, "heat": 0}


WRONG: dict[str, dict[str, object]] = {
    "note": {"content": ["a", "list"]},
    "event": {"all_day": "perhaps"},
    "contact": {"birthday": "31 June"},
    "email": {"date": "2026-10-02T08:15:00"},
    "file": {"size": "big"},
    "diary": {"date": "yesterday"},
    "bookmark": {"tags": "one"},
    "task": {"priority": "huge"},
    "feed": {"url": 7},
    "feed_item": {"feed_id": "nobody"},
    "health": {"value": "heavy"},
    "transaction": {"currency": "euro"},
    "run": {"status": "lost"},
    "chat": {"turns": [{"id": "1", "speaker": "me"}]},
}


@by_domain
async def test_what_cannot_be_kept_is_refused_by_name(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    text = bodies.TEXT[domain.name]
    bad: list[tuple[str, object]] = [
        ("colour", "red"),
        (text, "a\x00b"),
        (text, "a\ud800b"),
        *WRONG[domain.name].items(),
        ("custom", {"deep": [{"x": "a\x00"}]}),
        *(
            (name, str(uuid4()))
            for name in ("user_id", "id", "source", "created_at", "deleted_at")
        ),
        *((name, "2026-01-01") for name in domain.derived),
    ]
    async with database.transaction(owner) as tx:
        kept = await base.create(tx, owner, domain, bodies.BODIES[domain.name][1])
    before = await counted(database, owner, domain.name, "change")
    async with database.transaction(owner) as tx:
        for field, value in bad:
            with pytest.raises(errors.Invalid) as refused:
                await base.create(
                    tx, owner, domain, {**bodies.BODIES[domain.name][0], field: value}
                )
            assert f": {field}" in refused.value.message
            problems: Any = refused.value.details["problems"]
            assert any(one["field"].startswith(field) for one in problems)
            refused.value.message.encode()
            with pytest.raises(errors.Invalid) as refused:
                await base.update(tx, owner, domain, kept.id, {field: value})
            assert f": {field}" in refused.value.message
    assert await counted(database, owner, domain.name, "change") == before


async def test_notes_say_which_field(
    database: db.Database, owner: callers.Caller
) -> None:
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"content": "x", "custom": {"a\x00": 1}}, "custom"),
        ({"content": "x", "custom": {"n": float("nan")}}, "custom"),
        ({"content": "x", "custom": {"n": float("-inf")}}, "custom"),
        ({"content": "x", "custom": {"when": object()}}, "custom"),
        ({"content": "x", "tags": ["ok", "a\ud800"]}, "tags"),
        ({"content": None}, "content"),
        ({}, "content"),
        ({"content": "x", "sensitivity": "secret"}, "sensitivity"),
    ]
    async with database.transaction(owner) as tx:
        for values, field in refusals:
            with pytest.raises(errors.Invalid, match=f": {field}"):
                await base.create(tx, owner, notes.NOTES, values)


async def test_a_name_that_is_no_text_is_refused_in_words(
    database: db.Database, owner: callers.Caller
) -> None:
    async with database.transaction(owner) as tx:
        with pytest.raises(errors.Invalid) as refused:
            await base.create(tx, owner, notes.NOTES, {"content": "x", "a\ud800": 1})
    refused.value.message.encode()


async def test_deep_custom_is_refused_or_kept(
    database: db.Database, owner: callers.Caller
) -> None:
    deep: Any = {}
    for _ in range(50_000):
        deep = {"a": deep}
    async with database.transaction(owner) as tx:
        with pytest.raises(errors.Invalid, match=": custom"):
            await base.create(tx, owner, notes.NOTES, {"content": "x", "custom": deep})


async def test_extremes(database: db.Database, owner: callers.Caller) -> None:
    files, tasks, health = (
        catalogue.domain(name) for name in ("file", "task", "health")
    )
    async with database.transaction(owner) as tx:
        with pytest.raises(errors.Invalid):
            async with tx.savepoint():
                await base.create(tx, owner, files, {"name": "a", "size": 2**63})
        with pytest.raises(errors.Invalid, match=": value"):
            await base.create(
                tx, owner, health, bodies.BODIES["health"][0] | {"value": float("inf")}
            )
        long = "palabra " * 20_000
        assert (await base.create(tx, owner, tasks, {"title": long})).title == long


async def test_diary_has_one_entry_a_day(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    day = {"date": "2026-02-18", "content": "first"}
    async with database.transaction(owner) as tx:
        first = await base.create(tx, owner, diary.DIARY, day)
        with pytest.raises(errors.Conflict, match="one a day"):
            await base.create(tx, owner, diary.DIARY, day | {"content": "second"})
        # The refusal left the transaction whole.
        neighbour = await base.create(
            tx, owner, diary.DIARY, day | {"date": "2026-02-19"}
        )
        with pytest.raises(errors.Conflict, match="one a day"):
            await base.update(
                tx, owner, diary.DIARY, neighbour.id, {"date": "2026-02-18"}
            )
    async with database.transaction(other) as tx:
        await base.create(tx, other, diary.DIARY, day)
    async with database.transaction(owner) as tx:
        await base.delete(tx, owner, diary.DIARY, first.id)
        second = await base.create(tx, owner, diary.DIARY, day | {"content": "second"})
        with pytest.raises(errors.Conflict, match="one a day"):
            await base.restore(tx, owner, diary.DIARY, first.id)
        assert await base.get(tx, owner, diary.DIARY, first.id, deleted=True) != first
        await base.delete(tx, owner, diary.DIARY, second.id)
        assert (await base.restore(tx, owner, diary.DIARY, first.id)).content == "first"
    assert (await counted(database, owner, "change"))["change"] == 6


async def test_callers_and_sources_are_named(
    database: db.Database, owner: callers.Caller
) -> None:
    agent = callers.Caller(owner.user_id, "agent", "research", frozenset({"*:*"}))
    async with database.transaction(agent) as tx:
        made = await base.create(
            tx, agent, notes.NOTES, {"content": "from mail"}, source="import"
        )
    async with database.transaction(owner) as tx:
        await base.update(tx, owner, notes.NOTES, made.id, {"content": "mine now"})
    log = await log_of(database, owner, made.id)
    assert [(one.caller, one.source) for one in log] == [
        ("agent:research", "import"),
        ("user:owner", "import"),
    ]


async def test_lists_are_paged_and_filtered(
    database: db.Database, owner: callers.Caller
) -> None:
    async with database.transaction(owner) as tx:
        made = [
            await base.create(
                tx,
                owner,
                notes.NOTES,
                {"content": f"n{i}", "pinned": i % 2 == 0, "tags": [f"t{i % 3}"]},
            )
            for i in range(10)
        ]
        page = await base.find(tx, owner, notes.NOTES, limit=3, offset=3)
        assert ([one.content for one in page.items], page.total) == (
            ["n6", "n5", "n4"],
            10,
        )
        beyond = await base.find(tx, owner, notes.NOTES, limit=3, offset=30)
        assert (beyond.items, beyond.total) == ([], 10)
        pinned = await base.find(
            tx, owner, notes.NOTES, filters={"pinned": True, "tag": "t0"}
        )
        assert {one.content for one in pinned.items} == {"n0", "n6"}
        assert pinned.total == 2
    walked = [
        one.id
        async for _, batch in bulk.walk(database, owner, notes.NOTES, batch=3)
        for one in batch
    ]
    assert walked == [one.id for one in made]


@by_domain
async def test_every_filter_narrows(
    database: db.Database, owner: callers.Caller, domain: record_types.Domain[Any]
) -> None:
    """Each filter runs, finds the record that fits and leaves out the one that does
    not.
    """
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, domain, bodies.BODIES[domain.name][0])
        if domain.name == "event":
            made = await base.update(tx, owner, domain, made.id, {"calendar": "work"})
        if domain.name == "email":
            made = await base.update(
                tx, owner, domain, made.id, {"thread": "<17@example.org>"}
            )
        if domain.name == "feed_item":
            feed = await base.create(
                tx, owner, catalogue.domain("feed"), {"url": "https://a.example"}
            )
            made = await base.update(
                tx, owner, domain, made.id, {"feed_id": str(feed.id)}
            )
        values = {
            "tag": lambda: made.tags[0],
            "label": lambda: made.labels[0],
            "email": lambda: "JOSE@example.org",
            "day": lambda: made.start_day,
            "from": lambda: getattr(made, "start_day", None) or made.date,
            "to": lambda: getattr(made, "start_day", None) or made.date,
            "open": lambda: True,
            "due_before": lambda: made.due.replace(day=25),
        }
        nothing = {
            "from": "9999-01-01",
            "to": "0001-01-01",
            "day": "0001-01-01",
            "date": "0001-01-01",
        }
        for name, one in domain.filters.items():
            value = values[name]() if name in values else getattr(made, name)
            found = await base.find(tx, owner, domain, filters={name: value})
            assert [hit.id for hit in found.items] == [made.id], name
            odd: Any = nothing.get(name) or (
                "0001-01-01" if name == "due_before" else None
            )
            if odd is None:
                odd = (
                    (not value)
                    if isinstance(value, bool)
                    else UNKNOWN
                    if isinstance(value, UUID)
                    else "nothing such"
                )
            assert (
                await base.find(tx, owner, domain, filters={name: odd})
            ).items == [], (name, one)
