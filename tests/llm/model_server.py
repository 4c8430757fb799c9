"""A model server on this machine that speaks any JSON API: remembers what it was asked
and says what it is told to.

What is told as bytes is sent as a stream of events.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


@dataclass(frozen=True)
class Asked:
    path: str
    authorization: str
    body: dict[str, Any]
    raw: bytes = b""  # every byte: the line, the headers, the body


class Server:
    """`answer` gets the body and gives a status and what to say; `asked` is everything
    it was asked.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.headers: dict[str, str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.loads(sent)
                raw = self.requestline.encode() + b"\n" + bytes(self.headers) + sent
                outer.asked.append(
                    Asked(self.path, self.headers.get("Authorization", ""), body, raw)
                )
                status, said = outer.answer(body)
                written = said if isinstance(said, bytes) else json.dumps(said).encode()
                with contextlib.suppress(BrokenPipeError):  # who asked has not waited
                    self.send_response(status)
                    kind = (
                        "text/event-stream"
                        if isinstance(said, bytes)
                        else "application/json"
                    )
                    self.send_header("Content-Type", kind)
                    for name, value in outer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(written)))
                    self.end_headers()
                    self.wfile.write(written)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
                """Nothing to say."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving(answer: Answer) -> Iterator[Server]:
    """A server for as long as the block lasts."""
    server = Server(answer)
    threading.Thread(
        target=server.http.serve_forever, args=(0.02,), daemon=True
    ).start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
