"""Taking nodes of the graph away together with the vectors of their texts."""

from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.graph import manual, node_data, nodes, visibility
from reverie.pipeline import vector_store

_DOMAIN = (
    "SELECT domain FROM node WHERE user_id = %s AND id = %s AND merged_into IS NULL"
)


async def erase(tx: db.Transaction, caller: callers.Caller, node_id: UUID) -> None:
    """Erase a node for good, with what was merged into it: names, links, evidence,
    merges, vectors.

    A deleted one, too; not one that is a part of another by now. Raises NotFound,
    Invalid.
    """
    await nodes.bump(tx, caller)
    rows = await tx.rows(_DOMAIN, (caller.user_id, node_id))
    live = (await nodes.several(tx, caller, [node_id])).values()
    hidden = live and not await visibility.permitted(tx, caller, live)
    closed = rows and rows[0]["domain"] not in (None, *visibility.open_to(caller))
    if not rows or hidden or closed:
        raise visibility.missing()
    for node in live:
        manual.keep_owner(node)
    around = await manual.neighbours(tx, caller, node_id)
    await vector_store.drop(tx, caller, await nodes.erase(tx, caller, node_id))
    await nodes.recount(tx, caller, around, touch=False)


async def clean(
    tx: db.Transaction, caller: callers.Caller, *, really: bool
) -> list[nodes.Node]:
    """The derived nodes that nothing leads to; `really` takes them away. They come back
    when a record says so.
    """
    if really:
        await nodes.bump(tx, caller)
    orphans = await nodes.orphans(tx, caller)
    shown = await visibility.permitted(tx, caller, orphans)
    removed = [node for node in orphans if node.id in shown]
    if really:
        hashes = [
            node_data.hash_of(node.kind, node.name, node.description, node.properties)
            for node in removed
        ]
        await nodes.drop(tx, caller, [node.id for node in removed])
        await vector_store.drop(tx, caller, [digest for digest in hashes if digest])
    return [shown[node.id] for node in removed]
