"""REST route of the change log over all domains, as far as the caller may read them."""

from typing import Annotated, Any

import pydantic
from starlette import requests, responses

from reverie import app
from reverie.records import catalogue, changes
from reverie.web import envelope, forms, middleware, parameters, routes

_FIELDS = (
    "domain",
    "record_id",
    "action",
    "columns",
    "source",
    "caller",
    "summary",
    "at",
)


class ChangesParameters(parameters.Parameters):
    """Which changes: since when, of which domain, how many."""

    since: Annotated[
        parameters.Moment | None,
        pydantic.Field(
            description="the last change of each record at or after this time, oldest first"
        ),
    ] = None
    domain: Annotated[str | None, pydantic.Field(description="only this domain")] = None
    limit: Annotated[int, pydantic.Field(ge=1, le=1000)] = 200


async def _changes(reverie: app.App, request: requests.Request) -> responses.Response:
    """Without `since`: the newest changes, newest first. With it: one row a record,
    oldest first.

    When more remain, `response_timestamp` is the time of the last row: asking on from
    it misses nothing.
    """
    caller = middleware.caller_of(request)
    query = parameters.read(request, ChangesParameters)
    names = catalogue.named_or_readable(
        caller, [query.domain] if query.domain else None
    )
    async with reverie.database.transaction(caller) as tx:
        if query.since is None:
            rows = await changes.recent(tx, caller, limit=1000)
            stamp = None
        else:
            changed = await changes.since(tx, caller, moment=query.since)
            rows = sorted(
                (*changed.created, *changed.updated, *changed.deleted),
                key=lambda row: row.at,
            )
            stamp = changed.response_timestamp
    rows = [row for row in rows if row.domain in names]
    shown, more = rows[: query.limit], len(rows) > query.limit
    meta: dict[str, Any] = {"total": len(rows), "limit": query.limit, "has_more": more}
    if stamp is not None:
        meta["response_timestamp"] = forms.moment(
            min(stamp, shown[-1].at) if more else stamp
        )
    return envelope.answer(
        {"items": [_change_json(row) for row in shown], "meta": meta}
    )


def _change_json(change: changes.Change) -> dict[str, Any]:
    return {
        "domain": change.domain,
        "record_id": str(change.record_id),
        "action": change.action,
        "columns": change.columns,
        "source": change.source,
        "caller": change.caller,
        "summary": change.summary,
        "at": forms.moment(change.at),
    }


_ITEM = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in _FIELDS},
}
ROUTES = (
    routes.Route(
        operation="changes",
        method="GET",
        path="/changes",
        handler=_changes,
        summary="What changed, in all domains",
        description="The newest changes; with `since`, the last change of each record, oldest first.",
        query=ChangesParameters,
        response={
            "type": "object",
            "properties": {"items": {"type": "array", "items": _ITEM}},
        },
    ),
)
