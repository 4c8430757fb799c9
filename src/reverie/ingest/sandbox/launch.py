"""The start and the end of the fork server (zygote)."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass

_ZYGOTE = "reverie.ingest.sandbox.zygote"
_ENDING = 5.0
# Little address space for the C library, whose habit it is to set some aside for each
# thread.
_SURROUNDINGS = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "MALLOC_ARENA_MAX": "2",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class ZygoteProcess:
    """A zygote that was started."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    warmed: set[str]

    def end(self) -> None:
        """Let it go; it takes its children with it."""
        self.control.close()
        try:
            self.process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(readers: str) -> ZygoteProcess:
    """Start a zygote that knows the readers from that module. It serves as soon as it
    has imported them.
    """
    ours, theirs = socket.socketpair()
    command = [
        sys.executable,
        "-P",
        "-m",
        _ZYGOTE,
        str(theirs.fileno()),
        readers,
    ]
    surroundings = {
        **_SURROUNDINGS,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    with theirs:
        process = subprocess.Popen(
            command,
            env=surroundings,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    ours.setblocking(False)
    return ZygoteProcess(process, ours, set())
