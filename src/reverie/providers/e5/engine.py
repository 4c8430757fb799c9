"""Embedding engine of multilingual-e5-small: texts to vectors, in batches of texts that
are about as long as each other.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from reverie.providers.e5 import network, tokenizer, weights

Vectors = NDArray[np.float32]

# Pieces of a batch, padding included: more are no quicker, and memory grows with them.
# Measured at 600 to 1,000 on two cores.
_PIECES_A_BATCH = 800


class Engine:
    """The model, loaded: some 140 MB after use, of which the vocabulary has 60.

    Raises OSError, ValueError, RuntimeError where it does not run.
    """

    def __init__(self, *, threads: int = 1) -> None:
        self._weights = weights.Weights()
        self._tokenizer = tokenizer.Tokenizer(self._weights.vocabulary)
        graph = network.build(self._weights)
        self._session = _session(graph.external(), self._serialised(graph), threads)

    def _serialised(self, graph: "network.onnx_writer.Graph") -> bytes:
        return network.serialised(graph, self._weights.shape.width)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), width), unit length. A text that is longer than the
        network reads is the mean of its windows, each weighed by its length.
        """
        windows: list[list[int]] = []
        owners: list[int] = []
        lengths: list[int] = []
        for number, text in enumerate(texts):
            for part in self._windows(self._tokenizer.numbers(text)):
                windows.append(part)
                owners.append(number)
                lengths.append(len(part) - 2)
        width = self._weights.shape.width
        sums = np.zeros((len(texts), width), np.float32)
        weight = np.maximum(np.asarray(lengths, np.float32), 1)
        np.add.at(sums, owners, self._means(windows) * weight[:, None])
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)

    def _windows(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """The pieces of a text with the signs of start and end, as many at a time as
        the network reads.
        """
        vocabulary = self._weights.vocabulary
        size = self._weights.shape.positions - 2
        for start in range(0, max(len(numbers), 1), size):
            part = numbers[start : start + size]
            yield [vocabulary.start, *part, vocabulary.end]

    def _means(self, windows: Sequence[Sequence[int]]) -> Vectors:
        means = np.empty((len(windows), self._weights.shape.width), np.float32)
        for batch in _batches(windows):
            means[batch] = self._run([windows[number] for number in batch])
        return means

    def _run(self, windows: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, windows))
        padding = self._weights.vocabulary.padding
        numbers = np.full((len(windows), longest), padding, np.int64)
        mask = np.zeros((len(windows), longest), np.int32)
        for row, window in enumerate(windows):
            numbers[row, : len(window)] = window
            mask[row, : len(window)] = 1
        width = self._weights.shape.width
        embedded = self._weights.rows("emb.word", width, numbers.reshape(-1))
        given = {
            network.EMBEDDED: embedded.reshape(*numbers.shape, width),
            network.MASK: mask,
        }
        (means,) = self._session.run([network.MEAN], given)
        return np.asarray(means, np.float32)


def _session(
    constants: dict[str, NDArray[np.generic]], model: bytes, threads: int
) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait actively stop everything else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    )
    values = list(map(onnxruntime.OrtValue.ortvalue_from_numpy, constants.values()))
    options.add_external_initializers(list(constants), values)
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"]
    )


def _batches(windows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Numbers of windows, shortest first, as many together as make a batch."""
    order = sorted(range(len(windows)), key=lambda number: len(windows[number]))
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * len(windows[number]) > _PIECES_A_BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
