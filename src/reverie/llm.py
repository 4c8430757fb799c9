"""The only door to a model. Today it embeds; asking and reranking come through here too."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from reverie import config, errors
from reverie.providers import base, builtin, lexicon, openai

Vectors = base.Vectors


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question as a unit vector, and what its model's similarities mean."""

    model: str
    values: list[float]
    calibration: base.Calibration


class Embeddings:
    """One embedder and the thread it runs in. A process holds one; with provider `none`, every call is Unavailable."""

    def __init__(self, settings: config.Embedding, *, cache: Path | None = None) -> None:
        self._embedder = _embedder(settings)
        self.batch = settings.batch
        self._lexicon = lexicon.Lexicon(cache) if cache else None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")

    @property
    def model(self) -> str:
        """Model and version, or "" without an embedder."""
        return self._embedder.name if self._embedder else ""

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), float32, unit length. Raises EmbedderUnavailable."""
        embedder = self._there()
        return await asyncio.get_running_loop().run_in_executor(self._thread, embedder.passages, texts)

    async def query(self, text: str) -> QueryVector:
        """A question as a vector. Raises EmbedderUnavailable."""
        embedder = self._there()
        vector = await asyncio.get_running_loop().run_in_executor(self._thread, embedder.query, text)
        return QueryVector(embedder.name, [float(value) for value in vector], embedder.calibration)

    async def makes_sense(self, text: str) -> bool:
        """Whether a question holds words at all: of gibberish a model would find something near, too."""
        if self._lexicon is None:
            return True
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._lexicon.makes_sense, text)

    def close(self) -> None:
        """Let the thread go."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _there(self) -> base.Embedder:
        if self._embedder is None:
            raise errors.EmbedderUnavailable(
                "No embedding model is configured: search goes by words.", hint='Set provider = "builtin".'
            )
        return self._embedder


def _embedder(settings: config.Embedding) -> base.Embedder | None:
    if settings.provider == "builtin":
        return builtin.Builtin()
    if settings.provider == "none":
        return None
    if not settings.base_url or not settings.model:
        raise errors.Misconfigured(
            "The embedding provider `openai` needs `base_url` and `model`.", hint="Set both under [embedding]."
        )
    return openai.OpenAI(
        base_url=settings.base_url,
        model=settings.model,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
    )
