"""CLI command `reverie agenda`: the events of a day, of a week, or the next ones."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any

import typer

from reverie import compact, errors
from reverie.cli import client, records, terminal

_WORDS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_AHEAD = 90  # days that `next` looks ahead; set by hand
_NEXT = 5


def agenda(
    day: Annotated[
        str,
        typer.Argument(
            metavar="[DAY|next]",
            help="2026-12-01, today, tomorrow, yesterday or next; without it, the week that begins today.",
        ),
    ] = "",
    as_json: records.AsJson = False,
) -> None:
    """Show what is on: a day, the next events, or the coming week."""
    first, last = _span(day)
    with client.connected() as api:
        found = api.get("/events/agenda", {"from": first, "to": last})
    if day == "next":
        found = {**found, "items": found["items"][:_NEXT]}
    if as_json:
        terminal.as_json(found)
        return
    before = ""
    for item in found["items"]:
        if item["day"] != before:
            before = item["day"]
            name = f"{date.fromisoformat(before):%A}, {before}"
            terminal.line(name, style="bold")
        terminal.line(terminal.safe(f"  {_line(item)}"))
    if not found["items"]:
        terminal.line("Nothing is on.")


def _span(day: str) -> tuple[date | None, date | None]:
    """The first and the last day; None is what the API takes by itself."""
    today = date.today()  # noqa: DTZ011 - the terminal's own day
    if not day:
        return None, None
    if day == "next":
        return today, today + timedelta(days=_AHEAD)
    if day in _WORDS:
        one_day = today + timedelta(days=_WORDS[day])
        return one_day, one_day
    try:
        return date.fromisoformat(day), date.fromisoformat(day)
    except ValueError:
        raise errors.Invalid(
            f"{day} is no day.", hint="Write it as 2026-12-01, today or next."
        ) from None


def _line(item: Mapping[str, Any]) -> str:
    hours = "all day    "
    if not item["all_day"]:
        start, end = item["start"][11:16], item["end"][11:16]
        hours = f"{start}–{end}" if start != end else f"{start}      "
    place = f" · {item['location']}" if item["location"] else ""
    return f"{hours}  {item['title']}{place}  {compact.short_id(item['event_id'])}"
