"""OpenAPI description of the REST routes, from the same models that check them."""

import re
from typing import Any

import fastapi
import fastapi.openapi.utils
import pydantic

import reverie
from reverie import db
from reverie.records import catalogue, record_types
from reverie.web import middleware, parameters

_REF = "#/components/schemas/{model}"
_ID = {
    "name": "record_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "format": "uuid"},
}
_VERSION_ID = {
    "name": "version",
    "in": "path",
    "required": True,
    "schema": {"type": "integer"},
}
_VERSION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "version": {"type": "integer"},
        "action": {"type": "string"},
        "at": {"type": "string", "format": "date-time"},
        "by": {"type": "string", "description": "who made the change"},
        "source": {"type": "string"},
        "summary": {"type": "string"},
        "columns": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what the change changed",
        },
        "replaced": {
            "type": "object",
            "description": "the values before it; a long one as its beginning",
        },
        "kept": {"type": "boolean", "description": "whether it can be restored"},
    },
}
# The verbs that name a version of the record in their path.
_OF_A_VERSION = ("version", "revert")
# The endings of the models that a verb takes as its body.
_BODY_MODELS = {"create": "New", "update": "Change"}
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


def operation(domain: record_types.Domain[Any], verb: str) -> dict[str, Any]:
    """What OpenAPI says of one verb of one domain."""
    name = domain.record.__name__
    record = {"$ref": _REF.format(model=name)}
    if verb == "list":
        return described(parameters.listing(domain), _list_of(record))
    if verb == "history":
        schema = described(parameters.PageParameters, _list_of(_VERSION))
        schema["parameters"] = [_ID, *schema["parameters"]]
        return schema
    model = parameters.Shape if verb == "get" else parameters.Parameters
    schema = described(model, record, 201 if verb == "create" else 200)
    if verb != "create":
        schema["parameters"] = [_ID, *schema["parameters"]]
    if verb in _OF_A_VERSION:
        schema["parameters"].insert(1, _VERSION_ID)
    if verb == "original":
        schema["responses"]["200"] = {
            "description": "Done",
            "content": {"application/octet-stream": {}},
        }
    if verb in _BODY_MODELS:
        body = _REF.format(model=f"{name}{_BODY_MODELS[verb]}")
        schema["requestBody"] = _request_body({"$ref": body})
    return schema


def described(
    model: type[parameters.Parameters],
    response: dict[str, Any],
    status: int = 200,
    *,
    body: type[parameters.Body] | None = None,
    path: str = "",
) -> dict[str, Any]:
    """What OpenAPI says of a route that takes these parameters (those of its path too)
    and this body, and answers with this JSON schema.
    """
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    count = {
        "description": "about how many tokens this answer is",
        "schema": {"type": "integer"},
    }
    headers = {"X-Token-Count": count}
    described: dict[str, Any] = {
        "parameters": [*in_path, *parameters.described(model)],
        "responses": {
            str(status): {
                "description": "Done",
                "headers": headers,
                "content": _json(response),
            },
            "default": {
                "description": "Not done, and why",
                "headers": headers,
                "content": _json({"$ref": _REF.format(model="Error")}),
            },
        },
    }
    if body is not None:
        described["requestBody"] = _request_body(body.model_json_schema())
    return described


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _request_body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": _json(schema)}


def document(api: fastapi.FastAPI) -> dict[str, Any]:
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
    """The components: of each domain what is sent and what is shown, and the error."""
    inputs: list[tuple[str, Any, pydantic.TypeAdapter[Any]]] = []
    for domain in catalogue.DOMAINS.values():
        new = pydantic.TypeAdapter(domain.new)
        change = pydantic.TypeAdapter(domain.change)
        inputs.append((f"{domain.name}.new", "validation", new))
        inputs.append((f"{domain.name}.change", "validation", change))
        inputs.append((domain.name, "serialization", domain.adapter))
    _, definitions = pydantic.TypeAdapter.json_schemas(inputs, ref_template=_REF)
    schemas: dict[str, Any] = definitions.get("$defs", {})
    for domain in catalogue.DOMAINS.values():
        record = schemas[domain.record.__name__]
        by_column = {
            db.column(name): schema for name, schema in record["properties"].items()
        }
        shown = {name: by_column[name] for name in domain.shown}
        record["properties"] = shown
        record["required"] = list(shown)
    return schemas | {"Error": _ERROR}
