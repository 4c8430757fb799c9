"""The `reverie` command: finds the command's module, runs it, and turns failures into a
sentence.
"""

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import typer

from reverie import __version__, errors
from reverie.cli import terminal

# Each command with the module that holds it: only the module that is called is loaded,
# so that search starts fast.
COMMANDS: Mapping[str, str] = {
    "import": "reverie.cli.importing",
    "watch": "reverie.cli.importing",
    "search": "reverie.cli.search",
    "ask": "reverie.cli.search",
    "up": "reverie.cli.serve",
    "mcp": "reverie.cli.serve",
    "connect": "reverie.cli.connect",
    "doctor": "reverie.cli.doctor",
    "rebuild": "reverie.cli.importing",
    "graph": "reverie.cli.graph",
    "models": "reverie.cli.models",
    "privacy": "reverie.cli.models",
    "demo": "reverie.cli.demo",
    "token": "reverie.cli.access",
    "user": "reverie.cli.access",
    "agent": "reverie.cli.access",
}
_FUNCTIONS = {"import": "import_files"}
_STOPPED = 130


def main() -> None:
    """Entry point. Exit codes: 0 done, 1 failed with a sentence, 2 wrong use, 130
    stopped by Ctrl-C.
    """
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    names = [command] if command in COMMANDS else list(COMMANDS)
    app = typer.Typer(
        name="reverie",
        help=_ABOUT,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name in names:
        function = _function(name)
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=name)
        else:
            app.command(name)(function)
    if len(names) > 1:
        app.command("version", help="The version.")(_version)
    try:
        app()
    except errors.ReverieError as failure:
        terminal.failure(failure)
        sys.exit(1)
    except (KeyboardInterrupt, SystemExit) as ended:
        if (
            isinstance(ended, SystemExit) and ended.code != _STOPPED
        ):  # typer makes an exit of Ctrl-C
            raise
        terminal.note(
            "Stopped. What was done is kept; run the same command again to go on."
        )
        sys.exit(_STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)


_ABOUT = "The memory of your own files, notes, mail and days: kept and searched on this machine."


def _function(name: str) -> Callable[..., Any] | typer.Typer:
    module = importlib.import_module(COMMANDS[name])
    return getattr(module, _FUNCTIONS.get(name, name))


def _root() -> None:
    """Holds the commands together."""


def _version() -> None:
    terminal.line(__version__)
