"""Tool catalogue: all MCP tools by name, called with checked arguments and scopes."""

from collections.abc import Mapping
from typing import Any

import pydantic

from reverie import compact, errors
from reverie.access import callers, operations
from reverie.tools import base, graph, read, write

TOOLS: Mapping[str, base.Tool[Any]] = {
    tool.name: tool
    for tool in (
        read.SEARCH,
        graph.EXPLORE,
        graph.TRAVERSE,
        read.GET_RECORD,
        read.LIST_CHANGES,
        write.SAVE_NOTE,
    )
}


def tool(name: str) -> base.Tool[Any]:
    """A tool by its name. Raises NotFound naming those there are."""
    if name not in TOOLS:
        raise errors.NotFound(
            f"There is no tool `{compact.clip(name, 40)}`.",
            hint=f"There are {', '.join(TOOLS)}.",
        )
    return TOOLS[name]


async def call(
    toolbox: base.Toolbox,
    caller: callers.Caller,
    name: str,
    arguments: Mapping[str, Any],
) -> base.Answer:
    """Run a tool. Raises NotFound, Forbidden, Invalid naming the field, and what the
    tool itself raises.
    """
    called = tool(name)
    operations.need(caller, called.operation)
    return await called.run(toolbox, caller, _checked_arguments(called, arguments))


def _checked_arguments(
    called: base.Tool[Any], arguments: Mapping[str, Any]
) -> base.Arguments:
    try:
        return called.arguments.model_validate(dict(arguments))
    except pydantic.ValidationError as refused:
        problems = [
            {"field": ".".join(map(str, problem["loc"])), "problem": problem["msg"]}
            for problem in refused.errors()
        ]
        first = problems[0]
        raise errors.Invalid(
            f"{called.name}: `{compact.clip(first['field'], 40)}`: {first['problem']}.",
            hint=f"Arguments: {', '.join(called.arguments.model_fields)}.",
            details={"problems": problems},
        ) from None
