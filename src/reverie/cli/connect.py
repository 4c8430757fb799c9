"""`reverie connect`: tells an agent's program where Reverie's MCP server is, and changes nothing else in its file."""

import difflib
import enum
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import config, errors
from reverie.cli import clientfiles

_DATABASE = "REVERIE_DATABASE_URL"
_WIDEST = 200


class Client(enum.StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class Target:
    """One client's file, and what has to be done there afterwards."""

    name: str
    path: Path
    change: clientfiles.Change
    typed: bool
    afterwards: str


def connect(
    client: Annotated[Client, typer.Argument(help="Whose configuration to write.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Only show the change; write nothing.")] = False,
) -> None:
    """Write Reverie into the configuration of an agent: shows the change, asks, keeps a copy of the old file."""
    settings = config.load({key: value for key, value in os.environ.items() if key != _DATABASE})
    target = _target(client)
    entry = _entry(settings.home, typed=target.typed)
    # A link into somebody's dotfiles stays one: what it leads to is written.
    path = _resolved(target.path)
    old = _read(path)
    new = target.change(old, entry, path)
    if new == old:
        typer.echo(f"{target.name} is connected already: {target.path} stays as it is.")
    else:
        _show(target.path, old, new)
    _warn_of_database(settings)
    if new == old or show:
        return
    if not yes and not typer.confirm(f"Write this to {target.path}?", default=True):
        typer.echo("Nothing was written.")
        raise typer.Exit(1)
    _write(path, old, new)
    kept = f" The old file is {_backup(path)}." if old else ""
    typer.echo(f"Written.{kept}")
    typer.echo(target.afterwards)


def _target(client: Client) -> Target:
    """Where each client keeps the servers of this user."""
    home = Path.home()
    if client is Client.CLAUDE_CODE:
        folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home)
        afterwards = "Start Claude Code anew; /mcp lists Reverie."
        return Target("Claude Code", folder / ".claude.json", clientfiles.in_json, True, afterwards)
    if client is Client.CLAUDE_DESKTOP:
        base = home / "Library/Application Support" if sys.platform == "darwin" else home / ".config"
        file = base / "Claude" / "claude_desktop_config.json"
        return Target("Claude Desktop", file, clientfiles.in_json, False, "Quit Claude Desktop and start it anew.")
    if client is Client.CURSOR:
        afterwards = "Start Cursor anew; its MCP settings list Reverie."
        return Target("Cursor", home / ".cursor" / "mcp.json", clientfiles.in_json, False, afterwards)
    folder = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    return Target("Codex", folder / "config.toml", clientfiles.in_toml, False, "Start Codex anew; /mcp lists Reverie.")


def _entry(home: Path, *, typed: bool) -> dict[str, Any]:
    """What starts the server. A client started from a desktop has neither this shell's PATH nor its variables."""
    command, *arguments = _command()
    entry: dict[str, Any] = {"type": "stdio"} if typed else {}
    entry |= {"command": command, "args": [*arguments, "mcp"]}
    usual = config.default_home(root=os.geteuid() == 0, environ={"HOME": str(Path.home())})
    return entry | {"env": {"REVERIE_HOME": str(home)} if home != usual else {}}


def _command() -> list[str]:
    """The `reverie` that runs now, by its absolute path; links are kept, since updates move what they lead to."""
    started = Path(sys.argv[0])
    if started.name == "reverie":
        found = shutil.which(sys.argv[0])
        if found:
            return [os.path.abspath(found)]  # noqa: PTH100 - Path.absolute() keeps `..`, resolve() follows links
    beside = Path(sys.executable).with_name("reverie")
    if os.access(beside, os.X_OK):
        return [str(beside)]
    return [sys.executable, "-m", "reverie"]


def _warn_of_database(settings: config.Config) -> None:
    """A database address may hold a password: it belongs into our own file, not into five others."""
    url = os.environ.get(_DATABASE, "")
    if url and url != settings.database_url:
        typer.secho(
            f"\nYour database comes from {_DATABASE}, which is not written here: it may hold a password, and the "
            f"client may not pass it on. Put it as `database_url = \"…\"` into {settings.home / 'config.toml'} "
            "(mode 0600); otherwise the agent gets another, empty memory.",
            fg="yellow",
            err=True,
        )


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as broken:
        raise errors.Unreadable(f"{path} cannot be followed: {broken}.", hint="Nothing was written.") from None


def _read(path: Path) -> str:
    """The file's text, or "" when there is none. Raises Unreadable."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise errors.Unreadable(f"{path} is not UTF-8 text.", hint="Nothing was written.") from None
    except OSError as refused:
        raise errors.Unreadable(
            f"{path} cannot be read: {refused.strerror}.", hint="Nothing was written."
        ) from None


def _show(path: Path, old: str, new: str) -> None:
    """The change alone, without the lines around it: they may hold other servers' keys."""
    typer.echo(f"{path}{'' if old else ' (new)'}\n")
    for line in list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]:
        short = line if len(line) <= _WIDEST else line[:_WIDEST] + "…"
        typer.secho(short, fg={"+": "green", "-": "red"}.get(line[0]))
    typer.echo("")


def _backup(path: Path) -> Path:
    return path.with_name(path.name + ".bak")


def _write(path: Path, old: str, new: str) -> None:
    """Put the new text in the place of the old one at once, or leave all as it was. Raises Conflict, Unreadable."""
    if _read(path) != old:
        raise errors.Conflict(f"{path} has just been changed by its program.", hint="Nothing was written; try again.")
    half: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The mode is 0600 from the first byte on, then the old file's: such files hold other services' keys.
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        half = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(new.encode())
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, half)
            shutil.copy2(path, _backup(path))
        half.replace(path)
    except OSError as refused:
        if half is not None:
            half.unlink(missing_ok=True)
        raise errors.Unreadable(f"{path} cannot be written: {refused.strerror}.", hint="It is as it was.") from None
