"""CLI commands `reverie up` and `reverie mcp`: the web server and the MCP server."""

import asyncio
import signal
import sys
from typing import Annotated

import typer

from reverie import app
from reverie import mcp as protocol
from reverie.cli import importing, running, terminal
from reverie.ingest import durable
from reverie.pipeline import worker
from reverie.search.dates import grammar
from reverie.web import server

_SWITCH_SECONDS = 0.001  # set by hand


def up() -> None:
    """Run the database, the API and the workers until Ctrl-C."""
    asyncio.run(_up())


def mcp(
    agent: Annotated[
        str,
        typer.Option(
            help="The agent that speaks; `reverie agent list` tells its scopes."
        ),
    ] = "main",
) -> None:
    """Speak the Model Context Protocol on stdin and stdout, for an agent's client.

    A token in REVERIE_TOKEN goes before the agent's name.
    """
    asyncio.run(protocol.run(app.read_settings(), name=agent))


async def _up() -> None:
    # A thread that reads a long text lets others run after so many seconds; by default
    # it is five times as long, and an answer that waits for the database waits so long
    # at each step.
    sys.setswitchinterval(_SWITCH_SECONDS)
    settings = app.read_settings()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    async with app.opened(settings) as reverie:
        with running.locked(settings.home):
            following = worker.Worker(
                reverie.database,
                reverie.embeddings,
                reverie.models,
                history_days=settings.history.days,
                owner_url=reverie.owner_url,
            ).running()
            ingesting = durable.launched(
                importing.ingest_context(reverie), owner_url=reverie.owner_url
            )
            async with following, ingesting:
                heartbeat = asyncio.create_task(
                    app.keep_alive(reverie, notify=terminal.note)
                )
                # The first question is not to wait for this.
                compiling = asyncio.create_task(asyncio.to_thread(grammar.patterns))
                try:
                    await server.serve(
                        reverie,
                        port=settings.port,
                        ready=lambda port: _ready(reverie, port),
                        ended=lambda: running.note_port(settings.home, 0),
                        stop=stop,
                    )
                finally:
                    heartbeat.cancel()
                    await compiling
            terminal.note("Stopping…")
    terminal.note("Stopped. Everything is kept.")


def _ready(reverie: app.App, port: int) -> None:
    running.note_port(reverie.settings.home, port)
    terminal.line(f"Reverie is up: http://127.0.0.1:{port}/api/v1", style="bold")
    terminal.note(f"The token is in {reverie.token_file}. Ctrl-C stops everything.")
