"""Notes: what the owner writes down."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from reverie import compact
from reverie.records import base, passages


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(base.Record):
    content: str
    title: str | None = None
    format: Literal["markdown", "text", "html"] = "markdown"
    tags: list[str] = field(default_factory=list[str])
    pinned: bool = False
    archived: bool = False


def _title(note: Note) -> str:
    return note.title or compact.clip(note.content, 60)


def _text(note: Note) -> passages.Text:
    sections = [passages.Section(note.content)] if note.content.strip() else []
    return passages.Text(_title(note), sections, at=base.told(note), tags=note.tags)


def _line(note: Note, now: datetime) -> str:
    tags = f" ({', '.join(note.tags)})" if note.tags else ""
    return (
        f'{"📌 " if note.pinned else ""}"{compact.clip(_title(note), 48)}"{tags} [{compact.ago(note.updated_at, now)}]'
    )


NOTES = base.Domain(
    name="note",
    plural="notes",
    record=Note,
    text=_text,
    summary=_title,
    line=_line,
    filters={
        "tag": base.Filter(str, "t.tags @> ARRAY[%(tag)s]"),
        "pinned": base.Filter(bool, "t.pinned = %(pinned)s"),
        "archived": base.Filter(bool, "t.archived = %(archived)s"),
    },
)
