"""Entity linking: the node that each name of a record means, or a new one.

By key, by address, then by name. Of several nodes of one name none is chosen, and what
was deleted by hand does not come back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from reverie import db
from reverie.graph import attestations, nodes
from reverie.graph.extraction import record_fields
from reverie.graph.resolution import keys

# What a record says by its fields is certain.
_CERTAIN = 1.0


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """Something that a text names: a known node by its `key`, or what is to become one.

    `written` is what stands in the text, where `name` is what the node is called.
    """

    kind: nodes.Kind
    name: str
    type: str = ""
    description: str = ""
    key: str = ""
    confidence: float = 0.7
    ordinal: int | None = None
    written: str = ""


@dataclass(frozen=True, slots=True)
class MentionedNode:
    """The end of a link from a record: a node, how the record names it, and in which
    passage.
    """

    relation: str
    node_id: UUID
    confidence: float = _CERTAIN
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class NodeIndex:
    """The nodes that a record may mean, by name or address; those that it does mean
    join them.

    `deleted` are (kind, alias) of what was deleted by hand, `by_name` the node of each
    normalised name of the record, for its facts, `attested` what the record calls them
    and tells of them.
    """

    by_alias: dict[str, list[nodes.Node]]
    deleted: set[tuple[nodes.Kind, str]]
    by_name: dict[str, nodes.Node] = field(default_factory=dict[str, nodes.Node])
    attested: list[attestations.Attestation] = field(
        default_factory=list[attestations.Attestation]
    )

    def of_kind(self, alias: str, kind: nodes.Kind) -> list[nodes.Node]:
        """The nodes of a kind that have a name or an address."""
        return [node for node in self.by_alias.get(alias, ()) if node.kind == kind]

    def of_emails(self, emails: Iterable[str]) -> nodes.Node | None:
        """The first person with one of some addresses."""
        for email in emails:
            for node in self.of_kind(email, "person"):
                return node
        return None

    def has(self, alias: str, node: nodes.Node) -> bool:
        """Whether a node is known by a name or an address."""
        return any(other.id == node.id for other in self.of_kind(alias, node.kind))

    def add(self, alias: str, node: nodes.Node) -> None:
        """A node by one more alias; what it was before a change is replaced."""
        namesakes = self.by_alias.setdefault(alias, [])
        namesakes[:] = [node if other.id == node.id else other for other in namesakes]
        if node not in namesakes:
            namesakes.append(node)


async def index(
    tx: db.Transaction, user: db.HasUser, aliases: Iterable[str]
) -> NodeIndex:
    """The nodes that have some normalised names or addresses."""
    aliases = list(aliases)
    return NodeIndex(
        await nodes.find(tx, user, aliases), await nodes.gone(tx, user, aliases)
    )


async def link_person(
    tx: db.Transaction,
    user: db.HasUser,
    index_: NodeIndex,
    person: record_fields.Person,
    *,
    own_card: bool,
) -> MentionedNode | None:
    """The node of somebody whom a field names. `own_card`: the record is their card,
    and tells their properties.

    By address first, then by name; of two people of one name, each keeps to the
    addresses it has.
    """
    alias = keys.normalised(person.name)
    if not alias or len(person.name) > nodes.LONGEST_NAME:
        return None
    match = index_.of_emails(person.emails)
    if match is None and _deleted_by_email(index_, person):
        return None
    if match is None and _is_entity(index_, alias):
        organisation = record_fields.Organisation(person.name, role=person.role)
        return await link_organisation(tx, user, index_, organisation)
    node = match or await _namesake_or_new(tx, user, index_, person)
    if node is None:
        return None
    node = await _with_details(tx, user, node, person, own_card=own_card)
    await _add_aliases(tx, user, index_, node, person)
    index_.by_name[alias] = node
    index_.attested.append(
        attestations.Attestation(
            node.id,
            (person.name, *person.names),
            person.emails,
            properties=person.properties if own_card else {},
        )
    )
    properties = {"role": person.role} if person.role else {}
    return MentionedNode(person.relation, node.id, properties=properties)


async def _add_aliases(
    tx: db.Transaction,
    user: db.HasUser,
    index_: NodeIndex,
    node: nodes.Node,
    person: record_fields.Person,
) -> None:
    """The node by all names and addresses of the person, here and in the graph."""
    names = [person.name, *person.names]
    aliases = [*map(keys.normalised, names), *person.emails]
    if not all(index_.has(alias, node) for alias in aliases):
        await nodes.also(tx, user, node.id, names_=names, emails=person.emails)
    for alias in aliases:
        index_.add(alias, node)


def _deleted_by_email(index_: NodeIndex, person: record_fields.Person) -> bool:
    return any(("person", email) in index_.deleted for email in person.emails)


def _is_entity(index_: NodeIndex, alias: str) -> bool:
    """Whether a name is that of an entity, and of no person."""
    return bool(index_.of_kind(alias, "entity")) and not index_.of_kind(alias, "person")


async def _with_details(
    tx: db.Transaction,
    user: db.HasUser,
    node: nodes.Node,
    person: record_fields.Person,
    *,
    own_card: bool,
) -> nodes.Node:
    """The node with what the card says; a name takes the place of an address."""
    properties = dict(person.properties) if own_card else {}
    rename = "@" in node.name and "@" not in person.name
    if not properties and not rename:
        return node
    name = person.name if rename else node.name
    return await nodes.change(tx, user, node, properties=properties, name=name)


async def _namesake_or_new(
    tx: db.Transaction,
    user: db.HasUser,
    index_: NodeIndex,
    person: record_fields.Person,
) -> nodes.Node | None:
    """The person of a name whose address is unknown, or a new one."""
    alias = keys.normalised(person.name)
    namesakes = index_.of_kind(alias, "person")
    if not person.emails:
        if len(namesakes) == 1:
            return namesakes[0]
        if namesakes or ("person", alias) in index_.deleted:
            # Several of this name, and nothing tells which; or somebody who was
            # deleted.
            return None
    without_address = [
        node for node in namesakes if not await _has_address(tx, user, node)
    ]
    if len(without_address) == 1:
        return without_address[0]
    apart = person.emails[0] if namesakes else ""
    draft = nodes.NodeDraft("person", person.name, emails=person.emails, apart=apart)
    return await nodes.add(tx, user, draft)


async def _has_address(tx: db.Transaction, user: db.HasUser, node: nodes.Node) -> bool:
    return any(kind == "email" for _, kind in await nodes.aliases(tx, user, node.id))


async def link_organisation(
    tx: db.Transaction,
    user: db.HasUser,
    index_: NodeIndex,
    organisation: record_fields.Organisation,
) -> MentionedNode | None:
    """The node of an organisation that a field names."""
    alias = keys.normalised(organisation.name)
    matches = index_.of_kind(alias, "entity")
    node = matches[0] if matches else await _new_entity(tx, user, index_, organisation)
    if node is None:
        return None
    index_.add(alias, node)
    index_.by_name.setdefault(alias, node)
    index_.attested.append(
        attestations.Attestation(
            node.id,
            (organisation.name,),
            type=organisation.type,
            properties=organisation.properties,
        )
    )
    properties = {"role": organisation.role} if organisation.role else {}
    return MentionedNode("mentions", node.id, properties=properties)


async def _new_entity(
    tx: db.Transaction,
    user: db.HasUser,
    index_: NodeIndex,
    organisation: record_fields.Organisation,
) -> nodes.Node | None:
    alias = keys.normalised(organisation.name)
    if not alias or len(organisation.name) > nodes.LONGEST_NAME:
        return None
    if ("entity", alias) in index_.deleted:
        return None
    draft = nodes.NodeDraft(
        "entity",
        organisation.name,
        organisation.type,
        properties=dict(organisation.properties),
    )
    return await nodes.add(tx, user, draft)


async def link_entity(
    tx: db.Transaction,
    user: db.HasUser,
    index_: NodeIndex,
    entity: NamedEntity,
    *,
    by: nodes.By,
) -> MentionedNode | None:
    """The node of what a text names. `by` is the reader, who makes what is new."""
    alias = keys.normalised(entity.name)
    if not alias or len(entity.name) > nodes.LONGEST_NAME:
        return None
    node = await _known_or_new(tx, user, index_, entity, by=by)
    if node is None:
        return None
    if entity.description and not node.description:
        node = await nodes.change(tx, user, node, description=entity.description)
    index_.add(alias, node)
    index_.by_name.setdefault(alias, node)
    # A known node's name may be longer than what stands in the text.
    written = entity.written or ("" if entity.key else entity.name)
    index_.attested.append(
        attestations.Attestation(
            node.id, (written,), type=entity.type, description=entity.description
        )
    )
    return MentionedNode("mentions", node.id, entity.confidence, ordinal=entity.ordinal)


async def _known_or_new(
    tx: db.Transaction,
    user: db.HasUser,
    index_: NodeIndex,
    entity: NamedEntity,
    *,
    by: nodes.By,
) -> nodes.Node | None:
    alias = keys.normalised(entity.name)
    namesakes = index_.of_kind(alias, entity.kind)
    if entity.key:
        for node in namesakes:
            if node.key == entity.key:
                return node
        node = await nodes.by_key(tx, user, entity.key)
        if node is not None:
            return node
    # Of what kind it is, others know better than a text.
    namesakes = namesakes or index_.by_alias.get(alias, [])
    if len(namesakes) == 1:
        return namesakes[0]
    if namesakes or entity.key or (entity.kind, alias) in index_.deleted:
        # Several of this name, and nothing tells which; or what is gone.
        return None
    draft = nodes.NodeDraft(
        entity.kind, entity.name, entity.type, entity.description, by=by
    )
    return await nodes.add(tx, user, draft)
