"""TOML configurations of MCP clients: one server's table set, the rest kept."""

import json
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.cli import server_entry

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TABLE = "mcp_servers"


def with_server(text: str, entry: Mapping[str, Any], path: Path) -> str:
    """The text with the table `mcp_servers.reverie` set. Raises Unreadable."""
    before = server_entry.parsed(text, path, tomllib.loads, "TOML")
    servers = server_entry.servers(before, _TABLE, path)
    old = servers.get(server_entry.NAME)
    new_entry = server_entry.merged(old, entry)
    had_variables = isinstance(old, dict) and "env" in old
    if not new_entry["env"] and not had_variables:
        del new_entry["env"]
    if old == new_entry:
        return text
    block = [
        f"[{_TABLE}.{server_entry.NAME}]",
        *(f"{key} = {_toml(value)}" for key, value in new_entry.items()),
    ]
    if isinstance(old, dict):
        table = (_TABLE, server_entry.NAME)
        new = _replaced(text, table, typing.cast(dict[str, Any], old), new_entry)
    else:
        new = _appended(text, block)
    if _loaded(new) != before | {_TABLE: servers | {server_entry.NAME: new_entry}}:
        raise server_entry.too_hard(path, "\n".join(block))
    return new


def _appended(text: str, block: Sequence[str]) -> str:
    newline = _newline(text)
    if text and not text.endswith("\n"):
        text += newline
    return text + (newline if text.strip() else "") + newline.join(block) + newline


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _replaced(
    text: str, table: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> str:
    """The text with those keys of our table set that differ; `env` may be a table of
    its own.
    """
    dropped = [key for key in old if key not in new]
    for key in (*new, *dropped):
        previous = old.get(key)
        value = new.get(key)
        if previous == value:
            continue
        inner = (*table, key)
        if isinstance(value, dict) and _has_header(text, inner):
            values = typing.cast(dict[str, Any], value)
            for name in {**typing.cast(dict[str, Any], previous), **values}:
                text = _with_key(text, inner, name, values.get(name))
        else:
            text = _with_key(text, table, key, value)
    return text


def _has_header(text: str, table: tuple[str, ...]) -> bool:
    return any(
        statement.header and statement.path == table for statement in _statements(text)
    )


def _with_key(text: str, table: tuple[str, ...], key: str, value: object) -> str:
    """The text with one key of one table set, or dropped for None."""
    lines = _LINE.findall(text)
    fresh: list[str] = []
    if value is not None:
        fresh = [f"{_key(key)} = {_toml(value)}{_newline(text)}"]
    full_path = (*table, key)
    behind_header: int | None = None
    for statement in _statements(text):
        if statement.header:
            if behind_header is None and statement.path == table:
                behind_header = statement.last
        elif statement.path[: len(full_path)] == full_path:
            return "".join(
                [*lines[: statement.first], *fresh, *lines[statement.last :]]
            )
    if behind_header is None:
        return text
    return "".join([*lines[:behind_header], *fresh, *lines[behind_header:]])


@dataclass(frozen=True, slots=True)
class _Statement:
    """One header or one `key = value`: its lines, and the whole path that it sets."""

    first: int
    last: int
    header: bool
    path: tuple[str, ...]


def _statements(text: str) -> list[_Statement]:
    """The statements of a valid text. A value that goes on over lines ends where it
    first parses.
    """
    lines = _LINE.findall(text)
    statements: list[_Statement] = []
    table: tuple[str, ...] = ()
    first = 0
    while first < len(lines):
        start = lines[first].lstrip()
        if not start or start.startswith("#"):
            first += 1
            continue
        last, content = _first_that_parses(lines, first)
        path = _path(content)
        header = start.startswith("[")
        if header:
            table = path
        else:
            path = (*table, *path)
        statements.append(_Statement(first, last, header, path))
        first = last
    return statements


def _first_that_parses(lines: Sequence[str], first: int) -> tuple[int, dict[str, Any]]:
    """Where the statement that begins at `first` ends, and what it holds."""
    last = first + 1
    content = _loaded("".join(lines[first:last]))
    while content is None and last < len(lines):
        last += 1
        content = _loaded("".join(lines[first:last]))
    return last, content or {}


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _path(content: object) -> tuple[str, ...]:
    """The names down to the value of one statement."""
    if not isinstance(content, dict) or len(content) != 1:
        return ()
    [(name, inside)] = typing.cast(dict[str, object], content).items()
    return (name, *_path(inside))


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml(name)


def _toml(value: object) -> str:
    """A value of an entry: text, truth, number, list or table of them."""
    if isinstance(value, dict):
        table = typing.cast(dict[str, object], value)
        inside = ", ".join(
            f"{_key(name)} = {_toml(item)}" for name, item in table.items()
        )
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        items = typing.cast(list[object], value)
        return f"[{', '.join(_toml(item) for item in items)}]"
    # A JSON string is a TOML string but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
