"""An embedding server on this machine: speaks OpenAI's /v1/embeddings, remembers what
it was asked, and can be ill.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reverie import config
from reverie.providers import calibration

LENGTH = 8
Answer = Callable[[list[str]], tuple[int, bytes]]


def vector_of(text: str) -> list[float]:
    """Some vector that depends on the text alone."""
    return [
        byte / 255 + 0.01 for byte in hashlib.sha256(text.encode()).digest()[:LENGTH]
    ]


def well(texts: list[str]) -> tuple[int, bytes]:
    """One vector a text."""
    data = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(texts)]
    return 200, json.dumps({"data": data}).encode()


# What a model is measured with, which is nothing that anybody keeps.
_MEASURING = {
    text
    for part in ("passages", "questions", "queries")
    for row in getattr(calibration.texts(), part)
    for text in row
}


class Server:
    """The server. `answer` decides what it says; `texts` is everything it was ever
    asked for but to measure it.
    """

    def __init__(self, model: str = "test") -> None:
        self.model = model
        self.texts: list[str] = []
        self.calls = 0
        self.answer: Answer = well
        self._port = 0
        self._http: ThreadingHTTPServer | None = None

    def open(self) -> None:
        """Listen, on the same port as before."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked: dict[str, Any] = json.loads(
                    self.rfile.read(int(self.headers["Content-Length"]))
                )
                outer.calls += 1
                status, body = outer.answer(asked["input"])
                if status == 200:
                    outer.texts += [
                        text for text in asked["input"] if text not in _MEASURING
                    ]
                if status == 0:  # not HTTP at all
                    self.wfile.write(body)
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
                """Nothing to say."""

        self._http = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._http.server_port
        threading.Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True
        ).start()

    def close(self) -> None:
        """Refuse connections."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    @property
    def settings(self) -> config.Embedding:
        """What makes Reverie use this server."""
        url = f"http://127.0.0.1:{self._port}/v1"
        return config.Embedding(
            provider="openai", base_url=url, model=self.model, timeout_s=5
        )


@contextmanager
def serving(model: str = "test") -> Iterator[Server]:
    """A server for as long as the block lasts."""
    server = Server(model)
    server.open()
    try:
        yield server
    finally:
        server.close()
