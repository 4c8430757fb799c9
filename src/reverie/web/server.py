"""Web server: the API as one FastAPI application, run by uvicorn on a local port."""

import asyncio
import contextlib
import errno
import functools
import socket
from collections.abc import Callable, Generator
from typing import Any

import fastapi
import fastapi.exceptions
import starlette.exceptions
import uvicorn
from starlette import requests, responses

from reverie import app, errors
from reverie.web import (
    agenda,
    changelog,
    documents,
    envelope,
    graph,
    graph_changes,
    health,
    login,
    middleware,
    openapi,
    parameters,
    people,
    privacy,
    records,
    routes,
    search,
    short_ids,
)

_GRACE_SECONDS = 5
# Before the records: /events/agenda is not the event with the id `agenda`.
_PARTS = (
    health,
    login,
    people,
    agenda,
    changelog,
    documents,
    graph,
    graph_changes,
    privacy,
    search,
    short_ids,
    records,
)


def create(reverie: app.App) -> fastapi.FastAPI:
    """The whole API of a running Reverie. FastAPI's pages load scripts from elsewhere,
    so there are none.
    """
    api = fastapi.FastAPI(
        title="Reverie",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    api.add_middleware(middleware.edge, reverie=reverie)
    api.add_exception_handler(starlette.exceptions.HTTPException, envelope.of_framework)
    api.add_exception_handler(
        fastapi.exceptions.RequestValidationError, envelope.of_framework
    )

    @functools.cache
    def whole() -> dict[str, Any]:
        return openapi.document(api)

    async def description(request: requests.Request) -> responses.Response:
        parameters.read(request, parameters.Parameters)
        return envelope.answer(whole())

    routes.add(
        api, "openapi", "GET", "/openapi.json", description, include_in_schema=False
    )
    for part in _PARTS:
        routes.add_all(api, reverie, part.ROUTES)
    routes.check(api)
    return api


async def serve(
    reverie: app.App,
    *,
    host: str = "127.0.0.1",
    port: int,
    ready: Callable[[int], None],
    ended: Callable[[], None] = lambda: None,
    stop: asyncio.Event,
) -> None:
    """Answer on a port (0: any free one; `ready` is told which) until `stop` is set;
    `ended` is called before the port is given up.

    Raises AlreadyRunning when the port is taken.
    """
    listening = _listening_socket(host, port)
    settings = uvicorn.Config(
        create(reverie),
        access_log=False,
        log_config=None,
        lifespan="off",
        ws="none",
        server_header=False,
        # uvicorn would take X-Forwarded-* of any program on this machine for the truth
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _Server(settings, lambda: ready(listening.getsockname()[1]))
    waiting = asyncio.create_task(_stopped(server, stop, ended))
    try:
        await server.serve(sockets=[listening])
    finally:
        waiting.cancel()
        listening.close()


class _Server(uvicorn.Server):
    """uvicorn without signal handlers: the process decides when it ends. Says when it
    listens.
    """

    def __init__(self, settings: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(settings)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


async def _stopped(
    server: uvicorn.Server, stop: asyncio.Event, ended: Callable[[], None]
) -> None:
    await stop.wait()
    ended()
    server.should_exit = True


def _listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio only sends at once (TCP_NODELAY) what it knows to be TCP: an answer on a
    # connection that was used before waited 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
        listening.setblocking(False)
    except OSError as refused:
        listening.close()
        if refused.errno == errno.EADDRINUSE:
            raise errors.AlreadyRunning(
                f"Port {port} is in use by another program.",
                hint="Set REVERIE_PORT to another one.",
            ) from None
        raise errors.Misconfigured(
            f"Port {port} of {host} cannot be opened: {refused.strerror}.",
            hint="Set REVERIE_PORT to another one.",
        ) from None
    return listening
