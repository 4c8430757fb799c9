"""JSON forms of records: full, some columns, or one line each; pages of a list."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from reverie.compact import short_id
from reverie.records import record_types, versions

Columns = Sequence[str] | None
_LONGEST = 500  # characters of an old value in a history; set by hand


def record(
    domain: record_types.Domain[Any], row: record_types.Record, columns: Columns = None
) -> dict[str, Any]:
    """A record in JSON: all of it, or the given columns."""
    whole = record_types.as_json(domain, row)
    return whole if columns is None else {name: whole[name] for name in columns}


def line(
    domain: record_types.Domain[Any], row: record_types.Record, now: datetime
) -> str:
    """A record in one line, with the end of its id, by which it is found as well."""
    return f"{domain.line(row, now)} id:{short_id(row.id)}"


def full(
    domain: record_types.Domain[Any],
    page: record_types.Page[Any],
    columns: Columns = None,
) -> dict[str, Any]:
    """A page of a list."""
    return {
        "items": [record(domain, row, columns) for row in page.items],
        "meta": _meta(page),
    }


def compact(
    domain: record_types.Domain[Any], page: record_types.Page[Any], now: datetime
) -> dict[str, Any]:
    """A page of a list, a line a record, the ids in the same order."""
    return {
        "format": "compact",
        "summary": f"{len(page.items)} of {page.total} {domain.plural}",
        **lines(domain, page.items, now),
        "meta": _meta(page),
    }


def lines(
    domain: record_types.Domain[Any],
    items: Iterable[record_types.Record],
    now: datetime,
) -> dict[str, list[str]]:
    """Records as lines, and their ids in the same order."""
    items = list(items)
    return {
        "lines": [line(domain, row, now) for row in items],
        "ids": [str(row.id) for row in items],
    }


def history(
    domain: record_types.Domain[Any], page: record_types.Page[versions.RecordVersion]
) -> dict[str, Any]:
    """A page of the versions of a record. What a change replaced is shown as far as
    the record shows it.
    """
    items = [
        {
            "version": version.version,
            "action": version.action,
            "at": moment(version.at),
            "by": version.caller,
            "source": version.source,
            "summary": version.summary,
            "columns": [name for name in version.columns if name in domain.shown],
            "replaced": _shown(domain, version.replaced),
            "kept": version.kept,
        }
        for version in page.items
    ]
    return {"items": items, "meta": _meta(page)}


def _shown(
    domain: record_types.Domain[Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Old values as a history shows them: a long one as its beginning, in JSON if it is
    no text. The version itself has it whole.
    """
    shown: dict[str, Any] = {}
    for name, value in values.items():
        if name not in domain.shown:
            continue
        text = value if isinstance(value, str) else json.dumps(value)
        shown[name] = value if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return shown


def moment(value: datetime) -> str:
    """A UTC time that needs no escaping in a query: `2026-11-28T10:00:00.123456Z`."""
    return value.isoformat().replace("+00:00", "Z")


def _meta(page: record_types.Page[Any]) -> dict[str, Any]:
    return {
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
        "has_more": page.offset + len(page.items) < page.total,
    }
