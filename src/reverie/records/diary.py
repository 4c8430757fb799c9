"""Diary: one entry a local day."""

import datetime as dt
from dataclasses import dataclass

from reverie import compact
from reverie.records import passages, record_types


@dataclass(frozen=True, slots=True, kw_only=True)
class DiaryEntry(record_types.Record):
    date: dt.date
    content: str
    mood: str | None = None


def _text(entry: DiaryEntry) -> passages.Text:
    sections = [passages.Section(entry.content)] if entry.content.strip() else []
    noon = dt.datetime.combine(entry.date, dt.time(12), tzinfo=dt.UTC)
    return passages.Text(
        entry.date.isoformat(), sections, keywords=entry.mood or "", at=noon
    )


def _line(entry: DiaryEntry, now: dt.datetime) -> str:
    mood = f" {entry.mood}" if entry.mood else ""
    return f'{entry.date}{mood} "{compact.clip(entry.content, 24)}"'


DIARY = record_types.Domain(
    name="diary",
    plural="diary",
    record=DiaryEntry,
    text=_text,
    summary=lambda entry: f"{entry.date} {' '.join(entry.content.split())[:100]}",
    line=_line,
    order="t.date DESC, t.id",
    unique="The diary has an entry for this day already: one a day.",
    filters={
        "date": record_types.Filter(dt.date, "t.date = %(date)s"),
        "from": record_types.Filter(dt.date, "t.date >= %(from)s"),
        "to": record_types.Filter(dt.date, "t.date <= %(to)s"),
    },
)
