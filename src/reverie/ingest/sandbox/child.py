"""The process that reads one file: forked for it, confined, fed through one socket, and
gone when the file is read.
"""

import json
import os
import resource
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Protocol

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.documents import kinds, units
from reverie.ingest.sandbox import limits, protocol, wire

_NULL = "/dev/null"
_SMALLEST_FD = 3
_BESIDE_DATA = 64 * 1024


class Catalogue(Protocol):
    """What knows the readers: `reverie.ingest.sandbox.readers`."""

    find: Callable[[bytes, PurePosixPath], drafts.Reader | kinds.DocumentFormat | str]
    reader: Callable[[kinds.DocumentFormat], units.Reader | None]
    warm: Callable[[int], None]
    picture: Callable[[bytes, str, int], bytes]


def live(channel: int, file: int, parent: int, catalogue: Catalogue) -> None:
    """Read the file and tell of it on the channel; both are file descriptors. Never
    returns.
    """
    try:
        _keep_only(channel, file)
        answers = socket.socket(fileno=channel)
        order = _order(answers)
        limits.confine(order.allowed(), parent)
        for frame in _frames(order, file, catalogue):
            answers.sendall(frame)
            limits.more_time(order.allowed())
    except BaseException:  # noqa: BLE001 - there is nobody left to tell but by the way it ends
        os._exit(70)
    os._exit(0)


def _keep_only(channel: int, file: int) -> None:
    """Close every file but these two, so that nothing else can be read, written or kept
    waiting.
    """
    keep = sorted((channel, file))
    low = _SMALLEST_FD
    for kept in keep:
        os.closerange(low, kept)
        low = kept + 1
    os.closerange(
        low, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    )  # the zygote set it low
    null = os.open(_NULL, os.O_RDWR)
    for standard in range(_SMALLEST_FD):
        os.dup2(null, standard)
    os.close(null)


def _order(answers: socket.socket) -> protocol.Order:
    header, _ = wire.LENGTHS.unpack(_exactly(answers, wire.LENGTHS.size))
    return protocol.Order(**json.loads(_exactly(answers, header)))


def _exactly(answers: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = answers.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def _frames(order: protocol.Order, file: int, catalogue: Catalogue) -> Iterator[bytes]:
    """All that is told of the file; the last one says how it ended."""
    try:
        with os.fdopen(file, "rb") as opened:
            data = opened.read()
        for message in _read(order, data, catalogue):
            yield from _fitting(message, order)
    except errors.Unreadable as broken:
        yield wire.encode(
            wire.Broken(broken.message, isinstance(broken, errors.Locked))
        )
    except MemoryError:
        yield wire.encode(wire.Broken("", cause="memory"))
    except GeneratorExit:
        raise
    except BaseException as fault:  # noqa: BLE001 - whatever a reader raises is said of its file, even SystemExit
        yield wire.encode(
            wire.Broken(f"its reader broke off ({type(fault).__name__})", cause="crash")
        )


def _read(
    order: protocol.Order, data: bytes, catalogue: Catalogue
) -> Iterator[wire.Message]:
    relative = PurePosixPath(order.relative)
    found = catalogue.find(data, relative)
    if order.page:
        yield units.EmbeddedFile(
            "page.png", "image/png", catalogue.picture(data, relative.name, order.page)
        )
        yield wire.Done()
        return
    if isinstance(found, kinds.DocumentFormat):
        reader = catalogue.reader(found)
        if reader is None:
            yield wire.Unread(f"{found.called} are not read yet")
            return
        yield wire.Began(found.reader)
        yield from reader(units.Given(data, relative.name, order.first, order.password))
    elif isinstance(found, str):
        yield wire.Unread(found)
        return
    else:
        yield wire.Began(found.__module__.rpartition(".")[2])
        moment = datetime.fromtimestamp(order.mtime, UTC)
        yield from found(
            drafts.SourceFile(Path(order.path), relative, data, order.vault, moment)
        )
    yield wire.Done()


def _fitting(message: wire.Message, order: protocol.Order) -> Iterator[bytes]:
    """The message as frames. An attachment that is too large is left out, and anything
    else is not readable.
    """
    large = "larger than {} MB"
    if (
        isinstance(message, units.EmbeddedFile)
        and len(message.data) > order.frame - _BESIDE_DATA
    ):
        message = drafts.Skip(
            message.name, "an attachment " + large.format(order.frame // limits.MB)
        )
    left = order.frame
    for frame in wire.frames(message):
        header, _ = wire.LENGTHS.unpack_from(frame)
        left -= len(frame)
        if header > wire.HEADER or left < 0:
            most = wire.HEADER if header > wire.HEADER else order.frame
            raise errors.Unreadable(
                "one part of it is " + large.format(most // limits.MB)
            )
        yield frame
