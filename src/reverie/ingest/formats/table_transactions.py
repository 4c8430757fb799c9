"""CSV bank statements: a transaction for each row."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from reverie.ingest import drafts
from reverie.ingest.formats import table_rows, table_values

_MONEY = ("amount", "debit", "credit")
_KEPT = ("category", "balance", "iban")
_PREAMBLE_CURRENCY = re.compile(r"\b(?:EUR|USD|GBP|CHF)\b|[€$£]")


@dataclass(frozen=True, slots=True)
class _Notation:
    """How a statement writes its numbers and dates, and its currency if all share one."""

    decimal_mark: str
    day_first: bool
    currency: str | None

    @classmethod
    def of(
        cls, table: table_rows.Table, columns: Mapping[str, int], preamble: str
    ) -> Self:
        """The notation, told from all rows."""
        amounts: list[str] = []
        headers: list[str] = []
        for name in _MONEY:
            if name in columns:
                at = columns[name]
                amounts += table.column(at)
                headers.append(table.headers[at])
        dates = table.column(columns["date"])
        named = _PREAMBLE_CURRENCY.findall(preamble)
        return cls(
            decimal_mark=table_values.decimal_mark(amounts),
            day_first=table_values.day_first(dates, not table.english),
            currency=table_values.currency(*headers) or table_values.currency(*named),
        )


def records(
    table: table_rows.Table, columns: Mapping[str, int], preamble: str
) -> Iterator[drafts.DraftOrSkip]:
    """Field -> column as `table_headers.transaction` says; the preamble is the text
    above the header.
    """
    notation = _Notation.of(table, columns, preamble)
    used = {*columns.values()}
    seen: Counter[str] = Counter()
    for number, row in enumerate(table.rows, start=1):
        date_text = table_rows.cell(row, columns["date"])
        on = table_values.day(date_text, notation.day_first)
        amount, amount_text = _amount(row, columns, notation.decimal_mark)
        if on is None or amount is None:
            missing = "date" if on is None else "amount"
            cells = " | ".join(row)
            yield drafts.Skip(f"row {number}", f"no {missing} in: {cells[:120]}")
            continue
        fields = {
            "date": on,
            "amount": amount,
            "currency": _currency(row, columns, amount_text) or notation.currency,
            "counterparty": table_rows.cell(row, columns.get("counterparty")) or None,
            "text": table_rows.cell(row, columns.get("text")) or None,
            "custom": _custom(row, columns, table.other_cells(row, used)),
        }
        canonical = [value.strip() for value in row]
        key = table_rows.row_key(canonical, seen)
        yield drafts.Draft("transaction", key, fields)


def _currency(
    row: Sequence[str], columns: Mapping[str, int], amount_text: str
) -> str | None:
    """The currency of a row, by its own column or its amount."""
    named = table_rows.cell(row, columns.get("currency")).upper()
    return table_values.currency(named, amount_text)


def _custom(
    row: Sequence[str], columns: Mapping[str, int], others: Mapping[str, str]
) -> drafts.Fields:
    """What a transaction has no field for."""
    custom: drafts.Fields = {
        name: table_rows.cell(row, columns.get(name)) for name in _KEPT
    }
    custom["columns"] = others
    return custom


def _amount(
    row: Sequence[str], columns: Mapping[str, int], mark: str
) -> tuple[Decimal | None, str]:
    """The amount, below zero for money that goes out, and the text it was read from."""
    raw = table_rows.cell(row, columns.get("amount"))
    if raw:
        return table_values.number(raw, mark), raw
    debit = table_rows.cell(row, columns.get("debit"))
    credit = table_rows.cell(row, columns.get("credit"))
    spent = table_values.number(debit, mark)
    received = table_values.number(credit, mark)
    if received:
        return abs(received), credit
    if spent is not None:
        return -abs(spent), debit
    return received, credit
