"""HTTP client of the API for commands: asks the server that runs, or one in this process.

Whoever only asks loads little: with `reverie up` running, a command is over in a
fraction of a second.
"""

import contextlib
import http.client
import importlib
import json
import os
import re
import urllib.parse
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from reverie import errors
from reverie import home as home_folder
from reverie.cli import running
from reverie.cli.api_request import Request, Response

_TIMEOUT_SECONDS = 300.0
_ID = re.compile(r"[\w:-]{1,64}", re.ASCII)
Query = Mapping[str, object]


class Transport(Protocol):
    """What brings a request to the API and its response back."""

    def send(self, request: Request, token: str) -> Response:
        """Raises Unavailable."""
        ...


class ApiClient:
    """The API, as the owner of this home may use it."""

    def __init__(self, transport: Transport, token: str) -> None:
        self._transport = transport
        self._token = token

    def get(self, path: str, query: Query | None = None) -> Any:
        """The JSON of a GET. Raises what the API refuses with, as all of these do."""
        return self.call("GET", path, query=query)

    def record(self, record_id: str) -> Any:
        """A record of any kind, by its id or a part of it: {domain, path, record}."""
        if not _ID.fullmatch(record_id):
            raise errors.NotFound(
                "There is no such record.", hint="Search and list show the ids."
            )
        return self.get(f"/records/{record_id}")

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
    ) -> Any:
        """The JSON that any request is answered with."""
        answered = self.fetch(method, path, query=query, body=body)
        try:
            return json.loads(answered or b"null")
        except ValueError:
            raise errors.Unavailable(
                "The server answered in no form that is known here.",
                hint="Is it another version? Restart `reverie up`.",
            ) from None

    def fetch(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
    ) -> bytes:
        """The bytes that a request is answered with; a body of bytes is sent as they are."""
        content, content_type = _content(body)
        request = Request(method, path, _encoded(query or {}), content, content_type)
        response = self._transport.send(request, self._token)
        if response.status >= 400:
            raise _refusal(response)
        return response.body


def _content(body: object) -> tuple[bytes | None, str]:
    if body is None:
        return None, ""
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    return json.dumps(body).encode(), "application/json"


def _encoded(query: Query) -> str:
    """A query string without what was not given; of a list each item by itself."""
    return urllib.parse.urlencode(list(_pairs(query)))


def _pairs(query: Query) -> Iterator[tuple[str, str]]:
    for name, value in query.items():
        is_many = isinstance(value, (list, tuple))
        for item in cast("Sequence[object]", value) if is_many else (value,):
            if item is None:
                continue
            text = str(item).lower() if isinstance(item, bool) else str(item)
            yield name, text


def _refusal(response: Response) -> errors.ReverieError:
    """The error of ours that an envelope tells of."""
    try:
        told = json.loads(response.body)["error"]
        message, hint = str(told["message"]), str(told["hint"])
        code, details = str(told["code"]), dict(told["details"])
    except (ValueError, KeyError, TypeError):
        return errors.ReverieError(
            f"The server answered {response.status} without saying why."
        )
    kind = _kinds().get(code, errors.ReverieError)
    return kind(message, hint=hint, details=details)


def _kinds() -> dict[str, type[errors.ReverieError]]:
    kinds: dict[str, type[errors.ReverieError]] = {}
    waiting = [errors.ReverieError]
    while waiting:
        kind = waiting.pop()
        kinds.setdefault(kind.code, kind)
        waiting += kind.__subclasses__()
    return kinds


class _Loopback:
    """The server of this home, at its port."""

    def __init__(self, port: int) -> None:
        self._port = port

    def send(self, request: Request, token: str) -> Response:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=_TIMEOUT_SECONDS
        )
        try:
            connection.request(
                request.method, request.address, request.body, request.headers(token)
            )
            answered = connection.getresponse()
            content_type = answered.headers.get_content_type()
            return Response(answered.status, content_type, answered.read())
        except (OSError, http.client.HTTPException) as gone:
            raise errors.Unavailable(
                f"The server at port {self._port} does not answer: {gone}.",
                hint="`reverie doctor` tells whether it runs; try again in a moment.",
            ) from None
        finally:
            connection.close()


@contextlib.contextmanager
def connected() -> Generator[ApiClient]:
    """The API of this home: of the server that runs, or opened here for as long as the
    block lasts. Raises what opening it raises.
    """
    home = home_folder.of(os.environ)
    server = running.listening(home)
    if server is not None:
        yield ApiClient(_Loopback(server.port), _token(home))
        return
    in_process = importlib.import_module("reverie.cli.in_process")
    with in_process.opened() as transport:
        yield ApiClient(transport, _token(home))


def _token(home: Path) -> str:
    """The owner's token. Raises Unauthorized."""
    file = home_folder.token_file(home)
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as refused:
        raise errors.Unauthorized(
            f"The owner's token in {file} cannot be read: {refused.strerror}.",
            hint="Run this as the user who owns the home.",
        ) from None
