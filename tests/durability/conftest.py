"""The killed process, held by a pipe."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reverie

SOURCES = Path(reverie.__file__).parents[1]


def environment() -> dict[str, str]:
    """For child processes: our sources, and no threads of the linear algebra that would
    hinder a fork.
    """
    return {**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"}


class Victim:
    """Runs jobs in child processes of one process that has imported everything."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("child.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def do(self, job: dict[str, Any]) -> int:
        """How the job ended: 0, or -9 when it was killed."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="session")
def victim() -> Iterator[Victim]:
    one = Victim()
    yield one
    one.close()
