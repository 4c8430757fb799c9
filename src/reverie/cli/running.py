"""The `reverie up` of a home that runs: its lock, its process and its port."""

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from reverie import errors

# A server that is just starting has no port yet; set by hand.
_STARTING_SECONDS = 20.0
_LOOKING_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that runs; `port` is 0 while it is starting."""

    process: int
    port: int

    def __str__(self) -> str:
        if not self.port:
            return "starting"
        return f"running (process {self.process}, port {self.port})"


_STARTING = RunningServer(0, 0)


def server(home: Path) -> RunningServer | None:
    """The server of a home, if one runs."""
    path = home / "up.lock"
    if not path.exists():
        return None
    with path.open("r", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            process, _, port = file.read().strip().partition(" ")
            told = process.isdecimal() and port.isdecimal()
            return RunningServer(int(process), int(port)) if told else _STARTING
    return None


def listening(home: Path) -> RunningServer | None:
    """The same, once it listens. Raises Unavailable when it does not begin to."""
    deadline = time.monotonic() + _STARTING_SECONDS
    while (found := server(home)) and not found.port:
        if time.monotonic() > deadline:
            raise errors.Unavailable(
                "Reverie is starting and does not listen yet.",
                hint="Try again in a moment.",
            )
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def locked(home: Path) -> Generator[None]:
    """Hold the lock of the home's server. Raises AlreadyRunning."""
    path = home / "up.lock"
    with path.open("a", encoding="utf-8") as file:
        if not _locked(file.fileno()):
            raise errors.AlreadyRunning(
                f"Reverie is already {server(home) or 'running'} here.",
                hint="Stop it, or set REVERIE_HOME to another folder.",
            )
        file.truncate(0)
        yield
        note_port(home, 0)


def _locked(descriptor: int) -> bool:
    """Take the lock; a command that looks whether it is held has it for a moment."""
    deadline = time.monotonic() + _LOOKING_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def note_port(home: Path, port: int) -> None:
    """Tell who holds the lock and where it listens; with 0, that it listens no more.
    No token is sent to a port that another program may have taken since.
    """
    told = f"{os.getpid()} {port}\n" if port else ""
    (home / "up.lock").write_text(told, encoding="utf-8")
