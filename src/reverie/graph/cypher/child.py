"""Child process of the query engine: how it is started, spoken to in frames, and ended.

A frame is four bytes of length, then JSON.
"""

import asyncio
import json
import os
import struct
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from reverie import errors
from reverie.graph.cypher import rendering, schema

Process = asyncio.subprocess.Process

_LOADING_SECONDS = 60.0
_LONGEST_REPLY = 256 * 1024  # bytes: four times an answer (projection.SIZE)
# Little address space for the C library, whose habit it is to set some aside for each
# thread.
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "MALLOC_ARENA_MAX": "2",
}


async def each(frames: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Frames that are there already, as `start` and `exchange` take them."""
    for frame_ in frames:
        yield frame_


def frame(message: Mapping[str, object]) -> bytes:
    """A message as the child reads it."""
    body = json.dumps(message, default=rendering.tagged).encode()
    return struct.pack(">I", len(body)) + body


async def start(
    frames: AsyncIterator[bytes], labels: Mapping[str, frozenset[str]]
) -> tuple[Process, schema.Schema]:
    """A child that holds this graph, and the graph's schema. Raises Unavailable."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-s", "-B", "-m", "reverie.graph.cypher.engine"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
        env={
            **_ENVIRONMENT,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_LOADING_SECONDS):
            reply = await exchange(child, frames)
    except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
        await end(child)
        raise errors.Unavailable(
            "The graph could not be made ready to be asked.",
            hint="Try again; if it stays so, look into the log.",
        ) from None
    except BaseException:
        await end(child)
        raise
    return child, _schema(reply["shape"], labels)


def _schema(
    shape: Mapping[str, Any], labels: Mapping[str, frozenset[str]]
) -> schema.Schema:
    """The schema of the tables that the child has made."""
    relations = {
        name: schema.SchemaRelation(
            [(first, second) for first, second in table["pairs"]],
            table["properties"],
            table["name"],
            table["looped"],
        )
        for name, table in shape["relations"].items()
    }
    return schema.Schema(shape["nodes"], relations, labels)


async def exchange(child: Process, frames: AsyncIterator[bytes]) -> dict[str, Any]:
    """Send frames and wait for the reply. Raises ConnectionError, IncompleteReadError."""
    if child.stdin is None or child.stdout is None:
        raise ConnectionError
    async for frame_ in frames:
        child.stdin.write(frame_)
        await child.stdin.drain()
    (size,) = struct.unpack(">I", await child.stdout.readexactly(4))
    if size > _LONGEST_REPLY:
        raise ConnectionError
    return json.loads(await child.stdout.readexactly(size))


async def end(child: Process) -> None:
    """Kill a child and wait until it is gone, whatever happens to whoever waits."""
    with suppress(ProcessLookupError):
        child.kill()
    if child.stdin is not None:
        child.stdin.close()
    await asyncio.shield(child.wait())
