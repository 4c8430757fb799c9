"""A model server on this machine that speaks any JSON API: remembers what it was asked and says what it is told to."""

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


class Server:
    """`answer` gets the body and gives a status and what to say; `asked` is everything it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(Asked(self.path, self.headers.get("Authorization", ""), body))
                status, said = outer.answer(body)
                written = json.dumps(said).encode()
                with contextlib.suppress(BrokenPipeError):  # who asked has not waited
                    self.send_response(status)
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
    threading.Thread(target=server.http.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
