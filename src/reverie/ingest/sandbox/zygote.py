"""The fork server (zygote): it forks a sandboxed child for each file, reads nothing
itself, and ends with the service.

It is given three files for each child: a channel between the child and the service, the
file to read, and a cord. On the cord it tells the child's number and how the child
ended. Whatever comes down the cord, even its end, kills the child.
"""

import gc
import importlib
import os
import resource
import selectors
import signal
import socket
import sys
from contextlib import suppress
from typing import Any, cast

from reverie.ingest.sandbox import child, limits, protocol

IDLE_SECONDS = 300.0
_FILES = 256
_PASSED = 3
_ENDED_AND_KEPT = os.WEXITED | os.WNOHANG | os.WNOWAIT if hasattr(os, "waitid") else 0
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Zygote:
    """The children that live, each with its cord."""

    def __init__(self, control: socket.socket, readers: child.Readers) -> None:
        self._control = control
        self._readers = readers
        self._cords: dict[int, socket.socket] = {}
        self._awake = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)

    def serve(self) -> None:
        """Fork children until the service is gone, or wants nothing for a while."""
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda number, where: None)
        self._awake.register(self._control, selectors.EVENT_READ)
        self._awake.register(self._woken, selectors.EVENT_READ)
        while ready := self._awake.select(None if self._cords else IDLE_SECONDS):
            for key, _ in ready:
                if key.fileobj is self._control:
                    if not self._serve_one():
                        return
                elif key.fileobj == self._woken:
                    with suppress(BlockingIOError):
                        os.read(self._woken, 4096)
                    self._reap()
                else:
                    self._kill(cast("int", key.data))

    def end(self) -> None:
        """Kill whoever still lives."""
        for number in list(self._cords):
            self._kill(number)

    def _serve_one(self) -> bool:
        sign, files, _, _ = socket.recv_fds(self._control, 1, _PASSED)
        if sign == protocol.CHILD and len(files) == _PASSED:
            self._fork(*files)
            return True
        if sign and sign != protocol.CHILD:
            self._readers.warm(sign[0])
        for file in files:
            os.close(file)
        return bool(sign)

    def _fork(self, channel: int, file: int, cord: int) -> None:
        parent = os.getpid()
        with socket.socket(fileno=cord) as passed:
            try:
                number = os.fork()
            except OSError:
                number = -1
            if number == 0:
                signal.set_wakeup_fd(-1)
                child.live(channel, file, parent, self._readers)
            os.close(channel)
            os.close(file)
            if number > 0:
                kept = passed.dup()
                kept.setblocking(False)
                self._cords[number] = kept
                self._awake.register(kept, selectors.EVENT_READ, number)
                with suppress(OSError):
                    kept.send(protocol.BORN.pack(number))

    def _kill(self, number: int) -> None:
        if number not in self._cords:
            return
        with suppress(KeyError):
            self._awake.unregister(self._cords[number])
        _kill_group(number)
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)  # it may not have a group of its own yet

    def _reap(self) -> None:
        for number, cord in list(self._cords.items()):
            if hasattr(os, "waitid"):
                if os.waitid(os.P_PID, number, _ENDED_AND_KEPT) is None:
                    continue
                _kill_group(number)  # before its number can be another's
            gone, status, used = os.wait4(number, os.WNOHANG)
            if gone:
                code = os.waitstatus_to_exitcode(status)
                ending = protocol.ENDED.pack(code, used.ru_maxrss * _RSS_UNIT)
                with suppress(OSError):
                    cord.send(ending)
                with suppress(KeyError):
                    self._awake.unregister(cord)
                cord.close()
                del self._cords[number]


def _kill_group(number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


def main() -> None:
    """Serve on the socket that is named first; the module named second knows the
    readers.
    """
    control, module = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.dont_write_bytecode = True
    limits.unshare_network()
    readers: Any = importlib.import_module(module)
    gc.collect()
    # so that collecting in a child does not copy what it shares with this process
    gc.freeze()
    zygote = Zygote(socket.socket(fileno=int(control)), readers)
    try:
        zygote.serve()
    finally:
        zygote.end()


if __name__ == "__main__":
    main()
