"""REST routes of the household: people, their access tokens and their agents."""

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
    return _list_of(
        [
            _user_json(user)
            for user in await users.listed(
                reverie.database, middleware.caller_of(request)
            )
        ]
    )


async def _add_user(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, _User)
    if body.password is not None:
        passwords.checked(body.password)  # before anybody is made
    user = await users.add(
        reverie.database,
        middleware.caller_of(request),
        name=body.name,
        timezone=body.timezone,
    )
    if body.password is not None:
        await logins.give_password(reverie.database, user.user_id, body.password)
    return envelope.answer(_user_json(user), status=201)


async def _rename(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, _Name)
    caller = middleware.caller_of(request)
    return envelope.answer(
        _user_json(
            await users.rename(
                reverie.database, caller, parameters.record_id(request), name=body.name
            )
        )
    )


async def _tokens(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    return _list_of(
        [
            _token_json(caller, row)
            for row in await tokens.listed(reverie.database, caller)
        ]
    )


async def _mint(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, _Token)
    caller = middleware.caller_of(request)
    token, row = await tokens.grant(
        reverie.database,
        caller,
        name=body.name,
        kind=body.kind,
        scopes=body.scopes,
        days=body.days,
    )
    return envelope.answer({"token": token, **_token_json(caller, row)}, status=201)


async def _revoke(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    count = await tokens.revoke(
        reverie.database, middleware.caller_of(request), parameters.record_id(request)
    )
    return envelope.answer({"revoked": count})


async def _agents(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    return _list_of(
        [
            dataclasses.asdict(agent)
            for agent in await agents.listed(
                reverie.database, middleware.caller_of(request)
            )
        ]
    )


async def _change_agent(
    reverie: app.App, request: requests.Request
) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, _Agent)
    name = str(request.path_params["name"])
    agent = await agents.change(
        reverie.database,
        middleware.caller_of(request),
        name=name,
        scopes=body.scopes,
        about=body.about,
    )
    return envelope.answer(dataclasses.asdict(agent))


def _list_of(items: list[dict[str, Any]]) -> responses.Response:
    return envelope.answer({"items": items, "meta": {"total": len(items)}})


def _user_json(user: users.User) -> dict[str, Any]:
    return {
        "id": str(user.user_id),
        "name": user.name,
        "role": user.role,
        "timezone": user.timezone,
        "created_at": forms.moment(user.created_at),
    }


def _token_json(caller: callers.Caller, row: tokens.AccessToken) -> dict[str, Any]:
    moments = {
        name: getattr(row, name) for name in ("created_at", "expires_at", "revoked_at")
    }
    return {
        "id": str(row.id),
        "name": row.name,
        "kind": row.kind,
        "scopes": row.scopes,
        **{
            name: forms.moment(value) if value else None
            for name, value in moments.items()
        },
        "minted_by": _id(row.minted_by),
        "live": row.live,
        "yours": row.id == caller.proof,
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
