"""The home that search is timed in: the corpus kept by two users, through the product's
own writes and worker.
"""

import asyncio
import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import psycopg.rows
from sets import shapes

from reverie import app, config, embedded
from reverie.access import callers, users
from reverie.pipeline import worker
from reverie.records import base, catalogue
from speed import corpus

_BATCH = 50
_AT_ONCE = 2
_SAY_S = 10.0
_LONGEST_WAIT_S = 12 * 3600
_INDEXED_BY = ("records", "pipeline", "migrations")
_IDS = "SELECT record_id FROM card WHERE user_id = %s"
_STATE = """
SELECT count(*) AS passages, coalesce(bit_xor(('x' || encode(substr(hash, 1, 8), 'hex'))::bit(64)::bigint), 0) AS keys,
    (SELECT count(*) FROM embedding WHERE user_id = %(user)s) AS vectors
FROM passage WHERE user_id = %(user)s
"""
_TABLES = """
SELECT relname AS name, pg_total_relation_size(relid) AS bytes, pg_indexes_size(relid) AS indexes,
    n_live_tup AS live, n_dead_tup AS dead, autovacuum_count AS vacuumed
FROM pg_stat_user_tables WHERE pg_total_relation_size(relid) > 1000000 ORDER BY 2 DESC
"""
_INDEXES = """
SELECT indexrelname AS name, pg_relation_size(indexrelid) AS bytes FROM pg_stat_user_indexes
WHERE pg_relation_size(indexrelid) > 1000000 ORDER BY 2 DESC
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A corpus as a user of the product keeps it, with the exact vectors of its
    passages.
    """

    caller: callers.Caller
    plan: corpus.Corpus
    known: corpus.Known


@dataclass(frozen=True, slots=True)
class Home:
    """A running product, what its embedder is given, and who keeps what."""

    life: app.App
    given: corpus.Given
    folder: Path
    owner: Kept
    tenant: Kept | None
    built: Mapping[str, Any]


@contextlib.asynccontextmanager
async def opened(folder: Path, size: int, *, tenants: bool) -> AsyncGenerator[Home]:
    """The home in a folder with everything in it, indexed and analysed; what is there
    already is not made again.
    """
    place = folder / "life"
    embedded.make_home(folder)
    embedded.make_home(place)
    given = corpus.Given()
    async with app.opened(config.load({"REVERIE_HOME": str(place)})) as life:
        life.embeddings.close()
        life = dataclasses.replace(life, embeddings=given)
        try:
            built = _manifest(folder)
            owner = _kept(life.owner, corpus.Corpus(size), folder)
            figures = await _held(life, given, owner, "owner")
            if figures["written"]:
                built["figures"] = figures
            _save(folder, built)
            tenant = None
            if tenants:
                plan = corpus.Corpus(max(100, size // 1000), seed=8)
                tenant = _kept(await _tenant(life, built, folder), plan, folder)
                await _held(life, given, tenant, "tenant")
            yield Home(life, given, folder, owner, tenant, built.get("figures", {}))
        finally:
            given.close()


def _manifest(folder: Path) -> dict[str, Any]:
    """What is known of the home from before; says so if other code made it."""
    file, shape = folder / "bench.json", shapes.of_code(_INDEXED_BY)
    known: dict[str, Any] = (
        json.loads(file.read_text("utf-8")) if file.exists() else {"shape": shape}
    )
    if known["shape"] != shape:
        tell(
            f"{folder}: made by other code of {', '.join(_INDEXED_BY)}. It is used as it is, migrated; "
            "where writes or the worker have changed what they keep, remove the folder."
        )
    return known


def _save(folder: Path, built: Mapping[str, Any]) -> None:
    (folder / "bench.json").write_text(json.dumps(built), "utf-8")


def _kept(caller: callers.Caller, made: corpus.Corpus, folder: Path) -> Kept:
    began = time.perf_counter()
    known = corpus.known(made, folder)
    tell(f"{made.size:,} exact vectors known after {time.perf_counter() - began:.1f} s")
    return Kept(caller, made, known)


async def _tenant(life: app.App, built: dict[str, Any], folder: Path) -> callers.Caller:
    if "tenant" not in built:
        user = await users.create(life.database, name="tenant", timezone="UTC")
        built["tenant"] = str(user.user_id)
        _save(folder, built)
    return callers.Caller(UUID(built["tenant"]), "user", "tenant", frozenset({"*:*"}))


async def _held(
    life: app.App, given: corpus.Given, kept: Kept, name: str
) -> dict[str, Any]:
    """Write what is missing, let the worker catch up, and check that the product holds
    what was planned.
    """
    async with life.database.transaction(kept.caller) as tx:
        there = {
            row["record_id"] for row in await tx.rows(_IDS, (kept.caller.user_id,))
        }
    missing = kept.plan.records - len(there)
    began = time.perf_counter()
    written = await _write(life, kept, there, name) if missing else 0
    writing = time.perf_counter() - began
    began = time.perf_counter()
    await caught_up(life, given, kept.caller, name)
    embedding = time.perf_counter() - began
    if written:
        await asyncio.to_thread(
            statements, life, "VACUUM ANALYZE"
        )  # as autovacuum does within the first minutes
    async with life.database.transaction(kept.caller) as tx:
        (state,) = await tx.rows(_STATE, {"user": kept.caller.user_id})
    if (state["passages"], state["keys"]) != (kept.plan.size, kept.known.checksum()):
        tell(
            f"{name}: {state['passages']:,} passages where {kept.plan.size:,} were planned, or other ones"
        )
    tell(
        f"{name}: {kept.plan.records:,} records, {state['passages']:,} passages, {state['vectors']:,} vectors"
    )
    return {
        "written": written,
        "write_passages_s": round(written / writing, 1) if written else 0,
        "embed_passages_s": round(written / embedding, 1) if written else 0,
        "build_s": round(writing + embedding),
    }


async def _write(life: app.App, kept: Kept, there: set[UUID], name: str) -> int:
    """All records that are not there yet, fifty to a transaction, two at once; returns
    how many passages.
    """
    began = said = time.perf_counter()
    written = 0
    batches = _batches(kept.plan, there)

    async def writer() -> None:
        nonlocal written, said
        for batch in batches:
            async with life.database.transaction(kept.caller) as tx:
                for one in batch:
                    await base.create(
                        tx,
                        kept.caller,
                        catalogue.domain(one.kind),
                        one.values(),
                        record_id=one.id,
                    )
            written += sum(len(one.pieces) for one in batch)
            if time.perf_counter() - said > _SAY_S:
                said = time.perf_counter()
                tell(
                    f"{name}: {written:,} passages written, {written / (said - began):.0f} a second"
                )

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(writer())
    return written


def _batches(made: corpus.Corpus, there: set[UUID]) -> Iterator[list[corpus.Record]]:
    for first in range(0, made.records, _BATCH):
        some = (
            made.record(number)
            for number in range(first, min(first + _BATCH, made.records))
        )
        if batch := [one for one in some if one.id not in there]:
            yield batch


async def caught_up(
    life: app.App, given: corpus.Given, caller: callers.Caller, name: str
) -> float:
    """Run the product's worker until its slots have nothing to do for a caller; returns
    the seconds it took.

    progress.follow does this for commands, and counts all vectors five times a second:
    at this size that would be most of the work.
    """
    began = said = time.perf_counter()
    before = given.made
    following = worker.Worker(life.database, given, owner_url=life.owner_url)
    async with following.running():
        while time.perf_counter() - began < _LONGEST_WAIT_S:
            async with life.database.transaction(caller) as tx:
                standings = [
                    one
                    for one in await worker.standings(tx, caller)
                    if not one.waits_for
                ]
            if trouble := [one.trouble for one in standings if one.trouble]:
                tell(f"{name}: {trouble[0]}")
            elif not following.graphs.pending and not any(
                one.behind for one in standings
            ):
                return time.perf_counter() - began
            if time.perf_counter() - said > _SAY_S:
                said, made = time.perf_counter(), given.made - before
                tell(
                    f"{name}: {made:,} passages embedded, {made / (said - began):.0f} a second"
                )
            await asyncio.sleep(0.5)
    raise SystemExit(
        f"{name}: the worker has not caught up in {_LONGEST_WAIT_S / 3600:.0f} hours"
    )


def statements(life: app.App, *texts: str) -> None:
    """Run statements as the owner of the tables, who sees the owner's rows."""
    with owner_connection(life) as connection:
        for text in texts:
            connection.execute(text.encode())


def sizes(life: app.App) -> dict[str, list[dict[str, Any]]]:
    """Tables and indexes of a megabyte or more, with what is dead in them as far as
    PostgreSQL counted.
    """
    with owner_connection(life) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        tables, indexes = (
            connection.execute(_TABLES).fetchall(),
            connection.execute(_INDEXES).fetchall(),
        )
        return {"tables": tables, "indexes": indexes}


def owner_connection(life: app.App) -> psycopg.Connection[dict[str, Any]]:
    """The tables' owner, seeing the user's rows."""
    assert life.server
    rows: psycopg.rows.RowFactory[dict[str, Any]] = psycopg.rows.dict_row
    connection = psycopg.Connection[dict[str, Any]].connect(
        life.server.owner_url, autocommit=True, row_factory=rows
    )
    connection.execute(
        "SELECT set_config('reverie.user_id', %s, false)", (str(life.owner.user_id),)
    )
    return connection


def tell(line: str) -> None:
    """Progress, beside the table."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
