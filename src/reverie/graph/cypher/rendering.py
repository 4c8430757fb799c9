"""Rendering of the query engine's values as JSON: nodes, links, paths, cut to size."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, cast

from reverie.graph.cypher import columns

_INTERNAL = ("_ID", "_LABEL", "_SRC", "_DST")
_DEEPEST = 12

Row = Mapping[str, Any]
KeyOf = Callable[[Mapping[str, int]], str | None]


class _Limits(NamedTuple):
    """How much of a value is told; set by hand."""

    characters: int  # of a text
    elements: int  # of a list


_BRIEF = _Limits(200, 20)
_FULL = _Limits(8_000, 500)


def tagged(value: object) -> Mapping[str, str]:
    """A date or a moment on its way into the child process."""
    if isinstance(value, datetime):
        return {"~moment": value.isoformat()}
    if isinstance(value, date):
        return {"~date": value.isoformat()}
    raise TypeError(f"a {type(value).__name__} cannot be a property")


def dated(value: dict[str, Any]) -> Any:
    """What `tagged` made, as it was."""
    if len(value) != 1:
        return value
    moment = value.get("~moment")
    if isinstance(moment, str):
        return datetime.fromisoformat(moment)
    day = value.get("~date")
    if isinstance(day, str):
        return date.fromisoformat(day)
    return value


class AnswerRows:
    """The rows of one answer, until there are enough of them or they are too long."""

    def __init__(self, *, rows: int, size: int, verbose: bool) -> None:
        self.rows: list[list[Any]] = []
        self.open = True
        self._most = rows
        self._left = size
        self._limits = _FULL if verbose else _BRIEF

    def add(self, row: Sequence[Any], key: KeyOf, relations: Mapping[str, str]) -> None:
        """One row more, or the end of the page."""
        if len(self.rows) >= self._most:
            self.open = False
            return
        for limits in (self._limits, _BRIEF):
            renderer = _Renderer(key, limits, relations)
            rendered = [renderer.plain(value) for value in row]
            size = _json_size(rendered)
            if size <= self._left:
                self.rows.append(rendered)
                self._left -= size
                return
        self.open = False


def _json_size(row: Sequence[Any]) -> int:
    """The bytes of a row as JSON, with the comma and the space after it."""
    text = json.dumps(row, ensure_ascii=False)
    encoded = text.encode("utf-8", "replace")
    return len(encoded) + 2


@dataclass(frozen=True, slots=True)
class _Renderer:
    """How a value of the engine becomes JSON: the keys of nodes, and how much is told."""

    key: KeyOf
    limits: _Limits
    relations: Mapping[str, str]  # by their tables

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Any value as JSON has it; `depth` is how many others it is inside of."""
        match value:
            case str() if value.startswith(columns.TAGGED):
                return self.plain(json.loads(value[len(columns.TAGGED) :]), depth)
            case str():
                return self._short(value)
            case None | bool() | int() | float() | datetime() | date() | Decimal():
                return _single(value)
            case _ if depth > _DEEPEST:
                return "…"
            case dict():
                return self._mapping(cast(Row, value), depth)
            case list() | tuple():
                return self._listed(cast(Sequence[Any], value), depth)
            case _:
                return self._short(str(value))

    def _listed(self, values: Sequence[Any], depth: int) -> list[Any]:
        """The first elements, and how many more there are."""
        most = self.limits.elements
        elements = [self.plain(element, depth + 1) for element in values[:most]]
        left_out = len(values) - most
        if left_out > 0:
            elements.append(f"… {left_out} more")
        return elements

    def _path(self, value: Row, depth: int) -> Any:
        """A path by its nodes and links; NULL if it was not found."""
        nodes = value["_NODES"]
        links = value["_RELS"]
        if not all(map(_exists, (*nodes, *links))):
            return None
        return {
            "nodes": self._listed(nodes, depth),
            "links": self._listed(links, depth),
        }

    def _mapping(self, value: Row, depth: int) -> Any:
        """A node by its kind, a link by its relation and ends, both without what is not
        set; else a map as it is.
        """
        if "_NODES" in value and "_RELS" in value:
            return self._path(value, depth)
        labelled = "_LABEL" in value
        if labelled and "_ID" in value and value["_ID"] is None:
            return None
        properties: dict[str, Any] = {}
        for name, item in value.items():
            if name in _INTERNAL or (labelled and item is None):
                continue
            properties[name] = self.plain(item, depth + 1)
        if not labelled or "_ID" not in value:
            return properties
        identity = self._identity(value)
        # First in order, and last in effect: a property may have the same name.
        return {**identity, **properties, **identity}

    def _identity(self, value: Row) -> dict[str, Any]:
        """The kind of a node, or the relation and the ends of a link."""
        if "_SRC" not in value or "_DST" not in value:
            return {"kind": value["_LABEL"]}
        return {
            "relation": self.relations.get(value["_LABEL"], value["_LABEL"]),
            "from": self.key(value["_SRC"]),
            "to": self.key(value["_DST"]),
        }

    def _short(self, text: str) -> str:
        """A text, cut where it is too long."""
        most = self.limits.characters
        if len(text) <= most:
            return text
        return text[: most - 1] + "…"


def _exists(step: Row | None) -> bool:
    """Whether a node or a link of a path was found."""
    return step is not None and step.get("_ID") is not None


def _single(
    value: float | datetime | date | Decimal | None,
) -> bool | float | str | None:
    """A value that is JSON, or its nearest: numbers that are none become words, dates
    their ISO form.
    """
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case _:
            return value
