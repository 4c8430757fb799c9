"""ASGI client: asks the API in this process, without a socket."""

import asyncio
from collections.abc import Mapping

from starlette import types


async def ask(
    api: types.ASGIApp,
    method: str,
    address: str,
    headers: Mapping[str, str],
    body: bytes,
) -> tuple[int, str, bytes]:
    """Status, content type and body of what a request is answered with; `address` is
    a path with its query string.
    """
    path, _, query = address.partition("?")
    named = {"host": "localhost", **headers}
    scope: types.Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in named.items()
        ],
        "client": None,
        "server": ("localhost", 0),
    }
    started: types.Message = {}
    answered = bytearray()
    whole = iter([{"type": "http.request", "body": body}])

    async def receive() -> types.Message:
        for message in whole:
            return message
        return await asyncio.Future()  # nobody goes away

    async def send(message: types.Message) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
        else:
            answered.extend(message.get("body", b""))

    await api(scope, receive, send)
    found = {name.lower(): value for name, value in started["headers"]}
    content_type = found.get(b"content-type", b"").decode().partition(";")[0]
    return started["status"], content_type, bytes(answered)
