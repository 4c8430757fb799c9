"""Processes of our own that compute beside this one: long lists of work go to all cores.

A process is started when there is work, ends when it was idle for a while or when this
one is gone, and takes its share of the machine at low priority. It is asked through one
socket, and both ends are ours: what travels is pickled. Where none can be started, the
work is done here.

The first one is an interpreter of its own; the others are forked from it once it has
worked, and share with it the memory of what it has loaded.
"""

import asyncio
import atexit
import contextlib
import gc
import itertools
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")

# Of low priority, so they leave the cores to whoever wants them. One fewer on two cores:
# a letter in 15.8 ms in place of 10.4.
AT_ONCE = min(4, os.cpu_count() or 1)
# So many characters are worth the way to another process and back; set by hand, for
# letters of a kilobyte that take some milliseconds each.
_WORTH = 16_000
_CHUNK = 25  # items a call; set by hand
_IDLE_SECONDS = 30.0
_NICENESS = 5
_LENGTH = struct.Struct("!Q")
_CALL = "import reverie.processes; reverie.processes.serve()"


class _First:
    """The process that has an interpreter of its own, and forks the others."""

    def __init__(self, work: socket.socket) -> None:
        self._control, theirs = socket.socketpair()
        files = [work.fileno(), theirs.fileno()]
        with theirs, contextlib.ExitStack() as undone:
            undone.callback(self._control.close)
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CALL, *map(str, files)],
                pass_fds=files,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Ctrl-C is for us: what was asked for is still wanted.
                start_new_session=True,
            )
            undone.pop_all()

    def fork(self, work: socket.socket) -> None:
        """Have another process forked, when what is in work is done. Raises OSError
        when the first one is gone.
        """
        socket.send_fds(self._control, [b"f"], [work.fileno()])

    def end(self) -> None:
        """End it."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()


class _Process:
    """One process, which this thread alone talks to."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undone:
            undone.callback(self._socket.close)
            _begin(theirs)
            undone.pop_all()

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


_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="processes")
_idle: list[_Process] = []
_first: list[_First] = []
_beginning = threading.Lock()


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()
    while _first:
        _first.pop().end()


def _begin(work: socket.socket) -> None:
    """Begin a process that is asked through the other end of that socket."""
    with _beginning:
        if _first:
            with contextlib.suppress(OSError):
                _first[0].fork(work)
                return
            _first.pop().end()
        _first.append(_First(work))


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
    """The same in another process. One that is gone, as it is after a while without
    work, is replaced; where a new one goes at once, the work is done here.
    """
    is_new = False
    while not is_new:
        is_new = not _idle
        try:
            process = _Process() if is_new else _idle.pop()
        except (OSError, IndexError):  # another thread took the last one
            continue
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
    """Compute what is asked for on the first socket that is named, and fork whoever is
    wanted on the second, until nobody wants anything.
    """
    os.nice(_NICENESS)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for who was forked
    work, control = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    with contextlib.suppress(OSError, EOFError):
        _serve_call(work)  # what it loads is shared
        while asked := select.select([work, control], [], [], _IDLE_SECONDS)[0]:
            if control not in asked:
                _serve_call(work)
            elif forked := _fork(control):
                # The sockets of the first one end with it, whoever was forked from it.
                work.close()
                control.close()
                _serve_calls(forked)


def _serve_call(channel: socket.socket) -> None:
    function, items = _received(channel)
    _send(channel, _answer(function, items))


def _serve_calls(channel: socket.socket) -> None:
    channel.settimeout(_IDLE_SECONDS)
    while True:
        _serve_call(channel)


def _fork(control: socket.socket) -> socket.socket | None:
    """Fork a process; in that one, the socket on which it is asked. Raises EOFError
    when nobody will want one any more.
    """
    sign, files, _, _ = socket.recv_fds(control, 1, 1)
    if not sign:
        raise EOFError
    with socket.socket(fileno=files[0]) as channel:
        gc.freeze()  # else the collector writes to all pages that are shared
        if os.fork():
            return None
        return channel.dup()


def _answer(
    function: Callable[[Any], Any], items: Sequence[Any]
) -> tuple[list[Any] | None, Exception | None]:
    try:
        return _computed(function, items), None
    except Exception as failure:  # noqa: BLE001 - raised again by whoever asked
        return None, failure
