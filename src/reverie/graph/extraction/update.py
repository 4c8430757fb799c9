"""What a record says becomes nodes and links: in one transaction, as often as the
record is read, with one result.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.graph import links, nodes, relations
from reverie.graph.extraction import record_fields
from reverie.graph.resolution import keys

OWNER = ""
"""Stands for the owner as the subject or object of a statement."""

_MOST_PEOPLE = 60


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """Something that a text names: a known node by its `key`, or what is to become one."""

    kind: nodes.Kind
    name: str
    type: str = ""
    description: str = ""
    key: str = ""
    confidence: float = 0.7
    ordinal: int | None = None


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
    is the record's own time.
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


@dataclass(slots=True)
class _Found:
    """The nodes of a reading, by what it calls them, and the links that were made."""

    by_alias: dict[str, list[nodes.Node]]
    gone: set[tuple[nodes.Kind, str]]
    by_name: dict[str, nodes.Node] = field(default_factory=dict[str, nodes.Node])
    ends: dict[str, dict[UUID, tuple[UUID, float, Mapping[str, Any], int | None]]] = (
        field(
            default_factory=dict[
                str, dict[UUID, tuple[UUID, float, Mapping[str, Any], int | None]]
            ]
        )
    )
    kept: list[UUID] = field(default_factory=list[UUID])
    touched: set[UUID] = field(default_factory=set[UUID])

    def end(
        self,
        relation: str,
        node: nodes.Node,
        told: Mapping[str, Any],
        confidence: float,
        ordinal: int | None,
    ) -> None:
        self.touched.add(node.id)
        self.ends.setdefault(relation, {}).setdefault(
            node.id, (node.id, confidence, told, ordinal)
        )

    def called(self, alias: str, kind: nodes.Kind) -> list[nodes.Node]:
        return [node for node in self.by_alias.get(alias, ()) if node.kind == kind]

    def call(self, alias: str, node: nodes.Node) -> None:
        kept = self.by_alias.setdefault(alias, [])
        kept[:] = [node if one.id == node.id else one for one in kept]
        if node not in kept:
            kept.append(node)


async def learn(tx: db.Transaction, user: db.HasUser, reading: Extraction) -> None:
    """Make the graph say what this reading says of a record, and no more of what its
    reader said before.
    """
    await nodes.bump(tx, user)
    source = await nodes.source(
        tx,
        user,
        domain=reading.domain,
        record_id=reading.record_id,
        title=reading.title,
    )
    if source is None:
        return
    aliases = _aliases(reading)
    found = _Found(
        await nodes.find(tx, user, aliases), await nodes.gone(tx, user, aliases)
    )
    await _fields(tx, user, reading, found)
    for named in reading.named:
        await _named(tx, user, reading, found, named)
    await _mentions(tx, user, reading, found, source)
    if any(OWNER in (one.subject, one.object) for one in reading.stated) and (
        mine := await nodes.owner(tx, user)
    ):
        found.by_name[OWNER] = mine
    for stated in reading.stated:
        await _fact(tx, user, reading, found, stated, "extracted")
    lost = await links.withdraw(
        tx, user, reading.record_id, by=reading.by, kept=found.kept
    )
    # A record that says nothing is no source.
    silent = [] if found.kept else [source]
    await _settle(tx, user, [*found.touched, source], [*lost, *silent])


async def _fields(
    tx: db.Transaction, user: db.HasUser, reading: Extraction, found: _Found
) -> None:
    """Whom the record's fields name, and where they work."""
    people = reading.fields.people[:_MOST_PEOPLE]
    for one in people:
        await _person(tx, user, reading, found, one)
    for organisation in reading.fields.organisations:
        await _organisation(tx, user, found, organisation)
    for one in people:
        if one.works_at:
            told = {"job_title": one.job_title} if one.job_title else {}
            stated = StatedFact(one.name, "works_at", one.works_at, told, 0.95)
            await _fact(tx, user, reading, found, stated, "structural")


async def _mentions(
    tx: db.Transaction,
    user: db.HasUser,
    reading: Extraction,
    found: _Found,
    source: UUID,
) -> None:
    """The links from the record to everything that it names, other records among it."""
    for record in reading.records:
        other = await nodes.source(
            tx,
            user,
            domain=record.domain,
            record_id=record.record_id,
            title=record.title,
        )
        if other is not None and other != source:
            found.touched.add(other)
            found.ends.setdefault("relates_to", {})[other] = (other, 1.0, {}, None)
    link_type: links.LinkType = "structural" if reading.by == "system" else "extracted"
    for relation, ends in found.ends.items():
        found.kept += await links.mention(
            tx,
            user,
            source,
            reading.record_id,
            list(ends.values()),
            relation=relation,
            link_type=link_type,
            by=reading.by,
        )


async def unlearn(tx: db.Transaction, user: db.HasUser, record_id: UUID) -> None:
    """A record is gone: so is what it alone said."""
    await nodes.bump(tx, user)
    source = await nodes.source_of(tx, user, record_id)
    lost = await links.withdraw(tx, user, record_id)
    await _settle(tx, user, [], [*lost, source] if source else lost)


async def owner(
    tx: db.Transaction, user: db.HasUser, *, name: str, emails: Sequence[str] = ()
) -> nodes.Node | None:
    """The owner's own node: the one there is, the one of the same address or name, or a
    new one.
    """
    await nodes.bump(tx, user)
    alias, mails = keys.normalised(name), [one.strip().lower() for one in emails]
    found = await nodes.find(tx, user, [alias, *mails])
    people = [
        node
        for one in (*mails, alias)
        for node in found.get(one, ())
        if node.kind == "person"
    ]
    node = next((one for one in people if one.is_owner), None) or next(
        iter(people), None
    )
    node = node or await nodes.add(
        tx,
        user,
        nodes.NodeDraft("person", name, emails=emails, by="user", is_owner=True),
    )
    if node is None:
        return None
    await nodes.also(tx, user, node.id, names_=[name], emails=mails)
    await nodes.own(tx, user, node.id)
    return await nodes.get(tx, user, node.id)


async def _settle(
    tx: db.Transaction, user: db.HasUser, touched: Iterable[UUID], lost: Sequence[UUID]
) -> None:
    if lost:
        gone = {one.id for one in await nodes.orphans(tx, user, lost)}
        await nodes.drop(tx, user, list(gone))
        await nodes.recount(
            tx, user, [one for one in lost if one not in gone], touch=False
        )
    await nodes.recount(tx, user, touched)


def _aliases(reading: Extraction) -> list[str]:
    people, organisations = reading.fields.people, reading.fields.organisations
    called = [one.name for one in (*people, *organisations, *reading.named)] + [
        one.works_at for one in people
    ]
    mails = [mail for one in people for mail in one.emails]
    return [
        one for one in dict.fromkeys([*map(keys.normalised, called), *mails]) if one
    ]


async def _person(
    tx: db.Transaction,
    user: db.HasUser,
    reading: Extraction,
    found: _Found,
    one: record_fields.Person,
) -> None:
    """By address first, then by name; of two people of one name, each keeps to the
    addresses it has.
    """
    alias = keys.normalised(one.name)
    if not alias or len(one.name) > nodes.LONGEST_NAME:
        return
    known = any(found.called(mail, "person") for mail in one.emails)
    if not known and any(("person", mail) in found.gone for mail in one.emails):
        return
    if (
        not known
        and found.called(alias, "entity")
        and not found.called(alias, "person")
    ):
        await _organisation(
            tx, user, found, record_fields.Organisation(one.name, role=one.role)
        )
        return
    node = await _whose(tx, user, found, one)
    if node is None:
        return
    own_card = reading.domain == "contact"
    told = dict(one.properties) if own_card else {}
    rename = "@" in node.name and "@" not in one.name
    if told or rename:
        node = await nodes.change(
            tx, user, node, properties=told, name=one.name if rename else node.name
        )
    called = [alias, *map(keys.normalised, one.names), *one.emails]
    if not all(
        any(kept.id == node.id for kept in found.called(a, "person")) for a in called
    ):
        await nodes.also(
            tx, user, node.id, names_=[one.name, *one.names], emails=one.emails
        )
    for name in called:
        found.call(name, node)
    found.by_name[alias] = node
    found.end(one.relation, node, {"role": one.role} if one.role else {}, 1.0, None)


async def _whose(
    tx: db.Transaction, user: db.HasUser, found: _Found, one: record_fields.Person
) -> nodes.Node | None:
    for mail in one.emails:
        for node in found.called(mail, "person"):
            return node
    alias = keys.normalised(one.name)
    namesakes = found.called(alias, "person")
    free = [
        node
        for node in namesakes
        if not one.emails or not await _has_address(tx, user, node)
    ]
    if len(free) == 1 or (free and not one.emails and len(namesakes) == 1):
        return free[0]
    if not one.emails and (namesakes or ("person", alias) in found.gone):
        # several of this name, and nothing tells which; or somebody who was deleted
        return None
    new = nodes.NodeDraft(
        "person", one.name, emails=one.emails, apart=one.emails[0] if namesakes else ""
    )
    return await nodes.add(tx, user, new)


async def _has_address(tx: db.Transaction, user: db.HasUser, node: nodes.Node) -> bool:
    return any(kind == "email" for _, kind in await nodes.aliases(tx, user, node.id))


async def _organisation(
    tx: db.Transaction, user: db.HasUser, found: _Found, one: record_fields.Organisation
) -> None:
    node = await _entity(tx, user, found, one.name, one.type, dict(one.properties))
    if node is not None:
        found.end("mentions", node, {"role": one.role} if one.role else {}, 1.0, None)


async def _entity(
    tx: db.Transaction,
    user: db.HasUser,
    found: _Found,
    name: str,
    type_: str,
    properties: Mapping[str, Any],
) -> nodes.Node | None:
    alias = keys.normalised(name)
    node = next(iter(found.called(alias, "entity")), None)
    if (
        node is None
        and alias
        and len(name) <= nodes.LONGEST_NAME
        and ("entity", alias) not in found.gone
    ):
        node = await nodes.add(
            tx, user, nodes.NodeDraft("entity", name, type_, properties=properties)
        )
    if node is not None:
        found.call(alias, node)
        found.by_name.setdefault(alias, node)
    return node


async def _named(
    tx: db.Transaction,
    user: db.HasUser,
    reading: Extraction,
    found: _Found,
    one: NamedEntity,
) -> None:
    alias = keys.normalised(one.name)
    if not alias or len(one.name) > nodes.LONGEST_NAME:
        return
    there = found.called(alias, one.kind)
    node = (
        next((node for node in there if node.key == one.key), None) if one.key else None
    )
    if node is None and one.key:
        node = await nodes.by_key(tx, user, one.key)
    there = there or found.by_alias.get(
        alias, []
    )  # what it is, others know better than a text
    if node is None and len(there) == 1:
        node = there[0]
    if node is None and len(there) > 1:
        return  # several of this name, and nothing tells which
    if node is None and not one.key and (one.kind, alias) not in found.gone:
        new = nodes.NodeDraft(
            one.kind, one.name, one.type, one.description, by=reading.by
        )
        node = await nodes.add(tx, user, new)
    if node is None:
        return
    if one.description and not node.description:
        node = await nodes.change(tx, user, node, description=one.description)
    found.call(alias, node)
    found.by_name.setdefault(alias, node)
    found.end("mentions", node, {}, one.confidence, one.ordinal)


async def _fact(
    tx: db.Transaction,
    user: db.HasUser,
    reading: Extraction,
    found: _Found,
    stated: StatedFact,
    link_type: links.LinkType,
) -> None:
    """A fact about two names that both have a node; what the relation does not allow is
    left out.
    """
    begin = found.by_name.get(keys.normalised(stated.subject))
    end = found.by_name.get(keys.normalised(stated.object))
    if begin is None or end is None or begin.id == end.id:
        return
    relation, properties = stated.relation, dict(stated.properties)
    if relation not in relations.RELATIONS:
        properties["relationship_type"] = relation.replace("_", " ")
        relation = (
            "has_relationship_with"
            if {begin.kind, end.kind} == {"person"}
            else "relates_to"
        )
    told = relations.fitting(relation, begin.kind, end.kind, properties)
    if told is None:
        return
    fact = links.Fact(
        begin.id,
        end.id,
        relation,
        link_type,
        stated.confidence,
        reading.by,
        told,
        stated.valid_from,
        stated.valid_to,
        at=reading.at,
    )
    made = await links.relate(
        tx, user, fact, links.Evidence(reading.record_id, stated.ordinal)
    )
    if made is not None:
        found.kept.append(made.id)
        found.touched |= {begin.id, end.id}
