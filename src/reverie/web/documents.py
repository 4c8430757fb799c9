"""REST routes of documents: upload, ingestion and its status, passages, page images."""

import asyncio
from typing import Annotated, Any
from uuid import UUID

import pydantic
import starlette.exceptions
from starlette import requests, responses

from reverie import app, blobs, db, errors
from reverie.access import callers
from reverie.ingest import ingest_file, ingestions, originals, status
from reverie.pipeline import holdings, progress
from reverie.records import base, catalogue, places, record_types
from reverie.web import envelope, middleware, parameters, routes

_NAME = Annotated[
    str,
    pydantic.Field(
        min_length=1, max_length=255, description="the file's name, with its ending"
    ),
]
_PDF = "application/pdf"


class _Ingest(parameters.Body):
    """One of `upload` (with `name`), `paths`. `path` names what an upload replaces when
    it comes again, changed.
    """

    upload: Annotated[
        str | None,
        pydantic.Field(pattern="^[0-9a-f]{64}$", description="sha256 of an upload"),
    ] = None
    name: Annotated[str | None, _NAME] = None
    path: Annotated[str | None, pydantic.Field(max_length=1000)] = None
    paths: Annotated[list[str] | None, pydantic.Field(min_length=1, max_length=100)] = (
        None
    )
    password: Annotated[
        str, pydantic.Field(max_length=1000, description="of an encrypted document")
    ] = ""
    again: Annotated[
        bool, pydantic.Field(description="read once more what could not be read before")
    ] = False


class _Address(parameters.Body):
    url: Annotated[str, pydantic.Field(min_length=1, max_length=2000)]


class PassagesParameters(parameters.Parameters):
    """Which page of a document's passages."""

    after: Annotated[
        int,
        pydantic.Field(
            ge=0, description="the number of the last passage that is known"
        ),
    ] = 0
    limit: Annotated[int, pydantic.Field(ge=1, le=500)] = 100


async def _upload(reverie: app.App, request: requests.Request) -> responses.Response:
    """The body is the file, as it is; it is kept under its hash, and the same bytes
    once.
    """
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    with blobs.incoming(reverie.blobs, caller.user_id) as incoming:
        async for chunk in request.stream():
            if incoming.size + len(chunk) > ingest_file.LARGEST:
                raise starlette.exceptions.HTTPException(413)
            await asyncio.to_thread(incoming.write, chunk)
        if not incoming.size:
            raise errors.Invalid(
                "The body is empty.", hint="Send the bytes of the file as the body."
            )
        address = await asyncio.to_thread(incoming.keep)
    async with reverie.database.transaction(caller) as tx:
        await originals.sent(tx, caller, address)
    return envelope.answer({"sha256": address, "size": incoming.size}, status=201)


async def _ingest(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    body = await parameters.body(request, _Ingest)
    if (body.upload is None) == (body.paths is None):
        raise errors.Invalid(
            "Either `upload` or `paths` is needed.",
            hint="POST /api/v1/upload gives the `upload`.",
        )
    if body.paths is not None:
        if caller.kind != "user" or caller.role != "owner":
            raise errors.Forbidden(
                "Only the owner takes in files of this machine.",
                hint="Upload them instead.",
            )
        request_of_paths = {"paths": body.paths, **_options(body)}
        return await _request_ingestion(reverie, caller, "paths", request_of_paths)
    request_of_upload = await _checked_upload(reverie, caller, body)
    return await _request_ingestion(reverie, caller, "upload", request_of_upload)


def _options(body: _Ingest) -> dict[str, Any]:
    """How files are to be read; a password only if there is one."""
    options: dict[str, Any] = {"again": body.again}
    if body.password:
        options["password"] = body.password
    return options


async def _checked_upload(
    reverie: app.App, caller: callers.Caller, body: _Ingest
) -> dict[str, Any]:
    """The request for an upload that is there. Raises Invalid, NotFound."""
    blob = str(body.upload)
    if not body.name:
        raise errors.Invalid(
            "An upload needs its `name`.", hint='Such as "report.pdf".'
        )
    async with reverie.database.transaction(caller) as tx:
        allowed = await originals.may_ingest(tx, caller, blob)
    if not allowed or not await asyncio.to_thread(
        blobs.path_of(reverie.blobs, caller.user_id, blob).exists
    ):
        raise errors.NotFound(
            "There is no such upload.", hint="POST the bytes to /api/v1/upload first."
        )
    path = f"upload:{body.path or blob}"
    return {"blob": blob, "name": body.name, "path": path, **_options(body)}


async def _fetch(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    body = await parameters.body(request, _Address)
    return await _request_ingestion(
        reverie, middleware.caller_of(request), "url", {"url": body.url}
    )


async def _request_ingestion(
    reverie: app.App,
    caller: callers.Caller,
    kind: ingestions.Kind,
    request: dict[str, Any],
) -> responses.Response:
    async with reverie.database.transaction(caller) as tx:
        ingestion_id = await ingestions.ask(tx, caller, kind, request)
    location = f"{middleware.PREFIX}/ingest/status/{ingestion_id}"
    return envelope.answer(
        {"id": str(ingestion_id), "status": location},
        status=201,
        headers={"Location": location},
    )


async def _ingestions(
    reverie: app.App, request: requests.Request
) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        latest = await ingestions.latest(tx, caller)
    items = [
        {
            "id": str(ingestion.id),
            "kind": ingestion.kind,
            "state": ingestion.state,
            "reason": ingestion.reason,
            "at": ingestion.created_at.isoformat(),
        }
        for ingestion in latest
    ]
    return envelope.answer({"items": items})


async def _status(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    model = reverie.embeddings.model
    async with reverie.database.transaction(caller) as tx:
        found = await status.status(
            tx, caller, parameters.record_id(request), model=model
        )
        left = found.seconds_left
        # Once its files are read, what is left of it are vectors.
        if found.ended and model:
            left = await progress.seconds_left(tx, caller, model)
    return envelope.answer(found.as_json() | {"seconds_left": left})


async def _stop(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    async with reverie.database.transaction(caller) as tx:
        await ingestions.end(tx, caller, parameters.record_id(request), "stopped")
        stopped = await ingestions.get(tx, caller, parameters.record_id(request))
    return envelope.answer({"id": str(stopped.id), "state": stopped.state})


async def _readable(
    tx: db.Transaction, caller: callers.Caller, record_id: UUID
) -> tuple[record_types.Domain[Any], Any]:
    """A record that the caller may read, and its domain. What is closed is as unknown
    as what is not there.
    """
    domain = catalogue.domain(await places.domain(tx, caller, record_id))
    if not caller.may(domain.plural, "read"):
        raise places.missing()
    return domain, await base.get(tx, caller, domain, record_id)


async def _passages(reverie: app.App, request: requests.Request) -> responses.Response:
    query = parameters.read(request, PassagesParameters)
    caller = middleware.caller_of(request)
    record_id = parameters.record_id(request)
    async with reverie.database.transaction(caller) as tx:
        domain, record = await _readable(tx, caller, record_id)
        passages, total = await places.passages(
            tx, caller, record_id, after=query.after, limit=query.limit
        )
        original = await originals.openable(tx, caller, record_id)
    mime = str(getattr(record, "mime", ""))
    items = [_passage_json(record_id, passage, mime) for passage in passages]
    address = f"{middleware.PREFIX}/{domain.plural}/{record_id}"
    return envelope.answer(
        {
            "domain": domain.name,
            "title": domain.summary(record),
            "total": total,
            "items": items,
            "record": address,
            "original": f"{address}/original" if original else None,
        }
    )


async def _passage(reverie: app.App, request: requests.Request) -> responses.Response:
    """A passage between its neighbours, so that a quotation can be checked where it
    stands.
    """
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    record_id = parameters.record_id(request)
    number = _number(request)
    async with reverie.database.transaction(caller) as tx:
        domain, record = await _readable(tx, caller, record_id)
        neighbours = await places.around(tx, caller, record_id, number)
    mime = str(getattr(record, "mime", ""))
    passage = _passage_json(record_id, neighbours[number], mime)
    before = neighbours.get(number - 1)
    after = neighbours.get(number + 1)
    return envelope.answer(
        {
            "title": domain.summary(record),
            **passage,
            "before": before.text if before else "",
            "after": after.text if after else "",
        }
    )


def _passage_json(
    record_id: UUID, passage: places.PlacedPassage, mime: str
) -> dict[str, Any]:
    """A passage with its place, in words too, and a link to it: the picture of its
    page, or what stands around it.
    """
    address = f"{middleware.PREFIX}/documents/{record_id}"
    image = mime.startswith("image/")
    page = passage.place.get("page", 1 if image else None)
    pictured = page is not None and (image or mime == _PDF)
    link = f"{address}/passages/{passage.number}"
    if pictured:
        link = f"{address}/pages/{page}"
    return {
        "number": passage.number,
        "place": passage.place,
        "where": places.label(passage.place),
        "link": link,
        "text": passage.text,
    }


def _number(request: requests.Request) -> int:
    text = str(request.path_params["number"])
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise errors.NotFound(
            "There is no such page or passage.", hint="They count from 1."
        )
    return int(text)


async def _page(reverie: app.App, request: requests.Request) -> responses.Response:
    """A page of a PDF or an image as PNG, drawn in a limited process of its own."""
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    record_id = parameters.record_id(request)
    number = _number(request)
    async with reverie.database.transaction(caller) as tx:
        _, record = await _readable(tx, caller, record_id)
        address = await originals.address(tx, caller, record_id)
    content = await asyncio.to_thread(
        blobs.verified, reverie.blobs, caller.user_id, address
    )
    picture = await reverie.worker_pool.picture(
        content, str(getattr(record, "name", "document")), number
    )
    headers = {
        "Content-Security-Policy": "default-src 'none'",
        "Content-Disposition": "inline",
    }
    return responses.Response(picture, media_type="image/png", headers=headers)


async def _stats(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    location = (
        "the owner's own PostgreSQL"
        if reverie.server is None
        else str(reverie.server.place.data)
    )
    async with reverie.database.transaction(caller) as tx:
        stats = await holdings.measured(
            tx,
            caller,
            model=reverie.embeddings.model,
            home=reverie.settings.home,
            blobs=reverie.blobs,
            database=location,
        )
    return envelope.answer(stats.as_json())


ROUTES = (
    routes.Route(
        operation="documents.upload",
        method="POST",
        path="/upload",
        handler=_upload,
        summary="Keep the bytes of a file",
        status=201,
    ),
    routes.Route(
        operation="documents.ingest",
        method="POST",
        path="/ingest",
        handler=_ingest,
        summary="Take in an upload, or files of this machine",
        body=_Ingest,
        status=201,
    ),
    routes.Route(
        operation="documents.fetch",
        method="POST",
        path="/ingest/url",
        handler=_fetch,
        summary="Fetch a page and take it in",
        body=_Address,
        status=201,
    ),
    routes.Route(
        operation="documents.ingestions",
        method="GET",
        path="/ingest",
        handler=_ingestions,
        summary="The last ingestions",
    ),
    routes.Route(
        operation="documents.status",
        method="GET",
        path="/ingest/status/{record_id}",
        handler=_status,
        summary="How far an ingestion is",
    ),
    routes.Route(
        operation="documents.stop",
        method="POST",
        path="/ingest/stop/{record_id}",
        handler=_stop,
        summary="Stop an ingestion",
    ),
    routes.Route(
        operation="documents.passages",
        method="GET",
        path="/documents/{record_id}/passages",
        handler=_passages,
        summary="Its passages",
        query=PassagesParameters,
    ),
    routes.Route(
        operation="documents.passage",
        method="GET",
        path="/documents/{record_id}/passages/{number}",
        handler=_passage,
        summary="One of them",
    ),
    routes.Route(
        operation="documents.page",
        method="GET",
        path="/documents/{record_id}/pages/{number}",
        handler=_page,
        summary="A page as a picture",
    ),
    routes.Route(
        operation="vault.stats",
        method="GET",
        path="/vault/stats",
        handler=_stats,
        summary="What is kept, where, and who is connected",
    ),
)
