"""The tool that looks around: explore. What it gives is compact JSON for a model."""

from typing import Annotated, Any

import pydantic

from reverie.access import callers, operations
from reverie.graph import seeing
from reverie.search import exploring
from reverie.search import query as queries
from reverie.tools import base

_MOST = 5
Text = Annotated[str, pydantic.Field(min_length=1, max_length=queries.LONGEST)]


class Asked(pydantic.BaseModel):
    """One query of explore."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    query: Text
    threshold: Annotated[float, pydantic.Field(ge=0, le=1)] = exploring.THRESHOLD


# Written out and without the limits: every client pays for this before its first question.
_BY_MEANING = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "threshold": {"type": "number"}},
        "required": ["query"],
    },
}
_BY_NAME = {"type": "array", "items": {"type": "string"}}


class Explore(base.Arguments):
    queries: Annotated[
        list[Asked],
        pydantic.Field(max_length=_MOST, default_factory=list[Asked]),
        pydantic.WithJsonSchema(_BY_MEANING),
    ]
    text_matches: Annotated[
        list[Text],
        pydantic.Field(max_length=_MOST, default_factory=list[str]),
        pydantic.WithJsonSchema(_BY_NAME),
    ]
    return_explanations: Annotated[bool, pydantic.Field(default_factory=bool)]


async def explore(toolbox: base.Toolbox, caller: callers.Caller, asked: Explore) -> dict[str, Any]:
    """Hits with all they are, their links, and who is beside them; records of closed domains are not among them."""
    asks = [exploring.Ask(one.query, one.threshold) for one in asked.queries]
    found = await exploring.explore(
        toolbox.database, caller, toolbox.embeddings, asks, asked.text_matches, settings=toolbox.search
    )
    async with toolbox.database.transaction(caller) as tx:
        owner = await seeing.owner(tx, caller)
    told = exploring.as_json(found, owner, explanations=asked.return_explanations)
    told["signals"] = {name: said for name, said in told["signals"].items() if said != "ok"}
    return {name: value for name, value in told.items() if value}


EXPLORE = base.Tool(
    name="explore",
    title="Look around",
    description="People, topics, things by meaning or name, with links.",
    arguments=Explore,
    operation=operations.named("explore"),
    destructive=False,
    run=explore,
)
