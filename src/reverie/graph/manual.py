"""Manual edits of the graph: nodes, links, merges made, changed or deleted by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID, uuid4

from reverie import db, errors
from reverie.access import callers
from reverie.graph import (
    attestations,
    links,
    lookups,
    merging,
    node_data,
    nodes,
    relations,
    visibility,
)
from reverie.graph.resolution import keys

KINDS: tuple[nodes.Kind, ...] = ("person", "concept", "entity", "artifact")
# What a node of each kind may tell beside name, type and description.
PROPERTIES: Mapping[nodes.Kind, tuple[str, ...]] = {
    "person": (
        "appearance", "situation", "history", "personality", "expertise", "interests", "birthday", "notes",
    ),
    "concept": ("notes",),
    "entity": ("notes",),
    "artifact": ("content", "notes"),
}  # fmt: skip
# Characters of a text, texts of a list, links of a node; set by hand.
_LONGEST_TEXT = 4000
_MOST_TEXTS = 100
_MOST_LINKS = 20_000
_CARD = "SELECT domain, title FROM card WHERE user_id = %s AND record_id = %s"


async def create(
    tx: db.Transaction, caller: callers.Caller, new: nodes.NodeDraft
) -> nodes.Node:
    """Make a node. A second person of a name needs an address of their own. Raises
    Invalid, Conflict.
    """
    await nodes.bump(tx, caller)
    mails = _addresses(new)
    new = replace(
        new,
        properties=properties(new.kind, new.properties),
        emails=mails,
        by=by(caller),
    )
    for existing in await _of_address(tx, caller, mails):
        refusal = "Somebody with this address is in the graph already."
        if not await _stands_apart(tx, caller, existing, new, refusal):
            return await _adopted(tx, caller, existing, new)
        new = replace(new, apart=str(uuid4()))
    existing = await nodes.by_key(tx, caller, node_data.key_of(caller, new))
    if existing is not None and mails:
        new = replace(new, apart=mails[0])
    elif existing is not None:
        refusal = f"There is a {existing.kind} of this name already."
        if not await _stands_apart(tx, caller, existing, new, refusal):
            return await _adopted(tx, caller, existing, new)
        new = replace(new, apart=str(uuid4()))
    node = await nodes.add(tx, caller, new)
    if node is None:
        raise errors.Conflict(
            "A node of this name was deleted by hand or erased, and stays away.",
            hint="Give it another name.",
        )
    await _attest(tx, caller, node.id, new)
    await nodes.recount(tx, caller, [node.id])
    return node


async def _of_address(
    tx: db.Transaction, user: db.HasUser, mails: Sequence[str]
) -> list[nodes.Node]:
    """The people of some addresses, each once."""
    found = await nodes.find(tx, user, mails)
    people = [
        node for mail in mails for node in found.get(mail, ()) if node.kind == "person"
    ]
    return list({node.id: node for node in people}.values())


async def _stands_apart(
    tx: db.Transaction,
    caller: callers.Caller,
    existing: nodes.Node,
    new: nodes.NodeDraft,
    refusal: str,
) -> bool:
    """Whether what is to be made gets a node beside one that has its name or address.

    Raises Conflict for whoever may know that it has. Whoever sees the node by another
    name alone must not learn that both are one; whoever does not see it makes it.
    """
    if await _may_know(tx, caller, existing, new):
        raise _taken(refusal, await visibility.get(tx, caller, existing.id))
    return bool(await visibility.several(tx, caller, [existing.id]))


async def _adopted(
    tx: db.Transaction,
    caller: callers.Caller,
    existing: nodes.Node,
    new: nodes.NodeDraft,
) -> nodes.Node:
    """A node that is there, and that the caller does not see: what they say of it is
    kept beside what is known.
    """
    added = {
        name: value
        for name, value in new.properties.items()
        if name not in existing.properties
    }
    description = existing.description or new.description
    changed = await nodes.change(
        tx, caller, existing, properties=added, description=description
    )
    await nodes.also(
        tx, caller, existing.id, names_=[new.name, *new.names], emails=new.emails
    )
    await _attest(tx, caller, existing.id, new)
    return changed


async def _may_know(
    tx: db.Transaction,
    caller: callers.Caller,
    existing: nodes.Node,
    new: nodes.NodeDraft,
) -> bool:
    """Whether the caller may know that a node has this name or one of these addresses."""
    if visibility.sees_all(caller):
        return True
    known = {alias for alias, _ in await visibility.aliases(tx, caller, existing.id)}
    if new.emails:
        return not known.isdisjoint(mail.strip().lower() for mail in new.emails)
    return keys.normalised(new.name) in known


async def _attest(
    tx: db.Transaction, caller: callers.Caller, node_id: UUID, said: nodes.NodeDraft
) -> None:
    """Keep what somebody says of a node by hand."""
    told = attestations.Attestation(
        node_id,
        (said.name, *said.names),
        said.emails,
        said.type,
        said.description,
        said.properties,
    )
    await attestations.add(tx, caller, attestations.BY_HAND, told, by=by(caller))


async def change(
    tx: db.Transaction, caller: callers.Caller, node_id: UUID, values: Mapping[str, Any]
) -> nodes.Node:
    """Another name, type or description, and some properties (None takes one away).
    Raises NotFound, Invalid.
    """
    await nodes.bump(tx, caller)
    node = await visibility.get(tx, caller, node_id)
    if node.kind == "source":
        raise errors.Invalid(
            "This node stands for a record.",
            hint="Change the record, and the node follows.",
        )
    changed: Mapping[str, Any] = values.get("properties", {})
    removed = {name: None for name, value in changed.items() if value is None}
    kept = properties(
        node.kind, {name: value for name, value in changed.items() if value is not None}
    )
    # What the caller does not see of it stays.
    complete = await nodes.get(tx, caller, node.id)
    changed_node = await nodes.change(
        tx, caller, complete, **{**values, "properties": {**kept, **removed}}
    )
    said = nodes.NodeDraft(
        node.kind,
        values.get("name", ""),
        values.get("type", ""),
        values.get("description", ""),
        kept,
    )
    await _attest(tx, caller, node.id, said)
    await nodes.recount(tx, caller, [changed_node.id])
    return changed_node


async def delete(
    tx: db.Transaction, caller: callers.Caller, node_id: UUID
) -> nodes.Node:
    """Delete a node: it stays deleted, whatever is read again. Raises NotFound,
    Invalid.
    """
    await nodes.bump(tx, caller)
    node = await visibility.get(tx, caller, node_id)
    keep_owner(node)
    around = await neighbours(tx, caller, node.id)
    await nodes.delete(tx, caller, node.id)
    await nodes.recount(tx, caller, around, touch=False)
    return node


def keep_owner(node: nodes.Node) -> None:
    """Raise Invalid for the owner's own node."""
    if node.is_owner:
        raise errors.Invalid(
            "The owner's own node stays.",
            hint="Its name and properties can be changed.",
        )


async def neighbours(tx: db.Transaction, user: db.HasUser, node_id: UUID) -> list[UUID]:
    """The nodes that share a link with this one."""
    around = await lookups.links_of(tx, user, [node_id], ended=True, limit=_MOST_LINKS)
    ends = dict.fromkeys(end for link in around for end in (link.from_id, link.to_id))
    return [end for end in ends if end != node_id]


async def relate(
    tx: db.Transaction, caller: callers.Caller, fact: links.Fact
) -> visibility.Shown:
    """Link two nodes; an end may be the id of a record, too. Raises NotFound, Invalid."""
    await nodes.bump(tx, caller)
    if fact.from_id == fact.to_id:
        raise errors.Invalid("A link has two different ends.")
    since, until = fact.valid_from, fact.valid_to
    if since is not None and until is not None and until < since:
        raise errors.Invalid("`valid_to` is before `valid_from`.")
    begin = await _end(tx, caller, fact.from_id)
    end = await _end(tx, caller, fact.to_id)
    if begin.id == end.id:
        raise errors.Invalid("A link has two different ends.")
    properties_ = relations.checked(
        fact.relation, begin.kind, end.kind, fact.properties
    )
    stated = replace(
        fact,
        from_id=begin.id,
        to_id=end.id,
        link_type="manual",
        by=by(caller),
        properties=properties_,
        at=None,
    )
    link = await links.relate(tx, caller, stated)
    if link is None:
        raise errors.Conflict("This link was not kept.", hint="Try again.")
    await nodes.recount(tx, caller, [begin.id, end.id])
    return (await visibility.shown(tx, caller, [link]))[0]


async def unlink(
    tx: db.Transaction, caller: callers.Caller, link_id: UUID
) -> links.Link:
    """Delete a link: it stays deleted, whatever is read again. Raises NotFound."""
    await nodes.bump(tx, caller)
    link = await links.get(tx, caller, link_id)
    if not await visibility.shown(tx, caller, [link]):
        raise errors.NotFound(
            "There is no such link.", hint="It may have been deleted."
        )
    await nodes.recount(
        tx, caller, await links.delete(tx, caller, link.id), touch=False
    )
    return link


async def warm(
    tx: db.Transaction, caller: callers.Caller, first: UUID, second: UUID
) -> int:
    """Two records were opened within a minute: says how many links between them warmed.
    Raises NotFound, Invalid.

    What is linked to what stays the same, so the version of the graph does.
    """
    if first == second:
        raise errors.Invalid("Two different records warm the link between them.")
    for record_id in (first, second):
        if await _card(tx, caller, record_id) is None:
            raise errors.NotFound(
                "There is no such record.", hint="It may have been deleted."
            )
    return await links.warm(tx, caller, first, second)


async def merge(
    tx: db.Transaction, caller: callers.Caller, *, winner: UUID, loser: UUID
) -> merging.MergeEntry:
    """Make one node of two. Raises NotFound, Invalid."""
    for node_id in (winner, loser):
        await visibility.get(tx, caller, node_id)
    return await merging.merge(tx, caller, winner=winner, loser=loser, by=caller.label)


async def unmerge(
    tx: db.Transaction, caller: callers.Caller, merge_id: UUID
) -> merging.MergeEntry:
    """Undo a merge of a node that shows. Raises NotFound, Conflict."""
    undone = await merging.undo(tx, caller, merge_id)
    if not await visibility.several(tx, caller, [undone.winner_id]):
        raise merging.missing()  # which takes the undoing back
    return undone


async def keep_apart(
    tx: db.Transaction, caller: callers.Caller, first: UUID, second: UUID
) -> None:
    """These are two, and are suggested no more. Raises NotFound, Invalid."""
    if first == second:
        raise errors.Invalid("Name two different nodes.")
    await nodes.bump(tx, caller)
    first_kind = (await visibility.get(tx, caller, first)).kind
    second_kind = (await visibility.get(tx, caller, second)).kind
    if first_kind != second_kind:
        raise errors.Invalid(f"A {first_kind} and a {second_kind} are two anyway.")
    await merging.keep_apart(tx, caller, first, second)


def by(caller: callers.Caller) -> nodes.By:
    """Who says so, as nodes and links keep it: an agent is a model, everybody else
    speaks for a person.
    """
    return "model" if caller.kind == "agent" else "user"


def properties(kind: nodes.Kind, values: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a node, checked. Raises Invalid with what is allowed."""
    allowed = PROPERTIES.get(kind, ())
    for name, value in values.items():
        if name not in allowed:
            raise errors.Invalid(
                f"A {kind} has no property `{name[:60]}`.",
                hint=f"There are {', '.join(allowed)}.",
            )
        if not _fits(name, value):
            expected = (
                "an object"
                if name == "content"
                else "a text of at most 4,000 characters, or a list of texts"
            )
            raise errors.Invalid(f"`{name}` of a {kind} must be {expected}.")
    return dict(values)


def _fits(name: str, value: Any) -> bool:
    if name == "content":
        return isinstance(value, dict)
    texts = cast(list[Any], value) if isinstance(value, list) else [value]
    return len(texts) <= _MOST_TEXTS and all(
        isinstance(text, str) and len(text) <= _LONGEST_TEXT for text in texts
    )


def _addresses(new: nodes.NodeDraft) -> list[str]:
    mails = [mail.strip().lower() for mail in new.emails]
    if mails and new.kind != "person":
        raise errors.Invalid(
            f"A {new.kind} has no `emails`.", hint="Only a person has."
        )
    for mail in mails:
        if "@" not in mail.strip("@"):
            raise errors.Invalid(
                f"`{mail[:60]}` is no email address.", hint="Such as ana@example.org."
            )
    return list(dict.fromkeys(mails))


async def _end(tx: db.Transaction, caller: callers.Caller, end: UUID) -> nodes.Node:
    """The node of an id, or of a record's id. Raises NotFound."""
    node = (await visibility.several(tx, caller, [end])).get(end)
    if node is not None:
        return node
    card = await _card(tx, caller, end)
    if card is None:
        raise errors.NotFound(
            "There is no such node or record.",
            hint="It may have been deleted or merged.",
        )
    domain, title = card
    node_id = await nodes.source(tx, caller, domain=domain, record_id=end, title=title)
    if node_id is None:
        raise errors.Conflict(
            "The node of this record was deleted by hand, and stays away."
        )
    return await nodes.get(tx, caller, node_id)


async def _card(
    tx: db.Transaction, caller: callers.Caller, record_id: UUID
) -> tuple[str, str] | None:
    """The domain and the title of a record that may be read."""
    rows = await tx.rows(_CARD, (caller.user_id, record_id))
    if not rows or rows[0]["domain"] not in visibility.open_to(caller):
        return None
    return rows[0]["domain"], rows[0]["title"]


def _taken(message: str, existing: nodes.Node) -> errors.Conflict:
    return errors.Conflict(
        message,
        hint=f"It is {existing.id}: change that one.",
        details={"id": str(existing.id), "name": existing.name},
    )
