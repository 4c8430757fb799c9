"""The graph over HTTP: people, topics and things, how they hang together, and the
records that say so.
"""

from starlette import requests, responses

from reverie import app, errors
from reverie.graph import (
    duplicates,
    forms,
    links,
    lookups,
    manual,
    merging,
    nodes,
    visibility,
)
from reverie.pipeline import erase_nodes
from reverie.web import envelope, graphforms, middleware, parameters, routes

_ENTITIES = "/graph/entities"
_ENTITY = f"{_ENTITIES}/{{record_id}}"
_MERGE = "/graph/merge"


# Looking
# ----------------------------------------------------


async def _list(reverie: app.App, request: requests.Request) -> responses.Response:
    asked = parameters.read(request, graphforms.Listing)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        found, total = await visibility.listed(
            tx,
            caller,
            kind=asked.kind,
            type_=asked.type,
            name=asked.name,
            limit=asked.limit,
            offset=asked.offset,
        )
    meta = {"total": total, "limit": asked.limit, "offset": asked.offset}
    more = asked.offset + len(found) < total
    return envelope.answer(
        {"items": [forms.node(one) for one in found], "meta": meta | {"has_more": more}}
    )


async def _get(reverie: app.App, request: requests.Request) -> responses.Response:
    asked = parameters.read(request, graphforms.Detail)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        node = await visibility.get(tx, caller, parameters.record_id(request))
        found = await visibility.whole(
            tx, caller, node, as_of=asked.as_of, ended=asked.ended, limit=asked.limit
        )
    return envelope.answer(forms.whole(found))


async def _connections(
    reverie: app.App, request: requests.Request
) -> responses.Response:
    asked = parameters.read(request, graphforms.Connections)
    if (asked.id is None) == (not asked.name):
        raise errors.Invalid(
            "Give either `id` or `name`.",
            hint="The node whose connections are asked for.",
        )
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        begin = await (
            visibility.get(tx, caller, asked.id)
            if asked.id
            else visibility.named(tx, caller, asked.name or "")
        )
        found = await visibility.connections(
            tx,
            caller,
            begin.id,
            depth=asked.depth,
            confidence=asked.confidence,
            as_of=asked.as_of,
            limit=asked.limit,
        )
    return envelope.answer(
        {"node": forms.node(begin), "items": [forms.reached(one) for one in found]}
    )


async def _path(reverie: app.App, request: requests.Request) -> responses.Response:
    asked = parameters.read(request, graphforms.Path)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        begin, end = (
            await visibility.named(tx, caller, asked.from_),
            await visibility.named(tx, caller, asked.to),
        )
        found = await visibility.path(
            tx,
            caller,
            begin,
            end,
            depth=asked.depth,
            confidence=asked.confidence,
            as_of=asked.as_of,
        )
    return envelope.answer(forms.path(found))


async def _subgraph(reverie: app.App, request: requests.Request) -> responses.Response:
    """It is of people, concepts, things and artifacts: records are not in it."""
    asked = parameters.read(request, graphforms.SubgraphQuery)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        part, heats = await lookups.subgraph(tx, caller, limit=asked.limit)
    return envelope.answer(
        {
            "nodes": [
                forms.node(one) | {"heat": round(heats.get(one.id, 0.0), 4)}
                for one in part.nodes
            ],
            "links": [
                {
                    "id": str(one.id),
                    "from": str(one.from_id),
                    "relation": one.relation,
                    "to": str(one.to_id),
                    "confidence": round(one.confidence, 4),
                    "heat": round(one.heat, 4),
                }
                for one in part.links
            ],
        }
    )


async def _stats(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        found = await visibility.stats(tx, caller)
    return envelope.answer(
        {
            "nodes": dict(found.nodes),
            "links": dict(found.links),
            "version": found.version,
        }
    )


async def _candidates(
    reverie: app.App, request: requests.Request
) -> responses.Response:
    asked = parameters.read(request, graphforms.Candidates)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        found = await duplicates.suggested(tx, caller, asked.kind, limit=asked.limit)
    return envelope.answer({"items": [forms.double(one) for one in found]})


# Changing
# -------------------------------------------------------------------------------------------------------------


async def _create(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, graphforms.NewNode)
    caller = middleware.caller_of(request)
    new = nodes.NodeDraft(
        asked.kind,
        asked.name,
        asked.type,
        asked.description,
        asked.properties,
        asked.emails,
    )
    async with reverie.database.transaction(caller) as tx:
        made = await manual.create(tx, caller, new)
        made = await visibility.get(tx, caller, made.id)  # as it is counted
    location = {"Location": f"{middleware.PREFIX}{_ENTITIES}/{made.id}"}
    return envelope.answer(forms.node(made), status=201, headers=location)


async def _update(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, graphforms.NodeChange)
    values = {
        name: value for name, value in asked.model_dump().items() if value is not None
    }
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        await manual.change(tx, caller, parameters.record_id(request), values)
        made = await visibility.get(tx, caller, parameters.record_id(request))
    return envelope.answer(forms.node(made))


async def _delete(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        gone = await manual.delete(tx, caller, parameters.record_id(request))
    return envelope.answer({"deleted": forms.brief(gone)})


async def _erase(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    node_id = parameters.record_id(request)
    async with reverie.database.transaction(caller) as tx:
        await erase_nodes.erase(tx, caller, node_id)
    return envelope.answer({"erased": str(node_id)})


async def _merge(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, graphforms.Merge)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        made = await manual.merge(tx, caller, winner=asked.winner, loser=asked.loser)
        kept = await visibility.get(tx, caller, asked.winner)
    return envelope.answer(forms.merge(made) | {"node": forms.node(kept)}, status=201)


async def _unmerge(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        undone = await merging.undo(tx, caller, parameters.record_id(request))
        both = await visibility.several(tx, caller, [undone.winner_id, undone.loser_id])
    told = {
        name: value
        for name, value in forms.merge(undone).items()
        if name != "undone_at"
    }
    return envelope.answer(
        {"undone": told, "nodes": [forms.node(one) for one in both.values()]}
    )


async def _apart(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, graphforms.Pair)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        await manual.keep_apart(tx, caller, asked.first, asked.second)
    return envelope.answer({"apart": [str(asked.first), str(asked.second)]})


async def _cleanup(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, graphforms.Cleanup)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        found = await erase_nodes.clean(tx, caller, really=asked.really)
    return envelope.answer(
        {
            "done": asked.really,
            "count": len(found),
            "items": [forms.brief(one) for one in found],
        }
    )


async def _link(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, graphforms.NewLink)
    caller = middleware.caller_of(request)
    fact = links.Fact(
        asked.from_,
        asked.to,
        asked.relation,
        confidence=asked.confidence,
        properties=asked.properties,
        valid_from=asked.valid_from,
        valid_to=asked.valid_to,
    )
    async with reverie.database.transaction(caller) as tx:
        made = await manual.relate(tx, caller, fact)
    return envelope.answer(forms.link(made), status=201)


async def _unlink(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        gone = await manual.unlink(tx, caller, parameters.record_id(request))
    return envelope.answer({"deleted": str(gone.id)})


async def _warm(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    asked = await parameters.sent(request, graphforms.Pair)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        count = await manual.warm(tx, caller, asked.first, asked.second)
    return envelope.answer({"warmed": count})


ROUTES = (
    routes.Route(
        operation="graph.list",
        method="GET",
        path=_ENTITIES,
        handler=_list,
        summary="People, concepts and things, those with most links first",
        query=graphforms.Listing,
        tag="graph",
    ),
    routes.Route(
        operation="graph.connections",
        method="GET",
        path="/graph/connections",
        handler=_connections,
        summary="What is near a node",
        query=graphforms.Connections,
        tag="graph",
    ),
    routes.Route(
        operation="graph.path",
        method="GET",
        path="/graph/path",
        handler=_path,
        summary="A shortest path between two nodes",
        query=graphforms.Path,
        tag="graph",
    ),
    routes.Route(
        operation="graph.subgraph",
        method="GET",
        path="/graph/subgraph",
        handler=_subgraph,
        summary="The nodes with most links, for drawing",
        query=graphforms.SubgraphQuery,
        tag="graph",
    ),
    routes.Route(
        operation="graph.stats",
        method="GET",
        path="/graph/stats",
        handler=_stats,
        summary="How many nodes and links there are",
        tag="graph",
    ),
    routes.Route(
        operation="graph.candidates",
        method="GET",
        path="/graph/merge-candidates",
        handler=_candidates,
        summary="Nodes that may be one",
        query=graphforms.Candidates,
        tag="graph",
    ),
    routes.Route(
        operation="graph.get",
        method="GET",
        path=_ENTITY,
        handler=_get,
        summary="A node with its links and the records that say so",
        query=graphforms.Detail,
        tag="graph",
    ),
    routes.Route(
        operation="graph.create",
        method="POST",
        path=_ENTITIES,
        handler=_create,
        summary="Make a node by hand",
        body=graphforms.NewNode,
        status=201,
        tag="graph",
    ),
    routes.Route(
        operation="graph.update",
        method="PATCH",
        path=_ENTITY,
        handler=_update,
        summary="Change a node; its key stays",
        body=graphforms.NodeChange,
        tag="graph",
    ),
    routes.Route(
        operation="graph.delete",
        method="DELETE",
        path=_ENTITY,
        handler=_delete,
        summary="Delete a node; it stays deleted",
        tag="graph",
    ),
    routes.Route(
        operation="graph.erase",
        method="DELETE",
        path=f"{_ENTITY}/forever",
        handler=_erase,
        summary="Erase a node for good",
        tag="graph",
    ),
    routes.Route(
        operation="graph.merge",
        method="POST",
        path=_MERGE,
        handler=_merge,
        summary="Make one node of two",
        body=graphforms.Merge,
        status=201,
        tag="graph",
    ),
    routes.Route(
        operation="graph.unmerge",
        method="DELETE",
        path=f"{_MERGE}/{{record_id}}",
        handler=_unmerge,
        summary="Undo a merge",
        tag="graph",
    ),
    routes.Route(
        operation="graph.apart",
        method="POST",
        path="/graph/apart",
        handler=_apart,
        summary="Say that two nodes are two",
        body=graphforms.Pair,
        tag="graph",
    ),
    routes.Route(
        operation="graph.cleanup",
        method="POST",
        path="/graph/cleanup",
        handler=_cleanup,
        summary="Nodes that nothing leads to",
        body=graphforms.Cleanup,
        tag="graph",
    ),
    routes.Route(
        operation="links.create",
        method="POST",
        path="/links",
        handler=_link,
        summary="Link anything with anything",
        body=graphforms.NewLink,
        status=201,
        tag="graph",
    ),
    routes.Route(
        operation="links.delete",
        method="DELETE",
        path="/links/{record_id}",
        handler=_unlink,
        summary="Delete a link; it stays deleted",
        tag="graph",
    ),
    routes.Route(
        operation="links.warm",
        method="POST",
        path="/links/heat-edge",
        handler=_warm,
        summary="Two records were opened within a minute",
        body=graphforms.Pair,
        tag="graph",
    ),
)
