"""Fixtures of the API's tests: a second person's client, and lives made of records."""

from collections.abc import AsyncIterator

import httpx
import pytest_asyncio

from reverie import app
from reverie.access import callers
from tests.conftest import client_of


@pytest_asyncio.fixture
async def others_api(
    reverie: app.App, other: callers.Caller
) -> AsyncIterator[httpx.AsyncClient]:
    """The second person's HTTP client."""
    async with await client_of(reverie, other) as client:
        yield client
