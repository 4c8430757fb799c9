"""pydantic-ai's chat models as our clients, over a guarded HTTP client.

The client goes where it is told and no further: no redirect, no retry that the log does
not know of, no address from the environment; and to a model on this machine no proxy.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any

import httpx2
from pydantic_ai import exceptions
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from reverie import config, errors
from reverie.providers import chat_base, smollm

_PASSING = (
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
)
_OF_THE_ACCOUNT = (
    exceptions.ModelAuthenticationError,
    exceptions.ModelNotFoundError,
    exceptions.ModelQuotaExceededError,
)
_LONGEST_WAIT_S = 30.0
# What the vendors' packages stumble over when an answer has another shape than theirs.
_NONSENSE = (ValueError, TypeError, AttributeError, LookupError)


def client(
    settings: config.LanguageModel, where: chat_base.Endpoint
) -> chat_base.Client:
    """A client for this endpoint."""
    return _Client(settings, where)


class _Client:
    """A model of pydantic-ai, opened at the first call."""

    def __init__(
        self, settings: config.LanguageModel, where: chat_base.Endpoint
    ) -> None:
        self._settings = settings
        self._where = where
        self._model: Model | None = None

    @property
    def model(self) -> Model:
        if self._model is None:
            self._model = _opened(self._settings, self._where)
        return self._model

    async def ask(self, prompt: chat_base.Prompt) -> chat_base.Completion:
        model = await self._ready()
        with translated(self._where):
            response = await model.request(
                _messages(prompt), _settings(prompt), _parameters(model, prompt)
            )
        text = "".join(
            part.content for part in response.parts if isinstance(part, TextPart)
        )
        return chat_base.Completion(
            text, response.usage.input_tokens, response.usage.output_tokens
        )

    async def stream(
        self, prompt: chat_base.Prompt
    ) -> AsyncGenerator[str | chat_base.Completion]:
        model = await self._ready()
        with translated(self._where):
            request = model.request_stream(
                _messages(prompt), _settings(prompt), _parameters(model, prompt)
            )
            async with request as answer:
                async for event in answer:
                    if isinstance(event, PartStartEvent) and isinstance(
                        event.part, TextPart
                    ):
                        piece = event.part.content
                    elif isinstance(event, PartDeltaEvent) and isinstance(
                        event.delta, TextPartDelta
                    ):
                        piece = event.delta.content_delta
                    else:
                        continue
                    if piece:
                        yield piece
                usage = answer.usage
                yield chat_base.Completion("", usage.input_tokens, usage.output_tokens)

    async def _ready(self) -> Model:
        """The model; the built-in one is loaded beside the loop."""
        return self._model or await asyncio.to_thread(lambda: self.model)


def _opened(settings: config.LanguageModel, where: chat_base.Endpoint) -> Model:
    url, key = where.base_url, settings.api_key or "none"
    if where.provider == "builtin":
        served = smollm.served()
        url, key = served.url, served.key
    http = httpx2.AsyncClient(
        timeout=httpx2.Timeout(
            settings.timeout_s, connect=min(4.0, settings.timeout_s)
        ),
        trust_env=where.place == "cloud",
        follow_redirects=False,
        limits=httpx2.Limits(
            max_keepalive_connections=0
        ),  # beside an answer, a handshake takes no time
        event_hooks={"request": [_bare]},
    )
    if where.family == "anthropic":
        return _anthropic(where.model, url, key, http)
    if where.family == "google":
        return _google(where.model, url, key, http)
    return _openai(where, url, key, http)


async def _bare(request: httpx2.Request) -> None:
    """What the vendors' packages tell of this machine beside what is asked: nobody
    asked them to.
    """
    for name in list(request.headers):
        if name.lower().startswith("x-stainless-"):
            del request.headers[name]
    request.headers["User-Agent"] = "reverie"


def _openai(
    where: chat_base.Endpoint, url: str, key: str, http: httpx2.AsyncClient
) -> Model:
    vendor, models = _imported("openai", "openai")
    client = vendor.AsyncOpenAI(
        base_url=url,
        api_key=key,
        organization="",
        project="",
        max_retries=0,
        http_client=http,
    )
    if where.provider == "ollama":
        _, models = _imported("openai", "ollama")
        providers = importlib.import_module("pydantic_ai.providers.ollama")
        return models.OllamaModel(
            where.model, provider=providers.OllamaProvider(openai_client=client)
        )
    providers = importlib.import_module("pydantic_ai.providers.openai")
    profile: dict[str, Any] | None = None
    if where.provider != "openai" or where.base_url != "https://api.openai.com/v1":
        # Servers that speak like OpenAI's know the older name of this field, and the
        # role `system`.
        profile = {
            "openai_chat_supports_max_completion_tokens": False,
            "openai_system_prompt_role": "system",
            "openai_supports_strict_tool_definition": False,
            "supports_json_schema_output": True,
        }
    return models.OpenAIChatModel(
        where.model,
        provider=providers.OpenAIProvider(openai_client=client),
        profile=profile,
    )


def _anthropic(model: str, url: str, key: str, http: httpx2.AsyncClient) -> Model:
    vendor, models = _imported("anthropic", "anthropic")
    client = vendor.AsyncAnthropic(
        base_url=url,
        api_key=key,
        max_retries=0,
        http_client=http,
        open_telemetry=False,
        webhook_key="",
    )
    providers = importlib.import_module("pydantic_ai.providers.anthropic")
    return models.AnthropicModel(
        model, provider=providers.AnthropicProvider(anthropic_client=client)
    )


def _google(model: str, url: str, key: str, http: httpx2.AsyncClient) -> Model:
    _, models = _imported("google.genai", "google")
    providers = importlib.import_module("pydantic_ai.providers.google")
    return models.GoogleModel(
        model,
        provider=providers.GoogleProvider(api_key=key, base_url=url, http_client=http),
    )


def _imported(vendor: str, family: str) -> tuple[Any, Any]:
    """A vendor's package and pydantic-ai's models of it. Each takes a second, so nobody
    pays for the others'.
    """
    try:
        return importlib.import_module(vendor), importlib.import_module(
            f"pydantic_ai.models.{family}"
        )
    except ImportError as missing:
        raise errors.ModelUnavailable(
            f"The package for {vendor} does not load: {missing}.",
            hint="Reinstall Reverie's requirements.",
        ) from missing


def _messages(prompt: chat_base.Prompt) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    parts: list[SystemPromptPart | UserPromptPart] = []
    for message in prompt.messages:
        if message.role == "assistant":
            messages += [ModelRequest(parts=parts)] if parts else []
            messages.append(ModelResponse(parts=[TextPart(message.text)]))
            parts = []
        else:
            parts.append(
                SystemPromptPart(message.text)
                if message.role == "system"
                else UserPromptPart(message.text)
            )
    return [*messages, ModelRequest(parts=parts)] if parts else messages


def _settings(prompt: chat_base.Prompt) -> ModelSettings:
    return ModelSettings(max_tokens=prompt.max_tokens)


def _parameters(model: Model, prompt: chat_base.Prompt) -> ModelRequestParameters:
    """With a schema, the provider holds the model to it where it can."""
    if prompt.schema is None or not model.profile.get(
        "supports_json_schema_output", False
    ):
        return ModelRequestParameters()
    output = OutputObjectDefinition(
        json_schema=dict(prompt.schema), name="answer", strict=None
    )
    return ModelRequestParameters(output_mode="native", output_object=output)


@contextmanager
def translated(where: chat_base.Endpoint) -> Generator[None]:
    """What went wrong, as our errors: without a word of what was asked or answered."""
    name = where.name
    try:
        yield
    except exceptions.ModelTimeoutError:
        raise errors.ModelUnavailable(
            f"{name} takes too long.", hint="Raise `timeout_s` under [model]."
        ) from None
    except exceptions.ModelConnectionError as gone:
        raise _disconnected(where, gone) from None
    except _PASSING as busy:
        wait = min(busy.retry_after or 0.0, _LONGEST_WAIT_S)
        raise errors.ModelBusy(
            f"{name} answered {_status(busy)}.", details={"after_s": wait}
        ) from None
    except _OF_THE_ACCOUNT as refused:
        raise errors.ModelUnavailable(
            f"{name} answered {_status(refused)}.", hint=_of_account(where, refused)
        ) from None
    except (
        exceptions.ModelRequestRejectedError,
        exceptions.ContentFilterError,
    ) as refused:
        raise errors.Invalid(
            f"{name} refused this request: it answered {_status(refused)}."
        ) from None
    except exceptions.ModelHTTPError as odd:
        raise errors.ModelUnavailable(f"{name} answered {odd.status_code}.") from None
    except (
        exceptions.AgentRunError,
        exceptions.UserError,
        httpx2.HTTPError,
        *_NONSENSE,
    ) as odd:
        raise errors.ModelUnavailable(
            f"The answer of {name} makes no sense ({type(odd).__name__})."
        ) from None


def _disconnected(
    where: chat_base.Endpoint, gone: exceptions.ModelConnectionError
) -> errors.ModelUnavailable:
    """Broken off half-way, which passes, or no server at all."""
    if gone.phase in ("write", "read"):
        return errors.ModelBusy(f"The connection to {where.name} broke off.")
    hint = ""
    if where.provider == "ollama":
        hint = "Is Ollama running? `ollama serve` starts it."
    return errors.ModelUnavailable(
        f"{where.name} does not answer at {where.base_url}.", hint=hint
    )


def _of_account(where: chat_base.Endpoint, refused: Exception) -> str:
    """What to do about a refusal that concerns the key or the model's name."""
    missing = isinstance(refused, exceptions.ModelNotFoundError)
    if missing and where.provider == "ollama":
        return f"Try `ollama pull {where.model}`."
    return "Check `api_key` and `model` under [model]."


def _status(failure: Exception) -> str:
    return str(getattr(failure, "status_code", "no"))
