"""Relations (the ontology of links): their ends, properties, which are exclusive."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reverie import errors

Kind = Literal["person", "concept", "entity", "source", "artifact"]
KINDS: tuple[Kind, ...] = ("person", "concept", "entity", "source", "artifact")
ATTITUDES = ("hostile", "cold", "neutral", "friendly", "warm", "loving")
_PLAIN: frozenset[Kind] = frozenset(KINDS)
_TOPIC: frozenset[Kind] = frozenset({"person", "entity", "concept"})


@dataclass(frozen=True, slots=True)
class _Range:
    """A whole number from `low` to `high`."""

    low: int
    high: int


_Property = _Range | tuple[str, ...] | type[str]
_RELEVANT: Mapping[str, _Property] = {
    "relationship_type": str,
    "relevance": _Range(1, 10),
    "notes": str,
}


@dataclass(frozen=True, slots=True)
class Relation:
    """Between which kinds a relation may be, and what its links may tell.

    `exclusive`: of two facts that begin with the same node only one holds at a time,
    and a newer one ends the older.
    """

    ends: tuple[tuple[frozenset[Kind], frozenset[Kind]], ...] = ((_PLAIN, _PLAIN),)
    properties: Mapping[str, _Property] | None = None
    exclusive: bool = False

    def joins(self, from_kind: Kind, to_kind: Kind) -> bool:
        """Whether a link may lead from the one kind to the other."""
        return any(from_kind in begin and to_kind in end for begin, end in self.ends)


def _kinds(*kinds: Kind) -> frozenset[Kind]:
    return frozenset(kinds)


RELATIONS: Mapping[str, Relation] = {
    "thinks_about": Relation(
        ((_kinds("person"), _kinds("concept")),), {"mood": str, "frequency": str}
    ),
    "has_relationship_with": Relation(
        ((_kinds("person"), _kinds("person")),),
        {
            "attitude_towards_person": ATTITUDES,
            "closeness": _Range(1, 5),
            "relationship_type": str,
            "notes": str,
        },
    ),
    "relates_to": Relation(properties=_RELEVANT),
    "involves": Relation(
        ((_kinds("concept"), _kinds("person", "entity")),),
        {"relevance": _Range(1, 10), "notes": str},
    ),
    "produced": Relation(
        ((_kinds("concept"), _kinds("artifact")),),
        {"relevance": _Range(1, 10), "notes": str},
    ),
    "mentions": Relation(((_kinds("source"), _TOPIC), (_TOPIC, _TOPIC)), {"role": str}),
    "sourced_from": Relation(((_kinds("artifact"), _kinds("source")),)),
    "attended_by": Relation(
        ((_kinds("source", "entity", "concept"), _kinds("person")),),
        {"role": str, "status": str},
    ),
    "located_in": Relation(
        ((_kinds("source", "person", "entity"), _kinds("entity")),),
        {"notes": str},
        exclusive=True,
    ),
    "works_at": Relation(
        ((_kinds("person"), _kinds("entity")),),
        {"job_title": str, "notes": str},
        exclusive=True,
    ),
    "collaborates_with": Relation(
        ((_kinds("person", "entity"), _kinds("person", "entity")),), _RELEVANT
    ),
    "contradicts": Relation(properties={"notes": str}),
    "follows_up": Relation(properties={"notes": str}),
    "supersedes": Relation(properties={"notes": str}),
}


def checked(
    relation: str, from_kind: Kind, to_kind: Kind, properties: Mapping[str, Any]
) -> dict[str, Any]:
    """The properties that a link of this relation keeps; those it does not know are
    left out.

    Raises Invalid for a relation or ends that do not exist, or for a wrong value, with
    what is allowed.
    """
    rules = RELATIONS.get(relation)
    if rules is None:
        raise errors.Invalid(
            f"There is no relation `{relation[:60]}`.",
            hint=f"There are {', '.join(RELATIONS)}.",
        )
    if not rules.joins(from_kind, to_kind):
        fit = [
            name for name, other in RELATIONS.items() if other.joins(from_kind, to_kind)
        ]
        raise errors.Invalid(
            f"`{relation}` does not lead from a {from_kind} to a {to_kind}.",
            hint=f"These do: {', '.join(fit)}.",
        )
    return {
        name: _value(relation, name, allowed, properties[name])
        for name, allowed in (rules.properties or {}).items()
        if properties.get(name) is not None
    }


def fitting(
    relation: str, from_kind: Kind, to_kind: Kind, properties: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The same for what a reader found: None where `checked` refuses, and a wrong
    property is left out.
    """
    fitting_: dict[str, Any] = {}
    try:
        checked(relation, from_kind, to_kind, {})
    except errors.Invalid:
        return None
    for name, value in properties.items():
        try:
            fitting_ |= checked(relation, from_kind, to_kind, {name: value})
        except errors.Invalid:
            continue
    return fitting_


def exclusive(relation: str) -> bool:
    """Whether a newer fact of this relation ends the older one."""
    rules = RELATIONS.get(relation)
    return rules is not None and rules.exclusive


def _value(relation: str, name: str, allowed: _Property, value: Any) -> Any:
    if isinstance(allowed, _Range):
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and allowed.low <= value <= allowed.high
        ):
            return value
        expected = f"a whole number from {allowed.low} to {allowed.high}"
    elif isinstance(allowed, tuple):
        if value in allowed:
            return value
        expected = f"one of {', '.join(allowed)}"
    elif isinstance(value, str) and len(value) <= 4000:
        return value
    else:
        expected = "a text of at most 4,000 characters"
    raise errors.Invalid(f"`{name}` of `{relation}` must be {expected}.")
