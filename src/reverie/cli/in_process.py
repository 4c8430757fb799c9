"""ASGI transport: the API in this process, for commands while no server runs."""

import asyncio
import contextlib
from collections.abc import Generator

from starlette import types

from reverie import app
from reverie.cli import client
from reverie.web import server


class InProcess:
    """The API of an application that is open, asked one request at a time."""

    def __init__(self, runner: asyncio.Runner, api: types.ASGIApp) -> None:
        self._runner = runner
        self._api = api

    def send(self, request: client.Request, token: str) -> client.Response:
        return self._runner.run(_sent(self._api, request, token))


@contextlib.contextmanager
def opened() -> Generator[InProcess]:
    """The API with the application opened for as long as the block lasts."""
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        try:
            reverie = runner.run(_open(stack))
            yield InProcess(runner, server.create(reverie))
        finally:
            runner.run(stack.aclose())


async def _open(stack: contextlib.AsyncExitStack) -> app.App:
    return await stack.enter_async_context(app.opened(app.read_settings()))


async def _sent(
    api: types.ASGIApp, request: client.Request, token: str
) -> client.Response:
    path = f"{client.PREFIX}{request.path}"
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    if request.content_type:
        headers.append((b"content-type", request.content_type.encode()))
    scope: types.Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": request.query.encode(),
        "headers": headers,
        "client": None,
        "server": ("localhost", 0),
    }
    started: types.Message = {}
    body = bytearray()

    whole = iter([{"type": "http.request", "body": request.body or b""}])

    async def receive() -> types.Message:
        for message in whole:
            return message
        return await asyncio.Future()  # nobody goes away

    async def send(message: types.Message) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
        else:
            body.extend(message.get("body", b""))

    await api(scope, receive, send)
    content_types = [
        value.decode().partition(";")[0]
        for name, value in started["headers"]
        if name.lower() == b"content-type"
    ]
    return client.Response(
        started["status"], next(iter(content_types), ""), bytes(body)
    )
