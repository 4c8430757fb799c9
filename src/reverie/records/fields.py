"""Validation of what may be sent of a record: pydantic models of its dataclass."""

import dataclasses
import json
import math
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pydantic

from reverie import db, errors

_DEEPEST = 100


def checked(
    name: str,
    model: type[pydantic.BaseModel],
    values: Mapping[str, Any],
    *,
    partial: bool,
) -> dict[str, Any]:
    """The given values by column; with `partial`, only those that were given.

    Raises Invalid naming the first wrong field of the record kind `name`, with all of
    them in the details.
    """
    try:
        sent = model.model_validate(dict(values))
    except pydantic.ValidationError as refused:
        problems = [
            {"field": _path(e["loc"]), "problem": e["msg"]} for e in refused.errors()
        ]
        first = problems[0]
        raise errors.Invalid(
            f"This {name.replace('_', ' ')} cannot be kept: {first['field'] or 'it'}: {first['problem']}.",
            hint=f"Fields: {', '.join(field.alias or key for key, field in model.model_fields.items())}.",
            details={"problems": problems},
        ) from None
    names = sent.model_fields_set if partial else type(sent).model_fields.keys()
    return {db.column(name): getattr(sent, name) for name in names}


def model(
    record: type, *, own: Collection[str], partial: bool
) -> type[pydantic.BaseModel]:
    """A model of a record's own columns with `sensitivity` and `custom`; unknown fields
    are refused.

    With `partial` every field may be left out; else those without a default must be
    there.
    """
    hints = typing.get_type_hints(record, include_extras=True)
    sensitivity: Any = hints["sensitivity"]
    definitions: dict[str, Any] = {
        "sensitivity": (sensitivity if partial else sensitivity | None, None),
        "custom": (_Custom if partial else _MaybeCustom, None),
    }
    for field in dataclasses.fields(record):
        name = db.column(field.name)
        if name not in own:
            continue
        alias = name if name != field.name else None
        if partial:
            default: Any = pydantic.Field(default=None, alias=alias)
        elif field.default is not dataclasses.MISSING:
            default = pydantic.Field(default=field.default, alias=alias)
        elif field.default_factory is not dataclasses.MISSING:
            default = pydantic.Field(default_factory=field.default_factory, alias=alias)
        else:
            default = pydantic.Field(alias=alias)
        definitions[field.name] = (typing.Annotated[hints[field.name], _CLEAN], default)
    config = pydantic.ConfigDict(
        extra="forbid", validate_by_alias=True, validate_by_name=True
    )
    return pydantic.create_model(
        f"{record.__name__}{'Change' if partial else 'New'}",
        __config__=config,
        **definitions,
    )


def _path(location: Sequence[int | str]) -> str:
    """`turns.0.text`; a name that came from outside may hold anything, and this goes
    into a sentence.
    """
    return ".".join(map(str, location)).encode("utf-8", "replace").decode()


def _clean(value: Any, depth: int = 0) -> Any:
    """What PostgreSQL does not keep, refused before the database does: NUL, lone
    surrogates, NaN in JSON, the abyss.
    """
    if depth > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} levels cannot be kept")
    if isinstance(value, str):
        _clean_text(value)
    elif isinstance(value, Mapping):
        for key, item in typing.cast(Mapping[Any, Any], value).items():
            _clean(key, depth + 1)
            _clean(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in typing.cast(Sequence[Any], value):
            _clean(item, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} cannot be kept")
    return typing.cast(Any, value)


def _clean_text(value: str) -> None:
    if "\x00" in value:
        raise ValueError("a NUL character cannot be kept")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair cannot be kept") from None


def _clean_json(value: Any) -> Any:
    _clean(value)
    try:
        json.dumps(value)
    except TypeError as odd:
        raise ValueError(f"only what JSON can say is kept: {odd}") from None
    return value


_CLEAN = pydantic.BeforeValidator(_clean)
_Custom = typing.Annotated[dict[str, Any], pydantic.BeforeValidator(_clean_json)]
_MaybeCustom = typing.Annotated[
    dict[str, Any] | None, pydantic.BeforeValidator(_clean_json)
]
