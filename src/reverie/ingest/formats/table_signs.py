"""CSV bank statements: which amounts are money out, by a column that says so and by the
running balance.
"""

from collections.abc import Sequence
from decimal import Decimal

from reverie.ingest.formats import table_headers, table_rows, table_values

# Plain words of a cell (`table_headers.plain`), and the signs that others write.
_OUT = frozenset((
    "debit", "debits", "dr", "d", "db", "withdrawal", "withdrawals", "out",
    "outgoing", "expense", "expenses", "charge", "payment", "soll", "s", "belastung",
    "lastschrift", "ausgabe", "ausgang", "abgang", "cargo", "debe", "gasto", "retirada", "salida", "af",
    "debito", "addebito", "uscita", "depense",
)) | {"paid out", "money out", "payment out", "direct debit", "debit card", "withdraw"}  # fmt: skip
_IN = frozenset((
    "credit", "credits", "cr", "c", "deposit", "deposits", "incoming", "in", "income", "refund", "haben",
    "h", "gutschrift", "einnahme", "eingang", "zugang", "abono", "haber", "ingreso", "entrada", "bij",
    "credito", "accredito", "revenu",
)) | {"paid in", "money in", "payment in", "direct credit"}  # fmt: skip
_SIGNS = {"-": -1, "−": -1, "–": -1, "+": 1}
# Of the cells of a column that says so, and of the rows whose balance fits; by hand.
_MOSTLY = 0.9

Signs = Sequence[int]
"""For each row -1 for money out, 1 for money in, 0 when nothing is said."""


def by_column(table: table_rows.Table, used: set[int]) -> tuple[Signs, int | None]:
    """What a column of words says of each row, and which column it is; a column that
    has another use in `used` is none.
    """
    for at in range(len(table.headers)):
        if at in used:
            continue
        cells = table.column(at)
        filled = [cell for cell in cells if cell]
        known = sum(map(bool, map(_direction, filled)))
        if filled and known >= _MOSTLY * len(filled):
            return [_direction(table_rows.cell(row, at)) for row in table.rows], at
    return [0] * len(table.rows), None


def _direction(cell: str) -> int:
    """The direction that a cell names, 0 for none."""
    if cell in _SIGNS:
        return _SIGNS[cell]
    if len(cell) > 20:
        return 0
    word = table_headers.plain(cell)
    if word in _OUT:
        return -1
    return 1 if word in _IN else 0


def by_balance(
    amounts: Sequence[Decimal | None],
    balances: Sequence[Decimal | None],
    newest_first: bool | None,
) -> Signs:
    """What a running balance says of each row: by how much it differs from the one of
    the row before, or behind where the newest row comes first.
    """
    directions: list[tuple[int, int, list[int]]] = []
    for before, newest in ((-1, False), (1, True)):
        if newest_first in (None, newest):
            signs = _steps(amounts, balances, before=before)
            as_written = zip(amounts, signs, strict=True)
            agreeing = sum(
                bool(amount and amount * sign > 0) for amount, sign in as_written
            )
            directions.append((sum(map(abs, signs)), agreeing, signs))
    fitting, _, signs = max(directions, key=lambda direction: direction[:2])
    rows = sum(amount is not None for amount in amounts)
    # Half of the rows: gaps, days that are sorted otherwise, rows that are pending.
    return signs if 2 * fitting >= rows - 1 else [0] * len(amounts)


def _steps(
    amounts: Sequence[Decimal | None],
    balances: Sequence[Decimal | None],
    *,
    before: int,
) -> list[int]:
    """The signs of the amounts that lead from the balance `before` to that of a row."""
    signs: list[int] = []
    for at, amount in enumerate(amounts):
        other = at + before
        here = balances[at]
        there = balances[other] if 0 <= other < len(balances) else None
        sign = 0
        if amount and here is not None and there is not None:
            step = here - there
            if abs(step) == abs(amount):
                sign = 1 if step > 0 else -1
        signs.append(sign)
    return signs


def settled(
    amount: Decimal | None, cell: str, said: int, balanced: int, *, signed: bool
) -> Decimal | None:
    """An amount with its sign: the balance settles it, then the cell itself, then the
    column of words where no amount of the file has a sign (`signed`).
    """
    if amount is None:
        return None
    if balanced:
        return balanced * abs(amount)
    if said and not signed and not table_values.has_sign(cell):
        return said * abs(amount)
    return amount
