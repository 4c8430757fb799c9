"""Rendering of the query engine's values as JSON: nodes, links, paths, cut to size."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

# Characters of a text and elements of a list that are told; set by hand.
_BRIEF = (200, 20)
_FULL = (8_000, 500)
_INTERNAL = ("_ID", "_LABEL", "_SRC", "_DST")
_DEEPEST = 12

KeyOf = Callable[[Mapping[str, int]], str | None]


def tagged(value: object) -> Mapping[str, str]:
    """A date or a moment on its way into the child process."""
    if isinstance(value, datetime):
        return {"~moment": value.isoformat()}
    if isinstance(value, date):
        return {"~date": value.isoformat()}
    raise TypeError(f"a {type(value).__name__} cannot be a property")


def dated(value: dict[str, Any]) -> Any:
    """What `tagged` made, as it was."""
    if len(value) == 1:
        if isinstance(text := value.get("~moment"), str):
            return datetime.fromisoformat(text)
        if isinstance(text := value.get("~date"), str):
            return date.fromisoformat(text)
    return value


class AnswerRows:
    """The rows of one answer, until there are enough of them or they are too long."""

    def __init__(self, *, rows: int, size: int, verbose: bool) -> None:
        self.rows: list[list[Any]] = []
        self.open = True
        self._most, self._left = rows, size
        self._limits = _FULL if verbose else _BRIEF

    def add(self, row: Sequence[Any], key: KeyOf) -> None:
        """One row more, or the end of the page."""
        if len(self.rows) >= self._most:
            self.open = False
            return
        for limits in (self._limits, _BRIEF):
            rendered = [_plain(value, key, limits) for value in row]
            text = json.dumps(rendered, ensure_ascii=False)
            size = len(text.encode("utf-8", "replace")) + 2
            if size <= self._left:
                self.rows.append(rendered)
                self._left -= size
                return
        self.open = False


def _plain(value: Any, key: KeyOf, limits: tuple[int, int], depth: int = 0) -> Any:
    match value:
        case str():
            return _short(value, limits[0])
        case None | bool() | int() | float() | datetime() | date() | Decimal():
            return _single(value)
        case _ if depth > _DEEPEST:
            return "…"
        case dict():
            return _mapping(cast(dict[str, Any], value), key, limits, depth)
        case list() | tuple():
            return _listed(cast(Sequence[Any], value), key, limits, depth)
        case _:
            return _short(str(value), limits[0])


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


def _listed(
    value: Sequence[Any], key: KeyOf, limits: tuple[int, int], depth: int
) -> list[Any]:
    most = limits[1]
    kept = [_plain(item, key, limits, depth=depth + 1) for item in value[:most]]
    return [*kept, f"… {len(value) - most} more"] if len(value) > most else kept


def _path(
    value: Mapping[str, Any], key: KeyOf, limits: tuple[int, int], depth: int
) -> Any:
    """A path by its nodes and links; NULL if it was not found."""
    steps = (*value["_NODES"], *value["_RELS"])
    if any(step is None or step.get("_ID") is None for step in steps):
        return None
    nodes, links = (
        _listed(value[name], key, limits, depth) for name in ("_NODES", "_RELS")
    )
    return {"nodes": nodes, "links": links}


def _mapping(
    value: Mapping[str, Any], key: KeyOf, limits: tuple[int, int], depth: int
) -> Any:
    """A node by its kind, a link by its relation and ends, both without what is not
    set; else a map as it is.
    """
    if "_NODES" in value and "_RELS" in value:
        return _path(value, key, limits, depth)
    labelled = "_LABEL" in value
    if labelled and "_ID" in value and value["_ID"] is None:
        return None
    properties = {
        name: _plain(item, key, limits, depth=depth + 1)
        for name, item in value.items()
        if name not in _INTERNAL and not (labelled and item is None)
    }
    if not labelled or "_ID" not in value:
        return properties
    own = _identity(value, key)
    return {**own, **properties, **own}


def _identity(value: Mapping[str, Any], key: KeyOf) -> dict[str, Any]:
    """The kind of a node, or the relation and the ends of a link."""
    if "_SRC" not in value or "_DST" not in value:
        return {"kind": value["_LABEL"]}
    ends = {"from": key(value["_SRC"]), "to": key(value["_DST"])}
    return {"relation": value["_LABEL"], **ends}


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
