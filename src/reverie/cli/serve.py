"""CLI commands `reverie up` and `reverie mcp`: the web server and the MCP server."""

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Annotated

import typer

from reverie import app, errors
from reverie import mcp as protocol
from reverie.cli import importing, terminal
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
        with _up_lock(settings.home) as lock_file:
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
                        ready=lambda port: _ready(reverie, lock_file, port),
                        stop=stop,
                    )
                finally:
                    heartbeat.cancel()
                    await compiling
            terminal.note("Stopping…")
    terminal.note("Stopped. Everything is kept.")


def _ready(reverie: app.App, lock_file: Path, port: int) -> None:
    lock_file.write_text(f"{os.getpid()} {port}\n", encoding="utf-8")
    terminal.line(f"Reverie is up: http://127.0.0.1:{port}/api/v1", style="bold")
    terminal.note(f"The token is in {reverie.token_file}. Ctrl-C stops everything.")


@contextlib.contextmanager
def _up_lock(home: Path) -> Generator[Path]:
    """Hold the home's `up.lock`, which also tells who holds it. Raises AlreadyRunning."""
    path = home / "up.lock"
    with path.open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.AlreadyRunning(
                f"Reverie is already {running(home)} here.",
                hint="Stop it, or set REVERIE_HOME to another folder.",
            ) from None
        yield path
        path.write_text("", encoding="utf-8")


def running(home: Path) -> str:
    """`running (process 12, port 8585)` when a `reverie up` of this home runs, else ""."""
    path = home / "up.lock"
    if not path.exists():
        return ""
    with path.open("r", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, _, port = file.read().strip().partition(" ")
            return f"running (process {pid}, port {port})" if port else "running"
    return ""
