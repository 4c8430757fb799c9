"""A database of the first migration, upgraded: everything is found again, by words, in
every scope.
"""

import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import pytest_asyncio

from reverie import config, db, embedded
from reverie.access import callers
from reverie.llm import embedding
from reverie.migrations import runner
from reverie.pipeline import progress
from reverie.records import base, notes
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
    monkeypatch.setattr(runner, "files", lambda: first)
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
        runner, "files", lambda: [one for one in everything if one[0] < "0009"]
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
