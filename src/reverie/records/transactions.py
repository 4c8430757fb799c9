"""Transactions: money that came and went."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import pydantic

from reverie import compact
from reverie.records import passages, record_types

Currency = Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Z]{3}$")]
Amount = Annotated[Decimal, pydantic.Field(allow_inf_nan=False, max_digits=30)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BankTransaction(record_types.Record):
    """`amount` is negative when money went out; `currency` is an ISO 4217 code, None
    where nobody said which it is.
    """

    date: dt.date
    amount: Amount
    currency: Currency | None = None
    counterparty: str | None = None
    text: str | None = None


def _money(payment: BankTransaction) -> str:
    """The amount, with its currency where that is known."""
    return f"{payment.amount} {payment.currency or ''}".rstrip()


def _text(payment: BankTransaction) -> passages.Text:
    title = payment.counterparty or payment.text or _money(payment)
    noon = dt.datetime.combine(payment.date, dt.time(12), tzinfo=dt.UTC)
    sections = (
        [passages.Section(payment.text)]
        if payment.text and payment.text != title
        else []
    )
    amount = _money(payment)
    return passages.Text(
        title,
        sections,
        keywords=f"{amount} {amount.lstrip('-')} {payment.date}",
        at=noon,
        people=[payment.counterparty or ""],
    )


def _line(payment: BankTransaction, now: dt.datetime) -> str:
    what = compact.clip(payment.counterparty or payment.text or "", 32)
    return f"{payment.date} {_money(payment)} {what}".rstrip()


TRANSACTIONS = record_types.Domain(
    name="transaction",
    plural="transactions",
    record=BankTransaction,
    text=_text,
    summary=lambda payment: (
        f"{payment.date} {_money(payment)} {payment.counterparty or ''}".rstrip()
    ),
    line=_line,
    order="t.date DESC, t.id",
    filters={
        "from": record_types.Filter(dt.date, "t.date >= %(from)s"),
        "to": record_types.Filter(dt.date, "t.date <= %(to)s"),
        "counterparty": record_types.Filter(str, "t.counterparty = %(counterparty)s"),
    },
)
