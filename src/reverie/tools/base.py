"""MCP tool definitions: name, arguments with a JSON schema, operation, and function."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pydantic

from reverie import config, db
from reverie.access import callers, operations
from reverie.graph.cypher import projection
from reverie.llm import embedding

Answer = dict[str, Any] | str


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What tools work with. Whoever opened the application hands it over."""

    database: db.Database
    embeddings: embedding.Embeddings
    search: config.SearchTuning = field(default_factory=config.SearchTuning)
    projections: projection.Projections = field(default_factory=projection.Projections)


class Arguments(pydantic.BaseModel):
    """The arguments of a tool; unknown ones are refused."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """One thing an agent may do. Who may, and how much of a yes it takes, is the row of
    its operation.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    operation: operations.Operation
    destructive: bool
    run: Callable[[Toolbox, callers.Caller, A], Awaitable[Answer]]

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing that the owner keeps."""
        return self.operation.action == "read"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, without the titles that only repeat the
        names.
        """
        schema = self.arguments.model_json_schema()
        for property_ in (schema, *schema.get("properties", {}).values()):
            property_.pop("title", None)
        schema.pop("description", None)
        return schema
