"""Columns of the query engine's tables: their types, and their values as CSV."""

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, cast

from reverie.graph.cypher.value_types import MIXED

Row = Mapping[str, Any]
Types = Mapping[str, str]

_LARGEST_INTEGER = 2**63  # INT64
TAGGED = "\x1e"  # before the JSON of a value in a column of several kinds
_EMPTY = "\x1e"  # an empty list of texts
_SEPARATOR = "\x1f"  # ASCII's unit separator, between the texts of a list
_OWN_TYPES = {
    "confidence": "DOUBLE",
    "valid_from": "TIMESTAMP",
    "valid_to": "TIMESTAMP",
}
# A column of one of these types alone needs no look at its values.
_PLAIN_KINDS: Mapping[type, str] = {
    str: "STRING",
    float: "DOUBLE",
    bool: "BOOL",
    datetime: "TIMESTAMP",
}
# In this order: a datetime is a date, too.
_SINGLE_KINDS = (
    (bool, "BOOL"),
    (float, "DOUBLE"),
    (str, "STRING"),
    (datetime, "TIMESTAMP"),
    (date, "DATE"),
)


def settled(
    tables: Mapping[str, Sequence[Row]],
    declared: Mapping[str, Types],
    own: Sequence[str],
) -> dict[str, dict[str, str]]:
    """The columns of each table with their types. A name has one type in all of them,
    so that all can be asked at once: the narrowest that holds every value, and the
    declared one where there is none.
    """
    columns = _names(tables, declared, own)
    kinds: dict[str, set[str]] = {}
    for table, rows in tables.items():
        for name in columns[table]:
            values = [row[name] for row in rows if name in row]
            kinds.setdefault(name, set()).update(_kinds(values))
    declared_types = dict(_OWN_TYPES)
    for types in declared.values():
        declared_types.update(types)
    settled_types = {
        name: _narrowest(found, declared_types.get(name, "STRING"))
        for name, found in kinds.items()
    }
    return {
        table: {name: settled_types[name] for name in names}
        for table, names in columns.items()
    }


def _names(
    tables: Mapping[str, Sequence[Row]],
    declared: Mapping[str, Types],
    own: Sequence[str],
) -> dict[str, list[str]]:
    """The columns of each table. The engine knows names without case, so the first
    spelling of a name in any table is the one that is kept.
    """
    columns: dict[str, list[str]] = {}
    spelled: dict[str, str] = {}
    for table, rows in tables.items():
        names = dict.fromkeys(itertools.chain(own, declared.get(table, ()), *rows))
        columns[table] = [
            name
            for name in names
            if name[0] != " " and spelled.setdefault(name.lower(), name) == name
        ]
    return columns


def _kinds(values: Sequence[object]) -> set[str]:
    """What kinds of values a column holds, NULL not counted."""
    types = set(map(type, values))
    types.discard(type(None))
    if len(types) == 1:
        (only_type,) = types
        plain = _PLAIN_KINDS.get(only_type)
        if plain is not None:
            return {plain}
    return {_kind(value) for value in values if value is not None}


def _kind(value: object) -> str:
    """The type of one value; `TEXT` for what only JSON holds, `[]` for an empty list."""
    if isinstance(value, int) and not isinstance(value, bool):
        fits = -_LARGEST_INTEGER <= value < _LARGEST_INTEGER
        return "INT64" if fits else MIXED
    if isinstance(value, list):
        return _list_kind(cast(list[object], value))
    for type_, kind in _SINGLE_KINDS:
        if isinstance(value, type_):
            return kind
    return "TEXT"


def _list_kind(values: Sequence[object]) -> str:
    if not values:
        return "[]"
    if all(map(_separable, values)):
        return "STRING[]"
    return "INT64[]" if set(map(_kind, values)) == {"INT64"} else MIXED


def _separable(value: object) -> bool:
    """Whether a value of a list can be read back out of the joined text."""
    return (
        isinstance(value, str)
        and value != ""
        and _SEPARATOR not in value
        and not value.startswith(_EMPTY)
    )


def _narrowest(kinds: set[str], declared: str) -> str:
    """The type that holds all these kinds of values."""
    filled = kinds - {"[]"}
    if not filled:
        return "STRING[]" if kinds else declared
    if filled <= {"INT64", "DOUBLE"} and declared == "DOUBLE":
        return "DOUBLE"
    if filled <= {"STRING", "TEXT"} and len(kinds) == len(filled):
        return "STRING"
    if len(filled) > 1 or "TEXT" in filled:
        return MIXED
    (kind,) = filled
    empty_lists = len(kinds) > 1
    return MIXED if empty_lists and kind != "STRING[]" else kind


# ---------------------------------------------------------------------------------- CSV


def fields(values: Sequence[Any], type_: str) -> list[str]:
    """A column of CSV: nothing for NULL, quotes around text."""
    write = _WRITERS.get(type_, _json_field)
    return ["" if value is None else write(value) for value in values]


def stored(type_: str) -> str:
    """The type of a column of the engine: one of several kinds holds texts."""
    return "STRING" if type_ == MIXED else type_


def file_type(type_: str) -> str:
    """The type of a column in the file: a list of texts is one text there."""
    return "STRING" if type_ in ("STRING[]", MIXED) else type_


def read_back(field: str, type_: str) -> str:
    """The expression of the engine that reads a column of the file."""
    if type_ != "STRING[]":
        return field
    split = f"string_split({field}, {text(_SEPARATOR)})"
    empty = f"{field} = {text(_EMPTY)}"
    return f"CASE WHEN {empty} THEN CAST([] AS STRING[]) ELSE {split} END"


def quoted(name: str) -> str:
    """A name of a table or a column in the engine's text."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A string in the engine's text."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _csv_text(value: str) -> str:
    return '"' + value.replace("\0", "").replace('"', '""') + '"'


def _json_field(value: object) -> str:
    return _csv_text(json.dumps(value, ensure_ascii=False, default=str))


def _string_field(value: object) -> str:
    return _csv_text(value) if isinstance(value, str) else _json_field(value)


def _mixed_field(value: object) -> str:
    """A text as it is, anything else as JSON behind a mark."""
    if isinstance(value, str) and not value.startswith(TAGGED):
        return _csv_text(value)
    return _csv_text(TAGGED + json.dumps(value, ensure_ascii=False, default=str))


def _number_field(value: object) -> str:
    """NULL for infinity and for what is no number."""
    infinite = isinstance(value, float) and not math.isfinite(value)
    return "" if infinite else str(value)


def _truth_field(value: object) -> str:
    return "true" if value else "false"


def _timestamp_field(value: object) -> str:
    """In UTC; a moment without a zone is taken to be there already."""
    if not isinstance(value, datetime):
        return _json_field(value)
    utc = value.astimezone(UTC) if value.tzinfo else value
    return utc.replace(tzinfo=None).isoformat(" ")


def _list_field(value: object) -> str:
    if not isinstance(value, list):
        return _json_field(value)
    texts = map(str, cast(list[object], value))
    return _csv_text(_SEPARATOR.join(texts) if value else _EMPTY)


_WRITERS: Mapping[str, Callable[[object], str]] = {
    "STRING": _string_field,
    "INT64": _number_field,
    "DOUBLE": _number_field,
    "BOOL": _truth_field,
    "TIMESTAMP": _timestamp_field,
    "DATE": str,
    "STRING[]": _list_field,
    MIXED: _mixed_field,
}
