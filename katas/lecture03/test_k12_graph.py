"""Tests of k12_graph: every program is run, and its graph is compared with your prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture03 import k12_graph as kata
from katas.lecture03.k12_graph import PROGRAMS
from plugins.kit import forbids


if TYPE_CHECKING:
    from torch.autograd.graph import Node


# The rule that decides each program; the answer itself comes from PyTorch.
RULES = {
    "product": "a node has one child for each tensor that the operator takes",
    "row": "a view has its base's history underneath",
    "detached": "detach begins a new history: which node does a tensor have that no operator made?",
    "without_grad_mode": "without grad mode nothing is recorded, a write in place neither",
    "index_of_largest": "integers have no gradient",
    "in_place": "a write in place puts its node on top of what the tensor had",
    "into_a_constant": "a write in place puts its node on top, also of a tensor that had none",
    "base_of_written_view": "CopySlices has the base's old history first, then the write's children"
    " but for the first",
    "written_view": "a view that was made before a write is written anew from its base, and a write"
    " through the view is one",
    "view_of_written_base": "a view that was made before a write is written anew from its base",
    "assigned_row": "x[0] = y is x[0].copy_(y): the base takes the place of the node's first child",
    "other_view": "a write to a view is one to the base, so all other views are written anew",
    "detached_write": "a tensor from detach shares memory with its source, but no history",
    "view_without_grad_mode": "without grad mode a view gets no node, and its base still counts",
}


def drawn(node: Node | None) -> str:
    """Return a node and its graph, in the notation of the kata."""
    if node is None:
        return "None"
    name = node.name().rpartition("::")[2]
    children = [drawn(child) for child, _ in node.next_functions]
    return f"{name}({', '.join(children)})" if children else name


def predicted() -> dict[str, tuple[str, bool, bool]]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        # Read everything while torch is hidden, so that nothing is computed later.
        return {
            name: (f"{row.graph}".replace(" ", ""), row.is_leaf, row.requires_grad)
            for name, row in fresh.predictions().items()
        }


@pytest.mark.given
def test_the_two_graphs_of_the_brief() -> None:
    """The two graphs are what PyTorch builds."""
    x = torch.ones(2, 2, requires_grad=True) * 2
    mul = "MulBackward0(AccumulateGrad, None)"

    assert mul == drawn(x.grad_fn), f"the brief says {mul}, PyTorch says {drawn(x.grad_fn)}"
    x[0].exp_()
    assert f"CopySlices({mul})" == drawn(x.grad_fn), f"the brief says CopySlices({mul})"


@pytest.mark.given
def test_some_views_keep_their_kind_of_node() -> None:
    """Strides cannot conjugate: after a write to the base, such a view is recreated by conj."""
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True) * 2
    conjugate, row = x.conj(), x[0]
    x.mul_(3)
    base = "MulBackward0(MulBackward0(AccumulateGrad, None), None)"

    assert f"ConjBackward0({base})" == drawn(conjugate.grad_fn)
    assert f"AsStridedBackward0({base})" == drawn(row.grad_fn)


def test_every_program_is_predicted() -> None:
    """There is exactly one row for each program; your rows cannot call torch."""
    yours = set(predicted())

    assert yours == set(PROGRAMS), (
        f"yours has rows for {sorted(yours)}; expected: {sorted(PROGRAMS)}"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_prediction(name: str) -> None:
    """Graph, leaf and requires_grad are those of the tensor that PyTorch returns."""
    row = predicted()[name]
    result = PROGRAMS[name](torch.ones(2, 2, requires_grad=True))
    right = (drawn(result.grad_fn).replace(" ", ""), result.is_leaf, result.requires_grad)
    kinds = [type(each) for each in row]
    is_right = kinds == [str, bool, bool] and row == right

    assert is_right, (
        f"{name}: {PROGRAMS[name].__doc__}\n"
        f"yours  {row}, which is not what PyTorch gives\n"
        f"rule   {RULES[name]}"
    )
