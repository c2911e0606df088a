"""Tests of k01_operators: small files, written byte by byte, and read without the package."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest

from katas.lecture16 import k01_operators as kata
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Sequence

    from katas.lecture16.k01_operators import Node


def field(number: int, value: bytes | str | int) -> bytes:
    """Encode a field as in the file: a number, or bytes preceded by their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(number: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def node(
    op: str, inputs: Sequence[str], outputs: Sequence[str], *, domain: str = "", more: bytes = b""
) -> bytes:
    """Return a NodeProto that also has a name."""
    return b"".join(
        [
            *(field(1, name) for name in inputs),
            *(field(2, name) for name in outputs),
            field(3, f"node_{op.lower()}"),
            field(4, op),
            more,
            field(7, domain) if domain else b"",
        ]
    )


def model(*found: bytes, more: bytes = b"") -> bytes:
    """Return a ModelProto: version and producer, and a graph with these nodes, and `more`."""
    graph = b"".join(field(1, each) for each in found) + field(2, "main_graph") + more
    return field(1, 10) + field(2, "pytorch") + field(7, graph) + field(8, field(2, 20))


def check(data: bytes, expected: Sequence[tuple[Any, ...]], why: str) -> None:
    """Compare the nodes that your code reads while no package can be imported."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        yours: list[Node] = fresh.nodes(data)
    found = [tuple(each) for each in yours]
    assert [*expected] == found, f"yours    {found}\nexpected {[*expected]}\n{why}"


@pytest.mark.given
def test_fields_of_one_level() -> None:
    """A number, text, and a message that is not read any further."""
    inner = field(4, "Gemm")
    data = field(1, 300) + field(2, "pytorch") + field(7, inner)
    found = [*kata.fields(data)]

    assert found == [(1, b"\xac\x02"), (2, b"pytorch"), (7, inner)], f"fields returns {found}"


def test_one_node() -> None:
    """A node has an operator, inputs and outputs."""
    data = model(node("Gemm", ["x", "weight", "bias"], ["y"]))

    check(
        data,
        [("Gemm", ("x", "weight", "bias"), ("y",))],
        "field 4 is the operator; field 3 is the node's own name",
    )


def test_several_nodes() -> None:
    """Nodes come in the order of the file, in which they can run; LSTM has three outputs."""
    data = model(
        node("LSTM", ["x", "w", "r"], ["all", "last", "cell"]), node("Relu", ["last"], ["y"])
    )
    lstm = ("LSTM", ("x", "w", "r"), ("all", "last", "cell"))

    check(data, [lstm, ("Relu", ("last",), ("y",))], "field 1 of a graph occurs once for each node")
    check(model(), [], "a graph may have no node")


def test_an_input_that_is_left_out() -> None:
    """Clip without a minimum has "" in second place: the maximum stays third."""
    data = model(node("Clip", ["x", "", "high"], ["y"]))

    check(data, [("Clip", ("x", "", "high"), ("y",))], 'an input that is left out is "", in place')


def test_an_operator_of_another_domain() -> None:
    """In another domain, the same name is a different operator."""
    data = model(node("Gelu", ["x"], ["y"], domain="com.microsoft"), node("Gelu", ["y"], ["z"]))
    expected = [("com.microsoft::Gelu", ("x",), ("y",)), ("Gelu", ("y",), ("z",))]

    check(data, expected, "field 7 of a node is its domain; empty is ONNX's own")
    empty = model(node("Gelu", ["x"], ["y"], more=field(7, "")))

    check(empty, [("Gelu", ("x",), ("y",))], "a domain may be written, and empty")


def test_a_branch_is_another_graph() -> None:
    """An If holds graphs in its attributes; their nodes are not the model's."""
    branch = field(1, node("Relu", [], ["inside"]))
    attribute = field(1, "then_branch") + field(6, branch)
    data = model(node("If", ["condition"], ["y"], more=field(5, attribute)))

    check(data, [("If", ("condition",), ("y",))], "an attribute is field 5 of a node: leave it")


def test_weights_and_long_names() -> None:
    """Bytes of a weight are not text, and a length may take more than one byte."""
    name = "größe" * 50
    weight = field(5, field(9, b"\xff\x00\x80" * 99))
    data = model(node("Relu", [name], ["y"]), more=weight)

    check(data, [("Relu", (name,), ("y",))], "a graph's field 5 is a weight; names are UTF-8")


@pytest.mark.backend("onnxruntime")
def test_onnx_reads_the_same() -> None:
    """A file that the package wrote is read correctly."""
    from onnx import helper  # noqa: PLC0415 - may be missing

    made = [
        helper.make_node("Gemm", ["x", "w"], ["h"], alpha=0.5, transB=1),
        helper.make_node("Gelu", ["h"], ["y"], domain="com.microsoft"),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(made, "g", [value("x", 1, [2, 3])], [value("y", 1, None)])
    data = helper.make_model(graph).SerializeToString()
    expected = [("Gemm", ("x", "w"), ("h",)), ("com.microsoft::Gelu", ("h",), ("y",))]

    check(data, expected, "onnx wrote this file")
