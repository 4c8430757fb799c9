"""Models behind the gateway, and the rows that calls leave in the log."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reverie import config, db
from reverie.access import callers
from reverie.llm import chat, gateway
from reverie.privacy import vault

Opened = Callable[..., chat.Models]
KEY = vault.open_key(Path(tempfile.mkdtemp()))


def settings_of(url: str, **more: object) -> dict[str, Any]:
    """A server like OpenAI's on this machine; a cloud with `local` False."""
    return {
        "provider": "openai",
        "model": "m",
        "base_url": f"{url}/v1",
        "timeout_s": 5,
        **more,
    }


@pytest.fixture
def opened(database: db.Database) -> Opened:
    """Models by their settings, and what else holds."""

    def make(
        *all_settings: dict[str, Any],
        rules: gateway.GatewaySettings | None = None,
        **more: object,
    ) -> chat.Models:
        first, *rest = all_settings or ({},)
        settings = config.Model.model_validate({**first, "fallback": rest, **more})
        return chat.Models(
            settings,
            gateway.Gateway(database, rules or gateway.GatewaySettings(key=KEY)),
        )

    return make


async def rows(database: db.Database, caller: callers.Caller) -> list[dict[str, Any]]:
    """Every row of the log, oldest first."""
    async with database.transaction(caller) as tx:
        return await tx.rows("SELECT * FROM pii_routing_log ORDER BY id")
