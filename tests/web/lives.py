"""Realistic records of every domain, in English, Spanish, German and Chinese, for the
tests of the API.
"""

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Body = dict[str, Any]

_LIVES = json.loads(
    (Path(__file__).parent / "data" / "lives.json").read_text(encoding="utf-8")
)

LENGTH: Mapping[str, tuple[str, int]] = {
    "note": ("content", 2),
    "event": ("description", 1),
    "email": ("body_text", 3),
    "file": ("text", 6),
    "diary": ("content", 3),
    "feed_item": ("content", 3),
    "run": ("text", 6),
    "chat": ("turns", 6),
    "task": ("description", 1),
}
"""Where a record of the domain has its text, and how many paragraphs it has beside its
few words.
"""

CHANGE: Mapping[str, tuple[str, Any]] = {
    "note": ("title", "Dichtung"),
    "event": ("title", "Sitzung"),
    "contact": ("company", "Palanca S.L."),
    "email": ("folder", "Archive"),
    "file": ("category", "papers"),
    "diary": ("mood", "🌧"),
    "bookmark": ("folder", "Later"),
    "task": ("column", "Done"),
    "feed": ("description", "Nuevo"),
    "feed_item": ("author", "Redaktion"),
    "health": ("unit", "g"),
    "transaction": ("text", "更正"),
    "run": ("machine", "desk"),
    "chat": ("title", "Otra cosa"),
}
"""One change of each domain: a column and its new value."""

SECRET: Mapping[str, str] = {
    "note": "title",
    "event": "title",
    "contact": "display_name",
    "email": "subject",
    "file": "name",
    "diary": "content",
    "bookmark": "title",
    "task": "title",
    "feed": "title",
    "feed_item": "title",
    "health": "kind",
    "transaction": "counterparty",
    "run": "title",
    "chat": "title",
}
"""The column of each domain that its one line shows."""


def bodies(domain: str, count: int) -> list[Body]:
    """That many records, each with as much text as its kind has in life; each diary
    entry on its own day.
    """
    kinds, prose = _LIVES[domain], _LIVES["prose"]
    found = [dict(kinds[i % len(kinds)]) for i in range(count)]
    field, more = LENGTH.get(domain, ("", 0))
    for i, one in enumerate(found):
        said = [prose[(i + j) % len(prose)] for j in range(more)]
        if domain == "chat":
            names = ("assistant", "me")
            turns = [
                {"id": str(3 + j), "speaker": names[j % 2], "text": text}
                for j, text in enumerate(said)
            ]
            one["turns"] = [*one["turns"], *turns]
        elif domain == "diary":
            one["date"] = (dt.date(2026, 11, 27) - dt.timedelta(days=3 * i)).isoformat()
        if field and domain != "chat":
            one[field] = "\n\n".join([*([one[field]] if one.get(field) else []), *said])
    return found
