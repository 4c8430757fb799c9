"""The sandboxed process that reads one file, or some small ones: forked for it, confined
by rlimits, fed through one socket, and gone when they are read.
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


class Readers(Protocol):
    """The module that knows the readers: `reverie.ingest.sandbox.readers`."""

    opened: Callable[[bytes, str], bytes]
    find: Callable[[bytes, PurePosixPath], drafts.Reader | kinds.DocumentFormat | str]
    reader: Callable[[kinds.DocumentFormat], units.Reader | None]
    warm: Callable[[int], None]
    picture: Callable[[bytes, str, int], bytes]


def live(channel: int, file: int, parent: int, readers: Readers) -> None:
    """Read what is asked for and tell of it on the channel; both are file descriptors.
    Never returns.
    """
    try:
        _keep_only(channel, file)
        answers = socket.socket(fileno=channel)
        order = _order(answers)
        limits.confine(order.allowed(), parent)
        for frame in _frames(order, file, readers):
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
    for descriptor in keep:
        os.closerange(low, descriptor)
        low = descriptor + 1
    # the zygote set it low
    os.closerange(low, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    null = os.open(_NULL, os.O_RDWR)
    for standard in range(_SMALLEST_FD):
        os.dup2(null, standard)
    os.close(null)


def _order(answers: socket.socket) -> protocol.Order:
    header, _ = wire.LENGTHS.unpack(_exactly(answers, wire.LENGTHS.size))
    return protocol.Order.from_json(json.loads(_exactly(answers, header)))


def _exactly(answers: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = answers.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def _frames(order: protocol.Order, file: int, readers: Readers) -> Iterator[bytes]:
    """All that is told of the files, one after another; the last of each says how it
    ended.
    """
    try:
        with os.fdopen(file, "rb") as opened:
            contents = [opened.read(part.size) for part in order.parts]
    except MemoryError:
        yield wire.encode(wire.Broken("", cause="memory"))
        return
    for part in order.parts:
        yield from _frames_of(part, contents.pop(0), order, readers)


def _frames_of(
    part: protocol.Part, data: bytes, order: protocol.Order, readers: Readers
) -> Iterator[bytes]:
    try:
        for message in _read(order, part, data, readers):
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
    order: protocol.Order, part: protocol.Part, data: bytes, readers: Readers
) -> Iterator[wire.Message]:
    relative = PurePosixPath(part.relative)
    data = readers.opened(data, order.password)
    detected = readers.find(data, relative)
    if order.page:
        yield units.EmbeddedFile(
            "page.png", "image/png", readers.picture(data, relative.name, order.page)
        )
        yield wire.Done()
        return
    if isinstance(detected, kinds.DocumentFormat):
        reader = readers.reader(detected)
        if reader is None:
            yield wire.Unread(f"{detected.called} are not read yet")
            return
        yield wire.Began(detected.reader)
        yield from reader(
            units.DocumentSource(data, relative.name, order.first, order.password)
        )
    elif isinstance(detected, str):
        yield wire.Unread(detected)
        return
    else:
        yield wire.Began(detected.__module__.rpartition(".")[2])
        moment = datetime.fromtimestamp(part.mtime, UTC)
        yield from detected(
            drafts.SourceFile(_path(part), relative, data, part.vault, moment)
        )
    yield wire.Done()


def _path(part: protocol.Part) -> Path:
    """Where the file lies, by the name that people know it by: an upload lies under
    its hash, and a name may be no UTF-8.
    """
    name = PurePosixPath(part.relative).name
    return Path(part.path).with_name(name) if name else Path(part.path)


def _fitting(message: wire.Message, order: protocol.Order) -> Iterator[bytes]:
    """The message as frames. An attachment that is too large is left out, and anything
    else is not readable.
    """
    large = "larger than {} MB"
    most_data = order.frame - _BESIDE_DATA
    if isinstance(message, units.EmbeddedFile) and len(message.data) > most_data:
        reason = "an attachment " + large.format(order.frame // limits.MB)
        message = drafts.Skip(message.name, reason)
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
