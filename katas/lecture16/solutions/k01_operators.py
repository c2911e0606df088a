"""An ``.onnx`` file is a protocol buffer."""

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
    (graph,) = [value for number, value in fields(model) if number == 7]
    found = []
    for node in [value for number, value in fields(graph) if number == 1]:
        pairs = [*fields(node)]
        read = [tuple(v.decode() for n, v in pairs if n == wanted) for wanted in (1, 2, 4, 7)]
        op = "::".join(filter(None, read[3] + read[2]))
        found.append(Node(op, read[0], read[1]))
    return found
