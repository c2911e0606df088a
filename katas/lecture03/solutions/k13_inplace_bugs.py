"""Debug: six functions, each broken by a single in-place write."""

from __future__ import annotations

import torch
from torch import Tensor


def softplus(x: Tensor) -> Tensor:
    """Return log(1 + exp(x)), element by element."""
    # exp saves its result for backward, so add out of place.
    y = x.exp()
    return (y + 1).log()


def gated(a: Tensor, b: Tensor) -> Tensor:
    """Return a * b + relu(a), element by element."""
    # The product needs a for the gradient of b, and a belongs to the caller.
    product = a * b
    return product + a.relu()


def limited_tanh(x: Tensor, limit: float) -> Tensor:
    """Return tanh(x) clipped to -limit and limit; no gradient flows where it is clipped."""
    # A write through .data is neither recorded nor counted.
    y = x.tanh()
    return y.clamp(-limit, limit)


def add_bias(rows: Tensor, bias: Tensor) -> Tensor:
    """Return rows (n, m) plus bias (m,), which is added to each row."""
    # All rows of an expanded tensor share the same memory: there is no room for n sums.
    total = bias.expand_as(rows)
    return total + rows


def unroll(x: Tensor, weight: Tensor, steps: int) -> tuple[Tensor, list[Tensor]]:
    """Apply h = tanh(h @ weight) `steps` times, from h = x (n, m); weight is (m, m).

    Return the last h, and a log of the h after every step, in order, that requires no grad. The
    gradient flows through all steps, back to x; the log does not change it.
    """
    h = x
    log = []
    for _ in range(steps):
        h = (h @ weight).tanh()
        log.append(h.detach())
    return h, log


def players(first: Tensor, second: Tensor, x: Tensor, rate: float) -> None:
    """Let two players take a step of gradient descent together, in place.

    With out = x @ first @ second, `second` wants mean(out²) to be small, and `first` wants
    mean((out - 1)²) to be small. Each weight (two leaves that require grad) moves by -rate times
    the gradient of its own loss, and both gradients are computed before either moves.
    """
    out = x @ first @ second
    mine = (out - 1).square().mean()
    yours = out.square().mean()
    # The gradient of first flows through second: compute both before writing either.
    (move_second,) = torch.autograd.grad(yours, second, retain_graph=True)
    (move_first,) = torch.autograd.grad(mine, first)
    with torch.no_grad():
        second -= rate * move_second
        first -= rate * move_first
