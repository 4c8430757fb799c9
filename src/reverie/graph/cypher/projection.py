"""Projection of a user's graph in a child process, asked in Cypher with a time limit.

It can be lost and made anew at any time.

A projection holds the rows that it was given and no others, so no query can reach
another user's: whoever loads it reads them under the row-level security of PostgreSQL.
It does not follow the graph. It carries the version of the graph that it was made of,
and `Projections.of` compares that with the version now, before each query.
"""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import errors
from reverie.graph.cypher import child, parser, rendering, schema, value_types

# Limits of docs/decisions/0017: seconds of a query, bytes of an answer, seconds until an
# idle child ends, and how many projections are kept.
SECONDS = 2.0
SIZE = 64 * 1024
IDLE_SECONDS = 300.0
HELD = 4
_GRACE_SECONDS = 0.5  # from when the engine is asked to stop until the child is killed
_ROWS_A_FRAME = 2_000
_LONGEST_PARAMETERS = 64 * 1024


@dataclass(frozen=True, slots=True)
class ProjectedNode:
    """A node of the graph; what it says beside name, type and description is in
    `properties`.
    """

    key: str
    kind: str
    name: str | None = None
    type: str | None = None
    description: str | None = None
    properties: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class ProjectedEdge:
    """A link of the graph, by the keys of its ends."""

    start: str
    stop: str
    relation: str
    link_type: str | None = None
    confidence: float | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    properties: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class CypherAnswer:
    """Rows of values that are JSON, as many as may be told; `notes` says what was put
    right in the query.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    truncated: bool
    took_ms: float
    notes: Sequence[str] = ()


Rows = tuple[Sequence[ProjectedNode], Sequence[ProjectedEdge]]


class Projection:
    """One user's graph, in a child process while it is asked, as bytes to make it anew
    of while it is not.

    `version` is the version of the graph that it was loaded from, and -1 before.
    Queries take turns.
    """

    def __init__(
        self,
        *,
        kinds: Mapping[str, Mapping[str, str]] = schema.KINDS,
        relations: Mapping[str, Mapping[str, str]] = schema.RELATIONS,
        labels: Mapping[str, frozenset[str]] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.version = -1
        self._declared = {"kinds": kinds, "relations": relations}
        self._labels = labels or {}
        self._idle_seconds = idle_seconds
        self._shape: schema.Schema | None = None
        self._frames: Sequence[bytes] = ()
        self._child: child.Process | None = None
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def schema(self) -> schema.Schema:
        """The kinds, relations and properties that can be asked for; raises Unavailable
        before `load`.
        """
        if self._shape is None:
            raise errors.Unavailable(
                "The graph is not loaded yet.", hint="Try again in a moment."
            )
        return self._shape

    @property
    def pid(self) -> int | None:
        """The child process, while there is one."""
        if self._child is None or self._child.returncode is not None:
            return None
        return self._child.pid

    async def load(
        self,
        nodes: Sequence[ProjectedNode],
        edges: Sequence[ProjectedEdge],
        *,
        version: int = 0,
    ) -> None:
        """Take this graph instead of the one before. Queries that wait see it; if it
        fails, the one before stays.
        """
        frames: list[bytes] = []
        process, shape = await child.start(
            _graph_frames(nodes, edges, self._declared, frames), self._labels
        )
        try:
            await self._turn.acquire()
        except BaseException:
            await child.end(process)
            raise
        try:
            before, self._child = self._child, process
            self._shape, self._frames, self.version = shape, frames, version
            self._rest()
            if before is not None:
                await child.end(before)
        finally:
            self._turn.release()

    async def run(
        self,
        text: str,
        *,
        parameters: Mapping[str, object] | None = None,
        verbose: bool = False,
        seconds: float = SECONDS,
    ) -> CypherAnswer:
        """Ask the graph. Raises Invalid for a query that is not allowed, makes no
        sense, or takes too much.
        """
        types = {
            name: value_types.of_value(value)
            for name, value in (parameters or {}).items()
        }
        query = parser.checked(text, self.schema, types)
        values = _engine_parameters(query, parameters or {})
        message: dict[str, object] = {
            "run": query.text,
            "parameters": values,
            "verbose": verbose,
        }
        limits = {"seconds": seconds, "rows": parser.ROWS, "size": SIZE}
        frame = child.frame({**message, **limits})
        async with self._turn:
            if self.pid is None:
                await self._end()
                self._child, self._shape = await child.start(
                    child.each(self._frames), self._labels
                )
            started = time.perf_counter()
            reply = await self._send(frame, seconds)
            took = (time.perf_counter() - started) * 1000
            self._rest()
        if "error" in reply:
            raise self._error(reply, query, seconds)
        return CypherAnswer(
            query.columns,
            reply["rows"],
            bool(reply["truncated"]),
            round(took, 1),
            query.notes,
        )

    async def close(self) -> None:
        """End the child; a later query starts another one."""
        async with self._turn:
            await self._end()

    async def _send(self, frame: bytes, seconds: float) -> dict[str, Any]:
        """Send and wait. A child that is late, gone or out of memory is ended, and so
        is one whose caller went away.
        """
        process = self._child
        if process is None:
            raise errors.Unavailable(
                "The graph is not loaded yet.", hint="Try again in a moment."
            )
        reply: dict[str, Any] = {"error": "gone"}
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                async with asyncio.timeout(seconds + _GRACE_SECONDS):
                    reply = await child.exchange(process, child.each([frame]))
        except TimeoutError:
            reply = {"error": "time"}
            await self._end()
        except BaseException:
            await self._end()
            raise
        if reply.get("error") == "gone":
            await self._end()
        return reply

    def _error(
        self, reply: Mapping[str, Any], query: parser.Checked, seconds: float
    ) -> errors.Invalid:
        match reply["error"]:
            case "time":
                return errors.Invalid(
                    f"The query took longer than {seconds:g} seconds and was stopped.",
                    hint="Name a kind or a key to start from, or follow fewer links.",
                )
            case "memory" | "gone":
                return errors.Invalid(
                    "The query needed more than it may take and was stopped.",
                    hint="Name a kind or a key to start from, or return less.",
                )
            case _:
                message = parser.readable(str(reply["message"]), query.names)
                shape = str(self.schema) if "Cannot find property" in message else ""
                return errors.Invalid(
                    f"The query cannot be answered: {message.rstrip('.')}.", hint=shape
                )

    async def _end(self) -> None:
        process, self._child = self._child, None
        if self._timer is not None:
            self._timer.cancel()
        if process is not None:
            await child.end(process)

    def _rest(self) -> None:
        """Count the idle time from now on."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(
            self._idle_seconds, self._sleep
        )

    def _sleep(self) -> None:
        if self._child is not None and not self._turn.locked():
            with suppress(ProcessLookupError):
                self._child.kill()


class Projections:
    """The projections of the users who asked last. One that goes is made again when its
    user asks again.
    """

    def __init__(self, *, held: int = HELD, idle_seconds: float = IDLE_SECONDS) -> None:
        self._held, self._idle_seconds = held, idle_seconds
        self._slots: OrderedDict[UUID, _Slot] = OrderedDict()

    async def of(
        self, user_id: UUID, version: int, rows: Callable[[], Awaitable[Rows]]
    ) -> Projection:
        """This user's projection at this version of the graph or a later one.

        The version is read before this is called and never goes down; `rows` reads the
        graph, under the user's own rights, and is called only if the projection is
        older. Whoever asks at the same time waits and shares it.
        """
        slot = self._slots.get(user_id)
        if slot is None:
            slot = self._slots[user_id] = _Slot(
                Projection(idle_seconds=self._idle_seconds)
            )
        self._slots.move_to_end(user_id)
        async with slot.turn:
            if slot.projection.version < version:
                await slot.projection.load(*await rows(), version=version)
        await self._shrink()
        return slot.projection

    async def drop(self, user_id: UUID) -> None:
        """Forget what is held of this user, because it was erased or its versions start
        anew.
        """
        slot = self._slots.pop(user_id, None)
        if slot is not None:
            async with slot.turn:
                await slot.projection.close()

    async def close(self) -> None:
        """End every child."""
        for user_id in list(self._slots):
            await self.drop(user_id)

    async def _shrink(self) -> None:
        """Let go of those that were asked longest ago. One in somebody's hands still
        answers, and sleeps when idle.
        """
        while len(self._slots) > self._held:
            _, slot = self._slots.popitem(last=False)
            await slot.projection.close()


@dataclass(frozen=True, slots=True)
class _Slot:
    projection: Projection
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


def _engine_parameters(
    query: parser.Checked, parameters: Mapping[str, object]
) -> Mapping[str, object]:
    missing = [name for name in query.parameters if name not in parameters]
    if missing:
        raise errors.Invalid(f"The query wants a value for ${missing[0][:60]}.")
    values = {own: parameters[name] for name, own in query.parameters.items()}
    try:
        size = len(json.dumps(values, default=rendering.tagged, allow_nan=False))
    except (TypeError, ValueError):
        raise errors.Invalid(
            "A parameter is a text, a number, true or false, a date, a list or a map."
        ) from None
    if size > _LONGEST_PARAMETERS:
        raise errors.Invalid(
            f"The parameters are longer than {_LONGEST_PARAMETERS // 1024} KB."
        )
    return values


async def _graph_frames(
    nodes: Sequence[ProjectedNode],
    edges: Sequence[ProjectedEdge],
    declared: Mapping[str, object],
    kept: list[bytes],
) -> AsyncIterator[bytes]:
    """A graph in frames, which are kept too: each made in a thread, and so small that
    others get their turn.
    """
    for start in range(0, len(nodes), _ROWS_A_FRAME):
        kept.append(
            await asyncio.to_thread(_nodes, nodes[start : start + _ROWS_A_FRAME])
        )
        yield kept[-1]
    for start in range(0, len(edges), _ROWS_A_FRAME):
        kept.append(
            await asyncio.to_thread(_edges, edges[start : start + _ROWS_A_FRAME])
        )
        yield kept[-1]
    kept.append(child.frame({"ready": declared}))
    yield kept[-1]


def _nodes(part: Sequence[ProjectedNode]) -> bytes:
    rows = [(n.kind, n.key, n.name, n.type, n.description, n.properties) for n in part]
    return child.frame({"nodes": rows})


def _edges(part: Sequence[ProjectedEdge]) -> bytes:
    rows = [
        (
            e.start,
            e.stop,
            e.relation,
            e.link_type,
            e.confidence,
            e.valid_from,
            e.valid_to,
            e.properties,
        )
        for e in part
    ]
    return child.frame({"links": rows})
