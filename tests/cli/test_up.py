"""`reverie up` as a process: the service, its end, a second one, a killed database; and
the demo.
"""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import psutil
import pytest

from tests.cli.conftest import Home, make_home, wait_until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Service:
    """A running `reverie up` and its API."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.port = free_port()
        home.more["REVERIE_PORT"] = str(self.port)
        self.process = home.start("up")
        wait_until(self._up, 40)

    def _up(self) -> bool:
        assert self.process.poll() is None, self.process.communicate()
        try:
            return self.get("/health", token=False)[0] == 200
        except OSError:
            return False

    def get(
        self, path: str, body: dict[str, Any] | None = None, *, token: bool = True
    ) -> tuple[int, dict[str, Any]]:
        """Status and JSON of a GET, or of a POST when there is a body."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = (
                f"Bearer {(self.home.path / 'token').read_text().strip()}"
            )
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1{path}", data=data, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    def stop(self, number: signal.Signals) -> tuple[str, str, float]:
        """Signal it and wait: its output, and how long it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=90)
        return out, err, time.monotonic() - began


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One service for the tests that leave it running."""
    home = make_home()
    yield Service(home)
    home.end()


def test_health_needs_no_token_and_everything_else_does(service: Service) -> None:
    status, health = service.get("/health", token=False)
    assert status == 200
    assert set(health) == {"status", "version"}
    for path in ("/notes", "/search?q=x", "/changes", "/nowhere"):
        status, refusal = service.get(path, token=False)
        assert status == 401, path
        assert refusal["error"]["code"] == "unauthorized"


def test_a_record_through_the_api_is_found_by_the_command(service: Service) -> None:
    status, made = service.get(
        "/notes", {"title": "Zwetschgen", "content": "a cake for Sunday"}
    )
    assert status == 201
    found = service.home.json("search", "Zwetschgen")
    assert [one["id"] for one in found["results"]] == [made["id"]]
    status, again = service.get("/search?q=Zwetschgen")
    assert (status, [one["id"] for one in again["results"]]) == (200, [made["id"]])


def test_commands_run_beside_it(service: Service) -> None:
    home = service.home
    note = home.file("beside/a.md", "# Beside\n\nimported while the service runs")
    assert home.json("import", note.parent)["imported"] == 1
    assert service.get("/search?q=imported+while")[1]["results"][0]["title"] == "Beside"
    shown = home.run("doctor").stdout
    assert f"running (process {service.process.pid}, port {service.port})" in shown
    home.run("rebuild", "--words-only")
    assert service.get("/health", token=False)[0] == 200
    assert service.process.poll() is None


def test_a_search_asks_the_server_that_runs(service: Service) -> None:
    """It opens no database and loads no model of its own: it is over at once."""
    asked = [sys.executable, "-X", "importtime", "-m", "reverie", "search", "--json"]
    done = subprocess.run(
        [*asked, "platypus"],
        env=service.home.environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    heavy = ("psycopg", "numpy", "fastapi", "reverie.app")
    assert not [name for name in heavy if f" {name}\n" in done.stderr]
    by_server = service.get("/search?q=platypus")[1]
    told = json.loads(done.stdout)
    found = [[hit["id"] for hit in each["results"]] for each in (told, by_server)]
    assert found[0] == found[1]


def test_a_second_one_is_told(service: Service) -> None:
    done = service.home.run("up", code=1, REVERIE_PORT=str(free_port()))
    assert "Reverie is already running (process" in " ".join(done.stderr.split())
    assert f"port {service.port}" in done.stderr
    assert service.get("/health", token=False)[0] == 200


def test_a_port_in_use_is_told(service: Service, home: Home) -> None:
    done = home.run("up", code=1, REVERIE_PORT=str(service.port))
    assert f"Port {service.port} is in use by another program." in done.stderr
    assert "Set REVERIE_PORT to another one." in done.stderr
    assert home.postgres() == []


def test_a_killed_database_comes_back(service: Service) -> None:
    status, made = service.get(
        "/notes", {"title": "Before the kill", "content": "kept"}
    )
    assert status == 201
    postmaster = min(service.home.postgres(), key=lambda process: process.create_time())
    assert postmaster.ppid() not in {process.pid for process in service.home.postgres()}
    before = service.home.postgres()
    postmaster.kill()
    # until then one of them may still answer, and the next request meet none
    assert psutil.wait_procs(before, timeout=60)[1] == []
    began = time.monotonic()

    def healed() -> bool:
        try:
            return service.get(f"/notes/{made['id']}")[0] == 200
        except OSError:
            return False

    wait_until(healed, 90)
    assert time.monotonic() - began < 90
    assert (
        service.get("/notes", {"title": "After the kill", "content": "kept"})[0] == 201
    )
    titles = [one["title"] for one in service.get("/search?q=kill")[1]["results"]]
    assert set(titles) == {"Before the kill", "After the kill"}
    assert service.process.poll() is None


def _slowness() -> float:
    """How many times longer a piece of work takes here just now than it would on a
    processor of its own.
    """
    wall, processor = time.perf_counter(), time.thread_time()
    while time.thread_time() - processor < 0.05:
        pass
    return (time.perf_counter() - wall) / 0.05


@pytest.mark.parametrize(
    "piece",
    ['"', "1-", "a1 ", "Aaa Bbb ", "ana@example.org, +34 600 000 011\n"],
    ids=["quotes", "dashes", "letters and digits", "names", "addresses"],
)
def test_a_long_text_keeps_nobody_waiting(home: Home, piece: str) -> None:
    service = Service(home)
    waits = _waits_beside(service, [(piece * 1_000_000)[:900_000]])
    # Other tests have the same two processors: a few answers may wait for those.
    assert _ninth_tenth(waits) < 0.25
    assert waits[-1] < 1
    status, refused = service.get("/notes", {"content": "x" * 1_000_001})
    assert status == 422
    assert "longer than 1000000 characters" in refused["error"]["message"]
    assert "belongs into a file" in refused["error"]["hint"]
    status, refused = service.get("/notes", {"content": "x", "title": "x" * 1001})
    assert status == 422
    assert "title: longer than 1000 characters" in refused["error"]["message"]


def test_many_long_texts_keep_nobody_waiting_longer(home: Home) -> None:
    """They are read one at a time, or each would have its share of the interpreter."""
    sentence = "Ana Gómez pays 3,40 € on 12 May and reads of 4 foxes in Berlin. "
    texts = [f"Text {number}. " + sentence * 2_000 for number in range(6)]
    service = Service(home)
    alone = _waits_beside(service, texts[:1])
    together = _waits_beside(service, texts[1:])
    assert _ninth_tenth(together) < 4 * _ninth_tenth(alone) + 0.01
    assert together[-1] < 1


def _ninth_tenth(waits: list[float]) -> float:
    return waits[len(waits) * 9 // 10]


def _waits_beside(service: Service, contents: list[str]) -> list[float]:
    """How long `/health` takes, in seconds of a processor of its own and the shortest
    first, while some notes are kept at once.
    """
    waits: list[float] = []
    with futures.ThreadPoolExecutor(len(contents)) as pool:
        posts = [
            pool.submit(service.get, "/notes", {"content": content})
            for content in contents
        ]
        while not all(post.done() for post in posts):
            began = time.perf_counter()
            assert service.get("/health", token=False)[0] == 200
            waited = time.perf_counter() - began
            waits.append(waited / _slowness())
        assert [post.result()[0] for post in posts] == [201] * len(contents)
    return sorted(waits)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_cleanly(home: Home, number: signal.Signals) -> None:
    service = Service(home)
    assert service.get("/notes", {"title": "Kept", "content": "x"})[0] == 201
    assert service.home.postgres()
    with socket.create_connection(
        ("127.0.0.1", service.port)
    ):  # somebody's idle connection holds nothing up
        out, err, took = service.stop(number)
    assert service.process.returncode == 0
    assert took < 40
    assert f"http://127.0.0.1:{service.port}/api/v1" in out
    assert "Stopped. Everything is kept." in err
    assert "Traceback" not in out + err
    assert home.postgres() == []
    assert not _alive(service.process)
    assert home.json("search", "Kept")["results"]
    assert "not running" in home.run("doctor").stdout


def _alive(process: subprocess.Popen[str]) -> bool:
    return (
        psutil.pid_exists(process.pid)
        and psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE
    )


def test_a_killed_service_leaves_nothing_in_the_way(home: Home) -> None:
    service = Service(home)
    assert service.get("/notes", {"title": "Kept", "content": "x"})[0] == 201
    service.process.kill()
    service.process.communicate()
    assert "not running" in home.run("doctor").stdout
    again = Service(home)
    assert again.get("/search?q=Kept")[1]["results"][0]["title"] == "Kept"
    again.stop(signal.SIGINT)
    assert home.postgres() == []


def test_the_demo_twice() -> None:
    """With the built-in model: the second one has nothing to do."""
    home = make_home(settings="", bare=True)
    try:
        began = time.monotonic()
        first = home.run("demo").stdout
        took = time.monotonic() - began
        for told in (
            "Domingo de playa",
            "An old invoice, politely",
            "Marta García",
            "Try next:",
        ):
            assert told in first
        assert "0 unchanged" in first
        began = time.monotonic()
        second = home.run("demo").stdout
        assert time.monotonic() - began < took
        assert " 0 imported" in f" {second.splitlines()[1]}"
        assert _results(second) == _results(first)
        assert home.postgres() == []
    finally:
        home.end()


def _results(shown: str) -> list[str]:
    """The titles in a demo's output, in order."""
    return re.findall(r"^ \d  \S.*", shown, re.MULTILINE)
