"""The graph over HTTP: people, topics and things, how they hang together, and the
records that say so.
"""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import fastapi
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
from reverie.web import envelope, graphforms, middleware, openapi, parameters, routes

Handler = Callable[[app.App, requests.Request], Awaitable[responses.Response]]
_ENTITIES, _ENTITY, _MERGE = (
    "/graph/entities",
    "/graph/entities/{record_id}",
    "/graph/merge",
)
_NONE = parameters.Parameters


def add(api: fastapi.FastAPI, reverie: app.App) -> None:
    """/graph and /links."""
    looks: tuple[tuple[str, str, Handler, type[parameters.Parameters], str], ...] = (
        (
            "graph.list",
            _ENTITIES,
            _list,
            graphforms.Listing,
            "People, concepts and things, those with most links first",
        ),
        (
            "graph.connections",
            "/graph/connections",
            _connections,
            graphforms.Connections,
            "What is near a node",
        ),
        (
            "graph.path",
            "/graph/path",
            _path,
            graphforms.Path,
            "A shortest path between two nodes",
        ),
        (
            "graph.subgraph",
            "/graph/subgraph",
            _subgraph,
            graphforms.SubgraphQuery,
            "The nodes with most links, for drawing",
        ),
        (
            "graph.stats",
            "/graph/stats",
            _stats,
            _NONE,
            "How many nodes and links there are",
        ),
        (
            "graph.candidates",
            "/graph/merge-candidates",
            _candidates,
            graphforms.Candidates,
            "Nodes that may be one",
        ),
        (
            "graph.get",
            _ENTITY,
            _get,
            graphforms.Detail,
            "A node with its links and the records that say so",
        ),
    )
    for name, path, handler, model, summary in looks:
        _offer(
            api,
            reverie,
            (name, "GET", path, handler, summary),
            openapi.described(model, _OBJECT, path=path),
        )
    writes: tuple[
        tuple[str, str, str, Handler, str, type[parameters.Body] | None], ...
    ] = (
        (
            "graph.create",
            "POST",
            _ENTITIES,
            _create,
            "Make a node by hand",
            graphforms.NewNode,
        ),
        (
            "graph.update",
            "PATCH",
            _ENTITY,
            _update,
            "Change a node; its key stays",
            graphforms.NodeChange,
        ),
        (
            "graph.delete",
            "DELETE",
            _ENTITY,
            _delete,
            "Delete a node; it stays deleted",
            None,
        ),
        (
            "graph.erase",
            "DELETE",
            f"{_ENTITY}/forever",
            _erase,
            "Erase a node for good",
            None,
        ),
        (
            "graph.merge",
            "POST",
            _MERGE,
            _merge,
            "Make one node of two",
            graphforms.Merge,
        ),
        (
            "graph.unmerge",
            "DELETE",
            f"{_MERGE}/{{record_id}}",
            _unmerge,
            "Undo a merge",
            None,
        ),
        (
            "graph.apart",
            "POST",
            "/graph/apart",
            _apart,
            "Say that two nodes are two",
            graphforms.Pair,
        ),
        (
            "graph.cleanup",
            "POST",
            "/graph/cleanup",
            _cleanup,
            "Nodes that nothing leads to",
            graphforms.Cleanup,
        ),
        (
            "links.create",
            "POST",
            "/links",
            _link,
            "Link anything with anything",
            graphforms.NewLink,
        ),
        (
            "links.delete",
            "DELETE",
            "/links/{record_id}",
            _unlink,
            "Delete a link; it stays deleted",
            None,
        ),
        (
            "links.warm",
            "POST",
            "/links/heat-edge",
            _warm,
            "Two records were opened within a minute",
            graphforms.Pair,
        ),
    )
    for name, method, path, handler, summary, sent in writes:
        status = 201 if name in _MADE else 200
        told = openapi.described(_NONE, _OBJECT, status, sent=sent, path=path)
        _offer(
            api, reverie, (name, method, path, handler, summary), told, status=status
        )


_OBJECT = {"type": "object"}
_MADE = ("graph.create", "graph.merge", "links.create")


def _offer(
    api: fastapi.FastAPI,
    reverie: app.App,
    row: tuple[str, str, str, Handler, str],
    told: dict[str, Any],
    *,
    status: int = 200,
) -> None:
    name, method, path, handler, summary = row
    routes.add(
        api,
        name,
        method,
        path,
        functools.partial(handler, reverie),
        status=status,
        tags=["graph"],
        summary=summary,
        openapi_extra=told,
    )


# Looking
# --------------------------------------------------------------------------------------------------------------


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
    parameters.read(request, _NONE)
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
    parameters.read(request, _NONE)
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
    parameters.read(request, _NONE)
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
    parameters.read(request, _NONE)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        gone = await manual.delete(tx, caller, parameters.record_id(request))
    return envelope.answer({"deleted": forms.brief(gone)})


async def _erase(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, _NONE)
    caller = middleware.caller_of(request)
    node_id = parameters.record_id(request)
    async with reverie.database.transaction(caller) as tx:
        await erase_nodes.erase(tx, caller, node_id)
    return envelope.answer({"erased": str(node_id)})


async def _merge(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, _NONE)
    asked = await parameters.sent(request, graphforms.Merge)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        made = await manual.merge(tx, caller, winner=asked.winner, loser=asked.loser)
        kept = await visibility.get(tx, caller, asked.winner)
    return envelope.answer(forms.merge(made) | {"node": forms.node(kept)}, status=201)


async def _unmerge(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, _NONE)
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
    parameters.read(request, _NONE)
    asked = await parameters.sent(request, graphforms.Pair)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        await manual.keep_apart(tx, caller, asked.first, asked.second)
    return envelope.answer({"apart": [str(asked.first), str(asked.second)]})


async def _cleanup(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, _NONE)
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
    parameters.read(request, _NONE)
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
    parameters.read(request, _NONE)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        gone = await manual.unlink(tx, caller, parameters.record_id(request))
    return envelope.answer({"deleted": str(gone.id)})


async def _warm(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, _NONE)
    asked = await parameters.sent(request, graphforms.Pair)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        count = await manual.warm(tx, caller, asked.first, asked.second)
    return envelope.answer({"warmed": count})
