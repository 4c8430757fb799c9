"""The entry of our MCP server in a client's configuration: parsed and merged."""

import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reverie import errors

NAME = "reverie"


def parsed(
    text: str, path: Path, load: Callable[[str], Any], language: str
) -> dict[str, Any]:
    """The object that a text holds, read by `load`. Raises Unreadable."""
    try:
        content = load(text)
    except (ValueError, RecursionError) as broken:
        message = f"{path} is not valid {language}: {broken}."
        raise errors.Unreadable(
            message, hint="Mend it first; nothing was written."
        ) from None
    if not isinstance(content, dict):
        raise errors.Unreadable(
            f"{path} holds no {language} object.", hint="Nothing was written."
        )
    return typing.cast(dict[str, Any], content)


def servers(content: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    """The table of servers called `name`, empty when there is none. Raises Unreadable."""
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise errors.Unreadable(
            f"`{name}` in {path} is no table of servers.", hint="Nothing was written."
        )
    return typing.cast(dict[str, Any], table)


def merged(old: object, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry over what is there: the owner's own keys (timeouts, allowed tools, …)
    and variables stay.
    """
    previous: dict[str, Any] = {}
    # An entry with a URL is a server elsewhere: nothing of it fits one that is started.
    if isinstance(old, dict) and "url" not in old:
        previous = typing.cast(dict[str, Any], old)
    variables: dict[str, Any] = {}
    if isinstance(previous.get("env"), dict):
        variables = dict(previous["env"])
        variables.pop("REVERIE_HOME", None)
    return previous | dict(entry) | {"env": variables | entry["env"]}


def too_hard(path: Path, block: str) -> errors.Unreadable:
    """What is raised when a change would not say exactly what was meant."""
    return errors.Unreadable(
        f"{path} is written in a way that cannot be changed safely.",
        hint=f"Nothing was written. Add this yourself:\n{block}",
    )
