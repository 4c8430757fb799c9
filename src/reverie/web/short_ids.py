"""REST route of any record by its id, or by a unique beginning or ending of it."""

from starlette import requests, responses

from reverie import app
from reverie.graph import warming
from reverie.records import base, catalogue, short_ids
from reverie.web import envelope, forms, middleware, parameters, routes


async def _get(reverie: app.App, request: requests.Request) -> responses.Response:
    parameters.read(request, parameters.Parameters)
    caller = middleware.caller_of(request)
    text = str(request.path_params["record_id"])
    async with reverie.database.transaction(caller) as tx:
        found = await short_ids.resolve(tx, caller, text)
        domain = catalogue.domain(found.domain)
        record = await base.get(tx, caller, domain, found.record_id, deleted=True)
        if record.deleted_at is None:
            record = await base.read(tx, caller, domain, record.id)
            await warming.opened(tx, caller, record.id)
    return envelope.answer(
        {
            "domain": domain.name,
            "path": f"/{domain.plural}/{record.id}",
            "record": forms.record(domain, record),
        }
    )


_TEXT = {"type": "string"}
ROUTES = (
    routes.Route(
        operation="records.get",
        method="GET",
        path="/records/{record_id}",
        handler=_get,
        summary="Any record by its id, or by a unique part of it",
        description="Of an id its first or last digits are enough, four at least; the record may be deleted.",
        response={
            "type": "object",
            "properties": {
                "domain": _TEXT,
                "path": {**_TEXT, "description": "its own address below /api/v1"},
                "record": {"type": "object"},
            },
            "required": ["domain", "path", "record"],
        },
    ),
)
