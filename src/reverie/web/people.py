"""The people, tokens and agents of a household over HTTP."""

import dataclasses
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic
from starlette import requests, responses

from reverie import app
from reverie.access import agents, callers, logins, passwords, tokens, users
from reverie.web import envelope, forms, middleware, parameters, routes

Scopes = Annotated[
    list[str],
    pydantic.Field(max_length=200, description="such as notes:read, events:*, *:read"),
]


class _User(parameters.Body):
    name: str
    timezone: str = "UTC"
    password: Annotated[
        str | None, pydantic.Field(description="without it, no login")
    ] = None


class _Name(parameters.Body):
    name: str


class _Token(parameters.Body):
    name: str
    kind: Literal["machine", "agent"]
    scopes: Annotated[Scopes, pydantic.Field(default_factory=list[str])]
    days: Annotated[
        int | None, pydantic.Field(description="null: until it is revoked")
    ] = tokens.DAYS


class _Agent(parameters.Body):
    scopes: Scopes
    about: str | None = None


async def _users(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    return _items(
        [
            _user(one)
            for one in await users.listed(
                reverie.database, middleware.caller_of(request)
            )
        ]
    )


async def _add_user(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, _User)
    if asked.password is not None:
        passwords.checked(asked.password)  # before anybody is made
    made = await users.add(
        reverie.database,
        middleware.caller_of(request),
        name=asked.name,
        timezone=asked.timezone,
    )
    if asked.password is not None:
        await logins.give_password(reverie.database, made.user_id, asked.password)
    return envelope.answer(_user(made), status=201)


async def _rename(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, _Name)
    caller = middleware.caller_of(request)
    return envelope.answer(
        _user(
            await users.rename(
                reverie.database, caller, parameters.record_id(request), name=asked.name
            )
        )
    )


async def _tokens(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    return _items(
        [_token(caller, one) for one in await tokens.listed(reverie.database, caller)]
    )


async def _mint(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, _Token)
    caller = middleware.caller_of(request)
    token, row = await tokens.grant(
        reverie.database,
        caller,
        name=asked.name,
        kind=asked.kind,
        scopes=asked.scopes,
        days=asked.days,
    )
    return envelope.answer({"token": token, **_token(caller, row)}, status=201)


async def _revoke(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    count = await tokens.revoke(
        reverie.database, middleware.caller_of(request), parameters.record_id(request)
    )
    return envelope.answer({"revoked": count})


async def _agents(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    return _items(
        [
            dataclasses.asdict(one)
            for one in await agents.listed(
                reverie.database, middleware.caller_of(request)
            )
        ]
    )


async def _change_agent(
    reverie: app.App, request: requests.Request
) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, _Agent)
    name = str(request.path_params["name"])
    made = await agents.change(
        reverie.database,
        middleware.caller_of(request),
        name=name,
        scopes=asked.scopes,
        about=asked.about,
    )
    return envelope.answer(dataclasses.asdict(made))


def _items(found: list[dict[str, Any]]) -> responses.Response:
    return envelope.answer({"items": found, "meta": {"total": len(found)}})


def _user(one: users.User) -> dict[str, Any]:
    return {
        "id": str(one.user_id),
        "name": one.name,
        "role": one.role,
        "timezone": one.timezone,
        "created_at": forms.moment(one.created_at),
    }


def _token(caller: callers.Caller, one: tokens.AccessToken) -> dict[str, Any]:
    moments = {
        name: getattr(one, name) for name in ("created_at", "expires_at", "revoked_at")
    }
    return {
        "id": str(one.id),
        "name": one.name,
        "kind": one.kind,
        "scopes": one.scopes,
        **{
            name: forms.moment(value) if value else None
            for name, value in moments.items()
        },
        "minted_by": _id(one.minted_by),
        "live": one.live,
        "yours": one.id == caller.proof,
    }


def _id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


ROUTES = (
    routes.Route(
        operation="users.list",
        method="GET",
        path="/users",
        handler=_users,
        summary="The people: the owner sees all, a member oneself",
    ),
    routes.Route(
        operation="users.create",
        method="POST",
        path="/users",
        handler=_add_user,
        summary="Add a member of the household",
        body=_User,
        status=201,
    ),
    routes.Route(
        operation="users.rename",
        method="PATCH",
        path="/users/{record_id}",
        handler=_rename,
        summary="Rename a person",
        body=_Name,
    ),
    routes.Route(
        operation="tokens.list",
        method="GET",
        path="/tokens",
        handler=_tokens,
        summary="The tokens, without their secrets",
    ),
    routes.Route(
        operation="tokens.mint",
        method="POST",
        path="/tokens",
        handler=_mint,
        summary="Mint a token; it is shown once",
        body=_Token,
        status=201,
    ),
    routes.Route(
        operation="tokens.revoke",
        method="DELETE",
        path="/tokens/{record_id}",
        handler=_revoke,
        summary="Revoke a token and all that it minted",
    ),
    routes.Route(
        operation="agents.list",
        method="GET",
        path="/agents",
        handler=_agents,
        summary="The agents and what each may do",
    ),
    routes.Route(
        operation="agents.change",
        method="PUT",
        path="/agents/{name}",
        handler=_change_agent,
        summary="Say what an agent may do",
        body=_Agent,
    ),
)
