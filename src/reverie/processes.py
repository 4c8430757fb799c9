"""Processes of our own that compute beside this one: long lists of work go to all cores.

A process is started when there is work, ends when it was idle for a while or when this
one is gone, and takes its share of the machine at low priority. It is asked through one
socket, and both ends are ours: what travels is pickled. Where none can be started, the
work is done here.
"""

import asyncio
import atexit
import contextlib
import itertools
import os
import pickle
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")

# Of low priority, so they leave the cores to whoever wants them. One fewer on two cores:
# a letter in 15.8 ms in place of 10.4. Each takes 60 MB.
AT_ONCE = min(4, os.cpu_count() or 1)
# So many characters are worth the way to another process and back; set by hand, for
# letters of a kilobyte that take some milliseconds each.
_WORTH = 16_000
_CHUNK = 25  # items a call; set by hand
_IDLE_SECONDS = 30.0
_NICENESS = 5
_LENGTH = struct.Struct("!Q")
_CALL = "import reverie.processes; reverie.processes.serve()"


class _Process:
    """One process, which this thread alone talks to."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undone:
            undone.callback(ours.close)
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CALL, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Ctrl-C is for us: what was asked for is still wanted.
                start_new_session=True,
            )
            undone.pop_all()
        self._socket = ours

    def call(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """What a function returns for some items, in their order. Raises OSError when
        the process is gone.
        """
        _send(self._socket, (function, list(items)))
        returned, failure = _received(self._socket)
        if failure is not None:
            raise failure
        return cast("list[Any]", returned)

    def end(self) -> None:
        """End it."""
        self._socket.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()


_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="processes")
_idle: list[_Process] = []


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().end()


async def compute(
    function: Callable[[T], R], items: Sequence[T], *, size: int
) -> list[R]:
    """What a function of a module returns for each item, computed elsewhere. Texts of
    few characters (`size`) are not worth the way: those are computed in a thread.
    """
    if size < _WORTH:
        return await asyncio.to_thread(_computed, function, items)
    loop = asyncio.get_running_loop()
    shares = [
        loop.run_in_executor(_threads, _elsewhere, function, chunk)
        for chunk in _chunks(items)
    ]
    return list(itertools.chain(*await asyncio.gather(*shares)))


def _chunks(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK)]


def _computed(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return [function(item) for item in items]


def _elsewhere(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The same in another process; one that is gone, as it is after a while without
    work, is replaced once.
    """
    for _ in range(2):
        try:
            process = _idle.pop() if _idle else _Process()
        except OSError:
            break
        try:
            returned = process.call(function, items)
        except (OSError, EOFError):
            process.end()
            continue
        except BaseException:
            process.end()
            raise
        _idle.append(process)
        return returned
    return _computed(function, items)


def _send(channel: socket.socket, message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    channel.sendall(_LENGTH.pack(len(data)) + data)


def _received(channel: socket.socket) -> Any:
    (size,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size))
    return pickle.loads(_exactly(channel, size))  # noqa: S301 - both ends are ours


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = channel.recv(min(size - len(data), 1 << 20))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def serve() -> None:
    """Compute what is asked for on the socket that is named, until nobody asks."""
    os.nice(_NICENESS)
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        channel.settimeout(_IDLE_SECONDS)
        with contextlib.suppress(OSError, EOFError):
            while True:
                function, items = _received(channel)
                _send(channel, _answer(function, items))


def _answer(
    function: Callable[[Any], Any], items: Sequence[Any]
) -> tuple[list[Any] | None, Exception | None]:
    try:
        return _computed(function, items), None
    except Exception as failure:  # noqa: BLE001 - raised again by whoever asked
        return None, failure
