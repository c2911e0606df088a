"""Perf: a step of Adam in six launches.

A pointwise operator reads all its tensors and writes another one. Its arithmetic is free; its
launch and its memory traffic are not. The formula, typed as it stands, takes sixteen launches.

PyTorch has operators that combine several steps in one launch, in place:

    m.lerp_(grad, weight)               m + weight * (grad - m)
    v.addcmul_(grad, grad, value=c)     v + c * grad * grad
    p.addcdiv_(m, d, value=c)           p + c * m / d

Write `step`. Arithmetic on Python numbers is free: it launches nothing.

Begin by moving the corrections out of the square root.
Afterwards read ``_single_tensor_adam`` in ``torch/optim/adam.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch import Tensor


RATE, BETA1, BETA2, EPS = 0.01, 0.9, 0.99, 1e-8


def plain_step(p: Tensor, grad: Tensor, m: Tensor, v: Tensor, t: int) -> None:
    """Take step `t`, counted from 1: change `p`, `m` and `v` in place. Given."""
    m.copy_(BETA1 * m + (1 - BETA1) * grad)
    v.copy_(BETA2 * v + (1 - BETA2) * grad * grad)
    mean, square = m / (1 - BETA1**t), v / (1 - BETA2**t)
    p.sub_(RATE * mean / (square.sqrt() + EPS))


def step(p: Tensor, grad: Tensor, m: Tensor, v: Tensor, t: int) -> None:
    """Do what `plain_step` does, in at most six launches, with at most one new tensor."""
    # TODO: one line for m, two for v; the rest is a quotient.
    raise NotImplementedError("step")
