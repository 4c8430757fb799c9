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

    def __init__(self, source: weights.E5Weights) -> None:
        self.source = source
        self.shape = source.shape
        self.graph = onnx_writer.Graph()

    def add(self, first: str, second: str, name: str) -> str:
        self.graph.node("Add", [first, second], [name])
        return name

    def normalised(self, value: str, weight: str, name: str) -> str:
        """Layer normalisation."""
        gains = self.source.plain(f"{weight}.w")
        biases = self.source.plain(f"{weight}.b")
        gain = self.graph.constant(f"{name}.w", gains)
        bias = self.graph.constant(f"{name}.b", biases)
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
        biases = [self.source.plain(f"{each}.b") for each in matrices]
        bias = np.concatenate(biases)
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
        width = self.shape.width
        table = self.source.plain("emb.pos")
        table = table.reshape(-1, width)
        kind = self.source.plain("emb.type")
        table = table + kind[:width]
        places = self.graph.constant("places", table[None])
        start = self.number("zero", 0)
        axis = self.number("one", 1)
        self.graph.node("Shape", [embedded], ["length"], start=1, end=2)
        self.graph.node(
            "Slice",
            [places, start, "length", axis],
            ["places.used"],
        )
        return self.add(embedded, "places.used", "positioned")

    def number(self, name: str, value: int) -> str:
        """A whole number as a constant."""
        values = np.array([value], np.int64)
        return self.graph.constant(name, values)

    def layer(self, value: str, number: int) -> str:
        """Attention and the feed-forward part, each added to what it was given."""
        name = f"l{number}"
        attended = self.attention(value, name)
        value = self.add(value, attended, f"{name}.added")
        value = self.normalised(value, f"{name}.aln", f"{name}.between")
        outer = self.feed_forward(value, name)
        value = self.add(value, outer, f"{name}.out")
        return self.normalised(value, f"{name}.oln", f"{name}.end")

    def attention(self, value: str, name: str) -> str:
        """Self-attention of many heads."""
        width = self.shape.width
        query, key, content = f"{name}.q", f"{name}.k", f"{name}.v"
        joined = self.linear(value, [query, key, content], width, f"{name}.qkv")
        parts = [f"{query}.part", f"{key}.part", f"{content}.part"]
        self.graph.node(
            "Split",
            [joined],
            parts,
            axis=-1,
            num_outputs=3,
        )
        context = f"{name}.context"
        self.graph.node(
            "MultiHeadAttention",
            [*parts, "", MASK],
            [context],
            domain=onnx_writer.MICROSOFT,
            num_heads=self.shape.heads,
        )
        return self.linear(context, [f"{name}.ao"], width, f"{name}.attended")

    def feed_forward(self, value: str, name: str) -> str:
        width = self.shape.width
        inner = self.linear(value, [f"{name}.fi"], width, f"{name}.inner")
        active = f"{name}.active"
        self.graph.node(
            "Gelu",
            [inner],
            [active],
            domain=onnx_writer.MICROSOFT,
        )
        inputs = self.shape.inner
        return self.linear(active, [f"{name}.fo"], inputs, f"{name}.outer")

    def mean(self, value: str) -> None:
        """The mean over the pieces that are no padding."""
        axis = self.number("axis", 1)
        self.graph.node(
            "Cast",
            [MASK],
            ["mask.float"],
            to=onnx_writer.FLOAT,
        )
        self.graph.node(
            "Unsqueeze",
            ["mask.float", axis],
            ["mask.row"],
        )
        self.graph.node(
            "MatMul",
            ["mask.row", value],
            ["sum.row"],
        )
        self.graph.node(
            "Squeeze",
            ["sum.row", axis],
            ["sum"],
        )
        self.graph.node(
            "ReduceSum",
            ["mask.float", axis],
            ["count"],
            keepdims=1,
        )
        self.graph.node(
            "Div",
            ["sum", "count"],
            [MEAN],
        )


def build(source: weights.E5Weights) -> onnx_writer.Graph:
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
