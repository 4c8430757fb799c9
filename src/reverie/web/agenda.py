"""REST route of the agenda: events by local day, their recurrences spread out."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import pydantic
from starlette import requests, responses

from reverie import app, errors
from reverie.records import events
from reverie.web import envelope, middleware, parameters, routes

_LONGEST_DAYS = 366


class AgendaParameters(parameters.Parameters):
    """`from` is the first local day, today unless given; `to` the last one, included,
    six days later.
    """

    from_: Annotated[
        date | None,
        pydantic.Field(alias="from", description="first local day; default today"),
    ] = None
    to: Annotated[
        date | None,
        pydantic.Field(description="last local day; default six days later"),
    ] = None


async def _agenda(reverie: app.App, request: requests.Request) -> responses.Response:
    caller = middleware.caller_of(request)
    query = parameters.read(request, AgendaParameters)
    today = datetime.now(UTC).astimezone(events.zone(caller.timezone)).date()
    first = query.from_ or today
    last = query.to or min(first, date.max - timedelta(days=6)) + timedelta(days=6)
    if (last - first).days >= _LONGEST_DAYS:
        raise errors.Invalid(
            f"An agenda has at most {_LONGEST_DAYS} days.",
            hint="Ask for fewer at a time.",
        )
    async with reverie.database.transaction(caller) as tx:
        occurrences = await events.agenda(tx, caller, first=first, last=last)
    days = {
        "from": first.isoformat(),
        "to": last.isoformat(),
        "total": len(occurrences),
    }
    return envelope.answer(
        {
            "items": [_occurrence_json(occurrence) for occurrence in occurrences],
            "meta": days,
        }
    )


def _occurrence_json(occurrence: events.Occurrence) -> dict[str, Any]:
    """All-day events have days for `start` and `end`, the latter exclusive, as the
    event itself has them.
    """
    event = occurrence.event
    start, end = (
        (occurrence.start.date(), occurrence.end.date())
        if event.all_day
        else (occurrence.start, occurrence.end)
    )
    return {
        "event_id": str(event.id),
        "title": event.title,
        "start": start.isoformat(),
        "end": end.isoformat(),
        "day": occurrence.day.isoformat(),
        "all_day": event.all_day,
        "timezone": event.timezone,
        "location": event.location,
    }


_TEXTS = ("event_id", "title", "start", "end", "day", "timezone", "location")
_ITEM = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in _TEXTS},
        "all_day": {"type": "boolean"},
    },
}
ROUTES = (
    routes.Route(
        operation="events.agenda",
        method="GET",
        path="/events/agenda",
        handler=_agenda,
        summary="What takes place, by local day",
        description="Recurring events are spread out. `end` is exclusive for all-day events.",
        query=AgendaParameters,
        response={
            "type": "object",
            "properties": {"items": {"type": "array", "items": _ITEM}},
        },
        operation_id="event_agenda",
    ),
)
