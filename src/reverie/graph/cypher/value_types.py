"""Static value types of a Cypher query: what an expression holds, where that shows.

The engine turns words into numbers and takes NULL inside a list for a value like any
other; openCypher does neither. Knowing the types decides which comparisons are written
as they are, which anew, and which are refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from reverie import errors

MISSING = "path that may be missing"  # the kind of a path of OPTIONAL MATCH
MIXED = "MIXED"  # the type of a column whose values are of several kinds

_COLUMN_KINDS = {
    "STRING": "string",
    "INT64": "whole",
    "DOUBLE": "number",
    "BOOL": "truth",
    MIXED: "mixed",
}


@dataclass(frozen=True, slots=True)
class ValueType:
    """The kind of a value: node, link, links, path, list, map, string, whole, number,
    truth, null, pattern, mixed (several kinds); nothing where it does not show.

    `element` is the type of a list's elements, `fields` are the types of a map's
    values. `solid` says that no NULL is inside.
    """

    kind: str = ""
    element: "ValueType | None" = None
    fields: Mapping[str, "ValueType"] | None = None
    solid: bool = False

    def inner(self) -> "ValueType":
        """The type of an element of this list."""
        return self.element or UNKNOWN


UNKNOWN = ValueType()
NODES = ValueType("list", ValueType("node"), solid=True)
LINKS = ValueType("list", ValueType("link"), solid=True)
STRINGS = ValueType("list", ValueType("string"), solid=True)
WHOLES = ValueType("list", ValueType("whole"), solid=True)


def require_found(kind: str) -> None:
    """Raise Invalid for a path that may be missing: the engine tells of one with
    nothing in it.
    """
    if kind == MISSING:
        raise errors.Invalid(
            "A path of OPTIONAL MATCH can be returned, and nothing else.",
            hint="Give a node or a link at its end a name, and ask about that.",
        )


def of_column(type_: str) -> ValueType:
    """The type of a property by that of its column."""
    if type_.endswith("[]"):
        return ValueType("list", of_column(type_[:-2]), solid=True)
    return ValueType(_COLUMN_KINDS.get(type_, ""))


def of_value(value: object) -> ValueType:
    """The type of a parameter."""
    match value:
        case None:
            return ValueType("null")
        case bool():
            return ValueType("truth", solid=True)
        case int():
            return ValueType("whole", solid=True)
        case float():
            return ValueType("number", solid=True)
        case str():
            return ValueType("string", solid=True)
        case list():
            return _of_list(cast(list[Any], value))
        case dict():
            return _of_map(cast(dict[str, Any], value))
        case _:
            return UNKNOWN


def _of_list(values: Sequence[object]) -> ValueType:
    types = [of_value(value) for value in values]
    element = common(types)
    solid = all(type_.solid for type_ in types)
    return ValueType("list", element or ValueType("mixed"), solid=solid)


def _of_map(values: Mapping[str, object]) -> ValueType:
    fields = {name: of_value(value) for name, value in values.items()}
    solid = all(type_.solid for type_ in fields.values())
    return ValueType("map", fields=fields, solid=solid)


def common(types: Sequence[ValueType]) -> ValueType | None:
    """The one type of all of these, NULL aside; None if they are of several."""
    found = ValueType("null")
    for type_ in types:
        joined = _joined(found, type_)
        if joined is None:
            return None
        found = joined
    return found


def _joined(one: ValueType, other: ValueType) -> ValueType | None:
    if one.kind == "null":
        return other
    if other.kind == "null":
        return one
    if one.kind != other.kind:
        return None
    if one.kind == "list":
        return _joined_lists(one, other)
    if one.kind == "map":
        return _joined_maps(one, other)
    return one


def _joined_lists(one: ValueType, other: ValueType) -> ValueType | None:
    if one.element is None or other.element is None:
        return ValueType("list", solid=one.solid and other.solid)
    element = common([one.element, other.element])
    if element is None:
        return None
    return ValueType("list", element, solid=one.solid and other.solid)


def _joined_maps(one: ValueType, other: ValueType) -> ValueType | None:
    """Maps are of one type if they have the same names in the same order."""
    if one.fields is None or other.fields is None:
        return None
    if list(one.fields) != list(other.fields):
        return None
    fields: dict[str, ValueType] = {}
    for name, type_ in one.fields.items():
        joined = common([type_, other.fields[name]])
        if joined is None:
            return None
        fields[name] = joined
    return ValueType("map", fields=fields, solid=one.solid and other.solid)
