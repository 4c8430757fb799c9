"""Transactions: money that came and went."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import pydantic

from reverie import compact
from reverie.records import base, passages

Currency = Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Z]{3}$")]
Amount = Annotated[Decimal, pydantic.Field(allow_inf_nan=False, max_digits=30)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BankTransaction(base.Record):
    """`amount` is negative when money went out; `currency` is an ISO 4217 code."""

    date: dt.date
    amount: Amount
    currency: Currency = "EUR"
    counterparty: str | None = None
    text: str | None = None


def _text(one: BankTransaction) -> passages.Text:
    title = one.counterparty or one.text or f"{one.amount} {one.currency}"
    noon = dt.datetime.combine(one.date, dt.time(12), tzinfo=dt.UTC)
    sections = [passages.Section(one.text)] if one.text and one.text != title else []
    amount = f"{one.amount} {one.currency}"
    return passages.Text(
        title,
        sections,
        keywords=f"{amount} {amount.lstrip('-')} {one.date}",
        at=noon,
        people=[one.counterparty or ""],
    )


def _line(one: BankTransaction, now: dt.datetime) -> str:
    what = compact.clip(one.counterparty or one.text or "", 32)
    return f"{one.date} {one.amount} {one.currency} {what}".rstrip()


TRANSACTIONS = base.Domain(
    name="transaction",
    plural="transactions",
    record=BankTransaction,
    text=_text,
    summary=lambda one: (
        f"{one.date} {one.amount} {one.currency} {one.counterparty or ''}".rstrip()
    ),
    line=_line,
    order="t.date DESC, t.id",
    filters={
        "from": base.Filter(dt.date, "t.date >= %(from)s"),
        "to": base.Filter(dt.date, "t.date <= %(to)s"),
        "counterparty": base.Filter(str, "t.counterparty = %(counterparty)s"),
    },
)
