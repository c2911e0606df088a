"""Tests of k02_became: two networks, exported together, with and without optimisation."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture16.conftest import exported
from katas.lecture16.conftest import quiet
from katas.lecture16.k02_became import became


pytestmark = pytest.mark.backend("onnxruntime")


class Block(nn.Module):
    """A feed-forward block, with a dropout that does nothing in eval mode."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
        self.norm, self.drop = nn.LayerNorm(4), nn.Dropout()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x plus the output of two layers."""
        hidden = nn.functional.gelu(self.up(x))
        return self.norm(x + self.drop(self.down(hidden)))


class Image(nn.Module):
    """A convolution with a BatchNorm, and two calls that ONNX 20 has no operator for."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return how much the channels differ."""
        return nn.functional.silu(self.bn(self.conv(x))).std(1)


class Both(nn.Module):
    """Both networks, for one export."""

    def __init__(self) -> None:
        super().__init__()
        self.block, self.image = Block(), Image()

    def forward(self, x: torch.Tensor, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the output of each."""
        return self.block(x), self.image(image)


@cache
def program(*, optimize: bool) -> Any:
    """Export both networks once, and return the program as it is or optimised."""
    if optimize:
        import onnx_ir  # noqa: PLC0415 - may be missing

        plain = program(optimize=False)
        copy = onnx_ir.from_proto(plain.model_proto)
        found = torch.onnx.ONNXProgram(copy, plain.exported_program)
        with quiet():
            found.optimize()
        return found
    args = (torch.ones(2, 4), torch.ones(1, 1, 5, 5))
    return exported(Both().eval(), args, optimize=False)


def expected(made: Any) -> dict[str, list[str]]:
    """Return the same by the printed FX node that each ONNX node carries: "%gelu : ... = ..."."""
    graph = made.exported_program.graph
    found: dict[str, list[str]] = {n.name: [] for n in graph.nodes if n.op == "call_function"}
    for node in made.model_proto.graph.node:
        (printed,) = [e.value for e in node.metadata_props if e.key.endswith("fx_node")]
        found[printed.partition(" ")[0].removeprefix("%")].append(node.op_type)
    return found


def compare(made: Any) -> dict[str, list[str]]:
    """Compare your result with the metadata of the nodes."""
    __tracebackhide__ = True
    before = made.model_proto.SerializeToString(deterministic=True)
    yours, right = became(made), expected(made)
    kept = made.model_proto.SerializeToString(deterministic=True) == before
    assert kept, "your code modified the program"
    lines = [
        f"{name}: yours {yours.get(name, 'is missing')}, in the file {right.get(name, 'no call')}"
        for name in {**right, **yours}
        if yours.get(name) != right.get(name)
    ]
    assert not lines, "\n".join(lines)
    assert [*right] == [*yours], (
        f"your keys are in the order {[*yours]}, the calls in the order {[*right]}"
    )
    return yours


def table(found: dict[str, list[str]]) -> str:
    """Return a line for each call in the block, the first part, that left a node.

    In eval mode a dropout becomes a call, a clone, or since torch 2.15 nothing.
    """
    lines = [f"{name}: {' '.join(ops)}" for name, ops in found.items() if ops]
    return "\n".join(lines[:5])


def test_one_node_for_a_layer() -> None:
    """A Linear becomes a Gemm, and keys are in the order of the program."""
    yours = became(program(optimize=True))

    assert yours.get("linear") == ["Gemm"], f"linear: yours {yours.get('linear')}, expected a Gemm"
    assert "x" not in yours, "x is a placeholder: list only operator calls"


def test_what_is_gone_is_listed_too() -> None:
    """The fold puts a Conv in place of the BatchNorm: nothing is left of the conv2d before it."""
    yours = became(program(optimize=True))
    gone = [name for name, operators in yours.items() if not operators]

    assert "conv2d" in gone, (
        f"calls that leave nothing in the file: yours {gone}, expected conv2d too"
    )


def test_several_nodes_for_one_call() -> None:
    """ONNX 20 has no SiLU; a Conv that absorbed a BatchNorm carries the BatchNorm's name."""
    yours = compare(program(optimize=True))
    silu = yours.get("silu")

    assert silu == ["Sigmoid", "Mul"], (
        f"silu: yours {silu}, expected both nodes, in the order of the file"
    )
    twice = [name for name, operators in yours.items() if operators.count("ReduceMean") > 1]
    assert twice, (
        "a variance takes two means: list an operator twice if two nodes of the call use it"
    )
    (conv,) = [name for name, operators in yours.items() if operators == ["Conv"]]
    assert "norm" in conv, (
        f"your Conv is listed under {conv}, expected it under the BatchNorm that was folded"
    )


def test_the_block_as_text() -> None:
    """Compare with the nodes of the file, line by line."""
    assert_expected_inline(
        table(compare(program(optimize=True))),
        """\
linear: Gemm
gelu: Gelu
linear_1: Gemm
add: Add
layer_norm: LayerNormalization""",
    )


def test_without_optimisation() -> None:
    """Without optimisation each call keeps its nodes, including constants and identities."""
    yours = compare(program(optimize=False))
    gone = [name for name, made in yours.items() if not made and not name.startswith("getitem")]

    assert not gone, (
        f"without optimisation only getitem leaves no node in the file, but in your result {gone} "
        "leave none either"
    )
