"""Tests of k13_backward: values as before, and gradients by gradcheck and at the bad points."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError

from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.k13_backward import attention
from katas.lecture17.k13_backward import length
from katas.lecture17.k13_backward import log_sigmoid
from katas.lecture17.k13_backward import root
from katas.lecture17.k13_backward import rounded
from katas.lecture17.k13_backward import scaled


if TYPE_CHECKING:
    from collections.abc import Callable


def slope(function: Callable[..., Any], x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the sum of the result."""
    z = x.clone().requires_grad_()
    y = function(z, *others)
    assert y.requires_grad, f"{function.__name__}: the result does not require a gradient"
    (found,) = torch.autograd.grad(y.sum(), z)
    return found


def checked(function: Callable[..., Any], x: torch.Tensor) -> None:
    """Compare the gradient with finite differences."""
    __tracebackhide__ = True
    try:
        torch.autograd.gradcheck(function, x.clone().requires_grad_())
    except GradcheckError as error:
        lines = " ".join(str(error).split())
        raise AssertionError(f"{function.__name__}: gradcheck says: {lines}") from None


def matrix(*rows: list[float]) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(rows, dtype=torch.float64)


def test_root() -> None:
    """0 and negative inputs have gradient 0, positive ones 1 / (2 sqrt(x))."""
    x = torch.tensor([0.0, -1.0, 4.0, -0.0, 0.25]).double()
    close(root(x), [0.0, 0.0, 2.0, 0.0, 0.5], f"root of {x.tolist()}")
    close(slope(root, x), [0.0, 0.0, 0.25, 0.0, 1.0], f"the gradient of root at {x.tolist()}")
    checked(root, numbers(6).abs() + 0.1)


def test_length() -> None:
    """A row of zeros has length 0, and gradient 0."""
    x = matrix([0.0, 0.0], [3.0, -4.0])
    close(length(x), [0.0, 5.0], f"length of {x.tolist()}")
    close(slope(length, x), [[0.0, 0.0], [0.6, -0.8]], f"the gradient of length at {x.tolist()}")
    checked(length, numbers(3, 4))


def test_log_sigmoid() -> None:
    """At both ends, neither value nor gradient is infinite or NaN."""
    x = torch.tensor([-1000.0, -40.0, 0.0, 40.0, 1000.0]).double()
    right = [-1000.0, -40.0, -0.6931471805599453, -4.248354255291589e-18, 0.0]
    close(log_sigmoid(x), right, f"log_sigmoid of {x.tolist()}")
    why = f"the gradient of log_sigmoid at {x.tolist()}: sigmoid(-x)"
    close(slope(log_sigmoid, x), [1.0, 1.0, 0.5, 4.248354255291589e-18, 0.0], why)
    checked(log_sigmoid, numbers(8))


def test_rounded() -> None:
    """Multiples of 1/4, and a gradient of 1 at each element: straight through."""
    x = torch.tensor([0.3, 0.2, -0.9, 10.0]).double()
    close(rounded(x), [0.25, 0.25, -1.0, 10.0], f"rounded {x.tolist()}")
    close(slope(rounded, x), [1.0] * 4, "the gradient of rounded: as if it were x")
    weights = numbers(4, seed=3)
    yours = slope(lambda z: rounded(z) * weights, x)
    close(yours, weights, "the gradient of rounded(x) * weights, by x")


def test_scaled() -> None:
    """The divisor depends on x, and has a gradient too."""
    x = torch.tensor([1.0, -3.0, 2.0]).double()
    close(scaled(x), [0.5, -1.5, 1.0], f"scaled {x.tolist()}")
    checked(scaled, x)
    close(slope(scaled, x), [0.5, 0.5, 0.5], "1/2 each, and for the largest + 1/2 - 0 / 4", 1e-9)


def test_attention() -> None:
    """A row without a True: weights 0, gradients 0. Other rows are as before."""
    scores = numbers(3, 4)
    mask = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    yours = attention(scores, mask)
    right = torch.zeros(3, 4).double()
    for i, row in enumerate(mask):
        if row.any():
            right[i, row] = scores[i, row].softmax(0)
    close(yours, right, "weights of three rows, of which one is masked completely")
    weights = numbers(3, 4, seed=1)
    gradient = slope(lambda s: attention(s, mask) * weights, scores)
    assert gradient.isfinite().all(), f"the gradient of attention is not finite: {gradient}"
    close(gradient[~mask], torch.zeros(5), "the gradient of scores that are masked")
    checked(lambda s: attention(s, mask), scores)
    heads = torch.stack([scores, 2 * scores])
    both = attention(heads, torch.stack([mask, mask.flip(0)]))
    expected = torch.stack([yours, attention(2 * scores, mask.flip(0))])
    close(both, expected, "two heads at once: the rows are along the last dim")
