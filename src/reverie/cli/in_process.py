"""The API opened in this process, for commands while no server runs."""

import asyncio
import contextlib
from collections.abc import Generator

from reverie import app
from reverie.cli.api_request import Request, Response
from reverie.web import in_process, server


class InProcess:
    """The API of an application that is open, asked one request at a time."""

    def __init__(self, runner: asyncio.Runner, reverie: app.App) -> None:
        self._runner = runner
        self._api = server.create(reverie)

    def send(self, request: Request, token: str) -> Response:
        """Ask it. Raises what no part of the API has a sentence for."""
        asking = in_process.ask(
            self._api,
            request.method,
            request.address,
            request.headers(token),
            request.body or b"",
        )
        return Response(*self._runner.run(asking))


@contextlib.contextmanager
def opened() -> Generator[InProcess]:
    """The API with the application opened for as long as the block lasts."""
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        try:
            reverie = runner.run(_open(stack))
            yield InProcess(runner, reverie)
        finally:
            runner.run(stack.aclose())


async def _open(stack: contextlib.AsyncExitStack) -> app.App:
    return await stack.enter_async_context(app.opened(app.read_settings()))
