"""CSV health measures: a record for each value of a row."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from reverie.ingest import drafts
from reverie.ingest.formats import (
    table_dates,
    table_headers,
    table_rows,
    table_values,
)

# The identifiers of Apple Health's export: HKQuantityTypeIdentifierBodyMass.
_APPLE_IDENTIFIER = re.compile(r"^HK(Quantity|Category)TypeIdentifier")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _ValueColumn:
    """A column of values; `kind` is "" in a long table, whose rows name their kind."""

    kind: str
    at: int
    decimal_mark: str
    unit: str

    @classmethod
    def of(cls, table: table_rows.Table, kind: str, at: int) -> Self:
        """A column with its decimal mark and its unit."""
        mark = table.decimal_mark(table.column(at))
        _, unit = table_headers.without_unit(table.headers[at])
        return cls(kind, at, decimal_mark=mark, unit=unit)


def records(
    table: table_rows.Table, columns: Mapping[str, int], source: drafts.SourceFile
) -> Iterator[drafts.DraftOrSkip]:
    """Field or kind -> column as `table_headers.health` says."""
    order = table.date_order(columns["at"])
    values = _value_columns(table, columns)
    seen: Counter[str] = Counter()
    for number, row in enumerate(table.rows, start=1):
        at = table_dates.moment(
            table_rows.cell(row, columns["at"]),
            table_rows.cell(row, columns.get("clock")),
            order.day_first,
            source.mtime.tzinfo,
        )
        if at is None:
            reason = f"no date in: {' | '.join(row)[:120]}"
            yield drafts.Skip(f"row {number}", reason)
            continue
        for column in values:
            raw = table_rows.cell(row, column.at)
            if not raw:
                continue
            measure = _measure(row, columns, column, raw, at, seen)
            yield measure or drafts.Skip(f"row {number}", f"no measure in: {raw[:80]}")
    if order.guessed:
        yield drafts.Remark("", order.remark)


def _value_columns(
    table: table_rows.Table, columns: Mapping[str, int]
) -> list[_ValueColumn]:
    """The one column of a long table, or those of a wide one."""
    if "kind" in columns and "value" in columns:
        return [_ValueColumn.of(table, "", columns["value"])]
    return [
        _ValueColumn.of(table, kind, at)
        for kind, at in columns.items()
        if kind in table_headers.HEALTH
    ]


def _measure(
    row: Sequence[str],
    columns: Mapping[str, int],
    column: _ValueColumn,
    raw: str,
    at: datetime,
    seen: Counter[str],
) -> drafts.Draft | None:
    """The record of one cell; None when it holds no measure."""
    named = table_rows.cell(row, columns.get("kind"))
    kind = column.kind or _kind(named)
    value = table_values.number(raw, column.decimal_mark)
    if not kind or value is None:
        return None
    unit = table_rows.cell(row, columns.get("unit")) or column.unit
    if not unit and kind in table_headers.HEALTH:
        unit = table_headers.HEALTH[kind].unit
    fields = {
        "kind": kind,
        "value": float(value),
        "unit": unit or None,
        "text": table_rows.cell(row, columns.get("text")) or None,
        "at": at,
    }
    key = table_rows.row_key([at.isoformat(), kind, raw, unit], seen)
    return drafts.Draft("health", key, fields)


def _kind(name: str) -> str:
    """The kind a cell names, known or not: "BodyMass" -> "weight"."""
    words = _CAMEL_CASE.sub(" ", _APPLE_IDENTIFIER.sub("", name))
    plain = table_headers.plain(words)
    return table_headers.kind_of(plain) or plain.replace(" ", "_")
