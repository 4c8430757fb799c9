"""Relation extraction by a language model (LLM), through tools that check every word.

The third step of ingestion: the model links what was found in a text.
"""

import importlib
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from reverie import db, errors
from reverie.graph import attestations, links, lookups, nodes, relations
from reverie.graph.extraction import update
from reverie.graph.resolution import keys
from reverie.llm import chat

log = logging.getLogger(__name__)

# Limits of one question, set by hand: calls of tools, and characters.
_MOST_CALLS = 8
_LONGEST = 12_000
_LONGEST_DESCRIPTION, _LONGEST_NOTES = 500, 1000
# How sure a model's relation is, set by hand.
_CONFIDENCE = 0.7
# What the fields of records say, no model does.
_BY_FIELDS = ("mentions", "sourced_from", "attended_by")
OWNER = "owner"


@dataclass(frozen=True, slots=True)
class _Tools:
    """What the model may call; `nodes_by_name` are the nodes that may be named, by
    their normalised names.
    """

    database: db.Database
    user: db.HasUser
    extraction: update.Extraction
    nodes_by_name: Mapping[str, nodes.Node]

    def node(self, name: str) -> nodes.Node:
        """The node of a name. Raises Invalid."""
        node = self.nodes_by_name.get(keys.normalised(name))
        if node is None:
            listed = ", ".join(other.name for other in self.nodes_by_name.values())
            raise errors.Invalid(
                f"`{name[:60]}` is not one of the things listed.",
                hint=f"They are: {listed}.",
            )
        return node

    async def create_relationship(
        self,
        from_name: str,
        relation: str,
        to_name: str,
        properties: dict[str, Any] | None = None,
    ) -> str:
        """Say how two listed things hang together. Relations: see the list in the
        message.
        """
        return await _answered(
            self._relate(from_name, relation, to_name, properties or {})
        )

    async def update_relationship(
        self, from_name: str, relation: str, to_name: str, properties: dict[str, Any]
    ) -> str:
        """Add properties to a relation between two listed things."""
        return await _answered(self._relate(from_name, relation, to_name, properties))

    async def update_node(
        self, name: str, description: str = "", notes: str = ""
    ) -> str:
        """Add to a listed thing what the text says of it: one sentence as description,
        or notes.
        """
        return await _answered(self._describe(name, description, notes))

    async def _relate(
        self, from_name: str, relation: str, to_name: str, properties: Mapping[str, Any]
    ) -> str:
        begin, end = self.node(from_name), self.node(to_name)
        checked = relations.checked(relation, begin.kind, end.kind, properties)
        fact = links.Fact(
            begin.id,
            end.id,
            relation,
            "extracted",
            _CONFIDENCE,
            "model",
            checked,
            at=self.extraction.at,
        )
        evidence = links.Evidence(self.extraction.record_id)
        async with self.database.transaction(self.user) as tx:
            await nodes.bump(tx, self.user)
            link = await links.relate(tx, self.user, fact, evidence)
            await nodes.recount(tx, self.user, [begin.id, end.id])
        return "kept" if link else "this was deleted by the owner"

    async def _describe(self, name: str, description: str, notes: str) -> str:
        node = self.node(name)
        async with self.database.transaction(self.user) as tx:
            await nodes.bump(tx, self.user)
            node = await nodes.get(tx, self.user, node.id)
            kept = _with_notes(str(node.properties.get("notes") or ""), notes)
            await nodes.change(
                tx,
                self.user,
                node,
                description=node.description or description[:_LONGEST_DESCRIPTION],
                properties={"notes": kept or None},
            )
            properties = {"notes": notes[:_LONGEST_NOTES]} if notes else {}
            told = attestations.Attestation(
                node.id,
                description=description[:_LONGEST_DESCRIPTION],
                properties=properties,
            )
            record_id = self.extraction.record_id
            await attestations.add(tx, self.user, record_id, told, by="model")
        return "kept"


def _with_notes(notes: str, added: str) -> str:
    """Notes with further ones, unless they are among them."""
    if added in notes:
        return notes
    return "\n".join(part for part in (notes, added[:_LONGEST_NOTES]) if part)


async def relate(
    database: db.Database,
    models: chat.Models,
    user: db.HasUser,
    extraction: update.Extraction,
    text: str,
    level: chat.Level,
) -> None:
    """Let the model say how the things of an extraction hang together. A bad answer
    costs nothing but itself.

    Raises ModelUnavailable, BudgetSpent and Confined.
    """
    async with database.transaction(user) as tx:
        nodes_by_name = await _nodes_by_name(tx, user, extraction)
        ids = [node.id for node in nodes_by_name.values()]
        known_links = await lookups.among(tx, user, ids)
    if len(nodes_by_name) < 2:
        return
    request = chat.ChatRequest(
        (
            chat.Message("system", _prompt()),
            chat.Message("user", _message(text, nodes_by_name, known_links)),
        ),
        "relating",
        domain=extraction.domain,
        record=extraction.record_id,
        level=level,
        lane="bulk",
    )
    # Takes a second, and only where a model is asked.
    agents = importlib.import_module("reverie.llm.agents")
    own = _Tools(database, user, extraction, nodes_by_name)
    tools = (own.create_relationship, own.update_relationship, own.update_node)
    try:
        await agents.run(models, user, request, tools=tools, most_calls=_MOST_CALLS)
    except errors.Invalid as useless:
        log.info(
            "the model tied nothing in %s: %s", extraction.record_id, useless.message
        )


async def _nodes_by_name(
    tx: db.Transaction, user: db.HasUser, extraction: update.Extraction
) -> dict[str, nodes.Node]:
    """The nodes of what was extracted, of several of a name the first; and the owner."""
    names = [keys.normalised(entity.name) for entity in extraction.named]
    by_alias = await nodes.find(tx, user, names)
    nodes_by_name = {
        keys.normalised(namesakes[0].name): namesakes[0]
        for namesakes in by_alias.values()
        if namesakes
    }
    owner = await nodes.owner(tx, user)
    if owner is not None:
        nodes_by_name[OWNER] = owner
    return nodes_by_name


def _prompt() -> str:
    prompts = resources.files("reverie.graph.extraction").joinpath("prompts")
    return prompts.joinpath("relate.md").read_text("utf-8")


def _message(
    text: str,
    nodes_by_name: Mapping[str, nodes.Node],
    known_links: Sequence[links.Link],
) -> str:
    """The text, the things by name, what links them already, and the relations."""
    names = {node.id: name for name, node in nodes_by_name.items()}
    things = [_described(name, node) for name, node in nodes_by_name.items()]
    triples = [
        f"- {names[link.from_id]} {link.relation} {names[link.to_id]}"
        for link in known_links
    ]
    allowed = [name for name in relations.RELATIONS if name not in _BY_FIELDS]
    return (
        f"Text:\n<record>\n{text[:_LONGEST]}\n</record>\n\n"
        f"Things:\n{_lines(things)}\n\n"
        f"Known already:\n{_lines(triples) or '- nothing'}\n\n"
        f"Relations: {', '.join(allowed)}."
    )


def _described(name: str, node: nodes.Node) -> str:
    shown = OWNER if name == OWNER else node.name
    line = f"- {shown} ({node.type or node.kind})"
    return f"{line}: {node.description}" if node.description else line


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines)


async def _answered(work: Awaitable[str]) -> str:
    """What a tool says: a refusal is told to the model, which may try again."""
    try:
        return await work
    except errors.Invalid as refused:
        return f"refused: {refused.message} {refused.hint}"
