"""The third step of ingestion: a model ties together what was found in a text, by tools
that check every word of it.
"""

import importlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from reverie import db, errors
from reverie.graph import links, lookups, nodes, relations
from reverie.graph.extraction import update
from reverie.graph.resolution import keys
from reverie.llm import chat

log = logging.getLogger(__name__)

_TURNS = 8
_LONGEST = 12_000
OWNER = "owner"


@dataclass(frozen=True, slots=True)
class _Desk:
    """What the tools work on: the nodes that may be named, by their normalised names."""

    database: db.Database
    user: db.HasUser
    reading: update.Extraction
    there: Mapping[str, nodes.Node]

    def node(self, name: str) -> nodes.Node:
        found = self.there.get(keys.normalised(name))
        if found is None:
            told = ", ".join(one.name for one in self.there.values())
            raise errors.Invalid(
                f"`{name[:60]}` is not one of the things listed.",
                hint=f"They are: {told}.",
            )
        return found

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
            self._tied(from_name, relation, to_name, properties or {})
        )

    async def update_relationship(
        self, from_name: str, relation: str, to_name: str, properties: dict[str, Any]
    ) -> str:
        """Add properties to a relation between two listed things."""
        return await _answered(self._tied(from_name, relation, to_name, properties))

    async def update_node(
        self, name: str, description: str = "", notes: str = ""
    ) -> str:
        """Add to a listed thing what the text says of it: one sentence as description,
        or notes.
        """
        return await _answered(self._told(name, description, notes))

    async def _tied(
        self, from_name: str, relation: str, to_name: str, properties: Mapping[str, Any]
    ) -> str:
        begin, end = self.node(from_name), self.node(to_name)
        told = relations.checked(relation, begin.kind, end.kind, properties)
        fact = links.Fact(
            begin.id,
            end.id,
            relation,
            "extracted",
            0.7,
            "model",
            told,
            at=self.reading.at,
        )
        async with self.database.transaction(self.user) as tx:
            await nodes.bump(tx, self.user)
            made = await links.relate(
                tx, self.user, fact, links.Evidence(self.reading.record_id)
            )
            await nodes.recount(tx, self.user, [begin.id, end.id])
        return "kept" if made else "this was deleted by the owner"

    async def _told(self, name: str, description: str, notes: str) -> str:
        node = self.node(name)
        async with self.database.transaction(self.user) as tx:
            await nodes.bump(tx, self.user)
            node = await nodes.get(tx, self.user, node.id)
            known = str(node.properties.get("notes") or "")
            added = (
                "\n".join(part for part in (known, notes[:1000]) if part)
                if notes not in known
                else known
            )
            await nodes.change(
                tx,
                self.user,
                node,
                description=node.description or description[:500],
                properties={"notes": added or None},
            )
        return "kept"


async def relate(
    database: db.Database,
    models: chat.Models,
    user: db.HasUser,
    reading: update.Extraction,
    text: str,
    level: chat.Level,
) -> None:
    """Let the model say how the things of a reading hang together. A bad answer costs
    nothing but itself.

    Raises ModelUnavailable, BudgetSpent and Confined.
    """
    async with database.transaction(user) as tx:
        found = await nodes.find(
            tx, user, [keys.normalised(one.name) for one in reading.named]
        )
        there = {
            keys.normalised(one.name): one
            for some in found.values()
            for one in some[:1]
        }
        if owner := await nodes.owner(tx, user):
            there[OWNER] = owner
        known = await lookups.among(tx, user, [one.id for one in there.values()])
    if len(there) < 2:
        return
    desk = _Desk(database, user, reading, there)
    request = chat.ChatRequest(
        (
            chat.Message(
                "system",
                resources.files("reverie.graph.extraction")
                .joinpath("prompts/relate.md")
                .read_text("utf-8"),
            ),
            chat.Message("user", _message(text, there, known)),
        ),
        "relating",
        domain=reading.domain,
        record=reading.record_id,
        level=level,
        lane="bulk",
    )
    agents = importlib.import_module(
        "reverie.llm.agents"
    )  # takes a second, and only where a model is asked
    try:
        tools = (desk.create_relationship, desk.update_relationship, desk.update_node)
        await agents.run(models, user, request, tools=tools, most_calls=_TURNS)
    except errors.Invalid as useless:
        log.info("the model tied nothing in %s: %s", reading.record_id, useless.message)


def _message(
    text: str, there: Mapping[str, nodes.Node], known: Sequence[links.Link]
) -> str:
    by_id = {one.id: name for name, one in there.items()}
    things = "\n".join(
        f"- {OWNER if name == OWNER else one.name} ({one.type or one.kind})"
        + (f": {one.description}" if one.description else "")
        for name, one in there.items()
    )
    ties = (
        "\n".join(
            f"- {by_id[one.from_id]} {one.relation} {by_id[one.to_id]}" for one in known
        )
        or "- nothing"
    )
    allowed = ", ".join(
        name
        for name in relations.RELATIONS
        if name not in ("mentions", "sourced_from", "attended_by")
    )
    return (
        f"Text:\n<record>\n{text[:_LONGEST]}\n</record>\n\nThings:\n{things}\n\nKnown already:\n{ties}\n\n"
        f"Relations: {allowed}."
    )


async def _answered(work: Any) -> str:
    """What a tool says: a refusal is told to the model, which may try again."""
    try:
        return str(await work)
    except errors.Invalid as refused:
        return f"refused: {refused.message} {refused.hint}"
