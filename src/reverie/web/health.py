"""REST route of the health check: open to everybody, so it says nothing else."""

import asyncio

from starlette import requests, responses

import reverie as package
from reverie import app, errors
from reverie.web import envelope, parameters, routes

_PATIENCE_SECONDS = 3


async def _health(reverie: app.App, request: requests.Request) -> responses.Response:
    """`degraded`: records are kept and found by their words, and nothing is there to
    find them by meaning.
    """
    parameters.read(request, parameters.Parameters)
    version = package.__version__
    try:
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            reverie.database.transaction(None) as tx,
        ):
            await tx.value("SELECT 1")
    except (errors.DatabaseUnavailable, TimeoutError):
        down = envelope.error(
            "database_unavailable",
            "PostgreSQL does not answer.",
            "Try again in a moment.",
        )
        return envelope.answer(
            {"status": "down", "version": version} | down, status=503
        )
    return envelope.answer(
        {"status": "ok" if reverie.embeddings.model else "degraded", "version": version}
    )


ROUTES = (
    routes.Route(
        operation="health",
        method="GET",
        path="/health",
        handler=_health,
        summary="Whether Reverie is well",
        response={
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": ["ok", "degraded", "down"]},
                "version": {"type": "string"},
            },
        },
        tag="server",
    ),
)
