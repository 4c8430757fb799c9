"""An agent of pydantic-ai behind the gateway: its turns, its tools and what they return
are judged and masked together.
"""

import json
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import BinaryContent

from reverie import db, errors
from reverie.access import callers
from reverie.llm import agents, chat
from tests.llm import model_server, vendors
from tests.llm.conftest import Opened, rows, settings_of

WHO = "ana.lopez@example.org"


def calling(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {
        "id": "t1",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    whole = vendors.openai("")
    whole["choices"][0]["message"] = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call],
    }
    whole["choices"][0]["finish_reason"] = "tool_calls"
    return whole


async def test_tools_get_the_real_value_and_the_cloud_never_does(
    database: db.Database, owner: callers.Caller, opened: Opened
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return 200, vendors.openai(f"Done: {last['content']}")
        return 200, calling("send", {"to": str(last["content"]).split()[-1]})

    with model_server.serving(answer) as server:
        models = opened(settings_of(server.url, local=False))
        agent = Agent(
            agents.model(models, owner, chat.ChatRequest((), "agent")),
            instructions=f"You work for {WHO}.",
        )
        heard: list[str] = []

        @agent.tool_plain
        def send(to: str) -> dict[str, Any]:
            heard.append(to)
            return {"sent": to, "phone": 34612345678, to: 1}

        result = await agent.run(f"Write to {WHO}")
        assert heard == [WHO]
        assert WHO in result.output
        sent = b"".join(one.raw for one in server.asked)
        assert WHO.encode() not in sent
        assert b"34612345678" not in sent
        found = await rows(database, owner)
        assert [row["action"] for row in found] == ["sent_pseudonymised"] * 2
        assert len(found) == len(server.asked)
        async with agent.run_stream(f"Write to {WHO}") as stream:
            assert WHO in await stream.get_output()


async def test_what_cannot_be_read_goes_to_no_cloud(
    owner: callers.Caller, opened: Opened
) -> None:
    with model_server.serving(vendors.echo) as server:
        picture = BinaryContent(b"\x89PNG", media_type="image/png")
        agent = Agent(
            agents.model(
                opened(settings_of(server.url, local=False)),
                owner,
                chat.ChatRequest((), "agent"),
            )
        )
        with pytest.raises(errors.Confined):
            await agent.run(["What is this?", picture])
        with pytest.raises(errors.Confined):
            await agent.run("My biopsy was clear.")
        assert not server.asked
        here = Agent(
            agents.model(
                opened(settings_of(server.url)), owner, chat.ChatRequest((), "agent")
            )
        )
        await here.run(["What is this?", picture])
        assert len(server.asked) == 1
