"""The command line as a whole: help, version, and how little is loaded for them."""

import importlib
import subprocess
import sys

import pytest
import typer

from reverie import __version__
from reverie.cli import main
from tests.cli.conftest import Home


@pytest.mark.parametrize("name", main.COMMANDS)
def test_what_help_says_of_a_command_is_what_it_says_of_itself(name: str) -> None:
    command = main.COMMANDS[name]
    module = importlib.import_module(f"reverie.cli.{command.module}")
    function = getattr(module, command.function or name)
    own = function.info.help if isinstance(function, typer.Typer) else function.__doc__
    words = " ".join(str(own).split())
    assert words.startswith(command.summary)


@pytest.mark.parametrize("asked", ["--help", "-h"])
def test_help_names_every_command(bare_home: Home, asked: str) -> None:
    shown = bare_home.run(asked).stdout
    assert all(f" {name} " in shown for name in (*main.COMMANDS, "version"))
    assert "--limit" in bare_home.run("search", asked).stdout


def test_the_version_is_told_both_ways(bare_home: Home) -> None:
    assert bare_home.run("--version").stdout.strip() == __version__
    assert bare_home.run("version").stdout.strip() == __version__


@pytest.mark.parametrize("asked", ["--help", "version"])
def test_help_and_version_load_next_to_nothing(asked: str) -> None:
    """Seconds of processor time once: neither a database nor a web server is wanted."""
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "reverie", asked],
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    heavy = ("fastapi", "starlette", "psycopg", "numpy", "dbos")
    assert not [name for name in heavy if f" {name}\n" in loaded]


def test_an_unknown_command_is_told_with_one_that_is_like_it(bare_home: Home) -> None:
    told = bare_home.run("serach", "x", code=2).stderr
    assert "Did you mean" in told
    assert "search" in told
