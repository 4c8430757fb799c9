"""The command as its user starts it: a process of its own, in a home of its own."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

import reverie
from reverie import embedded
from tests import homes

SOURCES = Path(reverie.__file__).parents[1]
WORDS_ALONE = '[embedding]\nprovider = "none"\n'


def wait_until(holds: Callable[[], Any], seconds: float = 90) -> Any:
    """What `holds` gives once it gives something."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)
    return found


@dataclass
class Home:
    """One REVERIE_HOME and the commands that run in it. Everything that was started
    ends with it.
    """

    path: Path
    more: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {
            name: os.environ[name]
            for name in ("PATH", "LANG", "LC_ALL")
            if name in os.environ
        }
        own = {
            "HOME": str(self.path),
            "PYTHONPATH": str(SOURCES),
            "REVERIE_HOME": str(self.path),
            "TZ": "UTC",
        }
        return {**kept, **own, "COLUMNS": "200", **self.more, **more}

    def start(self, *arguments: str | Path, **more: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "reverie", *map(str, arguments)],
            env=self.environment(**more),
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def run(
        self, *arguments: str | Path, code: int = 0, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; it must exit with `code`, and never show a stack."""
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=300)
        assert process.returncode == code, (
            f"{arguments}: {process.returncode}\n{out}\n{err}"
        )
        assert "Traceback" not in out + err
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *arguments: str | Path, code: int = 0) -> Any:
        """What a command prints as JSON: nothing else may be on stdout."""
        return json.loads(self.run(*arguments, "--json", code=code).stdout)

    def postgres(self) -> list[psutil.Process]:
        """The processes of this home's server: all have its data folder as their own."""
        found: list[psutil.Process] = []
        data = (self.path / "postgres").resolve()
        for process in psutil.process_iter():
            try:
                if process.name() == "postgres" and Path(process.cwd()) == data:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    @property
    def given(self) -> Path:
        """A folder beside the home: nothing in a home is ever read."""
        return self.path.with_name(f"{self.path.name}-given")

    def file(self, name: str, content: str) -> Path:
        path = self.given / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        server = embedded.acquire(self.path) if self.postgres() else None
        if server is not None:
            server.release()
        assert self.postgres() == []
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self.given, ignore_errors=True)


def make_home(settings: str = WORDS_ALONE, *, bare: bool = False) -> Home:
    """A home without an owner yet; `bare`, without a cluster, too."""
    path = homes.folder("rev-cli-")
    if settings:
        (path / "config.toml").write_text(settings, encoding="utf-8")
        (path / "config.toml").chmod(0o600)
    if not bare:
        homes.furnish(path)
    return Home(path)


@pytest.fixture
def home() -> Iterator[Home]:
    """A home that nobody has used yet, searched by words alone."""
    made = make_home()
    yield made
    made.end()


@pytest.fixture
def bare_home() -> Iterator[Home]:
    """A home that nobody has started in yet, searched by words alone."""
    made = make_home(bare=True)
    yield made
    made.end()


@pytest.fixture(scope="module")
def warm_home() -> Iterator[Home]:
    """A home for all tests of a module whose server stays up, so that each command
    starts at once.
    """
    made = make_home()
    server = embedded.acquire(made.path)
    yield made
    server.release()
    made.end()
