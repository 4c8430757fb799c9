"""What left this machine, in numbers: the summary of the routing log."""

import functools
from dataclasses import asdict
from typing import Annotated

import fastapi
import pydantic
from starlette import requests, responses

from reverie import app
from reverie.privacy import log as routing_log
from reverie.web import envelope, middleware, openapi, parameters, routes


class _Asked(parameters.Parameters):
    days: Annotated[
        int, pydantic.Field(ge=1, le=366, description="how many days, today included")
    ] = 7


def add(api: fastapi.FastAPI, reverie: app.App) -> None:
    """GET /privacy/summary."""
    names = ("days", "processed", "plain", "pseudonymised", "local", "blocked")
    counts = {name: {"type": "integer"} for name in names}
    routes.add(
        api,
        "privacy.summary",
        "GET",
        "/privacy/summary",
        functools.partial(_summary, reverie),
        operation_id="privacy_summary",
        tags=["privacy"],
        summary="How many calls of models there were, and what became of them",
        description="The log has no content, so neither has this.",
        openapi_extra=openapi.described(
            _Asked,
            {
                "type": "object",
                "properties": {**counts, "sentence": {"type": "string"}},
            },
        ),
    )


async def _summary(reverie: app.App, request: requests.Request) -> responses.Response:
    caller = middleware.caller_of(request)
    asked = parameters.read(request, _Asked)
    async with reverie.database.transaction(caller) as tx:
        found = await routing_log.summary(tx, caller, asked.days)
    return envelope.answer({**asdict(found), "sentence": found.sentence})
