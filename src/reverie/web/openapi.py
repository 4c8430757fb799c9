"""The description of the API: what each route takes and gives, from the same models
that check it.
"""

import re
from typing import Any

import fastapi
import fastapi.openapi.utils
import pydantic

import reverie
from reverie import db
from reverie.records import base, catalogue
from reverie.web import middleware, parameters

_REF = "#/components/schemas/{model}"
_ID = {
    "name": "record_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "format": "uuid"},
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details", "hint"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "details": {"type": "object"},
                "hint": {"type": "string"},
            },
        }
    },
}


def operation(domain: base.Domain[Any], verb: str) -> dict[str, Any]:
    """What OpenAPI says of one verb of one domain."""
    name = domain.record.__name__
    record = {"$ref": _REF.format(model=name)}
    if verb == "list":
        return described(parameters.listing(domain), _list_of(record))
    found = described(
        parameters.Shape if verb == "get" else parameters.Parameters,
        record,
        201 if verb == "create" else 200,
    )
    if verb != "create":
        found["parameters"] = [_ID, *found["parameters"]]
    if verb == "original":
        found["responses"]["200"] = {
            "description": "Done",
            "content": {"application/octet-stream": {}},
        }
    if verb in ("create", "update"):
        sent = {
            "$ref": _REF.format(
                model=f"{name}{'New' if verb == 'create' else 'Change'}"
            )
        }
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": sent}},
        }
    return found


def described(
    model: type[parameters.Parameters],
    given: dict[str, Any],
    status: int = 200,
    *,
    sent: type[parameters.Body] | None = None,
    path: str = "",
) -> dict[str, Any]:
    """What OpenAPI says of a route that takes these parameters (those of its path too),
    this body, and gives this.
    """
    body = (
        {
            "content": {"application/json": {"schema": sent.model_json_schema()}},
            "required": True,
        }
        if sent
        else None
    )
    own = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    count = {
        "description": "about how many tokens this answer is",
        "schema": {"type": "integer"},
    }
    headers = {"X-Token-Count": count}
    error = {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}}
    return ({"requestBody": body} if body else {}) | {
        "parameters": [*own, *parameters.described(model)],
        "responses": {
            str(status): {
                "description": "Done",
                "headers": headers,
                "content": {"application/json": {"schema": given}},
            },
            "default": {
                "description": "Not done, and why",
                "headers": headers,
                "content": error,
            },
        },
    }


def whole(api: fastapi.FastAPI) -> dict[str, Any]:
    """The description of all routes."""
    schema = fastapi.openapi.utils.get_openapi(
        title="Reverie",
        version=reverie.__version__,
        summary="A local-first personal memory.",
        routes=api.routes,
    )
    schema["components"] = {
        "schemas": _schemas(),
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"},
            "login": {"type": "apiKey", "in": "cookie", "name": middleware.COOKIE},
        },
    }
    schema["security"] = [{"token": []}, {"login": []}]
    return schema


def _list_of(record: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: {"type": "integer"} for name in ("total", "limit", "offset")}
    meta = {
        "type": "object",
        "properties": {**numbers, "has_more": {"type": "boolean"}},
    }
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": record}, "meta": meta},
    }


def _schemas() -> dict[str, Any]:
    asked: list[tuple[str, Any, pydantic.TypeAdapter[Any]]] = []
    for domain in catalogue.DOMAINS.values():
        asked.append(
            (f"{domain.name}.new", "validation", pydantic.TypeAdapter(domain.new))
        )
        asked.append(
            (f"{domain.name}.change", "validation", pydantic.TypeAdapter(domain.change))
        )
        asked.append((domain.name, "serialization", domain.adapter))
    _, definitions = pydantic.TypeAdapter.json_schemas(asked, ref_template=_REF)
    found: dict[str, Any] = definitions.get("$defs", {})
    for domain in catalogue.DOMAINS.values():
        record = found[domain.record.__name__]
        by_column = {db.column(name): one for name, one in record["properties"].items()}
        shown = {name: by_column[name] for name in domain.shown}
        record["properties"] = shown
        record["required"] = list(shown)
    return found | {"Error": _ERROR}
