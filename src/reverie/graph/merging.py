"""Two nodes that are one: merged by a person, undone by a person; a program only ever
suggests.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from reverie import db, errors
from reverie.graph import links, nodes


@dataclass(frozen=True, slots=True)
class MergeEntry:
    """One merge, as it is remembered."""

    id: UUID
    winner_id: UUID
    loser_id: UUID
    by: str
    changes: dict[str, Any]
    at: datetime
    undone_at: datetime | None


_COLUMNS = "id, winner_id, loser_id, by, changes, at, undone_at"
_INSERT = f"""
INSERT INTO merge (user_id, winner_id, loser_id, by, changes) VALUES (%s, %s, %s, %s, '{{}}') RETURNING {_COLUMNS}
"""
_CHANGES = "UPDATE merge SET changes = %s WHERE user_id = %s AND id = %s"
_GET = f"SELECT {_COLUMNS} FROM merge WHERE user_id = %s AND id = %s FOR UPDATE"
_LATER = f"SELECT {_COLUMNS} FROM merge WHERE user_id = %s AND undone_at IS NULL AND id > %s ORDER BY id"
_UNDONE = "UPDATE merge SET undone_at = now() WHERE user_id = %s AND id = %s"
_HISTORY = f"SELECT {_COLUMNS} FROM merge WHERE user_id = %s AND winner_id = %s ORDER BY at, id"
_APART = """
INSERT INTO apart (user_id, first_id, second_id) VALUES (%s, least(%s, %s), greatest(%s, %s)) ON CONFLICT DO NOTHING
"""
_KEPT_APART = "SELECT first_id, second_id FROM apart WHERE user_id = %s"


async def merge(
    tx: db.Transaction, user: db.HasUser, *, winner: UUID, loser: UUID, by: str
) -> MergeEntry:
    """Make one node of two: every link, name and address of the loser's is the
    winner's. Raises NotFound, Invalid.
    """
    if winner == loser:
        raise errors.Invalid("A node cannot be merged with itself.")
    await nodes.bump(tx, user)
    kept, gone = await nodes.get(tx, user, winner), await nodes.get(tx, user, loser)
    if kept.kind != gone.kind:
        raise errors.Invalid(
            f"A {gone.kind} cannot become a {kept.kind}.",
            hint="Only nodes of one kind are merged.",
        )
    if kept.kind == "source":
        raise errors.Invalid("A source is one record: it is not merged.")
    if gone.is_owner and not kept.is_owner:
        raise errors.Invalid(
            "The owner's own node stays.", hint="Merge the other one into it."
        )
    made = await tx.one(MergeEntry, _INSERT, (user.user_id, winner, loser, by))
    if made is None:
        raise errors.ReverieError("The merge was not kept.")
    own = {alias for alias, _ in await nodes.aliases(tx, user, winner)}
    theirs = [
        (alias, kind)
        for alias, kind in await nodes.aliases(tx, user, loser)
        if alias not in own
    ]
    await nodes.also(
        tx,
        user,
        winner,
        names_=[alias for alias, kind in theirs if kind == "name"],
        emails=[alias for alias, kind in theirs if kind == "email"],
    )
    added = {
        name: value
        for name, value in gone.properties.items()
        if name not in kept.properties
    }
    described = bool(gone.description and not kept.description)
    await nodes.change(
        tx,
        user,
        kept,
        properties=added,
        description=gone.description if described else kept.description,
    )
    moved = await links.moved(tx, user, loser=loser, winner=winner, merge=made.id)
    await nodes.merged(tx, user, loser, winner)
    changes = {
        "links": moved,
        "aliases": [alias for alias, _ in theirs],
        "properties": sorted(added),
        "description": described,
    }
    await tx.run(_CHANGES, (db.json(changes), user.user_id, made.id))
    await nodes.recount(tx, user, await _ends(tx, user, moved) + [winner, loser])
    return MergeEntry(made.id, winner, loser, by, changes, made.at, None)


async def undo(tx: db.Transaction, user: db.HasUser, merge_id: UUID) -> MergeEntry:
    """Make two of one again, each with the links it had; what came since stays with the
    winner.

    Raises NotFound, Conflict.
    """
    await nodes.bump(tx, user)
    made = await tx.one(MergeEntry, _GET, (user.user_id, merge_id))
    if made is None or made.undone_at is not None:
        raise errors.NotFound("There is no such merge, or it was undone.")
    later = await tx.all(MergeEntry, _LATER, (user.user_id, made.id))
    if any(_touched(one) & _touched(made) for one in later):
        raise errors.Conflict(
            "One of the two, or one of their links, was merged again since.",
            hint="Undo the later merge first.",
        )
    winner = await nodes.get(tx, user, made.winner_id)
    await nodes.merged(tx, user, made.loser_id, None)
    loser = await nodes.get(tx, user, made.loser_id)
    touched = await links.put_back(tx, user, made.changes["links"], loser=loser.id)
    await nodes.unalias(tx, user, made.winner_id, made.changes["aliases"])
    # What somebody has changed since is not the loser's any longer.
    given = [
        name
        for name in made.changes["properties"]
        if winner.properties.get(name) == loser.properties.get(name)
    ]
    described = made.changes["description"] and winner.description == loser.description
    await nodes.change(
        tx,
        user,
        winner,
        properties=dict.fromkeys(given),
        description="" if described else winner.description,
    )
    await tx.run(_UNDONE, (user.user_id, made.id))
    await nodes.recount(tx, user, [*touched, made.winner_id, made.loser_id])
    return made


async def history(
    tx: db.Transaction, user: db.HasUser, node_id: UUID
) -> list[MergeEntry]:
    """What was merged into a node, the undone ones too."""
    return await tx.all(MergeEntry, _HISTORY, (user.user_id, node_id))


async def keep_apart(
    tx: db.Transaction, user: db.HasUser, first: UUID, second: UUID
) -> None:
    """Somebody says that these are two: they are suggested no more."""
    if first == second:
        raise errors.Invalid("A node is itself.")
    await nodes.bump(tx, user)
    await nodes.get(tx, user, first)
    await nodes.get(tx, user, second)
    await tx.run(_APART, (user.user_id, first, second, first, second))


async def kept_apart(
    tx: db.Transaction, user: db.HasUser
) -> frozenset[tuple[UUID, UUID]]:
    """The pairs that are two, the lower id first."""
    return frozenset(
        (row["first_id"], row["second_id"])
        for row in await tx.rows(_KEPT_APART, (user.user_id,))
    )


def _touched(merge: MergeEntry) -> set[str]:
    """The nodes and links that a merge is about."""
    done = merge.changes["links"]
    doubles = {one["shared"]["link"] for one in done if "shared" in one}
    return {
        str(merge.winner_id),
        str(merge.loser_id),
        *doubles,
        *(one["link"] for one in done),
    }


async def _ends(
    tx: db.Transaction, user: db.HasUser, moved: list[dict[str, Any]]
) -> list[UUID]:
    return await links.ends(tx, user, [UUID(one["link"]) for one in moved])
