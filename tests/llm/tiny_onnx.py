"""Models of a few words, written byte by byte as ONNX files, so that fastembed runs for
real without any network.

A word's vector is its row in a table (Gather); a cross-encoder adds up a weight for
each word (Gather, ReduceSum).
"""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

Vector = Sequence[float]
_FLOAT, _INT64 = 1, 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: int | bytes | str) -> bytes:
    """One field of a protobuf message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, kind: int, shape: Sequence[int], data: bytes) -> bytes:
    return (
        b"".join(_field(1, size) for size in shape)
        + _field(2, kind)
        + _field(8, name)
        + _field(9, data)
    )


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    axes = b"".join(
        _field(1, _field(2, one) if isinstance(one, str) else _field(1, one))
        for one in shape
    )
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, axes)))


def _node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    named = b"".join(_field(1, one) for one in inputs)
    return (
        named
        + _field(2, output)
        + _field(4, kind)
        + b"".join(_field(5, one) for one in attributes)
    )


def _keepdims(value: int) -> bytes:
    return _field(1, "keepdims") + _field(3, value) + _field(20, 2)


def _model(
    nodes: Sequence[bytes],
    tensors: Sequence[bytes],
    inputs: Sequence[bytes],
    output: bytes,
) -> bytes:
    graph = b"".join(_field(1, one) for one in nodes) + _field(2, "tiny")
    graph += b"".join(_field(5, one) for one in tensors) + b"".join(
        _field(11, one) for one in inputs
    )
    graph += _field(12, output)
    opset = _field(1, "") + _field(2, 13)
    return _field(1, 8) + _field(7, graph) + _field(8, opset)


def _floats(rows: Sequence[Vector]) -> bytes:
    return b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)


def _tokenizer(folder: Path, words: Sequence[str]) -> None:
    vocabulary = {
        word: number for number, word in enumerate(["[PAD]", "[UNK]", *words])
    }
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"model_max_length": 64, "pad_token": "[PAD]"})
    )
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))


_INPUTS = [
    _value("input_ids", _INT64, ["batch", "tokens"]),
    _value("attention_mask", _INT64, ["batch", "tokens"]),
]


def embedder(folder: Path, words: Mapping[str, Vector]) -> None:
    """A model whose text vectors are the mean of its words' vectors."""
    _tokenizer(folder, list(words))
    size = len(next(iter(words.values())))
    rows = [[0.0] * size, [0.0] * size, *words.values()]
    table = _tensor("table", _FLOAT, [len(rows), size], _floats(rows))
    gather = _node("Gather", ["table", "input_ids"], "last_hidden_state")
    out = _value("last_hidden_state", _FLOAT, ["batch", "tokens", size])
    (folder / "model.onnx").write_bytes(_model([gather], [table], _INPUTS, out))


def cross_encoder(folder: Path, words: Mapping[str, float]) -> None:
    """A model whose logit for a pair is the sum of its words' weights."""
    _tokenizer(folder, list(words))
    rows = [[0.0], [0.0], *([weight] for weight in words.values())]
    table = _tensor("table", _FLOAT, [len(rows), 1], _floats(rows))
    axis = _tensor("axis", _INT64, [1], struct.pack("<q", 1))
    nodes = [
        _node("Gather", ["table", "input_ids"], "weights"),
        _node("ReduceSum", ["weights", "axis"], "logits", _keepdims(0)),
    ]
    (folder / "model.onnx").write_bytes(
        _model(nodes, [table, axis], _INPUTS, _value("logits", _FLOAT, ["batch", 1]))
    )
