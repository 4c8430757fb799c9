"""What a kind of record is: its columns, its text for search, its filters, its forms.

A domain is declared by a module of its own (notes.py, events.py, …), of these parts.
"""

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Generic, Literal, LiteralString, TypeVar, cast
from uuid import UUID

import pydantic

from reverie import db, errors, offload
from reverie.access import callers
from reverie.privacy import secret_values, sensitivity
from reverie.records import fields, passages

# A secret makes a record critical: in all others none is looked for a second time.
_HAS_SECRETS = "critical"
Sensitivity = sensitivity.Word
Tier = Literal["hot", "warm", "cold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The columns that every domain starts with. Times are UTC."""

    user_id: UUID
    id: UUID
    source: str
    sensitivity: Sensitivity
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    custom: dict[str, Any]


R = TypeVar("R", bound=Record)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Filter:
    """One way to narrow a list: the type of a query parameter and the condition it adds
    (`%(name)s` is its value).
    """

    type: Any
    condition: LiteralString


@dataclass(frozen=True, kw_only=True)
class Domain(Generic[R]):
    """What makes a kind of record: its table, its text, its one-line form.

    `derived` columns are computed by `prepare` and refused from outside; `json` names
    the JSONB columns; `hidden` columns are no part of the JSON form, to which `present`
    gives its last touch; `unique` is the sentence when a unique index refuses.
    """

    name: str
    plural: str
    record: type[R]
    text: Callable[[R], passages.Text]
    summary: Callable[[R], str]
    line: Callable[[R, datetime], str]
    filters: Mapping[str, Filter] = field(default_factory=dict[str, Filter])
    order: LiteralString = "t.updated_at DESC, t.id"
    derived: frozenset[str] = frozenset()
    json: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    prepare: Callable[[dict[str, Any], callers.Caller], dict[str, Any]] | None = None
    present: Callable[[R, dict[str, Any]], dict[str, Any]] | None = None
    unique: str = ""

    @functools.cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in order."""
        return db.names(self.record)

    @functools.cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns of the JSON form: without the user, and without what is hidden."""
        return tuple(
            name
            for name in self.columns
            if name != "user_id" and name not in self.hidden
        )

    @functools.cached_property
    def own(self) -> tuple[str, ...]:
        """The columns of the kind itself."""
        common = db.names(Record)
        return tuple(name for name in self.columns if name not in common)

    @functools.cached_property
    def sent(self) -> tuple[str, ...]:
        """The columns of the kind that may be sent: all but the derived ones."""
        return tuple(name for name in self.own if name not in self.derived)

    @functools.cached_property
    def new(self) -> type[pydantic.BaseModel]:
        """What may be sent to create a record; unknown fields are refused."""
        return fields.model(self.record, own=self.sent, partial=False)

    @functools.cached_property
    def change(self) -> type[pydantic.BaseModel]:
        """What may be sent to change one: the same fields, all optional."""
        return fields.model(self.record, own=self.sent, partial=True)

    @functools.cached_property
    def adapter(self) -> pydantic.TypeAdapter[R]:
        """The record's JSON form."""
        return pydantic.TypeAdapter(self.record)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some records of a list, or rows of another, and how many there are in all."""

    items: list[T]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class PreparedRecord(Generic[R]):
    """A new record before its transaction: checked columns with its sensitivity, what
    search keeps of it, and its line in the change log.
    """

    domain: Domain[R]
    id: UUID
    columns: Mapping[str, Any]
    indexed: passages.IndexedText
    summary: str


@dataclass(frozen=True, slots=True)
class PreparedChange(Generic[R]):
    """A change of a record as it was read (`old`), before its transaction: the columns
    that get another value, sensitivity among them if it follows.
    """

    domain: Domain[R]
    old: R
    columns: Mapping[str, Any]


def created_at(record: Record) -> datetime:
    """When a record was made as its own file tells (`custom.created`), or else when it
    came in.
    """
    created = record.custom.get("created")
    if isinstance(created, str):
        try:
            moment = datetime.fromisoformat(created)
        except ValueError:
            return record.created_at
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return record.created_at


def as_json(domain: Domain[R], record: R) -> dict[str, Any]:
    """The JSON form of a record, by column names, without the user."""
    dumped: dict[str, Any] = domain.adapter.dump_python(record, mode="json")
    form = {
        db.column(name): value
        for name, value in dumped.items()
        if db.column(name) in domain.shown
    }
    return domain.present(record, form) if domain.present else form


def columns_as_json(domain: Domain[R], record: R, names: Iterable[str]) -> str:
    """Some columns of a record as a JSON object, by column names."""
    fields = {db.field(name) for name in names}
    dumped: dict[str, Any] = domain.adapter.dump_python(
        record, mode="json", include=fields
    )
    return json.dumps({db.column(name): value for name, value in dumped.items()})


def text_of(domain: Domain[R], record: R) -> passages.Text:
    """What search knows of a record: what its domain declares, without its secrets, and
    the file it came from.
    """
    origin = str(record.custom.get("imported_from", ""))
    text = replace(domain.text(record), origin=origin)
    if record.sensitivity != _HAS_SECRETS:
        return text
    return without_secrets(text)


def summary_of(domain: Domain[R], record: R) -> str:
    """A record in the change log, without its secrets."""
    summary = domain.summary(record)
    if record.sensitivity != _HAS_SECRETS:
        return summary
    return secret_values.redacted(summary)


def fields_without_secrets(record: R) -> R:
    """A record in whose fields no secret is left, for the graph."""
    if record.sensitivity != _HAS_SECRETS:
        return record
    clean = {
        own.name: _without_secrets(getattr(record, own.name))
        for own in dataclasses.fields(record)
    }
    return replace(record, **clean)


def _without_secrets(value: object) -> object:
    if isinstance(value, str):
        return secret_values.redacted(value)
    if isinstance(value, list):
        return list(map(_without_secrets, cast("list[object]", value)))
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {name: _without_secrets(entry) for name, entry in entries.items()}
    return value


def without_secrets(text: passages.Text) -> passages.Text:
    """A text for search in which no secret is left, whichever part holds it or a piece
    of it.
    """
    parts = [
        text.title,
        text.keywords,
        text.category or "",
        text.origin,
        *(section.text for section in text.sections),
        *(section.head for section in text.sections),
        *text.tags,
        *text.people,
    ]
    clean = secret_values.redacted_parts(parts)
    if clean == parts:
        return text
    following = iter(clean)
    title, keywords, category, origin = (next(following) for _ in range(4))
    texts = [next(following) for _ in text.sections]
    heads = [next(following) for _ in text.sections]
    return replace(
        text,
        title=title,
        keywords=keywords,
        category=text.category and category,
        origin=origin,
        sections=[
            replace(section, text=said, head=head)
            for section, said, head in zip(text.sections, texts, heads, strict=True)
        ],
        tags=[next(following) for _ in text.tags],
        people=[next(following) for _ in text.people],
    )


async def indexed_text(domain: Domain[R], record: R) -> passages.Text:
    """The same; a long one takes seconds, in which others want to be answered."""
    values = (getattr(record, db.field(name)) for name in domain.own)
    size = sum(len(value) for value in values if isinstance(value, str))
    if size > offload.LONG:
        return await offload.to_thread(size, text_of, domain, record)
    return text_of(domain, record)


def missing(domain: Domain[Any]) -> errors.NotFound:
    """What is said of an id that no record of the domain has, for this caller."""
    return errors.NotFound(
        f"There is no such {domain.name.replace('_', ' ')}.",
        hint="It may have been deleted.",
    )


def parameters(domain: Domain[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns as the driver takes them: JSONB columns are wrapped."""
    as_is = domain.json | {"custom"}
    return {
        name: db.json(value) if name in as_is else value
        for name, value in values.items()
    }


def row(new: PreparedRecord[Any]) -> dict[str, Any]:
    """A prepared record in the form of JSON that the database makes a row of."""
    columns = {name: _plain(value) for name, value in new.columns.items()}
    return {**columns, "id": str(new.id)}


def _plain(value: Any) -> Any:
    """Times, numbers and identifiers that JSON has no form for, as their text."""
    if isinstance(value, date | time | Decimal | UUID):
        return str(value)
    return value


def statement(template: LiteralString, domain: Domain[Any]) -> db.Query:
    """A statement on the table of a domain: `{table}` and `{all}` are filled in."""
    return _composed(template, domain.name, tuple(domain.columns))


@functools.cache
def _composed(
    template: LiteralString, table: str, columns: tuple[str, ...]
) -> db.Query:
    return db.compose(template, table=table, all=columns)
