"""REST routes that change the graph by hand: create, merge, unmerge, delete, link."""

from starlette import requests, responses

from reverie import app
from reverie.graph import forms, links, manual, nodes, visibility
from reverie.pipeline import erase_nodes
from reverie.web import envelope, graphforms, middleware, parameters, routes

_ENTITIES = "/graph/entities"
_ENTITY = f"{_ENTITIES}/{{record_id}}"
_MERGE = "/graph/merge"


async def _create(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, graphforms.NewNode)
    caller = middleware.caller_of(request)
    new = nodes.NodeDraft(
        body.kind,
        body.name,
        body.type,
        body.description,
        body.properties,
        body.emails,
    )
    async with reverie.database.transaction(caller) as tx:
        node = await manual.create(tx, caller, new)
        node = await visibility.get(tx, caller, node.id)  # as it is counted
    location = {"Location": f"{middleware.PREFIX}{_ENTITIES}/{node.id}"}
    return envelope.answer(forms.node(node), status=201, headers=location)


async def _update(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, graphforms.NodeChange)
    values = {
        name: value for name, value in body.model_dump().items() if value is not None
    }
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        await manual.change(tx, caller, parameters.record_id(request), values)
        node = await visibility.get(tx, caller, parameters.record_id(request))
    return envelope.answer(forms.node(node))


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
    body = await parameters.body(request, graphforms.Merge)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        merge = await manual.merge(tx, caller, winner=body.winner, loser=body.loser)
        kept = await visibility.get(tx, caller, body.winner)
    return envelope.answer(forms.merge(merge) | {"node": forms.node(kept)}, status=201)


async def _unmerge(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        undone = await manual.unmerge(tx, caller, parameters.record_id(request))
        both = await visibility.several(tx, caller, [undone.winner_id, undone.loser_id])
    entry = {
        name: value
        for name, value in forms.merge(undone).items()
        if name != "undone_at"
    }
    return envelope.answer(
        {"undone": entry, "nodes": [forms.node(node) for node in both.values()]}
    )


async def _apart(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, graphforms.Pair)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        await manual.keep_apart(tx, caller, body.first, body.second)
    return envelope.answer({"apart": [str(body.first), str(body.second)]})


async def _cleanup(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, graphforms.Cleanup)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        orphans = await erase_nodes.clean(tx, caller, really=body.really)
    return envelope.answer(
        {
            "done": body.really,
            "count": len(orphans),
            "items": [forms.brief(orphan) for orphan in orphans],
        }
    )


async def _link(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, graphforms.NewLink)
    caller = middleware.caller_of(request)
    fact = links.Fact(
        body.from_,
        body.to,
        body.relation,
        confidence=body.confidence,
        properties=body.properties,
        valid_from=body.valid_from,
        valid_to=body.valid_to,
    )
    async with reverie.database.transaction(caller) as tx:
        link = await manual.relate(tx, caller, fact)
    return envelope.answer(forms.link(link), status=201)


async def _unlink(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        gone = await manual.unlink(tx, caller, parameters.record_id(request))
    return envelope.answer({"deleted": str(gone.id)})


async def _warm(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, graphforms.Pair)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        count = await manual.warm(tx, caller, body.first, body.second)
    return envelope.answer({"warmed": count})


ROUTES = (
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
