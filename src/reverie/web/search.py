"""REST routes of search: the questions that reverie.search answers, as parameters."""

from datetime import date
from typing import Annotated

import pydantic
from starlette import requests, responses

from reverie import app
from reverie.records import record_types
from reverie.search import advanced, results, search
from reverie.search import query as queries
from reverie.web import envelope, middleware, parameters, routes


class SearchParameters(parameters.Parameters):
    """`from` and `to` are days of the record's own date, both included."""

    q: Annotated[
        str,
        pydantic.Field(
            description="what to look for",
            # `queries` refuses what is longer, in words of its own
            json_schema_extra={"minLength": 1, "maxLength": queries.LONGEST},
        ),
    ]
    domain: Annotated[
        list[str],
        pydantic.Field(
            description="only these domains; may be given several times",
            default_factory=list[str],
        ),
    ]
    limit: Annotated[int, pydantic.Field(ge=1, le=50)] = 10
    include_cold: Annotated[
        bool, pydantic.Field(description="also what was touched once and went cold")
    ] = False
    tier: Annotated[
        record_types.Tier | None,
        pydantic.Field(description="how warm: warm includes hot"),
    ] = None
    tag: str | None = None
    person: Annotated[
        str | None,
        pydantic.Field(description="who took part: a part of a name or an address"),
    ] = None
    category: Annotated[
        str | None, pydantic.Field(description="a folder, a board, a calendar")
    ] = None
    file: Annotated[
        str | None,
        pydantic.Field(description="a part of the path of the file it came from"),
    ] = None
    from_: Annotated[
        date | None, pydantic.Field(alias="from", description="first day")
    ] = None
    to: Annotated[date | None, pydantic.Field(description="last day")] = None
    words_only: Annotated[
        bool,
        pydantic.Field(description="as one types: no model is asked, and no graph"),
    ] = False


class AdvancedParameters(SearchParameters):
    """The same with a slider for each signal."""

    heat: Annotated[
        float, pydantic.Field(ge=0, le=1, description="what matters now")
    ] = 0.25
    semantic: Annotated[float, pydantic.Field(ge=0, le=1, description="meaning")] = 0.25
    lexical: Annotated[float, pydantic.Field(ge=0, le=1, description="exact words")] = (
        0.25
    )
    graph: Annotated[
        float,
        pydantic.Field(ge=0, le=1, description="links to the people and things named"),
    ] = 0.25


async def _search(reverie: app.App, request: requests.Request) -> responses.Response:
    caller = middleware.caller_of(request)
    question = _question(parameters.read(request, SearchParameters))
    settings = reverie.settings.search
    hits = await search.search(
        reverie.database, caller, reverie.embeddings, question, settings=settings
    )
    return envelope.answer(results.as_json(hits))


async def _advanced(reverie: app.App, request: requests.Request) -> responses.Response:
    caller = middleware.caller_of(request)
    query = parameters.read(request, AdvancedParameters)
    sliders = advanced.Sliders(
        heat=query.heat,
        semantic=query.semantic,
        lexical=query.lexical,
        graph=query.graph,
    )
    settings = reverie.settings.search
    hits = await search.by_sliders(
        reverie.database,
        caller,
        reverie.embeddings,
        _question(query),
        sliders,
        settings=settings,
    )
    return envelope.answer(results.as_json(hits))


def _question(parameters: SearchParameters) -> queries.Query:
    return queries.Query(
        text=parameters.q,
        domains=tuple(parameters.domain),
        limit=parameters.limit,
        include_cold=parameters.include_cold,
        tier=parameters.tier,
        tag=parameters.tag,
        person=parameters.person,
        category=parameters.category,
        file=parameters.file,
        first=parameters.from_,
        last=parameters.to,
        words_only=parameters.words_only,
    )


ROUTES = (
    routes.Route(
        operation="search",
        method="GET",
        path="/search",
        handler=_search,
        summary="Find records by words and by meaning",
        description="Each result says why it is there.",
        query=SearchParameters,
    ),
    routes.Route(
        operation="search.advanced",
        method="GET",
        path="/search/advanced",
        handler=_advanced,
        summary="Find records with one's own weights for each signal",
        description="Signals count by their ranks; what two or three confirm is boosted.",
        query=AdvancedParameters,
    ),
)
