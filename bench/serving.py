"""How soon `reverie up` answers `/health` while it imports, embeds and searches.

    python bench/serving.py [--letters 2000] [--seconds 60] [--searching 4]

The service is a process of its own, on a home that is removed at the end; letters are
made (bench/letters.py). Prints p50, p95, p99 and the longest answer in milliseconds:
when nothing happens, and under import, embedding and searches together.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import letters, spine

_STARTING = 120
_PAUSE = 0.02


class Service:
    """A running `reverie up`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reverie", "up"],
            env={
                **os.environ,
                "REVERIE_HOME": str(home),
                "REVERIE_PORT": str(self._port),
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + _STARTING
        while True:
            try:
                self.call("/health")
                return
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.1)

    def call(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a GET, or to a POST when there is a body."""
        headers = {"Content-Type": "application/json"}
        token = self._home / "token"
        if token.exists():
            headers["Authorization"] = f"Bearer {token.read_text().strip()}"
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            method = "GET" if body is None else "POST"
            content = None if body is None else json.dumps(body)
            connection.request(method, f"/api/v1{path}", content, headers)
            answer = connection.getresponse()
            assert answer.status < 300, answer.read()
            return json.load(answer)
        finally:
            connection.close()

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=90)


def health_ms(service: Service, seconds: float) -> list[float]:
    """The milliseconds of answers to `/health`, one after another with short pauses."""
    taken: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        service.call("/health")
        taken.append(1000 * (time.perf_counter() - began))
        time.sleep(_PAUSE)
    return taken


def search_on(service: Service, stop: threading.Event, counts: list[int]) -> None:
    """Search, one question after another, until told to stop; the count of answers."""
    questions = spine.questions()
    answered = 0
    while not stop.is_set():
        question = urllib.parse.quote(questions[answered % len(questions)])
        service.call(f"/search?q={question}")
        answered += 1
    counts.append(answered)


def shown(taken: Sequence[float]) -> str:
    """p50, p95, p99 and the longest."""
    cuts = statistics.quantiles(taken, n=100, method="inclusive")
    named = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "longest": max(taken)}
    return ", ".join(f"{name} {value:.0f} ms" for name, value in named.items())


def under_load(service: Service, mbox: Path, options: argparse.Namespace) -> None:
    """Import, embed and search, and look how soon it answers meanwhile."""
    asked = service.call("/ingest", {"paths": [str(mbox)]})
    stop = threading.Event()
    counts: list[int] = []
    searching = [
        threading.Thread(target=search_on, args=(service, stop, counts))
        for _ in range(options.searching)
    ]
    for thread in searching:
        thread.start()
    taken = health_ms(service, options.seconds)
    stop.set()
    for thread in searching:
        thread.join()
    state = service.call(f"/ingest/status/{asked['id']}")
    print(f"{len(taken)} answers under load: {shown(taken)}")
    print(f"meanwhile {sum(counts)} searches; records kept: {state.get('records')}")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--letters", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--searching", type=int, default=4, help="questions at once")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="rsv", dir="/tmp"))
    place.chmod(0o711)  # PostgreSQL runs as another user when we are root
    try:
        mbox = place / "letters.mbox"
        letters.write_mbox(mbox, options.letters)
        service = Service(place / "home")
        try:
            quiet = health_ms(service, options.seconds / 6)
            print(f"{len(quiet)} answers at rest: {shown(quiet)}")
            under_load(service, mbox, options)
        finally:
            service.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
