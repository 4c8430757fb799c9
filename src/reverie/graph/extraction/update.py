"""Incremental update of the knowledge graph by what was extracted from a record.

In one transaction, as often as the record is read, with one result.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.graph import attestations, links, nodes, relations
from reverie.graph.extraction import entity_linking, record_fields
from reverie.graph.resolution import keys

NamedEntity = entity_linking.NamedEntity
OWNER = ""
"""Stands for the owner as the subject or object of a statement."""

# A mail to more people than these is a list's.
_MOST_PEOPLE = 60
# How sure it is that somebody works where their card says.
_EMPLOYMENT_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact that a text states about two of its names, or about OWNER.

    A relation that the graph does not know is a relationship of people, or of things,
    of that type.
    """

    subject: str
    relation: str
    object: str
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    confidence: float = 0.7
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class LinkedRecord:
    """Another record that this one links to."""

    record_id: UUID
    domain: str
    title: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that one reader (rules: `system`, or a model) has got out of a record. `at`
    is the record's own time; `undated`: it has none, and `at` is when it was recorded.
    """

    domain: str
    record_id: UUID
    title: str
    at: datetime | None = None
    by: nodes.By = "system"
    fields: record_fields.FieldEntities = field(
        default_factory=record_fields.FieldEntities
    )
    named: Sequence[NamedEntity] = ()
    stated: Sequence[StatedFact] = ()
    records: Sequence[LinkedRecord] = ()
    undated: bool = False


async def apply(tx: db.Transaction, user: db.HasUser, extraction: Extraction) -> None:
    """Make the graph say what this extraction says of a record, and no more of what its
    reader said before.
    """
    await nodes.bump(tx, user)
    source = await nodes.source(
        tx,
        user,
        domain=extraction.domain,
        record_id=extraction.record_id,
        title=extraction.title,
    )
    if source is None:
        return
    index = await entity_linking.index(tx, user, _aliases(extraction))
    mentioned = await _link_fields(tx, user, index, extraction)
    employments = _employments(extraction)
    facts = await _relate_all(
        tx, user, index, extraction, employments, link_type="structural"
    )
    for entity in extraction.named:
        node = await entity_linking.link_entity(
            tx, user, index, entity, by=extraction.by
        )
        mentioned += [node] if node else []
    mentioned += await _linked_records(tx, user, extraction, source)
    mention_ids = await _mention(tx, user, extraction, source, mentioned)
    await _index_owner(tx, user, index, extraction)
    facts += await _relate_all(
        tx, user, index, extraction, extraction.stated, link_type="extracted"
    )
    await attestations.keep(
        tx, user, extraction.record_id, index.attested, by=extraction.by
    )
    kept = [*mention_ids, *(fact.id for fact in facts)]
    unsupported = await links.withdraw(
        tx, user, extraction.record_id, by=extraction.by, kept=kept
    )
    # A record that says nothing is no source.
    silent = [] if kept else [source]
    touched = {node.node_id for node in mentioned}
    touched.update(end for fact in facts for end in (fact.from_id, fact.to_id))
    await _settle(tx, user, [*touched, source], [*unsupported, *silent])


async def withdraw(tx: db.Transaction, user: db.HasUser, record_id: UUID) -> None:
    """A record is gone: so is what it alone said."""
    await nodes.bump(tx, user)
    source = await nodes.source_of(tx, user, record_id)
    unsupported = await links.withdraw(tx, user, record_id)
    await attestations.withdraw(tx, user, record_id)
    await _settle(tx, user, [], [*unsupported, source] if source else unsupported)


async def owner(
    tx: db.Transaction, user: db.HasUser, *, name: str, emails: Sequence[str] = ()
) -> nodes.Node | None:
    """The owner's own node: the one there is, the one of the same address or name, or a
    new one. None if that was deleted.
    """
    await nodes.bump(tx, user)
    addresses = [email.strip().lower() for email in emails]
    node = await _owner_by_alias(tx, user, [*addresses, keys.normalised(name)])
    if node is None:
        draft = nodes.NodeDraft("person", name, emails=emails, by="user", is_owner=True)
        node = await nodes.add(tx, user, draft)
    if node is None:
        return None
    await nodes.also(tx, user, node.id, names_=[name], emails=addresses)
    await nodes.own(tx, user, node.id)
    told = attestations.Attestation(node.id, (name,), addresses)
    await attestations.add(tx, user, attestations.BY_HAND, told, by="user")
    return await nodes.get(tx, user, node.id)


async def _owner_by_alias(
    tx: db.Transaction, user: db.HasUser, aliases: Sequence[str]
) -> nodes.Node | None:
    """The owner among the people of some addresses or a name, or the first of them."""
    by_alias = await nodes.find(tx, user, aliases)
    people = [
        node
        for alias in aliases
        for node in by_alias.get(alias, ())
        if node.kind == "person"
    ]
    people.sort(key=lambda node: not node.is_owner)
    return people[0] if people else None


def _aliases(extraction: Extraction) -> list[str]:
    """Every name, normalised, and every address of an extraction, each once."""
    people, organisations = extraction.fields.people, extraction.fields.organisations
    names = [entity.name for entity in (*people, *organisations, *extraction.named)]
    names += [person.works_at for person in people]
    emails = [email for person in people for email in person.emails]
    aliases = dict.fromkeys([*map(keys.normalised, names), *emails])
    return [alias for alias in aliases if alias]


async def _link_fields(
    tx: db.Transaction,
    user: db.HasUser,
    index: entity_linking.NodeIndex,
    extraction: Extraction,
) -> list[entity_linking.MentionedNode]:
    """Whom the record's fields name."""
    mentioned: list[entity_linking.MentionedNode] = []
    own_card = extraction.domain == "contact"
    for person in extraction.fields.people[:_MOST_PEOPLE]:
        node = await entity_linking.link_person(
            tx, user, index, person, own_card=own_card
        )
        mentioned += [node] if node else []
    for organisation in extraction.fields.organisations:
        node = await entity_linking.link_organisation(tx, user, index, organisation)
        mentioned += [node] if node else []
    return mentioned


def _employments(extraction: Extraction) -> list[StatedFact]:
    """Where the people of the record's fields work."""
    return [
        StatedFact(
            person.name,
            "works_at",
            person.works_at,
            {"job_title": person.job_title} if person.job_title else {},
            _EMPLOYMENT_CONFIDENCE,
        )
        for person in extraction.fields.people[:_MOST_PEOPLE]
        if person.works_at
    ]


async def _linked_records(
    tx: db.Transaction, user: db.HasUser, extraction: Extraction, source: UUID
) -> list[entity_linking.MentionedNode]:
    """The nodes of the other records that this one links to."""
    linked: list[entity_linking.MentionedNode] = []
    for record in extraction.records:
        other = await nodes.source(
            tx,
            user,
            domain=record.domain,
            record_id=record.record_id,
            title=record.title,
        )
        if other is not None and other != source:
            linked.append(entity_linking.MentionedNode("relates_to", other))
    return linked


async def _mention(
    tx: db.Transaction,
    user: db.HasUser,
    extraction: Extraction,
    source: UUID,
    mentioned: Iterable[entity_linking.MentionedNode],
) -> list[UUID]:
    """The links from the record to everything that it names, by their ids. What it says
    first of a node counts.
    """
    first: dict[tuple[str, UUID], entity_linking.MentionedNode] = {}
    for node in mentioned:
        first.setdefault((node.relation, node.node_id), node)
    structural = extraction.by == "system"
    link_ids: list[UUID] = []
    for relation in dict.fromkeys(relation for relation, _ in first):
        ends = [
            (node.node_id, node.confidence, node.properties, node.ordinal)
            for node in first.values()
            if node.relation == relation
        ]
        link_ids += await links.mention(
            tx,
            user,
            source,
            extraction.record_id,
            ends,
            relation=relation,
            link_type="structural" if structural else "extracted",
            by=extraction.by,
        )
    return link_ids


async def _index_owner(
    tx: db.Transaction,
    user: db.HasUser,
    index: entity_linking.NodeIndex,
    extraction: Extraction,
) -> None:
    """The owner's node, if a statement is about the owner."""
    if not any(OWNER in (fact.subject, fact.object) for fact in extraction.stated):
        return
    node = await nodes.owner(tx, user)
    if node is not None:
        index.by_name[OWNER] = node


async def _relate_all(
    tx: db.Transaction,
    user: db.HasUser,
    index: entity_linking.NodeIndex,
    extraction: Extraction,
    stated: Iterable[StatedFact],
    *,
    link_type: links.LinkType,
) -> list[links.Link]:
    """The links of facts about two names that both have a node; what the relation does
    not allow is left out.
    """
    new_links: list[links.Link] = []
    for fact in stated:
        draft = _fact(index, extraction, fact, link_type)
        if draft is None:
            continue
        evidence = links.Evidence(extraction.record_id, fact.ordinal)
        link = await links.relate(tx, user, draft, evidence)
        if link is not None:
            new_links.append(link)
    return new_links


def _fact(
    index: entity_linking.NodeIndex,
    extraction: Extraction,
    stated: StatedFact,
    link_type: links.LinkType,
) -> links.Fact | None:
    """A stated fact as one about nodes; None if an end is unknown or does not fit."""
    begin = index.by_name.get(keys.normalised(stated.subject))
    end = index.by_name.get(keys.normalised(stated.object))
    if begin is None or end is None or begin.id == end.id:
        return None
    relation, properties = stated.relation, dict(stated.properties)
    if relation not in relations.RELATIONS:
        properties["relationship_type"] = relation.replace("_", " ")
        people = begin.kind == end.kind == "person"
        relation = "has_relationship_with" if people else "relates_to"
    fitting = relations.fitting(relation, begin.kind, end.kind, properties)
    if fitting is None:
        return None
    return links.Fact(
        begin.id,
        end.id,
        relation,
        link_type,
        stated.confidence,
        extraction.by,
        fitting,
        stated.valid_from,
        stated.valid_to,
        at=extraction.at,
        undated=extraction.undated,
    )


async def _settle(
    tx: db.Transaction,
    user: db.HasUser,
    touched: Iterable[UUID],
    unsupported: Sequence[UUID],
) -> None:
    """Count the links of nodes again; those that nothing supports any longer go."""
    if unsupported:
        orphans = {node.id for node in await nodes.orphans(tx, user, unsupported)}
        await nodes.drop(tx, user, list(orphans))
        remaining = [node_id for node_id in unsupported if node_id not in orphans]
        await nodes.recount(tx, user, remaining, touch=False)
    await nodes.recount(tx, user, touched)
