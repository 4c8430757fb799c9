"""Merge and undo of two nodes that are one (entity resolution), by a person only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from reverie import db, errors
from reverie.graph import evidence, link_rows, links, nodes


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
    kept, gone = await _mergeable(tx, user, winner=winner, loser=loser)
    entry = await tx.one(MergeEntry, _INSERT, (user.user_id, winner, loser, by))
    if entry is None:
        raise errors.ReverieError("The merge was not kept.")
    aliases = await _merge_aliases(tx, user, winner=winner, loser=loser)
    added, described = await _merge_properties(tx, user, kept, gone)
    moved = await _move_links(tx, user, loser=loser, winner=winner, merge=entry.id)
    await nodes.merged(tx, user, loser, winner)
    changes = {
        "links": moved,
        "aliases": aliases,
        "properties": added,
        "description": described,
    }
    await tx.run(_CHANGES, (db.json(changes), user.user_id, entry.id))
    moved_ends = await links.ends(tx, user, [UUID(move["link"]) for move in moved])
    await nodes.recount(tx, user, [*moved_ends, winner, loser])
    return MergeEntry(entry.id, winner, loser, by, changes, entry.at, None)


async def _mergeable(
    tx: db.Transaction, user: db.HasUser, *, winner: UUID, loser: UUID
) -> tuple[nodes.Node, nodes.Node]:
    """Winner and loser, if they may become one. Raises NotFound, Invalid."""
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
    return kept, gone


async def _merge_aliases(
    tx: db.Transaction, user: db.HasUser, *, winner: UUID, loser: UUID
) -> list[str]:
    """The winner is found by the loser's names and addresses too; returns the new ones."""
    own = {alias for alias, _ in await nodes.aliases(tx, user, winner)}
    new = [
        (alias, kind)
        for alias, kind in await nodes.aliases(tx, user, loser)
        if alias not in own
    ]
    await nodes.also(
        tx,
        user,
        winner,
        names_=[alias for alias, kind in new if kind == "name"],
        emails=[alias for alias, kind in new if kind == "email"],
    )
    return [alias for alias, _ in new]


async def _merge_properties(
    tx: db.Transaction, user: db.HasUser, kept: nodes.Node, gone: nodes.Node
) -> tuple[list[str], bool]:
    """The winner gets what it has not; returns the names of those properties, and
    whether the description is among it.
    """
    added = {
        name: value
        for name, value in gone.properties.items()
        if name not in kept.properties
    }
    described = bool(gone.description and not kept.description)
    description = gone.description if described else kept.description
    await nodes.change(tx, user, kept, properties=added, description=description)
    return sorted(added), described


async def undo(tx: db.Transaction, user: db.HasUser, merge_id: UUID) -> MergeEntry:
    """Make two of one again, each with the links it had; what came since stays with the
    winner.

    Raises NotFound, Conflict.
    """
    await nodes.bump(tx, user)
    entry = await tx.one(MergeEntry, _GET, (user.user_id, merge_id))
    if entry is None or entry.undone_at is not None:
        raise missing()
    later = await tx.all(MergeEntry, _LATER, (user.user_id, entry.id))
    if any(_touched(merge) & _touched(entry) for merge in later):
        raise errors.Conflict(
            "One of the two, or one of their links, was merged again since.",
            hint="Undo the later merge first.",
        )
    winner = await nodes.get(tx, user, entry.winner_id)
    await nodes.merged(tx, user, entry.loser_id, None)
    loser = await nodes.get(tx, user, entry.loser_id)
    touched = await _move_links_back(tx, user, entry.changes["links"], loser=loser.id)
    await nodes.unalias(tx, user, entry.winner_id, entry.changes["aliases"])
    # What somebody has changed since is not the loser's any longer.
    unchanged = [
        name
        for name in entry.changes["properties"]
        if winner.properties.get(name) == loser.properties.get(name)
    ]
    described = entry.changes["description"] and winner.description == loser.description
    await nodes.change(
        tx,
        user,
        winner,
        properties=dict.fromkeys(unchanged),
        description="" if described else winner.description,
    )
    await tx.run(_UNDONE, (user.user_id, entry.id))
    await nodes.recount(tx, user, [*touched, entry.winner_id, entry.loser_id])
    return entry


def missing() -> errors.NotFound:
    """The answer for a merge that is unknown, foreign, hidden or undone."""
    return errors.NotFound("There is no such merge, or it was undone.")


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
    moves = merge.changes["links"]
    duplicates = {move["shared"]["link"] for move in moves if "shared" in move}
    return {
        str(merge.winner_id),
        str(merge.loser_id),
        *duplicates,
        *(move["link"] for move in moves),
    }


async def _move_links(
    tx: db.Transaction, user: db.HasUser, *, loser: UUID, winner: UUID, merge: UUID
) -> list[dict[str, Any]]:
    """Move every link of one node to another; returns the moves, for
    `_move_links_back`.

    Of two that are the same then, one is hidden, and its evidence counts for the other:
    the one stays that was not deleted by hand, or that was made by hand, or the
    winner's. A link between the two nodes is hidden.
    """
    own = {_identity(row, {}): row for row in await link_rows.of_node(tx, user, winner)}
    moves: list[dict[str, Any]] = []
    for row in await link_rows.of_node(tx, user, loser):
        identity = _identity(row, {loser: winner})
        if identity.from_id == identity.to_id:
            moves.append(await _hide(tx, user, row, merge, None))
            continue
        duplicate = own.get(identity)
        if duplicate is not None and _precedence(row) <= _precedence(duplicate):
            moves.append(await _hide(tx, user, row, merge, duplicate))
            continue
        if duplicate is not None:
            moves.append(await _hide(tx, user, duplicate, merge, row))
        await link_rows.move(tx, user, row["id"], loser=loser, winner=winner)
        moved_ends = [end for end in ("from", "to") if row[f"{end}_id"] == loser]
        moves.append({"link": str(row["id"]), "moved": moved_ends})
    return moves


async def _move_links_back(
    tx: db.Transaction,
    user: db.HasUser,
    moves: Sequence[Mapping[str, Any]],
    *,
    loser: UUID,
) -> list[UUID]:
    """Undo `_move_links`; returns the nodes whose links changed."""
    ids = [UUID(move["link"]) for move in moves]
    touched = await links.ends(tx, user, ids)
    for move, link_id in zip(reversed(moves), reversed(ids), strict=True):
        if shared := move.get("shared"):
            await evidence.unshare(tx, user, UUID(shared["link"]), shared["said"])
        if move.get("hidden"):
            await link_rows.show(tx, user, link_id)
        else:
            await link_rows.move_back(tx, user, link_id, move["moved"], loser=loser)
    await link_rows.mark_deleted_with_ends(tx, user, ids)
    return list(dict.fromkeys([*touched, *await links.ends(tx, user, ids)]))


async def _hide(
    tx: db.Transaction,
    user: db.HasUser,
    row: Mapping[str, Any],
    merge: UUID,
    duplicate_of: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Hide a link as the duplicate of another, or of none; returns the move."""
    move: dict[str, Any] = {"link": str(row["id"]), "hidden": True}
    other_id: UUID | None = None
    if duplicate_of is not None:
        other_id = duplicate_of["id"]
        shared = await evidence.share(tx, user, row["id"], to=duplicate_of["id"])
        move["shared"] = {"link": str(other_id), "said": shared}
    await link_rows.hide(tx, user, row["id"], merge=merge, duplicate_of=other_id)
    return move


class _Identity(NamedTuple):
    """What makes two links the same: their ends, relation and begin."""

    from_id: UUID
    to_id: UUID
    relation: str
    valid_from: datetime | None


def _identity(row: Mapping[str, Any], renamed: Mapping[UUID, UUID]) -> _Identity:
    first, second = row["from_id"], row["to_id"]
    return _Identity(
        renamed.get(first, first),
        renamed.get(second, second),
        row["relation"],
        row["valid_from"],
    )


def _precedence(row: Mapping[str, Any]) -> tuple[bool, bool]:
    """Which of two duplicates stays: the one with the higher rank."""
    return row["deleted_at"] is None, row["link_type"] == "manual"
