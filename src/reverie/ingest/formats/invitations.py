"""Invitations (iTIP, RFC 5546) in a mail, in words: what, when and where."""

from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import cast

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.formats import contentlines, ics

LONGEST = 1024 * 1024
MOST = 20  # items of one invitation
METHODS = {
    "REQUEST": "Invitation",
    "CANCEL": "Cancelled",
    "REPLY": "Answer to an invitation",
    "COUNTER": "Another time is proposed",
    "ADD": "Invitation",
}


def words(data: bytes, moment: datetime) -> str:
    """What the calendar of a mail says; "" when it says nothing."""
    if len(data) > LONGEST:
        return ""
    source = drafts.SourceFile(
        Path("invite.ics"), PurePosixPath("invite.ics"), data, False, moment
    )
    try:
        method = _method(data)
        items = [item for item in ics.read(source) if isinstance(item, drafts.Draft)]
    except (errors.Unreadable, ValueError):
        return ""
    told = [_told(item.fields, method) for item in items[:MOST]]
    return "\n\n".join(filter(None, told))


def _method(data: bytes) -> str:
    for root in contentlines.components(data):
        stated = root.text("METHOD") or ""
        method = stated.strip().upper()
        return METHODS.get(method, "Event")
    return "Event"


def _told(fields: drafts.Fields | object, method: str) -> str:
    """One event or task."""
    item = cast("drafts.Fields", fields)
    lines = [f"{method}: {item.get('title') or '(no title)'}"]
    start = item.get("start")
    start = start or item.get("due")
    end = item.get("end")
    if isinstance(start, date):
        lines.append(f"When: {_when(start, end)}")
    place = item.get("location")
    if isinstance(place, str) and place.strip():
        lines.append(f"Where: {place.strip()}")
    description = item.get("description")
    if isinstance(description, str) and description.strip():
        lines.append(description.strip())
    return "\n".join(lines)


def _when(start: date, end: object) -> str:
    """A day or a span of time as a person would write it, with the days in ISO 8601."""
    if not isinstance(start, datetime):
        return f"{start:%A} {start.isoformat()}"
    zone = start.tzname() or ""
    zone = f" {zone}" if zone else ""
    text = f"{start:%A %Y-%m-%d, %H:%M}"
    if not isinstance(end, datetime) or end <= start:
        return f"{text}{zone}"
    ending = f"{end:%H:%M}" if end.date() == start.date() else f"{end:%Y-%m-%d, %H:%M}"
    return f"{text} to {ending}{zone}"
