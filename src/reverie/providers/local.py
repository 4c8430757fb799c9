"""Embeddings and reranking in this process by fastembed, an optional package.

A model is one that fastembed knows by name, or lies in a folder of yours. Such a folder
holds `model.onnx` (or `onnx/model.onnx`), `tokenizer.json` and
`tokenizer_config.json`, and needs no network.
"""

import hashlib
import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from reverie import errors
from reverie.providers import base

_INSTALL = "Install it: `pip install 'reverie[fastembed]'`."
_ENDS = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a model comes from: a folder with its file, or, without one, the hub and
    `cache`.
    """

    name: str
    cache: str
    folder: str = ""
    file: str = ""


class Local:
    """An embedding model, loaded on first use."""

    calibration = None
    places = 1
    letters = base.LETTERS
    at_once = 0

    def __init__(
        self, source: ModelSource, *, pooling: str, version: str, dimensions: int
    ) -> None:
        self._source = source
        self._pooling = pooling
        self._dimensions = dimensions
        self._prefix = base.prefixes(source.name)
        self._model: Any = None
        pooled = (
            f"{source.name}@fastembed"
            if pooling == "mean"
            else f"{source.name}@fastembed-{pooling}"
        )
        self.name = base.named(pooled, version=version, dimensions=dimensions)

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        return self._vectors(
            "passage_embed", [self._prefix.passage + text for text in texts]
        )

    def queries(self, texts: Sequence[str]) -> base.Vectors:
        return self._vectors(
            "query_embed", [self._prefix.query + text for text in texts]
        )

    def _vectors(self, how: str, texts: list[str]) -> base.Vectors:
        try:
            if self._model is None:
                self._model = self._loaded()
            vectors = np.asarray(list(getattr(self._model, how)(texts)), np.float32)
        except (
            Exception
        ) as broken:  # fastembed, onnxruntime and the hub fail in ways of their own
            raise errors.EmbedderUnavailable(
                f"The embedding model {self._source.name} does not run: {broken}.",
                hint=_remedy(self._source),
            ) from broken
        return base.shortened(vectors, self._dimensions)

    def _loaded(self) -> Any:
        fastembed = importlib.import_module("fastembed")
        if not self._source.folder:
            return fastembed.TextEmbedding(
                self._source.name, cache_dir=self._source.cache
            )
        described = importlib.import_module("fastembed.common.model_description")
        pooling = {"mean": "MEAN", "cls": "CLS", "last": "LAST_TOKEN"}[self._pooling]
        model_id = f"{self.name}:{self._source.folder}"
        if all(
            described_model["model"] != model_id
            for described_model in fastembed.TextEmbedding.list_supported_models()
        ):
            fastembed.TextEmbedding.add_custom_model(
                model_id,
                pooling=getattr(described.PoolingType, pooling),
                normalization=True,
                sources=described.ModelSource(hf=model_id),
                dim=self._dimensions or 1,
                model_file=self._source.file,
            )
        return fastembed.TextEmbedding(
            model_id,
            cache_dir=self._source.cache,
            specific_model_path=self._source.folder,
        )


class LocalReranker:
    """A cross-encoder, loaded on first use. Its logits become shares."""

    def __init__(self, source: ModelSource) -> None:
        self._source = source
        self._model: Any = None

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        try:
            if self._model is None:
                self._model = self._loaded()
            return base.probabilities(list(self._model.rerank(query, list(texts))))
        except (
            Exception
        ) as broken:  # fastembed, onnxruntime and the hub fail in ways of their own
            raise errors.RerankerUnavailable(
                f"The reranker {self._source.name} does not run: {broken}.",
                hint=_remedy(self._source),
            ) from broken

    def _loaded(self) -> Any:
        encoders: ModuleType = importlib.import_module("fastembed.rerank.cross_encoder")
        if not self._source.folder:
            return encoders.TextCrossEncoder(
                self._source.name, cache_dir=self._source.cache
            )
        described = importlib.import_module("fastembed.common.model_description")
        model_id = f"{self._source.name}:{self._source.folder}"
        if all(
            described_model["model"] != model_id
            for described_model in encoders.TextCrossEncoder.list_supported_models()
        ):
            sources = described.ModelSource(hf=model_id)
            encoders.TextCrossEncoder.add_custom_model(
                model_id, sources=sources, model_file=self._source.file
            )
        return encoders.TextCrossEncoder(
            model_id,
            cache_dir=self._source.cache,
            specific_model_path=self._source.folder,
        )


def source(model: str, *, cache: Path | None) -> ModelSource:
    """Where a model comes from, as the configuration names it. Raises Misconfigured."""
    if importlib.util.find_spec("fastembed") is None:
        raise errors.Misconfigured(
            "The provider `fastembed` is not installed.", hint=_INSTALL
        )
    kept = str(cache / "models") if cache else ""
    folder = Path(model).expanduser()
    if not folder.is_absolute():
        return ModelSource(model, kept)
    file = next(
        (
            name
            for name in ("model.onnx", "onnx/model.onnx")
            if (folder / name).is_file()
        ),
        "",
    )
    if not file or not (folder / "tokenizer.json").is_file():
        raise errors.Misconfigured(
            f"There is no model in {folder}.",
            hint="It needs model.onnx, tokenizer.json and tokenizer_config.json.",
        )
    return ModelSource(f"{folder.name}-{_mark(folder / file)}", kept, str(folder), file)


def _mark(file: Path) -> str:
    """A short mark of a model's file, from its length and both ends: other weights make
    another mark.
    """
    size = file.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with file.open("rb") as opened:
        digest.update(opened.read(_ENDS))
        opened.seek(max(0, size - _ENDS))
        digest.update(opened.read(_ENDS))
    return digest.hexdigest()[:8]


def _remedy(source: ModelSource) -> str:
    return (
        f"Is {source.folder} whole?"
        if source.folder
        else "Its first use downloads it; a folder needs no network."
    )
