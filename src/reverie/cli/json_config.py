"""JSON configurations of MCP clients: one server's entry set, the rest kept."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.cli import server_entry

_SPACE = re.compile(r"[ \t\r\n]*")
_TABLE = "mcpServers"
_BYTE_ORDER_MARK = "\ufeff"


def with_server(text: str, entry: Mapping[str, Any], path: Path) -> str:
    """The text with `mcpServers.reverie` set. Raises Unreadable."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    body = text.removeprefix(mark)
    if not body.strip():
        body = "{}\n"
    before = server_entry.parsed(body, path, json.loads, "JSON")
    servers = server_entry.servers(before, _TABLE, path)
    new_entry = server_entry.merged(servers.get(server_entry.NAME), entry)
    if servers.get(server_entry.NAME) == new_entry:
        return text
    root = _past_space(body, 0)
    table = _members(body, root).spans.get(_TABLE)
    if table is not None:
        new = _with_member(body, table[0], server_entry.NAME, new_entry, depth=2)
    else:
        new = _with_member(body, root, _TABLE, {server_entry.NAME: new_entry}, depth=1)
    meant = before | {_TABLE: servers | {server_entry.NAME: new_entry}}
    if _pairs(new) != _pairs(json.dumps(meant)):
        block = {_TABLE: {server_entry.NAME: new_entry}}
        raise server_entry.too_hard(
            path, json.dumps(block, ensure_ascii=False, indent=2)
        )
    return mark + new


@dataclass(frozen=True, slots=True)
class _Members:
    """The span of each value of an object, and where the last one ends."""

    spans: Mapping[str, tuple[int, int]]
    end: int


def _members(text: str, start: int) -> _Members:
    """The members of the object whose `{` is at `start`."""
    spans: dict[str, tuple[int, int]] = {}
    decode = json.JSONDecoder().raw_decode
    end = start + 1
    position = _past_space(text, end)
    while text[position] != "}":
        if text[position] == ",":
            position = _past_space(text, position + 1)
        name, position = decode(text, position)
        colon = _past_space(text, position)
        value = _past_space(text, colon + 1)
        _, end = decode(text, value)
        spans[str(name)] = (value, end)
        position = _past_space(text, end)
    return _Members(spans, end)


def _past_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _with_member(text: str, start: int, name: str, value: object, *, depth: int) -> str:
    """The text with one member of the object at `start` set, laid out as the file is."""
    newline, indent = _layout(text)
    margin = newline + indent * depth
    shown = json.dumps(value, ensure_ascii=False, indent=indent or None)
    shown = shown.replace("\n", margin)
    members = _members(text, start)
    if name in members.spans:
        first, last = members.spans[name]
        return text[:first] + shown + text[last:]
    member = f'{margin}"{name}": {shown}'
    if members.spans:
        blank = "" if newline else " "
        return f"{text[: members.end]},{blank}{member}{text[members.end :]}"
    closing = text.index("}", start)
    margin_of_closing = newline + indent * (depth - 1)
    return f"{text[: start + 1]}{member}{margin_of_closing}{text[closing:]}"


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
