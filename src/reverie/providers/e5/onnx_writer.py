"""ONNX serialisation of a small graph: as much of its protocol buffers as one network
needs.

Field numbers are those of onnx.proto (ONNX 1.16, IR version 9).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_IR_VERSION = 9
_OPSET = 18
MICROSOFT = "com.microsoft"
FLOAT = 1
_TYPES = {"float32": FLOAT, "uint8": 2, "int32": 6, "int64": 7}
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE = 1, 2
_EXTERNAL = 1
_VARINT, _SIZED, _FOUR_BYTES = 0, 2, 5
# Smaller ones stand in the graph itself.
_EXTERNAL_FROM = 512  # bytes


@dataclass(slots=True)
class Graph:
    """Nodes in the order in which they are computed, and constants by name."""

    nodes: list[bytes] = field(default_factory=list[bytes])
    constants: dict[str, NDArray[np.generic]] = field(
        default_factory=dict[str, NDArray[np.generic]]
    )

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Keep a constant; returns its name."""
        self.constants[name] = np.ascontiguousarray(values)
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        domain: str = "",
        **attributes: float,
    ) -> None:
        """Append an operator; an input that is "" is left out."""
        parts = [_text(1, name) for name in inputs]
        parts += [_text(2, name) for name in outputs]
        parts.append(_text(4, operator))
        parts += [_message(5, _attribute(*each)) for each in attributes.items()]
        if domain:
            parts.append(_text(7, domain))
        self.nodes.append(b"".join(parts))

    def external(self) -> dict[str, NDArray[np.generic]]:
        """The constants that the model does not hold itself."""
        return {
            name: values
            for name, values in self.constants.items()
            if values.nbytes > _EXTERNAL_FROM
        }

    def model(
        self,
        inputs: Mapping[str, tuple[str, Sequence[int | str]]],
        outputs: Mapping[str, tuple[str, Sequence[int | str]]],
    ) -> bytes:
        """The whole as onnxruntime reads it; `inputs` and `outputs` have a type and a
        shape, of numbers and of names for what varies.
        """
        parts = [_message(1, node) for node in self.nodes]
        parts.append(_text(2, "graph"))
        parts += [_message(5, _tensor(*each)) for each in self.constants.items()]
        parts += [_message(11, _value(name, *each)) for name, each in inputs.items()]
        parts += [_message(12, _value(name, *each)) for name, each in outputs.items()]
        versions = [_opset("", _OPSET), _opset(MICROSOFT, 1)]
        return b"".join(
            [
                _number(1, _IR_VERSION),
                _message(7, b"".join(parts)),
                *(_message(8, version) for version in versions),
            ]
        )


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1  # negative numbers as two's complement
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tag(number: int, wire_type: int) -> bytes:
    """What begins a field: its number and how its value is written."""
    return _varint(number << 3 | wire_type)


def _number(tag: int, value: int) -> bytes:
    return _tag(tag, _VARINT) + _varint(value)


def _message(tag: int, content: bytes) -> bytes:
    size = _varint(len(content))
    return _tag(tag, _SIZED) + size + content


def _text(tag: int, value: str) -> bytes:
    return _message(tag, value.encode())


def _opset(domain: str, version: int) -> bytes:
    return _text(1, domain) + _number(2, version)


def _attribute(name: str, value: float) -> bytes:
    named = _text(1, name)
    if isinstance(value, int):
        kind = _number(20, _INT_ATTRIBUTE)
        return named + _number(3, value) + kind
    single = np.float32(value).tobytes()
    kind = _number(20, _FLOAT_ATTRIBUTE)
    return named + _tag(2, _FOUR_BYTES) + single + kind


def _tensor(name: str, values: NDArray[np.generic]) -> bytes:
    """A constant: its numbers, or that they come from outside."""
    kind = _TYPES[values.dtype.name]
    parts = [_number(1, size) for size in values.shape]
    parts.append(_number(2, kind))
    parts.append(_text(8, name))
    if values.nbytes <= _EXTERNAL_FROM:
        parts.append(_message(9, values.tobytes()))
    else:
        place = _text(1, "location") + _text(2, "memory")
        parts.append(_message(13, place))
        external = _number(14, _EXTERNAL)
        parts.append(external)
    return b"".join(parts)


def _value(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(map(_size, shape))
    number = _number(1, _TYPES[kind])
    tensor = number + _message(2, sizes)
    form = _message(1, tensor)
    named = _text(1, name)
    return named + _message(2, form)


def _size(size: int | str) -> bytes:
    """A size of a shape, or the name of one that varies."""
    if isinstance(size, int):
        return _message(1, _number(1, size))
    return _message(1, _text(2, size))
