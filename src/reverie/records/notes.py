"""Notes: what the owner writes down."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from reverie import compact
from reverie.records import passages, record_types

_HEADING = re.compile(r" {0,3}(#{1,3})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CLIP = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(record_types.Record):
    content: str
    title: str | None = None
    format: Literal["markdown", "text", "html"] = "markdown"
    tags: list[str] = field(default_factory=list[str])
    pinned: bool = False
    archived: bool = False


def _title(note: Note) -> str:
    return note.title or compact.clip(note.content, 60)


def _text(note: Note) -> passages.Text:
    title = _title(note)
    sections = list(_sections(note, title)) if note.content.strip() else []
    return passages.Text(
        title, sections, at=record_types.created_at(note), tags=note.tags
    )


def _sections(note: Note, title: str) -> Iterator[passages.Section]:
    """The passages of a note, each with the headings above it; a text without headings
    is one section.
    """
    for titles, text in (
        _by_heading(note.content) if note.format == "markdown" else [((), note.content)]
    ):
        place = {"section": " > ".join(titles)} if titles else {}
        for piece in passages.pieces_of(text):
            # What the passage says itself, or the title of the note, is not said again.
            head = " > ".join(
                title_above
                for title_above in titles
                if title_above not in piece and title_above != title
            )
            yield passages.Section(piece, place, head, whole=True)


def _by_heading(content: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The stretches of a Markdown text, each with the headings that it stands under; a
    fragment joins the next.
    """
    titles: list[str] = []
    lines: list[str] = []
    above: tuple[str, ...] = ()
    fence = ""
    for line in content.splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading:
            if sum(map(len, lines)) > passages.FRAGMENT:
                yield above, "\n".join(lines)
                lines = []
            level = len(heading[1])
            titles = [
                *titles[: level - 1],
                *[""] * (level - 1 - len(titles)),
                compact.clip(heading[2], _CLIP),
            ]
            above = tuple(heading for heading in titles if heading)
        lines.append(line)
    yield above, "\n".join(lines)


def _line(note: Note, now: datetime) -> str:
    tags = f" ({', '.join(note.tags)})" if note.tags else ""
    pin = "📌 " if note.pinned else ""
    title = compact.clip(_title(note), 48)
    return f'{pin}"{title}"{tags} [{compact.ago(note.updated_at, now)}]'


NOTES = record_types.Domain(
    name="note",
    plural="notes",
    record=Note,
    text=_text,
    summary=_title,
    line=_line,
    filters={
        "tag": record_types.Filter(str, "t.tags @> ARRAY[%(tag)s]"),
        "pinned": record_types.Filter(bool, "t.pinned = %(pinned)s"),
        "archived": record_types.Filter(bool, "t.archived = %(archived)s"),
    },
)
