"""What left this machine, over HTTP."""

import httpx

from reverie import app, config
from reverie.access import callers
from reverie.llm import chat, gateway
from tests.conftest import client_of
from tests.llm import model_server, vendors
from tests.llm.conftest import KEY, settings_of


async def test_the_summary_is_one_s_own(
    reverie: app.App,
    api: httpx.AsyncClient,
    owner: callers.Caller,
    other: callers.Caller,
) -> None:
    with model_server.serving(vendors.echo) as server:
        settings = config.Model.model_validate(settings_of(server.url, local=False))
        models = chat.Models(
            settings, gateway.Gateway(reverie.database, gateway.GatewaySettings(KEY))
        )
        for text in ("What grows in May?", "Write to ana@example.org."):
            await models.ask(
                owner, chat.ChatRequest((chat.Message("user", text),), "test")
            )
    found = (await api.get("/api/v1/privacy/summary")).json()
    assert (
        found["sentence"]
        == "this week: 2 processed, 1 plain, 1 pseudonymised, 0 blocked"
    )
    assert found["models"] == [
        {
            "model": "openai:m",
            "destination": "cloud",
            "calls": 2,
            "failed": 0,
            "tokens_in": 22,
            "tokens_out": 14,
        }
    ]
    assert (
        await api.get("/api/v1/privacy/summary", params={"days": 0})
    ).status_code == 422
    async with await client_of(reverie, other) as client:
        assert (await client.get("/api/v1/privacy/summary", params={"days": 1})).json()[
            "processed"
        ] == 0
