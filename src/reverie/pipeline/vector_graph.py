"""Graphs of vectors (HNSW) for a backlog: taken down, and built at once when it is done.

Without its graph a search compares every vector, which is exact. What a killed process
leaves behind, no graph or half of one, the next one sees and builds.
"""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass

from reverie import db, errors
from reverie.access import users

log = logging.getLogger(__name__)

# docs/decisions/0026 has the figures. From so many texts on, a backlog is worth it.
BACKLOG = 5_000
# So few left are no backlog any more.
_REST = 200
# More vectors than this are not compared one by one: what is there keeps its graph, and
# a backlog without one gets it.
_MOST = 100_000
_LOOK_S = 1.0
_LONGEST_PAUSE_S = 300.0
_LENGTHS: tuple[int, ...] = (256, 384, 512, 768, 1024, 1536, 2048, 3072)

# The model chosen last is the one whose vectors are made.
_OF_USER = """
SELECT dimensions, vectors,
    CASE WHEN row_number() OVER (ORDER BY chosen_at DESC, name) = 1 THEN (
        SELECT count(*) FROM (SELECT FROM unembedded WHERE user_id = %(user)s LIMIT %(most)s)
    ) ELSE 0 END AS waiting
FROM model WHERE user_id = %(user)s AND dimensions IS NOT NULL
"""
_GRAPHS = """
SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = 'embedding'::regclass AND indisvalid
"""
_DROP = "DROP INDEX IF EXISTS {name}"
# As in migrations/0002_index.sql.
_BUILD = """
CREATE INDEX CONCURRENTLY {name} ON embedding USING hnsw ((vector::halfvec({length})) halfvec_ip_ops)
WITH (m = 16, ef_construction = 128) WHERE dimensions = {length}
"""
# For 100,000 vectors of 1,024 numbers; a graph that does not fit takes ten times as
# long.
_MEMORY = "SET maintenance_work_mem = '256MB'"
# Nobody waits longer for a search or a vector.
_PATIENCE = "SET lock_timeout = '2s'"
_ALONE = "SET max_parallel_maintenance_workers = 0"


@dataclass(frozen=True, slots=True)
class _Load:
    """Vectors of each length, of everybody, how many texts wait, and which lengths have
    their graph.
    """

    vectors: Counter[int]
    waiting: Counter[int]
    graphs: frozenset[int]

    def to_drop(self) -> list[int]:
        """The lengths whose graph a backlog is better off without: it is no small part
        of what the graph has to hold afterwards.
        """
        return [
            length
            for length in self.graphs
            if self.waiting[length] >= BACKLOG
            and self.vectors[length] <= min(2 * self.waiting[length], _MOST)
        ]

    def to_build(self) -> list[int]:
        """The lengths that want their graph now."""
        return [
            length
            for length in _LENGTHS
            if length not in self.graphs
            and (self.waiting[length] <= _REST or self.vectors[length] > _MOST)
        ]


class Graphs:
    """The graphs of one database, tended by one process at a time: one that may act as
    the owner of the tables (`owner_url`).

    `pending`: a graph is missing, and this process will build it.
    """

    def __init__(self, database: db.Database, owner_url: str) -> None:
        self._database = database
        self._owner_url = owner_url
        self.pending = bool(owner_url)

    async def tend(self) -> None:
        """Take graphs down and build them, until cancelled."""
        pause = _LOOK_S
        while self._owner_url:
            try:
                async with self._database.alone("vector graphs") as mine:
                    self.pending &= mine
                    while mine:
                        await self.look()
                        pause = _LOOK_S
                        await asyncio.sleep(_LOOK_S)
            except errors.ReverieError as away:
                log.warning("graphs of vectors: %s", away.message)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            except Exception:  # a task that ends is noticed by nobody
                log.exception("the graphs of vectors stumbled")
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            self.pending = False
            await asyncio.sleep(pause)

    async def look(self) -> None:
        """Do what is to be done now."""
        load = await _load(self._database)
        missing: set[int] = set(_LENGTHS) - load.graphs
        for length in load.to_drop():
            await db.run_as_owner(self._owner_url, _PATIENCE, _drop(length))
            missing.add(length)
        self.pending = bool(missing)
        for length in load.to_build():
            await self._build(length)
            missing.remove(length)
        self.pending = bool(missing)

    async def _build(self, length: int) -> None:
        """Build while others write; half a graph of a killed process goes first. Where
        several workers have no memory to share, one builds.
        """
        build = db.compose(_BUILD, name=_name(length), length=db.number(length))
        await db.run_as_owner(self._owner_url, _PATIENCE, _drop(length))
        try:
            await db.run_as_owner(self._owner_url, _MEMORY, build)
        except errors.DiskFull:
            await db.run_as_owner(self._owner_url, _PATIENCE, _drop(length))
            await db.run_as_owner(self._owner_url, _MEMORY, _ALONE, build)


def _drop(length: int) -> db.Query:
    return db.compose(_DROP, name=_name(length))


def _name(length: int) -> str:
    return f"embedding_{length}"


async def _load(database: db.Database) -> _Load:
    vectors: Counter[int] = Counter()
    waiting: Counter[int] = Counter()
    graphs: set[str] = set()
    for user in await users.all_users(database):
        values = {"user": user.user_id, "most": _MOST}
        async with database.transaction(users.Reference(user.user_id)) as tx:
            for row in await tx.rows(_OF_USER, values):
                vectors[row["dimensions"]] += row["vectors"]
                waiting[row["dimensions"]] += row["waiting"]
    async with database.system() as tx:
        graphs.update(row["relname"] for row in await tx.rows(_GRAPHS))
    standing = frozenset(length for length in _LENGTHS if _name(length) in graphs)
    return _Load(vectors, waiting, standing)
