"""CSV files: bank transactions, contacts and health measures by their headers; any
other table as a file.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import cutting, sourcetext, units
from reverie.ingest.formats import (
    table_contacts,
    table_headers,
    table_health,
    table_rows,
    table_transactions,
)

LARGEST = 64 * 1024 * 1024
LONGEST_TEXT = 4_000_000
PREAMBLE = 30  # banks write the account, the period and the balance above the header
_MOST_COLUMNS = 200
_MOST_BROKEN = 20
_ENGLISH = re.compile(r"\b(date|amount|description|time|name|balance|day)\b")
_NOT_ENGLISH = re.compile(
    r"\b(datum|betrag|umsatz|saldo|waehrung|wahrung|buchung\w*|verwendungszweck|wertstellung|zeit|uhrzeit|wert|tag"
    r"|fecha|importe|concepto|divisa|nombre|valor|libelle|montant|bedrag|omschrijving|importo|descrizione|descricao"
    r"|data|kwota|geburtstag|vorname|nachname|apellidos?)\b"
)
_TAB_SEPARATED = frozenset({".tsv", ".tab"})


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """The rows as records of the kind their headers tell, or the whole table as one
    file.
    """
    if len(source.data) > LARGEST:
        raise errors.Unreadable(f"a table larger than {LARGEST // 1024 // 1024} MB")
    text, encoding = charsets.decode(source.data)
    if sourcetext.is_binary(text):
        raise errors.Unreadable("not a table: the file holds binary data")
    rows, delimiter, broken = table_rows.parse(text)
    if not rows:
        yield drafts.Skip("", "the table is empty")
        return
    records = _records(source, rows, delimiter)
    made = False
    for item in _or_failures(records) if records else ():
        made = True
        yield item
    if not made:
        yield _file(source, rows, encoding, broken)
        if records is not None:
            yield drafts.Remark("", "no row of it could be read: kept as a table")
    if "\x00" in text:
        yield drafts.Remark("", "it holds NUL bytes, which were left out")
    for place in broken[:_MOST_BROKEN]:
        yield drafts.Remark("", place)


def _or_failures(
    records: Iterator[drafts.DraftOrSkip],
) -> Iterator[drafts.DraftOrSkip]:
    """The records of a table and its failures; nothing when there are failures only."""
    failures: list[drafts.DraftOrSkip] = []
    for item in records:
        if isinstance(item, drafts.Draft):
            yield from failures
            yield item
            yield from records
            return
        failures.append(item)


def _records(
    source: drafts.SourceFile, rows: list[list[str]], delimiter: str
) -> Iterator[drafts.DraftOrSkip] | None:
    """The records of the first row that is a header we know; None without one."""
    for at, row in enumerate(rows[:PREAMBLE]):
        headers = [name.strip() for name in row]
        # Where the comma is the decimal mark, files are cut by semicolons.
        language = _is_english(headers)
        english = delimiter != ";" and language
        table = table_rows.Table(
            headers, rows[at + 1 :], delimiter, english, local=not language
        )
        if columns := table_headers.transaction(headers):
            preamble = " ".join(" ".join(line) for line in rows[:at])
            return table_transactions.records(table, columns, preamble)
        if people := table_headers.contact(headers):
            return table_contacts.records(table, people)
        if measures := table_headers.health(headers):
            return table_health.records(table, measures, source)
    return None


def _is_english(headers: Sequence[str]) -> bool:
    """Whether the headers have an English word for what banks list, and none of
    another language.
    """
    plain_headers = " ".join(map(table_headers.plain, headers))
    if _NOT_ENGLISH.search(plain_headers):
        return False
    return _ENGLISH.search(plain_headers) is not None


def _file(
    source: drafts.SourceFile,
    rows: Sequence[Sequence[str]],
    encoding: str,
    broken: Sequence[str],
) -> drafts.Draft:
    """The table as one file, whose rows are its passages."""
    blocks, complete = _blocks(rows)
    cut = cutting.cut([units.whole(blocks)])
    custom: drafts.Fields = {
        "rows": len(rows) - 1,
        "columns": [name.strip() for name in rows[0]][:_MOST_COLUMNS],
        "encoding": encoding,
        "broken": broken[:_MOST_BROKEN],
        "cut": not complete or None,
    }
    fields: drafts.Fields = {
        "name": source.path.name,
        "mime": _media_type(source),
        "size": len(source.data),
        "sha256": hashlib.sha256(source.data).hexdigest(),
        "path": source.relative.as_posix(),
        "text": cut.text,
        "parts": cut.as_json(),
        "category": "table",
        "custom": custom,
    }
    return drafts.Draft("file", "", fields)


def _media_type(source: drafts.SourceFile) -> str:
    """The media type (RFC 4180 registers text/csv)."""
    if source.path.suffix.lower() in _TAB_SEPARATED:
        return "text/tab-separated-values"
    return "text/csv"


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
