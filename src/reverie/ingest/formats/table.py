"""CSV files: bank transactions, contacts and health measures by their headers; any
other table as a file.
"""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import cutting, units
from reverie.ingest.formats import table_headers, table_values

LARGEST = 64 * 1024 * 1024
LONGEST_TEXT = 4_000_000
DELIMITERS = (",", ";", "\t", "|")
PREAMBLE = 30  # banks write the account, the period and the balance above the header


@dataclass(frozen=True, slots=True)
class Table:
    """The rows from the header on, and how the file writes."""

    headers: list[str]
    rows: list[list[str]]
    delimiter: str
    english: bool

    def column(self, at: int | None) -> list[str]:
        return [cell(row, at) for row in self.rows[:2000]]


def cell(row: Sequence[str], at: int | None) -> str:
    return row[at].strip() if at is not None and at < len(row) else ""


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """The rows as records of the kind their headers tell, or the whole table as one
    file.
    """
    if len(source.data) > LARGEST:
        raise errors.Unreadable(f"a table larger than {LARGEST // 1024 // 1024} MB")
    text, encoding = charsets.decode(source.data)
    if "\x00" in text[:10_000]:
        raise errors.Unreadable("not a table: the file holds binary data")
    rows, delimiter, broken = _rows(text)
    if not rows:
        yield drafts.Skip("", broken or "the table is empty")
        return
    for at, row in enumerate(rows[:PREAMBLE]):
        headers = [name.strip() for name in row]
        body = Table(
            headers, rows[at + 1 :], delimiter, delimiter != ";" and _english(headers)
        )
        if columns := table_headers.transaction(headers):
            yield from _transactions(
                body, columns, " ".join(" ".join(line) for line in rows[:at])
            )
        elif people := table_headers.contact(headers):
            yield from _contacts(body, people)
        elif measures := table_headers.health(headers):
            yield from _measures(body, measures, source)
        else:
            continue
        if broken:
            yield drafts.Skip("", broken)
        return
    yield _file(source, rows, encoding, broken)


def _rows(text: str) -> tuple[list[list[str]], str, str]:
    """All rows, the delimiter, and what was wrong where reading had to end."""
    text = text.lstrip("\ufeff")
    if declared := re.match(r"sep=(.)\r?\n", text, re.IGNORECASE):
        delimiter, text = declared.group(1), text[declared.end() :]
    else:
        delimiter = _sniff(text)
    rows: list[list[str]] = []
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows.extend(row for row in reader if any(value.strip() for value in row))
    except csv.Error as error:
        return rows, delimiter, f"reading ended at row {len(rows) + 1}: {error}"
    return rows, delimiter, ""


def _sniff(text: str) -> str:
    """The delimiter that cuts most of the first lines into the same number of cells, of
    two or more.
    """
    sample = "\n".join(text[:20_000].splitlines()[:40])
    best, score = ",", 0.0
    for delimiter in DELIMITERS:
        try:
            widths = [
                len(row)
                for row in csv.reader(io.StringIO(sample), delimiter=delimiter)
                if row
            ]
        except csv.Error:
            continue
        width, often = (
            Counter(width for width in widths if width > 1).most_common(1)[0]
            if any(w > 1 for w in widths)
            else (1, 0)
        )
        if (
            found := often / len(widths) + width / 1000 if widths and often else 0.0
        ) > score:
            best, score = delimiter, found
    return best


def _english(headers: Sequence[str]) -> bool:
    return any(
        re.search(
            r"\b(date|amount|description|time|name|balance|day)\b",
            table_headers.plain(header),
        )
        for header in headers
    )


def _numbered(canonical: Sequence[str], seen: Counter[str]) -> str:
    digest = hashlib.sha256(
        "\x1f".join(canonical).encode("utf-8", "replace")
    ).hexdigest()
    seen[digest] += 1
    return f"row:{digest}|{seen[digest]}"


def _transactions(
    table: Table, columns: Mapping[str, int], preamble: str
) -> Iterator[drafts.Draft | drafts.Skip]:
    money = [columns[name] for name in ("amount", "debit", "credit") if name in columns]
    mark = table_values.decimal_mark(
        value for at in money for value in table.column(at)
    )
    dmy = table_values.day_first(table.column(columns["date"]), not table.english)
    headers = [table.headers[at] for at in money]
    presumed = table_values.currency(*headers) or table_values.currency(
        *re.findall(r"\b(?:EUR|USD|GBP|CHF)\b|[€$£]", preamble)
    )
    seen: Counter[str] = Counter()
    for number, row in enumerate(table.rows, start=1):
        on = table_values.day(cell(row, columns["date"]), dmy)
        amount, sign = _amount(row, columns, mark)
        if on is None or amount is None:
            wrong = "date" if on is None else "amount"
            yield drafts.Skip(
                f"row {number}", f"no {wrong} in: {' | '.join(row)[:120]}"
            )
            continue
        used = {*columns.values()}
        others = {
            name: cell(row, at)
            for at, name in enumerate(table.headers)
            if at not in used and name and cell(row, at)
        }
        yield drafts.Draft(
            "transaction",
            _numbered([value.strip() for value in row], seen),
            {
                "date": on,
                "amount": amount,
                "currency": table_values.currency(
                    cell(row, columns.get("currency")).upper(), sign
                )
                or presumed,
                "counterparty": cell(row, columns.get("counterparty")) or None,
                "text": cell(row, columns.get("text")) or None,
                "custom": {
                    name: cell(row, columns.get(name))
                    for name in ("category", "balance", "iban")
                }
                | {"columns": others},
            },
        )


def _amount(
    row: Sequence[str], columns: Mapping[str, int], mark: str
) -> tuple[Decimal | None, str]:
    raw = cell(row, columns.get("amount"))
    if raw:
        return table_values.number(raw, mark), raw
    debit, credit = cell(row, columns.get("debit")), cell(row, columns.get("credit"))
    out, into = table_values.number(debit, mark), table_values.number(credit, mark)
    if into:
        return abs(into), credit
    return (-abs(out), debit) if out is not None else (into, credit)


def _contacts(
    table: Table, columns: Mapping[str, Sequence[int]]
) -> Iterator[drafts.Draft | drafts.Skip]:
    seen: set[str] = set()
    for number, row in enumerate(table.rows, start=1):
        item = _contact(table, columns, row)
        if item is None:
            yield drafts.Skip(
                f"row {number}", "a row without a name, an address or a number"
            )
        elif item.key in seen:
            yield drafts.Skip(item.key, "the same person is in the table twice")
        else:
            seen.add(item.key)
            yield item


def _contact(
    table: Table, columns: Mapping[str, Sequence[int]], row: Sequence[str]
) -> drafts.Draft | None:
    def every(field: str) -> list[str]:
        # Google puts several values of one label into one cell, parted by " ::: ".
        values = [
            part.strip()
            for at in columns.get(field, ())
            for part in cell(row, at).split(":::")
        ]
        return list(dict.fromkeys(value for value in values if value))

    def one(field: str) -> str:
        return next(iter(every(field)), "")

    emails = [email for email in every("emails") if "@" in email]
    phones = every("phones")
    spoken = " ".join(
        part
        for part in (one("prefix"), one("given"), one("middle"), one("family"))
        if part
    )
    display = (
        one("display_name")
        or spoken
        or one("company")
        or next(iter([*emails, *phones]), "")
    )
    if not display:
        return None
    town = " ".join(part for part in (one("postcode"), one("city")) if part)
    address = ", ".join(
        part
        for part in (one("address").replace("\n", ", "), town, one("country"))
        if part
    )
    born = one("birthday")
    birthday = (
        table_values.day(born, not table.english)
        if born and not born.startswith("--")
        else None
    )
    used = {at for places in columns.values() for at in places}
    others = {
        name: cell(row, at)
        for at, name in enumerate(table.headers)
        if at not in used and name and cell(row, at)
    }
    custom: dict[str, object] = {
        name: one(name) for name in ("prefix", "middle", "nickname")
    }
    custom |= {
        "birthday": born if born and not birthday else "",
        "labels": every("labels"),
        "urls": every("url"),
        "columns": others,
    }
    fields: dict[str, object] = {
        "display_name": display,
        "given": one("given") or None,
        "family": one("family") or None,
        "emails": emails or None,
        "phones": phones or None,
        "company": one("company") or None,
        "job_title": one("job_title") or None,
        "address": address or None,
        "notes": one("notes") or None,
        "birthday": birthday,
        "custom": custom,
    }
    return drafts.Draft(
        "contact", f"name:{display}|{next(iter([*emails, *phones]), '')}", fields
    )


def _measures(
    table: Table, columns: Mapping[str, int], source: drafts.SourceFile
) -> Iterator[drafts.Draft | drafts.Skip]:
    dmy = table_values.day_first(table.column(columns["at"]), not table.english)
    wide = {kind: at for kind, at in columns.items() if kind in table_headers.HEALTH}
    places = (
        {"": columns["value"]} if "kind" in columns and "value" in columns else wide
    )
    marks = {
        kind: table_values.decimal_mark(table.column(at)) for kind, at in places.items()
    }
    seen: Counter[str] = Counter()
    for number, row in enumerate(table.rows, start=1):
        at = table_values.moment(
            cell(row, columns["at"]),
            cell(row, columns.get("clock")),
            dmy,
            source.mtime.tzinfo,
        )
        if at is None:
            yield drafts.Skip(f"row {number}", f"no date in: {' | '.join(row)[:120]}")
            continue
        remark = cell(row, columns.get("text"))
        for kind, place in places.items():
            raw = cell(row, place)
            if not raw:
                continue
            measured = kind or _kind(cell(row, columns.get("kind")))
            value = table_values.number(raw, marks[kind])
            if not measured or value is None:
                yield drafts.Skip(f"row {number}", f"no measure in: {raw[:80]}")
                continue
            unit = (
                cell(row, columns.get("unit"))
                or table_headers.without_unit(table.headers[place])[1]
            )
            unit = unit or table_headers.HEALTH.get(measured, ("", ""))[1]
            key = _numbered([at.isoformat(), measured, raw, unit], seen)
            fields = {
                "kind": measured,
                "value": float(value),
                "unit": unit or None,
                "text": remark or None,
                "at": at,
            }
            yield drafts.Draft("health", key, fields)


def _kind(name: str) -> str:
    bare = re.sub(r"^HK(Quantity|Category)TypeIdentifier", "", name)  # Apple Health
    plain = table_headers.plain(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", bare))
    return table_headers.kind_of(plain) or plain.replace(" ", "_")


def _file(
    source: drafts.SourceFile, rows: Sequence[Sequence[str]], encoding: str, broken: str
) -> drafts.Draft:
    blocks, whole = _blocks(rows)
    cut = cutting.cut([units.Unit(1, 1, tuple(blocks))])
    custom: dict[str, object] = {
        "rows": len(rows) - 1,
        "columns": [name.strip() for name in rows[0]][:200],
        "encoding": encoding,
    }
    custom |= {"broken": broken, "cut": not whole or None}
    return drafts.Draft(
        "file",
        "",
        {
            "name": source.path.name,
            "mime": "text/tab-separated-values"
            if source.path.suffix.lower() in {".tsv", ".tab"}
            else "text/csv",
            "size": len(source.data),
            "sha256": hashlib.sha256(source.data).hexdigest(),
            "path": source.relative.as_posix(),
            "text": cut.text,
            "parts": cut.as_json(),
            "category": "table",
            "custom": custom,
        },
    )


def _blocks(rows: Sequence[Sequence[str]]) -> tuple[list[units.Block], bool]:
    """The rows as they are cut into passages, numbered from 1, and whether that is all
    of them.
    """
    blocks: list[units.Block] = []
    length = 0
    for number, row in enumerate(rows, start=1):
        text = " | ".join(value.strip() for value in row)
        length += len(text) + 1
        if length > LONGEST_TEXT:
            return blocks, False
        kind: units.Kind = "header" if number == 1 else "row"
        blocks.append(units.Block(text, kind, place={"rows": [number, number]}))
    return blocks, True
