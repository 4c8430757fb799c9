"""Embedding engine of multilingual-e5-small: texts to vectors, in batches of texts that
are about as long as each other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from reverie.providers.e5 import network, onnx_writer, tokenizer, weights

Vectors = NDArray[np.float32]
Window = Sequence[int]


class Map(Protocol):
    """What computes the batches."""

    def __call__(
        self,
        run: Callable[[Sequence[Window]], Vectors],
        parts: Sequence[Sequence[Window]],
        /,
    ) -> Iterable[Vectors]: ...


# Pieces of a batch, padding included. Measured at 72 pieces a text: 80 a batch are .8, 200
# .9 and 1,200 .9 as quick as 600; so many leave some for each processor.
_PIECES_A_BATCH = 400


class Engine:
    """The network. A batch is computed in the thread that asks for it, and many may ask
    at once.

    Raises OSError, ValueError, RuntimeError where it does not run.
    """

    def __init__(self) -> None:
        self._weights = weights.E5Weights()
        self._tokenizer = tokenizer.Tokenizer(self._weights.vocabulary)
        graph = network.build(self._weights)
        width = self._weights.shape.width
        self._session = _session(graph, width)

    def vectors(self, texts: Sequence[str], each: Map = map) -> Vectors:
        """Shape (len(texts), width), unit length. A text that is longer than the
        network reads is the mean of its windows, each weighed by its length.

        `each` computes the batches, as `map` or an executor's does.
        """
        windows: list[list[int]] = []
        owners: list[int] = []
        lengths: list[int] = []
        for number, text in enumerate(texts):
            pieces = self._tokenizer.numbers(text)
            for window in self._windows(pieces):
                windows.append(window)
                owners.append(number)
                lengths.append(len(window) - 2)
        width = self._weights.shape.width
        sums = np.zeros((len(texts), width), np.float32)
        weight = np.asarray(lengths, np.float32)
        weight = np.maximum(weight, 1)
        means = self._means(windows, each)
        np.add.at(sums, owners, means * weight[:, None])
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        sums /= norms
        return sums

    def _windows(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """The pieces of a text with the signs of start and end, as many at a time as
        the network reads.
        """
        vocabulary = self._weights.vocabulary
        size = self._weights.shape.positions - 2
        count = max(len(numbers), 1)
        for start in range(0, count, size):
            part = numbers[start : start + size]
            yield [vocabulary.start, *part, vocabulary.end]

    def _means(self, windows: Sequence[Window], each: Map) -> Vectors:
        width = self._weights.shape.width
        means = np.empty((len(windows), width), np.float32)
        batches = list(_batches(windows))
        parts = [[windows[number] for number in batch] for batch in batches]
        computed = each(self._run, parts)
        for batch, rows in zip(batches, computed, strict=True):
            means[batch] = rows
        return means

    def _run(self, windows: Sequence[Window]) -> Vectors:
        shape = (len(windows), max(map(len, windows)))
        padding = self._weights.vocabulary.padding
        numbers = np.full(shape, padding, np.int64)
        mask = np.zeros(shape, np.int32)
        for row, window in enumerate(windows):
            size = len(window)
            numbers[row, :size] = window
            mask[row, :size] = 1
        width = self._weights.shape.width
        flat = numbers.reshape(-1)
        embedded = self._weights.rows("emb.word", width, flat)
        embedded = embedded.reshape(*shape, width)
        given = {
            network.EMBEDDED: embedded,
            network.MASK: mask,
        }
        computed = cast("list[Vectors]", self._session.run([network.MEAN], given))
        return computed[0]


def _session(graph: onnx_writer.Graph, width: int) -> onnxruntime.InferenceSession:
    options = cast("Any", onnxruntime).SessionOptions()
    # None but the caller's: those of onnxruntime have no priority of their own.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    )
    constants = graph.external()
    values = list(map(onnxruntime.OrtValue.ortvalue_from_numpy, constants.values()))
    options.add_external_initializers(list(constants), values)
    return onnxruntime.InferenceSession(
        network.serialised(graph, width), options, providers=["CPUExecutionProvider"]
    )


def _batches(windows: Sequence[Window]) -> Iterator[list[int]]:
    """Numbers of windows, shortest first, as many together as make a batch."""
    order = sorted(
        range(len(windows)),
        key=lambda number: len(windows[number]),
    )
    batch: list[int] = []
    for number in order:
        pieces = (len(batch) + 1) * len(windows[number])
        if batch and pieces > _PIECES_A_BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
