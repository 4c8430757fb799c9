"""CSV bank statements: a transaction for each row."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Self

from reverie.ingest import drafts
from reverie.ingest.formats import (
    table_dates,
    table_rows,
    table_signs,
    table_values,
)

_MONEY = ("amount", "debit", "credit")
_KEPT = ("category", "balance", "iban")
_PREAMBLE_CURRENCY = re.compile(r"\b(?:EUR|USD|GBP|CHF|CAD|AUD|INR)\b|[€$£₹]")


@dataclass(frozen=True, slots=True)
class _Notation:
    """How a statement writes its numbers and dates, and its currency if all share one."""

    decimal_mark: str
    order: table_dates.DateOrder
    currency: str | None

    @classmethod
    def of(
        cls, table: table_rows.Table, columns: Mapping[str, int], preamble: str
    ) -> Self:
        """The notation, told from all rows; of every column that holds money or dates."""
        numbers: list[str] = []
        money: list[str] = []
        headers: list[str] = []
        for name in (*_MONEY, "balance"):
            if name in columns:
                at = columns[name]
                numbers += table.column(at)
                headers.append(table.headers[at])
                if name != "balance":
                    money += table.column(at)
        named = _PREAMBLE_CURRENCY.findall(preamble)
        currency = (
            table_values.currency(*headers)
            or table_values.shared_currency(money)
            or table_values.shared_currency(numbers)
            or table_values.currency(*named)
        )
        said = currency or _column_currency(table, columns)
        return cls(
            decimal_mark=table.decimal_mark(numbers),
            order=table.date_order(columns["date"], said),
            currency=currency,
        )


def _column_currency(table: table_rows.Table, columns: Mapping[str, int]) -> str | None:
    """The currency that the column of currencies names throughout."""
    cells = [cell.upper() for cell in table.column(columns.get("currency"))]
    return table_values.shared_currency(cells)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its amount, and the cell that it was read from."""

    cells: Sequence[str]
    amount: Decimal | None
    text: str


def records(
    table: table_rows.Table, columns: Mapping[str, int], preamble: str
) -> Iterator[drafts.DraftOrSkip]:
    """Field -> column as `table_headers.transaction` says; the preamble is the text
    above the header.
    """
    notation = _Notation.of(table, columns, preamble)
    used = {*columns.values()}
    seen: Counter[str] = Counter()
    for number, row in enumerate(_rows(table, columns, notation), start=1):
        date_text = table_rows.cell(row.cells, columns["date"])
        on = table_dates.day(date_text, notation.order.day_first)
        if on is None or row.amount is None:
            missing = "date" if on is None else "amount"
            cells = " | ".join(row.cells)
            yield drafts.Skip(f"row {number}", f"no {missing} in: {cells[:120]}")
            continue
        others = table.other_cells(row.cells, used)
        fields = {
            "date": on,
            "amount": row.amount,
            "currency": _currency(row, columns) or notation.currency,
            "counterparty": table_rows.cell(row.cells, columns.get("counterparty"))
            or None,
            "text": table_rows.cell(row.cells, columns.get("text")) or None,
            "custom": _custom(row.cells, columns, others),
        }
        canonical = [value.strip() for value in row.cells]
        key = table_rows.row_key(canonical, seen)
        yield drafts.Draft("transaction", key, fields)
    if notation.order.guessed:
        yield drafts.Remark("", notation.order.remark)


def _is_newest_first(dates: Sequence[date | None]) -> bool | None:
    """Whether the newest row comes first; None when the dates do not say."""
    known = [on for on in dates if on is not None]
    if not known or known[0] == known[-1]:
        return None
    return known[0] > known[-1]


def _rows(
    table: table_rows.Table,
    columns: Mapping[str, int],
    notation: _Notation,
) -> list[_Row]:
    """The rows with their amounts, each with the sign that the file gives it."""
    mark, order = notation.decimal_mark, notation.order
    rows = [_Row(row, *_amount(row, columns, mark)) for row in table.rows]
    if "amount" not in columns:
        return rows
    amounts = [row.amount for row in rows]
    signed = any(amount is not None and amount < 0 for amount in amounts)
    dated = {columns[name] for name in columns if name not in {"category", "text"}}
    said, _ = table_signs.by_column(table, dated)
    balances = [
        table_values.money(table_rows.cell(row, columns.get("balance")), mark)
        for row in table.rows
    ]
    dates = [
        table_dates.day(table_rows.cell(row, columns["date"]), order.day_first)
        for row in table.rows
    ]
    newest_first = _is_newest_first(dates)
    balanced = table_signs.by_balance(amounts, balances, newest_first)
    return [
        _Row(
            row.cells,
            table_signs.settled(
                row.amount, row.text, said[at], balanced[at], signed=signed
            ),
            row.text,
        )
        for at, row in enumerate(rows)
    ]


def _currency(row: _Row, columns: Mapping[str, int]) -> str | None:
    """The currency of a row, by its own column or its amount."""
    named = table_rows.cell(row.cells, columns.get("currency")).upper()
    return table_values.currency(named, row.text)


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
        return table_values.money(raw, mark), raw
    debit = table_rows.cell(row, columns.get("debit"))
    credit = table_rows.cell(row, columns.get("credit"))
    spent = table_values.money(debit, mark)
    received = table_values.money(credit, mark)
    if received:
        return abs(received), credit
    if spent is not None:
        return -abs(spent), debit
    return received, credit
