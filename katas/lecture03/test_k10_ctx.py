"""Tests of k10_ctx: what is alive, and what autograd notices, compared with PyTorch's operators."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture03.k10_ctx import Scale
from katas.lecture03.k10_ctx import Sigmoid
from katas.lecture03.k10_ctx import Square
from plugins.kit import freed


if TYPE_CHECKING:
    from collections.abc import Callable


YOURS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Sigmoid": Sigmoid.apply,
    "Square": Square.apply,
    "Scale": lambda x: Scale.apply(x, 2**0.5),
}
PYTORCHS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Sigmoid": torch.sigmoid,
    "Square": lambda x: x * x,
    "Scale": lambda x: x * 2**0.5,
}


def leaf() -> torch.Tensor:
    """Return a leaf of irrational values."""
    return (torch.tensor([2.0, 3.0, 0.0], dtype=torch.float64).sqrt() - 1).requires_grad_()


def complaint(call: Callable[[], object]) -> str:
    """Return the error that a call raises, or say that it passes."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "no error"


@pytest.mark.given
@pytest.mark.parametrize("name", YOURS)
def test_values_and_gradients_are_right(name: str) -> None:
    """Values, gradients and second derivatives were right before, and stay right."""
    x = leaf()
    results = [functions[name](x) for functions in (YOURS, PYTORCHS)]
    firsts = [torch.autograd.grad(y.square().sum(), x, create_graph=True)[0] for y in results]
    seconds = [torch.autograd.grad(first.sum(), x)[0] for first in firsts]

    for what, (yours, theirs) in {"value": results, "first": firsts, "second": seconds}.items():
        says = f"{name}, {what} derivative: yours is not PyTorch's\n".__add__
        torch.testing.assert_close(yours, theirs, rtol=1e-12, atol=1e-12, msg=says)


def test_a_result_is_freed_with_its_last_owner() -> None:
    """Reference counting alone must do: training makes thousands between two collections."""
    freed(
        lambda: Sigmoid.apply(leaf()),
        "ctx owns y, which owns its node, which is ctx: save_for_backward knows a result",
    )


@pytest.mark.parametrize("name", ["Sigmoid", "Square"])
def test_a_write_to_what_is_kept_is_noticed(name: str) -> None:
    """PyTorch's operator refuses to run backward, because its gradient would be wrong."""
    outcomes = []
    for functions in (YOURS, PYTORCHS):
        x = leaf() * 1
        y = functions[name](x)
        before = torch.autograd.graph.get_gradient_edge(y)
        (y if name == "Sigmoid" else x).mul_(3)
        ones = torch.ones(3, dtype=torch.float64)
        outcomes.append(complaint(lambda before=before, ones=ones: backward(before, ones)))
    yours, theirs = outcomes

    assert "modified by an inplace operation" in theirs, f"PyTorch's: {theirs}"
    assert "modified by an inplace operation" in yours, (
        f"{name}: somebody wrote to what backward needs.\nyours      {yours}\nPyTorch's  {theirs}\n"
        "Autograd compares no version of an attribute of ctx."
    )


def backward(edge: torch.autograd.graph.GradientEdge, grad: torch.Tensor) -> None:
    """Go backward from an edge."""
    torch.autograd.backward([edge], [grad])


def test_an_input_is_let_go_after_backward() -> None:
    """The result may stay alive, say in a log, but saved tensors are freed."""
    x = leaf() * 1
    alive = weakref.ref(x)
    y = Square.apply(x)
    y.sum().backward()
    del x

    assert y.requires_grad, "your result is cut off from its history"
    assert alive() is None, (
        "backward has run, but your code still keeps the input alive: PyTorch frees "
        "what save_for_backward got, and knows nothing of attributes of ctx"
    )


@pytest.mark.given
def test_a_number_may_stay_on_ctx() -> None:
    """A number owns nothing."""
    freed(lambda: Scale.apply(leaf(), 2.0), "a float owns nothing")
