"""HTTP responses: JSON bodies, and errors in one envelope with their status codes."""

from collections.abc import Mapping
from typing import Any

import fastapi.encoders
import fastapi.exceptions
import starlette.exceptions
from starlette import requests, responses, routing

from reverie import errors

_PLAIN: Mapping[int, tuple[str, str, str]] = {
    404: (
        "not_found",
        "There is nothing at this address.",
        "GET /api/v1/openapi.json lists what there is.",
    ),
    405: (
        "method_not_allowed",
        "This address does not take {method}.",
        "It takes {allow}.",
    ),
    413: ("too_large", "What was sent is too large.", "Send at most 32 MB at a time."),
}


def answer(
    content: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> responses.Response:
    """A JSON answer."""
    return responses.JSONResponse(content, status_code=status, headers=headers)


def error(
    code: str, message: str, hint: str = "", details: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The envelope."""
    plain = fastapi.encoders.jsonable_encoder(details or {})
    return {"error": {"code": code, "message": message, "details": plain, "hint": hint}}


def refusal(failure: errors.ReverieError) -> responses.Response:
    """An error of ours, in the envelope."""
    headers = {"WWW-Authenticate": "Bearer"} if failure.status == 401 else None
    content = error(failure.code, failure.message, failure.hint, failure.details)
    return answer(content, status=failure.status, headers=headers)


def unexpected() -> responses.Response:
    """What a fault of ours looks like from outside: nothing of the inside."""
    content = error(
        "error",
        "Something went wrong inside Reverie.",
        "The log of the server says what.",
    )
    return answer(content, status=500)


async def of_framework(
    request: requests.Request, failure: Exception
) -> responses.Response:
    """What the framework itself refuses: unknown addresses, wrong methods, malformed
    requests.
    """
    if isinstance(failure, fastapi.exceptions.RequestValidationError):
        problems = [
            {"field": ".".join(map(str, problem["loc"])), "problem": problem["msg"]}
            for problem in failure.errors()
        ]
        return answer(
            error("invalid", "This request is not valid.", "", {"problems": problems}),
            status=422,
        )
    if not isinstance(failure, starlette.exceptions.HTTPException):
        raise failure
    code, message, hint = _PLAIN.get(
        failure.status_code, ("error", str(failure.detail), "")
    )
    headers = dict(failure.headers or {})
    if failure.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
        hint = hint.format(allow=headers["Allow"])
    message = message.format(method=request.method[:20])
    return answer(
        error(code, message, hint), status=failure.status_code, headers=headers
    )


def _methods(request: requests.Request) -> list[str]:
    """All methods of an address: the framework tells those of the first route alone."""
    methods: set[str] = set()
    for route in request.app.routes:
        if (
            isinstance(route, routing.Route)
            and route.matches(request.scope)[0] != routing.Match.NONE
        ):
            methods |= route.methods or set()
    return sorted(methods)
