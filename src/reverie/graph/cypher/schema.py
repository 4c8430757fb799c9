"""Schema of a projection for Cypher: labels, relations and properties with their types.

Kinds and relations are spelled as everywhere in the product (`Person`, `works_at`); a
query may write them in any case.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reverie import errors

_TIMES = {
    "created_at": "TIMESTAMP",
    "updated_at": "TIMESTAMP",
    "salience": "DOUBLE",
    "notes": "STRING",
}
_TEXTS = (
    "canonical_name",
    "appearance",
    "situation",
    "history",
    "personality",
    "expertise",
    "interests",
)
_STRENGTH = {"relationship_type": "STRING", "relevance": "INT64", "notes": "STRING"}

# The kinds of every graph and the properties that a query may name whether or not a
# node has them.
KINDS: Mapping[str, Mapping[str, str]] = {
    "Person": {
        **dict.fromkeys(_TEXTS, "STRING"),
        "is_owner": "BOOL",
        "emails": "STRING[]",
        **_TIMES,
    },
    "Concept": _TIMES,
    "Entity": _TIMES,
    "Source": {"content": "STRING", **_TIMES},
    "Artifact": {"content": "STRING", **_TIMES},
}
# The relations of every graph, whether or not it has such a link.
RELATIONS: Mapping[str, Mapping[str, str]] = {
    "thinks_about": {"mood": "STRING", "frequency": "STRING"},
    "has_relationship_with": {
        "attitude_towards_person": "STRING",
        "closeness": "INT64",
        "relationship_type": "STRING",
        "notes": "STRING",
    },
    "relates_to": _STRENGTH,
    "involves": {},
    "produced": {"relevance": "INT64", "notes": "STRING"},
    "mentions": {},
    "sourced_from": {},
    "attended_by": {},
    "located_in": {},
    "works_at": {},
    "collaborates_with": {},
    "contradicts": {},
    "follows_up": {},
    "supersedes": {},
}


@dataclass(frozen=True, slots=True)
class SchemaRelation:
    """Which kinds a relation joins, and its properties with their types."""

    pairs: Sequence[tuple[str, str]]
    properties: Mapping[str, str]

    def ends(self) -> str:
        """The kinds that it joins, for whoever has to write a query."""
        arrows = [f"{start}->{stop}" for start, stop in sorted(self.pairs)]
        return ", ".join(arrows)


@dataclass(frozen=True, slots=True)
class Schema:
    """The shape of one graph. `labels` says which kinds a label means, where that is
    not the kind of the same name.
    """

    nodes: Mapping[str, Mapping[str, str]]
    relations: Mapping[str, SchemaRelation]
    labels: Mapping[str, frozenset[str]] = field(
        default_factory=dict[str, frozenset[str]]
    )

    def __str__(self) -> str:
        """The shape in a few lines, for whoever has to write a query."""
        lines = ["Nodes:"]
        for kind, columns in self.nodes.items():
            lines.append(f"({kind} {_in_braces(columns)})")
        lines.append("Links:")
        bare: list[str] = []
        for name, shape in self.relations.items():
            if shape.pairs:
                properties = _in_braces(shape.properties)
                lines.append(f"[{name} {properties}] {shape.ends()}")
            else:
                bare.append(name)
        if bare:
            names = ", ".join(bare)
            lines.append(f"Relations without links: {names}.")
        return "\n".join(lines)


def _in_braces(names: Iterable[str]) -> str:
    """The names of properties as Cypher writes a map."""
    return "{" + ", ".join(names) + "}"


def labelled(shape: Schema | None, groups: Sequence[Sequence[str]]) -> list[str]:
    """The kinds that have a label of each group; raises Invalid, with the schema, for a
    label that is not known.
    """
    if shape is None:
        if len(groups) > 1:
            raise errors.Invalid(
                "A node has one kind.", hint="Write `:Person|Entity` for either of two."
            )
        return list(groups[0]) if groups else []
    kinds = [
        frozenset[str]().union(*(_label(shape, name) for name in group))
        for group in groups
    ]
    return sorted(frozenset.intersection(*kinds)) if kinds else []


def relation(shape: Schema | None, name: str) -> str:
    """The relation that is meant; raises Invalid, with the schema, for one that is not
    known.
    """
    if shape is None:
        return name
    meant = _cased(shape.relations, name)
    if meant is None:
        raise errors.Invalid(
            f"There is no relation {name[:60]} in this graph.", hint=str(shape)
        )
    return meant


def _label(shape: Schema, name: str) -> frozenset[str]:
    if name in shape.labels:
        return shape.labels[name]
    meant = _cased(shape.nodes, name)
    if meant is None:
        raise errors.Invalid(
            f"There is no kind {name[:60]} in this graph.", hint=str(shape)
        )
    return frozenset({meant})


def _cased(names: Mapping[str, object], name: str) -> str | None:
    """The name among others that is this one but for its case."""
    if name in names:
        return name
    for other in names:
        if other.lower() == name.lower():
            return other
    return None
