"""REST routes of all kinds of records (CRUD), made from the catalogue of domains."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette import requests, responses

from reverie import app, blobs, db, errors
from reverie.access import callers
from reverie.graph import warming
from reverie.ingest import originals
from reverie.records import (
    base,
    bulk,
    catalogue,
    changes,
    history,
    limits,
    preparing,
    record_types,
    versions,
)
from reverie.web import envelope, forms, middleware, openapi, parameters, routes

Handler = Callable[
    [record_types.Domain[Any], app.App, requests.Request], Awaitable[responses.Response]
]


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that can be done with the records of every domain: the operation
    `<domain>.<name>`, below the domain's own path.
    """

    name: str
    method: str
    path: str
    handler: Handler
    status: int = 200

    def route(self, domain: record_types.Domain[Any]) -> routes.Route:
        """Its route for one domain."""
        return routes.Route(
            operation=f"{domain.plural}.{self.name}",
            method=self.method,
            path=f"/{domain.plural}{self.path}",
            handler=functools.partial(self.handler, domain),
            summary=f"{self.name.capitalize()} {domain.plural}",
            status=self.status,
            operation_id=f"{domain.name}_{self.name}",
            schema=openapi.operation(domain, self.name),
        )


async def _create(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    values = await parameters.json_object(request)
    caller = middleware.caller_of(request)
    limits.check(domain.name, values)
    new = await preparing.prepared(caller, domain, values)
    async with reverie.database.transaction(caller) as tx:
        record = await base.insert(tx, caller, new)
    location = f"{middleware.PREFIX}/{domain.plural}/{record.id}"
    return envelope.answer(
        forms.record(domain, record), status=201, headers={"Location": location}
    )


async def _get(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    """`format` is taken and ignored: one record is always whole."""
    columns = parameters.columns(
        domain, parameters.read(request, parameters.Shape).fields
    )
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        record = await base.read(tx, caller, domain, parameters.record_id(request))
        await warming.opened(tx, caller, record.id)
    return envelope.answer(forms.record(domain, record, columns))


async def _update(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    values = await parameters.json_object(request)
    caller = middleware.caller_of(request)
    limits.check(domain.name, values)
    record = await base.revise(
        reverie.database, caller, domain, parameters.record_id(request), values
    )
    return envelope.answer(forms.record(domain, record))


async def _delete(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        record = await base.delete(tx, caller, domain, parameters.record_id(request))
    return envelope.answer(forms.record(domain, record))


async def _restore(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        record = await base.restore(tx, caller, domain, parameters.record_id(request))
    return envelope.answer(forms.record(domain, record))


async def _original(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    """The bytes that the record was imported from, to be saved and never to be shown as
    a page of ours.
    """
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        # First the record: an id of another domain, which this token may not read, is
        # unknown here.
        record = await base.get(tx, caller, domain, parameters.record_id(request))
        address = await originals.address(tx, caller, record.id)
    data = await asyncio.to_thread(blobs.get, reverie.blobs, caller.user_id, address)
    return responses.Response(
        data,
        media_type="application/octet-stream",
        headers={"Content-Disposition": "attachment"},
    )


async def _history(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    """The versions of a record, newest first; of a deleted one too."""
    query = parameters.read(request, parameters.PageParameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        record = await base.get(
            tx, caller, domain, parameters.record_id(request), deleted=True
        )
        rows, total = await versions.page(
            tx, caller, record.id, limit=query.limit, offset=query.offset
        )
    page = record_types.Page(rows, total, query.limit, query.offset)
    return envelope.answer(forms.history(domain, page))


async def _version(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    """A record as it was after one of its changes."""
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        record = await history.at_version(
            tx,
            caller,
            domain,
            parameters.record_id(request),
            parameters.version(request),
        )
    return envelope.answer(forms.record(domain, record))


async def _revert(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    """Make a record again what it was after one of its changes."""
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    record = await history.restore(
        reverie.database,
        caller,
        domain,
        parameters.record_id(request),
        parameters.version(request),
    )
    return envelope.answer(forms.record(domain, record))


async def _list(
    domain: record_types.Domain[Any], reverie: app.App, request: requests.Request
) -> responses.Response:
    query = parameters.read(request, _listing(domain))
    columns = parameters.columns(domain, query.fields)
    if columns is not None and query.format == "compact":
        raise errors.Invalid(
            "`fields` and `format=compact` exclude each other.",
            hint="Leave one of them out.",
        )
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        if query.since is not None:
            return envelope.answer(await _since(tx, caller, domain, query, columns))
        page = await base.find(
            tx,
            caller,
            domain,
            filters={name: getattr(query, name) for name in domain.filters},
            tier=query.tier,
            deleted=query.deleted,
            limit=query.limit,
            offset=query.offset,
        )
    if query.format == "compact":
        return envelope.answer(forms.compact(domain, page, datetime.now(UTC)))
    return envelope.answer(forms.full(domain, page, columns))


async def _since(
    tx: db.Transaction,
    caller: callers.Caller,
    domain: record_types.Domain[Any],
    query: parameters.ListParameters,
    columns: forms.Columns,
) -> dict[str, Any]:
    """What changed since a moment, whole: no page of it, or something would be missed.

    `created` and `updated` are lists of records (with the columns of `fields`); in the
    compact format each of them is `{lines, ids}`. `deleted` is `{id, deleted_at}` in
    both.
    """
    excluded = sorted(query.model_fields_set - {"since", "format", "fields"})
    if query.since is None or excluded:
        raise errors.Invalid(
            f"`since` and `{excluded[0]}` exclude each other.",
            hint="It goes with format and fields.",
        )
    changed = await changes.since(tx, caller, moment=query.since, domain=domain.name)
    ids = [change.record_id for change in (*changed.created, *changed.updated)]
    records = await bulk.fetch(tx, caller, domain, ids)
    now = datetime.now(UTC)

    def shown(rows: list[changes.Change]) -> Any:
        # A record that was deleted a moment ago is not there any more: the next answer
        # says so.
        live = [
            records[change.record_id] for change in rows if change.record_id in records
        ]
        if query.format == "compact":
            return forms.lines(domain, live, now)
        return [forms.record(domain, record, columns) for record in live]

    counted = len(changed.created) + len(changed.updated) + len(changed.deleted)
    head: dict[str, Any] = {}
    if query.format == "compact":
        summary = f"{len(changed.created)} created, {len(changed.updated)} updated, {len(changed.deleted)} deleted"
        head = {"format": "compact", "summary": f"{domain.plural}: {summary}"}
    return head | {
        "created": shown(changed.created),
        "updated": shown(changed.updated),
        "deleted": [
            {"id": str(change.record_id), "deleted_at": forms.moment(change.at)}
            for change in changed.deleted
        ],
        "meta": {
            "response_timestamp": forms.moment(changed.response_timestamp),
            "total_changes": counted,
        },
    }


@functools.cache
def _listing_of(name: str) -> type[parameters.ListParameters]:
    return parameters.listing(catalogue.DOMAINS[name])


def _listing(domain: record_types.Domain[Any]) -> type[parameters.ListParameters]:
    return _listing_of(domain.name)


VERBS = (
    Verb("create", "POST", "", _create, 201),
    Verb("list", "GET", "", _list),
    Verb("get", "GET", "/{record_id}", _get),
    Verb("update", "PATCH", "/{record_id}", _update),
    Verb("delete", "DELETE", "/{record_id}", _delete),
    Verb("restore", "POST", "/{record_id}/restore", _restore),
    Verb("original", "GET", "/{record_id}/original", _original),
    Verb("history", "GET", "/{record_id}/history", _history),
    Verb("version", "GET", "/{record_id}/history/{version}", _version),
    Verb("revert", "POST", "/{record_id}/history/{version}/restore", _revert),
)
ROUTES = tuple(
    verb.route(domain) for domain in catalogue.DOMAINS.values() for verb in VERBS
)
