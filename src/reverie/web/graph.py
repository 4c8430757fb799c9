"""REST routes that read the graph: nodes, links, paths, and the records behind them.

What changes it is in web/graph_changes.py.
"""

from starlette import requests, responses

from reverie import app, errors
from reverie.graph import duplicates, forms, visibility
from reverie.web import envelope, graphforms, middleware, parameters, routes


async def _list(reverie: app.App, request: requests.Request) -> responses.Response:
    query = parameters.read(request, graphforms.Listing)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        listed, total = await visibility.listed(
            tx,
            caller,
            kind=query.kind,
            type_=query.type,
            name=query.name,
            limit=query.limit,
            offset=query.offset,
        )
    meta = {"total": total, "limit": query.limit, "offset": query.offset}
    more = query.offset + len(listed) < total
    return envelope.answer(
        {
            "items": [forms.node(node) for node in listed],
            "meta": meta | {"has_more": more},
        }
    )


async def _get(reverie: app.App, request: requests.Request) -> responses.Response:
    query = parameters.read(request, graphforms.Detail)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        node = await visibility.get(tx, caller, parameters.record_id(request))
        details = await visibility.whole(
            tx, caller, node, as_of=query.as_of, ended=query.ended, limit=query.limit
        )
    return envelope.answer(forms.whole(details))


async def _connections(
    reverie: app.App, request: requests.Request
) -> responses.Response:
    query = parameters.read(request, graphforms.Connections)
    if (query.id is None) == (not query.name):
        raise errors.Invalid(
            "Give either `id` or `name`.",
            hint="The node whose connections are asked for.",
        )
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        begin = await (
            visibility.get(tx, caller, query.id)
            if query.id
            else visibility.named(tx, caller, query.name or "")
        )
        reached = await visibility.connections(
            tx,
            caller,
            begin.id,
            depth=query.depth,
            confidence=query.confidence,
            as_of=query.as_of,
            limit=query.limit,
        )
    return envelope.answer(
        {
            "node": forms.node(begin),
            "items": [forms.reached(neighbour) for neighbour in reached],
        }
    )


async def _path(reverie: app.App, request: requests.Request) -> responses.Response:
    query = parameters.read(request, graphforms.Path)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        begin, end = (
            await visibility.named(tx, caller, query.from_),
            await visibility.named(tx, caller, query.to),
        )
        path = await visibility.path(
            tx,
            caller,
            begin,
            end,
            depth=query.depth,
            confidence=query.confidence,
            as_of=query.as_of,
        )
    return envelope.answer(forms.path(path))


async def _subgraph(reverie: app.App, request: requests.Request) -> responses.Response:
    """It is of people, concepts, things and artifacts: records are not in it."""
    query = parameters.read(request, graphforms.SubgraphQuery)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        part, heats = await visibility.subgraph(tx, caller, limit=query.limit)
    return envelope.answer(
        {
            "nodes": [
                forms.node(entry) | {"heat": round(heats.get(entry.id, 0.0), 4)}
                for entry in part.nodes
            ],
            "links": [
                {
                    "id": str(entry.id),
                    "from": str(entry.from_id),
                    "relation": entry.relation,
                    "to": str(entry.to_id),
                    "confidence": round(entry.confidence, 4),
                    "heat": round(entry.heat, 4),
                }
                for entry in part.links
            ],
        }
    )


async def _stats(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        stats = await visibility.stats(tx, caller)
    return envelope.answer(
        {
            "nodes": dict(stats.nodes),
            "links": dict(stats.links),
            "version": stats.version,
        }
    )


async def _candidates(
    reverie: app.App, request: requests.Request
) -> responses.Response:
    query = parameters.read(request, graphforms.Candidates)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        pairs = await duplicates.suggested(tx, caller, query.kind, limit=query.limit)
    return envelope.answer({"items": [forms.double(pair) for pair in pairs]})


ROUTES = (
    routes.Route(
        operation="graph.list",
        method="GET",
        path="/graph/entities",
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
        path="/graph/entities/{record_id}",
        handler=_get,
        summary="A node with its links and the records that say so",
        query=graphforms.Detail,
        tag="graph",
    ),
)
