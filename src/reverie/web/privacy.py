"""REST route of the routing log's summary: what left this machine, in numbers."""

from dataclasses import asdict
from typing import Annotated

import pydantic
from starlette import requests, responses

from reverie import app
from reverie.privacy import log as routing_log
from reverie.web import envelope, middleware, parameters, routes


class SummaryParameters(parameters.Parameters):
    """How many days are summed up."""

    days: Annotated[
        int, pydantic.Field(ge=1, le=366, description="how many days, today included")
    ] = 7


async def _summary(reverie: app.App, request: requests.Request) -> responses.Response:
    caller = middleware.caller_of(request)
    query = parameters.read(request, SummaryParameters)
    async with reverie.database.transaction(caller) as tx:
        summary = await routing_log.summary(tx, caller, query.days)
    return envelope.answer({**asdict(summary), "sentence": summary.sentence})


_COUNTS = ("days", "processed", "plain", "pseudonymised", "local", "blocked")
ROUTES = (
    routes.Route(
        operation="privacy.summary",
        method="GET",
        path="/privacy/summary",
        handler=_summary,
        summary="How many calls of models there were, and what became of them",
        description="The log has no content, so neither has this.",
        query=SummaryParameters,
        response={
            "type": "object",
            "properties": {
                **{name: {"type": "integer"} for name in _COUNTS},
                "sentence": {"type": "string"},
            },
        },
    ),
)
