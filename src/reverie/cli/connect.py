"""`reverie connect`: enters the MCP server into an agent's JSON or TOML configuration.

Every other byte stays as it is. Files are changed as text, then read again: unless the
result says exactly what was meant, nothing is written.
"""

import difflib
import enum
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import config, errors
from reverie import home as home_folder
from reverie.cli import json_config, server_entry, terminal, toml_config

_DATABASE, _TOKEN = "REVERIE_DATABASE_URL", "REVERIE_TOKEN"
_STYLES = {"+": "green", "-": "red"}
_BOUNDARIES = "\"'{}[],:= \t\r\n"
_WIDEST = 200  # characters of a line that is shown; set by hand


class AgentProgram(enum.StrEnum):
    """The MCP clients whose configuration can be written."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """One client: its file, how that is changed, and what the person has to do then.

    `change` takes the file's text, the entry and the path to name in errors, and gives
    the new text.
    """

    name: str
    path: Path
    change: Callable[[str, Mapping[str, Any], Path], str]
    afterwards: str


def connect(
    client: Annotated[
        AgentProgram, typer.Argument(help="Whose configuration to write.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    agent: Annotated[
        str, typer.Option(help="Whose scopes it gets; `reverie agent list` tells them.")
    ] = "main",
    only_show: Annotated[
        bool, typer.Option("--print", help="Only show the change; write nothing.")
    ] = False,
) -> None:
    """Connect an agent to Reverie: shows the change to its configuration, asks, keeps
    the old file too.
    """
    settings = _settings_of_home()
    target = _client_config(client)
    # A link into somebody's dotfiles stays a link: what it leads to is written.
    path = Path(os.path.realpath(target.path))
    old = _read(path)
    new = target.change(old, _entry(client, settings.home, agent), target.path)
    if new == old:
        terminal.line(
            f"{target.name} is connected already: {target.path} stays as it is."
        )
    else:
        _show(target.path, old, new)
    _warn_of_database(settings)
    if new == old or only_show:
        return
    if not yes and not typer.confirm(f"Write this to {target.path}?", default=True):
        terminal.line("Nothing was written.")
        raise typer.Exit(1)
    _write(path, old, new)
    terminal.line("Written." + (f" The old file is {_backup(path)}." if old else ""))
    terminal.line(target.afterwards)


def _settings_of_home() -> config.Config:
    """The configuration as the client's own process will see it: without what only this
    shell has.
    """
    return config.load(
        {
            name: value
            for name, value in os.environ.items()
            if name not in (_DATABASE, _TOKEN)
        }
    )


def _client_config(client: AgentProgram) -> ClientConfig:
    """Where each client keeps the servers of this user."""
    home = Path.home()
    if client is AgentProgram.CLAUDE_CODE:
        folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home)
        return ClientConfig(
            "Claude Code",
            folder / ".claude.json",
            json_config.with_server,
            "Start it anew; /mcp lists Reverie.",
        )
    if client is AgentProgram.CLAUDE_DESKTOP:
        folder = (
            home / "Library/Application Support"
            if sys.platform == "darwin"
            else home / ".config"
        )
        file = folder / "Claude" / "claude_desktop_config.json"
        return ClientConfig(
            "Claude Desktop",
            file,
            json_config.with_server,
            "Quit it and start it anew.",
        )
    if client is AgentProgram.CURSOR:
        file = home / ".cursor" / "mcp.json"
        return ClientConfig(
            "Cursor",
            file,
            json_config.with_server,
            "Start it anew; its MCP settings list Reverie.",
        )
    folder = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    return ClientConfig(
        "Codex",
        folder / "config.toml",
        toml_config.with_server,
        "Start it anew; /mcp lists Reverie.",
    )


def _entry(client: AgentProgram, home: Path, agent: str) -> dict[str, Any]:
    """What starts the server. A client started from a desktop has neither this shell's
    PATH nor variables.
    """
    command, *arguments = _command()
    entry: dict[str, Any] = {}
    if client is AgentProgram.CLAUDE_CODE:
        entry["type"] = "stdio"
    entry["command"] = command
    entry["args"] = [*arguments, "mcp", "--agent", agent]
    usual_home = home_folder.default(
        root=os.geteuid() == 0, environ={"HOME": str(Path.home())}
    )
    entry["env"] = {"REVERIE_HOME": str(home)} if home != usual_home else {}
    return entry


def _command() -> list[str]:
    """The `reverie` that runs now, by its absolute path; a link is kept, since an
    update moves its end.
    """
    if Path(sys.argv[0]).name == server_entry.NAME:
        running = shutil.which(sys.argv[0])
        if running:
            return [os.path.abspath(running)]  # noqa: PTH100 - absolute() keeps `..`, resolve() follows links
    beside = Path(sys.executable).with_name(server_entry.NAME)
    if os.access(beside, os.X_OK):
        return [str(beside)]
    return [sys.executable, "-m", server_entry.NAME]


def _warn_of_database(settings: config.Config) -> None:
    """An address that may hold a password belongs into our own file, not into
    everybody's.
    """
    url = os.environ.get(_DATABASE, "")
    if url and url != settings.database_url:
        terminal.note(
            f"Your database comes from {_DATABASE}. It is not written here, since it may hold a password, "
            "and the client may not pass it on: the agent would get another, empty memory. "
            f'Put `database_url = "…"` into {settings.home / "config.toml"} (mode 0600).'
        )


def _read(path: Path) -> str:
    """The file's text, or "" when there is none. Raises Unreadable."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise errors.Unreadable(
            f"{path} is not UTF-8 text.", hint="Nothing was written."
        ) from None
    except OSError as refused:
        why = refused.strerror
        raise errors.Unreadable(
            f"{path} cannot be read: {why}.", hint="Nothing was written."
        ) from None


def _show(path: Path, old: str, new: str) -> None:
    """The change alone, without what stands around it: that may hold other servers'
    keys, on the same line where the file has no line breaks.
    """
    terminal.line(f"{path}{'' if old else ' (new)'}\n")
    before = old.splitlines(keepends=True)
    after = new.splitlines(keepends=True)
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, start, end, new_start, new_end in blocks:
        if kind != "equal":
            removed = "".join(before[start:end])
            added = "".join(after[new_start:new_end])
            _show_block(removed, added)
    terminal.line()


def _show_block(removed: str, added: str) -> None:
    first = _same_at_start(removed, added)
    last = _same_at_start(removed[first:][::-1], added[first:][::-1])
    for sign, text in (("-", removed), ("+", added)):
        for line in text[first : len(text) - last].splitlines():
            short = line if len(line) <= _WIDEST else line[:_WIDEST] + "…"
            if short.strip():
                terminal.line(terminal.safe(sign + short), style=_STYLES[sign])


def _same_at_start(left: str, right: str) -> int:
    """How many characters two texts share, up to the word at which they part."""
    pairs = enumerate(zip(left, right, strict=False))
    parted = (at for at, (ours, theirs) in pairs if ours != theirs)
    same = next(parted, min(len(left), len(right)))
    while same and left[same - 1] not in _BOUNDARIES:
        same -= 1
    return same


def _backup(path: Path) -> Path:
    return path.with_name(path.name + ".bak")


def _write(path: Path, old: str, new: str) -> None:
    """Put the new text in the old one's place, or leave all as it was. Raises Conflict,
    Unreadable.
    """
    if _read(path) != old:
        raise errors.Conflict(
            f"{path} has changed meanwhile.", hint="Nothing was written; try again."
        )
    half: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # 0600 from the first byte on, then the old file's mode: such files hold other
        # services' keys.
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
        why = refused.strerror
        raise errors.Unreadable(
            f"{path} cannot be written: {why}.", hint="It is as it was."
        ) from None
