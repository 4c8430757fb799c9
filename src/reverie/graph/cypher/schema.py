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

UNLABELLED = "~"  # the kind of nodes without a label

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
    name: str = ""  # if the engine's table has another one
    looped: bool = False  # a link leads from a node to itself

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
            name = shape.name or name
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
    """The table of the relation that is meant; raises Invalid, with the schema, for one
    that is not known.
    """
    if shape is None:
        return name
    tables = {table.name or own: own for own, table in shape.relations.items()}
    meant = _cased(tables, name)
    if meant is None:
        raise errors.Invalid(
            f"There is no relation {name[:60]} in this graph.", hint=str(shape)
        )
    return tables[meant]


def column(shape: Schema, name: str, *, links: bool) -> str:
    """The type of a property's column, or nothing if there is none. Raises Invalid for
    a name that the engine would take for another one.
    """
    tables = (
        [relation.properties for relation in shape.relations.values()]
        if links
        else list(shape.nodes.values())
    )
    for columns in tables:
        if name in columns:
            return columns[name]
    for columns in tables:
        for other in columns:
            if other.lower() == name.lower():
                raise errors.Invalid(
                    f"There is no property {name[:60]}.", hint=f"There is {other}."
                )
    return ""


def own_labels(shape: Schema | None) -> Mapping[str, Sequence[str]]:
    """The labels of each kind that is not its own single one."""
    if shape is None or not shape.labels:
        return {}
    found: dict[str, list[str]] = {}
    for kind in shape.nodes:
        labels = sorted(name for name, kinds in shape.labels.items() if kind in kinds)
        if labels != [kind] or kind == UNLABELLED:
            found[kind] = [name for name in labels if name != UNLABELLED]
    return found


def renamed(shape: Schema | None) -> Mapping[str, str]:
    """The relations whose tables have another name, by their tables."""
    if shape is None:
        return {}
    relations = shape.relations.items()
    return {table: of.name for table, of in relations if of.name not in ("", table)}


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
