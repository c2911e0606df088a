"""Tests of k06_translation: one model with three calls of the operator, exported once."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture16 import k06_translation as kata
from katas.lecture16.conftest import quiet
from katas.lecture16.conftest import session


pytestmark = pytest.mark.backend("onnxruntime")
INF, NAN = float("inf"), float("nan")
HALVES = [-1.75, -1.5, -1.25, -0.75, -0.25, 0.0, 0.25, 0.75, 1.25, 9.0]


class Snapped(nn.Module):
    """Snaps two inputs to different grids, the second twice."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return x on a grid of 0.5, and w on grids of 0.1 and 3."""
        snap = torch.ops.lecture16.snap
        return snap(x, 0.5, 3), snap(w, 0.1, 20), snap(w, 3.0, 1)


@cache
def made() -> tuple[Any, Any]:
    """Export once."""
    args = (torch.ones(2, 10), torch.ones(2, 4))
    with quiet():
        program = kata.export(Snapped().eval(), args)
    assert isinstance(program, torch.onnx.ONNXProgram), (
        f"your function returns a {type(program).__name__}"
    )
    return program.model_proto, session(program.model_proto)


def check(x: torch.Tensor, w: torch.Tensor, why: str) -> None:
    """Compare what the file returns with what the operator returns."""
    __tracebackhide__ = True
    _, runs = made()
    feeds = dict(zip((entry.name for entry in runs.get_inputs()), (x, w), strict=True))
    found = runs.run(None, {name: value.numpy() for name, value in feeds.items()})
    names = ("snap(x, 0.5, 3)", "snap(w, 0.1, 20)", "snap(w, 3.0, 1)")
    for name, yours, right in zip(names, found, Snapped()(x, w), strict=True):
        says = f"{name} of {x.tolist() if 'x' in name else w.tolist()}\n{why}\n".__add__
        torch.testing.assert_close(
            torch.from_numpy(yours), right, rtol=0, atol=0, equal_nan=True, msg=says
        )


def test_a_row() -> None:
    """Each value becomes a multiple of the step; large values become the largest one."""
    x = torch.tensor([HALVES, [-value for value in HALVES]])
    w = torch.linspace(-3, 3, 8).view(2, 4)

    check(x, w, "divide, round half to even, clamp, multiply")


@pytest.mark.given
def test_the_table_of_the_brief() -> None:
    """The example of the brief: halves go to the even multiple, and three steps are the most."""
    x = torch.tensor([-1.75, -1.5, -0.25, 0.25, 0.75, 9.0, NAN])
    expected = torch.tensor([-1.5, -1.5, -0.0, 0.0, 1.0, 1.5, NAN])
    found = torch.ops.lecture16.snap(x, 0.5, 3)

    says = f"snap({x.tolist()}, 0.5, 3): {found.tolist()}, but the brief says {expected.tolist()}\n"
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True, msg=says.__add__)


def test_the_batch_is_open() -> None:
    """The file takes one row and five; it names the size."""
    _, runs = made()
    for rows in (1, 5):
        x = torch.tensor([HALVES] * rows)
        check(x, torch.full((rows, 4), 2.0**0.5), f"a batch of {rows}")
    sizes = [entry.shape[0] for entry in runs.get_inputs()]
    assert sizes == ["batch", "batch"], (
        f"the first sizes in the file: {sizes}, expected 'batch' twice"
    )


def test_nan_and_infinity() -> None:
    """NaN stays NaN, infinity becomes the largest level."""
    x = torch.tensor([[NAN, INF, -INF, -0.0, 1e30, -1e30, 1e-30, 0.5, NAN, 2.0]])

    check(x, torch.tensor([[NAN, INF, -INF, 0.0]]), "NaN goes through")


def test_the_file_has_onnx_operators_alone() -> None:
    """No operator comes from a domain that a runtime would have to know."""
    proto, _ = made()
    found = [f"{node.domain or 'onnx'}::{node.op_type}" for node in proto.graph.node]
    others = sorted({name for name in found if not name.startswith("onnx::")})

    assert not others, f"the file contains operators that ONNX does not define: {others}"
    assert proto.opset_import[0].version == 20, (
        f"your file is for opset {proto.opset_import[0].version}, expected 20"
    )


def test_the_operators_as_text() -> None:
    """Each call becomes four operators; the calls are sorted by their grid."""
    proto, _ = made()
    made_for: dict[str, list[str]] = {}
    for node in proto.graph.node:
        about = {entry.key.rpartition(".")[2]: entry.value for entry in node.metadata_props}
        call = about["fx_node"].partition(" ")[0]
        made_for.setdefault(call, []).append(node.op_type)
    kinds = sorted(" ".join(sorted(set(ops) - {"Constant"})) for ops in made_for.values())
    assert_expected_inline(
        "\n".join(kinds),
        """\
Clip Div Mul Round
Clip Div Mul Round
Clip Div Mul Round""",
    )
