"""Tables that tripped other programs: money, numbers, dates and broken bytes, imported
and read back through the API.
"""

from typing import Any

import pytest

from tests.ingest.test_report_calendars import REPORTS, Visitor, visitor

__all__ = ["visitor"]

Money = tuple[str, float, str | None]
"""Date, amount and currency of a transaction."""


async def money(visitor: Visitor) -> list[Money]:
    """The transactions by their dates."""
    payments = await visitor.get("transactions")
    return sorted(
        (item["date"], float(item["amount"]), item["currency"]) for item in payments
    )


CASES: dict[str, list[Money]] = {
    "csv-dr-cr-suffix/statement.csv": [
        ("2026-03-02", -4.8, None),
        ("2026-03-03", 2100.0, None),
        ("2026-03-04", -900.0, None),
    ],
    "csv-type-column/card.csv": [
        ("2026-01-02", 1400.0, "USD"),
        ("2026-01-15", -30.0, "USD"),
        ("2026-01-16", -55.1, "USD"),
    ],
    "csv-parens/parens.csv": [
        ("2026-01-15", -30.25, "USD"),
        ("2026-01-16", 150.0, "USD"),
        ("2026-01-17", -42.1, "USD"),
        ("2026-01-18", -55.0, "USD"),
        ("2026-01-19", 21.78, "USD"),
        ("2026-01-20", -1234.5, "USD"),
    ],
    "csv-thousand-only/ganze.csv": [
        ("2026-03-02", 1850.0, "EUR"),
        ("2026-03-04", -1200.0, "EUR"),
    ],
    "csv-month-names/names.csv": [
        ("2026-03-05", -4.8, None),
        ("2026-03-06", -900.0, None),
        ("2026-03-09", 2100.0, None),
    ],
    "csv-gbp-ambiguous/uk.csv": [
        ("2026-08-03", -4.8, "GBP"),
        ("2026-08-04", -900.0, "GBP"),
    ],
    "csv-nul/n.csv": [("2026-03-02", -4.8, "EUR"), ("2026-03-03", -1.0, "EUR")],
    "csv-revolut/revolut.csv": [
        ("2026-03-02", -4.8, "EUR"),
        ("2026-03-04", -50.0, "EUR"),
    ],
}


@pytest.mark.parametrize("name", CASES)
async def test_the_reported_tables(visitor: Visitor, name: str) -> None:
    told = await visitor.take(REPORTS / name)
    assert await money(visitor) == CASES[name]
    remarks = {item["remark"] for item in told.remarks}
    expected: dict[str, set[str]] = {
        "csv-gbp-ambiguous/uk.csv": {
            "the order of its dates was guessed: day before month"
        },
        "csv-nul/n.csv": {"it holds NUL bytes, which were left out"},
    }
    assert remarks == expected.get(name, set())


async def test_overlapping_statements_and_weights(visitor: Visitor) -> None:
    """The guards: as they were read before."""
    await visitor.take(REPORTS / "csv-overlap" / "jan-mar.csv")
    again = await visitor.take(REPORTS / "csv-overlap" / "mar-apr.csv")
    assert (again.imported, again.unchanged) == (1, 3)
    assert await money(visitor) == [
        ("2026-03-01", -2.5, "EUR"),
        ("2026-03-01", -2.5, "EUR"),
        ("2026-03-02", -55.1, "EUR"),
        ("2026-03-03", -12.0, "EUR"),
    ]
    await visitor.take(REPORTS / "csv-health-comma" / "gewicht.csv")
    weights = await visitor.get("health-entries")
    assert sorted(item["value"] for item in weights) == [71.2, 71.4]


# Files as strangers have them: other banks, other habits. (content, what it says)
STRANGERS: dict[str, tuple[str, list[Money]]] = {
    "swiss": (
        (
            "Datum;Buchungstext;Belastung CHF;Gutschrift CHF;Saldo CHF\n"
            "02.03.2026;Miete;1'234.50;;8'765.50\n03.03.2026;Lohn;;6'000;14'765.50\n"
        ),
        [("2026-03-02", -1234.5, "CHF"), ("2026-03-03", 6000.0, "CHF")],
    ),
    "indian": (
        (
            "Txn Date,Description,Withdrawal Amt.,Deposit Amt.,Closing Balance\n"
            '02-Mar-2026,RENT,"1,23,456.78",,"2,00,000.00"\n'
            '03-Mar-2026,SALARY,,"3,00,000.00","5,00,000.00"\n'
        ),
        [("2026-03-02", -123456.78, None), ("2026-03-03", 300000.0, None)],
    ),
    "dutch": (
        (
            "Datum;Naam / Omschrijving;Af Bij;Bedrag (EUR);Mededelingen\n"
            "20260302;Bakker;Af;4,80;brood\n20260303;Werk;Bij;2100,00;loon\n"
        ),
        [("2026-03-02", -4.8, "EUR"), ("2026-03-03", 2100.0, "EUR")],
    ),
    "soll_haben": (
        (
            "Buchungstag;Verwendungszweck;Umsatz;Währung;Soll/Haben\n"
            "02.03.2026;Bäcker;4,80;EUR;S\n03.03.2026;Lohn;2.100,00;EUR;H\n"
        ),
        [("2026-03-02", -4.8, "EUR"), ("2026-03-03", 2100.0, "EUR")],
    ),
    "spanish_months": (
        (
            "Fecha;Concepto;Importe;Saldo\n"
            "5 de marzo de 2026;Café;-3,50 €;96,50 €\n6-ene-26;Nómina;1.850 €;100 €\n"
        ),
        [("2026-01-06", 1850.0, "EUR"), ("2026-03-05", -3.5, "EUR")],
    ),
    "german_months": (
        (
            "Datum,Empfänger,Betrag\n"
            '"9. März 2026",Bäcker,"-4,80"\n"10. Dez. 2025",Miete,"-1.200"\n'
        ),
        [("2025-12-10", -1200.0, None), ("2026-03-09", -4.8, None)],
    ),
    "balance_only": (
        (
            "Date,Description,Amount,Balance\n2026-03-05,Salary,2100.00,2195.20\n"
            "2026-03-04,Rent,900.00,95.20\n2026-03-03,Bakery,4.80,995.20\n"
            "2026-03-02,Opening,1000.00,1000.00\n"
        ),
        [
            ("2026-03-02", 1000.0, None),
            ("2026-03-03", -4.8, None),
            ("2026-03-04", -900.0, None),
            ("2026-03-05", 2100.0, None),
        ],
    ),
    "american_order": (
        "Date,Description,Amount\n03/08/2026,Bakery,-$4.80\n04/08/2026,Rent,-$900.00\n",
        [("2026-03-08", -4.8, "USD"), ("2026-04-08", -900.0, "USD")],
    ),
    "other_column_tells": (
        (
            "Date,Value date,Description,Amount\n"
            "03/08/2026,13/08/2026,Bakery,-4.80\n04/08/2026,04/08/2026,Rent,-9.00\n"
        ),
        [("2026-08-03", -4.8, None), ("2026-08-04", -9.0, None)],
    ),
    "prefix_dr": (
        (
            "Date,Particulars,Amount,Balance\n2026-03-02,Tea,Dr 5.00,95.00 Cr\n"
            "2026-03-03,Pay,Cr 10.00,105.00 Cr\n"
        ),
        [("2026-03-02", -5.0, None), ("2026-03-03", 10.0, None)],
    ),
    "brackets_and_trailing": (
        (
            "Date,Description,Amount (GBP)\n2026-03-02,a,(4.80)\n2026-03-03,b,5.00-\n"
            "2026-03-04,c,\u22126.00\n2026-03-05,d,+7.00\n2026-03-06,e,\u00a3(8.00)\n"
        ),
        [
            ("2026-03-02", -4.8, "GBP"),
            ("2026-03-03", -5.0, "GBP"),
            ("2026-03-04", -6.0, "GBP"),
            ("2026-03-05", 7.0, "GBP"),
            ("2026-03-06", -8.0, "GBP"),
        ],
    ),
    "three_letters_are_no_currency": (
        "Date,Description,Amount\n2026-03-02,VIS card,-4.80 VIS\n",
        [("2026-03-02", -4.8, None)],
    ),
    "stray_quote": (
        (
            'Date,Description,Amount\n2026-03-02,"6 inch pipe,-4.80\n'
            "2026-03-03,Tea,-1.00\n2026-03-04,Bus,-2.00\n"
        ),
        [
            ("2026-03-02", -4.8, None),
            ("2026-03-03", -1.0, None),
            ("2026-03-04", -2.0, None),
        ],
    ),
    "long_cell": (
        f"Date,Description,Amount\n2026-03-02,{'x' * 200_000},-4.80\n2026-03-03,b,-1\n",
        [("2026-03-02", -4.8, None), ("2026-03-03", -1.0, None)],
    ),
}


@pytest.mark.parametrize("name", STRANGERS)
async def test_tables_of_strangers(visitor: Visitor, name: str) -> None:
    content, expected = STRANGERS[name]
    await visitor.read(f"{name}.csv", content)
    assert await money(visitor) == expected


async def test_a_table_whose_rows_all_fail_is_kept(visitor: Visitor) -> None:
    told = await visitor.read(
        "odd.csv", "Date,Description,Amount\nsoon,Tea,free\nlater,Bus,paid\n"
    )
    (file,) = await visitor.get("files")
    assert "later | Bus | paid" in file["text"]
    assert (told.status, told.skipped) == ("imported", [])
    assert [item["remark"] for item in told.remarks] == [
        "no row of it could be read: kept as a table"
    ]


async def test_a_payment_without_a_currency_has_none(visitor: Visitor) -> None:
    answer = await visitor.client.post(
        "/api/v1/transactions",
        json={"date": "2026-03-02", "amount": "-3", "text": "tea"},
        headers={"Authorization": f"Bearer {visitor.token}"},
    )
    created: dict[str, Any] = answer.json()
    assert (answer.status_code, created["currency"]) == (201, None)
