"""PostgreSQL connection pool, row-level security, transactions, rows to dataclasses.

The only module that talks to the database.
"""

import asyncio
import dataclasses
import keyword
import struct
import urllib.parse
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, LiteralString, Protocol, TypeVar
from uuid import UUID

import numpy as np
import psycopg
import psycopg.adapt
import psycopg.conninfo
import psycopg.errors
import psycopg.pq
import psycopg.rows
import psycopg.sql
import psycopg.types.json
import psycopg_pool
from numpy.typing import NDArray

from reverie import errors

T = TypeVar("T")
Query = LiteralString | psycopg.sql.Composed
Params = Mapping[str, object] | Sequence[object]
Statement = tuple[Query, Params]
Rows = list[dict[str, Any]]

APP_ROLE = "reverie_app"
_PULSE_SECONDS = 1.0
_REAL, _REAL_ARRAY = 700, 1021  # oids of pg_type
_ACT_FOR = "SELECT set_config('reverie.user_id', %s, true)"
_ACT_FOR_SOON = "SELECT set_config('reverie.user_id', %s, true), set_config('synchronous_commit', 'off', true)"
_SETTINGS = "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS given (name, value)"


class HasUser(Protocol):
    """Whoever a transaction acts for."""

    @property
    def user_id(self) -> UUID: ...


def compose(
    template: LiteralString, **names: str | Sequence[str] | psycopg.sql.Composable
) -> psycopg.sql.Composed:
    """Fill `{name}` places of an SQL text with quoted identifiers (a list becomes a
    comma-separated list).

    Values never go through here: they are parameters.
    """
    parts: dict[str, psycopg.sql.Composable] = {}
    for key, name in names.items():
        if isinstance(name, psycopg.sql.Composable):
            parts[key] = name
        elif isinstance(name, str):
            parts[key] = psycopg.sql.Identifier(name)
        else:
            parts[key] = psycopg.sql.SQL(", ").join(
                psycopg.sql.Identifier(identifier) for identifier in name
            )
    return psycopg.sql.SQL(template).format(**parts)


def text(sql: LiteralString) -> psycopg.sql.SQL:
    """A piece of SQL text, to be composed."""
    return psycopg.sql.SQL(sql)


def number(value: int) -> psycopg.sql.Literal:
    """A number written into SQL text, where a parameter would hide from the planner
    which index fits.
    """
    return psycopg.sql.Literal(int(value))


def join(
    separator: LiteralString, pieces: Sequence[psycopg.sql.Composable]
) -> psycopg.sql.Composed:
    """Pieces of SQL text, joined."""
    return psycopg.sql.SQL(separator).join(pieces)


def placeholders(names: Sequence[str]) -> psycopg.sql.Composed:
    """`%(a)s, %(b)s`: where the values of these names go."""
    return psycopg.sql.SQL(", ").join(psycopg.sql.Placeholder(name) for name in names)


def qualified(table: str, names: Sequence[str]) -> psycopg.sql.Composed:
    """`table.a, table.b`."""
    return psycopg.sql.SQL(", ").join(
        psycopg.sql.Identifier(table, name) for name in names
    )


def json(value: object) -> psycopg.types.json.Jsonb:
    """Mark a parameter as JSONB."""
    return psycopg.types.json.Jsonb(value)


def array(values: Iterable[float | UUID]) -> str:
    """An array of numbers or ids as a parameter: where it goes, its type must be written
    (`%s::bigint[]`). Ten times quicker than a list, for hundreds of them.
    """
    return "{" + ",".join(map(str, values)) + "}"


@dataclasses.dataclass(frozen=True, slots=True)
class Reals:
    """Numbers of 32 bits as one parameter, a `real[]` in binary form."""

    values: NDArray[np.float32]


class _RealsDumper(psycopg.adapt.Dumper):
    """Each number behind its length, as PostgreSQL's array_recv reads them."""

    format = psycopg.pq.Format.BINARY
    oid = _REAL_ARRAY

    def dump(self, obj: Reals) -> bytes:
        rows = np.empty(obj.values.size, [("length", ">i4"), ("value", ">f4")])
        rows["length"] = 4
        rows["value"] = obj.values.reshape(-1)
        dimensions, nulls, first = 1, 0, 1
        head = struct.pack(">5i", dimensions, nulls, _REAL, len(rows), first)
        return head + rows.tobytes()


psycopg.adapters.register_dumper(Reals, _RealsDumper)


def column(field: str) -> str:
    """The column of a dataclass field: `from_` is kept as `from`."""
    return (
        field[:-1] if field.endswith("_") and keyword.iskeyword(field[:-1]) else field
    )


def field(name: str) -> str:
    """The dataclass field of a column: the inverse of `column`."""
    return f"{name}_" if keyword.iskeyword(name) else name


class Transaction:
    """One open transaction of one user (or of nobody, who sees no rows)."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def run(self, query: Query, params: Params = ()) -> int:
        """Execute and return the number of rows touched."""
        cursor = await self._connection.execute(query, params)
        return cursor.rowcount

    async def rows(
        self, query: Query, params: Params = (), *, binary: bool = False
    ) -> list[dict[str, Any]]:
        """All rows, as dictionaries by column. `binary` is the faster way for bytes and
        many numbers.
        """
        async with self._connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            await cursor.execute(query, params, binary=binary)
            return await cursor.fetchall()

    async def together(
        self, *queries: tuple[Query, Params]
    ) -> list[list[dict[str, Any]]]:
        """The rows of several statements, in binary form; in a snapshot they take one
        round trip.
        """
        async with AsyncExitStack() as stack:
            cursors: list[psycopg.AsyncCursor[dict[str, Any]]] = []
            for query, params in queries:
                cursor = self._connection.cursor(row_factory=psycopg.rows.dict_row)
                cursors.append(await stack.enter_async_context(cursor))
                await cursor.execute(query, params, binary=True)
            return [await cursor.fetchall() for cursor in cursors]

    async def all(self, into: type[T], query: Query, params: Params = ()) -> list[T]:
        """All rows, as instances of a dataclass whose fields are the columns."""
        rows = await self.rows(query, params)
        return [
            into(**{field(name): value for name, value in row.items()}) for row in rows
        ]

    async def one(self, into: type[T], query: Query, params: Params = ()) -> T | None:
        """The first row as a dataclass, or None."""
        rows = await self.all(into, query, params)
        return rows[0] if rows else None

    async def value(self, query: Query, params: Params = ()) -> Any:
        """The first column of the first row, or None."""
        cursor = await self._connection.execute(query, params)
        row = await cursor.fetchone()
        return row[0] if row else None

    @asynccontextmanager
    async def savepoint(self) -> AsyncGenerator[None]:
        """A part that can fail without the rest."""
        try:
            async with self._connection.transaction():
                yield
        except psycopg.Error as failure:
            raise translate(failure) from failure


class Database:
    """The connection pool. Every statement runs as `reverie_app`, which owns nothing
    and bypasses nothing.
    """

    def __init__(self, url: str, *, size: int = 10) -> None:
        self.url = url
        self._pool: psycopg_pool.AsyncConnectionPool[psycopg.AsyncConnection[Any]] = (
            psycopg_pool.AsyncConnectionPool(
                url,
                min_size=1,
                max_size=size,
                open=False,
                timeout=10,
                kwargs={"autocommit": True},
                reconnect_timeout=30,
            )
        )

    async def open(self) -> None:
        """Connect, or raise DatabaseUnavailable."""
        try:
            await self._pool.open(wait=True, timeout=30)
        except psycopg_pool.PoolTimeout as failure:
            await self._pool.close()
            raise errors.DatabaseUnavailable(
                f"PostgreSQL does not answer: {failure}.",
                hint="Is the server running? Try `reverie doctor`.",
            ) from failure

    async def close(self) -> None:
        """Give all connections back."""
        await self._pool.close()

    @asynccontextmanager
    async def transaction(
        self, caller: HasUser | None, *, durable: bool = True
    ) -> AsyncGenerator[Transaction]:
        """A transaction in which only the caller's rows exist; it commits when the
        block ends well.

        One that is not `durable` waits for no disk: what can be made again may be lost
        as a whole when the machine or its database dies within the second after.
        """
        async with self._begin() as tx:
            if caller is not None:
                statement = _ACT_FOR if durable else _ACT_FOR_SOON
                await tx.run(statement, (str(caller.user_id),))
            yield tx

    @asynccontextmanager
    async def snapshot(
        self, caller: HasUser, *, settings: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Transaction]:
        """A transaction that only reads and sees one moment throughout; statements that
        can, travel together.

        `settings` are settings of PostgreSQL for its length.
        """
        names = {
            "reverie.user_id": str(caller.user_id),
            "plan_cache_mode": "force_generic_plan",
            **(settings or {}),
        }
        async with self._reading(names) as tx:
            yield tx

    @asynccontextmanager
    async def token_lookup(self, digest: bytes) -> AsyncGenerator[Transaction]:
        """A transaction that only reads and in which one row is visible: the token with
        this SHA-256.
        """
        async with self._reading({"reverie.token_hash": digest.hex()}) as tx:
            yield tx

    @asynccontextmanager
    async def _reading(self, names: Mapping[str, str]) -> AsyncGenerator[Transaction]:
        """A transaction that only reads, in a pipeline, with settings of its own."""
        try:
            async with self._pool.connection() as connection, connection.pipeline():
                await connection.execute(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
                )
                values = (list(names), list(names.values()))
                await connection.execute(_SETTINGS, values)
                yield Transaction(connection)
                await connection.execute("COMMIT")
        except psycopg_pool.PoolTimeout as failure:
            raise _unavailable() from failure
        except psycopg.Error as failure:
            raise translate(failure) from failure

    @asynccontextmanager
    async def system(self) -> AsyncGenerator[Transaction]:
        """A transaction that sees who the users are, and nothing of theirs."""
        async with self._begin() as tx:
            await tx.run("SELECT set_config('reverie.system', 'on', true)")
            yield tx

    @asynccontextmanager
    async def _begin(self) -> AsyncGenerator[Transaction]:
        try:
            async with self._pool.connection() as connection, connection.transaction():
                yield Transaction(connection)
        except psycopg_pool.PoolTimeout as failure:
            raise _unavailable() from failure
        except psycopg.Error as failure:
            raise translate(failure) from failure

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncGenerator[bool]:
        """Hold a lock that one process at a time can hold; says whether it was free. A
        killed holder frees it.
        """
        async with self._plain() as connection:
            cursor = await connection.execute(
                "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)
            )
            row = await cursor.fetchone()
            yield bool(row and row[0])

    async def hold(self, name: str) -> None:
        """Hold a lock until cancelled, so that others can tell by `held` that this
        process lives.

        Raises DatabaseUnavailable when the connection is lost, and the lock with it.
        """
        async with self._plain() as connection:
            await connection.execute(
                "SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,)
            )
            while True:
                await asyncio.sleep(_PULSE_SECONDS)
                await connection.execute("SELECT 1")

    async def is_locked(self, name: str) -> bool:
        """Whether some process holds this lock."""
        async with self._begin() as tx:
            free = await tx.value(
                "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", (name,)
            )
        return not free

    async def listen(self, channel: LiteralString) -> AsyncIterator[str]:
        """The payloads sent to a channel, for as long as the connection lasts."""
        async with self._plain() as connection:
            await connection.execute(compose("LISTEN {channel}", channel=channel))
            async for notice in connection.notifies():
                yield notice.payload

    @asynccontextmanager
    async def _plain(self) -> AsyncGenerator[psycopg.AsyncConnection[Any]]:
        """A connection beside the pool, for what outlives a transaction."""
        try:
            async with await psycopg.AsyncConnection.connect(
                self.url, autocommit=True
            ) as connection:
                yield connection
        except psycopg.Error as failure:
            raise translate(failure) from failure


def _unavailable() -> errors.DatabaseUnavailable:
    return errors.DatabaseUnavailable(
        "PostgreSQL does not answer.",
        hint="Try again in a moment; `reverie doctor` says more.",
    )


async def run_as_owner(url: str, *statements: Query) -> None:
    """Statements of the role that owns the tables, in one session, each by itself: for
    indexes only.
    """
    try:
        async with await owner_connection(url) as connection:
            for statement in statements:
                await connection.execute(statement)
    except psycopg.Error as failure:
        raise translate(failure) from failure


async def owner_connection(url: str) -> psycopg.AsyncConnection[Any]:
    """A connection of the role that owns the tables: for migrations only."""
    try:
        return await psycopg.AsyncConnection.connect(url, autocommit=True)
    except psycopg.Error as failure:
        raise translate(failure) from failure


def as_app(url: str) -> str:
    """The same server, as the role of the application."""
    options = psycopg.conninfo.conninfo_to_dict(url).get("options") or ""
    return psycopg.conninfo.make_conninfo(
        url, options=f"{options} -c role={APP_ROLE}".strip()
    )


def as_uri(url: str) -> str:
    """The same connection as a URI, for those who do not take every form that libpq
    does.
    """
    options = {
        name: str(value)
        for name, value in psycopg.conninfo.conninfo_to_dict(url).items()
        if value is not None
    }
    user, password = (
        urllib.parse.quote(options.pop(name, ""), safe="")
        for name in ("user", "password")
    )
    database = urllib.parse.quote(options.pop("dbname", user), safe="")
    login = ""
    if password:
        login = f"{user}:{password}@"
    elif user:
        login = f"{user}@"
    return f"postgresql://{login}/{database}?{urllib.parse.urlencode(options)}"


@contextmanager
def translated(hint: str) -> Generator[None]:
    """Failures of the database inside the block, as Misconfigured with this hint unless
    it is merely away.
    """
    try:
        yield
    except psycopg.Error as failure:
        meant = translate(failure)
        if isinstance(meant, errors.Unavailable | errors.DiskFull):
            raise meant from failure
        raise errors.Misconfigured(
            f"The database refused: {_message(failure)}.", hint=hint
        ) from failure


def translate(failure: psycopg.Error) -> errors.ReverieError:
    """What a failure of the database means to the user: the one place that decides."""
    if isinstance(failure, psycopg.errors.UniqueViolation):
        return errors.Conflict(
            "It exists already.",
            details={"constraint": failure.diag.constraint_name or ""},
        )
    if isinstance(failure, psycopg.errors.ForeignKeyViolation):
        return errors.Invalid("It refers to something that does not exist.")
    if isinstance(failure, psycopg.errors.DiskFull):
        return errors.DiskFull(
            "The disk that holds the database is full; nothing of this change was kept.",
            hint="Free some space.",
        )
    if isinstance(failure, psycopg.errors.InsufficientPrivilege):
        return errors.Forbidden(
            "The database refused: this row belongs to nobody you act for."
        )
    if isinstance(failure, psycopg.OperationalError | psycopg.InterfaceError):
        reason = str(failure).strip().partition("\n")[0] or "closed"
        return errors.DatabaseUnavailable(
            f"PostgreSQL does not answer ({reason}).",
            hint="Try again in a moment; `reverie doctor` says more.",
        )
    if isinstance(failure, psycopg.DataError):
        return errors.Invalid(
            f"The database cannot keep this value: {_message(failure)}."
        )
    return errors.ReverieError(f"The database failed: {_message(failure)}.")


def _message(failure: psycopg.Error) -> str:
    """What the server says is wrong, or the client when the server says nothing."""
    return failure.diag.message_primary or str(failure)


def names(record: type) -> tuple[str, ...]:
    """The columns of a dataclass, in order."""
    return tuple(column(attribute.name) for attribute in dataclasses.fields(record))
