"""How fast the graph answers and learns: neighbours, shortest paths, a part to draw, a
mail with three people.

    python bench/graph_speed.py [--nodes 10000] [--links 50000] [--queries 300] [--json]

The graph is random and grows by preferential attachment, so that it has hubs as lives
have. It lies in an embedded PostgreSQL of its own that is removed at the end.
`database` is the time of the statements as the client sees them over the local socket,
warm, under the application's role and its row-level security; `whole` has the nodes
made of the rows.
"""

import argparse
import asyncio
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg.rows
import spine

from reverie import db, embedded
from reverie.access import callers, tokens, users
from reverie.graph import lookups, nodes
from reverie.graph.extraction import record_fields, update
from reverie.migrations import runner

_KINDS = (("source", 0.4), ("person", 0.2), ("entity", 0.2), ("concept", 0.2))
_NODES = """
INSERT INTO node (user_id, id, key, kind, name, type, description, created_by,
    properties)
SELECT %s, new.id, new.id::text, new.kind, new.name, '', repeat(new.name || ' ', 8), 'system', '{"notes": "some words"}'
FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS new (id, kind, name)
"""
_ALIASES = "INSERT INTO alias (user_id, alias, node_id, kind) SELECT user_id, lower(name), id, 'name' FROM node"
_LINKS = """
INSERT INTO link (user_id, from_id, to_id, relation, link_type, confidence, created_by)
SELECT %s, new.here, new.there, 'relates_to', 'extracted', new.confidence, 'system'
FROM unnest(%s::uuid[], %s::uuid[], %s::real[]) AS new (here, there, confidence)
ON CONFLICT DO NOTHING
"""
_EVIDENCE = """
INSERT INTO evidence (user_id, link_id, record_id, by) SELECT user_id, id, gen_random_uuid(), 'system' FROM link
"""
TARGETS = {"expand, depth 2": 3.0, "path, depth 4": 10.0, "subgraph of 100": 10.0}


@dataclass(slots=True)
class Times:
    """Milliseconds of each call: in its statements, and in all."""

    database: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])


class Timed(db.Transaction):
    """A transaction that knows how long its statements took until their answer was
    there.
    """

    spent = 0.0

    async def rows(
        self, query: db.Query, params: db.Params = (), *, binary: bool = False
    ) -> list[dict[str, Any]]:
        async with self._connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            began = time.perf_counter()
            await cursor.execute(query, params, binary=binary)
            self.spent += time.perf_counter() - began
            return await cursor.fetchall()


def grown(size: int, count: int, dice: random.Random) -> list[tuple[int, int]]:
    """Pairs of nodes: each new one is joined to some that have many already."""
    each = max(1, round(count / size))
    pairs: set[tuple[int, int]] = set()
    ends = list(range(each + 1))
    for new in range(1, size):
        chosen: set[int] = set()
        while len(chosen) < min(each, new):
            one = dice.choice(ends) if dice.random() < 0.9 else dice.randrange(new)
            if one < new:
                chosen.add(one)
        for one in sorted(chosen):
            pairs.add((new, one) if dice.random() < 0.5 else (one, new))
            ends += [new, one]
    while len(pairs) < count:
        here, there = dice.choice(ends), dice.randrange(size)
        if here != there and (there, here) not in pairs:
            pairs.add((here, there))
    return sorted(pairs)[:count]


async def filled(
    database: db.Database, caller: callers.Caller, size: int, count: int
) -> list[UUID]:
    """The graph, and the ids of its nodes."""
    dice = random.Random(5)
    speaker = spine.Speaker()
    ids = [UUID(int=dice.getrandbits(128)) for _ in range(size)]
    kinds = dice.choices(
        [name for name, _ in _KINDS], [share for _, share in _KINDS], k=size
    )
    called = [f"{' '.join(speaker.words(2))} {i}" for i in range(size)]
    pairs = grown(size, count, dice)
    async with database.transaction(caller) as tx:
        await nodes.bump(tx, caller)
        await tx.run(_NODES, (caller.user_id, ids, kinds, called))
        here, there = [ids[a] for a, _ in pairs], [ids[b] for _, b in pairs]
        confidences = [dice.choice([0.4, 0.6, 0.8, 0.9, 1.0]) for _ in pairs]
        await tx.run(_LINKS, (caller.user_id, here, there, confidences))
        await tx.run(_ALIASES)
        await tx.run(_EVIDENCE)
        await nodes.recount(tx, caller, ids)
    return ids


def mail(dice: random.Random, known: int) -> update.Extraction:
    """A mail of three people, some of them known."""
    numbers = [dice.randrange(known) for _ in range(3)]
    people = [
        record_fields.Person(f"Ana Person {i}", (f"ana{i}@example.org",), role=role)
        for i, role in zip(numbers, ("from", "to", "cc"), strict=True)
    ]
    return update.Extraction(
        "email",
        uuid4(),
        "About the bees",
        datetime.now(UTC),
        fields=record_fields.FieldEntities(people),
    )


Ask = Callable[[db.Transaction], Awaitable[object]]


async def measured(
    database: db.Database, caller: callers.Caller, asks: Sequence[Ask]
) -> Times:
    """Each question in a transaction of its own, as the product asks; the first tenth
    only warms.
    """
    times = Times()
    for at, ask in enumerate(asks):
        async with database.transaction(caller) as tx:
            timed = Timed(tx._connection)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            began = time.perf_counter()
            await ask(timed)
            whole = time.perf_counter() - began
        if at >= len(asks) // 10:
            times.database.append(timed.spent * 1000)
            times.whole.append(whole * 1000)
    return times


def questions(
    caller: callers.Caller, ids: Sequence[UUID], count: int
) -> dict[str, list[Ask]]:
    """What is asked, by name."""
    dice = random.Random(11)

    def expand(depth: int) -> list[Ask]:
        chosen = [dice.choice(ids) for _ in range(count)]
        return [
            lambda tx, one=one: lookups.connections(tx, caller, [one], depth=depth)
            for one in chosen
        ]

    pairs = [dice.sample(ids, 2) for _ in range(count)]
    hub = ids[0]
    return {
        "expand, depth 1": expand(1),
        "expand, depth 2": expand(2),
        "expand, depth 3": expand(3)[: max(20, count // 10)],
        "expand a hub, depth 2": [
            lambda tx: lookups.connections(tx, caller, [hub], depth=2)
        ]
        * max(20, count // 10),
        "path, depth 4": [
            lambda tx, a=a, b=b: lookups.path(tx, caller, a, b) for a, b in pairs
        ],
        "subgraph of 100": [lambda tx: lookups.subgraph(tx, caller, limit=100)] * count,
        "links of a node": [
            lambda tx, a=a: lookups.links_of(tx, caller, [a]) for a, _ in pairs
        ],
        "list of 50": [lambda tx: lookups.listed(tx, caller)] * count,
    }


async def learnt(
    database: db.Database, caller: callers.Caller, count: int
) -> list[float]:
    """Milliseconds of learning a mail, its transaction included."""
    dice, times = random.Random(3), list[float]()
    for _ in range(count):
        one = mail(dice, 500)
        began = time.perf_counter()
        async with database.transaction(caller) as tx:
            await update.apply(tx, caller, one)
        times.append((time.perf_counter() - began) * 1000)
    return times[count // 10 :]


async def figures(
    server: embedded.EmbeddedServer, given: argparse.Namespace
) -> dict[str, Any]:
    """Everything that is measured."""
    await runner.ensure_database(
        server.place.url(embedded.OWNER_ROLE, database="postgres"), "graph"
    )
    await runner.migrate(server.place.url(embedded.OWNER_ROLE, database="graph"))
    database = db.Database(server.place.url(embedded.APP_ROLE, database="graph"))
    await database.open()
    try:
        user = await users.create(database, name="owner", timezone="UTC", role="owner")
        caller = await tokens.caller(
            database, await tokens.mint(database, user.user_id, name="bench")
        )
        ids = await filled(database, caller, given.nodes, given.links)
        early = await learnt(database, caller, 60)
        owner = await db.owner_connection(
            server.place.url(embedded.OWNER_ROLE, database="graph")
        )
        await owner.execute("VACUUM ANALYZE")
        await owner.close()
        taken = {
            name: await measured(database, caller, asks)
            for name, asks in questions(caller, ids, given.queries).items()
        }
        writes = await learnt(database, caller, given.queries)
    finally:
        await database.close()
    shown = {
        name: {"database": percentiles(some.database), "whole": percentiles(some.whole)}
        for name, some in taken.items()
    }
    learning_ = {
        "learn, before statistics": {"whole": percentiles(early)},
        "learn a mail of three": {"whole": percentiles(writes)},
    }
    return {"ms": shown | learning_}


def percentiles(taken: Sequence[float]) -> tuple[float, float]:
    """p50 and p95."""
    cuts = statistics.quantiles(taken, n=20)
    return round(cuts[9], 2), round(cuts[18], 2)


def targets_of(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was to be reached, beside what was."""
    return [
        {
            "what": f"{name}, p50 ms",
            "reached": found["ms"][name]["database"][0],
            "wanted": wanted,
        }
        | {"ok": found["ms"][name]["database"][0] <= wanted}
        for name, wanted in TARGETS.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--links", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    home = Path(tempfile.mkdtemp(prefix="rev-graph-", dir="/tmp"))
    home.chmod(0o711)
    server = embedded.acquire(home)
    try:
        found = asyncio.run(figures(server, given))
    finally:
        server.release()
        shutil.rmtree(home, ignore_errors=True)
    targets = targets_of(found)
    where = spine.surroundings()
    if given.json:
        told = {
            "surroundings": where,
            "nodes": given.nodes,
            "links": given.links,
            **found,
            "targets": targets,
        }
        print(json.dumps(told, indent=2))
        return 0
    print(f"{where}\n{given.nodes:,} nodes, {given.links:,} links; ms, p50 and p95")
    for name, some in found["ms"].items():
        print(
            f"  {name:<26}"
            + "".join(
                f"  {what} {p50:>8} {p95:>8}" for what, (p50, p95) in some.items()
            )
        )
    for one in targets:
        print(
            f"  {one['what']:<34}{one['reached']:>8}  <= {one['wanted']:g}  {'yes' if one['ok'] else 'NO'}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
