"""An ``.onnx`` file is a protocol buffer.

Which operators does this model need? The machine has the file, but no ``onnx`` package. It needs
none: a protocol buffer is a list of numbered fields, some of which hold further lists.

    ModelProto              GraphProto             NodeProto
    7  graph  ----------->  1  node  (any number)  1  input   (any number)
                                                   2  output  (any number)
                                                   4  op_type
                                                   7  domain

`fields`, which is given, reads one level. Write `nodes`, about 8 lines.

Begin with ``[number for number, _ in fields(model)]`` of one of your files.
Afterwards read ``ONNXProgram.save`` in ``torch/onnx/_internal/exporter/_onnx_program.py``, in
site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Iterator


class Node(NamedTuple):
    """An operator of a graph: its name, and the names of the values that it reads and writes."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the value of each field of a message, in order.

    Values are bytes: text, messages, and numbers as encoded in the file.
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == 0:
            end = _varint(message, place)[1]
        elif kind == 2:
            size, place = _varint(message, place)
            end = place + size
        else:
            end = place + {1: 8, 5: 4}[kind]
        yield key >> 3, message[place:end]
        place = end


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Return the number that starts here, seven bits in each byte, and the offset after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def nodes(model: bytes) -> list[Node]:
    """Return the nodes of the model's graph, in the order of the file.

    `op` is "Gemm", or "domain::Gemm" for an operator whose domain is not empty. An omitted
    input has the name "", and keeps its place.
    """
    # TODO: model, graph, nodes: three levels of `fields`. Names are UTF-8.
    raise NotImplementedError("nodes")
