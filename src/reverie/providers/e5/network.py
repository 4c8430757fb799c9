"""The network of multilingual-e5-small as an ONNX graph: a BERT encoder of twelve
layers, its matrices in 4 bits, the mean of the last layer as the output.
"""

import numpy as np

from reverie.providers.e5 import onnx_writer, weights

EMBEDDED, MASK, MEAN = "embedded", "mask", "mean"
_BITS, _BLOCK = 4, 32
# Activations stay fp32: with less, vectors would depend on the processor.
_ACCURACY = 1


class _Network:
    """The graph while it grows. Each method appends operators and returns the name of
    what they compute.
    """

    def __init__(self, source: weights.Weights) -> None:
        self.source = source
        self.shape = source.shape
        self.graph = onnx_writer.Graph()

    def add(self, first: str, second: str, name: str) -> str:
        self.graph.node("Add", [first, second], [name])
        return name

    def normalised(self, value: str, weight: str, name: str) -> str:
        """Layer normalisation."""
        gain = self.graph.constant(f"{name}.w", self.source.plain(f"{weight}.w"))
        bias = self.graph.constant(f"{name}.b", self.source.plain(f"{weight}.b"))
        self.graph.node(
            "LayerNormalization",
            [value, gain, bias],
            [name],
            axis=-1,
            epsilon=self.shape.epsilon,
        )
        return name

    def linear(self, value: str, matrices: list[str], inputs: int, name: str) -> str:
        """One product with some matrices side by side, and their biases."""
        packed = [self.source.packed(f"{each}.w", inputs) for each in matrices]
        halves = np.concatenate([each for each, _ in packed])
        scales = np.concatenate([each for _, each in packed])
        bias = np.concatenate([self.source.plain(f"{each}.b") for each in matrices])
        self.graph.node(
            "MatMulNBits",
            [
                value,
                self.graph.constant(f"{name}.q", halves),
                self.graph.constant(f"{name}.s", scales),
                "",
                "",
                self.graph.constant(f"{name}.b", bias),
            ],
            [name],
            domain=onnx_writer.MICROSOFT,
            K=inputs,
            N=len(halves),
            bits=_BITS,
            block_size=_BLOCK,
            accuracy_level=_ACCURACY,
        )
        return name

    def positioned(self, embedded: str) -> str:
        """The vectors of the words with those of their places."""
        table = self.source.plain("emb.pos").reshape(-1, self.shape.width)
        table = table + self.source.plain("emb.type")[: self.shape.width]
        places = self.graph.constant("places", table[None])
        zero = self.graph.constant("zero", np.array([0], np.int64))
        one = self.graph.constant("one", np.array([1], np.int64))
        self.graph.node("Shape", [embedded], ["length"], start=1, end=2)
        self.graph.node("Slice", [places, zero, "length", one], ["places.used"])
        return self.add(embedded, "places.used", "positioned")

    def layer(self, value: str, number: int) -> str:
        """Attention and the feed-forward part, each added to what it was given."""
        name = f"l{number}"
        width = self.shape.width
        three = [f"{name}.{part}" for part in "qkv"]
        joined = self.linear(value, three, width, f"{name}.qkv")
        parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
        self.graph.node("Split", [joined], parts, axis=-1, num_outputs=3)
        context = f"{name}.context"
        self.graph.node(
            "MultiHeadAttention",
            [*parts, "", MASK],
            [context],
            domain=onnx_writer.MICROSOFT,
            num_heads=self.shape.heads,
        )
        attended = self.linear(context, [f"{name}.ao"], width, f"{name}.attended")
        added = self.add(value, attended, f"{name}.added")
        value = self.normalised(added, f"{name}.aln", f"{name}.between")
        inner = self.linear(value, [f"{name}.fi"], width, f"{name}.inner")
        active = f"{name}.active"
        self.graph.node("Gelu", [inner], [active], domain=onnx_writer.MICROSOFT)
        outer = self.linear(active, [f"{name}.fo"], self.shape.inner, f"{name}.outer")
        added = self.add(value, outer, f"{name}.out")
        return self.normalised(added, f"{name}.oln", f"{name}.end")

    def mean(self, value: str) -> None:
        """The mean over the pieces that are no padding."""
        self.graph.node("Cast", [MASK], ["mask.float"], to=1)
        axis = self.graph.constant("axis", np.array([1], np.int64))
        self.graph.node("Unsqueeze", ["mask.float", axis], ["mask.row"])
        self.graph.node("MatMul", ["mask.row", value], ["sum.row"])
        self.graph.node("Squeeze", ["sum.row", axis], ["sum"])
        self.graph.node("ReduceSum", ["mask.float", axis], ["count"], keepdims=1)
        self.graph.node("Div", ["sum", "count"], [MEAN])


def build(source: weights.Weights) -> onnx_writer.Graph:
    """The graph: word vectors, shape (texts, pieces, width), and a mask of int32, shape
    (texts, pieces), to means, shape (texts, width).
    """
    network = _Network(source)
    value = network.positioned(EMBEDDED)
    value = network.normalised(value, "emb.ln", "start")
    for number in range(network.shape.layers):
        value = network.layer(value, number)
    network.mean(value)
    return network.graph


def serialised(graph: onnx_writer.Graph, width: int) -> bytes:
    """The graph as onnxruntime reads it, large constants apart."""
    return graph.model(
        inputs={
            EMBEDDED: ("float32", ["texts", "pieces", width]),
            MASK: ("int32", ["texts", "pieces"]),
        },
        outputs={MEAN: ("float32", ["texts", width])},
    )
