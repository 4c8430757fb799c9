"""Broken parts of calendar items: what is set aside is told, and an event that nobody
can place in time is kept as a note.
"""

from collections.abc import Iterator
from typing import cast

from reverie.ingest import drafts
from reverie.ingest.formats import contentlines, ics_properties

# Of a broken line in the report; the record keeps more of it.
_SHOWN = 120
_MOST_SHOWN = 5


def remarks(draft: drafts.Draft) -> Iterator[drafts.Remark]:
    """What of an item was set aside, for the report."""
    custom = cast("drafts.Fields", draft.fields.get("custom") or {})
    title = str(draft.fields.get("title") or draft.key)
    for name, value in custom.items():
        if not name.startswith("broken_"):
            continue
        what = name.removeprefix("broken_").replace("_", " ")
        parts = cast("list[object]", value) if isinstance(value, list) else [value]
        shown = ", ".join(str(part)[:_SHOWN] for part in parts[:_MOST_SHOWN])
        if len(parts) > _MOST_SHOWN:
            shown += f" and {len(parts) - _MOST_SHOWN} more"
        text = f"{title[:_SHOWN]}: set aside, {what}: {shown}"
        yield drafts.Remark(draft.key, text)


def undated(
    part: contentlines.Component,
    key: str,
    start: contentlines.ContentLine,
    calendar: ics_properties.Calendar,
) -> drafts.Draft:
    """The note that an event becomes whose start is no date."""
    custom = ics_properties.custom(part, calendar)
    custom["broken_start"] = start.value[:_SHOWN]
    texts = (
        ics_properties.description(part),
        part.text("LOCATION"),
        f"Start as it is written: {start.value[:_SHOWN]}",
    )
    fields: drafts.Fields = {
        "title": part.text("SUMMARY"),
        "content": "\n\n".join(filter(None, texts)),
        "format": "text",
        "tags": ics_properties.categories(part) or None,
        "custom": custom,
    }
    return drafts.Draft("note", key, fields)
