"""`reverie connect`: enters our MCP server into an agent's configuration; every other
byte stays as it is.

Files are changed as text, then read again: unless the result says exactly what was
meant, nothing is written.
"""

import difflib
import enum
import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import config, errors
from reverie.cli import terminal

_NAME = "reverie"
_DATABASE, _TOKEN = "REVERIE_DATABASE_URL", "REVERIE_TOKEN"
_WIDEST = 200
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class AgentProgram(enum.StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class _Target:
    """One client: its file, how that is changed, and what the person has to do then."""

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
    settings = config.load(
        {
            key: value
            for key, value in os.environ.items()
            if key not in (_DATABASE, _TOKEN)
        }
    )
    target = _target(client)
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


def _target(client: AgentProgram) -> _Target:
    """Where each client keeps the servers of this user."""
    home = Path.home()
    if client is AgentProgram.CLAUDE_CODE:
        folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home)
        return _Target(
            "Claude Code",
            folder / ".claude.json",
            _in_json,
            "Start it anew; /mcp lists Reverie.",
        )
    if client is AgentProgram.CLAUDE_DESKTOP:
        folder = (
            home / "Library/Application Support"
            if sys.platform == "darwin"
            else home / ".config"
        )
        file = folder / "Claude" / "claude_desktop_config.json"
        return _Target("Claude Desktop", file, _in_json, "Quit it and start it anew.")
    if client is AgentProgram.CURSOR:
        file = home / ".cursor" / "mcp.json"
        return _Target(
            "Cursor", file, _in_json, "Start it anew; its MCP settings list Reverie."
        )
    folder = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    return _Target(
        "Codex", folder / "config.toml", _in_toml, "Start it anew; /mcp lists Reverie."
    )


def _entry(client: AgentProgram, home: Path, agent: str) -> dict[str, Any]:
    """What starts the server. A client started from a desktop has neither this shell's
    PATH nor variables.
    """
    command, *arguments = _command()
    entry: dict[str, Any] = (
        {"type": "stdio"} if client is AgentProgram.CLAUDE_CODE else {}
    )
    entry |= {"command": command, "args": [*arguments, "mcp", "--agent", agent]}
    usual = config.default_home(
        root=os.geteuid() == 0, environ={"HOME": str(Path.home())}
    )
    return entry | {"env": {"REVERIE_HOME": str(home)} if home != usual else {}}


def _command() -> list[str]:
    """The `reverie` that runs now, by its absolute path; a link is kept, since an
    update moves its end.
    """
    found = shutil.which(sys.argv[0]) if Path(sys.argv[0]).name == _NAME else None
    if found:
        return [os.path.abspath(found)]  # noqa: PTH100 - absolute() keeps `..`, resolve() follows links
    beside = Path(sys.executable).with_name(_NAME)
    return (
        [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", _NAME]
    )


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
    """The change alone, without the lines around it: they may hold other servers' keys."""
    terminal.line(f"{path}{'' if old else ' (new)'}\n")
    for line in list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    )[2:]:
        short = terminal.safe(line if len(line) <= _WIDEST else line[:_WIDEST] + "…")
        terminal.line(short, style={"+": "green", "-": "red"}.get(line[0], "dim"))
    terminal.line()


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


# What both forms share
# --------------------------------------------------------------------------------------


def _parsed(
    text: str, path: Path, load: Callable[[str], Any], form: str
) -> dict[str, Any]:
    try:
        found = load(text)
    except (ValueError, RecursionError) as broken:
        message = f"{path} is not valid {form}: {broken}."
        raise errors.Unreadable(
            message, hint="Mend it first; nothing was written."
        ) from None
    if not isinstance(found, dict):
        raise errors.Unreadable(
            f"{path} holds no {form} object.", hint="Nothing was written."
        )
    return typing.cast(dict[str, Any], found)


def _servers(found: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    servers = found.get(name, {})
    if not isinstance(servers, dict):
        raise errors.Unreadable(
            f"`{name}` in {path} is no table of servers.", hint="Nothing was written."
        )
    return typing.cast(dict[str, Any], servers)


def _merged(old: object, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry over what is there: the owner's own keys (timeouts, allowed tools, …)
    and variables stay.
    """
    there = (
        typing.cast(dict[str, Any], old)
        if isinstance(old, dict) and "url" not in old
        else {}
    )
    env = there.get("env")
    kept = typing.cast(dict[str, Any], env) if isinstance(env, dict) else {}
    variables = {
        key: value for key, value in kept.items() if key != "REVERIE_HOME"
    } | entry["env"]
    return there | dict(entry) | {"env": variables}


def _too_hard(path: Path, block: str) -> errors.Unreadable:
    return errors.Unreadable(
        f"{path} is written in a way that cannot be changed safely.",
        hint=f"Nothing was written. Add this yourself:\n{block}",
    )


# JSON
# -------------------------------------------------------------------------------------------------------


def _in_json(text: str, entry: Mapping[str, Any], path: Path) -> str:
    """The text with `mcpServers.reverie` set. Raises Unreadable."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    if not body.strip():
        body = "{}\n"
    before = _parsed(body, path, json.loads, "JSON")
    servers = _servers(before, "mcpServers", path)
    wanted = _merged(servers.get(_NAME), entry)
    if servers.get(_NAME) == wanted:
        return text
    root = _past_space(body, 0)
    members, _ = _members(body, root)
    if "mcpServers" in members:
        new = _with_member(body, members["mcpServers"][0], _NAME, wanted, depth=2)
    else:
        new = _with_member(body, root, "mcpServers", {_NAME: wanted}, depth=1)
    meant = before | {"mcpServers": servers | {_NAME: wanted}}
    if _pairs(new) != _pairs(json.dumps(meant)):
        raise _too_hard(
            path,
            json.dumps({"mcpServers": {_NAME: wanted}}, ensure_ascii=False, indent=2),
        )
    return mark + new


def _members(text: str, start: int) -> tuple[dict[str, tuple[int, int]], int]:
    """The span of each value in the object whose `{` is at `start`, and where the last
    one ends.
    """
    found: dict[str, tuple[int, int]] = {}
    read = json.JSONDecoder().raw_decode
    at = end = start + 1
    while text[at := _past_space(text, at)] != "}":
        name, at = read(text, _past_space(text, at + 1) if text[at] == "," else at)
        at = _past_space(text, _past_space(text, at) + 1)  # behind the colon
        _, end = read(text, at)
        found[str(name)] = (at, end)
        at = end
    return found, end


def _past_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _with_member(text: str, start: int, name: str, value: object, *, depth: int) -> str:
    """The text with one member of the object at `start` set, laid out as the file is."""
    newline, indent = _layout(text)
    margin = newline + indent * depth
    shown = json.dumps(value, ensure_ascii=False, indent=indent or None).replace(
        "\n", margin
    )
    members, end = _members(text, start)
    if name in members:
        first, last = members[name]
        return text[:first] + shown + text[last:]
    member = f'{margin}"{name}": {shown}'
    if members:
        return f"{text[:end]},{'' if newline else ' '}{member}{text[end:]}"
    closing = text.index("}", start)
    return f"{text[: start + 1]}{member}{newline}{indent * (depth - 1)}{text[closing:]}"


def _layout(text: str) -> tuple[str, str]:
    """How the file breaks and indents its lines; ("", "") for a file in one line."""
    first = re.search(r'\{(\r?\n)([ \t]*)"', text)
    if first:
        return first[1], first[2] or "  "
    return ("\n", "  ") if re.fullmatch(r"\s*\{\s*\}\s*", text) else ("", "")


def _pairs(text: str) -> object:
    """A JSON text with every member counted, so that a name given twice does not go
    unseen.
    """
    return json.loads(
        text, object_pairs_hook=lambda pairs: sorted(pairs, key=lambda pair: pair[0])
    )


# TOML
# -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Statement:
    """One header or one `key = value`: its lines, and the whole path that it sets."""

    first: int
    last: int
    header: bool
    path: tuple[str, ...]


def _in_toml(text: str, entry: Mapping[str, Any], path: Path) -> str:
    """The text with the table `mcp_servers.reverie` set. Raises Unreadable."""
    before = _parsed(text, path, tomllib.loads, "TOML")
    servers = _servers(before, "mcp_servers", path)
    old = servers.get(_NAME)
    wanted = _merged(old, entry)
    if not wanted["env"] and not (isinstance(old, dict) and "env" in old):
        del wanted["env"]
    if old == wanted:
        return text
    block = [
        f"[mcp_servers.{_NAME}]",
        *(f"{key} = {_toml(value)}" for key, value in wanted.items()),
    ]
    if isinstance(old, dict):
        new = _replaced(
            text, ("mcp_servers", _NAME), typing.cast(dict[str, Any], old), wanted
        )
    else:
        new = _appended(text, block)
    if _alone(new) != before | {"mcp_servers": servers | {_NAME: wanted}}:
        raise _too_hard(path, "\n".join(block))
    return new


def _appended(text: str, block: Sequence[str]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    return text + (newline if text.strip() else "") + newline.join(block) + newline


def _replaced(
    text: str, table: tuple[str, ...], old: Mapping[str, Any], wanted: Mapping[str, Any]
) -> str:
    """The text with those keys of our table set that differ; `env` may be a table of
    its own.
    """
    for key in (*wanted, *(key for key in old if key not in wanted)):
        there, value, own = old.get(key), wanted.get(key), (*table, key)
        if there == value:
            continue
        if isinstance(value, dict) and any(
            one.header and one.path == own for one in _statements(text)
        ):
            names = typing.cast(dict[str, Any], value)
            for name in {**typing.cast(dict[str, Any], there), **names}:
                text = _with_key(text, own, name, names.get(name))
        else:
            text = _with_key(text, table, key, value)
    return text


def _with_key(text: str, table: tuple[str, ...], key: str, value: object) -> str:
    """The text with one key of one table set, or dropped for None."""
    lines = _LINE.findall(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    fresh = [] if value is None else [f"{_key(key)} = {_toml(value)}{newline}"]
    statements = _statements(text)
    for one in statements:
        if not one.header and one.path[: len(table) + 1] == (*table, key):
            return "".join([*lines[: one.first], *fresh, *lines[one.last :]])
    head = next(
        (one.last for one in statements if one.header and one.path == table), None
    )
    return text if head is None else "".join([*lines[:head], *fresh, *lines[head:]])


def _statements(text: str) -> list[_Statement]:
    """The statements of a valid text. A value that goes on over lines ends where it
    first parses.
    """
    lines = _LINE.findall(text)
    found: list[_Statement] = []
    table: tuple[str, ...] = ()
    first = 0
    while first < len(lines):
        start = lines[first].lstrip()
        last = first + 1
        if start and not start.startswith("#"):
            while (said := _alone("".join(lines[first:last]))) is None and last < len(
                lines
            ):
                last += 1
            header, keys = start.startswith("["), _path(said or {})
            table = keys if header else table
            found.append(
                _Statement(first, last, header, keys if header else (*table, *keys))
            )
        first = last
    return found


def _alone(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _path(said: object) -> tuple[str, ...]:
    if not isinstance(said, dict) or len(said) != 1:
        return ()
    [(name, inside)] = typing.cast(dict[str, object], said).items()
    return (name, *_path(inside))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: object) -> str:
    """A value of an entry: text, truth, number, list or table of them."""
    if isinstance(value, dict):
        names = typing.cast(dict[str, object], value)
        inside = ", ".join(
            f"{_key(name)} = {_toml(one)}" for name, one in names.items()
        )
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(one) for one in typing.cast(list[object], value))}]"
    # A JSON string is a TOML string but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
