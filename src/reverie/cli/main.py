"""CLI entry point (typer): loads the command's module, runs it, prints failures."""

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from reverie import __version__, errors
from reverie.cli import terminal


@dataclass(frozen=True, slots=True)
class Command:
    """Where a command is, and what `reverie --help` says of it: the module of one
    command loads fast, that of all takes seconds.
    """

    module: str
    summary: str
    function: str = ""


COMMANDS: Mapping[str, Command] = {
    "import": Command("importing", "Bring files in.", "import_files"),
    "watch": Command(
        "importing",
        "Keep folders in step: new and changed files come in, moved ones keep their record, removed ones are deleted.",
    ),
    "search": Command(
        "search",
        "Find records by meaning and by words, in any language, with their sources.",
    ),
    "ask": Command(
        "ask",
        "Answer from what you keep, with the sources: in a model's sentences "
        "where there is one, or else in quotations.",
    ),
    "up": Command("serve", "Run the database, the API and the workers until Ctrl-C."),
    "mcp": Command(
        "serve",
        "Speak the Model Context Protocol on stdin and stdout, for an agent's client.",
    ),
    "connect": Command(
        "connect",
        "Connect an agent to Reverie: shows the change to its configuration, asks, keeps the old file too.",
    ),
    "doctor": Command("doctor", "What runs, what is degraded, what to do."),
    "rebuild": Command(
        "importing",
        "Make everything derived again from the records: passages, terms, vectors.",
    ),
    "graph": Command(
        "graph", "Who and what your records are about: show, path, stats, duplicates."
    ),
    "models": Command(
        "models",
        "Which models are configured, where they are, and with --test whether they answer.",
    ),
    "privacy": Command(
        "models",
        "What models were asked, and what left this machine as it was, pseudonymised, or not at all.",
    ),
    "demo": Command(
        "demo", "Import an invented person's life and search it: no key, no network."
    ),
    "token": Command("access", "Tokens of machines and agents: mint, list, revoke."),
    "user": Command(
        "access", "The people of this household: add, list, rename, password."
    ),
    "agent": Command("access", "Agents and what each may do: list, scopes."),
}
_STOPPED = 130  # 128 and the number of SIGINT, as shells have it


def main() -> None:
    """Entry point. Exit codes: 0 done, 1 failed with a sentence, 2 wrong use, 130
    stopped by Ctrl-C.
    """
    application = _application(_called())
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


def _called() -> str:
    """The command that is called, or completed by a shell; "" when it is none."""
    words = os.environ.get("COMP_WORDS", "").split() or sys.argv
    first = next((word for word in words[1:] if not word.startswith("-")), "")
    return first if first in COMMANDS else ""


def _application(called: str) -> typer.Typer:
    """The command that is called, or all by what is said of them."""
    application = typer.Typer(
        name="reverie",
        help=_ABOUT,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(_root)
    if called:
        command = _function(called)
        if isinstance(command, typer.Typer):
            application.add_typer(command, name=called)
        else:
            application.command(called)(command)
        return application
    for name, command in COMMANDS.items():
        application.command(name, help=command.summary)(_not_called)
    application.command("version", help="The version.")(_version)
    return application


_ABOUT = "The memory of your own files, notes, mail and days: kept and searched on this machine."


def _function(name: str) -> Callable[..., Any] | typer.Typer:
    command = COMMANDS[name]
    module = importlib.import_module(f"reverie.cli.{command.module}")
    return getattr(module, command.function or name)


def _not_called() -> None:
    """Stands for a command where all are listed."""


def _version() -> None:
    terminal.line(__version__)


def _version_and_no_more(wanted: bool) -> None:
    if wanted:
        _version()
        raise typer.Exit


_Version = Annotated[
    bool,
    typer.Option(
        "--version", help="The version.", callback=_version_and_no_more, is_eager=True
    ),
]


def _root(version: _Version = False) -> None:
    """Holds the commands together."""
