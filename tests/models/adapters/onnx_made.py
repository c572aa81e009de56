"""Small ONNX files written by hand, in the wire format of protocol buffers: no package need write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FLOAT, BYTES = 1, 2


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _part(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sides = (_number(1, side) if isinstance(side, int) else _part(2, side) for side in shape)
    tensor = _number(1, kind) + _part(2, b"".join(_part(1, side) for side in sides))
    return _part(1, name) + _part(2, _part(1, tensor))


def node(kind: str, inputs: Sequence[str], output: str, **ints: int | Sequence[int]) -> bytes:
    """One operation; its attributes are whole numbers."""
    parts = [_part(1, name) for name in inputs] + [_part(2, output), _part(4, kind)]
    for name, value in ints.items():
        if isinstance(value, int):
            parts.append(_part(5, _part(1, name) + _number(3, value) + _number(20, 2)))
        else:
            parts.append(_part(5, _part(1, name) + b"".join(_number(8, one) for one in value) + _number(20, 7)))
    return b"".join(parts)


def network(
    nodes: Sequence[bytes],
    inputs: Mapping[str, tuple[int, Sequence[int | str]]],
    output: tuple[str, Sequence[int | str]],
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """A whole file: operations, inputs by name with kind and shape, the output's name and shape (floats)."""
    graph = b"".join(_part(1, one) for one in nodes) + _part(2, "made")
    graph += b"".join(_part(11, _tensor(name, *about)) for name, about in inputs.items())
    graph += _part(12, _tensor(output[0], FLOAT, output[1]))
    said = b"".join(_part(14, _part(1, key) + _part(2, value)) for key, value in (metadata or {}).items())
    return _number(1, 8) + _part(7, graph) + _part(8, _part(1, "") + _number(2, 13)) + said


def colour_classifier(
    shape: Sequence[int | str] = (1, 3, 4, 6), metadata: Mapping[str, str] | None = None
) -> bytes:
    """The mean of each channel: classes red, green, blue."""
    axes = (2, 3) if shape[1] == 3 else (1, 2)
    mean = node("ReduceMean", ["picture"], "scores", axes=axes, keepdims=0)
    return network([mean], {"picture": (FLOAT, shape)}, ("scores", (1, 3)), metadata)


def colour_segmenter(metadata: Mapping[str, str] | None = None) -> bytes:
    """The channels themselves, of a picture of any size."""
    sides = (1, 3, "height", "width")
    same = node("Identity", ["picture"], "scores")
    return network([same], {"picture": (FLOAT, sides)}, ("scores", sides), metadata)
