"""The lock of a running server, as commands look at it."""

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from reverie import errors
from reverie.cli import running


def test_a_server_is_known_while_it_listens_and_no_longer(tmp_path: Path) -> None:
    """A token must never be sent to a port that was given up."""
    assert running.server(tmp_path) is None
    with running.locked(tmp_path):
        found = running.server(tmp_path)
        assert found is not None
        assert (found.port, str(found)) == (0, "starting")
        running.note_port(tmp_path, 8585)
        assert running.listening(tmp_path) == running.RunningServer(os.getpid(), 8585)
        running.note_port(tmp_path, 0)
        found = running.server(tmp_path)
        assert found is not None
        assert found.port == 0
    assert running.server(tmp_path) is None


def test_what_a_killed_server_noted_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "up.lock").write_text("12 8585\n")
    assert running.server(tmp_path) is None
    with running.locked(tmp_path):
        found = running.server(tmp_path)
        assert found is not None
        assert found.port == 0


@pytest.mark.parametrize("noted", ["nonsense", "1 2 3", "a b", "\x00"])
def test_a_damaged_note_is_no_port(tmp_path: Path, noted: str) -> None:
    with running.locked(tmp_path):
        (tmp_path / "up.lock").write_text(noted)
        found = running.server(tmp_path)
        assert found is not None
        assert found.port == 0


def test_a_look_at_the_lock_stops_no_start(tmp_path: Path) -> None:
    (tmp_path / "up.lock").touch()
    with (tmp_path / "up.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        looked = threading.Timer(0.1, lambda: fcntl.flock(file, fcntl.LOCK_UN))
        looked.start()
        with running.locked(tmp_path):
            pass
        looked.join()


def test_a_second_server_is_refused(tmp_path: Path) -> None:
    began = time.monotonic()
    with running.locked(tmp_path), pytest.raises(errors.AlreadyRunning):  # noqa: SIM117 - the inner one is refused
        with running.locked(tmp_path):
            pass
    assert time.monotonic() - began >= 0.5
