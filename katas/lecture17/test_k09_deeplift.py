"""Tests of k09_deeplift: completeness to twelve digits, and Captum where it is installed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import captum
from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import quietly
from katas.lecture17.k09_deeplift import deeplift
from plugins.kit import unchanged


X, BASE, TARGET = numbers(4, 3), numbers(4, 3, seed=1), torch.tensor([1, 0, 1, 1])


def dense(*units: nn.Module) -> Any:
    """Return a chain of linear layers with these units between them."""
    torch.manual_seed(len(units))
    sizes = [3, *[6] * len(units), 2]
    layers = [nn.Linear(*pair) for pair in pairwise(sizes)]
    mixed = [layer for pair in zip(layers, units, strict=False) for layer in pair]
    return nn.Sequential(*mixed, layers[-1]).double()


def gap(f: nn.Module, x: torch.Tensor, base: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return f(x) - f(baseline) of each row's class."""
    with torch.no_grad():
        rows = torch.arange(len(x))
        found: torch.Tensor = (f(x) - f(base))[rows, target]
        return found


def line(weight: float, bias: float) -> nn.Linear:
    """Return a layer of one input and one output."""
    layer = nn.Linear(1, 1).double()
    with torch.no_grad():
        layer.weight.fill_(weight)
        layer.bias.fill_(bias)
    return layer


def test_a_saturated_unit() -> None:
    """1 - relu(1 - x) at 2: the unit went from 1 to 0 while its input went from 1 to -1."""
    layers = [line(-1.0, 1.0), nn.ReLU(), line(-1.0, 1.0)]
    x, zero, first = torch.tensor([[2.0]]).double(), torch.zeros(1, 1).double(), torch.tensor([0])

    close(deeplift(layers, x, zero, first), [[1.0]], "f(2) - f(0) is 1; the unit's way is -2")
    close(deeplift(layers, x, x, first), [[0.0]], "from 2 to 2 nothing changes")


def test_a_linear_chain() -> None:
    """The product of the weights, times x - baseline: as with the gradient."""
    f = dense()
    yours = deeplift([*f], X, BASE, TARGET)

    close(yours, f[0].weight.detach()[TARGET] * (X - BASE), "one linear layer")


@pytest.mark.parametrize("unit", [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Softplus])
def test_completeness(unit: type[nn.Module]) -> None:
    """The rows sum to f(x) - f(baseline) of their class."""
    f = dense(unit(), unit())
    yours = deeplift([*f], X, BASE, TARGET)

    close(yours.sum(1), gap(f, X, BASE, TARGET), f"sums of the rows, with {unit.__name__}")


def test_units_that_do_not_move() -> None:
    """Where x equals the baseline the quotient is 0 / 0: the slope is used, and nothing is NaN."""
    f, base = dense(nn.Tanh()), BASE.clone()
    base[1:] = X[1:]
    base[2, 0] += 1e-13
    yours = deeplift([*f], X, base, TARGET)

    assert yours.isfinite().all(), f"yours has NaN or infinity: {yours}"
    close(yours.sum(1), gap(f, X, base, TARGET), "rows that moved, and rows that did not")
    # The attribution itself is tiny: divided by the difference it shows the slope.
    z = X.clone().requires_grad_()
    (slope,) = torch.autograd.grad(f(z)[torch.arange(4), TARGET].sum(), z)
    why = "a way of 1e-13 is below 1e-9 and not 0: the slope at x, and no quotient of tiny numbers"
    close(yours[2, 0] / (X - base)[2, 0], slope[2, 0], why, 1e-6)


def test_a_way_of_1e_9() -> None:
    """1e-9 is not below 1e-9: the rescale rule holds, and so does completeness."""
    x = torch.zeros(1, 1).double()
    yours = deeplift([nn.ReLU(), line(3.0, 0.0)], x, x + 1e-9, torch.tensor([0])) / 1e-9

    close(yours, [[-3.0]], "from 1e-9 to 0, in units of 1e-9, through a ReLU and a weight of 3")


def test_symmetry_and_dummy() -> None:
    """Inputs that may be swapped get equal parts, and one that nothing reads gets 0."""
    f = dense(nn.ReLU(), nn.Tanh())
    with torch.no_grad():
        f[0].weight[:, 1] = f[0].weight[:, 0]
        f[0].weight[:, 2] = 0.0
    x, base = X.clone(), BASE.clone()
    x[:, 1], base[:, 1] = x[:, 0], base[:, 0]
    yours = deeplift([*f], x, base, TARGET)

    close(yours[:, 1], yours[:, 0], "symmetry: inputs 0 and 1 may be swapped")
    close(yours[:, 2], torch.zeros(4), "dummy: nothing reads input 2")


def test_images() -> None:
    """Convolution, pooling and flattening are linear; attributions have the shape of x."""
    torch.manual_seed(2)
    f = nn.Sequential(
        *(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten()),
        *(nn.Linear(12, 5), nn.Sigmoid(), nn.Linear(5, 2)),
    ).double()
    x, base = numbers(4, 2, 6, 6), numbers(4, 2, 6, 6, seed=1)
    yours = deeplift([*f], x, base, TARGET)

    assert yours.shape == x.shape, f"yours has shape {tuple(yours.shape)}, expected the shape of x"
    close(yours.sum((1, 2, 3)), gap(f, x, base, TARGET), "sums of the images")


def test_in_place_and_twice() -> None:
    """A ReLU that writes to its input, and one ReLU in two places, change nothing."""
    f, shared = dense(nn.ReLU(), nn.ReLU()), nn.ReLU(inplace=True)
    expected = deeplift([*f], X, BASE, TARGET)
    layers = [shared if isinstance(layer, nn.ReLU) else layer for layer in f]
    yours = deeplift(layers, X, BASE, TARGET)

    close(yours, expected, "one nn.ReLU(inplace=True) for two nn.ReLU()")
    close(yours.sum(1), gap(f, X, BASE, TARGET), "sums of the rows")


def test_nothing_stays() -> None:
    """x, the baseline and the layers are as before, and there is no graph."""
    f, x = dense(nn.ReLU(inplace=True)), X.clone().requires_grad_()
    with unchanged(f, x=x, base=BASE):
        yours = deeplift([*f], x, BASE, TARGET)
        first = deeplift([nn.ReLU(inplace=True), *f], x, BASE, TARGET)

    assert not yours.requires_grad, "your result has a graph"
    close(first.sum(1), gap(f, X.relu(), BASE.relu(), TARGET), "a chain that begins with a ReLU")


@pytest.mark.backend("captum")
def test_captum_agrees() -> None:
    """Captum's DeepLift, which hooks modules."""
    f = dense(nn.ReLU(), nn.Tanh())
    expected = quietly(captum("attr.DeepLift", f).attribute, X, BASE, TARGET).detach()

    close(deeplift([*f], X, BASE, TARGET), expected, "Captum's", 1e-9)
