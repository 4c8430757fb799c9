"""Query parameters, request bodies and path ids, validated; the unknown is refused."""

import json
import re
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NoReturn, TypeVar
from uuid import UUID

import pydantic
import starlette.exceptions
from starlette import requests

from reverie import errors
from reverie.records import record_types

LARGEST_BODY = 32 * 1024 * 1024
_LONGEST_NUMBER = 18  # digits; a bigint holds it
_LOST_PLUS = re.compile(r"(T.*) (\d\d:?\d\d)$")


def _restore_plus(value: object) -> object:
    """A `+` in a query that nobody escaped arrives as a space: `…T10:00:00 01:00`."""
    return _LOST_PLUS.sub(r"\1+\2", value) if isinstance(value, str) else value


Moment = Annotated[pydantic.AwareDatetime, pydantic.BeforeValidator(_restore_plus)]


class Parameters(pydantic.BaseModel):
    """The query parameters of a route; this one takes none."""

    model_config = pydantic.ConfigDict(extra="forbid")


class Shape(Parameters):
    """How records are shown."""

    format: Annotated[
        Literal["json", "compact"],
        pydantic.Field(description="compact: one line a record; lists only"),
    ] = "json"
    fields: Annotated[
        str | None,
        pydantic.Field(
            description="only these columns, separated by commas; id is always there"
        ),
    ] = None


class PageParameters(Parameters):
    """Which part of a long answer is wanted."""

    limit: Annotated[int, pydantic.Field(ge=1, le=200)] = 50
    offset: Annotated[int, pydantic.Field(ge=0, le=2**31)] = 0


class ListParameters(Shape, PageParameters):
    """What every list takes; each domain adds its own filters."""

    tier: Annotated[
        record_types.Tier | None,
        pydantic.Field(description="how warm: warm includes hot"),
    ] = None
    deleted: Annotated[
        bool, pydantic.Field(description="the deleted records instead of the live ones")
    ] = False
    since: Annotated[
        Moment | None,
        pydantic.Field(
            description="what changed at or after this time; goes with format and fields only"
        ),
    ] = None


class Body(pydantic.BaseModel):
    """What is sent to a route that is not one of records."""

    model_config = pydantic.ConfigDict(extra="forbid")


P = TypeVar("P", bound=Parameters)
B = TypeVar("B", bound=Body)


def listing(domain: record_types.Domain[Any]) -> type[ListParameters]:
    """The parameters of one domain's list."""
    own: dict[str, Any] = {
        name: (filter_.type | None, None) for name, filter_ in domain.filters.items()
    }
    return pydantic.create_model(
        f"{domain.record.__name__}List", __base__=ListParameters, **own
    )


def read(request: requests.Request, model: type[P]) -> P:
    """The query of a request, checked. Raises Invalid."""
    allowed = [field.alias or name for name, field in model.model_fields.items()]
    hint = (
        f"Parameters here: {', '.join(allowed)}."
        if allowed
        else "This address takes no parameters."
    )
    values: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name not in allowed:
            raise errors.Invalid(f"There is no parameter `{_short(name)}`.", hint=hint)
        if _is_list(model, name):
            values.setdefault(name, []).append(value)
        elif name in values:
            raise errors.Invalid(f"The parameter `{name}` is given twice.", hint=hint)
        else:
            values[name] = value
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as refused:
        problems = [
            {"field": ".".join(map(str, problem["loc"])), "problem": problem["msg"]}
            for problem in refused.errors()
        ]
        first = problems[0]
        raise errors.Invalid(
            f"The parameter `{first['field']}` is wrong: {first['problem']}.",
            hint=hint,
            details={"problems": problems},
        ) from None


def columns(
    domain: record_types.Domain[Any], fields: str | None
) -> tuple[str, ...] | None:
    """The columns asked for with `fields`, id included, or None for all of them. Raises
    Invalid.
    """
    if fields is None:
        return None
    available = domain.shown
    requested = [name.strip() for name in fields.split(",")]
    unknown = [name for name in requested if name not in available]
    if unknown:
        raise errors.Invalid(
            f"There is no field `{_short(unknown[0])}` in {domain.plural}.",
            hint=f"Fields: {', '.join(available)}.",
        )
    return tuple(name for name in available if name in requested or name == "id")


def record_id(request: requests.Request) -> UUID:
    """The id in the path. A malformed one becomes the id that no record has, so all are
    answered alike.
    """
    text = str(request.path_params["record_id"])
    try:
        parsed = UUID(text)
    except ValueError:
        return UUID(int=0)
    return parsed if str(parsed) == text.lower() else UUID(int=0)


def version(request: requests.Request) -> int:
    """The number of a version in the path; what is none becomes that of no version."""
    text = str(request.path_params["version"])
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number else 0


async def json_object(request: requests.Request) -> dict[str, Any]:
    """The JSON object in the body; duplicate names are refused, since two readers could
    pick different ones.

    Raises Invalid.
    """
    whole = bytearray()
    async for chunk in request.stream():
        whole += chunk
        if len(whole) > LARGEST_BODY:
            raise starlette.exceptions.HTTPException(413)
    try:
        content = json.loads(
            whole, object_pairs_hook=_unique_members, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as broken:
        raise errors.Invalid(
            f"The body is not valid JSON: {_short(str(broken))}.",
            hint="Send one JSON object in UTF-8.",
        ) from None
    if not isinstance(content, dict):
        raise errors.Invalid(
            "The body is not a JSON object.", hint='Such as {"title": "…"}.'
        )
    return typing.cast(dict[str, Any], content)


async def body(request: requests.Request, model: type[B]) -> B:
    """The body of a request, checked. What was sent is never repeated: it may be a
    password. Raises Invalid.
    """
    values = await json_object(request)
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as refused:
        problems = [
            {
                "field": ".".join(map(str, problem["loc"]))[:60],
                "problem": problem["msg"],
            }
            for problem in refused.errors()
        ]
        first = problems[0]
        raise errors.Invalid(
            f"The field `{first['field']}` is wrong: {first['problem']}.",
            hint=f"Fields here: {', '.join(field.alias or name for name, field in model.model_fields.items())}.",
            details={"problems": problems},
        ) from None


def described(model: type[Parameters]) -> list[dict[str, Any]]:
    """The parameters of a model as OpenAPI describes them."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    described: list[dict[str, Any]] = []
    for name, field in schema.get("properties", {}).items():
        parameter: dict[str, Any] = {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
        }
        if "description" in field:
            parameter["description"] = field.pop("description")
        described.append(parameter | {"schema": field})
    return described


def _is_list(model: type[Parameters], name: str) -> bool:
    field = next(
        candidate
        for key, candidate in model.model_fields.items()
        if name in (key, candidate.alias)
    )
    return typing.get_origin(field.annotation) is list


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _unique_members(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {_short(twice)} is there twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
