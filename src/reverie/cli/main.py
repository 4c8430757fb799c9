"""CLI entry point (typer): loads the command's module, runs it, prints failures."""

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
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
    "ask": "reverie.cli.ask",
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
_STOPPED = 130  # 128 and the number of SIGINT, as shells have it


def main() -> None:
    """Entry point. Exit codes: 0 done, 1 failed with a sentence, 2 wrong use, 130
    stopped by Ctrl-C.
    """
    first_word = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    names = [first_word] if first_word in COMMANDS else list(COMMANDS)
    application = _application(names)
    try:
        application()
    except errors.ReverieError as failure:
        terminal.failure(failure)
        sys.exit(1)
    except (KeyboardInterrupt, SystemExit) as ended:
        # typer makes an exit of Ctrl-C.
        if isinstance(ended, SystemExit) and ended.code != _STOPPED:
            raise
        terminal.note(
            "Stopped. What was done is kept; run the same command again to go on."
        )
        sys.exit(_STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)


def _application(names: Sequence[str]) -> typer.Typer:
    """The commands of these names, and `version` beside them if they are all."""
    application = typer.Typer(
        name="reverie",
        help=_ABOUT,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    application.callback()(_root)
    for name in names:
        command = _function(name)
        if isinstance(command, typer.Typer):
            application.add_typer(command, name=name)
        else:
            application.command(name)(command)
    if len(names) > 1:
        application.command("version", help="The version.")(_version)
    return application


_ABOUT = "The memory of your own files, notes, mail and days: kept and searched on this machine."


def _function(name: str) -> Callable[..., Any] | typer.Typer:
    module = importlib.import_module(COMMANDS[name])
    return getattr(module, _FUNCTIONS.get(name, name))


def _root() -> None:
    """Holds the commands together."""


def _version() -> None:
    terminal.line(__version__)
