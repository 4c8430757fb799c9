"""How a route is made: from its row in the table of operations, and never without one."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import fastapi
from starlette import requests, responses, routing

from reverie import errors
from reverie.access import operations
from reverie.web import middleware

Handler = Callable[[requests.Request], Awaitable[responses.Response]]


def add(
    api: fastapi.FastAPI,
    name: str,
    method: str,
    path: str,
    handler: Handler,
    *,
    status: int = 200,
    **told: Any,
) -> None:
    """Offer an operation at an address. Whoever may not ask for it never reaches the
    handler.

    `told` goes into the description of the API. Raises Misconfigured when the table has
    no such operation.
    """
    operation = operations.named(name)
    told.setdefault("operation_id", name.replace(".", "_"))
    told["description"] = f"{operation.told} {told.get('description', '')}".strip()
    if operation.door == "open":
        told["openapi_extra"] = {**told.get("openapi_extra", {}), "security": []}
    api.add_api_route(
        f"{middleware.PREFIX}{path}",
        functools.partial(_guarded, operation, handler),
        methods=[method],
        status_code=status,
        name=name,
        **told,
    )


def check(api: fastapi.FastAPI) -> None:
    """Raise Misconfigured when something is offered around the table, or opened here
    and closed at the edge.
    """
    opened: set[tuple[str, str]] = set()
    for route in api.routes:
        operation = operation_of(route)
        if operation is None or not isinstance(route, routing.Route):
            raise errors.Misconfigured(
                f"{getattr(route, 'path', route)} has no operation.",
                hint="Use routes.add.",
            )
        if operation.door == "open":
            opened |= {(method, route.path) for method in route.methods or ()}
    if frozenset(opened) != middleware.OPEN:
        raise errors.Misconfigured(
            "What is open by the table is not what the edge lets in."
        )


def operation_of(route: routing.BaseRoute) -> operations.Operation | None:
    """The row that guards a route."""
    endpoint = getattr(route, "endpoint", None)
    if isinstance(endpoint, functools.partial) and endpoint.func is _guarded:
        found = endpoint.args[0]
        return found if operations.OPERATIONS.get(found.name) is found else None
    return None


async def _guarded(
    operation: operations.Operation, handler: Handler, request: requests.Request
) -> responses.Response:
    if operation.door != "open":
        operations.need(middleware.caller_of(request), operation)
    return await handler(request)
