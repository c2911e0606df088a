"""Tests of k01_walk: PyTorch builds real graphs while the test runs."""

from __future__ import annotations

import time

import pytest
import torch

from katas.lecture03 import k01_walk as kata
from plugins.kit import unchanged


def leaf() -> torch.Tensor:
    """Return a leaf that requires a gradient."""
    return torch.ones(2, requires_grad=True)


def compare(tensor: torch.Tensor, expected: list[str], why: str) -> None:
    """Compare the names of your nodes with those expected, in any order."""
    with unchanged(tensor=tensor):
        found = kata.nodes(tensor)
        again = kata.nodes(tensor)
    assert isinstance(found, list), f"yours is a {type(found).__name__}, expected a list of nodes"
    names = sorted("None" if node is None else kata.label(node) for node in found)

    assert sorted(expected) == names, f"yours {names}\nexpected {sorted(expected)}\n{why}"
    assert len(again) == len(found), (
        f"your second walk finds {len(again)} nodes, expected {len(found)} as in the "
        "first: leave no state behind"
    )


def test_a_leaf_has_no_history() -> None:
    """No operator made a leaf, so it has no node."""
    compare(leaf(), [], "x.grad_fn is None: there is nothing to walk")
    compare(torch.ones(2), [], "x.grad_fn is None: there is nothing to walk")


def test_one_operator() -> None:
    """An operator has its own node, and the leaf has a node that adds to its .grad."""
    compare(
        leaf().exp(),
        ["ExpBackward0", "AccumulateGrad"],
        "tensor.grad_fn is the first node; where next_functions end, AccumulateGrad waits",
    )


def test_an_input_without_a_gradient_has_no_node() -> None:
    """An input that needs no gradient has None in next_functions."""
    compare(
        leaf() * torch.ones(2),
        ["MulBackward0", "AccumulateGrad"],
        "(None, 0) keeps the place of an input that needs no gradient: it is no node",
    )


def test_three_lines() -> None:
    """The tensor y is used twice but has one node."""
    y = leaf() * torch.ones(2)
    z = (y.exp() + y).sum()
    expected = ["SumBackward0", "AddBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"]

    compare(z, expected, "two edges lead to the node of y, and it is one node")


def test_nodes_of_one_name_are_different() -> None:
    """Three products have three nodes, two leaves have two, but three results of unbind one."""
    x, y = leaf(), leaf()
    expected = ["MulBackward0"] * 3 + ["AccumulateGrad"] * 2

    compare((x * y) * x * y, expected, "a name is no identity: ask whether the node is known")
    stacked = torch.stack([*torch.ones(3, requires_grad=True).unbind(), y.sum()])
    expected = ["StackBackward0", "UnbindBackward0", "SumBackward0"] + ["AccumulateGrad"] * 2
    compare(stacked, expected, "unbind has three results and one node; stack has four inputs")


def test_paths_that_meet_again() -> None:
    """Forty squares have 2 ** 40 paths but only 41 nodes."""
    x = leaf()
    for _ in range(40):
        x = x * x
    start = time.process_time()
    compare(x, ["MulBackward0"] * 40 + ["AccumulateGrad"], "go on from a node one time only")

    assert time.process_time() - start < 10, "your walk visits every path; visit every node once"


def test_a_long_chain() -> None:
    """A training loop leaves thousands of nodes in a row, beyond Python's recursion limit."""
    x = leaf()
    for _ in range(3000):
        x = x.exp()

    compare(x, ["ExpBackward0"] * 3000 + ["AccumulateGrad"], "keep a list of those that wait")


@pytest.mark.given
def test_labels() -> None:
    """A node's name without its C++ namespace."""
    assert "ExpBackward0" == kata.label(leaf().exp().grad_fn)
    assert "None" == kata.label(None)
