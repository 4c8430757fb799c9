"""Length limits of titles, names, lists and texts that are sent to be kept."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from reverie import errors

LONGEST_TEXT = 1_000_000
"""Characters of a text; what is longer belongs into a file."""
LONGEST_NAME = 1_000
"""Characters of a title, a subject, a name, an address, a tag."""
LONGEST_LIST = 10_000
"""Items of a list."""
_TEXTS = frozenset(
    {
        "body_html",
        "body_text",
        "checklist",
        "content",
        "custom",
        "description",
        "excerpt",
        "notes",
        "path",
        "recurrence",
        "site_url",
        "text",
        "turns",
        "url",
    }
)


def check(name: str, values: Mapping[str, Any]) -> None:
    """Raise Invalid for the first field of the record kind `name` that is too long."""
    for field, value in values.items():
        problem = _problem(field, value)
        if problem:
            raise errors.Invalid(
                f"This {name.replace('_', ' ')} cannot be kept: {field}: {problem}.",
                hint="A text longer than that belongs into a file: upload or import it.",
                details={"problems": [{"field": field, "problem": problem}]},
            )


def clipped(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The values with names cut to what can be kept, and what was cut in words."""
    fitting = dict(values)
    remarks: list[str] = []
    for field, value in values.items():
        if field in _TEXTS:
            continue
        if isinstance(value, str) and len(value) > LONGEST_NAME:
            fitting[field] = value[:LONGEST_NAME]
            remarks.append(
                f"the {field} has {len(value)} characters: the first {LONGEST_NAME} are kept"
            )
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            short = [_shortened(item) for item in items[:LONGEST_LIST]]
            if short != items:
                fitting[field] = short
                remarks.append(f"{field} is too long: it is cut")
    return fitting, remarks


def _shortened(item: Any) -> Any:
    if isinstance(item, str):
        return item[:LONGEST_NAME]
    if isinstance(item, dict):
        members = cast("dict[Any, Any]", item)
        return {name: _shortened(value) for name, value in members.items()}
    return item


def _problem(field: str, value: Any) -> str:
    limit = LONGEST_TEXT if field in _TEXTS else LONGEST_NAME
    if isinstance(value, str):
        return f"longer than {limit} characters" if len(value) > limit else ""
    if not isinstance(value, Mapping | Sequence):
        return ""
    if len(cast("Sequence[Any]", value)) > LONGEST_LIST:
        return f"more than {LONGEST_LIST} items"
    total = _size(value)
    whole = LONGEST_TEXT
    return f"longer than {whole} characters altogether" if total > whole else ""


def _size(value: Any) -> int:
    """The characters in all texts of a nested value."""
    size = 0
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            pending += [*cast("Mapping[Any, Any]", item)]
            pending += [*cast("Mapping[Any, Any]", item).values()]
        elif isinstance(item, list):
            pending += cast("list[Any]", item)
    return size
