"""Search over HTTP: the questions that reverie.search answers, as parameters."""

import functools
from datetime import date
from typing import Annotated

import fastapi
import pydantic
from starlette import requests, responses

from reverie import app
from reverie.records import base
from reverie.search import query as queries
from reverie.search import results, search
from reverie.web import edge, envelope, openapi, parameters


class _Asked(parameters.Parameters):
    """`from` and `to` are days of the record's own date, both included."""

    q: Annotated[str, pydantic.Field(min_length=1, max_length=queries.LONGEST, description="what to look for")]
    domain: Annotated[
        list[str],
        pydantic.Field(description="only these domains; may be given several times", default_factory=list[str]),
    ]
    limit: Annotated[int, pydantic.Field(ge=1, le=50)] = 10
    include_cold: Annotated[bool, pydantic.Field(description="also what was touched once and went cold")] = False
    tier: Annotated[base.Tier | None, pydantic.Field(description="how warm: warm includes hot")] = None
    tag: str | None = None
    from_: Annotated[date | None, pydantic.Field(alias="from", description="first day")] = None
    to: Annotated[date | None, pydantic.Field(description="last day")] = None


def add(api: fastapi.FastAPI, reverie: app.App) -> None:
    """GET /search."""
    api.add_api_route(
        f"{edge.PREFIX}/search",
        functools.partial(_search, reverie),
        methods=["GET"],
        name="search",
        operation_id="search",
        tags=["search"],
        summary="Find records by words and by meaning",
        description="Needs the scope search:read. Each result says why it is there.",
        openapi_extra=openapi.described(_Asked, {"type": "object"}),
    )


async def _search(reverie: app.App, request: requests.Request) -> responses.Response:
    caller = edge.caller_of(request)
    caller.need("search", "read")
    asked = parameters.read(request, _Asked)
    question = queries.Query(
        text=asked.q,
        domains=tuple(asked.domain),
        limit=asked.limit,
        include_cold=asked.include_cold,
        tier=asked.tier,
        tag=asked.tag,
        first=asked.from_,
        last=asked.to,
    )
    found = await search.search(reverie.database, caller, reverie.embeddings, question)
    return envelope.answer(results.as_json(found))
