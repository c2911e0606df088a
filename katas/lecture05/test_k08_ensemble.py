"""Tests of k08_ensemble: each model is called on its own, and the matrix products are counted."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from katas.lecture05.k08_ensemble import outputs
from plugins.kit import unchanged
from plugins.kit import watched_operators


PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::dot")


class Shifted(nn.Module):
    """Adds a constant that is not in any state dict."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Buffer(torch.randn(2), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x + shift."""
        return x + self.shift


def models(count: int, make: str = "mlp") -> list[nn.Module]:
    """Return models of one architecture, in evaluation mode."""
    torch.manual_seed(0)
    made = {
        "linear": lambda: nn.Linear(3, 2),
        "mlp": lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)),
        "normed": lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)),
        "shifted": lambda: nn.Sequential(nn.Linear(3, 2), Shifted()),
    }
    every = [made[make]().eval() for _ in range(count)]
    for model in every:
        for buffer in model.buffers():
            if buffer.is_floating_point():
                buffer.uniform_(0.5, 2)
    return every


def compare(every: list[nn.Module], x: torch.Tensor, what: str) -> None:
    """Compare with the models, called one after the other."""
    expected = torch.stack([copy.deepcopy(model)(x) for model in every])
    with unchanged(every, x, *every):
        yours = outputs(every, x)
    sizes = tuple(expected.shape), tuple(yours.shape)
    assert sizes[0] == sizes[1], f"{what}: your shape is {sizes[1]}, expected {sizes[0]}"
    says = f"{what}: yours is not what the models return, stacked\n".__add__
    torch.testing.assert_close(yours, expected, msg=says)


def test_two_linear_layers() -> None:
    """One input and two models give a new first dim."""
    compare(models(2, "linear"), torch.randn(5, 3), "two layers")


@pytest.mark.parametrize("count", [1, 2, 7])
def test_any_number_of_models(count: int) -> None:
    """There are as many results as models, in order, even if the batch has that size."""
    compare(models(count), torch.randn(count, 3), f"{count} models, {count} rows")


def test_buffers_are_stacked_too() -> None:
    """Each BatchNorm has its own statistics, and each Shifted has a buffer that is not saved."""
    compare(models(3, "normed"), torch.randn(5, 3), "with a BatchNorm")
    compare(models(3, "shifted"), torch.randn(5, 3), "with a buffer in no state dict")


def test_one_row() -> None:
    """The input may have no batch dim."""
    compare(models(3), torch.randn(3), "an input of one dim")


def test_thirty_cost_as_many_calls_as_three() -> None:
    """Matrix products are counted while they run."""
    x = torch.randn(5, 3)
    counts = {}
    for count in (3, 30):
        every = models(count)
        with watched_operators() as names:
            outputs(every, x)
        counts[count] = sum(name in PRODUCTS for name in names)

    assert counts[3] == counts[30], (
        f"products: yours {counts[3]} for 3 models and {counts[30]} for 30; expected no more for 30"
    )
    assert counts[30] <= 12, f"products: yours {counts[30]} for 30 models, bar 12, naive 60"


def test_a_later_call_sees_later_parameters() -> None:
    """The stack is a copy, so make it in each call."""
    every, x = models(3), torch.randn(5, 3)
    first = outputs(every, x)
    with torch.no_grad(), unchanged(first):
        every[1][0].weight.mul_(2)
        second = outputs(every, x)

    says = "after a change of one model: yours is not what the models return\n".__add__
    torch.testing.assert_close(second, torch.stack([model(x) for model in every]), msg=says)


def test_a_gradient_by_the_input() -> None:
    """The gradient with respect to the input is the sum over the models."""
    every, x = models(3), torch.randn(5, 3, requires_grad=True)
    (yours,) = torch.autograd.grad(outputs(every, x).square().sum(), x)
    (expected,) = torch.autograd.grad(sum(model(x).square().sum() for model in every), x)

    says = "the gradient by x: yours is not the sum over the models\n".__add__
    torch.testing.assert_close(yours, expected, msg=says)


def test_models_in_training() -> None:
    """The models stay in training mode, and calls write their statistics to copies."""
    every = [model.train() for model in models(3, "normed")]

    compare(every, torch.randn(5, 3), "in training")
