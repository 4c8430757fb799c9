"""Embedding models that know topics: `note 7 …` and `ask 7` are near, whatever else is
said; each model in its own way.

Two models put a topic in different places, so vectors of one compared with those of the
other give the wrong topic.
"""

import hashlib
import json
import re

from reverie import config
from reverie.providers import calibration
from tests.pipeline import embedder

_TOPIC = re.compile(r"(?:zettel|frage)(\d+)")
_TEXTS = calibration.texts()
_MEASURED = {text: 200 + i for row in _TEXTS.passages for i, text in enumerate(row)} | {
    text: 200 + _TEXTS.passage_of_each[i]
    for row in _TEXTS.questions
    for i, text in enumerate(row)
}


class Model(embedder.Server):
    """A model with vectors of this length that puts topic t at place t + shift. After
    `left` texts it is away.
    """

    def __init__(self, name: str, *, dimensions: int, shift: int) -> None:
        super().__init__(name)
        self.dimensions = dimensions
        self.shift = shift
        self.left = 10**9
        self.answer = self._answers

    def vector(self, text: str) -> list[float]:
        """One at the topic's place, and a little of something that depends on the text."""
        found = _TOPIC.search(text)
        topic = int(found[1]) if found else _MEASURED.get(text, 300)
        digest = hashlib.sha256(text.encode()).digest()
        vector = [(digest[i % 32] - 127.5) / 12800 for i in range(self.dimensions)]
        vector[(topic + self.shift) % self.dimensions] = 1.0
        return vector

    def asked(self, text: str) -> bool:
        """Whether it was asked for this text."""
        return text in self.texts

    def settings_with(
        self, previous: config.Embedding | None = None, **more: object
    ) -> config.Embedding:
        """What makes Reverie use this model, a few texts at a time."""
        values = self.settings.model_dump() | {"batch": 4} | more
        if previous is not None:
            values["previous"] = previous.model_dump(
                include=set(config.EmbeddingModel.model_fields)
            )
        return config.Embedding.model_validate(values)

    def _answers(self, texts: list[str]) -> tuple[int, bytes]:
        wanted = sum(text not in _MEASURED and "zettel" in text for text in texts)
        if wanted > self.left:
            return 503, b"{}"
        self.left -= wanted
        return 200, json.dumps(
            {"data": [{"embedding": self.vector(text)} for text in texts]}
        ).encode()
