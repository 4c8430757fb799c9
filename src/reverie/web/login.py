"""REST routes of the login session: a session cookie for a name and a password."""

from typing import Annotated, Any

import pydantic
from starlette import requests, responses

from reverie import app
from reverie.access import callers, logins
from reverie.web import envelope, forms, middleware, parameters, routes

_PATH = "/session"


class _Login(parameters.Body):
    name: Annotated[str, pydantic.Field(max_length=200)]
    password: Annotated[str, pydantic.Field(max_length=1000)]


class _Password(parameters.Body):
    current: Annotated[str, pydantic.Field(max_length=1000)]
    password: Annotated[str, pydantic.Field(max_length=1000)]


async def _start(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, _Login)
    login = await logins.start(reverie.database, name=body.name, password=body.password)
    answer = envelope.answer(_caller_json(login.caller, login.secret))
    answer.set_cookie(
        middleware.COOKIE,
        login.secret,
        expires=login.expires_at,
        path=middleware.PREFIX,
        httponly=True,
        samesite="strict",
        secure=middleware.is_encrypted(request.scope),
    )
    return answer


async def _show(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    return envelope.answer(
        _caller_json(
            middleware.caller_of(request), middleware.session_cookie(request.scope)
        )
    )


async def _end(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    await logins.end(reverie.database, middleware.caller_of(request))
    answer = envelope.answer({"ended": True})
    answer.delete_cookie(
        middleware.COOKIE, path=middleware.PREFIX, httponly=True, samesite="strict"
    )
    return answer


async def _password(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, _Password)
    caller = middleware.caller_of(request)
    await logins.change_password(
        reverie.database, caller, current=body.current, password=body.password
    )
    return envelope.answer({"changed": True})


def _caller_json(caller: callers.Caller, secret: str) -> dict[str, Any]:
    """The caller as JSON for itself; `csrf` goes back in the header of whatever
    changes something.
    """
    person: dict[str, Any] = {
        "user_id": str(caller.user_id),
        "kind": caller.kind,
        "name": caller.name,
        "role": caller.role,
        "scopes": sorted(caller.scopes),
        "timezone": caller.timezone,
        "expires_at": forms.moment(caller.ends) if caller.ends else None,
    }
    if caller.login:
        person["csrf"] = logins.csrf_token(secret)
    return person


ROUTES = (
    routes.Route(
        operation="session.start",
        method="POST",
        path=_PATH,
        handler=_start,
        summary="Log in",
        body=_Login,
    ),
    routes.Route(
        operation="session.show",
        method="GET",
        path=_PATH,
        handler=_show,
        summary="Who one is",
    ),
    routes.Route(
        operation="session.end",
        method="DELETE",
        path=_PATH,
        handler=_end,
        summary="Log out",
    ),
    routes.Route(
        operation="session.password",
        method="PUT",
        path=f"{_PATH}/password",
        handler=_password,
        summary="Change one's password",
        body=_Password,
    ),
)
