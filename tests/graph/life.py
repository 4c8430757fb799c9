"""A small graph by hand and by readings, and what is asked of it, for the tests of the
graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from reverie import db
from reverie.access import callers
from reverie.graph import links, lookups, nodes
from reverie.graph.extraction import record_fields, update


def day(text: str) -> datetime:
    """Midnight of a day, such as 2026-03-01."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True)
class Life:
    """A graph with its owner; each call is a transaction."""

    database: db.Database
    user: callers.Caller

    async def node(
        self, name: str, kind: nodes.Kind = "person", **values: Any
    ) -> nodes.Node:
        async with self.database.transaction(self.user) as tx:
            made = await nodes.add(tx, self.user, nodes.NodeDraft(kind, name, **values))
        assert made is not None
        return made

    async def get(self, node_id: UUID) -> nodes.Node:
        async with self.database.transaction(self.user) as tx:
            return await nodes.get(tx, self.user, node_id)

    async def named(self, name: str) -> nodes.Node:
        async with self.database.transaction(self.user) as tx:
            return await lookups.named(tx, self.user, name)

    async def relate(
        self,
        begin: nodes.Node,
        relation: str,
        end: nodes.Node,
        *,
        record: UUID | None = None,
        **values: Any,
    ) -> links.Link | None:
        async with self.database.transaction(self.user) as tx:
            proof = links.Evidence(record, 1) if record else None
            made = await links.relate(
                tx, self.user, links.Fact(begin.id, end.id, relation, **values), proof
            )
            await nodes.recount(tx, self.user, [begin.id, end.id])
            return made

    async def learn(self, reading: update.Extraction) -> None:
        async with self.database.transaction(self.user) as tx:
            await update.apply(tx, self.user, reading)

    async def unlearn(self, record_id: UUID) -> None:
        async with self.database.transaction(self.user) as tx:
            await update.withdraw(tx, self.user, record_id)

    async def version(self) -> int:
        async with self.database.transaction(self.user) as tx:
            return await nodes.version(tx, self.user)

    async def links_of(self, node: nodes.Node, **values: Any) -> list[links.Link]:
        async with self.database.transaction(self.user) as tx:
            return await lookups.links_of(tx, self.user, [node.id], **values)

    async def rows(self, sql: Any, *params: object) -> list[dict[str, Any]]:
        async with self.database.transaction(self.user) as tx:
            return await tx.rows(sql, params)

    async def people(self) -> list[str]:
        """The names of all live persons, sorted."""
        async with self.database.transaction(self.user) as tx:
            found, _ = await lookups.listed(tx, self.user, kind="person", limit=1000)
        return sorted(one.name for one in found)

    async def history(
        self, node: nodes.Node, relation: str
    ) -> list[tuple[str, str, str]]:
        """(name, from, to) of all intervals of a relation, by the day; `` for an open
        end.
        """
        found = await self.links_of(node, ended=True)
        told = [
            one for one in found if one.relation == relation and one.from_id == node.id
        ]
        names = {one.to_id: (await self.get(one.to_id)).name for one in told}

        def shown(moment: datetime | None) -> str:
            return f"{moment.astimezone(UTC):%Y-%m-%d}" if moment else ""

        return sorted(
            (
                (names[one.to_id], shown(one.valid_from), shown(one.valid_to))
                for one in told
            ),
            key=lambda one: one[1],
        )

    async def snapshot(self) -> dict[str, list[dict[str, Any]]]:
        """Everything that is kept of this graph, but for when it was touched."""
        async with self.database.transaction(self.user) as tx:
            return {
                "node": await tx.rows(
                    "SELECT id, key, kind, name, type, description, properties, is_owner, created_by, record_id, links,"
                    " hash, merged_into, deleted_at FROM node ORDER BY id"
                ),
                "alias": await tx.rows("SELECT * FROM alias ORDER BY alias, node_id"),
                "link": await tx.rows("SELECT * FROM link ORDER BY id"),
                "evidence": await tx.rows(
                    "SELECT * FROM evidence ORDER BY link_id, record_id, by"
                ),
            }


def reading(
    *people: record_fields.Person,
    record: UUID | None = None,
    named: Sequence[update.NamedEntity] = (),
    stated: Sequence[update.StatedFact] = (),
    organisations: Sequence[record_fields.Organisation] = (),
    **values: Any,
) -> update.Extraction:
    """What a reader got out of a record."""
    values = {"domain": "note", "title": "A record", "at": day("2026-01-01")} | values
    return update.Extraction(
        record_id=record or uuid4(),
        fields=record_fields.FieldEntities(people, organisations),
        named=named,
        stated=stated,
        **values,
    )


def lives_in(
    who: str, where: str, at: str, record: UUID | None = None, **values: Any
) -> update.Extraction:
    """A note that says where somebody lives."""
    return reading(
        record=record,
        named=[
            update.NamedEntity("person", who),
            update.NamedEntity("entity", where, "place"),
        ],
        stated=[update.StatedFact(who, "located_in", where, **values)],
        at=day(at),
    )
