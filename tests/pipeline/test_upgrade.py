"""A database of the first migration, upgraded: everything is found again, by words, in
every scope.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import pytest_asyncio

from reverie import config, db, embedded
from reverie.access import callers
from reverie.graph import lookups
from reverie.llm import embedding
from reverie.migrations import runner
from reverie.pipeline import (
    dead_letters,
    model_extraction,
    progress,
    rule_extraction,
    slots,
    worker,
)
from reverie.records import base, changes, contacts, notes
from reverie.search import query as queries
from reverie.search import search

NAME = "of_the_first_migration"
# As 0001 kept them: the user, the record, its card, its passages, a posting a term and
# passage, the change.
USER = "INSERT INTO users (user_id, name, timezone) VALUES (%s, %s, 'Europe/Madrid') RETURNING user_id"
NOTE = """
INSERT INTO note (user_id, id, source, sensitivity, created_at, updated_at, custom, title, content, format, tags,
    pinned, archived)
VALUES (%(user)s, %(id)s, 'local', 'normal', now(), now(), %(custom)s, %(title)s, %(text)s, 'markdown', '{wood}',
    false, false)
"""
EMAIL = """
INSERT INTO email (user_id, id, source, sensitivity, created_at, updated_at, custom, subject, "from", "to", cc, date,
    folder, read, attachments, body_text)
VALUES (%(user)s, %(id)s, 'local', 'normal', now(), now(), %(custom)s, %(title)s, 'José García <pepe@example.org>',
    '{me@example.org}', '{}', now(), 'INBOX', false, '[]', %(text)s)
"""
CARD = """
INSERT INTO card (user_id, record_id, domain, title, at, tags)
VALUES (%(user)s, %(id)s, %(domain)s, %(title)s, now(), '{}')
"""
PASSAGE = """
WITH new AS (
    INSERT INTO passage (user_id, record_id, ordinal, place, text, hash, length)
    VALUES (%(user)s, %(id)s, 1, '{}', %(text)s, %(hash)s, 5) RETURNING id
)
INSERT INTO posting SELECT %(user)s, term, id, 1 FROM new, unnest(%(terms)s::text[]) AS term
"""
VECTOR = "INSERT INTO embedding (user_id, model, hash, vector) VALUES (%(user)s, 'old/1', %(hash)s, '[1,0,0]')"
CHANGE = """
INSERT INTO change (user_id, domain, record_id, action, columns, source, caller, summary)
VALUES (%(user)s, %(domain)s, %(id)s, 'create', '{}', 'local', 'owner', %(title)s)
"""


@pytest.fixture
def empty(cluster: embedded.EmbeddedServer) -> Iterator[str]:
    """A database with nothing in it, by its name."""
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(
            db.compose("CREATE DATABASE {name} TEMPLATE template0", name=NAME)
        )
    yield NAME
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(db.compose("DROP DATABASE {name} WITH (FORCE)", name=NAME))


@pytest_asyncio.fixture
async def old(
    cluster: embedded.EmbeddedServer, empty: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[db.Database]:
    """A pool on a database at 0001; `monkeypatch.undo()` brings the other migrations
    back.
    """
    first = [one for one in runner.migration_files() if one[0] < "0002"]
    monkeypatch.setattr(runner, "migration_files", lambda: first)
    assert (
        len(
            await runner.migrate(cluster.place.url(embedded.OWNER_ROLE, database=empty))
        )
        == 1
    )
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database=empty))
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
def words_alone() -> Iterator[embedding.Embeddings]:
    made = embedding.Embeddings(config.Embedding(provider="none"))
    yield made
    made.close()


async def somebody(database: db.Database, name: str) -> callers.Caller:
    """A user as the first version wrote one."""
    async with database.system() as tx:
        made = await tx.value(USER, (uuid4(), name))
    return callers.Caller(made, "user", name, frozenset({"*:*"}), "Europe/Madrid")


async def kept(
    database: db.Database,
    caller: callers.Caller,
    *,
    domain: str,
    title: str,
    text: str,
    path: str,
) -> UUID:
    """A record as the first version wrote it."""
    values: dict[str, Any] = {
        "user": caller.user_id,
        "id": uuid4(),
        "domain": domain,
        "title": title,
        "text": text,
        "custom": db.json({"imported_from": path}),
        "hash": hashlib.sha256(f"{title}\n{text}".encode()).digest(),
        "terms": list(set(text.lower().split())),
    }
    async with database.transaction(caller) as tx:
        for statement in (
            NOTE if domain == "note" else EMAIL,
            CARD,
            PASSAGE,
            VECTOR,
            CHANGE,
        ):
            await tx.run(statement, values)
    return values["id"]


async def titles(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    text: str,
    **filters: Any,
) -> Sequence[str]:
    query = queries.Query(text=text, **filters)
    return [
        hit.title
        for hit in (await search.search(database, caller, embeddings, query)).hits
    ]


async def test_what_the_first_version_kept_is_found_again(
    old: db.Database,
    cluster: embedded.EmbeddedServer,
    empty: str,
    monkeypatch: pytest.MonkeyPatch,
    words_alone: embedding.Embeddings,
) -> None:
    owner, other = [await somebody(old, name) for name in ("owner", "other")]
    note = await kept(
        old,
        owner,
        domain="note",
        title="Music",
        text="The xylophone is of wood",
        path="Vault/Música.md",
    )
    await kept(
        old,
        owner,
        domain="email",
        title="Sale",
        text="Who buys my xylophone",
        path="mail.mbox",
    )
    await kept(
        old, other, domain="note", title="Theirs", text="Another xylophone", path="x.md"
    )

    monkeypatch.undo()
    applied = await runner.migrate(
        cluster.place.url(embedded.OWNER_ROLE, database=empty)
    )
    assert applied == [name for name, _ in runner.migration_files()][1:]
    async with old.transaction(owner) as tx:
        assert await tx.value("SELECT count(*) FROM passage WHERE terms IS NULL") == 2
        assert await tx.value("SELECT dimensions FROM embedding LIMIT 1") == 3
    # Before the worker has come by, a search is empty and no failure; what is written
    # now is found at once.
    assert await titles(old, owner, words_alone, "xylophone") == []
    async with old.transaction(owner) as tx:
        await base.create(
            tx, owner, notes.NOTES, {"title": "New", "content": "A new xylophone"}
        )
    assert await titles(old, owner, words_alone, "xylophone") == ["New"]

    for caller in (owner, other):
        async for state in progress.follow(old, words_alone, caller):
            assert not state.trouble
    for caller, expected in ((owner, {"Music", "Sale", "New"}), (other, {"Theirs"})):
        async with old.transaction(caller) as tx:
            assert (
                await tx.value("SELECT count(*) FROM passage WHERE terms IS NULL") == 0
            )
            assert await tx.value("SELECT count(*) FROM passage") == len(expected)
        assert set(await titles(old, caller, words_alone, "xylophone")) == expected
    assert await titles(old, owner, words_alone, "xylophone", person="garcia") == [
        "Sale"
    ]
    assert await titles(old, owner, words_alone, "xylophone", category="inbox") == [
        "Sale"
    ]
    assert await titles(old, owner, words_alone, "xylophone", file="musica") == [
        "Music"
    ]
    assert await titles(old, owner, words_alone, "xylophone", tag="wood") == ["Music"]
    async with old.transaction(owner) as tx:
        row = (
            await tx.rows(
                "SELECT people, category, origin FROM card WHERE title = 'Sale'"
            )
        )[0]
        assert row == {
            "people": ["jose garcia <pepe@example.org>", "me@example.org"],
            "category": "inbox",
            "origin": "mail.mbox",
        }
        # The vectors are of the same texts still: none was dropped.
        assert await tx.value("SELECT count(*) FROM embedding") == 2
        assert await tx.value("SELECT vectors FROM model") == 2
        await base.delete(tx, owner, notes.NOTES, note)
    assert set(await titles(old, owner, words_alone, "xylophone")) == {"Sale", "New"}


async def test_notes_with_headings_are_cut_by_section_after_an_upgrade(
    old: db.Database,
    cluster: embedded.EmbeddedServer,
    empty: str,
    monkeypatch: pytest.MonkeyPatch,
    words_alone: embedding.Embeddings,
) -> None:
    owner = await somebody(old, "owner")
    herons = f"# Birds\n\n## Herons\n\n{'The heron stood in the river. ' * 20}"
    headed = await kept(
        old, owner, domain="note", title="Walk", text=herons, path="a.md"
    )
    plain = await kept(
        old, owner, domain="note", title="Plain", text="A stork # flew", path="b.md"
    )

    monkeypatch.undo()
    url = cluster.place.url(embedded.OWNER_ROLE, database=empty)
    everything = runner.migration_files()
    monkeypatch.setattr(
        runner,
        "migration_files",
        lambda: [one for one in everything if one[0] < "0009"],
    )
    await runner.migrate(url)
    async with old.transaction(
        owner
    ) as tx:  # as if the worker had come by, and packed nothing yet
        await tx.run("UPDATE passage SET terms = ''")
        await tx.run(
            "INSERT INTO fresh (user_id, passage_id) SELECT user_id, id FROM passage"
        )
    monkeypatch.undo()
    await runner.migrate(url)
    async with old.transaction(owner) as tx:
        waiting = await tx.rows(
            "SELECT record_id FROM passage JOIN fresh ON fresh.passage_id = passage.id"
        )
        assert [row["record_id"] for row in waiting] == [plain]
    async for state in progress.follow(old, words_alone, owner):
        assert not state.trouble
    async with old.transaction(owner) as tx:
        found = await tx.rows(
            "SELECT place, head FROM passage WHERE record_id = %s ORDER BY ordinal",
            (headed,),
        )
        assert {row["place"]["section"] for row in found} == {"Birds > Herons"}
        assert [row["head"] for row in found] == [
            "",
            *["Birds > Herons"] * (len(found) - 1),
        ]
        assert len(found) > 1


# As 0009 kept them: how far a slot has come, and what it could not follow.
SLOT = """
INSERT INTO slot (user_id, name, xid, seq, trouble, trouble_since, updated_at)
VALUES (%(user)s, %(slot)s, %(xid)s, %(seq)s, %(trouble)s, %(since)s, %(since)s)
"""
LETTER = """
INSERT INTO letter (user_id, slot, record_id, seq, attempts, reason, retry_at, dead)
VALUES (%(user)s, %(slot)s, %(record)s, %(seq)s, %(attempts)s, 'broken', %(retry)s, %(dead)s)
"""
LONG_AGO = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


async def noted(
    database: db.Database, caller: callers.Caller, count: int
) -> Sequence[changes.Change]:
    """Some notes, each in a transaction of its own; the changes that tell of them."""
    for number in range(count):
        async with database.transaction(caller) as tx:
            await base.create(tx, caller, notes.NOTES, {"content": f"note {number}"})
    async with database.transaction(caller) as tx:
        return await changes.after(tx, caller, xid=0, seq=0, limit=count)


async def halfway(
    database: db.Database, caller: callers.Caller, log: Sequence[changes.Change]
) -> None:
    """Slots of 0009 in the middle of the log: `extraction` after the third change,
    `ingestion` after the fourth and in trouble; a letter waits, another is dead.
    """
    cursors = {
        "extraction": (log[2], None),
        "ingestion": (log[3], "The model is away."),
        "embedding": (log[5], None),
    }
    letters = (
        ("extraction", log[0], 2, False, datetime.now(UTC)),
        ("ingestion", log[1], 7, True, datetime(2100, 1, 1, tzinfo=UTC)),
        ("embedding", log[2], 1, False, LONG_AGO),
    )
    async with database.transaction(caller) as tx:
        for slot, (change, trouble) in cursors.items():
            values = {"user": caller.user_id, "slot": slot, "trouble": trouble}
            place = {"xid": change.xid, "seq": change.seq, "since": LONG_AGO}
            await tx.run(SLOT, values | place)
        for slot, change, attempts, dead, retry in letters:
            values = {"user": caller.user_id, "slot": slot, "retry": retry}
            of_change = {"record": change.record_id, "seq": change.seq}
            await tx.run(
                LETTER, values | of_change | {"attempts": attempts, "dead": dead}
            )


async def test_slots_under_new_names_go_on_where_they_stood(
    old: db.Database,
    cluster: embedded.EmbeddedServer,
    empty: str,
    monkeypatch: pytest.MonkeyPatch,
    words_alone: embedding.Embeddings,
) -> None:
    monkeypatch.undo()
    url = cluster.place.url(embedded.OWNER_ROLE, database=empty)
    everything = runner.migration_files()
    monkeypatch.setattr(
        runner,
        "migration_files",
        lambda: [file for file in everything if file[0] < "0010"],
    )
    await runner.migrate(url)
    everybody = [await somebody(old, name) for name in ("owner", "other")]
    logs = {caller.user_id: await noted(old, caller, 6) for caller in everybody}
    for caller in everybody:
        await halfway(old, caller, logs[caller.user_id])

    monkeypatch.undo()
    assert (await runner.migrate(url))[0] == "0010_stored_names.sql"
    for caller in everybody:
        log = logs[caller.user_id]
        async with old.transaction(caller) as tx:
            rows = await tx.rows("SELECT * FROM slot ORDER BY name")
            assert [
                (row["name"], row["xid"], row["seq"], row["trouble"]) for row in rows
            ] == [
                ("embedding", log[5].xid, log[5].seq, None),
                ("model_extraction", log[3].xid, log[3].seq, "The model is away."),
                ("rule_extraction", log[2].xid, log[2].seq, None),
            ]
            assert {row["updated_at"] for row in rows} == {LONG_AGO}
            assert {row["trouble_since"] for row in rows} == {LONG_AGO}
            assert [
                (
                    row["slot"],
                    row["record_id"],
                    row["seq"],
                    row["attempts"],
                    row["dead"],
                )
                for row in await tx.rows("SELECT * FROM dead_letter ORDER BY slot")
            ] == [
                ("embedding", log[2].record_id, log[2].seq, 1, False),
                ("model_extraction", log[1].record_id, log[1].seq, 7, True),
                ("rule_extraction", log[0].record_id, log[0].seq, 2, False),
            ]
    async with old.transaction(None) as tx:
        assert await tx.value("SELECT count(*) FROM slot") == 0
        assert await tx.value("SELECT count(*) FROM dead_letter") == 0

    followed: list[tuple[str, UUID, int]] = []

    def recording(slot: slots.Slot) -> slots.Slot:
        async def follow(work: slots.Work, batch: Sequence[changes.Change]) -> None:
            followed.extend((slot.name, work.user.user_id, one.seq) for one in batch)

        return replace(slot, before=follow, asks=False)

    of_names = (rule_extraction.RULE_EXTRACTION, model_extraction.MODEL_EXTRACTION)
    async with worker.Worker(
        old, words_alone, followers=[recording(slot) for slot in of_names]
    ).running():
        for caller in everybody:
            for slot in of_names:
                await until_quiet(old, caller, slot.name)
    expected: list[tuple[str, UUID, int]] = []
    for user, log in logs.items():
        of_rules = (log[0], *log[3:])  # the letter, and what comes after the cursor
        of_model = (log[1], *log[4:])
        expected += [("rule_extraction", user, one.seq) for one in of_rules]
        expected += [("model_extraction", user, one.seq) for one in of_model]
    assert sorted(followed) == sorted(expected)
    for caller in everybody:
        async with old.transaction(caller) as tx:
            for slot in of_names:
                last = logs[caller.user_id][-1]
                assert await slots.cursor(tx, caller, slot.name) == slots.Cursor(
                    last.xid, last.seq
                )
            left = await tx.rows("SELECT slot FROM dead_letter")
            assert [row["slot"] for row in left] == ["embedding"]


async def until_quiet(database: db.Database, caller: callers.Caller, slot: str) -> None:
    """Wait until a slot has nothing to follow and nothing to try again."""
    behind: object = None
    letters: object = None
    for _ in range(1000):
        async with database.transaction(caller) as tx:
            at = await slots.cursor(tx, caller, slot)
            behind = await changes.behind(tx, caller, xid=at.xid, seq=at.seq)
            letters = await dead_letters.of_slot(tx, caller, slot)
        if not behind and not letters:
            return
        await asyncio.sleep(0.02)
    raise AssertionError((slot, behind, letters))


async def test_letters_of_before_are_found_by_plain_ones_after_an_upgrade(
    old: db.Database,
    cluster: embedded.EmbeddedServer,
    empty: str,
    monkeypatch: pytest.MonkeyPatch,
    words_alone: embedding.Embeddings,
) -> None:
    monkeypatch.undo()
    url = cluster.place.url(embedded.OWNER_ROLE, database=empty)
    everything = runner.migration_files()
    before = [one for one in everything if "plain_letters" not in one[0]]
    monkeypatch.setattr(runner, "migration_files", lambda: before)
    await runner.migrate(url)
    owner = await somebody(old, "owner")
    async with old.transaction(owner) as tx:
        values = {"title": "Trip", "content": "Łódź with Bjørn Ødegård"}
        await base.create(tx, owner, notes.NOTES, values)
        await base.create(
            tx, owner, contacts.CONTACTS, {"display_name": "Łukasz Źródłowski"}
        )
    async for state in progress.follow(old, words_alone, owner):
        assert not state.trouble
    async with old.transaction(owner) as tx:  # as the version before folded
        await tx.run(
            "UPDATE alias SET alias = 'łukasz zrodłowski' WHERE alias = 'lukasz zrodlowski'"
        )
        await tx.run(
            "UPDATE card SET people = '{łukasz zrodłowski}' WHERE people <> '{}'"
        )
        await tx.run("UPDATE passage SET terms = ''")
        await tx.run("DELETE FROM posting")

    monkeypatch.undo()
    monkeypatch.setattr(runner, "migration_files", lambda: everything)
    assert len(await runner.migrate(url)) == 1
    async for state in progress.follow(old, words_alone, owner):
        assert not state.trouble
    for text, title in (
        ("lodz", "Trip"),
        ("bjorn odegard", "Trip"),
        ("lukasz", "Łukasz Źródłowski"),
    ):
        assert await titles(old, owner, words_alone, text) == [title]
    assert await titles(old, owner, words_alone, "łukasz", person="zrodlowski") == [
        "Łukasz Źródłowski"
    ]
    async with old.snapshot(owner) as tx:
        assert (await lookups.named(tx, owner, "lukasz zrodlowski")).kind == "person"
        assert (
            await tx.value(
                "SELECT count(*) FROM alias WHERE position('ł' in alias) > 0"
            )
            == 0
        )
        people, _ = await lookups.listed(tx, owner, kind="person", name="Łukasz")
        assert [person.name for person in people] == ["Łukasz Źródłowski"]
