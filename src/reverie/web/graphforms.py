"""Query parameters and request bodies of the graph's REST routes."""

import json
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic

from reverie.graph import lookups
from reverie.web import parameters

Confidence = Annotated[float, pydantic.Field(ge=0, le=1)]
AsOf = Annotated[
    parameters.Moment | None,
    pydantic.Field(description="as it was at this time: 2024-05-01T00:00:00Z"),
]


def _storable(value: Any) -> Any:
    """What JSON can say and PostgreSQL can keep. `json` reads halves of surrogate
    pairs, and gladly writes them.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_text)
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair cannot be kept") from None
    except (TypeError, RecursionError):
        raise ValueError("this cannot be kept") from None
    if "\\u0000" in text:
        raise ValueError("a NUL character cannot be kept")
    return value


def _as_text(value: object) -> str:
    if isinstance(value, datetime | date | UUID):
        return str(value)
    raise TypeError


class _Body(parameters.Body):
    """What is sent, fit to be kept."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _check(cls, values: Any) -> Any:
        return _storable(values)


Name = Annotated[
    str, pydantic.StringConstraints(strip_whitespace=True, min_length=1, max_length=500)
]
Type = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, max_length=60)]
Description = Annotated[
    str, pydantic.StringConstraints(strip_whitespace=True, max_length=4000)
]
Properties = dict[str, Any]


class Listing(parameters.Parameters):
    kind: Annotated[
        Literal["person", "concept", "entity", "source", "artifact"] | None,
        pydantic.Field(description="without it, all but the records (source)"),
    ] = None
    type: Annotated[
        str | None,
        pydantic.Field(max_length=60, description="company, place, project, …"),
    ] = None
    name: Annotated[
        str | None,
        pydantic.Field(max_length=500, description="a part of a name or an address"),
    ] = None
    limit: Annotated[int, pydantic.Field(ge=1, le=200)] = 50
    offset: Annotated[int, pydantic.Field(ge=0, le=100_000)] = 0


class Detail(parameters.Parameters):
    as_of: AsOf = None
    ended: Annotated[
        bool, pydantic.Field(description="links that hold no longer, too")
    ] = False
    limit: Annotated[
        int, pydantic.Field(ge=1, le=1000, description="links at most")
    ] = 200


class Connections(parameters.Parameters):
    id: Annotated[
        UUID | None, pydantic.Field(description="of the node to begin with")
    ] = None
    name: Annotated[
        str | None,
        pydantic.Field(max_length=500, description="or its name, or an address"),
    ] = None
    depth: Annotated[int, pydantic.Field(ge=1, le=3)] = 2
    confidence: Confidence = lookups.CONFIDENT
    as_of: AsOf = None
    limit: Annotated[int, pydantic.Field(ge=1, le=500)] = 200


class Path(parameters.Parameters):
    from_: Annotated[
        str,
        pydantic.Field(
            alias="from", min_length=1, max_length=500, description="an id or a name"
        ),
    ]
    to: Annotated[
        str, pydantic.Field(min_length=1, max_length=500, description="an id or a name")
    ]
    depth: Annotated[int, pydantic.Field(ge=1, le=lookups.DEEPEST)] = lookups.DEEPEST
    confidence: Confidence = lookups.CONFIDENT
    as_of: AsOf = None


class SubgraphQuery(parameters.Parameters):
    limit: Annotated[
        int, pydantic.Field(ge=1, le=500, description="the nodes with most links")
    ] = 100


class Candidates(parameters.Parameters):
    kind: Literal["person", "concept", "entity"] = "person"
    limit: Annotated[int, pydantic.Field(ge=1, le=200)] = 50


class NewNode(_Body):
    kind: Literal["person", "concept", "entity", "artifact"]
    name: Name
    type: Type = ""
    description: Description = ""
    properties: Annotated[Properties, pydantic.Field(default_factory=dict[str, Any])]
    emails: Annotated[
        list[Annotated[str, pydantic.Field(max_length=320)]],
        pydantic.Field(max_length=50, default_factory=list[str]),
    ]


class NodeChange(_Body):
    """None takes a property away."""

    name: Name | None = None
    type: Type | None = None
    description: Description | None = None
    properties: Annotated[Properties, pydantic.Field(default_factory=dict[str, Any])]


class NewLink(_Body):
    from_: Annotated[
        UUID, pydantic.Field(alias="from", description="a node or a record")
    ]
    to: Annotated[UUID, pydantic.Field(description="a node or a record")]
    relation: Annotated[str, pydantic.Field(max_length=60)]
    properties: Annotated[Properties, pydantic.Field(default_factory=dict[str, Any])]
    confidence: Confidence = 1.0
    valid_from: pydantic.AwareDatetime | None = None
    valid_to: pydantic.AwareDatetime | None = None


class Pair(_Body):
    first: UUID
    second: UUID


class Merge(_Body):
    winner: Annotated[UUID, pydantic.Field(description="the node that stays")]
    loser: Annotated[
        UUID, pydantic.Field(description="the node that becomes the other one")
    ]


class Cleanup(_Body):
    really: Annotated[
        bool, pydantic.Field(description="false: only say what would go")
    ] = False
