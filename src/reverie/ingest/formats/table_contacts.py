"""CSV address books (Google, Outlook): a contact for each row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from reverie.ingest import contact_merging, drafts, identity
from reverie.ingest.formats import contentlines, table_dates, table_rows

# Google puts several values of one label into one cell, parted by " ::: ".
_GOOGLE_SEPARATOR = ":::"
_SPOKEN_NAME = ("prefix", "given", "middle", "family")
_CUSTOM = ("prefix", "middle", "nickname")


@dataclass(frozen=True, slots=True)
class _Row:
    """The values of one row by field, none of them empty."""

    values: Mapping[str, Sequence[str]]

    def all(self, field: str) -> list[str]:
        """Every value of a field."""
        return [*self.values.get(field, ())]

    def first(self, field: str) -> str:
        """The first value of a field, or ""."""
        values = self.values.get(field)
        return values[0] if values else ""

    def optional(self, field: str) -> str | None:
        """The first value of a field, or None."""
        return self.first(field) or None

    def joined(self, fields: Sequence[str], separator: str = " ") -> str:
        """The first values of some fields, those that there are."""
        values = map(self.first, fields)
        return separator.join(filter(None, values))


def records(
    table: table_rows.Table, columns: Mapping[str, Sequence[int]]
) -> Iterator[drafts.DraftOrSkip]:
    """Field -> columns as `table_headers.contact` says."""
    used: set[int] = set()
    used.update(*columns.values())
    birthdays = columns.get("birthday", ())
    birthday_column = next(iter(birthdays), None)
    order = table.date_order(birthday_column)
    people: dict[str, drafts.Draft] = {}
    for number, row in enumerate(table.rows, start=1):
        values = _values(row, columns)
        others = table.other_cells(row, used)
        contact = _contact(values, order, others)
        if contact is None:
            reason = "a row without a name, an address or a number"
            yield drafts.Skip(f"row {number}", reason)
        elif contact.key not in people:
            people[contact.key] = contact
        elif people[contact.key] == contact:
            yield drafts.Skip(contact.key, "the same person is in the table twice")
        else:
            yield from _twice(people, contact)
    yield from people.values()
    if order.guessed:
        yield drafts.Remark("", order.remark)


def _twice(
    people: dict[str, drafts.Draft], contact: drafts.Draft
) -> Iterator[drafts.Remark]:
    """A second row of one name and address: of one person if that is plain, else of
    another one.
    """
    first = people[contact.key]
    if contact_merging.is_safe(first.fields, contact.fields):
        added = contact_merging.merged(first.fields, contact.fields)
        fields = dict(first.fields)
        fields.update(added)
        people[contact.key] = replace(first, fields=fields)
        yield drafts.Remark(contact.key, "two rows of one person: merged")
        return
    # Two people of one name: neither may be lost.
    content = identity.content_of(contact.key, contact.fields)
    digest = content.hex()[:16]
    key = f"{contact.key}|{digest}"
    people[key] = replace(contact, key=key)


def _values(row: Sequence[str], columns: Mapping[str, Sequence[int]]) -> _Row:
    """Field -> the values of all its columns."""
    values: dict[str, list[str]] = {}
    for field, places in columns.items():
        parts: list[str] = []
        for at in places:
            cell = table_rows.cell(row, at)
            parts += cell.split(_GOOGLE_SEPARATOR)
        values[field] = contentlines.unique(parts)
    return _Row(values)


def _contact(
    row: _Row, order: table_dates.DateOrder, others: Mapping[str, str]
) -> drafts.Draft | None:
    """None for a row without a name, an address and a number."""
    emails = [email for email in row.all("emails") if "@" in email]
    phones = row.all("phones")
    addresses = emails or phones or [""]
    reached = addresses[0]
    display = _display_name(row) or reached
    if not display:
        return None
    birthday, birthday_text = _birthday(row.first("birthday"), order.day_first)
    fields: drafts.Fields = {
        "display_name": display,
        "given": row.optional("given"),
        "family": row.optional("family"),
        "emails": emails or None,
        "phones": phones or None,
        "company": row.optional("company"),
        "job_title": row.optional("job_title"),
        "address": _address(row) or None,
        "notes": row.optional("notes"),
        "birthday": birthday,
        "custom": _custom(row, birthday_text, others),
    }
    key = f"name:{display}|{reached}"
    return drafts.Draft("contact", key, fields)


def _custom(row: _Row, birthday_text: str, others: Mapping[str, str]) -> drafts.Fields:
    """What a contact has no field for."""
    custom: drafts.Fields = {name: row.first(name) for name in _CUSTOM}
    custom["birthday"] = birthday_text
    custom["labels"] = row.all("labels")
    custom["urls"] = row.all("url")
    custom["columns"] = others
    return custom


def _display_name(row: _Row) -> str:
    """The name as it is written, or its parts, or the company."""
    if written := row.first("display_name"):
        return written
    return row.joined(_SPOKEN_NAME) or row.first("company")


def _address(row: _Row) -> str:
    """Street, town and country on one line."""
    street = row.first("address").replace("\n", ", ")
    parts_of_town = ("postcode", "city")
    town = row.joined(parts_of_town)
    country = row.first("country")
    parts = (street, town, country)
    return ", ".join(filter(None, parts))


def _birthday(text: str, day_first: bool) -> tuple[date | None, str]:
    """The date, or the text as it stands where it is none: --03-04 has no year."""
    if not text or text.startswith("--"):
        return None, text
    birthday = table_dates.day(text, day_first)
    return birthday, "" if birthday else text
