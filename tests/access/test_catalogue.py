"""The database's own catalogue: every table is closed to all but its user, and the
application's role owns nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql

from reverie import db, embedded, errors
from reverie.access import callers, users
from reverie.graph import attestations, links, merging, nodes
from reverie.ingest import ingestions, units_read
from reverie.ingest.documents import units
from reverie.records import base, catalogue
from tests.records import bodies

WITHOUT_USER = {"migration"}
# The schema `dbos` is not ours: it knows workflows by ids, and
# tests/ingest/test_durable.py looks at what it holds.


@pytest_asyncio.fixture
async def owner_url(cluster: embedded.EmbeddedServer, fresh: str) -> str:
    return cluster.place.url(embedded.OWNER_ROLE, database=fresh)


def asked(url: str, query: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(sql.SQL(query)).fetchall()


TABLES: LiteralString = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'dbos')
"""
MISSING: Mapping[str, LiteralString] = {
    "no user_id that is NOT NULL": """
        NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_id' AND a.attnotnull
            AND a.atttypid = 'uuid'::regtype)""",
    "row-level security not enabled": "NOT c.relrowsecurity",
    "row-level security not forced": "NOT c.relforcerowsecurity",
    "no policy": "NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)",
    "a unique index without user_id": """
        EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_id'
                AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])))""",
    "a foreign key without user_id on both sides": """
        EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f' AND NOT EXISTS (
            SELECT FROM unnest(k.conkey, k.confkey) AS pair (here, there)
            JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = here AND a.attname = 'user_id'
            JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = there AND b.attname = 'user_id'))""",
}


def offenders(url: str) -> dict[str, set[str]]:
    """What each table is guilty of."""
    found = {
        what: {row[0] for row in asked(url, f"{TABLES} AND {condition}")} - WITHOUT_USER
        for what, condition in MISSING.items()
    }
    return {what: tables for what, tables in found.items() if tables}


def test_every_table_is_closed(owner_url: str) -> None:
    tables = {row[0] for row in asked(owner_url, TABLES)}
    assert tables > set(catalogue.DOMAINS) | WITHOUT_USER
    assert offenders(owner_url) == {}


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("CREATE TABLE bad (id uuid PRIMARY KEY)", "no user_id that is NOT NULL"),
        (
            "ALTER TABLE note DISABLE ROW LEVEL SECURITY",
            "row-level security not enabled",
        ),
        (
            "ALTER TABLE note NO FORCE ROW LEVEL SECURITY",
            "row-level security not forced",
        ),
        ("DROP POLICY owner ON note", "no policy"),
        ("CREATE UNIQUE INDEX ON note (id)", "a unique index without user_id"),
        (
            "CREATE UNIQUE INDEX ON note (id) INCLUDE (user_id)",
            "a unique index without user_id",
        ),
        ("ALTER TABLE note ALTER user_id DROP NOT NULL", "no user_id that is NOT NULL"),
        (
            "CREATE TABLE bad (user_id uuid NOT NULL, email_id uuid, n int, FOREIGN KEY (n) REFERENCES other);",
            "a foreign key without user_id on both sides",
        ),
    ],
)
def test_the_check_itself_sees(
    owner_url: str, statement: LiteralString, what: str
) -> None:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE other (n int PRIMARY KEY)")
        if statement.startswith("ALTER TABLE note ALTER"):
            connection.execute("ALTER TABLE note DROP CONSTRAINT note_pkey")
        connection.execute(statement)
    assert offenders(owner_url).get(what, set()) - {"other"}


OURS: LiteralString = """
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'dbos')
"""


def test_nothing_goes_around_the_policies(owner_url: str) -> None:
    assert (
        asked(owner_url, f"SELECT relname {OURS} AND relkind IN ('v', 'm', 'f')") == []
    )
    assert asked(owner_url, "SELECT proname FROM pg_proc WHERE prosecdef") == []
    assert asked(owner_url, "SELECT evtname FROM pg_event_trigger") == []
    triggers: LiteralString = "EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)"
    assert asked(owner_url, f"SELECT relname {OURS} AND {triggers}") == []


DOORS = {
    ("login", "by_hash"),
    ("token", "by_hash"),
    ("users", "first"),
    ("users", "roll"),
}
"""The policies beside `owner`, each with its reason in docs/architecture.md,
"Isolation".
"""


def test_the_policies_are_these(owner_url: str) -> None:
    rows = asked(
        owner_url,
        "SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies"
        " WHERE schemaname = 'public'",
    )
    tables = {row[0] for row in asked(owner_url, TABLES)} - WITHOUT_USER
    assert {(table, name) for table, name, *_ in rows if name == "owner"} == {
        (table, "owner") for table in tables
    }
    assert {(table, name) for table, name, *_ in rows if name != "owner"} == DOORS
    for table, name, permissive, roles, cmd, qual, check in rows:
        assert (permissive, roles) == ("PERMISSIVE", "{public}"), table
        if name == "owner":
            # The same rule for what is read and what is written: nobody can make a row
            # for somebody else.
            assert (cmd, check) == ("ALL", None), table
            assert (
                qual
                == "(user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid)"
            )
    found = {
        (table, name): (cmd, qual or check)
        for table, name, _, _, cmd, qual, check in rows
        if name != "owner"
    }
    assert {door: cmd for door, (cmd, _) in found.items()} == dict.fromkeys(
        DOORS, "SELECT"
    ) | {("users", "first"): "INSERT"}
    assert all(
        "reverie.token_hash" in said
        for (_, name), (_, said) in found.items()
        if name == "by_hash"
    )
    # And what a query could be rewritten to: nothing.
    assert (
        asked(
            owner_url,
            f"SELECT c.relname {OURS} AND EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid)",
        )
        == []
    )


def test_user_id_comes_first(owner_url: str) -> None:
    """In every unique index, so that no key is looked up across people."""
    late = asked(
        owner_url,
        f"{TABLES} AND EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid"
        " AND a.attname = 'user_id' WHERE i.indrelid = c.oid AND i.indisunique AND i.indkey[0] <> a.attnum)",
    )
    assert late == []


def test_the_role_of_the_application(owner_url: str) -> None:
    role = asked(
        owner_url,
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles"
        " WHERE rolname = 'reverie_app'",
    )
    assert role == [(False,) * 5]
    assert (
        asked(
            owner_url,
            "SELECT relname FROM pg_class WHERE relowner = 'reverie_app'::regrole",
        )
        == []
    )
    assert (
        asked(
            owner_url,
            "SELECT proname FROM pg_proc WHERE proowner = 'reverie_app'::regrole",
        )
        == []
    )
    assert (
        asked(
            owner_url,
            "SELECT datname FROM pg_database WHERE datdba = 'reverie_app'::regrole",
        )
        == []
    )
    assert (
        asked(
            owner_url,
            "SELECT 1 FROM pg_auth_members WHERE member = 'reverie_app'::regrole",
        )
        == []
    )
    assert asked(
        owner_url, "SELECT has_schema_privilege('reverie_app', 'public', 'CREATE')"
    ) == [(False,)]
    granted = asked(
        owner_url,
        "SELECT DISTINCT privilege_type FROM information_schema.role_table_grants WHERE grantee = 'reverie_app'"
        " AND table_schema = 'public'",
    )
    assert {row[0] for row in granted} == {"SELECT", "INSERT", "UPDATE", "DELETE"}
    public: LiteralString = (
        "SELECT table_name FROM information_schema.role_table_grants"
        " WHERE grantee = 'PUBLIC' AND table_schema = 'public'"
    )
    assert asked(owner_url, public) == []


FORBIDDEN: Sequence[LiteralString] = (
    "ALTER TABLE note DISABLE ROW LEVEL SECURITY",
    "DROP TABLE note",
    "TRUNCATE note",
    "CREATE TABLE mine ()",
    "SET ROLE reverie_owner",
    "SELECT * FROM migration",
    "COPY note TO PROGRAM 'cat'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT query FROM pg_stat_activity WHERE query LIKE 'x' UNION SELECT rolpassword FROM pg_authid",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
)


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_what_the_application_may_not(
    cluster: embedded.EmbeddedServer, fresh: str, statement: LiteralString
) -> None:
    url = cluster.place.url(embedded.APP_ROLE, database=fresh)
    with (
        psycopg.connect(url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


async def filled(database: db.Database, caller: callers.Caller) -> None:
    """At least one row in every table that has users."""
    for name, domain in catalogue.DOMAINS.items():
        async with database.transaction(caller) as tx:
            made = await base.create(tx, caller, domain, bodies.BODIES[name][0])
            await base.read(tx, caller, domain, made.id)
            await base.update(tx, caller, domain, made.id, {"custom": {"n": 1}})
    me = caller.user_id
    async with database.transaction(caller) as tx:
        await tx.run("INSERT INTO embedding VALUES (%s, 'm', 'h', '[1,2]', 2)", (me,))
        await tx.run("INSERT INTO stale VALUES (%s, 'h')", (me,))
        await tx.run(
            "INSERT INTO unembedded VALUES (%s, 'h', 1, 0, 0, now(), 1)", (me,)
        )
        asked_for = await ingestions.ask(tx, caller, "paths", {"paths": ["/a"]})
        await ingestions.add(
            tx,
            caller,
            asked_for,
            [ingestions.NewFile("/a", "a", {"file": "/a", "vault": False})],
        )
        await units_read.keep(tx, caller, "digest", [units.About("a title")])
        await tx.run(
            "INSERT INTO segment (user_id, size, words, passages) VALUES (%s, 1, 1, 'p')",
            (me,),
        )
        await tx.run(
            "INSERT INTO posting SELECT user_id, id, 1, 0, 1, 'e' FROM segment WHERE user_id = %s",
            (me,),
        )
        await tx.run("INSERT INTO model (user_id, name) VALUES (%s, 'm')", (me,))
        await tx.run(
            "INSERT INTO pseudonym VALUES (%s, 'user', 'person', 'd', 't', 'v')", (me,)
        )
        await tx.run("INSERT INTO pseudonym_key VALUES (%s, 'i')", (me,))
        await tx.run(
            "INSERT INTO pii_routing_log (user_id, feature, domain, lane, level, action, destination, model, tokens_in,"
            " tokens_out, outcome) VALUES (%s, 'ask', '', 'query', 'low', 'local', 'local', 'm', 1, 1, 'done')",
            (me,),
        )
        await tx.run("INSERT INTO password (user_id, hash) VALUES (%s, 'h')", (me,))
        await tx.run(
            "INSERT INTO login (user_id, hash, expires_at) VALUES (%s, 'h', now())",
            (me,),
        )
        await tx.run(
            "INSERT INTO attempt (user_id, who, count) VALUES (%s, 'w', 1)", (me,)
        )
        await tx.run(
            "INSERT INTO agent (user_id, name, about, scopes) VALUES (%s, 'n', '', '{}')",
            (me,),
        )
        await tx.run("INSERT INTO slot (user_id, name) VALUES (%s, 's')", (me,))
        await tx.run(
            "INSERT INTO dead_letter VALUES (%s, 's', %s, 1, 1, 'r', now(), false)",
            (me, uuid4()),
        )
        await tx.run("INSERT INTO upload VALUES (%s, 'd', 'user:me')", (me,))
        await tx.run("INSERT INTO imported_file VALUES (%s, 'p', 'd', now(), 1)", (me,))
        await tx.run(
            "INSERT INTO imported VALUES (%s, 'p', 'k', 'd', 'note', %s, now(), now(), 'o')",
            (me, uuid4()),
        )
        await graph(tx, caller)


async def graph(tx: db.Transaction, caller: callers.Caller) -> None:
    """A graph in which something was said, merged, kept apart and erased."""
    made = [
        await nodes.add(tx, caller, nodes.NodeDraft("person", name))
        for name in ("Ana", "Bo", "Cy", "Dee")
    ]
    ana, bo, cy, dee = [one.id for one in made if one is not None]
    said = links.Evidence(uuid4())
    called = attestations.Attestation(ana, ("Ana",))
    await attestations.keep(tx, caller, said.record_id, [called], by="system")
    assert await links.relate(
        tx, caller, links.Fact(ana, bo, "collaborates_with"), said
    )
    await merging.merge(tx, caller, winner=ana, loser=cy, by=caller.label)
    await merging.keep_apart(tx, caller, ana, bo)
    await nodes.erase(tx, caller, dee)


KEPT = {"pii_routing_log"}
"""What the application's role cannot delete, not even its own: the log of what left."""


async def test_without_a_user_there_is_nothing(
    database: db.Database, owner: callers.Caller, other: callers.Caller, owner_url: str
) -> None:
    await filled(database, owner)
    await filled(database, other)
    tables = sorted({row[0] for row in asked(owner_url, TABLES)} - WITHOUT_USER)
    for table in tables:
        count = db.compose("SELECT count(*) FROM {t}", t=table)
        async with database.transaction(owner) as tx:
            mine = int(await tx.value(count))
            assert mine > 0, f"{table}: fill it, or this test proves nothing"
            users_seen = await tx.rows(
                db.compose("SELECT DISTINCT user_id FROM {t}", t=table)
            )
            assert [row["user_id"] for row in users_seen] == [owner.user_id]
        async with database.transaction(None) as tx:
            assert await tx.value(count) == 0
            if table not in KEPT:
                assert await tx.run(db.compose("DELETE FROM {t}", t=table)) == 0
        with pytest.raises(errors.Forbidden):
            async with database.transaction(None) as tx:
                await tx.run(
                    db.compose("INSERT INTO {t} (user_id) VALUES (%s)", t=table),
                    (owner.user_id,),
                )
        async with database.system() as tx:
            assert await tx.value(count) == (2 if table == "users" else 0)
        # Nor can a row be made for somebody else, or given to them.
        for statement in (
            "INSERT INTO {t} (user_id) VALUES (%s)",
            "UPDATE {t} SET user_id = %s",
        ):
            with pytest.raises(errors.ReverieError) as refused:
                async with database.transaction(owner) as tx:
                    await tx.run(db.compose(statement, t=table), (other.user_id,))
            # `users` is held by the foreign keys before its policy is asked; both
            # refuse.
            assert isinstance(
                refused.value, errors.Forbidden | errors.Invalid | errors.Conflict
            ), table
        if table in KEPT:
            with pytest.raises(errors.Forbidden):
                async with database.transaction(owner) as tx:
                    await tx.run(db.compose("DELETE FROM {t}", t=table))
            continue
        async with database.transaction(owner) as tx:
            assert (
                await tx.run(
                    db.compose("DELETE FROM {t} WHERE user_id = %s", t=table),
                    (other.user_id,),
                )
                == 0
            )


async def test_the_system_sees_who_there_is_and_cannot_change_them(
    database: db.Database, owner: callers.Caller, other: callers.Caller
) -> None:
    assert {one.user_id for one in await users.all_users(database)} == {
        owner.user_id,
        other.user_id,
    }
    async with database.system() as tx:
        assert await tx.run("UPDATE users SET name = 'x'") == 0
        assert await tx.run("DELETE FROM users") == 0
