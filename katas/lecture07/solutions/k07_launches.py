"""Perf: a step of Adam in six launches."""

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
    m.lerp_(grad, 1 - BETA1)
    v.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)
    root = (1 - BETA2**t) ** 0.5
    p.addcdiv_(m, v.sqrt().add_(EPS * root), value=-RATE * root / (1 - BETA1**t))
