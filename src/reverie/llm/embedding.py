"""Embeddings of texts, and reranking: the gateway's face for vectors.

A model of this machine gets texts as they are, any other one by the rules.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from reverie import config, errors
from reverie.llm import gateway
from reverie.privacy import sensitivity
from reverie.providers import (
    base,
    builtin,
    calibration,
    configured,
    http,
    lanes,
    lexicon,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
Vectors = base.Vectors
Calibration = base.Calibration
LanguageMeans = base.LanguageMeans

Origin = gateway.Origin
Level = gateway.Level
Lane = gateway.Lane

_Embed = Callable[[Sequence[str]], Vectors]

FLOOR = builtin.CALIBRATION.floor
"""Below this, a calibrated similarity of any model says nothing."""
# Until a model's similarities have been measured: rough.
_DEFAULT = base.Calibration(floor=0.3)
# The present model is as good as one that covers this little more: a few texts may be
# refused for ever.
_NEARLY = 0.99


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question as a unit vector, and what its model's similarities mean.

    `offset + calibration.scale * cosine` is the similarity in the built-in model's
    range, where FLOOR is the floor.
    """

    model: str
    values: list[float]
    calibration: base.Calibration

    @property
    def offset(self) -> float:
        return FLOOR - self.calibration.scale * self.calibration.floor


@dataclass(frozen=True, slots=True)
class ModelMeasurement:
    """What was found out about a model by asking it."""

    dimensions: int
    calibration: base.Calibration


class Embeddings:
    """The embedding models, the reranker, and threads for each. A process holds one.

    `models` names all that can embed a question now: the present one, on which
    everything is kept, first; then the previous one and the built-in one. With provider
    `none` there is none, and every call is Unavailable.
    """

    def __init__(
        self,
        settings: config.Embedding,
        reranker: config.RerankerModel | None = None,
        *,
        cache: Path | None = None,
        gateway: gateway.Gateway | None = None,
    ) -> None:
        reranker = reranker or config.RerankerModel()
        self._embedders = configured.embedders(settings, cache)
        self._reranker = configured.reranker(reranker, cache)
        self._gateway = gateway
        # Models that are not on this machine: nothing reaches them but through the
        # gateway.
        self._away = {
            embedder.name: _target(embedder.name, embedder.server)
            for embedder in self._embedders.values()
            if configured.in_cloud(embedder)
        }
        self._judge_away = (
            _target(f"{reranker.model}@reranker", self._reranker.server)
            if configured.in_cloud(self._reranker)
            else None
        )
        self.models: tuple[str, ...] = tuple(self._embedders)
        self.batch = settings.batch
        self.keeps_previous = settings.keep_previous
        self.top = reranker.top
        self._measured: dict[str, ModelMeasurement | None] = {}
        self._patience_s = reranker.timeout_s
        self._lexicon = lexicon.Lexicon(cache) if cache else None
        self._judge = lanes.Threads(1, "reranker", errors.RerankerUnavailable)
        self._threads = {
            name: lanes.Threads(embedder.places, "embedder", errors.EmbedderUnavailable)
            for name, embedder in self._embedders.items()
        }

    @property
    def model(self) -> str:
        """Model and version, or "" without an embedder."""
        return self.models[0] if self.models else ""

    @property
    def reranks(self) -> bool:
        """Whether a reranker is configured."""
        return self._reranker is not None

    def shipped(self, model: str) -> base.Calibration | None:
        """What a model's similarities mean, if it comes with that."""
        return self._embedders[model].calibration

    def calibrated(
        self, model: str, measured: base.Calibration | None = None
    ) -> base.Calibration:
        """What a model's similarities mean: shipped, or measured, or else a rough
        floor.
        """
        return self._named(model).calibration or measured or _DEFAULT

    def by_coverage(self, vectors: Mapping[str, int]) -> list[str]:
        """The models to ask, best first: those with most vectors, the present one
        before its equals.

        Without any vectors, the present one.
        """
        most = max((vectors.get(name, 0) for name in self.models), default=0)
        covering = [name for name in self.models if vectors.get(name, 0)]
        if not covering:
            covering = list(self.models[:1])

        def rank(name: str) -> int:
            count = vectors.get(name, 0)
            nearly_all = name == self.model and count >= _NEARLY * most
            return most if nearly_all else count

        return sorted(covering, key=rank, reverse=True)

    def at_once(self, letters: int) -> int:
        """How many texts of about so many letters the present model embeds best
        together, when many wait.
        """
        embedder = self._embedders.get(self.model)
        if embedder is None or not embedder.at_once:
            return self.batch
        return max(1, embedder.at_once // max(letters, 1))

    def leaves(self, model: str | None = None) -> bool:
        """Whether a model is elsewhere: then critical texts have no vectors of it."""
        return (model or self.model) in self._away

    async def judged(
        self, texts: Sequence[str], bases: Sequence[str], model: str | None = None
    ) -> list[gateway.Level]:
        """How private each text is, its record's own level in `bases`: for a model
        elsewhere, and else nobody asks.
        """
        if self._gateway is None or not self.leaves(model):
            return [gateway.Level.LOW] * len(texts)
        levels = [sensitivity.named(base) for base in bases]
        return await self._gateway.judged(texts, levels)

    async def passages(
        self,
        texts: Sequence[str],
        model: str | None = None,
        *,
        origin: gateway.Origin | None = None,
    ) -> Vectors:
        """Shape (len(texts), dimensions), float32, unit length. Raises
        EmbedderUnavailable, Invalid for a bad text.

        A model elsewhere wants an `origin`; Confined when one of the texts must not
        leave. Without, it is bulk work.
        """
        embedder = self._named(model)
        return await self._run(embedder, embedder.passages, texts, origin, "bulk")

    async def query(
        self,
        text: str,
        model: str | None = None,
        *,
        measured: base.Calibration | None = None,
        origin: gateway.Origin | None = None,
    ) -> QueryVector:
        """A question as a vector of the present model, or of another of `models`.
        Raises EmbedderUnavailable.

        `measured` is what was kept of `measure`; a model that comes with its
        calibration does not need it.
        """
        embedder = self._named(model)
        meaning = self.calibrated(embedder.name, measured)
        try:
            vectors = await self._run(
                embedder, embedder.queries, [text], origin, "query"
            )
        except errors.Confined as kept:
            raise errors.EmbedderUnavailable(kept.message, hint=kept.hint) from None
        if meaning.means is not None:
            vectors = meaning.means.without(vectors)
        return QueryVector(
            embedder.name, [float(value) for value in vectors[0]], meaning
        )

    async def measure(
        self, model: str, *, origin: gateway.Origin | None = None
    ) -> ModelMeasurement | None:
        """Ask a model for sentences of ours, once a process, and see what its
        similarities mean.

        None if it refuses them. Raises EmbedderUnavailable.
        """
        if model not in self._measured:
            try:
                self._measured[model] = await self._measure(self._named(model), origin)
            except errors.Invalid as refused:
                log.warning(
                    "the model %s cannot be measured: %s", model, refused.message
                )
                self._measured[model] = None
        return self._measured[model]

    async def rerank(
        self, query: str, texts: Sequence[str], *, origin: gateway.Origin | None = None
    ) -> list[float]:
        """How well each text answers a question, from 0 to 1. Raises
        RerankerUnavailable, also when one must stay.
        """
        if self._reranker is None:
            raise errors.RerankerUnavailable(
                "No reranker is configured.", hint="Set `provider` under [reranker]."
            )
        if not texts:
            return []
        judge = self._reranker
        lane = origin.lane if origin else "query"

        async def ask(sent: Sequence[str]) -> list[float]:
            return await self._judge.run(
                lane, lambda: judge.rerank(sent[0], list(sent[1:]))
            )

        try:
            async with asyncio.timeout(self._patience_s):
                if self._judge_away is None:
                    return await ask([query, *texts])
                return await self._through(
                    self._judge_away, ask, [query, *texts], origin
                )
        except errors.Confined as kept:
            raise errors.RerankerUnavailable(kept.message, hint=kept.hint) from None
        except TimeoutError:
            raise errors.RerankerUnavailable(
                f"The reranker takes longer than {self._patience_s:g} s."
            ) from None

    async def makes_sense(self, text: str) -> bool:
        """Whether a question holds words at all: of gibberish a model would find
        something near, too.
        """
        if self._lexicon is None:
            return True
        return await asyncio.to_thread(self._lexicon.makes_sense, text)

    def close(self) -> None:
        """Let the threads go."""
        for threads in (self._judge, *self._threads.values()):
            threads.close()

    async def _measure(
        self, embedder: base.Embedder, origin: gateway.Origin | None
    ) -> ModelMeasurement:
        texts = await asyncio.to_thread(calibration.texts)
        passages = await self._rows(embedder, embedder.passages, texts.passages, origin)
        questions = await self._rows(
            embedder, embedder.queries, texts.questions, origin
        )
        queries = await self._rows(embedder, embedder.queries, texts.queries, origin)
        meant = await asyncio.to_thread(
            calibration.measured, passages, questions, queries, texts.passage_of_each
        )
        return ModelMeasurement(passages.shape[2], meant)

    async def _run(
        self,
        embedder: base.Embedder,
        embed: _Embed,
        texts: Sequence[str],
        origin: gateway.Origin | None,
        lane: Lane,
    ) -> Vectors:
        """In the lane of its origin, or else in `lane`."""
        lane = origin.lane if origin else lane

        async def ask(sent: Sequence[str]) -> Vectors:
            calls = [
                functools.partial(embed, bit) for bit in bits(sent, embedder.letters)
            ]
            parts = await self._threads[embedder.name].each(lane, calls)
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        target = self._away.get(embedder.name)
        if target is None:
            return await ask(texts)
        return await self._through(target, ask, texts, origin)

    async def _through(
        self,
        target: gateway.Target,
        ask: Callable[[Sequence[str]], Awaitable[T]],
        texts: Sequence[str],
        origin: gateway.Origin | None,
    ) -> T:
        """Ask a model elsewhere, by the rules. Nobody's call is no call."""
        if self._gateway is None or origin is None:
            raise errors.Confined(
                f"{target.name} is not on this machine, and it is not known who asks it."
            )

        async def send(sent: Sequence[str]) -> gateway.Reply[T]:
            return gateway.Reply(await ask(sent))

        routed = await self._gateway.call(origin, texts, [(target, send)])
        return routed.value

    async def _rows(
        self,
        embedder: base.Embedder,
        embed: _Embed,
        rows: Sequence[Sequence[str]],
        origin: gateway.Origin | None,
    ) -> Vectors:
        """Vectors of equally long rows of texts, shape (rows, texts, dimensions), a
        batch at a time.
        """
        flat = [text for row in rows for text in row]
        bits = [
            flat[start : start + self.batch]
            for start in range(0, len(flat), self.batch)
        ]
        parts = [
            await self._run(embedder, embed, bit, origin, "realtime") for bit in bits
        ]
        return np.concatenate(parts).reshape(len(rows), len(rows[0]), -1)

    def _named(self, model: str | None) -> base.Embedder:
        if not self.models:
            raise errors.EmbedderUnavailable(
                "No embedding model is configured: search goes by words.",
                hint='Set provider = "builtin".',
            )
        name = model or self.model
        if name not in self._embedders:
            raise errors.EmbedderUnavailable(
                f"The embedding model {name} is not configured.",
                hint="Name it under [embedding.previous].",
            )
        return self._embedders[name]


def bits(texts: Sequence[str], letters: int) -> Iterator[list[str]]:
    """Texts in their order, as many together as have so many letters (0: all), at least
    one.
    """
    bit: list[str] = []
    size = 0
    for text in texts:
        if bit and letters and size + len(text) > letters:
            yield bit
            bit, size = [], 0
        bit.append(text)
        size += len(text)
    yield bit


def _target(name: str, server: http.ModelServer) -> gateway.Target:
    return gateway.Target(name[:200], server.place, lanes.Lanes(2), server.timeout_s)
