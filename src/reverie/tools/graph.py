"""MCP tools of the graph: explore, and traverse with read-only Cypher; compact JSON."""

from typing import Annotated, Any

import pydantic

from reverie.access import callers, operations
from reverie.graph import nodes
from reverie.graph.cypher import projection, snapshot
from reverie.records import catalogue
from reverie.search import explore as graph_exploration
from reverie.search import query as queries
from reverie.search import weights
from reverie.tools import base

_MOST = 5
Text = Annotated[str, pydantic.Field(min_length=1, max_length=queries.LONGEST)]


class ExploreQuery(pydantic.BaseModel):
    """One query of explore."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    query: Text
    threshold: Annotated[float, pydantic.Field(ge=0, le=1)] = weights.EXPLORE_THRESHOLD


# Written out and without the limits: every client pays for this before its first
# question.
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
        list[ExploreQuery],
        pydantic.Field(max_length=_MOST, default_factory=list[ExploreQuery]),
        pydantic.WithJsonSchema(_BY_MEANING),
    ]
    text_matches: Annotated[
        list[Text],
        pydantic.Field(max_length=_MOST, default_factory=list[str]),
        pydantic.WithJsonSchema(_BY_NAME),
    ]
    return_explanations: Annotated[bool, pydantic.Field(default_factory=bool)]


class Traverse(base.Arguments):
    cypher: Annotated[
        str,
        pydantic.Field(min_length=1, max_length=8000),
        pydantic.WithJsonSchema({"type": "string"}),
    ]
    verbose: Annotated[bool, pydantic.Field(default_factory=bool)]


async def explore(
    toolbox: base.Toolbox, caller: callers.Caller, arguments: Explore
) -> dict[str, Any]:
    """Hits with all they are, their links, and who is beside them; records of closed
    domains are not among them.
    """
    questions = [
        graph_exploration.SemanticQuery(query.query, query.threshold)
        for query in arguments.queries
    ]
    results = await graph_exploration.explore(
        toolbox.database,
        caller,
        toolbox.embeddings,
        questions,
        arguments.text_matches,
        settings=toolbox.search,
    )
    answer = graph_exploration.as_json(
        results, explanations=arguments.return_explanations
    )
    answer["signals"] = {
        name: state for name, state in answer["signals"].items() if state != "ok"
    }
    return {name: value for name, value in answer.items() if value}


async def traverse(
    toolbox: base.Toolbox, caller: callers.Caller, arguments: Traverse
) -> dict[str, Any]:
    """Rows of a read-only Cypher query over what the caller may see. Raises Invalid,
    with the schema where it helps.
    """
    domains = catalogue.readable(caller)

    async def rows() -> projection.Rows:
        async with toolbox.database.snapshot(caller) as tx:
            return await snapshot.rows(tx, caller)

    async with toolbox.database.transaction(caller) as tx:
        version = await nodes.version(tx, caller)
    projected = await toolbox.projections.of(
        snapshot.held_by(caller, domains), version, rows
    )
    answer = await projected.run(arguments.cypher, verbose=arguments.verbose)
    content: dict[str, Any] = {
        "columns": list(answer.columns),
        "rows": [list(row) for row in answer.rows],
    }
    if answer.truncated:
        content["truncated"] = True
    return content | ({"notes": list(answer.notes)} if answer.notes else {})


EXPLORE = base.Tool(
    name="explore",
    title="Look around",
    description="People, topics, things by meaning or name, with links.",
    arguments=Explore,
    operation=operations.named("explore"),
    destructive=False,
    run=explore,
)
TRAVERSE = base.Tool(
    name="traverse",
    title="Ask the graph in Cypher",
    description="Read-only Cypher; an unknown label answers with the schema.",
    arguments=Traverse,
    operation=operations.named("traverse"),
    destructive=False,
    run=traverse,
)
