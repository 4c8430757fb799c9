"""How one entry is put into another program's configuration file, so that every other byte stays as it is.

Both forms are changed as text, then read again: unless the result says exactly what was meant, nothing is done.
"""

import json
import re
import tomllib
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import decoder
from pathlib import Path
from typing import Any

from reverie import errors

Change = Callable[[str, Mapping[str, Any], Path], str]
NAME = "reverie"
_SPACE = re.compile(r"[ \t\r\n]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def in_json(text: str, entry: Mapping[str, Any], path: Path) -> str:
    """The text with `mcpServers.reverie` set. Raises Unreadable."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    if not body.strip():
        body = "{}\n"
    before = _parsed(body, path, json.loads, "JSON")
    servers = _table(before, "mcpServers", path)
    wanted = _merged(servers.get(NAME), entry)
    if servers.get(NAME) == wanted:
        return text
    whole = _members(body, _SPACE.match(body, 0).end())  # pyright: ignore[reportOptionalMemberAccess]
    if "mcpServers" in whole.found:
        inner = _members(body, whole.found["mcpServers"][0])
        new = _with(body, inner, NAME, wanted, depth=2)
    else:
        new = _with(body, whole, "mcpServers", {NAME: wanted}, depth=1)
    meant = before | {"mcpServers": servers | {NAME: wanted}}
    if _pairs(new) != _pairs(json.dumps(meant)) or len(whole.found) != whole.count:
        raise _too_hard(path, json.dumps({"mcpServers": {NAME: wanted}}, ensure_ascii=False, indent=2))
    return mark + new


def in_toml(text: str, entry: Mapping[str, Any], path: Path) -> str:
    """The text with the table `mcp_servers.reverie` set. Raises Unreadable."""
    before = _parsed(text, path, tomllib.loads, "TOML")
    servers = _table(before, "mcp_servers", path)
    old = servers.get(NAME)
    wanted = {key: value for key, value in _merged(old, entry).items() if key != "env" or value}
    if old == wanted:
        return text
    table = ("mcp_servers", NAME)
    block = [f"[{'.'.join(table)}]", *(f"{key} = {_toml(value)}" for key, value in wanted.items())]
    meant = before | {"mcp_servers": servers | {NAME: wanted}}
    new = _appended(text, block) if old is None else _replaced(text, table, old, wanted)
    try:
        said = tomllib.loads(new)
    except tomllib.TOMLDecodeError:
        said = None
    if said != meant:
        raise _too_hard(path, "\n".join(block))
    return new


def _parsed(text: str, path: Path, load: Callable[[str], Any], form: str) -> dict[str, Any]:
    try:
        found = load(text)
    except (ValueError, RecursionError) as broken:
        raise errors.Unreadable(
            f"{path} is not valid {form}: {broken}.", hint="Mend it first; nothing was written."
        ) from None
    if not isinstance(found, dict):
        raise errors.Unreadable(f"{path} does not hold a {form} object.", hint="Nothing was written.")
    return typing.cast(dict[str, Any], found)


def _table(found: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    servers = found.get(name, {})
    if not isinstance(servers, dict):
        raise errors.Unreadable(f"`{name}` in {path} is not a table of servers.", hint="Nothing was written.")
    return typing.cast(dict[str, Any], servers)


def _merged(old: object, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry over what is there: the owner's own keys (timeouts, allowed tools, …) and variables stay."""
    there = typing.cast(dict[str, Any], old) if isinstance(old, dict) and "url" not in old else {}
    env = there.get("env")
    kept = typing.cast(dict[str, Any], env) if isinstance(env, dict) else {}
    variables = {key: value for key, value in kept.items() if key != "REVERIE_HOME"} | entry["env"]
    return there | dict(entry) | {"env": variables}


def _too_hard(path: Path, block: str) -> errors.Unreadable:
    return errors.Unreadable(
        f"{path} is written in a way that cannot be changed safely.",
        hint=f"Nothing was written. Add this yourself:\n{block}",
    )


# JSON -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Members:
    """Where the members of one JSON object stand: for each name the span of its value."""

    start: int
    found: dict[str, tuple[int, int]]
    count: int
    end: int


def _members(text: str, start: int) -> _Members:
    """The members of the object whose `{` is at `start`, in a text that is known to be valid."""
    found: dict[str, tuple[int, int]] = {}
    count, at, end = 0, start + 1, start + 1
    while True:
        at = _past(text, at)
        if text[at] == "}":
            return _Members(start, found, count, end)
        if text[at] == ",":
            at = _past(text, at + 1)
        name, at = decoder.scanstring(text, at + 1)
        at = _past(text, _past(text, at) + 1)
        _, end = json.JSONDecoder().raw_decode(text, at)
        found[name] = (at, end)
        count, at = count + 1, end


def _past(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _with(text: str, members: _Members, name: str, value: object, *, depth: int) -> str:
    """The text with one member of an object set, laid out as the file is."""
    newline, indent = _layout(text)
    margin = newline + indent * depth

    def laid_out(one: object) -> str:
        if not newline:
            return json.dumps(one, ensure_ascii=False)
        return json.dumps(one, ensure_ascii=False, indent=indent).replace("\n", margin)

    if name in members.found:
        start, end = members.found[name]
        return text[:start] + laid_out(value) + text[end:]
    member = f"{margin}{json.dumps(name)}: {laid_out(value)}"
    if members.count:
        return f"{text[: members.end]},{'' if newline else ' '}{member}{text[members.end :]}"
    closing = text.index("}", members.start)
    return f"{text[: members.start + 1]}{member}{newline}{indent * (depth - 1)}{text[closing:]}"


def _layout(text: str) -> tuple[str, str]:
    """How the file breaks and indents its lines; ("", "") for a file in one line."""
    first = re.search(r'\{(\r?\n)([ \t]*)"', text)
    if first:
        return first[1], first[2] or "  "
    return ("\n", "  ") if re.fullmatch(r"\s*\{\s*\}\s*", text) else ("", "")


def _pairs(text: str) -> object:
    """A JSON text with every member counted, so that a name given twice does not go unseen."""
    return json.loads(text, object_pairs_hook=lambda pairs: sorted(pairs, key=lambda pair: pair[0]))


# TOML -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Statement:
    """One header or one `key = value`: its lines, and the whole path that it sets."""

    first: int
    last: int
    header: bool
    path: tuple[str, ...]


def _appended(text: str, block: Sequence[str]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    return text + (newline if text.strip() else "") + newline.join(block) + newline


def _replaced(text: str, table: tuple[str, ...], old: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The text with those keys of our table set that differ; `env` may be a table of its own."""
    for key, value in wanted.items():
        there = old.get(key)
        if there == value:
            continue
        own = (*table, key)
        if isinstance(value, dict) and any(one.header and one.path == own for one in _statements(text)):
            for name in {**typing.cast(dict[str, Any], there), **value}:
                text = _set(text, own, name, typing.cast(dict[str, Any], value).get(name))
        else:
            text = _set(text, table, key, value)
    for key in old.keys() - wanted.keys():
        text = _set(text, table, key, None)
    return text


def _set(text: str, table: tuple[str, ...], key: str, value: object) -> str:
    """The text with one key of one table set, or dropped for None."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if "\r\n" in text else "\n"
    fresh = [] if value is None else [f"{_name(key)} = {_toml(value)}{newline}"]
    head = None
    for one in _statements(text):
        if one.path[: len(table) + 1] == (*table, key) and not one.header:
            return "".join([*lines[: one.first], *fresh, *lines[one.last :]])
        if one.header and one.path == table:
            head = one
    if head is None:
        return text
    return "".join([*lines[: head.last], *fresh, *lines[head.last :]])


def _statements(text: str) -> list[_Statement]:
    """The statements of a valid text. A value that goes on over lines ends where it first parses."""
    lines = text.splitlines(keepends=True)
    found: list[_Statement] = []
    table: tuple[str, ...] = ()
    first = 0
    while first < len(lines):
        if not lines[first].strip() or lines[first].lstrip().startswith("#"):
            first += 1
            continue
        last = first + 1
        while (said := _alone("".join(lines[first:last]))) is None and last < len(lines):
            last += 1
        header = lines[first].lstrip().startswith("[")
        keys = _path(said or {})
        table = keys if header else table
        found.append(_Statement(first, last, header, keys if header else (*table, *keys)))
        first = last
    return found


def _alone(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _path(said: Mapping[str, Any]) -> tuple[str, ...]:
    keys: list[str] = []
    while isinstance(said, dict) and len(said) == 1:
        name, said = next(iter(typing.cast(dict[str, Any], said).items()))
        keys.append(name)
    return tuple(keys)


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else _toml(key)


def _toml(value: object) -> str:
    """A value of an entry: text, truth, number, list or table of them."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_name(k)} = {_toml(v)}" for k, v in typing.cast(dict[str, Any], value).items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(one) for one in typing.cast(list[Any], value))}]"
    # A JSON string is a TOML string but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
