"""REST routes: a route's description, and how it is guarded by its operation.

No route is made without its row in the table of operations (access/operations.py).
"""

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import fastapi
from starlette import requests, responses, routing

from reverie import app, errors
from reverie.access import operations
from reverie.web import middleware, openapi, parameters

Handler = Callable[[app.App, requests.Request], Awaitable[responses.Response]]
BoundHandler = Callable[[requests.Request], Awaitable[responses.Response]]


def _any_object() -> dict[str, Any]:
    return {"type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One REST route: what it is called, who answers, and what OpenAPI says of it.

    `operation` is its row in the table of operations and `path` lies below the prefix
    of the API. `query` and `body` are the models of what is sent; `response` is the
    JSON schema of what comes back. `schema`, where it is given, is the whole
    description in OpenAPI instead of one made of these. Without a `tag` the first part
    of the operation's name is taken.
    """

    operation: str
    method: str
    path: str
    handler: Handler
    summary: str = ""
    description: str = ""
    query: type[parameters.Parameters] = parameters.Parameters
    body: type[parameters.Body] | None = None
    response: Mapping[str, Any] = field(default_factory=_any_object)
    status: int = 200
    tag: str = ""
    operation_id: str = ""
    schema: Mapping[str, Any] | None = None

    def openapi_extra(self) -> dict[str, Any]:
        """What OpenAPI says of this route beside its names."""
        if self.schema is not None:
            return dict(self.schema)
        return openapi.described(
            self.query, dict(self.response), self.status, body=self.body, path=self.path
        )


def add_all(api: fastapi.FastAPI, reverie: app.App, table: Iterable[Route]) -> None:
    """Offer every route of a table. Raises Misconfigured as `add` does."""
    for route in table:
        add(
            api,
            route.operation,
            route.method,
            route.path,
            functools.partial(route.handler, reverie),
            status=route.status,
            operation_id=route.operation_id or route.operation.replace(".", "_"),
            tags=[route.tag or route.operation.partition(".")[0]],
            summary=route.summary,
            description=route.description,
            openapi_extra=route.openapi_extra(),
        )


def add(
    api: fastapi.FastAPI,
    name: str,
    method: str,
    path: str,
    handler: BoundHandler,
    *,
    status: int = 200,
    **description: Any,
) -> None:
    """Offer an operation at an address. Whoever may not ask for it never reaches the
    handler.

    `description` goes into the OpenAPI description. Raises Misconfigured when the table
    has no such operation.
    """
    operation = operations.named(name)
    description.setdefault("operation_id", name.replace(".", "_"))
    more = description.get("description", "")
    description["description"] = f"{operation.requirement} {more}".strip()
    if operation.authentication == "open":
        extra = description.get("openapi_extra", {})
        description["openapi_extra"] = {**extra, "security": []}
    api.add_api_route(
        f"{middleware.PREFIX}{path}",
        functools.partial(_guarded, operation, handler),
        methods=[method],
        status_code=status,
        name=name,
        **description,
    )


def check(api: fastapi.FastAPI) -> None:
    """Raise Misconfigured when something is offered around the table, or opened here
    and closed by the middleware.
    """
    opened: set[tuple[str, str]] = set()
    for route in api.routes:
        operation = operation_of(route)
        if operation is None or not isinstance(route, routing.Route):
            raise errors.Misconfigured(
                f"{getattr(route, 'path', route)} has no operation.",
                hint="Use routes.add.",
            )
        if operation.authentication == "open":
            opened |= {(method, route.path) for method in route.methods or ()}
    if frozenset(opened) != middleware.OPEN:
        raise errors.Misconfigured(
            "What is open by the table is not what the edge lets in."
        )


def operation_of(route: routing.BaseRoute) -> operations.Operation | None:
    """The operation that guards a route."""
    endpoint = getattr(route, "endpoint", None)
    if not isinstance(endpoint, functools.partial) or endpoint.func is not _guarded:
        return None
    operation = endpoint.args[0]
    registered = operations.OPERATIONS.get(operation.name)
    return operation if registered is operation else None


async def _guarded(
    operation: operations.Operation, handler: BoundHandler, request: requests.Request
) -> responses.Response:
    if operation.authentication != "open":
        operations.need(middleware.caller_of(request), operation)
    return await handler(request)
