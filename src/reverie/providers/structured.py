"""Structured output: JSON that a model wrote, read with patience and validated."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import pydantic

_CLOSING = {"{": "}", "[": "]"}
M = TypeVar("M", bound=pydantic.BaseModel)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LONGEST = 400_000
# So often is a bracket taken for a beginning: a text of brackets must not take for
# ever.
_MOST_TRIES = 50


@dataclass(frozen=True, slots=True)
class ParsedItems(Generic[M]):
    """What fits the schema, and how many items do not. `read` is False where there was
    no JSON at all.
    """

    items: tuple[M, ...]
    refused: int
    read: bool


def schema_of(item: type[pydantic.BaseModel]) -> dict[str, Any]:
    """The schema of `{"items": [item, …]}`: providers want an object at the top."""
    inner = item.model_json_schema()
    shared = inner.pop("$defs", None)
    whole: dict[str, Any] = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": inner}},
        "required": ["items"],
        "additionalProperties": False,
    }
    return whole | ({"$defs": shared} if shared else {})


def instruction(item: type[pydantic.BaseModel]) -> str:
    """What to tell a model, whether or not its provider holds it to the schema."""
    return f"Answer with JSON alone, of this schema, and no other word:\n{json.dumps(schema_of(item))}"


def items(text: str, item: type[M]) -> ParsedItems[M]:
    """The valid items of an answer: an object with a list, a list, one item, or one
    item a line.
    """
    answer = parse(text)
    if answer is None:
        return ParsedItems((), 0, read=False)
    return checked(answer, item)


def checked(answer: Any, item: type[M]) -> ParsedItems[M]:
    """The valid items of what was read."""
    good: list[M] = []
    rows = _rows(answer, item)
    for row in rows:
        try:
            good.append(item.model_validate(row))
        except pydantic.ValidationError:
            continue
    return ParsedItems(tuple(good), len(rows) - len(good), read=True)


def parse(text: str) -> Any:
    """The JSON in a text, or None: in a fence, between words, with commas too many, cut
    off or one value a line.
    """
    text = _THOUGHT.sub("", text.lstrip("\ufeff"))[:_LONGEST]
    fenced = _FENCE.findall(text)
    for candidate in [*fenced, text]:
        parsed = _whole(candidate)
        if parsed is not None:
            return parsed
    return None


def _rows(answer: Any, item: type[pydantic.BaseModel]) -> Sequence[Any]:
    if isinstance(answer, list):
        return cast(list[Any], answer)
    if not isinstance(answer, Mapping):
        return [answer]
    fields = cast(Mapping[str, Any], answer)
    if set(item.model_fields) & set(fields):
        return [fields]
    lists = [
        cast(list[Any], value) for value in fields.values() if isinstance(value, list)
    ]
    if len(lists) == 1:
        return lists[0]
    inner: list[Any] = [
        value for value in fields.values() if isinstance(value, Mapping)
    ]
    return inner if len(inner) == 1 else [fields]


def _whole(text: str) -> Any:
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return cast(Any, parsed) if isinstance(parsed, list | dict) else None
    values = _values(text)
    if not values:
        return None
    return values[0] if len(values) == 1 else _joined(values)


def _values(text: str) -> list[Any]:
    """Every JSON object and list among the words of a text."""
    values: list[Any] = []
    at = 0
    for _ in range(_MOST_TRIES):
        start = _opening(text, at)
        if start is None:
            break
        bit, end = _balanced(text, start)
        value = _loaded(bit)
        if value is None and "}" not in bit and "]" not in bit:
            break  # nothing closes any more
        if value is None:
            at = start + 1
            continue
        values.append(value)
        at = end
    return values


def _joined(values: list[Any]) -> Any:
    """Several values: one item a line, or a list among words. The lists win, if there
    are any.
    """
    lists = [cast(list[Any], value) for value in values if isinstance(value, list)]
    return [row for value in lists for row in value] if lists else values


def _opening(text: str, at: int) -> int | None:
    places = [
        position
        for position in (text.find("{", at), text.find("[", at))
        if position >= 0
    ]
    return min(places, default=None)


def _balanced(text: str, start: int) -> tuple[str, int]:
    """From a bracket to the one that closes it; what was cut off is closed, at its last
    whole value.
    """
    stack: list[str] = []
    last: tuple[int, str] | None = None
    for at, bracket in _brackets(text, start):
        if bracket in _CLOSING:
            stack.append(_CLOSING[bracket])
            continue
        if not stack or stack.pop() != bracket:
            return text[start:at], at
        if not stack:
            return text[start : at + 1], at + 1
        last = (at + 1, "".join(reversed(stack)))
    if last is None:
        return text[start:], len(text)
    end, closing = last
    return text[start:end] + closing, len(text)


def _brackets(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The brackets from `start` on that are in no string, each with its place."""
    quoted = escaped = False
    for at in range(start, len(text)):
        character = text[at]
        if quoted:
            if not escaped and character == '"':
                quoted = False
            escaped = not escaped and character == "\\"
        elif character == '"':
            quoted = True
        elif character in "{[}]":
            yield at, character


def _loaded(bit: str) -> Any:
    for candidate in (bit, _without_commas(bit)):
        try:
            parsed: Any = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(parsed, list | dict):
            return cast(Any, parsed)
    return None


def _without_commas(bit: str) -> str:
    """Without commas before a closing bracket, and without remarks; strings stay as
    they are.
    """
    parts = re.split(r'("(?:[^"\\]|\\.)*")', bit)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"//[^\n]*", "", parts[at])
    bare = "".join(parts)
    parts = re.split(r'("(?:[^"\\]|\\.)*")', bare)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r",(\s*[}\]])", r"\1", parts[at])
        parts[at] = re.sub(r"\bNone\b", "null", parts[at])
        parts[at] = re.sub(
            r"\bTrue\b", "true", re.sub(r"\bFalse\b", "false", parts[at])
        )
    return "".join(parts)
