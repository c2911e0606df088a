"""Tests of k02_integrated: axioms to twelve digits, and Captum where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import captum
from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import quietly
from katas.lecture17.k02_integrated import integrated_gradients
from katas.lecture17.k02_integrated import rule
from plugins.kit import unchanged


class Cubic(nn.Module):
    """Cubes of sums of inputs: its slopes have degree 2, so two points of gauss are exact."""

    def __init__(self, inputs: int = 4, seed: int = 0) -> None:
        super().__init__()
        self.inward = nn.Parameter(numbers(inputs, 5, seed=seed))
        self.outward = nn.Parameter(numbers(5, 3, seed=seed + 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return three logits for each row."""
        return (x.flatten(1) @ self.inward) ** 3 @ self.outward


def bent() -> nn.Module:
    """Return a network of ReLUs, seeded, in float64."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)).double()


def gap(f: Any, x: torch.Tensor, baseline: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return f(x) - f(baseline) of each row's class."""
    with torch.no_grad():
        rows = torch.arange(len(x))
        found: torch.Tensor = (f(x) - f(baseline.expand_as(x)))[rows, target]
        return found


X, BASE, TARGET = numbers(6, 4, seed=5), numbers(1, 4, seed=6), torch.tensor([0, 2, 1, 1, 0, 2])


def test_midpoints() -> None:
    """Points are in the middle of equal parts."""
    points, weights = rule("midpoint", 4)

    assert points.dtype == weights.dtype == torch.float64, "expected float64 points and weights"
    close(points, [0.125, 0.375, 0.625, 0.875], "points of midpoint, of 4")
    close(weights, [0.25] * 4, "weights of midpoint, of 4")


def test_gauss() -> None:
    """Four points integrate x ** 7 on [0, 1] exactly."""
    points, weights = rule("gauss", 4)

    assert points.dtype == weights.dtype == torch.float64, "expected float64 points and weights"
    close(weights.sum(), 1.0, "weights on [0, 1] sum to 1: leggauss has them for [-1, 1]")
    for power in range(8):
        why = f"the integral of x ** {power} from 0 to 1"
        close((weights * points**power).sum(), 1 / (power + 1), why)


def test_a_product_shares_equally() -> None:
    """From (0, 0) to (2, 3) each factor earns half of 6."""
    x, zero = torch.tensor([[2.0, 3.0]]).double(), torch.zeros(1, 2).double()
    for method, steps in (("midpoint", 1), ("gauss", 1), ("gauss", 3)):
        yours = integrated_gradients(
            lambda z: z.prod(1, keepdim=True),
            x,
            zero,
            torch.tensor([0]),
            method=method,
            steps=steps,
        )
        close(yours, [[3.0, 3.0]], f"x0 * x1, {method} of {steps}")


def test_completeness() -> None:
    """Each row's attributions sum to the difference of its class, to twelve digits."""
    f = Cubic()
    yours = integrated_gradients(f, X, BASE, TARGET, steps=2)

    close(yours.sum(1), gap(f, X, BASE, TARGET), "sums of the rows: f(x) - f(baseline)", 1e-10)


def test_symmetry_and_dummy() -> None:
    """Inputs with equal roles and values get equal parts; one that is not read gets 0."""
    f = Cubic()
    with torch.no_grad():
        f.inward[1] = f.inward[0]
        f.inward[3] = 0.0
    x, zero = X.clone(), torch.zeros(1, 4).double()
    x[:, 1] = x[:, 0]
    yours = integrated_gradients(f, x, zero, TARGET, steps=2)

    close(yours[:, 1], yours[:, 0], "symmetry: inputs 0 and 1 may be swapped")
    close(yours[:, 3], torch.zeros(6), "dummy: nothing reads input 3")


def test_additivity() -> None:
    """The attributions of a sum are the sums of attributions."""
    f, g = Cubic(), Cubic(seed=8)
    parts = [integrated_gradients(h, X, BASE, TARGET, steps=3) for h in (f, g)]
    both = integrated_gradients(lambda z: 2 * f(z) + g(z), X, BASE, TARGET, steps=3)

    close(both, 2 * parts[0] + parts[1], "additivity: of 2 f + g", 1e-10)


def test_rows_do_not_meet() -> None:
    """A row alone gets the same as in a batch, also with images and a baseline for each row."""
    f, x, base = Cubic(12), numbers(3, 1, 3, 4), numbers(3, 1, 3, 4, seed=2)
    target = torch.tensor([2, 0, 1])
    yours = integrated_gradients(f, x, base, target, steps=2)
    for row in range(3):
        part = slice(row, row + 1)
        alone = integrated_gradients(f, x[part], base[part], target[part], steps=2)
        close(yours[part], alone, f"row {row} of a batch of 3", 1e-10)


def test_the_rest_of_a_network_of_relus() -> None:
    """More steps leave a smaller gap, with either rule."""
    f, rest = bent(), {}
    for method in ("midpoint", "gauss"):
        for steps in (5, 300):
            yours = integrated_gradients(f, X, BASE, TARGET, method=method, steps=steps)
            error = (yours.sum(1) - gap(f, X, BASE, TARGET)).abs().max().item()
            rest[method, steps] = error
    for method in ("midpoint", "gauss"):
        assert 0 < rest[method, 300] < min(0.01, rest[method, 5]), (
            f"{method}: with 5 steps the attributions miss the total by {rest[method, 5]:.1e}, with"
            f" 300 by {rest[method, 300]:.1e}; expected less than 1e-2, and not 0, because the"
            " slope jumps at each ReLU"
        )


def test_one_call() -> None:
    """All points of all rows are one batch, and 50 points of gauss are the default."""
    f, batches = Cubic(), []

    def counted(z: torch.Tensor) -> Any:
        batches.append(len(z))
        return f(z)

    yours = integrated_gradients(counted, X, BASE, TARGET)
    assert batches == [50 * 6], f"batches of your calls: {batches}, expected one of 50 * 6 rows"
    again = integrated_gradients(f, X, BASE, TARGET, method="gauss", steps=50)
    close(yours, again, "without method and steps: gauss of 50")


def test_the_callers_x_is_left_alone() -> None:
    """An x that requires no gradient does not require one afterwards."""
    x = X.detach().clone()
    with unchanged(x=x):
        yours = integrated_gradients(Cubic(), x, BASE, TARGET, steps=2)

    assert not yours.requires_grad, (
        "your result has a graph: differentiate with respect to your own points"
    )


def test_nothing_is_left_behind() -> None:
    """No .grad, no graph, no change of x; inside torch.no_grad(), and with an x that has a grad."""
    f, x = Cubic().float(), X.float().requires_grad_()
    with unchanged(f, x=x, base=BASE), torch.no_grad():
        yours = integrated_gradients(f, x, BASE.float(), TARGET, steps=2)

    assert yours.dtype == torch.float32, f"yours is {yours.dtype}, expected x's float32"
    assert not yours.requires_grad, "your result has a graph, even under torch.no_grad()"
    close(yours, integrated_gradients(f.double(), X, BASE, TARGET, steps=2), "float32", 1e-3)


@pytest.mark.backend("captum")
def test_captum_agrees() -> None:
    """Captum's Gauss-Legendre rule agrees; Captum computes it in float32."""
    f = bent()
    method = captum("attr.IntegratedGradients", f)
    expected = quietly(method.attribute, X, BASE.expand_as(X), TARGET, n_steps=20)

    close(integrated_gradients(f, X, BASE, TARGET, steps=20), expected, "Captum's", 1e-6)
