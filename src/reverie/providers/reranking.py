"""Reranker (cross-encoder) over HTTP: the `/rerank` endpoint of Cohere's form, or TEI's.

Jina, vLLM, llama.cpp and others have Cohere's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from reverie import errors
from reverie.providers import base, http


class RemoteReranker:
    """A cross-encoder on a server. Some answer shares, some logits: logits, once seen,
    are taken for what they are.
    """

    def __init__(self, server: http.ModelServer, *, model: str) -> None:
        self.server = server
        self._model = model
        self._as_texts = False
        self._logits = False

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        scores = self._scores(self._request(query, list(texts)), len(texts))
        self._logits = self._logits or any(not 0 <= score <= 1 for score in scores)
        return base.probabilities(scores) if self._logits else scores

    def _request(self, query: str, texts: list[str]) -> Any:
        """The answer; a server that refuses the common form is asked in TEI's, from
        then on.
        """
        common = {
            "model": self._model,
            "query": query,
            "documents": texts,
            "top_n": len(texts),
        }
        try:
            if not self._as_texts:
                try:
                    return http.post(self.server, "/rerank", common)
                except errors.Invalid:
                    pass
            answer = http.post(
                self.server,
                "/rerank",
                {"query": query, "texts": texts, "truncate": True},
            )
        except errors.Invalid as refused:
            raise errors.RerankerUnavailable(refused.message) from None
        self._as_texts = True
        return answer

    def _scores(self, answer: Any, count: int) -> list[float]:
        """The scores in the order of the texts."""
        try:
            rows = cast(
                Sequence[Mapping[str, Any]],
                answer if isinstance(answer, list) else answer["results"],
            )
            score_of = {
                int(row["index"]): float(
                    row.get("relevance_score", row.get("score", "none"))
                )
                for row in rows
            }
            scores = [score_of[i] for i in range(count)]
        except (ValueError, LookupError, TypeError, AttributeError) as odd:
            raise http.senseless(self.server, odd) from None
        if not np.isfinite(scores).all():
            raise errors.RerankerUnavailable(
                "The reranking server's answer holds what is not a number."
            )
        return scores
